"""Forecast: the error that releases are expected to have, and the smallest epsilon that keeps a goal.

Privacy: no private table is named, none is opened, and nothing is charged. A proxy is public by the caller's word, and
its rows are looked at as they are: the figures would disclose a private table in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from dpqr.app.planning.planning import WITHOUT_N, fraction
from dpqr.app.releasing.rehearse import ROWS
from dpqr.app.releasing.release import dry_run, planned
from dpqr.app.requests import ReleaseRequest
from dpqr.construction.forecasts.forecast import Forecast, closed_form, forecast, planned_runs
from dpqr.construction.forecasts.goal import Goal, smallest_epsilon
from dpqr.construction.forecasts.likely import likely_words
from dpqr.construction.forecasts.missing_error import UNKNOWN, MissingError
from dpqr.construction.forecasts.public_tables import PublicTable, made_up_tables
from dpqr.construction.forecasts.resources import Resources, loop_seconds
from dpqr.data.domain import Domain, as_written
from dpqr.data.unit import Neighbours
from dpqr.errors import DocumentError, UsageFault
from dpqr.evaluation import public_cells
from dpqr.io.outputs.records.document_parts import domain_part
from dpqr.io.outputs.records.plan_document import plan_document
from dpqr.io.outputs.releases.observed_error import observed_error, published_epsilon
from dpqr.io.outputs.releases.read_release import read_release
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table
from dpqr.privacy.budget import PrivacyBudget, decimal, upward_text
from dpqr.report.wording import counted, seconds_words
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem

PROXY = (
    "{name} was declared public: its rows are looked at as they are, and these figures would disclose a private table "
    "in its place"
)
ASSUMED = "{records:,} records are assumed; --n N forecasts for another number"
MADE_UP = (
    "simulated on made-up tables, from weak to strong skews and dependences; --proxy or --like, a table like yours, "
    "makes the forecast narrower"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRequest:
    """What a release shall keep, as decimal text. error: --error; relative: --relative, which may end in %.

    names: of the queries that shall keep it (--for); none: their mean shall.
    """

    error: str | None = None
    relative: str | None = None
    confidence: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRequest:
    """A forecast of releases. release: what they have in common. epsilons: of each; none where a goal is stated.

    n: the number of records to forecast for. proxy: a table that the caller declares public; like: directory of an
    earlier release with synthetic rows. runs: simulated releases on each public table; None: `planned_runs`.
    """

    release: ReleaseRequest
    epsilons: tuple[str, ...] = ()
    goal: GoalRequest | None = None
    n: int | None = None
    proxy: TableSource | None = None
    like: str | None = None
    runs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One epsilon: its plan, its forecast, and what a release takes."""

    plan: Plan
    forecast: Forecast
    resources: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Forecasts by epsilon, ascending. goal: what was asked for; then the point is the smallest epsilon that keeps it.

    seconds: of a processor that the forecast of one epsilon takes, about. notes: what the figures rest on.
    """

    points: tuple[Point, ...]
    seconds: float
    notes: tuple[str, ...]
    goal: Goal | None = None


def forecast_releases(request: ForecastRequest, begun: Callable[[str], None] = lambda _: None) -> Outlook:
    """Forecast every epsilon of the request, or find the smallest one that keeps its goal.

    Args:
        begun: is called with a sentence before each simulation.

    Raises:
        DpqrError: where `release` would refuse the run before it opens the table; UsageFault, DataError for a proxy or
            an earlier release that cannot be used.
    """
    _require_question(request)
    goal = None if request.goal is None else _goal(request.goal)
    first = planned(_at(request, request.epsilons[0] if request.epsilons else "1"))
    tables, notes = _tables(request, first.problem)
    runs = len(tables) * (request.runs or planned_runs(first, len(tables)))
    if goal is not None and runs == 1:
        raise UsageFault("--runs 1: one simulated release shows no spread, so no confidence; state 2 or more")
    seconds = max(1.0, runs * loop_seconds(first))

    def announced(words: str) -> None:
        begun(f"{words}: {counted(runs, 'simulated release')}, about {seconds_words(seconds)} of one processor")

    missing = None
    if request.like is not None and closed_form(first) is None:
        missing, note = _missing(request.like, request, first.problem.domain, announced)
        notes = (*notes, note)

    def made(epsilon: str) -> Forecast:
        announced(f"forecasting epsilon {epsilon}")
        found = forecast(planned(_at(request, epsilon)), tables, request.runs)
        return found if missing is None else missing.added(found)

    if goal is None:
        points = [_point(request, made(epsilon), epsilon) for epsilon in request.epsilons]
    else:
        found = smallest_epsilon(lambda epsilon: made(upward_text(epsilon)), goal)
        points = [_point(request, found, upward_text(found.epsilon))]
    ordered = tuple(sorted(points, key=lambda point: point.forecast.epsilon))
    staged = (point.plan for point in ordered if point.plan.stop and point.plan.stop.stages)
    likely = tuple(likely_words(plan, tables) for plan in staged)
    return Outlook(points=ordered, seconds=seconds, notes=(*likely, *notes), goal=goal)


def outlook_document(outlook: Outlook) -> dict[str, Any]:
    """Plain JSON values."""
    goal = outlook.goal
    return {
        "dpqr": "forecast/1",
        "goal": None
        if goal is None
        else {
            "most": goal.most,
            "relative": goal.relative,
            "confidence": float(goal.confidence),
            "queries": list(goal.names),
        },
        "notes": list(outlook.notes),
        "forecasts": [
            forecast_document(point.forecast)
            | {"plan": plan_document(point.plan), "resources": asdict(point.resources)}
            for point in outlook.points
        ],
    }


def forecast_document(found: Forecast) -> dict[str, Any]:
    """One forecast as plain JSON values; errors are mean absolute errors of an answer."""
    return {
        "epsilon": float(found.epsilon),
        "schedule": found.schedule,
        "records": found.records,
        "basis": "closed form" if found.closed else "simulated",
        "tables": list(found.tables),
        "runs": found.runs,
        "error": {"mean": found.error.mean, "deviation": found.error.deviation},
        "l1_over_n": {"mean": found.over_n.mean, "deviation": found.over_n.deviation},
        "blocks": [
            {
                "name": block.name,
                "answers": block.answers,
                "error": {"mean": block.error.mean, "deviation": block.error.deviation},
                "l1_over_n": block.over_n(found.records),
            }
            for block in found.blocks
        ],
    }


def epsilons(text: str) -> tuple[str, ...]:
    """The epsilons of a list, "0.25,0.5,1". UsageFault for one that is none, or is there twice."""
    given = [one.strip() for one in text.split(",")]
    parsed = [PrivacyBudget.parse(one).epsilon for one in given]
    if len(set(parsed)) < len(parsed):
        raise UsageFault(f"--eps {text}: names one epsilon twice; leave one of them out")
    return tuple(given)


def _require_question(request: ForecastRequest) -> None:
    """UsageFault unless the request has either epsilons or a goal, and at most one public table."""
    if bool(request.epsilons) is (request.goal is not None):
        raise UsageFault(
            "state either --eps, for the errors at these epsilons, or --error or --relative, for the smallest epsilon"
        )
    if request.proxy is not None and request.like is not None:
        raise UsageFault("--proxy and --like each name a public table; leave one of them out")


def _goal(asked: GoalRequest) -> Goal:
    if asked.error is not None and asked.relative is not None:
        raise UsageFault("--error and --relative each state a goal; leave one of them out")
    confidence = fraction(asked.confidence, "--confidence") or Fraction(95, 100)
    if asked.relative is not None:
        text, percent = asked.relative.strip(), asked.relative.strip().endswith("%")
        most = decimal(text.rstrip("%"), option="--relative") / (100 if percent else 1)
    elif asked.error is not None:
        most = decimal(asked.error, option="--error")
    else:
        raise UsageFault("--confidence and --for go with --error or --relative; add one of them, or leave these out")
    if not most:
        raise UsageFault("--error and --relative must be above 0: no release with noise has no error")
    return Goal(most=float(most), relative=asked.relative is not None, confidence=confidence, names=asked.names)


def _at(request: ForecastRequest, epsilon: str) -> ReleaseRequest:
    """The release at that epsilon. A number of records that it would refuse, or not use, serves the forecast alone."""
    asked = request.release.plan
    used = asked.neighbours == Neighbours.REPLACE.value or asked.schedule not in WITHOUT_N
    return replace(request.release, plan=replace(asked, epsilon=epsilon, n=request.n if used else None))


def _point(request: ForecastRequest, found: Forecast, epsilon: str) -> Point:
    """Checked as a dry run is: whatever is shown could be released."""
    asked = _at(request, epsilon)
    plan, taken = dry_run(asked)
    return Point(plan=plan, forecast=found, resources=taken)


def _tables(request: ForecastRequest, problem: Problem) -> tuple[Sequence[PublicTable], tuple[str, ...]]:
    """What is simulated on, and sentences that say so."""
    limits, domain = request.release.limits, problem.domain
    if request.proxy is not None:
        name = ", ".join(request.proxy.paths) if request.proxy.frame is None else "the proxy"
        table = _loaded(name, request.proxy, domain, request, limits, None)
        return (table,), (PROXY.format(name=name),)
    if request.like is not None:
        table = _earlier(request.like, request, domain, limits)
        return (table,), (f"simulated on the synthetic rows of {request.like}",)
    stated = request.n or problem.n or problem.declared or domain.facts.records
    notes = (MADE_UP,) if stated else (ASSUMED.format(records=ROWS), MADE_UP)
    return made_up_tables(domain, stated or ROWS, problem.seed), notes


def _earlier(directory: str, request: ForecastRequest, domain: Domain, limits: Limits) -> PublicTable:
    """The synthetic rows of an earlier release, as many as its model has records."""
    files = read_release(directory)
    if files.record["plan"]["domain"] != domain_part(domain):
        raise DocumentError(
            f"--like {directory}: was released over another domain (columns, cells or rules differ); give one over the "
            "same, or --proxy"
        )
    path, titled, records = files.synthetic("--like")
    source = TableSource(paths=(str(path),))
    return _loaded(directory, source, as_written(domain, titled=titled), request, limits, records)


def _missing(
    name: str, request: ForecastRequest, domain: Domain, announced: Callable[[str], None]
) -> tuple[MissingError | None, str]:
    """What an earlier release's rows leave out, by a simulation at its own epsilon and n, and a sentence of it."""
    record = read_release(name).record
    epsilon = published_epsilon(record) or "1"
    table = _earlier(name, replace(request, n=None), domain, request.release.limits)
    plan = planned(_at(replace(request, n=table.records), epsilon))
    observed = observed_error(record, plan, table.records)
    if observed is None:
        return None, UNKNOWN.format(name=name)
    announced(f"comparing {name} with its own rows, epsilon {epsilon}")
    missing = MissingError.of(observed, forecast(plan, (table,), request.runs))
    return missing, missing.words(name)


def _loaded(
    name: str, source: TableSource, domain: Domain, request: ForecastRequest, limits: Limits, each: float | None
) -> PublicTable:
    """A public table, with as many records as were stated, or as it has.

    each: records that a row of a model, which varies less and is drawn again, stands for; None: rows are records.
    """
    check_table(source, domain, limits)
    cells, counts = public_cells(load_table(source, domain, limits).counts)
    if not len(counts):
        raise UsageFault(f"{name}: holds no row that the domain keeps, so nothing can be simulated on it")
    held = int(counts.sum())
    as_it_is = each is None and request.n in (None, held)
    records = None if as_it_is else request.n or round(held * (each or 1))
    return PublicTable.resampled(name, domain.shape, cells, counts, records, request.release.plan.seed)
