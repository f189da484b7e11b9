"""Forecast: the error that releases are expected to have, and the smallest epsilon that keeps a goal.

Privacy: no private table is named, none is opened, and nothing is charged. A proxy is public by the caller's word, and
its rows are looked at as they are: the figures would disclose a private table in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from time import process_time
from typing import TypeVar

from msgspec import Struct, structs

from dpqr.domain.domain import Domain, with_titles
from dpqr.kernel.budget import PrivacyBudget, downward_text, exact_decimal, upward_text
from dpqr.kernel.errors import DataError, DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.kernel.wording import count_words, seconds_words
from dpqr.releases.files.read_release import observed_error, published_epsilon, read_release
from dpqr.releases.forecast.exact_errors import public_cells
from dpqr.releases.forecast.levers import levers
from dpqr.releases.forecast.resources import Resources, loop_seconds
from dpqr.releases.forecast.shares import ShareInside
from dpqr.releases.forecast.simulation import (
    UNKNOWN,
    ErrorDistribution,
    MissingError,
    PlanForecast,
    PublicTable,
    RowsLeftOut,
    closed_form,
    forecast,
    likely_words,
    most_runs,
    planned_runs,
    simulate_tables,
)
from dpqr.releases.learned.person_rows import choices, rows_of_persons
from dpqr.releases.planning import fraction, read_documents
from dpqr.releases.record.parts import DomainPart, written
from dpqr.releases.record.plan_document import plan_document
from dpqr.releases.rehearsal import ROWS
from dpqr.releases.release import dry_run, plan_without_output_checks
from dpqr.releases.requests import ReleaseRequest
from dpqr.releases.roles import schedule_row
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table

T = TypeVar("T")
PROXY = (
    "{name} was declared public: its rows are looked at as they are, and these figures would disclose a private table "
    "in its place"
)
ASSUMED = "{records:,} records are assumed; --n N forecasts for another number"
BEYOND = (
    "a person's rows beyond --max-rows are left out, and all answers are of the rows used; how many rows that leaves "
    "out is not public, and no error here counts it"
)
ALL_ROWS = 2**36
"""A bound on a person's rows that leaves out none."""
COUNTED = (
    "a person's rows beyond --max-rows are left out; how many follows from {source}, and what that adds at most to "
    "errors of answers about all rows is stated with each bound, in no other error"
)
MADE_UP = (
    "simulated on made-up tables, from weak to strong skews and dependences; --proxy or --like, a table like yours, "
    "makes the forecast narrower"
)


class GoalRequest(Struct, frozen=True, kw_only=True):
    """What a release shall keep, as decimal text: one of within, error (--mean-error) and relative, which may end in %.

    names: of the queries that shall keep it (--for); none: all counts together, or the mean over the queries.
    """

    within: str | None = None
    error: str | None = None
    relative: str | None = None
    confidence: str | None = None
    names: tuple[str, ...] = ()


class ForecastRequest(Struct, frozen=True, kw_only=True):
    """A forecast of releases. release: what they have in common. epsilons: of each; none where a goal is stated.

    n: the number of records to forecast for. proxy: a table that the caller declares public; like: directory of an
    earlier release with synthetic rows. runs: simulated releases on each public table; None: `planned_runs`.
    max_rows: of each person, one forecast for each; none: that of the release.
    """

    release: ReleaseRequest
    epsilons: tuple[str, ...] = ()
    goal: GoalRequest | None = None
    n: int | None = None
    proxy: TableSource | None = None
    like: str | None = None
    runs: int | None = None
    max_rows: tuple[int, ...] = ()


class Point(Struct, frozen=True, kw_only=True):
    """One epsilon: its plan, its forecast, and what a release takes."""

    plan: Plan
    forecast: PlanForecast
    resources: Resources


class EpsilonForecasts(Struct, frozen=True, kw_only=True):
    """Forecasts by epsilon, ascending, or by the bound on a person's rows. goal: what was asked for; then each point is
    the smallest epsilon that keeps it. notes: what the figures rest on.
    """

    points: tuple[Point, ...]
    notes: tuple[str, ...]
    goal: Goal | None = None


def forecast_releases(request: ForecastRequest, begun: Callable[[str], None] = lambda _: None) -> EpsilonForecasts:
    """Forecast every epsilon of the request, or find the smallest one that keeps its goal.

    Args:
        begun: is called with a sentence before each simulation.

    Raises:
        DpqrError: where `release` would refuse the run before it opens the table; UsageFault, DataError for a proxy or
            an earlier release that cannot be used.
    """
    if bool(request.epsilons) is (request.goal is not None):
        raise UsageFault(
            "state either --eps, for the errors at these epsilons, or --within, --mean-error or --relative, for the "
            "smallest epsilon"
        )
    if request.proxy is not None and request.like is not None:
        raise UsageFault("--proxy and --like each name a public table; leave one of them out")
    if request.release.learn_max_rows is not None:
        return _by_chosen_rows(request, begun)
    if len(request.max_rows) > 1:
        return _by_max_rows(request, begun)
    if request.max_rows:
        request = replace(request, release=_with_max_rows(request.release, *request.max_rows))
    goal = None if request.goal is None else _goal(request.goal)
    started = process_time()
    first = plan_without_output_checks(_at(request, request.epsilons[0] if request.epsilons else "1"))
    planning = process_time() - started
    tables, notes = _tables(request, first.problem)
    each = request.runs or planned_runs(first, len(tables))
    if goal is not None and goal.within and request.runs is None:
        each = most_runs(len(tables))
    runs = len(tables) * each
    if goal is not None and runs == 1:
        raise UsageFault("--runs 1: one simulated release shows no spread, so no confidence; state 2 or more")
    taken: list[float] = []

    def announced(words: str) -> None:
        each = sum(taken) / len(taken) if taken else planning + runs * loop_seconds(first)
        if goal is not None and len(taken) < 2:
            steps = f"about {TUNING.steps} of them, about {seconds_words(max(1.0, each * TUNING.steps))} in all"
            words = f"{words}, the {'next' if taken else 'first'} forecast of a search, {steps}"
        time = f"about {seconds_words(max(1.0, each))} of one processor"
        begun(f"{words}: {count_words(runs, 'simulated release')}, {time}")

    near = None if goal is None or goal.relative else goal.most
    missing = None
    if request.like is not None and closed_form(first) is None:
        missing, note = _missing_error(request.like, request, first.problem.domain, announced)
        notes = (*notes, note)

    left_out = _left_out(request, first)

    def made(epsilon: str) -> PlanForecast:
        announced(f"forecasting epsilon {epsilon}")
        started = process_time()
        plan = plan_without_output_checks(_at(request, epsilon))
        found = forecast(plan, tables, each, near)
        if missing is not None:
            # What the rows leave out widens every error, so as many lie within the distance as do within less of it.
            shares = () if near is None else forecast(plan, tables, each, near / missing.factor(found)).shares
            found = replace(missing.added(found), shares=shares)
        if left_out is not None:
            found = replace(found, left_out=RowsLeftOut.of(plan, *left_out, found.records))
        taken.append(process_time() - started)
        return found

    if goal is None:
        points = [_point(request, made(epsilon), epsilon) for epsilon in request.epsilons]
    else:
        found = smallest_epsilon(lambda epsilon: made(upward_text(epsilon)), goal)
        points = [_point(request, found, upward_text(found.epsilon))]
    ordered = tuple(sorted(points, key=lambda point: point.forecast.epsilon))
    staged = (point.plan for point in ordered if point.plan.stop and point.plan.stop.stages)
    likely = tuple(likely_words(plan, tables) for plan in staged)
    return EpsilonForecasts(points=ordered, notes=(*likely, *_surprises(ordered, goal), *notes), goal=goal)


def _surprises(points: Sequence[Point], goal: Goal | None) -> Iterator[str]:
    """Why a larger epsilon is forecast a larger error, why more rows may ask for a larger epsilon, and that a goal asks
    for next to nothing."""
    for less, more in pairwise(points):
        low, high = less.forecast, more.forecast
        if high.error.mean > low.error.mean or high.over_n.mean > low.over_n.mean:
            spread = f"within what {count_words(high.runs, 'simulated release')} can tell apart"
            other = f"epsilon {upward_text(high.epsilon)} measures other blocks than {upward_text(low.epsilon)}"
            within_spread = high.over_n.mean - low.over_n.mean <= max(high.over_n.deviation, low.over_n.deviation)
            yield (
                f"a larger error is forecast at epsilon {upward_text(high.epsilon)} than at "
                f"{upward_text(low.epsilon)}: {spread if within_spread else other}; --runs N simulates more of them"
            )
    if goal is None or not points:
        return
    (found,) = (one.forecast for one in points)
    if found.over_n.mean > 1:
        yield "at this epsilon the noise is larger than the counts: the goal asks for next to nothing"
    if not goal.relative and not found.closed:
        yield (
            "the goal is in absolute figures, and what a fit to noisy answers misses grows with the rows: more rows "
            "may ask for a larger epsilon; --schedule strategy has the same error for any number of rows"
        )


def _by_max_rows(request: ForecastRequest, begun: Callable[[str], None]) -> EpsilonForecasts:
    """A forecast for every bound on a person's rows, at one epsilon or for one goal."""
    if len(request.epsilons) > 1:
        raise UsageFault("--eps and --max-rows each have several values; give one of either")
    if len(set(request.max_rows)) < len(request.max_rows):
        raise UsageFault(f"--max-rows {','.join(map(str, request.max_rows))}: names one number twice; leave it out")
    found = []
    for rows in sorted(request.max_rows):
        begun(f"--max-rows {rows}")
        one = replace(request, max_rows=(), release=_with_max_rows(request.release, rows))
        found.append(forecast_releases(one, begun))
    points = tuple(point for one in found for point in one.points)
    notes = dict.fromkeys(note for one in found for note in one.notes)
    both = {
        point.forecast.max_rows: point.forecast.over_n.mean + cut.over_n
        for point in points
        if (cut := point.forecast.left_out) is not None
    }
    first = BEYOND
    if both:
        learned = points[0].plan.problem.domain.learned
        source = "the proxy"
        if request.proxy is None and learned and learned.rows:
            last = learned.rows.numbers[-1]
            source = f"the noisy counts of the domain file, which count at most {last} rows of a person"
        best = min(both, key=lambda rows: both[rows])
        least = f"both together are least at --max-rows {best}: L1 / n {both[best]:.3g} at most"
        first = f"{COUNTED.format(source=source)}; {least}"
    return EpsilonForecasts(points=points, notes=(first, *notes), goal=found[0].goal)


def _by_chosen_rows(request: ForecastRequest, begun: Callable[[str], None]) -> EpsilonForecasts:
    """A forecast for bounds that `--learn-max-rows` may choose, each twice the last one, of the rest of the budget."""
    share, plan = fraction(request.release.learn_max_rows, "--learn-max-rows") or Fraction(0), request.release.plan
    if len(request.epsilons) != 1 or request.max_rows:
        raise UsageFault("--learn-max-rows: is forecast at one --eps; --max-rows then states one number, the largest")
    stated = read_documents(plan.queries, plan.domain, strict=plan.strict).domain.unit
    numbers = choices(plan.max_rows or (stated.rows if stated else None))
    bounds = (*(2**power for power in range(numbers[-1].bit_length()) if 2**power < numbers[-1]), numbers[-1])
    whole = exact_decimal(request.epsilons[0], option="--eps")
    rest = whole - Fraction(downward_text(whole * share))
    release, epsilons = replace(request.release, learn_max_rows=None), (downward_text(rest),)
    found = _by_max_rows(replace(request, release=release, epsilons=epsilons, max_rows=bounds), begun)
    note = (
        f"epsilon {upward_text(whole - rest)} of {upward_text(whole)} chooses among 1 to {numbers[-1]} rows by noisy "
        "counts of persons; these forecasts are of the rest"
    )
    return replace(found, notes=(note, *found.notes))


def _with_max_rows(release: ReleaseRequest, rows: int) -> ReleaseRequest:
    return replace(release, plan=replace(release.plan, max_rows=rows))


def forecasts_document(forecasts: EpsilonForecasts) -> dict[str, object]:
    """Plain JSON values."""
    goal = forecasts.goal
    return {
        "dpqr": "forecast/1",
        "goal": None
        if goal is None
        else {
            "of": goal.of,
            "most": goal.most,
            "relative": goal.relative,
            "confidence": float(goal.confidence),
            "queries": list(goal.names),
        },
        "notes": list(forecasts.notes),
        "forecasts": [
            forecast_document(point.forecast, goal)
            | {"levers": list(levers(point.plan, point.forecast))}
            | {"plan": plan_document(point.plan), "resources": structs.asdict(point.resources)}
            for point in forecasts.points
        ],
    }


def forecast_document(found: PlanForecast, goal: Goal | None = None) -> dict[str, object]:
    """One forecast as plain JSON values; errors are mean absolute errors of an answer, a figure's in its own unit."""
    shares = {} if goal is None or not found.shares else {"within": goal.shares_document(found)}
    persons = [{"name": one.name, "answers": one.answers, "error": structs.asdict(one.error)} for one in found.persons]
    cut = found.left_out
    left_out = cut and {"share": cut.share, "deviation": cut.deviation, "error": cut.error, "l1_over_n": cut.over_n}
    return {
        "epsilon": float(found.epsilon),
        "schedule": found.schedule,
        "records": found.records,
        "basis": "closed form" if found.closed else "simulated",
        "tables": list(found.tables),
        "runs": found.runs,
        "error": structs.asdict(found.error),
        "l1_over_n": structs.asdict(found.over_n),
        "blocks": [
            {
                "name": block.name,
                "answers": block.answers,
                "error": structs.asdict(block.error),
                "l1_over_n": block.over_n(found.records),
            }
            for block in found.blocks
        ],
        "figures": [
            {
                "name": one.name,
                "kind": one.kind,
                "values": one.values,
                "error": one.error and structs.asdict(one.error),
            }
            for one in found.figures
        ],
        **({"persons": persons} if persons else {}),
        **({"left_out": left_out} if cut else {}),
        **shares,
    }


def epsilons(text: str) -> tuple[str, ...]:
    """The epsilons of a list, "0.25,0.5,1". UsageFault for one that is none, or is there twice."""
    given = [one.strip() for one in text.split(",")]
    parsed = [PrivacyBudget.parse(one).epsilon for one in given]
    if len(set(parsed)) < len(parsed):
        raise UsageFault(f"--eps {text}: names one epsilon twice; leave one of them out")
    return tuple(given)


def _goal(request: GoalRequest) -> Goal:
    goals = {"--within": request.within, "--mean-error": request.error, "--relative": request.relative}
    stated = {option: text for option, text in goals.items() if text is not None}
    if len(stated) > 1:
        raise UsageFault(f"{' and '.join(stated)} each state a goal; leave all but one of them out")
    if not stated:
        raise UsageFault(
            "--confidence and --for go with --within, --mean-error or --relative; add one of them, or leave these out"
        )
    ((option, given),) = stated.items()
    text, relative = given.strip(), option == "--relative"
    if text.endswith("%") and not relative:
        raise UsageFault(f"{option} {text[:40]}: must be a number of records; for a percentage give --relative")
    most = exact_decimal(text.rstrip("%") if relative else text, option=option)
    if not most:
        raise UsageFault(f"{option} must be above 0: no release with noise has no error")
    return Goal(
        most=float(most / (100 if relative and text.endswith("%") else 1)),
        relative=relative,
        within=option == "--within",
        confidence=fraction(request.confidence, "--confidence") or Fraction(95, 100),
        names=request.names,
    )


def _at(request: ForecastRequest, epsilon: str) -> ReleaseRequest:
    """The release at that epsilon. A number of records that it would refuse, or not use, serves the forecast alone."""
    plan = request.release.plan
    used = plan.neighbours == Neighbours.REPLACE.value or schedule_row(plan.schedule).uses_n
    return replace(request.release, plan=replace(plan, epsilon=epsilon, n=request.n if used else None))


def _point(request: ForecastRequest, found: PlanForecast, epsilon: str) -> Point:
    """Checked as a dry run is: whatever is shown could be released."""
    run = _at(request, epsilon)
    plan, taken = dry_run(run)
    return Point(plan=plan, forecast=found, resources=taken)


def _tables(request: ForecastRequest, problem: Problem) -> tuple[Sequence[PublicTable], tuple[str, ...]]:
    """What is simulated on, and sentences that say so."""
    limits, domain = request.release.limits, problem.domain
    if request.proxy is not None:
        name = ", ".join(request.proxy.paths) if request.proxy.frame is None else "the proxy"
        table = _load_public_table(name, request.proxy, domain, request, limits, None)
        return (table,), (PROXY.format(name=name),)
    if request.like is not None:
        table = _earlier(request.like, request, domain, limits)
        return (table,), (f"simulated on the synthetic rows of {request.like}",)
    stated = request.n or problem.n or problem.declared or domain.facts.records
    notes = (MADE_UP,) if stated else (ASSUMED.format(records=ROWS), MADE_UP)
    return simulate_tables(domain, stated or ROWS, problem.seed), notes


def _left_out(request: ForecastRequest, plan: Plan) -> tuple[float, float] | None:
    """The share of rows that the bound on a person's rows leaves out, and its deviation: of the proxy, or by counts in
    the domain file. None where neither says it, or where tables leave out more, each by itself."""
    unit, domain, limits = plan.problem.unit, plan.problem.domain, request.release.limits
    if not unit.columns or unit.tables_apart:
        return None
    proxy = request.proxy
    if proxy is None:
        learned = domain.learned
        if learned is None or learned.rows is None or learned.unit != unit.whom:
            return None
        share, deviation = rows_of_persons(learned.rows).share(unit.rows)
        return 1 - share, deviation
    if not proxy.repeatable:
        return None  # it has been read
    try:
        check_table(proxy, domain, limits, unit)
    except DataError:
        return None  # nobody's rows are told apart
    used, held = (
        public_cells(load_table(proxy, domain, limits, unit=replace(unit, rows=rows)).counts)[1].sum()
        for rows in (unit.rows, ALL_ROWS)
    )
    return 1 - float(used / max(1, held)), 0.0


def _earlier(directory: str, request: ForecastRequest, domain: Domain, limits: Limits) -> PublicTable:
    """The synthetic rows of an earlier release, as many as its model has records."""
    files = read_release(directory)
    if files.record["plan"]["domain"] != written(DomainPart.of(domain)):
        raise DocumentError(
            f"--like {directory}: was released over another domain (columns, cells or rules differ); give one over the "
            "same, or --proxy"
        )
    path, titled, records = files.synthetic("--like")
    source = TableSource(paths=(str(path),))
    return _load_public_table(directory, source, with_titles(domain, titled=titled), request, limits, records)


def _missing_error(
    name: str, request: ForecastRequest, domain: Domain, announced: Callable[[str], None]
) -> tuple[MissingError | None, str]:
    """What an earlier release's rows leave out, by a simulation at its own epsilon and n, and a sentence of it."""
    record = read_release(name).record
    epsilon = published_epsilon(record) or "1"
    table = _earlier(name, replace(request, n=None), domain, request.release.limits)
    plan = plan_without_output_checks(_at(replace(request, n=table.records), epsilon))
    observed = observed_error(record, plan, table.records)
    if observed is None:
        return None, UNKNOWN.format(name=name)
    announced(f"comparing {name} with its own rows, epsilon {epsilon}")
    missing = MissingError.of(observed, forecast(plan, (table,), request.runs))
    return missing, missing.words(name)


def _load_public_table(
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


# Goal: the smallest epsilon whose forecast error is small enough.

Forecaster = Callable[[Fraction], PlanForecast]


class GoalSearchTuning(Struct, frozen=True, kw_only=True):
    """Of the search, in factors of epsilon."""

    start: float = 1.0
    step: float = 4.0  # while one end is open
    close: float = 1.03  # ends that are so near are one
    least: float = 1e-6
    most: float = 1000.0
    digits: int = 3  # of an epsilon that is tried
    steps: int = 8  # forecasts of a search, about


TUNING = GoalSearchTuning()


class Goal(Struct, frozen=True, kw_only=True):
    """What a release shall keep.

    within: that the part `confidence` of the answers lie within `most` of the truth, as `ShareInside` tells it: of all
    answers that are counts of records, or, with names, of the answers of each of these queries, in their own unit.
    Otherwise: that with probability `confidence`, over its noise (and over made-up tables, if any), a mean error is at
    most `most`: the mean absolute error of an answer, in records (or the unit of a sum or figure); relative: the L1
    error over n instead. names: every one of these queries shall keep it; none: the mean over all blocks shall.

    >>> print(Goal(most=50.0).words)
    the queries' mean error is at most 50 records in 95% of the releases
    >>> print(Goal(most=50.0, within=True).words)
    95% of the counts lie within 50 records of the truth
    """

    most: float
    relative: bool = False
    within: bool = False
    confidence: Fraction = Fraction(95, 100)
    names: tuple[str, ...] = ()

    @property
    def of(self) -> str:
        """What `most` bounds."""
        return "each answer" if self.within else "L1 over n" if self.relative else "mean error"

    @property
    def part(self) -> str:
        return f"{float(self.confidence) * 100:.6g}%"

    @property
    def words(self) -> str:
        named = ", ".join(map(repr, self.names))
        if self.within and self.names:
            each = "the answers of each of " if len(self.names) > 1 else "the answers of "
            return f"{self.part} of {each}{named} lie within {self.most:.6g} of the truth, in their own unit"
        if self.within:
            return f"{self.part} of the counts lie within {self.most:.6g} records of the truth"
        what = f"{self.most:.4g} n in L1" if self.relative else f"{self.most:.6g}{'' if self.names else ' records'}"
        whose = f"the mean error of {named}" if self.names else "the queries' mean error"
        return f"{whose} is at most {what} in {self.part} of the releases"

    def kept(self, found: PlanForecast) -> bool:
        return self.reached(found) <= self.least

    @property
    def least(self) -> float:
        """What `reached` may be at most: the goal's figure, or the share of answers that may lie outside."""
        return float(1 - self.confidence) if self.within else self.most

    def reached(self, found: PlanForecast) -> float:
        """What stays below the goal's figure with the goal's confidence, or the share of the answers outside.
        UsageFault: no query has such a name."""
        if self.within:
            return 1 - min(one.share(self.confidence) for one in self.shares(found))
        return self._worst(found).at_most(self.confidence)

    def shares(self, found: PlanForecast) -> tuple[ShareInside, ...]:
        """Of all that are meant. UsageFault: no query has such a name; there are no counts, and no name."""
        if self.names:
            return tuple(self._named(name, {one.name: one for one in found.shares}) for name in self.names)
        counts = [one for one in found.shares if one.counts]
        if not counts:
            raise UsageFault(
                f"--within {self.most:g}: is of counts, and none is asked for; name the queries that are meant, as "
                f"--for {found.shares[-1].name!r}, whose answers then lie within {self.most:g} in their own unit"
            )
        return (ShareInside.together(counts),)

    def worst_share(self, found: PlanForecast) -> ShareInside | None:
        """The query among those meant whose answers lie within the distance least often; None: there is one."""
        meant = self.shares(found) if self.names else [one for one in found.shares if one.counts]
        return min(meant, key=lambda one: one.share(self.confidence)) if len(meant) > 1 else None

    def shares_document(self, found: PlanForecast) -> dict[str, object]:
        """The shares within the goal's distance as plain JSON values."""
        return {
            "distance": self.most,
            "queries": [
                {"name": one.name, "answers": one.answers, "share": one.share(self.confidence), "counts": one.counts}
                for one in found.shares
            ],
        }

    def typical(self, found: PlanForecast) -> float:
        """The mean of the same error."""
        return self._worst(found).mean

    def _worst(self, found: PlanForecast) -> ErrorDistribution:
        """Of the errors that shall keep the goal, the one that is furthest from it."""
        known: dict[str, ErrorDistribution] = {}
        for block in found.blocks:
            scale = block.over_n(found.records) / block.error.mean if self.relative and block.error.mean else 1.0
            error = block.error
            known[block.name] = ErrorDistribution(mean=error.mean * scale, deviation=error.deviation * scale)
        if not self.relative:
            known |= {one.name: one.error for one in found.figures if one.error is not None}
        errors = [self._named(name, known) for name in self.names]
        mean = found.over_n if self.relative else found.error
        return max(errors or [mean], key=lambda error: error.at_most(self.confidence))

    def _named(self, name: str, known: Mapping[str, T]) -> T:
        if name not in known:
            raise UsageFault(f"--for {name}: no query has this name; known: {', '.join(list(known)[:8])}")
        return known[name]


def smallest_epsilon(forecast: Forecaster, goal: Goal) -> PlanForecast:
    """The forecast of the smallest epsilon that keeps the goal, to three digits.

    Bracketed by factors, then by bisection on a logarithmic scale towards where the line between both ends meets the
    goal. An error that falls with epsilon is all that it rests on; of one that does not, some crossing is found.

    Raises:
        InfeasiblePlan: none below the largest epsilon that is tried keeps it.
    """
    low, high = _bracket(forecast, goal)
    while low is not None and high.epsilon / low.epsilon > Fraction(TUNING.close):
        # Where the line through both ends in logarithms meets the goal, kept off the ends.
        ends = [math.log(max(goal.reached(found), 1e-300)) for found in (low, high)]
        drop = ends[0] - ends[1]
        part = (ends[0] - math.log(goal.least)) / drop if drop > 0 else 0.5
        span = math.log(high.epsilon / low.epsilon)
        tried = _rounded(float(low.epsilon) * math.exp(span * min(max(part, 0.1), 0.9)))
        if not low.epsilon < tried < high.epsilon:
            break
        found = forecast(tried)
        low, high = (low, found) if goal.kept(found) else (found, high)
    return high


def _bracket(forecast: Forecaster, goal: Goal) -> tuple[PlanForecast | None, PlanForecast]:
    """An epsilon that misses the goal, and a larger one that keeps it; None: the smallest keeps it."""
    found, missed, kept = forecast(_rounded(TUNING.start)), None, None
    while missed is None or kept is None:
        missed, kept = (missed, found) if goal.kept(found) else (found, kept)
        if missed is None and found.epsilon <= Fraction(TUNING.least):
            return None, found
        if kept is None and found.epsilon >= Fraction(TUNING.most):
            raise InfeasiblePlan(
                f"no epsilon up to {TUNING.most:g} keeps the goal, {goal.words}: at {TUNING.most:g} "
                + (
                    f"{1 - goal.reached(found):.1%} would; state a larger distance, or ask less"
                    if goal.within
                    else f"it would be {goal.reached(found):.4g}; state a larger error, or ask less"
                )
            )
        if missed is None or kept is None:
            step = TUNING.step if kept is None else 1 / TUNING.step
            found = forecast(_rounded(min(float(found.epsilon) * step, TUNING.most)))
    return missed, kept


def _rounded(epsilon: float) -> Fraction:
    """Up, to few digits, so that what is reported can be typed."""
    return Fraction(upward_text(Fraction(epsilon), TUNING.digits))
