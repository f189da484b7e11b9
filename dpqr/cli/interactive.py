"""`dpqr interactive`: questions one at a time, under one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dpqr.cli.completion import DOCUMENTS, TABLES
from dpqr.cli.parameters import groups, options
from dpqr.cli.parameters.session_options import REVIEW, last_commands, lock, of_session, on_paper, show
from dpqr.cli.parameters.settings import settings_notes
from dpqr.cli.terminal.streams import require_output, say
from dpqr.report.interactive_view import answer_lines, status_lines

if TYPE_CHECKING:
    from dpqr.app.sessions.planning import OpenRequest
    from dpqr.cli.terminal.screen import Screen

STATED = ("domain", "expect", "surprises", "questions", "plan", "dataset", "ledger", "anchor")
"""Options of `open` that are no options of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the session is opened for."""

    domain: str | None
    expect: str | None
    surprises: int | None
    questions: int | None
    accountant: str | None
    seed: int
    plan: str | None
    approved_by: str | None


def expected(command: Any) -> Any:
    """--domain, --expect, --surprises, --questions, --accountant, --seed, --plan and --approved-by, as `asked`."""
    option, count = options.under("Questions"), options.Whole(min=1)
    file = {"metavar": "FILE", "callback": options.named, "shell_complete": DOCUMENTS}
    return options.added(
        options.gathered(Expected, "asked")(command),
        option("--domain", help="Domain file; its columns are those that may be asked about.", **file),
        option("--expect", help="Queries that are expected: measured first, with half of the budget.", **file),
        option("--surprises", metavar="N", type=count, help="Paid for. [default: a twentieth of --questions]"),
        option("--questions", metavar="N", type=count, help="How many are expected. [default: 1000]"),
        option("--accountant", metavar="NAME", help="basic, zcdp or gdp. [default: gdp with a delta, else basic]"),
        option("--seed", metavar="N", type=options.Whole(min=0), default=0, help="Public seed of the listed rows."),
        *REVIEW,
    )


@click.group("interactive")
def command() -> None:
    """Answer questions one at a time, under one budget.

    \b
    dpqr interactive open desk data.csv --domain domain.json --eps 1 --delta 1e-9 --dataset survey
    dpqr interactive ask desk --where "age >= 70 and sex = 'female'"
    dpqr interactive ask desk --queries more.json
    dpqr interactive status desk
    dpqr interactive close desk --out release/
    """


@command.command("open", cls=options.Sectioned)
@click.argument("name")
@click.argument("data", nargs=-1, callback=options.named, shell_complete=TABLES)
@expected
@groups.guarantee
@groups.table
@groups.payer
@groups.asker
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the private table is not opened.")
@lock
@groups.display
def open_command(
    name: str,
    data: tuple[str, ...],
    *,
    asked: Expected,
    eps: str | None,
    guarantee: groups.Guarantee,
    table: groups.Table,
    payer: groups.Payer,
    asker: groups.Asker,
    dry_run: bool,
    lock: str | None,
    display: groups.Display,
) -> None:
    """Pay for the session NAME over the private table DATA, and measure what its questions start from.

    Its plan (--dry-run) says what is measured first, and how many surprises are paid for.
    """
    from dpqr.api.interactive import open_request
    from dpqr.app.sessions.interactive import open_session
    from dpqr.cli.terminal.progress import progress
    from dpqr.cli.terminal.screen import Screen

    paper = on_paper(dry_run, lock, asked.plan)
    if not (data or paper or payer.dataset):
        raise click.UsageError("open: DATA names the private table; only --dry-run and --lock go without it")
    given = groups.keywords(asked, guarantee, table, payer, asker)
    stated = {key: given.pop(key) for key in STATED}
    request = open_request(data or None, name=name, eps=eps, **stated, options=given, notes=settings_notes())
    if paper:
        _plan(request, Screen.of(display), lock)
        return
    require_output()
    with progress(display.progress, color=not display.no_color) as observer:
        found = open_session(request, observer)
    show(found.document(), status_lines(found), as_json=display.as_json)


def _plan(request: OpenRequest, screen: Screen, lock: str | None) -> None:
    from dpqr.app.releasing.locked_plan import plan_file, save_plan
    from dpqr.app.sessions.interactive import session_plan

    place = None if lock is None else plan_file(lock)
    made, taken = session_plan(request)
    screen.plan(made, taken)
    if place:
        say(f"planned into {place.given}, sha256 {save_plan(made, place)}")


@command.command("ask")
@click.option("--where", metavar="PREDICATE", help="Count the records that fulfil it.")
@click.option("--queries", metavar="FILE", callback=options.named, shell_complete=DOCUMENTS, help="Queries file.")
@click.option("--sql", metavar="TEXT", help="SELECT statements.")
@of_session
def ask_command(
    name: str,
    *,
    where: str | None,
    queries: str | None,
    sql: str | None,
    ledger: str | None,
    anchor: str | None,
    as_json: bool,
) -> None:
    """Ask the session NAME. Each answer is an estimate with an interval, and says whether it was free."""
    from dpqr.api.interactive import ask_request
    from dpqr.api.requests import Unwatched
    from dpqr.api.sessions import session_payer
    from dpqr.app.sessions.interactive import ask

    require_output()
    payer = session_payer(ledger, anchor)
    found = ask(ask_request(name, payer, where=where, queries=groups.file_or_sql(queries, sql)), Unwatched())
    show([each.document() for each in found], answer_lines(found), as_json=as_json)
    if any(each.answer.low is None or each.answer.high is None for each in found):
        say("note: no threshold is left for a side marked ?: there the answers were not compared with the table")


last_commands(
    command,
    "Session",
    status_lines,
    empty="answered",
    out=click.option("--out", metavar="DIR", help="Write the answers as a release into this new directory."),
    written="released to {}",
)
