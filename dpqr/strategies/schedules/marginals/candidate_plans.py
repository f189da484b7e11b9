"""Candidate plans: how to spend a budget on marginals, and the error that each is forecast to leave."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np

from dpqr.kernel.arrays import FloatArray
from dpqr.strategies.plan import TINY, BlockForecast, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL, one_way
from dpqr.strategies.schedules.marginals.candidate_blocks import fitted_together, joint, marginal, with_surrogates
from dpqr.strategies.schedules.marginals.forecast import (
    RECORDS,
    TUNING,
    BudgetAllocation,
    NoiseSpread,
    full_table,
    public_records,
    remaining,
    summed_noise,
)
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

CandidatePlan = Literal["table", "blocks", "pairs", "columns", "search"]
"""One table of all columns; all asked blocks once; all pairs below them once; one-way marginals once; a search."""

Tables = Mapping[frozenset[int], tuple[QueryBlock, float]]
"""Measured marginals by their columns, with deviations in records."""

POSSIBLE_RECORDS = tuple(float(number) for number in np.geomspace(100, 10**6, 9))
"""Numbers of records at which a plan is judged where nobody knows them."""

Shares = tuple[tuple[QueryBlock, float], ...]
"""Blocks that are measured once, each with its share of what is left."""

NOUNS: Mapping[CandidatePlan, str] = {
    "table": "one table of all columns",
    "blocks": "all blocks once",
    "pairs": "all pairs of columns once",
    "columns": "one-way marginals alone",
    "search": "what a search finds",
}
WORDS: Mapping[CandidatePlan, str] = {
    "table": "one table of all columns was measured",
    "blocks": "all blocks were measured once",
    "pairs": "all pairs of columns below the blocks were measured once",
    "columns": "one-way marginals alone were measured",
    "search": "one-way marginals were measured first",
}


NOTES: Mapping[CandidatePlan, str] = {
    "table": "all columns together are measured once, with less noise in every block than a search would leave",
    "blocks": "all blocks are measured once, for a search would pass over few of them",
    "pairs": "all pairs of columns below the blocks are measured once, for their noise is far below that of the blocks",
    "columns": "one-way marginals alone are measured, for noise would hide what more columns together show",
}


def measurements_of(candidate: CandidatePlan, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Shares:
    """What a candidate plan measures, in the split of least noise; nothing for a search, or where there are no pairs.

    The number of records is measured beside blocks that are no marginals, for rows need a total.
    """
    if candidate == "table":
        return ((full_table(problem), 1.0),)
    blocks = _blocks(candidate, problem, roles)
    costs = [block.rows / max(block.largest_coefficient, 1) * _relative(block, budget, problem) for block in blocks]
    untold = bool(blocks) and public_records(problem) is None and not any(block.is_marginal for block in blocks)
    total = ((RECORDS, float(TUNING.count)),) if untold else ()
    return (*total, *zip(blocks, budget.split(1.0 - sum(share for _, share in total), costs), strict=True))


def _blocks(candidate: CandidatePlan, problem: Problem, roles: Roles) -> tuple[QueryBlock, ...]:
    """What a candidate plan measures."""
    searched = with_surrogates(problem, roles.check).workload.blocks
    if candidate == "columns":
        return tuple(block for (block,) in one_way(problem))
    if candidate == "blocks":
        return _widest(searched)
    if candidate == "search" or max(len(block.axes) for block in searched) < 3:
        return ()
    pairs = {pair for block in searched for pair in combinations(sorted(block.axes), min(2, len(block.axes)))}
    asked = {tuple(sorted(block.axes)): block for block in searched if block.is_marginal}
    return tuple(asked.get(axes) or marginal(problem, axes, "below") for axes in sorted(pairs))


@lru_cache(maxsize=4)
def _widest(searched: tuple[QueryBlock, ...]) -> tuple[QueryBlock, ...]:
    """Those within a marginal that is measured too are left to it. Kept, for every plan of a workload asks again."""
    tables = {frozenset(block.axes) for block in searched if block.is_marginal}
    holding: dict[int, set[frozenset[int]]] = {axis: set() for block in searched for axis in block.axes}
    for table in tables:
        for axis in table:
            holding[axis].add(table)
    above = (tables.intersection(*(holding[axis] for axis in block.axes)) for block in searched)
    return tuple(block for block, over in zip(searched, above, strict=True) if over <= {frozenset(block.axes)})


def _relative(block: QueryBlock, budget: BudgetAllocation, problem: Problem) -> float:
    """Deviation of a block's noise over that of a marginal's at the same share."""
    return budget.relative(block, QueryBlock(name="records"), problem.unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Of blocks, where some blocks are measured; shapes (blocks,).

    total: deviations of all answers together, in units of the most that a record changes one. even: share of even
    records that the answers hold together. hidden: part of the records that what is measured is assumed not to show.
    """

    total: FloatArray
    even: FloatArray
    hidden: FloatArray

    @classmethod
    def of(cls, blocks: Iterable[tuple[float, float, float]]) -> Noise:
        """Of every block its total, even and hidden."""
        total, even, hidden = np.array([*blocks], dtype=np.float64).reshape(-1, 3).T
        return cls(total=total, even=even, hidden=hidden)

    def errors(self, records: float, louder: float, hidden: float) -> FloatArray:
        """L1 errors over n, forecast at so many times the noise and of what is hidden, shape (blocks,)."""
        noise = louder * NORMAL * self.total / (records * self.even)
        found: FloatArray = TUNING.left * self.even * noise / (1.0 + noise) ** 0.6 + hidden * self.hidden
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Forecast errors by candidate plan, means over the blocks of L1 over n, at so many records.

    searched: error of a search over its forecast, beside that of other candidate plans and of other accountants.
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
    def sentence(self) -> str:
        """For the release."""
        others = ", ".join(
            f"{candidate} {error_words(error)}" for candidate, error in self.errors.items() if candidate != self.best
        )
        return (
            f"{WORDS[self.best]}: at {self.records:,.0f} records (the count less its deviation) that has the least "
            f"forecast error (L1 over n), {error_words(self.errors[self.best])} ({others})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateForecaster:
    """Noise by candidate and block of the workload, from which errors are forecast at any number of records.

    A block whose answers hold m of n even records, and get noise of q records together, is left with an error of about
    5/8 q where q is small beside m; noise on cells that are mostly empty is cut by the fit, so the error grows with
    q to the power of 0.4 from there on. What columns or pairs hide of the records is assumed: nothing public says it.

    A search is taken to measure some blocks a column (explored: the part of all), so each more exactly, and to pass
    over the rest, which depend less; or all blocks, or none, if that is less. In epsilon it pays for what it tries: of
    two measurements of a block the better one is all that counts. In rho they add up, so no candidate but the table is
    better there. In epsilon it may end with one-way marginals alone, by the dependence that it measures (`Foreseen`):
    these are a candidate of their own only where noise would hide the dependence.

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
        errors["search"] = self._searched(n)
        if pure and self.budget.share(TUNING.dependence * n) <= TUNING.largest_dependence:
            errors["search"] = min(errors["search"], errors.pop("columns"))
        return Forecasts(records=n, errors=errors, searched=TUNING.searched_pure if pure else 1.0)

    def _searched(self, records: float) -> float:
        """Of a search for blocks, or for the pairs below them: the least."""
        last, power = TUNING.last_rho if self.budget.concentrated else TUNING.last_pure, self.budget.power
        passed = self._error("columns", records, (1.0 / (1.0 - last)) ** power, TUNING.passed_over)
        hopeless = self._error("columns", records, (1.0 / last) ** power)
        searched = (
            part * self._error(candidate, records, (part / last) ** power) + (1.0 - part) * passed
            for candidate, some in self.explored.items()
            for part in (some, 1.0)
        )
        return min(hopeless, *searched)

    def _error(self, candidate: CandidatePlan, records: float, louder: float = 1.0, hidden: float = 1.0) -> float:
        return float(self.noise[candidate].errors(records, louder, hidden).mean())


def error_words(error: float) -> str:
    """An L1 error over n. No two tables of n records are further than 2 apart, so no more is said of a larger one.

    >>> error_words(0.123), error_words(5e6)
    ('0.12', 'above 2')
    """
    return f"{error:.2g}" if error <= 2.0 else "above 2"


def possible_records(problem: Problem) -> tuple[float, ...]:
    """The known number, or POSSIBLE_RECORDS."""
    known = public_records(problem)
    return POSSIBLE_RECORDS if known is None else (float(known),)


def mean_error(errors: Sequence[float]) -> float:
    """The geometric mean of errors at different numbers of records."""
    return math.exp(float(np.mean(np.log(np.maximum(errors, TINY)))))


def count_forecasts(plan: Plan, counted: Measurement, table: int) -> Forecasts:
    """By a noisy count of the records, less one deviation: noise on too few records is off by more than a search."""
    least = float(counted.values[0][0]) - counted.law.deviation
    return CandidateForecaster.of(plan.problem, plan.roles, remaining(plan), table).at(least)


def noise_by_block(candidate: CandidatePlan, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Noise:
    """Of the workload's blocks, in their order; none where the candidate measures nothing."""
    alike: dict[float, float] = {}  # marginals at one share have one deviation
    known = []
    for block, share in measurements_of(candidate, problem, roles, budget):
        deviation = alike.get(share) if block.is_marginal else None
        if deviation is None:
            deviation = roles.check.law((block,), problem.unit, budget.price(share)).deviation
            alike.update({share: deviation} if block.is_marginal else {})
        known.append((block, deviation))
    own = {block.name: deviation for block, deviation in known}
    tables = {frozenset(block.axes): (block, deviation) for block, deviation in known if block.is_marginal}
    return Noise.of(_noise(block, own.get(block.name), tables) for block in problem.workload.blocks if known)


def _noise(block: QueryBlock, own: float | None, tables: Tables) -> tuple[float, float, float]:
    """Its total, even and hidden: from the block itself, a marginal that holds it, or those of its columns or of pairs
    of them.

    Args:
        own: deviation of its own measurement; None: it is not measured.
    """
    axes, spread = frozenset(block.axes), NoiseSpread(block=block)
    even = spread.even
    if own is not None:
        return own * block.rows / max(block.largest_coefficient, 1), even, 0.0
    if axes in tables:
        return summed_noise(tables[axes][0], block, tables[axes][1]), even, 0.0
    wider = [summed_noise(one, block, each) for key, (one, each) in tables.items() if axes < key]
    if wider:
        return TUNING.summed * min(wider), even, 0.0
    of_pairs = [tables[frozenset(pair)] for pair in combinations(axes, 2) if frozenset(pair) in tables]
    below = of_pairs or [tables[frozenset((axis,))] for axis in axes if frozenset((axis,)) in tables]
    shown, each = (2, TUNING.hidden_by_pairs) if of_pairs else (1, TUNING.hidden_by_columns)
    total = sum(spread.noise(one.axes) * deviation for one, deviation in below) / (len(axes) - 1 if of_pairs else 1)
    further = max(len(axes) - shown, 0)
    return total, even, each * further * spread.missed(1 + shown) if further else 0.0


# The forecast error of plans without a search: every block is measured, or estimated without bias.


def direct_error(plan: Plan, *, fitted: bool) -> float:
    """Forecast error among the possible records of a plan by which every block is measured, or estimated unbiased.

    Args:
        fitted: whether a fit cuts noise on cells of few records; else an answer is off by its noise, or by no more than
            even records would be.
    """
    known = zip(plan.problem.workload.blocks, plan.forecast, strict=True)
    each = [(_summed_sizes(one, fitted) / float(block.scale), block) for block, one in known]
    units = ((total / max(block.largest_coefficient, 1), NoiseSpread(block=block).even, 0.0) for total, block in each)
    noise, errors = Noise.of(units), []
    for records in possible_records(plan.problem):
        n = max(1.0, records)
        found = noise.errors(n, 1.0, 0.0) if fitted else np.minimum(NORMAL * noise.total / n, noise.even)
        errors.append(float(found.mean()))
    return mean_error(errors)


def _summed_sizes(block: BlockForecast, fitted: bool) -> float:
    """Of a block's answers the deviations, or NORMAL times less than they are expected to be off, if that is known:
    nearly all noise of a large budget is 0, and its size is far below its deviation."""
    known = None if fitted else block.error
    return block.rows * (block.deviation if known is None else known / NORMAL)
