"""`dpqr interactive`: questions one at a time, under one budget.

`dpqr predict open`, `ask`, `status` and `close`: predictions for points that come one at a time.

Both are sessions, and have one life: opened, asked, looked at and closed under a name beside the ledger that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

import dpqr
from dpqr.cli.completion import TABLES
from dpqr.cli.options import SectionedCommand, keywords, require_file_name, takes
from dpqr.cli.settings import say_settings, settings_notes
from dpqr.cli.streams import product, product_json, require_output, say
from dpqr.python.learning_options import (
    AskCommand,
    AskPointsCommand,
    CloseCommand,
    ClosePredictionsCommand,
    OpenedOptions,
    OpenPredictionsCommand,
    OpenSessionCommand,
    PredictCommand,
)

if TYPE_CHECKING:
    from dpqr.cli.screen import Screen


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


def _session_lines(found: object) -> Iterable[str]:
    from dpqr.report.budget import status_lines

    return status_lines(found)


def _prediction_session_lines(found: object) -> Iterable[str]:
    from dpqr.report.budget import prediction_status_lines

    return prediction_status_lines(found)


@interactive_command.command("open", cls=SectionedCommand)
@click.argument("name")
@click.argument("data", nargs=-1, callback=require_file_name, shell_complete=TABLES)
@takes(OpenSessionCommand)
def open_command(name: str, data: tuple[str, ...], given: OpenSessionCommand) -> None:
    """Pay for the session NAME over the private table DATA, and measure what its questions start from.

    Its plan (--dry-run) says what is measured first, and how many surprises are paid for.
    """
    from dpqr.python.sessions import open_request
    from dpqr.python.shown import release_plan
    from dpqr.releases.locked_plan import save_plan
    from dpqr.sessions.interactive import open_session, session_plan

    open_kind(
        given,
        data,
        lambda: open_request(data or None, name=name, notes=settings_notes(), **keywords(given)),
        lambda request, screen: screen.planned(release_plan, lambda: session_plan(request), given["lock"], save_plan),
        open_session,
        _session_lines,
    )


@sessions.command("open", cls=SectionedCommand)
@click.argument("name")
@click.argument("data", nargs=-1, callback=require_file_name, shell_complete=TABLES)
@takes(OpenPredictionsCommand)
def open_prediction_command(name: str, data: tuple[str, ...], given: OpenPredictionsCommand) -> None:
    """Pay for the session NAME over the private table DATA.

    Its plan (--dry-run) says how a point will be answered, at what price, with how much noise, and how many are paid.
    """
    from dpqr.prediction.record import save_prediction_plan
    from dpqr.python.sessions import open_predictions_request, planned_session
    from dpqr.python.shown import prediction_plan
    from dpqr.sessions.predictions import open_predictions

    open_kind(
        given,
        data,
        lambda: open_predictions_request(data, name, keywords(given), settings_notes()),
        lambda request, screen: screen.planned(
            prediction_plan, lambda: planned_session(request), given["lock"], save_prediction_plan
        ),
        open_predictions,
        _prediction_session_lines,
    )


def is_dry_run(given: PredictCommand | OpenPredictionsCommand | OpenSessionCommand) -> bool:
    """Whether only a plan is wanted. UsageError for one that is followed and written."""
    if given["lock"] and given["plan"]:
        raise click.UsageError("--lock writes a plan and --plan follows one; give one of them")
    return given["dry_run"] or given["lock"] is not None


def open_kind(
    given: OpenSessionCommand | OpenPredictionsCommand,
    data: tuple[str, ...],
    request: Callable[[], object],
    plan: Callable[[Any, Screen], None],
    begin: Callable[[Any, Any], Any],
    lines: Callable[[object], Iterable[str]],
) -> None:
    """Open a session of either kind, or only plan it.

    Args:
        given, data: as on the command line.
        request: makes what is asked of the use case.
        plan: shows the plan, and saves it where that is asked for. begin: the use case. lines: how a session stands.
    """
    from dpqr.cli.screen import Screen, progress

    dry_run = is_dry_run(given)
    if not (data or dry_run or given["dataset"]):
        raise click.UsageError("open: DATA names the private table; only --dry-run and --lock go without it")
    terms, screen = request(), Screen.of(given)
    if dry_run:
        plan(terms, screen)
        return
    require_output()
    with progress(given["progress"], color=screen.color) as observer:
        found = begin(terms, observer)
    show(found.document(), lines(found), as_json=screen.as_json)


@interactive_command.command("ask")
@click.argument("name")
@takes(AskCommand)
def ask_command(name: str, given: AskCommand) -> None:
    """Ask the session NAME. Each answer is an estimate with an interval, and says whether it was free."""
    from dpqr.python.sessions import ask_request, session_payer
    from dpqr.releases.loop import SILENT
    from dpqr.report.budget import answer_lines
    from dpqr.sessions.interactive import ask

    require_output()
    payer, options = session_payer(given["ledger"], given["anchor"]), keywords(given)
    found = ask(ask_request(name, payer, where=options["where"], queries=options["queries"]), SILENT)
    show([each.document() for each in found], answer_lines(found), as_json=given["as_json"])
    if any(each.answer.low is None or each.answer.high is None for each in found):
        say("note: no threshold is left for a side marked ?: there the answers were not compared with the table")


@sessions.command("ask")
@click.argument("name")
@takes(AskPointsCommand)
def ask_point_command(name: str, given: AskPointsCommand) -> None:
    """Predict for every row of --points, one a line. A point that was asked about before is free."""
    from dpqr.cli.screen import Screen
    from dpqr.prediction.predict import released_table
    from dpqr.python.sessions import ask_predictions_request, session_payer
    from dpqr.releases.loop import SILENT
    from dpqr.sessions.predictions import ask_predictions

    require_output()
    request = ask_predictions_request(name, session_payer(given["ledger"], given["anchor"]), given["points"])
    found = ask_predictions(request, SILENT)
    if given["as_json"]:
        product_json(released_table(found).records())
    else:
        Screen().predictions(found.predictions, None)


def last_commands(
    group: click.Group,
    session: Callable[..., Any],
    lines: Callable[[object], Iterable[str]],
    *,
    closing: type,
    empty: str,
    written: str,
) -> None:
    """`status` and `close` of a kind of session.

    Args:
        session: makes its public class, which is imported late. lines: how it stands. closing: options of `close`.
        empty: what one that was of no use had done. written: what became of the place --out.
    """

    @group.command("status")
    @click.argument("name")
    @takes(OpenedOptions)
    def status_command(name: str, given: OpenedOptions) -> None:
        """Say how the session NAME stands; the table is not opened."""
        require_output()
        found = session(name=name, ledger=given["ledger"], anchor=given["anchor"]).status()
        show(found.document(), lines(found), as_json=given["as_json"])

    @group.command("close")
    @click.argument("name")
    @takes(closing)
    def close_command(name: str, given: CloseCommand | ClosePredictionsCommand) -> None:
        """End the session NAME; what was not drawn goes back to the budget."""
        from dpqr.kernel.wording import plain

        require_output()
        finished = session(name=name, ledger=given["ledger"], anchor=given["anchor"]).close(given["out"])
        if finished is None:
            say(f"session {name!r} is closed; it had {empty} nothing")
            return
        show(finished.record, [str(finished.receipt).rstrip("\n")], as_json=given["as_json"])
        if given["out"] is not None:
            say(written.format(plain(given["out"])))


last_commands(
    interactive_command,
    lambda **named: dpqr.Session(**named),
    _session_lines,
    closing=CloseCommand,
    empty="answered",
    written="released to {}",
)
last_commands(
    sessions,
    lambda **named: dpqr.PredictionSession(**named),
    _prediction_session_lines,
    closing=ClosePredictionsCommand,
    empty="predicted",
    written="predictions written to {}, and their record beside them",
)


def show(document: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a document as JSON, or what it says as lines; on stderr, which settings were in use."""
    say_settings()
    if as_json:
        product_json(document)
    else:
        product("\n".join(lines))
