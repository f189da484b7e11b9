"""`dpqr predict`: private predictions, or a private function."""

from __future__ import annotations

import click

from dpqr.cli.completion import TABLES
from dpqr.cli.options import SectionedCommand, keywords, require_file_name, takes
from dpqr.cli.sessions import is_dry_run, sessions
from dpqr.cli.settings import is_typed, settings_notes
from dpqr.python.learning_options import PredictCommand


class WithSessions(SectionedCommand):
    """`dpqr predict DATA ...`, and the commands of sessions where one of them is named in the place of DATA."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        if args and args[0] in sessions.commands:
            stated = (parent.default_map or {}).get("predict", {}) if parent else {}
            return sessions.make_context(
                info_name, args, parent, default_map=dict.fromkeys(sessions.commands, stated), **extra
            )
        return super().make_context(info_name, args, parent, **extra)


@click.command("predict", cls=WithSessions)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=require_file_name, shell_complete=TABLES)
@takes(PredictCommand)
def command(data: tuple[str, ...], given: PredictCommand) -> None:
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
    from dpqr.cli.screen import Screen, progress
    from dpqr.prediction.predict import apply_model, planned_prediction, predict
    from dpqr.prediction.record import save_prediction_plan
    from dpqr.python.predict import model_request, prediction_request
    from dpqr.python.shown import prediction_plan

    screen, options = Screen.of(given), keywords(given)
    lock, rehearse = given["lock"], options.pop("rehearse")
    if given["model"]:
        idle = {"DATA": data, "--dry-run": given["dry_run"], "--rehearse": rehearse, "--lock": lock}
        idle |= {f"--{name}": options[name] for name in ("target", "eps", "plan")}
        applied = model_request(options, idle | {f"--{name}": is_typed(name) for name in ("delta", "dataset")})
        screen.applied(apply_model(applied).predictions, applied.out)
        return
    dry_run = is_dry_run(given)
    request = prediction_request(data, options, dry_run=dry_run, rehearse=rehearse, notes=settings_notes())
    if dry_run:
        screen.planned(prediction_plan, lambda: planned_prediction(request), lock, save_prediction_plan)
        return
    if request.plan.form == "predictions" or screen.as_json:
        screen.require_output(request.out)
    with progress(given["progress"], color=screen.color) as observer:
        finished = predict(request, observer)
    screen.prediction_release(finished, request.place)
