"""Ways to spend a budget on marginals, and the noise that each leaves in the workload's answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations
from typing import Literal

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL, one_way
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation
from dpqr.strategies.schedules.marginals.candidate_blocks import marginal, with_surrogates
from dpqr.strategies.schedules.marginals.one_table import RECORDS, known_records, summed_noise, whole_table
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.workload.block import QueryBlock

Way = Literal["table", "blocks", "pairs", "columns", "search"]
"""One table of all columns; all asked blocks once; all pairs below them once; one-way marginals once; a search."""

Tables = Mapping[frozenset[int], tuple[QueryBlock, float]]
"""Measured marginals by their columns, with deviations in records."""

LARGEST_EMPTY = 0.8
"""Part of the noise that is cut because dependence leaves cells empty, at most."""

LARGEST_HIDDEN = 1.9
"""L1 error over n of a marginal that others do not show, at most."""

Shares = tuple[tuple[QueryBlock, float], ...]
"""Blocks that are measured once, each with its share of what is left."""

NOTES: Mapping[Way, str] = {
    "table": "all columns together are measured once, with less noise in every block than a search would leave",
    "blocks": "all blocks are measured once, for a search would pass over few of them",
    "pairs": "all pairs of columns below the blocks are measured once, for their noise is far below that of the blocks",
    "columns": "one-way marginals alone are measured, for noise would hide what more columns together show",
}


def measured_by(way: Way, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Shares:
    """What a way measures, in the split of least noise; nothing for a search, or where there are no such pairs.

    The number of records is measured beside blocks that are no marginals, for rows need a total.
    """
    if way == "table":
        return ((whole_table(problem), 1.0),)
    blocks = measured_blocks(way, problem, roles)
    costs = [block.rows / max(block.largest_coefficient, 1) * _relative(block, budget, problem) for block in blocks]
    untold = bool(blocks) and known_records(problem) is None and not any(block.is_marginal for block in blocks)
    total = ((RECORDS, float(TUNING.count)),) if untold else ()
    return (*total, *zip(blocks, budget.split(1.0 - sum(share for _, share in total), costs), strict=True))


def measured_blocks(way: Way, problem: Problem, roles: Roles) -> tuple[QueryBlock, ...]:
    """Those within a marginal that is measured too are left to it."""
    searched = with_surrogates(problem, roles.check).workload.blocks
    if way == "columns":
        return tuple(block for (block,) in one_way(problem))
    if way == "blocks":
        tables = {frozenset(block.axes) for block in searched if block.is_marginal}
        holding: dict[int, set[frozenset[int]]] = {axis: set() for axis in problem.workload.axes}
        for table in tables:
            for axis in table:
                holding[axis].add(table)
        above = (tables.intersection(*(holding[axis] for axis in block.axes)) for block in searched)
        return tuple(block for block, over in zip(searched, above, strict=True) if over <= {frozenset(block.axes)})
    if way == "search" or max(len(block.axes) for block in searched) < 3:
        return ()
    pairs = {pair for block in searched for pair in combinations(sorted(block.axes), min(2, len(block.axes)))}
    asked = {tuple(sorted(block.axes)): block for block in searched if block.is_marginal}
    return tuple(asked.get(axes) or marginal(problem, axes, "below") for axes in sorted(pairs))


def _relative(block: QueryBlock, budget: BudgetAllocation, problem: Problem) -> float:
    """Deviation of a block's noise over that of a marginal's at the same share."""
    return budget.relative(block, QueryBlock(name="records"), problem.unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Of the workload's blocks, in their order, where some blocks are measured; each of shape (blocks,).

    total: deviations of all answers together, in units of the most that a record changes one. even: share of even
    records that the answers hold together. hidden: what is measured does not show so many times the part of the records
    that one-way marginals hide in a pair of columns. joined: columns beyond the first whose dependence is measured: the
    more they depend, the fewer cells hold records, and the more noise the fit cuts.
    """

    total: FloatArray
    even: FloatArray
    hidden: FloatArray
    joined: FloatArray

    @classmethod
    def alone(cls, total: FloatArray, even: FloatArray) -> Noise:
        """Where nothing is hidden."""
        return cls(total=total, even=even, hidden=np.zeros(len(total)), joined=np.zeros(len(total)))

    def errors(self, records: float, louder: float, hidden: float) -> FloatArray:
        """L1 errors over n, forecast at so many times the noise, where one-way marginals hide so much in a pair."""
        noise = louder * NORMAL * self.total / (records * self.even)
        kept = TUNING.noise_kept * noise / (1.0 + TUNING.noise_cut * noise) ** TUNING.noise_power
        empty = np.minimum((hidden * self.joined) ** 2 / 2.0, LARGEST_EMPTY) / (1.0 + TUNING.noise_on_empty * noise)
        missed = self.hidden + self.joined * noise / (noise + TUNING.noise_hiding)
        found: FloatArray = self.even * (1.0 - empty) * kept + np.minimum(hidden * missed, LARGEST_HIDDEN)
        return found


def noise_of(way: Way, problem: Problem, roles: Roles, budget: BudgetAllocation) -> Noise | None:
    """None: the way measures nothing."""
    shares = measured_by(way, problem, roles, budget)
    if not shares:
        return None
    laws = ((block, roles.check.law((block,), problem.unit, budget.price(share))) for block, share in shares)
    known = [(block, law.deviation) for block, law in laws]
    own = {block.name: deviation for block, deviation in known}
    tables = {frozenset(block.axes): (block, deviation) for block, deviation in known if block.is_marginal}
    figures = np.array([_noise(block, own.get(block.name), tables) for block in problem.workload.blocks])
    joined = np.array([0 if way == "columns" else max(len(block.axes) - 1, 0) for block in problem.workload.blocks])
    return Noise(total=figures[:, 0], even=figures[:, 1], hidden=figures[:, 2], joined=joined)


def _noise(block: QueryBlock, own: float | None, tables: Tables) -> tuple[float, float, float]:
    """Total, even and hidden: from the block, a marginal that holds it, or those of its columns or pairs of columns.

    Args:
        own: deviation of its own measurement; None: it is not measured.
    """
    axes, even = frozenset(block.axes), even_share(block)
    if own is not None:
        return own * block.rows / max(block.largest_coefficient, 1), even, 0.0
    above = [tables[axes]] if axes in tables else [found for key, found in tables.items() if axes < key]
    if above:
        return min(summed_noise(one, block, each) for one, each in above), even, 0.0
    of_pairs = [tables[frozenset(pair)] for pair in combinations(axes, 2) if frozenset(pair) in tables]
    below = of_pairs or [tables[frozenset((axis,))] for axis in axes if frozenset((axis,)) in tables]
    shown, each = (2, TUNING.hidden_by_pairs) if of_pairs else (1, 1.0)
    noise = sum(even * _cells_summed(block, one, even) * deviation for one, deviation in below)
    total = noise / (len(axes) - 1 if of_pairs else 1)
    reach = 1.0 if block.is_marginal else min(TUNING.hidden_in_sums * even, TUNING.hidden_by_sums)
    return total, even, each * max(len(axes) - shown, 0) * reach


def _cells_summed(block: QueryBlock, table: QueryBlock, even: float) -> float:
    """Noise of a typical answer over its even share, in deviations of a cell of the table: of independent cells, as
    many as hold the answer's share of each of the table's columns."""
    if block.is_marginal or not block.axes:
        return float(table.rows)
    share = (even / block.rows) ** (len(table.axes) / len(block.axes))
    return math.sqrt(table.rows / max(share, 1.0 / table.cells))


@lru_cache(maxsize=4096)
def even_share(block: QueryBlock) -> float:
    """Sum over a block's answers of the share of even records that each holds, in units of the largest coefficient."""
    if block.is_marginal:
        return 1.0
    matrices = [factor.matrix for factor in block.factors]
    parts = [one.apply(np.full((one.cells, 1), 1.0 / one.cells)) for one in matrices]
    sums = np.abs(reduce(np.multiply, parts)).sum() if block.rowwise else np.prod([np.abs(one).sum() for one in parts])
    return max(float(sums) / max(block.largest_coefficient, 1), 1.0 / block.cells)
