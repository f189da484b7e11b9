"""What a table holds, learned privately: a column's labels, bounds and cuts, and how many rows persons have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.events import LabelSelectionEvent
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import LaplaceAnswers, answers_sensitivity
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.sensitivity import Norm


class CountedLabels(Protocol):
    """Labels, and how many units have each; each unit counts in at most m of them, once in each. Private."""

    @property
    def counts(self) -> IntArray:
        """By label, at least 0, shape (labels,)."""
        ...

    def texts(self, places: IntArray) -> tuple[str, ...]:
        """The labels at these places, in the order of their texts, whatever order they were counted in."""
        ...


@final
class LabelSelection(Struct, frozen=True, kw_only=True):
    """The labels that are kept, each by an exact coin of its own count (`KeepingLaw`). Counts are not released.

    Attributes:
        epsilon, delta: of one label.
        labels: largest number of labels whose counts move between neighbours, each by 1.

    >>> whole = LabelSelection.within(Fraction(1), Fraction(1, 10**6), most=2, unit=PrivacyUnit())
    >>> whole.event
    LabelSelectionEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 2000000), labels=2)

    Raises:
        InfeasiblePlan: epsilon is too small for the law to be written down.

    Privacy:
        *Add-remove:* one unit more adds 1 to at most m counts and changes no other, so labels = m. *Replace:* the unit
        that goes takes 1 from at most m counts, the one that comes adds 1 to at most m, so at most 2 m counts move, by
        1 each; a label that both have does not move. So labels = 2 m.

        Coins of different labels are independent given the counts, and each is (epsilon, delta)-DP in its count. A
        label that nobody has is kept with probability 0. So the set of kept labels has the law of one coin for every
        possible text, of which at most `labels` differ between neighbours: basic composition gives labels times both
        figures (`approximate_cost`). The order of the result is that of the texts, a function of the set.
    """

    epsilon: Fraction
    delta: Fraction
    labels: int

    def __post_init__(self) -> None:
        _ = self.law.certain  # refused before anything is paid

    @classmethod
    def within(cls, epsilon: Fraction, delta: Fraction, *, most: int, unit: PrivacyUnit) -> LabelSelection:
        """Return the selection that costs (epsilon, delta), where each unit counts in at most `most` labels."""
        moved = most * (2 if unit.neighbours is Neighbours.REPLACE else 1)
        return cls(epsilon=epsilon / moved, delta=delta / moved, labels=moved)

    @property
    def law(self) -> KeepingLaw:
        return KeepingLaw(self.epsilon, self.delta)

    @property
    def event(self) -> LabelSelectionEvent:
        return LabelSelectionEvent(epsilon=self.epsilon, delta=self.delta, labels=self.labels)

    def sample(self, value: CountedLabels, noise: NoiseSource) -> tuple[str, ...]:
        return value.texts(np.flatnonzero(self.law.sample(value.counts, noise)))


# Bounds and cuts of a column of numbers: functions of the noisy counts of a public grid's cells.

STEPS = (Fraction(1), Fraction(5, 4), Fraction(8, 5))
"""Edges of the grid within a doubling, each about a quarter above the last (the series R10 of ISO 3): with fewer a
bound is further from the best one, with more each cell holds less and drowns in its noise."""
NEXT = math.log(2)
"""Price of each further cell of a run, in log-probability: before the counts are seen, a run ends at any cell with
probability 1/2."""
STRAY = 0.01
"""Largest probability that noise alone makes a run go on beyond a gap."""
NEARLY = 1.02
"""Squared errors whose ratio is this or less are alike."""
RATIOS = 64
"""Rates of decay that are weighed for a tail."""


def geometric_grid(step: Fraction, doublings: int, *, whole: bool = False) -> tuple[Fraction, ...]:
    """Return edges 0, +-step, +-5/4 step, +-8/5 step, +-2 step, ..., rising. All public.

    whole: of whole numbers; edges between the same two of them are one, the upper number.

    >>> [str(edge) for edge in geometric_grid(Fraction(1), 2)[7:]]
    ['0', '1', '5/4', '8/5', '2', '5/2', '16/5', '4']
    >>> [str(edge) for edge in geometric_grid(Fraction(1), 2, whole=True)[4:]]
    ['0', '1', '2', '3', '4']
    """
    positive = [step * 2**power * part for power in range(doublings) for part in STEPS] + [step * 2**doublings]
    edges = [*(-edge for edge in reversed(positive)), Fraction(0), *positive]
    return tuple(sorted({Fraction(math.ceil(edge)) for edge in edges})) if whole else tuple(edges)


def grid_counts(axis: int, cells: int, epsilon: Fraction, unit: PrivacyUnit) -> LaplaceAnswers:
    """Return the draw of noisy counts of all cells of an axis, at a price of epsilon: the one draw that bounds and cuts
    of a column need.

    >>> grid_counts(0, 5, Fraction(1, 10), PrivacyUnit(neighbours=Neighbours.REPLACE)).law.scale
    Fraction(20, 1)

    Raises:
        InfeasiblePlan: epsilon is too small.

    Privacy:
        One marginal: `LaplaceAnswers`. All that follows from its result is post-processing.
        Statement P45 of the guide's topic proofs.
    """
    block = QueryBlock(name="cells of the grid", factors=(Factor.identity(axis, cells),))
    moved = answers_sensitivity((block,), Norm.L1, unit)
    return LaplaceAnswers(blocks=(block,), unit=unit, scale=moved / epsilon)


@final
@dataclass(frozen=True, kw_only=True)
class LearnedCells:
    """What noisy counts say of a column: estimated counts by cell, and bounds and cuts that follow from them.

    edges: of the cells, rising. counts: noisy, shape (cells,). scale: of their Laplace noise. whole: values are whole
    numbers, so the largest one of a cell is the next edge less 1.

    >>> grid = tuple(map(Fraction, (0, 10, 20, 30, 40)))
    >>> cells = LearnedCells(edges=grid, counts=np.array([1, 500, 500, -2]), scale=1.0, whole=True)
    >>> [str(bound) for bound in cells.bounds()]
    ['10', '29']

    Privacy:
        Post-processing: reads released values only.
    """

    edges: tuple[Fraction, ...]
    counts: IntArray
    scale: float
    whole: bool

    @cached_property
    def estimated(self) -> FloatArray:
        """Records by cell: the noisy counts in the run of cells that hold records, a fitted tail on either side.

        Bounds should leave about as many records out as noise hides, so cells that are lost in noise one by one matter
        together: their records are what the run's decay beyond its last cell, weighed against the counts there, lets
        expect.
        """
        levels = self.counts / self.scale
        first, last = occupied_run(levels)
        found = levels.copy()
        found[last + 1 :] = expected_tail(levels[last:])
        found[:first] = expected_tail(levels[first::-1])[::-1]
        return found * self.scale

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The two bounds between which a noisy sum of clipped values has the least expected squared error.

        With bounds l and u its noise is of scale s max(|l|, |u|), s that of a count; what values beyond l and u lose by
        clipping is a bias. What is lost on either side is added up: that the two sides cancel out is luck, which the
        sums of a column's subgroups do not have. Among pairs that are as good within NEARLY it is the narrowest, for
        the sake of its bins.
        """
        low = np.array(list(map(float, self.edges[:-1])))
        high = np.array(list(map(float, self.edges[1:]))) - self.whole
        value, counts = (low + high) / 2, self.estimated
        below, above = np.cumsum(counts) - counts, np.cumsum(counts[::-1])[::-1] - counts
        sum_below = np.cumsum(counts * value) - counts * value
        sum_above = np.cumsum((counts * value)[::-1])[::-1] - counts * value
        lost_below, lost_above = np.maximum(low * below - sum_below, 0), np.maximum(sum_above - high * above, 0)
        width = np.maximum(np.abs(low)[:, None], np.abs(high))
        errors = (lost_below[:, None] + lost_above) ** 2 + 2 * (self.scale * width) ** 2
        errors[np.tril_indices(len(errors), -1)] = np.inf
        span = np.where(errors <= NEARLY * errors.min(), high - low[:, None], np.inf)
        first, last = np.unravel_index(span.argmin(), span.shape)
        return self.edges[first], self.edges[last + 1] - self.whole

    def cuts(self, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Quantiles, as if records were spread evenly in each cell; of three digits, whole numbers upwards."""
        edges = np.array(list(map(float, self.edges)))
        reached = np.maximum.accumulate(np.maximum(np.concatenate([[0.0], np.cumsum(self.estimated)]), 0))
        found = np.interp([float(share) * reached[-1] for share in shares], reached, edges)
        short = [Fraction(f"{value:.3g}") for value in found]
        return tuple(Fraction(math.ceil(value)) for value in short) if self.whole else tuple(short)


def occupied_run(levels: FloatArray) -> tuple[int, int]:
    """Return the first and last cell of the run of cells that most likely holds the records.

    levels: noisy counts over the scale of their Laplace noise, shape (cells,).

    A cell's evidence is log(p1 / p0) of its noisy count: p0 where it is empty, p1 where its count is exponential of
    mean 2 scales, a law whose ratio has the closed form 4/3 exp(level / 2) - 1 (1/3 below 0). The run maximises the sum
    of evidence less prices: NEXT for each cell, and for a gap of any length log(cells / STRAY) at most. A ratio of
    empty cells is 1 on average, so its largest running product exceeds c with probability 1 / c at most (Ville 1939):
    noise beyond a gap starts anew with probability STRAY at most.
    """
    positive = np.maximum(levels, 0)
    evidence = positive / 2 + np.log(4 / 3 - np.exp(-positive / 2)) - NEXT
    gap = math.log(len(levels) / STRAY)
    # Each state is (evidence, first cell): of the best run that ends at this cell, and of the best one before it.
    run = best = found = (-math.inf, 0)
    last = 0
    for cell, own in enumerate(evidence):
        total, first = max((0.0, cell), run, (best[0] - gap, best[1]))
        run = (total + float(own), first)
        best = max(best, run)
        if run > found:
            found, last = run, cell
    return found[1], last


def expected_tail(levels: FloatArray) -> FloatArray:
    """Return expected counts of the cells beyond the first one, in scales of noise.

    levels: as for `occupied_run`, outward from the last cell of the run.

    Counts are taken to decay by a ratio r a cell: the mean over all r below 2^(-1/3), alike likely before the noisy
    counts are seen, weighed by their likelihood. Values grow by 2^(1/3) a cell: with a larger r a column has no mean.
    """
    rates = np.arange(RATIOS) / RATIOS / 2 ** (1 / len(STEPS))
    counts = max(float(levels[0]), 0.0) * rates[:, None] ** np.arange(1, len(levels))
    logs = -np.abs(levels[1:] - counts).sum(axis=1)
    weights = np.exp(logs - logs.max())
    expected: FloatArray = weights / weights.sum() @ counts
    return expected


# How many rows persons have: a function of noisy counts of persons, each of whom is in one cell of a public grid.


def row_numbers(most: int) -> tuple[int, ...]:
    """Return the numbers of rows among which the bound is chosen: those of the grid, and the largest one.

    >>> row_numbers(12)
    (1, 2, 3, 4, 5, 7, 8, 10, 12)
    """
    grid = geometric_grid(Fraction(1), most.bit_length(), whole=True)
    return (*(int(edge) for edge in grid if 0 < edge < most), most)


def person_counts(cells: int, numbers: Sequence[int], epsilon: Fraction, unit: PrivacyUnit) -> LaplaceAnswers:
    """Return the draw of noisy counts of persons by how many rows they have: from each of the numbers to below the next
    one, and from the last one on. Price: epsilon.

    cells: of the table's first column, whose rows are all counted alike.

    >>> persons = PrivacyUnit(columns=("id",), rows=64, neighbours=Neighbours.REPLACE)
    >>> person_counts(3, (1, 2, 3), Fraction(1, 10), persons).law.scale
    Fraction(20, 1)

    Raises:
        InfeasiblePlan: epsilon is too small.

    Privacy:
        A table of persons by bins of a total, which is the number of a person's rows that the domain's rules let pass:
        a function of that person's rows, however many these are. A person is in one bin or, without such a row, in
        none. *Add-remove:* one count moves by 1. *Replace:* two counts move by 1, or none. The noise: `LaplaceAnswers`.
        So the price depends on no bound on rows, which is not known yet. What follows from the result is
        post-processing.
        Statement P46 of the guide's topic proofs.
    """
    rows = Factor(axes=(0,), sizes=(cells,), matrix=Dense(np.ones((len(numbers), cells), dtype=np.int64)))
    block = QueryBlock(name="persons by their rows", factors=(rows,), most_cells=1, within=(*numbers, numbers[-1] + 1))
    moved = answers_sensitivity((block,), Norm.L1, unit)
    return LaplaceAnswers(blocks=(block,), unit=unit, scale=moved / epsilon)


@final
class RowsOfPersons(Struct, frozen=True, kw_only=True):
    """What noisy counts say of how many rows persons have.

    numbers, counts: as `person_counts` has them, shape (numbers,). scale: of the noise. Persons of more rows than the
    last number count as if they had that many.

    >>> rows = RowsOfPersons(numbers=(1, 2, 3, 4), counts=np.array([500, 300, 200, 1]), scale=1.0)
    >>> round(rows.used(2)), round(rows.used(4)), [round(each, 2) for each in rows.share(2)]
    (1502, 1704, [0.88, 0.0])

    Privacy:
        Post-processing: reads released values only.
    """

    numbers: tuple[int, ...]
    counts: IntArray
    scale: float

    def used(self, most: int) -> float:
        """Expected number of rows that are used where at most so many of each person are."""
        cells = LearnedCells(
            edges=tuple(map(Fraction, (*self.numbers, self.numbers[-1] + 1))),
            counts=self.counts,
            scale=self.scale,
            whole=True,
        )
        return float(np.maximum(cells.estimated, 0) @ self._rows(most))

    def share(self, most: int) -> tuple[float, float]:
        """The share of all rows that are used, and its standard deviation, both estimated."""
        whole, own = self._rows(self.numbers[-1]), self._rows(most)
        everything = max(self.used(self.numbers[-1]), 1.0)
        share = min(self.used(most) / everything, 1.0)
        noise = math.sqrt(2) * self.scale * math.sqrt(float(((own - share * whole) ** 2).sum()))
        return share, noise / everything

    def _rows(self, most: int) -> FloatArray:
        """Mean number of used rows of a person in each cell, as if persons were spread evenly over its numbers."""
        ends = (*self.numbers[1:], self.numbers[-1] + 1)
        cells = zip(self.numbers, ends, strict=True)
        return np.array([np.minimum(np.arange(low, high), most).mean() for low, high in cells])
