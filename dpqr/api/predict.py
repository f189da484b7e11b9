"""Private predictions, and private functions, from tables in memory or in files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from dpqr.api.predict_options import PredictionRun, model_request, prediction_request
from dpqr.api.requests import Unwatched
from dpqr.api.shown import Receipt
from dpqr.api.withheld import withheld

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.checks import Path
    from dpqr.app.requests import ModelRequest, PredictionRequest
    from dpqr.io.outputs.answer_tables.tidy import Tidy
    from dpqr.prediction.plan import PredictionPlan as PlannedRun
    from dpqr.report.wording import Fact


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a prediction run gave away. All of it may be published.

    record: as in the file beside the predictions, or in the model. lines: the receipt's, each a name and a text.

    >>> import dpqr, pandas
    >>> rows = pandas.DataFrame({"day": ["Mon", "Sun"] * 4, "open": ["yes", "no"] * 4})
    >>> domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"]})
    >>> made = dpqr.predict(rows, target="open", points=rows[["day"]][:3], domain=domain, eps=1, n=8)
    >>> made
    Predictions(3 rows, differentially private with epsilon = 1)
    """

    record: dict[str, Any]
    lines: tuple[Fact, ...]
    _table: Tidy | None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a point, in the points' order: `prediction`, and `score` or `release` where there are any; empty
        where a function was released, which `dpqr.predict(model=...)` applies."""
        import pandas as pd

        from dpqr.io.outputs.answer_tables.tidy import plain_values

        held = {} if self._table is None else self._table.columns
        return pd.DataFrame({name: plain_values(column) for name, column in held.items()})

    @property
    def guarantee(self) -> str:
        """The promise, in one sentence."""
        return str(self.record["guarantee"])

    @property
    def receipt(self) -> Receipt:
        """What was promised and paid, as the command line prints it."""
        from dpqr.report.wording import facts

        return Receipt.of(lambda: facts(self.lines))

    def __repr__(self) -> str:
        from dpqr.report.wording import counted

        given = "a function" if self._table is None else counted(self._table.rows, "row")
        promise = self.guarantee.partition(",")[0].partition(" (")[0]
        return f"Predictions({given}, {promise[:1].lower()}{promise[1:]})"

    def _repr_html_(self) -> str:
        shown: str = "" if self._table is None else self.table.to_html(max_rows=20, border=0)
        return self.receipt._repr_html_() + shown


@dataclass(frozen=True, eq=False)
class PredictionPlan:
    """A prediction run on paper. It is public: the private table was not opened.

    record: as `dpqr predict --dry-run --json` prints it. text: as the command line shows it.

    >>> import dpqr
    >>> domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"]})
    >>> planned = dpqr.predict(dry_run=True, target="open", domain=domain, eps=1, n=8)
    >>> type(planned).__name__, planned.record["form"]["draws"]
    ('PredictionPlan', 100)
    """

    record: dict[str, Any]
    text: Receipt
    _planned: PlannedRun

    @property
    def sha256(self) -> str:
        """The hash by which ledger and record name the plan."""
        return str(self.record["sha256"])

    def save(self, path: Path) -> None:
        """Write the plan to be reviewed, for `dpqr.predict(table, plan=path)`, as `dpqr predict --lock` does; that of a
        session for `dpqr.open_predictions`.

        Raises:
            UsageFault: the file exists, or cannot be written.
        """
        from dpqr.app.releasing.locked_plan import plan_file, save_prediction_plan

        withheld(lambda: save_prediction_plan(self._planned, plan_file(os.fspath(path))))

    def __repr__(self) -> str:
        return str(self.text)

    def _repr_html_(self) -> str:
        return self.text._repr_html_()


@overload
def predict(
    table: object = None, *, dry_run: Literal[False] = False, rehearse: bool = False, **options: Unpack[PredictionRun]
) -> Predictions: ...
@overload
def predict(
    table: object = None, *, dry_run: Literal[True], rehearse: bool = False, **options: Unpack[PredictionRun]
) -> PredictionPlan: ...
def predict(
    table: object = None, *, dry_run: bool = False, rehearse: bool = False, **options: Unpack[PredictionRun]
) -> Predictions | PredictionPlan:
    """Predict a column from the others by a private learner, or apply a released function.

    Args:
        table: the private table to learn from, as for `dpqr.release`; None: the source that the owner of the budget
            of `dataset` has registered; or a plan, or a model that is applied.
        dry_run: only plan; no private table is opened.
        rehearse: learn from rows of the public domain, free of charge; no private table is opened.
        options: those of `dpqr predict`, by their names with _ for -; but `--release` is `form`, and `--lambda` is
            `penalty`. target: the column to predict. points: public rows to predict for, a table like any. model: the
            file of a released function, which is applied to `points` free of charge. plan: the file of a reviewed plan
            (`PredictionPlan.save`), which states what is not given. out: a new file for predictions
            or model; with form="function" it is needed.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta)-differential privacy for the unit that the record names; `model` costs nothing. How many points
        there are is shown, so they must be public.
    """
    if options.get("model") is not None:
        named = {f"--{name}": options.get(name) is not None for name in ("target", "eps", "delta", "dataset", "plan")}
        named |= {"--dry-run": dry_run, "--rehearse": rehearse}
        return _applied(model_request(options, {"DATA": table is not None, **named}))
    request = prediction_request(table, options, dry_run=dry_run, rehearse=rehearse)
    return _planned(request) if dry_run else _learned(request)


def _applied(request: ModelRequest) -> Predictions:
    from dpqr.app.predicting.predict import apply_model
    from dpqr.app.show import kept_receipt

    applied = withheld(lambda: apply_model(request))
    return Predictions(applied.record, kept_receipt(applied.record), applied.table)


def _planned(request: PredictionRequest) -> PredictionPlan:
    from dpqr.app.predicting.predict import planned_prediction
    from dpqr.io.outputs.records.prediction_document import outlook_part, prediction_plan_document
    from dpqr.report.prediction_view import prediction_plan_view

    plan, outlook = withheld(lambda: planned_prediction(request))
    record = prediction_plan_document(plan) | {"outlook": outlook_part(outlook)}
    return PredictionPlan(record, Receipt.of(lambda: prediction_plan_view(plan, outlook)), plan)


def _learned(request: PredictionRequest) -> Predictions:
    from dpqr.app.predicting.predict import predict as learned
    from dpqr.app.predicting.predict import released_table
    from dpqr.io.outputs.records.prediction_document import prediction_document
    from dpqr.report.prediction_view import prediction_receipt

    finished = withheld(lambda: learned(request, Unwatched()))
    lines = prediction_receipt(finished)
    return Predictions(
        prediction_document(finished, lines), lines, released_table(finished) if finished.pointwise else None
    )
