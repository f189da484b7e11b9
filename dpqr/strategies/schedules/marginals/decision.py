"""Decision: what is measured of a workload of marginals, by the error that each candidate plan is forecast to leave.

It is taken as soon as enough is known:

1. Before the run, if the number of records is known, or if one candidate is best at every number that there may be
   (`CandidateForecaster.at`).
2. After a noisy count of the records, which is bought where it would decide (`forecasts_by_count`).
3. After the first one-way marginals, if that is where a search begins: by their counts, and by the noisy error that
   they leave in pairs of columns, which is bought where it would decide (`ContinuationForecaster`).
4. During a search, by what each batch shows, whether it goes on; and once, by the noisy error of the fit on the blocks
   that were not measured, whether all of them are after all (`search.MarginalSearch.checked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.plan import TINY, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import one_way
from dpqr.strategies.schedules.marginals.candidate_blocks import (
    fitted_together,
    joint,
    marginal,
    widest,
    with_surrogates,
)
from dpqr.strategies.schedules.marginals.forecast import (
    NOISE,
    RECORDS,
    TUNING,
    BudgetAllocation,
    Noise,
    NoiseSpread,
    SummedNoise,
    error_words,
    full_table,
    noise_left,
    public_records,
    relative_noise,
    remaining,
)
from dpqr.strategies.schedules.marginals.last_measurements import MarginalParts
from dpqr.strategies.schedules.marginals.search import MarginalSearch, SearchState
from dpqr.strategies.transcript import ErrorSum
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import ColumnSets, Measurement

CandidatePlan = Literal["table", "blocks", "pairs", "columns", "search"]
"""One table of all columns; all queried blocks once; all pairs below them once; one-way marginals once; a search."""

Shares = tuple[tuple[QueryBlock, float], ...]
"""Blocks that are measured once, each with its share of what is left."""


class CandidateWords(Struct, frozen=True):
    """Of a candidate plan. noun: what is measured. done: for a release. note: for a plan, that it was chosen, and why.

    >>> WORDS["blocks"].noun
    'all blocks once'
    """

    noun: str
    done: str
    note: str


WORDS: Mapping[CandidatePlan, CandidateWords] = {
    "table": CandidateWords(
        "one table of all columns",
        "one table of all columns was measured",
        "all columns together are measured once, with less noise in every block than a search would leave",
    ),
    "blocks": CandidateWords(
        "all blocks once",
        "all blocks were measured once",
        "all blocks are measured once, for a search would pass over few of them",
    ),
    "pairs": CandidateWords(
        "all pairs of columns once",
        "all pairs of columns below the blocks were measured once",
        "all pairs of columns below the blocks are measured once, for their noise is far below that of the blocks",
    ),
    "columns": CandidateWords(
        "one-way marginals alone",
        "one-way marginals alone were measured",
        "one-way marginals alone are measured, for noise would hide what more columns together show",
    ),
    "search": CandidateWords(
        "what a search finds",
        "one-way marginals were measured first",
        "one-way marginals come first; then choices look for blocks that are further off than noise would leave them, "
        "or all of them are measured without a search, where the error of one-way marginals in pairs of columns, "
        "measured with noise, makes that better; rounds and prices follow what was released, within the budget, and "
        "the last measurements spend it",
    ),
}


class Forecasts(Struct, frozen=True, kw_only=True):
    """Forecast errors by candidate plan, means over the blocks of L1 over n, at so many records.

    searched: error of a search over its forecast, where accountants are compared.
    """

    records: float
    errors: Mapping[CandidatePlan, float]
    searched: float = 1.0

    @property
    def best(self) -> CandidatePlan:
        return min(self.errors, key=self.errors.__getitem__)

    @property
    def least(self) -> float:
        """Of the best candidate: what accountants are compared by."""
        return self.errors[self.best] * (self.searched if self.best == "search" else 1.0)

    @property
    def compared(self) -> str:
        """The error of the best candidate, and those of the others."""
        others = ", ".join(
            f"{candidate} {error_words(error)}" for candidate, error in self.errors.items() if candidate != self.best
        )
        return f"{error_words(self.errors[self.best])} ({others})"


# What the candidates measure, and the noise that this leaves in every block.


def measurements_of(candidate: CandidatePlan, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Shares:
    """What a candidate plan measures, in the split of least noise; nothing for a search, or where there are no pairs.

    The number of records is measured beside blocks that are no marginals, for rows need a total.
    """
    if candidate == "table":
        return ((full_table(problem), 1.0),)
    blocks = _blocks(candidate, problem, roles)
    costs = _costs(blocks, budget.pure, problem.unit)
    untold = bool(blocks) and public_records(problem) is None and not any(block.is_marginal for block in blocks)
    total = ((RECORDS, float(TUNING.count)),) if untold else ()
    return (*total, *zip(blocks, budget.split(1.0 - sum(share for _, share in total), costs), strict=True))


@lru_cache(maxsize=8)
def _costs(blocks: tuple[QueryBlock, ...], pure: bool, unit: PrivacyUnit) -> tuple[float, ...]:
    """Noise of each block's answers together at one share, up to a factor that all share; kept for all plans of a
    workload."""
    single = QueryBlock(name="records")
    return tuple(
        block.rows / max(block.largest_coefficient, 1) * relative_noise(block, single, unit, pure=pure)
        for block in blocks
    )


def _blocks(candidate: CandidatePlan, problem: Problem, roles: Roles) -> tuple[QueryBlock, ...]:
    """What a candidate plan measures."""
    searched = with_surrogates(problem, roles.check).workload.blocks
    if candidate == "columns":
        return tuple(block for (block,) in one_way(problem))
    if candidate == "blocks":
        return widest(searched)
    if candidate == "search" or max(len(block.axes) for block in searched) < 3:
        return ()
    pairs = {pair for block in searched for pair in combinations(sorted(block.axes), min(2, len(block.axes)))}
    own = {tuple(sorted(block.axes)): block for block in searched if block.is_marginal}
    return tuple(own.get(axes) or marginal(problem, axes, "below") for axes in sorted(pairs))


def noise_by_block(candidate: CandidatePlan, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Noise:
    """Of the workload's blocks, in their order; none where the candidate measures nothing.

    From the block itself, from a marginal that holds it, or from those of its columns or of pairs of them.
    """
    alike: dict[float, float] = {}  # marginals at one share have one deviation
    known = []
    for block, share in measurements_of(candidate, problem, roles, budget):
        deviation = alike.get(share) if block.is_marginal else None
        if deviation is None:
            deviation = roles.check.law((block,), problem.unit, budget.price(share)).deviation
            alike.update({share: deviation} if block.is_marginal else {})
        known.append((block, deviation))
    if not known:
        return Noise.of(())
    measured, deviations = zip(*known, strict=True)
    return NoiseSources.of(problem.workload.blocks, measured).noise(np.array(deviations))


class NoiseSources(Struct, frozen=True, kw_only=True, eq=False):
    """From which measurements the noise in every block's answers comes: of the block itself, of a marginal that holds
    it, or of those of its columns or of pairs of them. Whatever their deviations are, so it is kept for all plans of a
    workload.

    rows, places, weights: one entry for a block and a measurement whose noise it sums, each in records for noise of
    deviation 1. parts: what the sums are divided by. even, hidden: as of `Noise`. held: of blocks within measured
    marginals, by row: a factor, its sums, and the places of these marginals, of which the one of least noise counts.
    """

    rows: IntArray
    places: IntArray
    weights: FloatArray
    parts: FloatArray
    even: FloatArray
    hidden: FloatArray
    held: Mapping[int, tuple[float, SummedNoise, tuple[int, ...]]]
    measured: tuple[QueryBlock, ...]

    @staticmethod
    @lru_cache(maxsize=8)
    def of(blocks: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...]) -> NoiseSources:
        """Of a workload's blocks where these are measured."""
        own = {block.name: place for place, block in enumerate(measured)}
        tables = {frozenset(block.axes): place for place, block in enumerate(measured) if block.is_marginal}
        sets = ColumnSets.of(tables)
        entries, parts, even, hidden = list[tuple[int, int, float]](), [], [], []
        held = dict[int, tuple[float, SummedNoise, tuple[int, ...]]]()
        for row, block in enumerate(blocks):
            axes, part, missed = frozenset(block.axes), 1.0, 0.0
            spread = NoiseSpread(block=block)
            even.append(spread.even)
            if block.name in own:
                entries.append((row, own[block.name], float(block.rows)))
                part = 1.0 if block.is_marginal else float(max(block.largest_coefficient, 1))
            elif axes in tables:
                held[row] = (1.0, SummedNoise.of(block), (tables[axes],))
            elif wider := sets.beyond(axes):
                held[row] = (TUNING.summed, SummedNoise.of(block), tuple(tables[key] for key in wider))
            else:
                of_pairs = [tables[frozenset(pair)] for pair in combinations(axes, 2) if frozenset(pair) in tables]
                below = of_pairs or [tables[frozenset((axis,))] for axis in axes if frozenset((axis,)) in tables]
                shown, each = (2, TUNING.hidden_by_pairs) if of_pairs else (1, TUNING.hidden_by_columns)
                entries += [(row, place, spread.noise(measured[place].axes)) for place in below]
                part = float(len(axes) - 1) if of_pairs else 1.0
                further = max(len(axes) - shown, 0)
                missed = each * further * spread.missed(1 + shown) if further else 0.0
            parts.append(part)
            hidden.append(missed)
        table = np.array(entries, dtype=np.float64).reshape(-1, 3)
        return NoiseSources(
            rows=table[:, 0].astype(np.int64),
            places=table[:, 1].astype(np.int64),
            weights=table[:, 2],
            parts=np.array(parts),
            even=np.array(even),
            hidden=np.array(hidden),
            held=held,
            measured=measured,
        )

    def noise(self, deviations: FloatArray) -> Noise:
        """Where the measurements have these deviations, shape (measurements,)."""
        sums = np.bincount(self.rows, self.weights * deviations[self.places], minlength=self.parts.size)
        total = sums / self.parts
        for row, (factor, summed, places) in self.held.items():
            tables = ((self.measured[place], float(deviations[place])) for place in places)
            total[row] = factor * min(summed.over(table, each) for table, each in tables)
        return Noise(total=total, even=self.even, hidden=self.hidden)


# Before the run, and after a count: at so many records.


class CandidateForecaster(Struct, frozen=True, kw_only=True):
    """Noise by candidate and block of the workload, from which errors are forecast at any number of records.

    A block whose answers hold m of n even records, and get noise of q records together, is left with an error of about
    5/8 q where q is small beside m; noise on cells that are mostly empty is cut by the fit, so the error grows with
    q to the power of 0.4 from there on. What columns or pairs hide of the records is assumed: nothing public says it.

    A search is taken to measure some blocks a column (explored: the part of all), so each more exactly, and to pass
    over the rest, which depend less; or all blocks, or none, if that is less. In epsilon it pays for what it tries: of
    two measurements of a block the better one is all that counts. In rho they add up, so no candidate but the table is
    better there. In epsilon it may end with one-way marginals alone, by the dependence that it measures
    (`ContinuationForecaster`): these are a candidate of their own only where noise would hide the dependence.

    crowded: the model has no room for all blocks together, so measuring them all is no candidate (`fitted_together`).
    searchable: whether a block has two columns or more. One-way marginals answer all others, and nothing is searched.
    """

    noise: Mapping[CandidatePlan, Noise]
    explored: Mapping[CandidatePlan, float]
    budget: BudgetAllocation
    crowded: bool = False
    searchable: bool = True

    @classmethod
    def of(cls, problem: Problem, roles: Roles, budget: BudgetAllocation, table: int) -> CandidateForecaster:
        """Where `budget` is all that is left; table: cells of one table of all columns, at most."""
        candidates: list[CandidatePlan] = ["blocks", "pairs", "columns"]
        if full_table(problem).cells <= table:
            candidates.insert(0, "table")
        noise = {candidate: noise_by_block(candidate, problem, roles, budget) for candidate in candidates}
        most = TUNING.explored * len(problem.workload.axes)
        searched: tuple[CandidatePlan, ...] = ("blocks", "pairs")
        numbers = {candidate: len(_blocks(candidate, problem, roles)) for candidate in searched}
        explored = {candidate: min(1.0, most / number) for candidate, number in numbers.items() if number}
        return cls(
            noise={candidate: one for candidate, one in noise.items() if one.total.size},
            explored=explored,
            budget=budget,
            crowded=not fitted_together(_blocks("blocks", problem, roles), problem, roles),
            searchable=bool(joint(with_surrogates(problem, roles.check))),
        )

    def at(self, records: float) -> Forecasts:
        """Where so many records were counted or declared."""
        n, pure = max(1.0, records), not self.budget.concentrated
        candidates = (candidate for candidate in self.noise if candidate != "blocks" or not self.crowded)
        if not self.searchable:
            return Forecasts(records=n, errors={candidate: self._error(candidate, n) for candidate in candidates})
        errors = {candidate: self._error(candidate, n) for candidate in candidates if pure or candidate == "table"}

        # A search for blocks, or for the pairs below them: the least.
        last, power = TUNING.last_pure if pure else TUNING.last_rho, self.budget.power
        passed = self._error("columns", n, (1.0 / (1.0 - last)) ** power, TUNING.passed_over)
        hopeless = self._error("columns", n, (1.0 / last) ** power)
        searched = (
            part * self._error(candidate, n, (part / last) ** power) + (1.0 - part) * passed
            for candidate, some in self.explored.items()
            for part in (some, 1.0)
        )
        errors["search"] = min(hopeless, *searched)
        if pure and self.budget.share(TUNING.dependence * n) <= TUNING.largest_dependence:
            errors["search"] = min(errors["search"], errors.pop("columns"))
        return Forecasts(records=n, errors=errors, searched=TUNING.searched_pure if pure else 1.0)

    def _error(self, candidate: CandidatePlan, records: float, louder: float = 1.0, hidden: float = 1.0) -> float:
        return float(self.noise[candidate].errors(records, louder, hidden).mean())


def forecasts_by_count(plan: Plan, counted: Measurement, table: int) -> Forecasts:
    """By a noisy count of the records, less one deviation: noise on too few records is off by more than a search."""
    least = float(counted.values[0][0]) - counted.law.deviation
    return CandidateForecaster.of(plan.problem, plan.roles, remaining(plan), table).at(least)


def count_reason(forecasts: Forecasts) -> str:
    """For the release."""
    return (
        f"{WORDS[forecasts.best].done}: at {forecasts.records:,.0f} records (the count less its deviation) that has "
        f"the least forecast error (L1 over n), {forecasts.compared}"
    )


# After the first one-way marginals: how to go on, by what they show.

LARGEST = 1.0
"""Mean L1 error over n of one-way marginals on pairs of columns: hardly any tables have more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContinuationForecaster:
    """Forecasts the error of each candidate that is left: a search; all blocks once, all pairs below them once, or
    one-way marginals alone, without a search.

    known: what a search knows after the first one-way marginals. blocks: all that may be measured. wanted: queries,
    whose errors are forecast.
    """

    known: MarginalSearch
    blocks: tuple[QueryBlock, ...]
    wanted: tuple[QueryBlock, ...]
    _parts: MarginalParts = field(init=False, repr=False)
    _louder: FloatArray = field(init=False, repr=False)
    _further: FloatArray = field(init=False, repr=False)
    _held: FloatArray = field(init=False, repr=False)
    _missed: FloatArray = field(init=False, repr=False)
    _sums: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """_louder: of every block, its noise over that of a marginal. Of the wanted ones: _further, columns beside the
        first; _held, part of the records in all answers; _missed, error of the answers over that of cells where
        what columns hold together is missed; _sums, whether they are no marginals."""
        known = self.known
        spreads = [NoiseSpread(block=block) for block in self.wanted]
        object.__setattr__(self, "_parts", MarginalParts.of(self.blocks, self.wanted))
        object.__setattr__(self, "_louder", known.louder(self.blocks))
        object.__setattr__(self, "_further", np.array([max(len(block.axes) - 1.0, 0.0) for block in self.wanted]))
        object.__setattr__(self, "_held", np.array([spread.even for spread in spreads]))
        object.__setattr__(self, "_missed", np.array([spread.missed(2) for spread in spreads]))
        object.__setattr__(self, "_sums", np.array([not block.is_marginal for block in self.wanted]))

    @classmethod
    def of(cls, known: MarginalSearch) -> ContinuationForecaster:
        return cls(known=known, blocks=(*chain(*known.levels), *known.singles), wanted=known.queries)

    @property
    def certain(self) -> CandidatePlan | None:
        """The candidate that is followed whatever the dependence; None: it would decide, and is worth its price.

        One-way marginals alone, where the dependence decides and noise would hide it: a search would follow the noise.
        """
        least, most = (self.after(dependence, 0.0).best for dependence in (TUNING.least_dependence, LARGEST))
        if least == most != "search":
            return least
        if self.known.hides_dependence(1.0):
            return "columns"
        return None if self.share and least != most else "search"

    @property
    def pairs(self) -> tuple[QueryBlock, ...]:
        """Marginals of two columns among the candidates, whose errors show how much columns depend."""
        return tuple(
            block for level in self.known.levels[:1] for block in level if block.is_marginal and len(block.axes) == 2
        )

    @property
    def share(self) -> float:
        """Of the budget, for the error of one-way marginals on pairs; 0: it is not measured."""
        return self.known.error_share(self.pairs, 1.0)

    def dependence(self, found: ErrorSum) -> float:
        """Mean L1 error over n of exact one-way marginals on pairs, from the noisy one of noisy ones."""
        spent = self._deviations(zip(self.known.singles, self.known.spent, strict=True))
        noise = replace(self, wanted=self.pairs)._error(spent, 0.0)
        measured = max(found.mean, 0.0) / self.known.records
        return float(max(measured**2 - noise**2, TUNING.least_dependence**2) ** 0.5)

    def after(self, dependence: float, share: float) -> Forecasts:
        """Means over the queried blocks.

        In rho all that a search measures adds up, so one that finds nothing has lost little. In epsilon it has, and
        one-way marginals alone may be better. Blocks are not all measured where the model has no room for them
        together, for the fit would then lose some of them.

        Args:
            dependence: mean L1 error over n of one-way marginals on pairs.
            share: of the budget that was spent to know it.
        """
        left = 1.0 - sum(self.known.spent) - share
        errors: dict[CandidatePlan, float] = {"search": self._searched(left, dependence)}
        if self.known.started:
            errors["search"] /= TUNING.started
        for candidate, blocks in self.known.full_sets.items():
            errors[candidate] = self._error(self._split(blocks, left), dependence)
        if not self.known.budget.concentrated:
            errors["columns"] = self._error(self._split((), left), dependence)
        return Forecasts(records=self.known.records, errors=errors)

    def sentence(self, found: ErrorSum) -> str:
        """For the release."""
        dependence = self.dependence(found)
        forecasts = self.after(dependence, self.share)
        best = forecasts.best
        done = "the blocks were searched" if best == "search" else f"{WORDS[best].done}, without a search"
        return (
            f"{done}: one-way marginals leave about {error_words(dependence)} (L1 over n) in pairs of columns, "
            f"by a noisy sum; the least forecast error is then {forecasts.compared}"
        )

    def ended(self, candidate: CandidatePlan, share: float) -> SearchState:
        """The end of a search that has explored all that the candidate measures."""
        explored = self.known.full_sets[candidate] if candidate in ("blocks", "pairs") else ()
        left = 1.0 - sum(self.known.spent) - share
        return SearchState(left=left, explored=explored, level=len(self.known.levels))

    def _searched(self, left: float, dependence: float) -> float:
        """Of a search that explores as many blocks as is best, or that finds nothing and ends.

        Pairs that it has explored, a part x of all, leave (1 - x)^`TUNING.concentration` of the dependence in the rest.
        """
        power = self.known.budget.power
        last = TUNING.explored_rho if self.known.budget.concentrated else TUNING.explored_pure
        errors = [self._error(self._split((), last * left), dependence)]
        beside = self._split((), TUNING.beside * left)
        for level in self.known.levels:
            all_of_it = self._split(level, left)
            for part in np.geomspace(1.0 / len(level), 1.0, 12):
                explored = self._error(all_of_it * (part / last) ** power, dependence)
                passed = self._error(beside, dependence * (1.0 - part) ** (TUNING.concentration - 1.0))
                errors.append(part * explored + (1.0 - part) * passed)
        return min(errors)

    def _split(self, measured: Sequence[QueryBlock], left: float) -> FloatArray:
        """Deviations where all that is left is spent on these blocks, and on one-way marginals for the others."""
        spent = zip(self.known.singles, self.known.spent, strict=True)
        return self._deviations(chain(self.known.split(measured, left), spent))

    def _deviations(self, shares: Iterable[tuple[QueryBlock, float]]) -> FloatArray:
        """Of all blocks, shape (blocks,); infinite: it is not measured."""
        found = dict.fromkeys((block.name for block in self.blocks), 0.0)
        for block, share in shares:
            found[block.name] += self.known.budget.deviation_at(share) ** -2.0
        with np.errstate(divide="ignore"):
            deviations: FloatArray = self._louder * np.array([*found.values()]) ** -0.5
        return deviations

    def _error(self, deviations: FloatArray, dependence: float) -> float:
        """Mean over the wanted blocks, L1 over n. deviations: of the measurements, shape (blocks,)."""
        # Noise: of every part that some measurement shows, as the wanted blocks hold it.
        measured, rows = self._parts.measured, len(self.wanted)
        shown = np.bincount(
            measured.parts, measured.factors * deviations[measured.blocks] ** -2.0, minlength=1 + len(self.blocks)
        )
        each = np.where(shown > 0.0, shown, np.inf) ** -0.5
        each[0] *= not self.known.unit.rows_public
        alone = each * self._parts.alone**0.5
        errors = TUNING.kept * np.where(shown > 0.0, self._of_parts(alone), 0.0)
        queried = self._parts.queried
        noise = queried.factors * errors[queried.parts]
        # Of columns together, a dependence g under noise q, the fit keeps what the best weights of both would, g q over
        # the root of g^2 + q^2.
        further = np.array([0.0, *(len(block.axes) - 1.0 for block in self.blocks)])[queried.parts]
        together = self._apart(further, dependence)
        noise = np.where(further > 0.0, noise * together / np.hypot(noise, together + TINY), noise)
        # It weighs cells, and noise that hides each of them does not hide their sums: of sums it keeps what it keeps of
        # any noise beyond what there is to be seen, records or the dependence of columns together.
        summed = NOISE * queried.factors * alone[queried.parts] / self.known.records
        seen = np.where(further > 0.0, together * self._missed[queried.blocks], np.inf)
        summed = noise_left(summed, np.maximum(np.minimum(seen, self._held[queried.blocks]), TINY))
        noise = queried.summed(np.where(self._sums[queried.blocks], summed, noise) ** 2, rows) ** 0.5

        # Dependence that no measurement of a block shows. lost: of every part, how much noise hides, from 0 to 1.
        lost = np.where(shown > 0.0, np.minimum(self._of_parts(each), 1.0), 1.0)
        apart = self._apart(self._further, dependence) * self._missed
        own, pairs = self._parts.own, self._parts.pairs
        below = pairs.summed(pairs.factors * np.where(pairs.parts > 0, lost[pairs.parts], 1.0) ** 2, rows)
        missed = TUNING.hidden_below * dependence * np.maximum(self._further - 1.0, 0.0) * self._missed
        by_pairs = np.where(self._further > 1.0, np.maximum(below * apart, missed), apart)
        hidden = np.where((own > 0) & (shown[own] > 0.0), 0.0, np.minimum(apart, by_pairs))
        return float(np.mean(np.hypot(noise, hidden)))

    @staticmethod
    def _apart(further: FloatArray, dependence: float) -> FloatArray:
        """L1 error over n of one-way marginals on so many columns beside the first."""
        return np.asarray(2.0 * (1.0 - (1.0 - min(dependence, 2.0) / 2.0) ** further))

    def _of_parts(self, deviations: FloatArray) -> FloatArray:
        """Expected error of every part at its deviation, L1 over n, shape (1 + blocks,)."""
        total = NOISE * deviations[0]
        found: FloatArray = np.array([total, *self.known.errors.each(self.blocks, deviations[1:])]) / self.known.records
        return found
