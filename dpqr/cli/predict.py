"""`dpqr predict`: private predictions, or a private function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpqr.cli import options, predict_options
from dpqr.cli import options as groups
from dpqr.cli import predict_options as session_options
from dpqr.cli.completion import TABLES
from dpqr.cli.sessions import sessions
from dpqr.cli.settings import is_typed, settings_notes

if TYPE_CHECKING:
    from dpqr.cli.screen import Screen
    from dpqr.releases.requests import PredictionRequest


class WithSessions(options.SectionedCommand):
    """`dpqr predict DATA ...`, and the commands of sessions where one of them is named in the place of DATA."""

    below = sessions

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in sessions.commands:
            stated = (parent.default_map or {}).get("predict", {}) if parent else {}
            return sessions.make_context(
                info_name, args, parent, default_map=dict.fromkeys(sessions.commands, stated), **extra
            )
        return super().make_context(info_name, args, parent, **extra)


@click.command("predict", cls=WithSessions)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=options.require_file_name, shell_complete=TABLES)
@predict_options.prediction
@groups.guarantee
@predict_options.learner
@groups.table
@groups.payer
@groups.asker
@options.under("Output")(
    "--out", metavar="FILE", help="Write predictions (.csv, .parquet, .json), or the model, into this new file."
)
@options.under("Output")(
    "--rehearse", is_flag=True, help="Learn from rows drawn from the domain: free, stamped; the data is not opened."
)
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the private table is not opened.")
@session_options.lock
@groups.display
def command(
    data: tuple[str, ...],
    *,
    asked: predict_options.Prediction,
    eps: str | None,
    guarantee: groups.Guarantee,
    learner: predict_options.Learner,
    table: groups.TableOptions,
    payer: groups.Payer,
    asker: groups.Asker,
    out: str | None,
    rehearse: bool,
    dry_run: bool,
    lock: str | None,
    display: groups.Display,
) -> None:
    """Predict a column from the others by a private learner.

    DATA is the private table to learn from, as for `dpqr release`. --points are public.

    \b
    dpqr predict train.parquet --target income --points new.csv --domain domain.json --eps 1 --n 30000 --out p.csv
    dpqr predict train.csv --target income --release function --domain domain.json --eps 1 --delta 1e-6 --out model.json
    dpqr predict --model model.json --points new.csv --out p.csv
    dpqr predict --lock plan.json --target income --domain domain.json --eps 1 --n 30000 --predictions 100
    dpqr predict train.csv --plan plan.json --points new.csv --dataset survey --out p.csv

    For points that come one at a time: dpqr predict open, ask, status, close (each has --help).
    """
    from dpqr.cli.screen import Screen
    from dpqr.python.predict import prediction_request

    screen = Screen.of(display)
    given = groups.keywords(asked, guarantee, learner, table, payer, asker) | {"eps": eps, "out": out}
    if asked.model:
        _apply(given, {"DATA": data, "--dry-run": dry_run, "--rehearse": rehearse, "--lock": lock}, screen)
        return
    paper = session_options.is_dry_run(dry_run, lock, asked.plan)
    request = prediction_request(data, given, dry_run=paper, rehearse=rehearse, notes=settings_notes())
    if paper:
        _plan(request, screen, lock)
    else:
        _learned(request, screen, display)


def _apply(given: dict[str, Any], idle: dict[str, object], screen: Screen) -> None:
    from dpqr.prediction.predict import apply_model
    from dpqr.python.predict import model_request

    stated = {f"--{name}": given[name] for name in ("target", "eps", "plan")}
    typed = {f"--{name}": is_typed(name) for name in ("delta", "dataset")}
    request = model_request(given, idle | stated | typed)
    screen.applied(apply_model(request).predictions, request.out)


def _plan(request: PredictionRequest, screen: Screen, lock: str | None) -> None:
    from dpqr.cli.streams import say
    from dpqr.prediction.planning import save_prediction_plan
    from dpqr.prediction.predict import planned_prediction
    from dpqr.releases.locked_plan import plan_file

    place = None if lock is None else plan_file(lock)
    plan, outlook = planned_prediction(request)
    screen.prediction_plan(plan, outlook)
    if place:
        say(f"planned into {place.given}, sha256 {save_prediction_plan(plan, place)}")


def _learned(request: PredictionRequest, screen: Screen, display: groups.Display) -> None:
    from dpqr.cli.screen import progress
    from dpqr.prediction.predict import predict

    if request.plan.form == "predictions" or display.as_json:
        screen.require_output(request.out)
    with progress(display.progress, color=screen.color) as observer:
        finished = predict(request, observer)
    screen.prediction_release(finished, request.place)
