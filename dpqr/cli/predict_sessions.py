"""`dpqr predict open`, `ask`, `status` and `close`: predictions for points that come one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dpqr.cli.completion import TABLES
from dpqr.cli.parameters import groups, options, predict_options, session_options
from dpqr.cli.parameters.session_options import last_commands, of_session, show
from dpqr.cli.parameters.settings import settings_notes
from dpqr.cli.terminal.streams import product_json, require_output, say
from dpqr.report.interactive_view import prediction_status_lines

if TYPE_CHECKING:
    from dpqr.app.predicting.session import OpenPredictions
    from dpqr.cli.terminal.screen import Screen


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


@sessions.command("open", cls=options.Sectioned)
@click.argument("name")
@click.argument("data", nargs=-1, callback=options.named, shell_complete=TABLES)
@predict_options.session
@groups.guarantee
@predict_options.learner
@groups.table
@groups.payer
@groups.asker
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the private table is not opened.")
@session_options.lock
@groups.display
def open_command(
    name: str,
    data: tuple[str, ...],
    *,
    asked: predict_options.SessionOptions,
    eps: str | None,
    guarantee: groups.Guarantee,
    learner: predict_options.Learner,
    table: groups.Table,
    payer: groups.Payer,
    asker: groups.Asker,
    dry_run: bool,
    lock: str | None,
    display: groups.Display,
) -> None:
    """Pay for the session NAME over the private table DATA.

    Its plan (--dry-run) says how a point will be answered, at what price, with how much noise, and how many are paid.
    """
    from dpqr.api.predict_sessions import open_predictions_request
    from dpqr.app.predicting.session import open_predictions
    from dpqr.cli.terminal.progress import progress
    from dpqr.cli.terminal.screen import Screen

    screen = Screen.of(display)
    paper = session_options.on_paper(dry_run, lock, asked.plan)
    if not (data or paper or payer.dataset):
        raise click.UsageError("open: DATA names the private table; only --dry-run and --lock go without it")
    given = groups.keywords(asked, guarantee, learner, table, payer, asker) | {"eps": eps}
    request = open_predictions_request(data, name, given, settings_notes())
    if paper:
        _plan(request, screen, lock)
        return
    require_output()
    with progress(display.progress, color=screen.color) as observer:
        found = open_predictions(request, observer)
    show(found.document(), prediction_status_lines(found), as_json=display.as_json)


def _plan(request: OpenPredictions, screen: Screen, lock: str | None) -> None:
    from dpqr.app.predicting.session import planned_predictions
    from dpqr.app.releasing.locked_plan import plan_file, save_prediction_plan

    place = None if lock is None else plan_file(lock)
    made = planned_predictions(request)
    screen.prediction_plan(made.plan, made.outlook)
    if place:
        say(f"planned into {place.given}, sha256 {save_prediction_plan(made.plan, place)}")


@sessions.command("ask")
@click.option("--points", metavar="FILE", callback=options.named, help="Public rows to predict for; - is stdin.")
@of_session
def ask_command(name: str, *, points: str | None, ledger: str | None, anchor: str | None, as_json: bool) -> None:
    """Predict for every row of --points, one a line. A point that was asked about before is free."""
    from dpqr.api.predict_sessions import ask_predictions_request
    from dpqr.api.requests import Unwatched
    from dpqr.api.sessions import session_payer
    from dpqr.app.predicting.predict import released_table
    from dpqr.app.predicting.session import ask_predictions
    from dpqr.cli.terminal.screen import Screen

    require_output()
    request = ask_predictions_request(name, session_payer(ledger, anchor), points)
    found = ask_predictions(request, Unwatched())
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
        "--out", metavar="FILE", callback=options.named, help="Write the points with their predictions there."
    ),
    written="predictions written to {}, and their record beside them",
)
