"""Forecast: the error that a release by a plan is expected to have, before any private data is opened.

Error of a block: the mean absolute error of its answers in one release, in records (or the summed column's unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Counts, DenseHistogram, SparseHistogram
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.noise.public import PublicGenerator, PublicNoise, public_generator
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import prepare
from dpqr.releases.answers.figures import figure_values
from dpqr.releases.draws import Draws
from dpqr.releases.forecast.shares import ShareInside
from dpqr.releases.loop import SILENT, iterative_construction, released_hypothesis
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan
from dpqr.workload.figures import Figure, Largest, Quantiles
from dpqr.workload.sensitivity import Norm, sensitivity

_ROW = PrivacyUnit()
_HALF_NORMAL = math.sqrt(math.pi / 2 - 1)
"""Deviation over mean of the absolute value of normal noise."""


class SimulationTuning(Struct, frozen=True, kw_only=True):
    """How much is simulated for one plan: the same everywhere, so that a forecast is."""

    single: int = 8  # runs where there is one table
    each: int = 1  # runs on each of several
    closed: int = 24  # runs on all tables together, where there is a closed form: they show the spread alone
    answers: int = 64  # of all runs together: a mean over fewer is noise; no table has more than eight times its runs


TUNING = SimulationTuning()


class ErrorDistribution(Struct, frozen=True, kw_only=True):
    """The law of an error from release to release. mean, deviation: where tables were made up, over these too.

    >>> single = ErrorDistribution(mean=0.798, deviation=0.603)  # |normal noise| of deviation 1
    >>> round(single.at_most(Fraction(95, 100)), 1)
    2.0
    """

    mean: float
    deviation: float

    def at_most(self, confidence: Fraction) -> float:
        """What it exceeds with probability 1 - confidence, if it follows a gamma law: exact for no deviation, within
        10% for |normal noise|, and upwards in its tail. A deviation above the mean is that of errors of several sizes,
        which follow a lognormal law."""
        from scipy.special import gammaincinv, ndtri

        if self.deviation <= 1e-9 * self.mean:
            return self.mean
        if self.deviation > self.mean:
            wide = math.log1p((self.deviation / self.mean) ** 2)
            return self.mean * math.exp(float(ndtri(float(confidence))) * math.sqrt(wide) - wide / 2)
        shape = (self.mean / self.deviation) ** 2
        return float(gammaincinv(shape, float(confidence)) * self.mean / shape)


class ExpectedBlockError(Struct, frozen=True, kw_only=True):
    """One block. reach: the most that one record can change an answer; 1 for counts. by_itself: whether its answers are
    asked for by themselves; they are not where a mean, median or ratio is computed from them."""

    name: str
    answers: int
    reach: float
    error: ErrorDistribution
    by_itself: bool = True

    @property
    def counts(self) -> bool:
        """Whether its answers are counts of records that are asked for."""
        return self.by_itself and self.reach == 1.0

    def over_n(self, records: int) -> float:
        """Its expected L1 error over `records` times the reach: what `dpqr evaluate` calls L1 / n."""
        return self.error.mean * self.answers / self.reach / records


class ExpectedFigureError(Struct, frozen=True, kw_only=True):
    """One figure: a mean, median, quantiles, variance, ratio, proportion or largest counts.

    values: of one release. error: mean absolute error of a value in its own unit, over the groups that have records in
    table and release; None: no simulated release had such a group.
    """

    name: str
    kind: str
    values: int
    error: ErrorDistribution | None


class ExpectedPersonsError(Struct, frozen=True, kw_only=True):
    """One table of persons. error: mean absolute error of an answer, in persons or in units of the summed column, by
    the law of its noise: exact but for counts near zero, where the released answers err less."""

    name: str
    answers: int
    error: ErrorDistribution


class RowsLeftOut(Struct, frozen=True, kw_only=True):
    """What the bound on a person's rows leaves out, and what that adds at most to errors of answers about all rows.

    share: of the rows. deviation: of the share, where noisy counts say it; 0 of a public table. error, over_n: as of
    `PlanForecast`.
    """

    share: float
    deviation: float
    error: float
    over_n: float

    @classmethod
    def of(cls, plan: Plan, share: float, deviation: float, records: int) -> RowsLeftOut:
        """A row that is left out moves the answers of a block by the largest L1 norm of its columns at most; the norms
        of several rows add up (triangle inequality)."""
        answers = np.array([block.rows for block in plan.problem.workload.blocks], dtype=np.float64)
        moved = left_out_reach(plan)
        return cls(
            share=share,
            deviation=deviation,
            error=float((moved / answers).mean() * share * records),
            over_n=float(moved.mean() * share),
        )


def left_out_reach(plan: Plan) -> FloatArray:
    """By how much a row that is left out moves the answers of each block at most, in L1, over the block's reach: 1 of
    tables of counts. Shape (blocks,)."""
    blocks = plan.problem.workload.blocks
    columns = [sensitivity((block,), Norm.L1, _ROW) * float(block.scale) for block in blocks]
    return np.asarray(np.array(columns) / reaches(plan), dtype=np.float64)


class PlanForecast(Struct, frozen=True, kw_only=True):
    """Of one plan. Every figure is an estimate, and public.

    records: n, as declared, assumed, or held by the public table. error: mean over the blocks of their errors, each
    over its reach, in records. over_n: mean over the blocks of their L1 errors over n.
    tables: names of the public tables that were simulated; empty: a closed form. runs: simulated releases, all tables
    together. figures: in the workload's order; the answers that they are computed from are among the blocks too.
    shares: of each block's and figure's answers within a distance, where one was asked about. max_rows: of each person
    that are used; 1 where rows are protected. left_out: by that bound, in no other figure; None: nothing public says
    it. persons: the tables of persons, in no other figure: they depend on no table and are not simulated.
    """

    epsilon: Fraction
    schedule: str
    records: int
    blocks: tuple[ExpectedBlockError, ...]
    error: ErrorDistribution
    over_n: ErrorDistribution
    tables: tuple[str, ...]
    runs: int
    closed: bool
    figures: tuple[ExpectedFigureError, ...] = ()
    shares: tuple[ShareInside, ...] = ()
    max_rows: int = 1
    left_out: RowsLeftOut | None = None
    persons: tuple[ExpectedPersonsError, ...] = ()


def closed_form(plan: Plan) -> FloatArray | None:
    """Expected error of each block where the estimates are unbiased and the draws are fixed in advance, shape
    (blocks,). None: it has to be simulated."""
    errors = [block.error for block in plan.forecast]
    return None if not errors or None in errors else np.array(errors, dtype=np.float64)


def closed_mean(plan: Plan) -> float | None:
    """The mean over the blocks, each over its reach: the same figure as `PlanForecast.error`."""
    closed = closed_form(plan)
    return None if closed is None else float((closed / reaches(plan)).mean())


def forecast(
    plan: Plan, tables: Sequence[PublicTable], runs: int | None = None, within: float | None = None
) -> PlanForecast:
    """Release every table several times by the plan, with public noise, and compare with its answers.

    Where there is a closed form, the means are its, and the runs show the spread alone. The same seeds serve every
    plan (common random numbers), so forecasts of several budgets differ by these budgets alone.

    Args:
        tables: at least one; the forecast is the geometric mean over them.
        runs: on each table; None: `planned_runs`.
        within: the distance of `PlanForecast.shares`; None: there are none.

    Privacy:
        Public: plan, tables and noise are. Nothing is charged to any budget.
    """
    each = runs or planned_runs(plan, len(tables))
    answers = np.array([block.rows for block in plan.problem.workload.blocks], dtype=np.float64)
    reach, records = reaches(plan), np.array([max(1, table.records) for table in tables], dtype=np.float64)
    released = [
        [simulate(plan, table, plan.problem.seed + place * each + run, within) for run in range(each)]
        for place, table in enumerate(tables)
    ]
    errors = np.array([[one.errors for one in runs_of] for runs_of in released])
    closed = closed_form(plan)
    over_n = (errors * answers / reach).mean(axis=2) / records[:, None]
    n = round(float(records.mean()))
    means = _expected(errors, closed, _HALF_NORMAL / np.sqrt(answers))
    # A figure's own blocks are not asked for; the counts of the largest cells are.
    workload = plan.problem.workload
    parts = {name for figure in workload.figures if figure.kind != "top" for name in figure.blocks}
    blocks = tuple(
        ExpectedBlockError(
            name=block.name, answers=block.rows, reach=float(most), error=one, by_itself=block.name not in parts
        )
        for block, most, one in zip(workload.blocks, reach, means, strict=True)
    )
    return PlanForecast(
        epsilon=plan.budget.epsilon,
        schedule=plan.schedule.name,
        records=n,
        blocks=blocks,
        error=_expected((errors / reach).mean(axis=2)[..., None], _mean(closed, 1 / reach))[0],
        over_n=_expected(over_n[..., None], _mean(closed, answers / reach / n))[0],
        tables=tuple(table.name for table in tables),
        runs=each * len(tables),
        closed=closed is not None,
        figures=_figure_errors(plan, np.array([[one.figures for one in runs_of] for runs_of in released])),
        max_rows=plan.problem.unit.rows,
        shares=() if within is None else _shares(plan, blocks, released, within),
        persons=_persons_errors(plan),
    )


def _persons_errors(plan: Plan) -> tuple[ExpectedPersonsError, ...]:
    """The absolute value of noise X has the variance E X^2 - (E |X|)^2, and the mean of m independent ones an m-th of
    it."""
    found = []
    for one in plan.person_forecast:
        mean = one.error or 0.0
        spread = math.sqrt(max(one.deviation**2 - mean**2, 0.0) / one.rows)
        error = ErrorDistribution(mean=mean, deviation=spread)
        found.append(ExpectedPersonsError(name=one.name, answers=one.rows, error=error))
    return tuple(found)


def planned_runs(plan: Plan, tables: int) -> int:
    """On each table: more where a run shows few answers."""
    if closed_form(plan) is not None:
        return most_runs(tables)
    usual = TUNING.single if tables == 1 else TUNING.each
    answers = sum(block.rows for block in plan.problem.workload.blocks)
    return max(usual, min(8 * usual, math.ceil(TUNING.answers / (tables * answers))))


def most_runs(tables: int) -> int:
    """On each table, at most."""
    return max(1, TUNING.closed // tables)


def reaches(plan: Plan) -> FloatArray:
    """The most that one record can change an answer of each block, in its unit, shape (blocks,)."""
    blocks = plan.problem.workload.blocks
    return np.array([(sensitivity((block,), Norm.LARGEST, _ROW) or 1) * float(block.scale) for block in blocks])


class SimulatedRelease(Struct, frozen=True, kw_only=True, eq=False):
    """Distances of one simulated release from its table.

    errors: mean of each block, shape (blocks,). figures: mean of each figure, NaN where no group has records, shape
    (figures,). seen, inside, square: of each block and then of each figure, as `ShareInside` has them.
    """

    errors: FloatArray
    figures: FloatArray
    seen: IntArray
    inside: IntArray
    square: FloatArray


def simulate(plan: Plan, table: PublicTable, seed: int, within: float | None = None) -> SimulatedRelease:
    """Release a public table by the plan, with public noise. within: see `forecast`."""
    draws = Draws(data=Private(table.counts), accountant=make_filter(plan), noise=PublicNoise(seed))
    shown = released_hypothesis(plan, iterative_construction(draws, plan, SILENT))
    workload, most = plan.problem.workload, math.inf if within is None else within
    used = {name for figure in workload.figures for name in figure.blocks}
    prepare(shown, workload.blocks)
    table.counts.prefetch([block.axes for block in workload.blocks])
    means, sums, kept = [], [], {}
    for block in workload.blocks:
        scale = float(block.scale)
        answers, true = shown.answer(block), block.answer(table.counts)
        distances = np.abs(answers - true) * scale
        means.append(distances.mean())
        sums.append((len(distances), (distances <= most).sum(), (distances**2).sum()))
        if block.name in used:
            kept[block.name] = np.stack([answers, true]).astype(np.float64) * scale
    figures = []
    for figure in workload.figures:
        released, exact = np.concatenate([kept[name] for name in figure.blocks], axis=1)
        distances = np.abs(figure_values(figure, released) - figure_values(figure, exact))
        distances = distances[~np.isnan(distances)]
        figures.append(distances.mean() if len(distances) else np.nan)
        sums.append((len(distances), (distances <= most).sum(), (distances**2).sum()))
    seen, inside, square = np.array(sums, dtype=np.float64).T
    return SimulatedRelease(
        errors=np.array(means, dtype=np.float64),
        figures=np.array(figures, dtype=np.float64),
        seen=seen.astype(np.int64),
        inside=inside.astype(np.int64),
        square=square,
    )


def _figure_errors(plan: Plan, errors: FloatArray) -> tuple[ExpectedFigureError, ...]:
    """The median over the tables, for in some of them a group has hardly any record, and its figure any value; their
    mean where the median is 0, as that of a median of whole numbers may be.

    errors: shape (tables, runs, figures); tables in which a figure has no value say nothing of it.
    """
    found = []
    for place, figure in enumerate(plan.problem.workload.figures):
        own = errors[:, :, place]
        own = own[~np.isnan(own).any(axis=1)]
        by_table = own.mean(axis=1)
        typical = np.array([np.median(by_table) or by_table.mean()]) if len(own) else None
        law = None if typical is None else _expected(own[:, :, None], typical)[0]
        found.append(ExpectedFigureError(name=figure.name, kind=figure.kind, values=_values(figure), error=law))
    return tuple(found)


def _values(figure: Figure) -> int:
    """How many a figure has."""
    match figure.formula:
        case Largest(count=each):
            return figure.groups * each
        case Quantiles(at=at):
            return figure.groups * len(at)
    return figure.groups


def _shares(
    plan: Plan,
    blocks: Sequence[ExpectedBlockError],
    released: Sequence[Sequence[SimulatedRelease]],
    most: float,
) -> tuple[ShareInside, ...]:
    """Of blocks, then of figures. released: by table."""
    queries = [(block.name, block.answers, block.counts) for block in blocks]
    queries += [(figure.name, _values(figure), False) for figure in plan.problem.workload.figures]
    seen, square = (
        np.sum([[getattr(one, key) for one in runs] for runs in released], axis=(0, 1)) for key in ("seen", "square")
    )
    inside = np.array([[one.inside for one in runs] for runs in released])
    return tuple(
        ShareInside(
            name=name,
            answers=answers,
            seen=int(seen[place]),
            inside=inside[:, :, place],
            square=float(square[place]),
            most=most,
            counts=counts,
        )
        for place, (name, answers, counts) in enumerate(queries)
    )


def _expected(
    errors: FloatArray, closed: FloatArray | None, least: FloatArray | float = 0.0
) -> list[ErrorDistribution]:
    """Means and deviations. The mean over the tables is geometric, but where an error of whole numbers was 0 in all
    runs on a table: one 0 would make it 0.

    Args:
        errors: shape (tables, runs, figures). closed: known means, shape (figures,).
        least: a deviation is at least so many means: that of as many independent errors, which few runs may hide.
    """
    by_table = np.maximum(errors.mean(axis=1), 1e-12)
    typical = np.exp(np.log(by_table).mean(axis=0))
    arithmetic = by_table.mean(axis=0)
    zeros = (by_table < 1e-9 * arithmetic).any(axis=0)  # rounding leaves about 1e-13 where an error is 0
    means = np.where(zeros, arithmetic, typical) if closed is None else closed
    runs = errors.reshape(-1, errors.shape[2])
    spread = runs.var(axis=0, ddof=1) if len(runs) > 1 else np.zeros(errors.shape[2])
    deviations = np.sqrt(np.maximum(spread, (least * means) ** 2))
    return [
        ErrorDistribution(mean=float(mean), deviation=float(spread))
        for mean, spread in zip(means, deviations, strict=True)
    ]


def _mean(closed: FloatArray | None, weights: FloatArray) -> FloatArray | None:
    return None if closed is None else np.array([(closed * weights).mean()])


# Missing error: what a forecast on an earlier release's synthetic rows leaves out.
#
# The rows hold nothing of the structure that the earlier release's noise hid, so they are easier to answer than the
# table. The earlier release has bought noisy errors of its answers; how far these lie above a simulated release of
# its rows, by the same plan, is what the rows leave out.

UNKNOWN = (
    "these rows lack what {name} has not measured, so the forecast may be too low; how much is not known, for {name} "
    "has bought no errors by this plan (queries, unit, delta, schedule)"
)


class MissingError(Struct, frozen=True, kw_only=True):
    """Of the mean L1 error over n.

    excess: of the earlier release, over a simulation on its rows, as far as noise does not explain it.
    observed, simulated: both errors. precision: epsilon times n of the earlier release: noise over n falls in inverse
    proportion to it.

    >>> excess = ErrorDistribution(mean=0.1, deviation=0.0)
    >>> half = MissingError(excess=excess, observed=0.3, simulated=0.2, precision=1000.0).at(2000.0)
    >>> round(half.mean, 3), round(half.deviation, 3)
    (0.075, 0.014)
    """

    excess: ErrorDistribution
    observed: float
    simulated: float
    precision: float

    @classmethod
    def of(cls, observed: ErrorDistribution, simulated: PlanForecast) -> MissingError:
        """The posterior of the excess under a normal law around 0 whose spread is estimated from the excess itself
        (empirical Bayes). 0 where it is negative, or within one deviation of its noise.

        Args:
            observed: the earlier release's mean L1 error over n; deviation: of the noise in it.
            simulated: the forecast on the earlier release's rows, by its plan.
        """
        gap = max(0.0, observed.mean - simulated.over_n.mean)
        noise = observed.deviation**2 + simulated.over_n.deviation**2 * (1 + 1 / simulated.runs)
        kept = max(0.0, 1.0 - noise / gap**2) if gap else 0.0
        excess = ErrorDistribution(mean=kept * gap, deviation=math.sqrt(kept * noise))
        return cls(
            excess=excess,
            observed=observed.mean,
            simulated=simulated.over_n.mean,
            precision=_precision(simulated),
        )

    def words(self, name: str) -> str:
        """name: of the earlier release."""
        return (
            f"{name} had an L1 error of {self.observed:.3g} n by the errors that it has bought, and "
            f"{self.simulated:.3g} n by simulation; the part that noise does not explain, {self.excess.mean:.3g} n, is "
            "what its rows leave out, and counts here"
        )

    def at(self, precision: float) -> ErrorDistribution:
        """What a release of that epsilon times n misses of what the earlier one missed.

        All of it where its noise is as large. Where its noise is smaller, structure that the larger noise hid may be
        found: what is missed lies between all and the share by which the noise falls, taken as uniform between both.
        """
        least = min(1.0, self.precision / precision)
        part, doubt = (1 + least) / 2, (1 - least) / math.sqrt(12)
        deviation = math.hypot(self.excess.deviation * part, self.excess.mean * doubt)
        return ErrorDistribution(mean=self.excess.mean * part, deviation=deviation)

    def added(self, found: PlanForecast) -> PlanForecast:
        """The forecast on the same rows at another budget, with what they leave out; all blocks grow alike. Without
        any error there is none to scale."""
        missed, over = self.at(_precision(found)), found.over_n.mean
        if over == 0.0:
            return found
        more, spread = missed.mean / over, missed.deviation / over

        def grown(error: ErrorDistribution) -> ErrorDistribution:
            deviation = math.hypot(error.deviation * (1 + more), error.mean * spread)
            return ErrorDistribution(mean=error.mean * (1 + more), deviation=deviation)

        blocks = tuple(replace(block, error=grown(block.error)) for block in found.blocks)
        figures = tuple(replace(one, error=one.error and grown(one.error)) for one in found.figures)
        return replace(found, blocks=blocks, figures=figures, error=grown(found.error), over_n=grown(found.over_n))

    def factor(self, found: PlanForecast) -> float:
        """By how much the mean errors of that forecast, on the same rows, fall short."""
        return 1 + self.at(_precision(found)).mean / found.over_n.mean if found.over_n.mean else 1.0


def _precision(found: PlanForecast) -> float:
    return float(found.epsilon) * max(found.records, 1)


# Likely: what a loop in stages certifies on public tables, before any private data is opened.


def likely_certificates(plan: Plan, tables: Sequence[PublicTable]) -> tuple[float, ...]:
    """The best certificate of one simulated run on each table, as a fraction of its records; 1 where there is none.

    Privacy:
        Public: plan, tables and noise are.
    """
    found = []
    for place, table in enumerate(tables):
        noise = PublicNoise(plan.problem.seed + place)
        draws = Draws(data=Private(table.counts), accountant=make_filter(plan), noise=noise)
        outcome = iterative_construction(draws, plan, SILENT)
        found.append(min(outcome.transcript.bounds, default=float(table.records)) / max(1, table.records))
    return tuple(found)


def likely_words(plan: Plan, tables: Sequence[PublicTable]) -> str:
    """What a plan in stages is likely to certify, and what it certifies for certain."""
    found = likely_certificates(plan, tables)
    low, high = (f"{value:.2g}" for value in (min(found), max(found)))
    span = low if low == high else f"{low} to {high}"
    certain = "none below 1" if plan.promised is None else f"{float(plan.promised):.4g}"
    simulated = "1 simulated run" if len(found) == 1 else f"{len(found)} simulated runs"
    where = f"{simulated} at epsilon {float(plan.budget.epsilon):g}"
    return f"likely certificate: alpha {span}, in {where}; certain: {certain}"


# Public tables: made-up rows over a domain, on which a release is rehearsed or its error forecast.
#
# No table is looked at: rows are a function of domain, number of records and a public seed.


class PublicTablesTuning(Struct, frozen=True, kw_only=True):
    """Laws of made-up columns: set on skews and dependences of 16 published tables (`tests/benchmarks/real_tables.py`).
    Figures: tests/benchmarks/RESULTS.md, "Forecast"."""

    tables: int = 8  # made-up tables, each with its own skews and dependences
    rows: int = 300_000  # rows drawn at most; of more records each row stands for several
    decay: tuple[float, float] = (1.7, 9.0)  # from the most to the least frequent cell; a table's own, between these
    unlike: float = 0.7  # deviation of the logarithm of a column's decay from its table's
    bend: tuple[float, float] = (0.5, 1.2)  # exponent of the rank in a column's law; small: few cells hold most records
    factors: int = 2  # hidden normal factors that columns depend on
    independence: tuple[float, float] = (0.13, 0.6)  # a table's own; 0: columns are functions of the factors
    dense: int = 2**20  # cells of a histogram that is kept dense


PUBLIC_TABLES = PublicTablesTuning()
GOLDEN = (math.sqrt(5) - 1) / 2
"""Its multiples, without their whole parts, spread evenly, and in another order than the multiples of a fraction."""


class PublicTable(Struct, frozen=True, kw_only=True, eq=False):
    """name: as messages call it. records: how many there are. counts: by cell; public, so never sealed.

    >>> PublicTable.of("two rows", (2,), np.array([[1], [1]])).counts.marginal((0,)).tolist()
    [0, 2]
    """

    name: str
    records: int
    counts: Counts

    @classmethod
    def of(cls, name: str, shape: tuple[int, ...], codes: AnyArray, records: int | None = None) -> PublicTable:
        """Rows of codes, shape (rows, attributes); records: that they stand for, more than the rows; None: as many."""
        cells, counts = np.unique(codes, axis=0, return_counts=True)
        if records is not None and records > len(codes):
            # In proportion, rounded so that they add up to `records`.
            ends = np.cumsum(counts.astype(np.float64)) / counts.sum() * records
            counts = np.diff(np.round(ends), prepend=0.0).astype(np.int64)
        return cls(name=name, records=int(counts.sum()), counts=_histogram(shape, cells, counts))

    @classmethod
    def resampled(
        cls, name: str, shape: tuple[int, ...], cells: AnyArray, counts: IntArray, records: int | None, seed: int
    ) -> PublicTable:
        """So many records, drawn with replacement from those of a table; None: that table.

        Args:
            cells, counts: occupied cells, shape (cells, attributes), and their counts.
        """
        if records is not None and len(counts):
            counts = public_generator(seed).multinomial(records, counts / counts.sum())
        kept = counts > 0
        return cls(name=name, records=int(counts.sum()), counts=_histogram(shape, cells[kept], counts[kept]))


def simulate_tables(domain: Domain, records: int, seed: int) -> tuple[PublicTable, ...]:
    """Tables of skewed columns that depend on each other through hidden factors, each more or less than the others.

    Why: how far a model is from a table depends on how much the records gather in few cells and on how columns depend
    on each other. Nothing public says either, so both are drawn, and the spread over the tables is part of a forecast.
    """
    rows, count = min(records, PUBLIC_TABLES.rows), PUBLIC_TABLES.tables
    tables = []
    for place in range(count):
        generator = public_generator(seed + place)
        skew, apart = (place + 0.5) / count, (place * GOLDEN + 0.5) % 1.0
        codes = possible_rows(domain, _columns(generator, rows, domain.shape, skew, apart), generator)
        tables.append(PublicTable.of(f"made-up table {place + 1}", domain.shape, np.stack(codes, axis=1), records))
    return tuple(tables)


def possible_rows(domain: Domain, codes: list[AnyArray], generator: PublicGenerator) -> list[AnyArray]:
    """As many rows, without those that the domain file declares impossible, in whose place others are drawn again.

    Args:
        codes: one column an attribute, shape (rows,).
    """
    rows = len(codes[0]) if codes else 0
    impossible = np.zeros(rows, dtype=bool)
    for region in domain.facts.impossible:
        impossible |= region.cells[tuple(codes[axis] for axis in region.axes)]
    possible = np.flatnonzero(~impossible)
    if not 0 < len(possible) < rows:
        return codes
    chosen = generator.choice(possible, size=rows)
    return [column[chosen] for column in codes]


def _columns(
    generator: PublicGenerator, rows: int, shape: tuple[int, ...], skew: float, apart: float
) -> list[AnyArray]:
    """One column an attribute, by a Gaussian copula.

    Args:
        skew, apart: where the table's decay and independence lie between their ends, from 0 to 1.
    """
    from scipy.special import ndtr

    decay, power = _between(PUBLIC_TABLES.decay, skew), _between(PUBLIC_TABLES.independence, apart)
    factors = generator.standard_normal((rows, PUBLIC_TABLES.factors))
    columns: list[AnyArray] = []
    for size in shape:
        ends = _law(generator, size, decay).cumsum()
        direction = generator.standard_normal(PUBLIC_TABLES.factors)
        loading = generator.random() ** power
        common = factors @ (direction * (loading / np.linalg.norm(direction)))
        scores = ndtr(common + math.sqrt(1.0 - loading**2) * generator.standard_normal(rows))
        columns.append(np.minimum(np.searchsorted(ends / ends[-1], scores), size - 1))
    return columns


def _law(generator: PublicGenerator, size: int, decay: float) -> FloatArray:
    """Frequencies of a column's cells, which fall with the distance from the most frequent one, shape (size,)."""
    own = decay * math.exp(PUBLIC_TABLES.unlike * generator.standard_normal())
    distance = np.abs(np.arange(size) - generator.integers(size))
    ranks = np.argsort(np.argsort(distance, kind="stable")) / (size + 2)
    law: FloatArray = np.exp(-own * ranks ** generator.uniform(*PUBLIC_TABLES.bend))
    return law


def _between(ends: tuple[float, float], part: float) -> float:
    """On a logarithmic scale."""
    return float(ends[0] * (ends[1] / ends[0]) ** part)


def _histogram(shape: tuple[int, ...], cells: AnyArray, counts: AnyArray) -> Counts:
    sparse = SparseHistogram(shape, cells, counts)
    if math.prod(shape) > PUBLIC_TABLES.dense:
        return sparse
    return DenseHistogram(sparse.marginal(tuple(range(len(shape)))))
