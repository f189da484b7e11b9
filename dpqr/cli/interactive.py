"""`dpqr interactive`: questions one at a time, under one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from dpqr.cli.completion import DOCUMENTS, TABLES
from dpqr.cli.parameters import groups, options
from dpqr.cli.parameters.session_options import last_commands, of_session, show
from dpqr.cli.terminal.streams import require_output, say
from dpqr.report.interactive_view import answer_lines, status_lines

STATED = ("domain", "expect", "surprises", "questions", "dataset", "ledger", "anchor")
"""Options of `open` that are no options of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the session is opened for."""

    domain: str | None
    expect: str | None
    surprises: int | None
    questions: int
    accountant: str | None
    seed: int


def expected(command: Any) -> Any:
    """--domain, --expect, --surprises, --questions, --accountant and --seed, as `asked`."""
    option, count = options.under("Questions"), options.Whole(min=1)
    file = {"metavar": "FILE", "callback": options.named, "shell_complete": DOCUMENTS}
    return options.added(
        options.gathered(Expected, "asked")(command),
        option("--domain", help="Domain file; its columns are those that may be asked about.", **file),
        option("--expect", help="Queries that are expected: measured first, with half of the budget.", **file),
        option("--surprises", metavar="N", type=count, help="Paid for. [default: a twentieth of --questions]"),
        option("--questions", metavar="N", type=count, default=1000, show_default=True, help="How many are expected."),
        option("--accountant", metavar="NAME", help="basic, zcdp or gdp. [default: gdp with a delta, else basic]"),
        option("--seed", metavar="N", type=options.Whole(min=0), default=0, help="Public seed of the listed rows."),
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
@click.argument("data", nargs=-1, required=True, callback=options.named, shell_complete=TABLES)
@expected
@groups.guarantee
@groups.table
@groups.payer
@groups.asker
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
    display: groups.Display,
) -> None:
    """Pay for the session NAME over the private table DATA, and measure what its questions start from."""
    from dpqr.api.interactive import open_request
    from dpqr.app.sessions.interactive import open_session
    from dpqr.cli.terminal.progress import progress

    require_output()
    given = groups.keywords(asked, guarantee, table, payer, asker)
    stated = {key: given.pop(key) for key in STATED}
    request = open_request(data, name=name, eps=eps, **stated, options=given)
    with progress(display.progress, color=not display.no_color) as observer:
        found = open_session(request, observer)
    show(found.document(), status_lines(found), as_json=display.as_json)


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
