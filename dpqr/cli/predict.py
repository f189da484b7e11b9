"""`dpqr predict`: private predictions, or a private function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from dpqr.cli import groups, options, predict_options
from dpqr.cli.completion import TABLES
from dpqr.cli.settings import is_typed, settings_notes
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.app.requests import LedgerRequest, PredictionPlanRequest, PredictionRequest
    from dpqr.cli.screen import Screen
    from dpqr.io.tables.source import TableSource

USUAL_PREDICTIONS = 100
"""What a plan is made for where nobody says how many."""


@click.command("predict", cls=options.Sectioned)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=options.named, shell_complete=TABLES)
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
@groups.display
def command(
    data: tuple[str, ...],
    *,
    asked: predict_options.Prediction,
    eps: str | None,
    guarantee: groups.Guarantee,
    learner: predict_options.Learner,
    table: groups.Table,
    payer: groups.Payer,
    asker: groups.Asker,
    out: str | None,
    rehearse: bool,
    dry_run: bool,
    display: groups.Display,
) -> None:
    """Predict a column from the others by a private learner.

    DATA is the private table to learn from, as for `dpqr release`. --points are public.

    \b
    dpqr predict train.parquet --target income --points new.csv --domain domain.json --eps 1 --n 30000 --out p.csv
    dpqr predict train.csv --target income --release function --domain domain.json --eps 1 --delta 1e-6 --out model.json
    dpqr predict --model model.json --points new.csv --out p.csv
    dpqr predict --dry-run --target income --domain domain.json --eps 1 --n 30000 --predictions 100
    """
    given = Given(
        data=data,
        asked=asked,
        eps=eps,
        guarantee=guarantee,
        learner=learner,
        table=table,
        payer=payer,
        asker=asker,
        out=out,
        rehearse=rehearse,
        dry_run=dry_run,
        display=display,
    )
    if asked.model:
        _apply(given, asked.model)
    elif dry_run:
        _plan(given)
    else:
        _learned(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Everything that the command was given."""

    data: tuple[str, ...]
    asked: predict_options.Prediction
    eps: str | None
    guarantee: groups.Guarantee
    learner: predict_options.Learner
    table: groups.Table
    payer: groups.Payer
    asker: groups.Asker
    out: str | None
    rehearse: bool
    dry_run: bool
    display: groups.Display

    @property
    def screen(self) -> Screen:
        from dpqr.cli.screen import Screen

        return Screen.of(self.display)

    @property
    def points(self) -> TableSource | None:
        """The public rows to predict for."""
        from dpqr.io.tables.source import TableSource

        path = self.asked.points
        table = self.table
        return TableSource(paths=(path,), delimiter=table.delimiter, encoding=table.encoding) if path else None

    def request(self, predictions: int | None, payer: LedgerRequest | None) -> PredictionRequest:
        """The run. For a plan and a rehearsal no table is needed: standard input stands for any."""
        from dpqr.app.requests import PredictionRequest
        from dpqr.io.tables.source import STDIN

        return PredictionRequest(
            table=self.table.source(self.data or ((STDIN,) if self.dry_run or self.rehearse else ())),
            plan=plan_request(self, predictions),
            points=self.points,
            out=self.out,
            limits=self.table.limits,
            payer=payer,
            reason=self.asker.reason,
            notes=settings_notes(),
            rehearse=self.rehearse,
        )


def _apply(given: Given, model: str) -> None:
    from dpqr.app.predict import apply_model
    from dpqr.app.requests import ModelRequest

    stated = {
        "DATA": given.data,
        "--target": given.asked.target,
        "--eps": given.eps,
        "--delta": is_typed("delta"),
        "--dataset": is_typed("dataset"),
        "--dry-run": given.dry_run,
        "--rehearse": given.rehearse,
    }
    idle = next((name for name, value in stated.items() if value), None)
    if idle:
        raise UsageFault(f"--model applies a released function, which costs nothing; leave {idle} out")
    points = given.points
    if points is None:
        raise UsageFault("--model says what to predict with; --points FILE says for which rows")
    request = ModelRequest(model=model, points=points, out=given.out, limits=given.table.limits)
    given.screen.predictions(apply_model(request), given.out)


def _plan(given: Given) -> None:
    from dpqr.app.predict import planned_prediction

    asked = given.asked
    usual = USUAL_PREDICTIONS if asked.points is None and asked.form == "predictions" else None
    request = given.request(asked.predictions or usual, None)
    if given.payer.dataset:
        request = replace(request, payer=given.payer.request())
    given.screen.prediction_plan(*planned_prediction(request))


def _learned(given: Given) -> None:
    from dpqr.app.predict import predict
    from dpqr.cli.progress import progress

    screen, payer = given.screen, given.payer.request()
    if given.asked.predictions is not None:
        raise UsageFault("--predictions COUNT goes with --dry-run; --points FILE says what to predict")
    request = given.request(None, payer)
    if given.asked.form == "predictions" or given.display.as_json:
        screen.require_output(given.out)
    with progress(given.display.progress, color=screen.color) as observer:
        finished = predict(request, observer)
    screen.prediction_release(finished, request.place)


def plan_request(given: Given, predictions: int | None) -> PredictionPlanRequest:
    """What the run is planned from. UsageFault where target or epsilon is missing."""
    from dpqr.app.requests import PredictionPlanRequest

    asked, guarantee, learner = given.asked, given.guarantee, given.learner
    if asked.target is None:
        raise UsageFault("--target is needed to learn; only --model FILE goes without it")
    if given.eps is None:
        raise UsageFault("--eps is needed to learn; only --model FILE goes without it")
    return PredictionPlanRequest(
        target=asked.target,
        epsilon=given.eps,
        domain=asked.domain,
        learner=learner.learner,
        delta=guarantee.delta,
        neighbours=guarantee.neighbours,
        n=guarantee.n,
        unit=guarantee.unit,
        max_rows=guarantee.max_rows,
        counts=given.table.counts,
        form=asked.form,
        positive=learner.positive,
        penalty=learner.penalty,
        smoothness=learner.smoothness,
        tune=learner.tune,
        tau=learner.tau,
        kernel=learner.kernel,
        bandwidth=learner.bandwidth,
        degree=learner.degree,
        features=learner.features,
        theta=learner.theta,
        t0=learner.t0,
        releases=learner.releases,
        base=learner.base,
        parts=learner.parts,
        target_error=learner.target_error,
        vote=learner.vote,
        trust=learner.trust,
        accountant=learner.accountant,
        predictions=predictions,
        seed=learner.seed,
    )
