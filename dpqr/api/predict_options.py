"""Options of predictions, named as those of `dpqr predict`, and the requests that are made of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from dpqr.api.checks import Check, Figure, Path, figure, stated, text, truth, whole
from dpqr.api.options import (
    PLANNING,
    READING,
    REASONS,
    RELEASING,
    SharedOptions,
    document,
    limits,
    reason,
    table_source,
)
from dpqr.api.payer import payer
from dpqr.api.withheld import withheld
from dpqr.app.requests import ModelRequest, PredictionPlanRequest, PredictionRequest
from dpqr.errors import UsageFault
from dpqr.io.tables.source import TableSource

if TYPE_CHECKING:
    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document

USUAL_PREDICTIONS = 100
"""What a plan is made for where nobody says how many."""


class PredictOptions(SharedOptions, total=False):
    """What a prediction run learns with, how its table is read, and why it is made; None: not stated.

    form is `--release`, and penalty is `--lambda`. predictions: how many a plan is made for.
    """

    learner: str | None
    form: Literal["predictions", "function"] | None
    positive: str | None
    penalty: Figure | None
    method: str | None
    slots: str | None
    radius: Figure | None
    smoothness: Figure | None
    decay: Figure | None
    tune: Figure | None
    tau: Figure | None
    theta: Figure | None
    t0: int | None
    releases: int | None
    kernel: str | None
    bandwidth: Figure | None
    degree: int | None
    features: int | None
    base: str | None
    parts: int | None
    target_error: Figure | None
    vote: str | None
    accountant: str | None
    predictions: int | None
    purpose: str | None
    by: str | None
    approved_by: str | None


class PredictionRun(PredictOptions, total=False):
    """All options of `dpqr predict`."""

    target: str | None
    points: object
    domain: Document | None
    eps: Figure | None
    model: Path | None
    dataset: str | None
    ledger: Path | Ledger | None
    anchor: Path | None
    out: Path | None
    plan: Path | None


RUN = frozenset(PredictionRun.__optional_keys__ - PredictOptions.__optional_keys__)
SHARED = ("delta", "neighbours", "n", "unit", "max_rows", "counts", "accountant", "trust", "seed")
LEARNING: Mapping[str, Check] = {
    "learner": text,
    "form": partial(text, among=("predictions", "function")),
    **dict.fromkeys(("positive", "method", "slots", "kernel", "base", "vote"), text),
    **dict.fromkeys(("penalty", "radius", "smoothness", "decay", "tune", "tau", "theta"), figure),
    **dict.fromkeys(("bandwidth", "target_error"), figure),
    **dict.fromkeys(("t0", "releases", "degree", "features", "parts", "predictions"), whole),
    **{name: PLANNING[name] for name in SHARED},
}
"""Options that are fields of the plan's request."""
KNOWN = {**LEARNING, **READING, **{name: RELEASING[name] for name in REASONS}}


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
    request = PredictionRequest(
        table=_private(table, held, needed=not (dry_run or rehearse or dataset)),
        plan=_plan_request(given, held),
        points=None if points is None else points_source(points, held),
        out=None if out is None else os.fspath(out),
        limits=limits(held),
        payer=who,
        reason=reason(held),
        notes=notes,
        rehearse=truth("rehearse", rehearse),
    )
    if plan is None:
        return request
    from dpqr.app.releasing.locked_plan import following_prediction

    return withheld(lambda: following_prediction(request, os.fspath(plan)))


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
    return stated({name: value for name, value in given.items() if name not in RUN}, KNOWN)


def points_source(points: object, held: Mapping[str, Any]) -> TableSource:
    """The public rows to predict for. How CSV files are written is not said of a table in memory."""
    reading = {name: held.get(name) for name in ("delimiter", "encoding")}
    return table_source(points, reading if isinstance(points, str | os.PathLike) else {})


def _private(table: object, held: Mapping[str, Any], *, needed: bool) -> TableSource:
    """The table to learn from. UsageFault where there is none, and one is needed."""
    missing = table is None or (isinstance(table, tuple) and not table)
    return table_source((() if needed else None) if missing else table, held)


def _plan_request(given: Mapping[str, Any], held: Mapping[str, Any]) -> PredictionPlanRequest:
    target, eps = (given.get(name) for name in ("target", "eps"))
    for name, value in (("target", target), ("eps", eps)):
        if value is None and given.get("plan") is None:
            raise UsageFault(f"--{name} is needed to learn; only --model FILE and --plan FILE go without it")
    domain = given.get("domain")
    return PredictionPlanRequest(
        target="" if target is None else text("target", target),
        epsilon="" if eps is None else figure("eps", eps),
        domain=None if domain is None else document("domain", domain),
        **{name: value for name, value in held.items() if name in LEARNING},
    )
