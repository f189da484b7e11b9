"""`dpqr interactive`: questions one at a time, under one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dpqr.cli import options, predict_options
from dpqr.cli import options as groups
from dpqr.cli import predict_options as session_options
from dpqr.cli.completion import DOCUMENTS, TABLES
from dpqr.cli.predict_options import REVIEW, is_dry_run, last_commands, lock, of_session, show
from dpqr.cli.settings import settings_notes
from dpqr.cli.streams import product_json, require_output, say
from dpqr.report.budget import answer_lines, prediction_status_lines, status_lines

if TYPE_CHECKING:
    from dpqr.cli.screen import Screen
    from dpqr.sessions.planning import OpenRequest
    from dpqr.sessions.predictions import OpenPredictions


SESSION_ONLY_OPTIONS = ("domain", "expect", "surprises", "questions", "plan", "dataset", "ledger", "anchor")
"""Options of `open` that are no options of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpening:
    """What the session is opened for."""

    domain: str | None
    expect: str | None
    surprises: int | None
    questions: int | None
    accountant: str | None
    seed: int
    plan: str | None
    approved_by: str | None


def session_opening(command: Any) -> Any:
    """--domain, --expect, --surprises, --questions, --accountant, --seed, --plan and --approved-by, as `asked`."""
    option, count = options.under("Questions"), options.Integer(min=1)
    file = {"metavar": "FILE", "callback": options.require_file_name, "shell_complete": DOCUMENTS}
    return options.list_options(
        options.gather_options(SessionOpening, "asked")(command),
        option("--domain", help="Domain file; its columns are those that may be asked about.", **file),
        option("--expect", help="Queries that are expected: measured first, with half of the budget.", **file),
        option("--surprises", metavar="N", type=count, help="Paid for. [default: a twentieth of --questions]"),
        option("--questions", metavar="N", type=count, help="How many are expected. [default: 1000]"),
        option("--accountant", metavar="NAME", help="basic, zcdp or gdp. [default: gdp with a delta, else basic]"),
        option("--seed", metavar="N", type=options.Integer(min=0), default=0, help="Public seed of the listed rows."),
        *REVIEW,
    )


@click.group("interactive")
def interactive_command() -> None:
    """Answer questions one at a time, under one budget.

    \b
    dpqr interactive open desk data.csv --domain domain.json --eps 1 --delta 1e-9 --dataset survey
    dpqr interactive ask desk --where "age >= 70 and sex = 'female'"
    dpqr interactive ask desk --queries more.json
    dpqr interactive status desk
    dpqr interactive close desk --out release/
    """


@interactive_command.command("open", cls=options.SectionedCommand)
@click.argument("name")
@click.argument("data", nargs=-1, callback=options.require_file_name, shell_complete=TABLES)
@session_opening
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
    asked: SessionOpening,
    eps: str | None,
    guarantee: groups.Guarantee,
    table: groups.TableOptions,
    payer: groups.Payer,
    asker: groups.Asker,
    dry_run: bool,
    lock: str | None,
    display: groups.Display,
) -> None:
    """Pay for the session NAME over the private table DATA, and measure what its questions start from.

    Its plan (--dry-run) says what is measured first, and how many surprises are paid for.
    """
    from dpqr.cli.screen import Screen, progress
    from dpqr.python.sessions import open_request
    from dpqr.sessions.interactive import open_session

    paper = is_dry_run(dry_run, lock, asked.plan)
    if not (data or paper or payer.dataset):
        raise click.UsageError("open: DATA names the private table; only --dry-run and --lock go without it")
    given = groups.keywords(asked, guarantee, table, payer, asker)
    stated = {key: given.pop(key) for key in SESSION_ONLY_OPTIONS}
    request = open_request(data or None, name=name, eps=eps, **stated, options=given, notes=settings_notes())
    if paper:
        _plan(request, Screen.of(display), lock)
        return
    require_output()
    with progress(display.progress, color=not display.no_color) as observer:
        found = open_session(request, observer)
    show(found.document(), status_lines(found), as_json=display.as_json)


def _plan(request: OpenRequest, screen: Screen, lock: str | None) -> None:
    from dpqr.releases.locked_plan import plan_file, save_plan
    from dpqr.sessions.interactive import session_plan

    place = None if lock is None else plan_file(lock)
    made, taken = session_plan(request)
    screen.plan(made, taken)
    if place:
        say(f"planned into {place.given}, sha256 {save_plan(made, place)}")


@interactive_command.command("ask")
@click.option("--where", metavar="PREDICATE", help="Count the records that fulfil it.")
@click.option(
    "--queries", metavar="FILE", callback=options.require_file_name, shell_complete=DOCUMENTS, help="Queries file."
)
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
    from dpqr.python.release import SilentObserver
    from dpqr.python.sessions import ask_request, session_payer
    from dpqr.sessions.interactive import ask

    require_output()
    payer = session_payer(ledger, anchor)
    found = ask(ask_request(name, payer, where=where, queries=groups.file_or_sql(queries, sql)), SilentObserver())
    show([each.document() for each in found], answer_lines(found), as_json=as_json)
    if any(each.answer.low is None or each.answer.high is None for each in found):
        say("note: no threshold is left for a side marked ?: there the answers were not compared with the table")


last_commands(
    interactive_command,
    "Session",
    status_lines,
    empty="answered",
    out=click.option("--out", metavar="DIR", help="Write the answers as a release into this new directory."),
    written="released to {}",
)


# `dpqr predict open`, `ask`, `status` and `close`: predictions for points that come one at a time.


@click.group("predict")
def sessions() -> None:
    """Predict for points that come one at a time, under one budget.

    \b
    dpqr predict open desk train.csv --target income --learner quantile --domain domain.json --eps 1 --n 20000 \\
        --predictions 200 --dataset survey
    dpqr predict ask desk --points one.csv
    dpqr predict status desk
    dpqr predict close desk --out predictions.csv
    """


@sessions.command("open", cls=options.SectionedCommand)
@click.argument("name")
@click.argument("data", nargs=-1, callback=options.require_file_name, shell_complete=TABLES)
@predict_options.session
@groups.guarantee
@predict_options.learner
@groups.table
@groups.payer
@groups.asker
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the private table is not opened.")
@session_options.lock
@groups.display
def open_prediction_command(
    name: str,
    data: tuple[str, ...],
    *,
    asked: predict_options.SessionOptions,
    eps: str | None,
    guarantee: groups.Guarantee,
    learner: predict_options.Learner,
    table: groups.TableOptions,
    payer: groups.Payer,
    asker: groups.Asker,
    dry_run: bool,
    lock: str | None,
    display: groups.Display,
) -> None:
    """Pay for the session NAME over the private table DATA.

    Its plan (--dry-run) says how a point will be answered, at what price, with how much noise, and how many are paid.
    """
    from dpqr.cli.screen import Screen, progress
    from dpqr.python.sessions import open_predictions_request
    from dpqr.sessions.predictions import open_predictions

    screen = Screen.of(display)
    paper = session_options.is_dry_run(dry_run, lock, asked.plan)
    if not (data or paper or payer.dataset):
        raise click.UsageError("open: DATA names the private table; only --dry-run and --lock go without it")
    given = groups.keywords(asked, guarantee, learner, table, payer, asker) | {"eps": eps}
    request = open_predictions_request(data, name, given, settings_notes())
    if paper:
        _prediction_plan(request, screen, lock)
        return
    require_output()
    with progress(display.progress, color=screen.color) as observer:
        found = open_predictions(request, observer)
    show(found.document(), prediction_status_lines(found), as_json=display.as_json)


def _prediction_plan(request: OpenPredictions, screen: Screen, lock: str | None) -> None:
    from dpqr.prediction.planning import save_prediction_plan
    from dpqr.releases.locked_plan import plan_file
    from dpqr.sessions.predictions import plan_predictions

    place = None if lock is None else plan_file(lock)
    made = plan_predictions(request)
    screen.prediction_plan(made.plan, made.outlook)
    if place:
        say(f"planned into {place.given}, sha256 {save_prediction_plan(made.plan, place)}")


@sessions.command("ask")
@click.option(
    "--points", metavar="FILE", callback=options.require_file_name, help="Public rows to predict for; - is stdin."
)
@of_session
def ask_point_command(name: str, *, points: str | None, ledger: str | None, anchor: str | None, as_json: bool) -> None:
    """Predict for every row of --points, one a line. A point that was asked about before is free."""
    from dpqr.cli.screen import Screen
    from dpqr.prediction.predict import released_table
    from dpqr.python.release import SilentObserver
    from dpqr.python.sessions import ask_predictions_request, session_payer
    from dpqr.sessions.predictions import ask_predictions

    require_output()
    request = ask_predictions_request(name, session_payer(ledger, anchor), points)
    found = ask_predictions(request, SilentObserver())
    if as_json:
        product_json(released_table(found).records())
    else:
        Screen().predictions(found.predictions, None)


last_commands(
    sessions,
    "PredictionSession",
    prediction_status_lines,
    empty="predicted",
    out=click.option(
        "--out",
        metavar="FILE",
        callback=options.require_file_name,
        help="Write the points with their predictions there.",
    ),
    written="predictions written to {}, and their record beside them",
)
