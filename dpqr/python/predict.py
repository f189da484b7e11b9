"""Private predictions, and private functions, from tables in memory or in files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Path, boolean, check_options, document, figure, run_sanitised, text
from dpqr.python.learning_options import PredictionPlanOptions, PredictionRun
from dpqr.python.ledger import payer, reason
from dpqr.python.options import checks, rows
from dpqr.python.requests import limits, table_source
from dpqr.python.shown import Receipt, prediction_plan
from dpqr.releases.requests import ModelRequest, PredictionPlanRequest, PredictionRequest
from dpqr.tables.source import TableSource

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.kernel.wording import Fact
    from dpqr.prediction.plan import PredictionPlan as PlannedRun
    from dpqr.prediction.rates import PlanAlternatives
    from dpqr.releases.files.tidy import Tidy


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

        from dpqr.releases.files.tidy import plain_values

        held = {} if self._table is None else self._table.columns
        return pd.DataFrame({name: plain_values(column) for name, column in held.items()})

    @property
    def guarantee(self) -> str:
        """The promise, in one sentence."""
        return str(self.record["guarantee"])

    @property
    def receipt(self) -> Receipt:
        """What was promised and paid, as the command line prints it."""
        return Receipt.of_facts(self.lines)

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        given = "a function" if self._table is None else count_words(self._table.rows, "row")
        promise = self.guarantee.partition(",")[0].partition(" (")[0]
        return f"Predictions({given}, {promise[:1].lower()}{promise[1:]})"

    def _repr_html_(self) -> str:
        shown: str = "" if self._table is None else self.table.to_html(max_rows=20, border=0)
        return self.receipt._repr_html_() + shown


@dataclass(frozen=True, eq=False)
class PredictionPlan:
    """A planned run of predictions. It is public: the private table was not opened.

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

    @classmethod
    def of(cls, plan: PlannedRun, alternatives: PlanAlternatives) -> PredictionPlan:
        """A plan, and what else its budget would buy."""
        shown = prediction_plan(plan, alternatives)
        return cls(shown.document(), shown.text, plan)

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
        from dpqr.prediction.record import save_prediction_plan
        from dpqr.releases.locked_plan import plan_file

        run_sanitised(lambda: save_prediction_plan(self._planned, plan_file(os.fspath(path))))

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
    from dpqr.releases.loop import SILENT

    if options.get("model") is not None:
        named = {f"--{name}": options.get(name) is not None for name in ("target", "eps", "delta", "dataset", "plan")}
        named |= {"--dry-run": dry_run, "--rehearse": rehearse}
        from dpqr.prediction.predict import apply_model
        from dpqr.published.show import stored_receipt

        applying = model_request(options, {"DATA": table is not None, **named})
        applied = run_sanitised(lambda: apply_model(applying))
        return Predictions(applied.record, stored_receipt(applied.record), applied.table)
    request = prediction_request(table, options, dry_run=dry_run, rehearse=rehearse)
    if not dry_run:
        from dpqr.prediction.predict import predict as learned
        from dpqr.prediction.predict import released_table
        from dpqr.prediction.receipt import prediction_receipt
        from dpqr.prediction.record import prediction_document

        finished = run_sanitised(lambda: learned(request, SILENT))
        lines = prediction_receipt(finished)
        return Predictions(
            prediction_document(finished, lines), lines, released_table(finished) if finished.pointwise else None
        )
    from dpqr.prediction.predict import planned_prediction

    return PredictionPlan.of(*run_sanitised(lambda: planned_prediction(request)))


# The requests that are made of the options of predictions.

USUAL_PREDICTIONS = 100
"""What a plan is made for where nobody says how many."""


LEARNING = checks(PredictionPlanOptions)
PLANNED = {*PredictionPlanRequest.__struct_fields__}


def prediction_request(
    table: object,
    given: Mapping[str, Any],
    *,
    dry_run: bool = False,
    rehearse: bool = False,
    notes: tuple[str, ...] = (),
) -> PredictionRequest:
    """The run that `dpqr.predict` and `dpqr predict` ask of the use cases.

    Args:
        table: None, or no path: the one that the budget's owner has registered; or a plan or a rehearsal, which opens
            none.
        given: options as `PredictionRun` names them.
        notes: what the plan shall say of the request itself.

    Raises:
        UsageFault: a value that no option may have, or target or epsilon is missing, and no plan states them.
        TypeError: a name that is no option.
    """
    plan = given.get("plan")
    points, out, dataset = given.get("points"), given.get("out"), given.get("dataset")
    if points is not None and points is table and not isinstance(points, str | os.PathLike):
        raise UsageFault("points: are the private table, and how many points there are is shown; give public rows")
    held = _learning(given)
    who = payer(dataset, given.get("ledger"), given.get("anchor")) if dataset or not dry_run else None
    if held.get("predictions") is not None and not dry_run:
        raise UsageFault("--predictions COUNT goes with --dry-run; --points FILE says what to predict")
    if dry_run and plan is None and points is None and held.get("form") != "function":
        held = {"predictions": USUAL_PREDICTIONS, **held}
    missing = table is None or (isinstance(table, tuple) and not table)
    needed = not (dry_run or rehearse or dataset)
    private = table_source((() if needed else None) if missing else table, held)
    target, eps = (given.get(name) for name in ("target", "eps"))
    for name, value in (("target", target), ("eps", eps)):
        if value is None and given.get("plan") is None:
            raise UsageFault(f"--{name} is needed to learn; only --model FILE and --plan FILE go without it")
    domain = given.get("domain")
    request = PredictionRequest(
        table=private,
        plan=PredictionPlanRequest(
            target="" if target is None else text("target", target),
            epsilon="" if eps is None else figure("eps", eps),
            domain=None if domain is None else document("domain", domain),
            **{name: value for name, value in held.items() if name in PLANNED},
        ),
        points=None if points is None else points_source(points, held),
        out=None if out is None else os.fspath(out),
        limits=limits(held),
        payer=who,
        reason=reason(held),
        notes=notes,
        rehearse=boolean("rehearse", rehearse),
    )
    if plan is None:
        return request
    from dpqr.prediction.planner import following_prediction

    return run_sanitised(lambda: following_prediction(request, os.fspath(plan)))


def model_request(given: Mapping[str, Any], idle: Mapping[str, object]) -> ModelRequest:
    """A released function, applied. idle: what else was given, by name, and is of no use. Raises: UsageFault."""
    needless = next((name for name, value in idle.items() if value), None)
    if needless:
        raise UsageFault(f"--model applies a released function, which costs nothing; leave {needless} out")
    points, out, held = given.get("points"), given.get("out"), _learning(given)
    if points is None:
        raise UsageFault("--model says what to predict with; --points FILE says for which rows")
    return ModelRequest(
        model=os.fspath(given["model"]),
        points=points_source(points, held),
        out=None if out is None else os.fspath(out),
        limits=limits(held),
    )


def _learning(given: Mapping[str, Any]) -> dict[str, Any]:
    """The checked options of the learner and of reading tables."""
    run = rows(PredictionRun).keys() - LEARNING.keys()
    return check_options({name: value for name, value in given.items() if name not in run}, LEARNING)


def points_source(points: object, held: Mapping[str, Any]) -> TableSource:
    """The public rows to predict for. How CSV files are written is not said of a table in memory."""
    reading = {name: held.get(name) for name in ("delimiter", "encoding")}
    return table_source(points, reading if isinstance(points, str | os.PathLike) else {})
