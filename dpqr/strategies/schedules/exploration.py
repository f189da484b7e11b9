"""Exploration: how far a marginals run has come, and what is to be drawn next, from what was released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from dpqr.data.arrays import Axes
from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.strategies.schedules.purse import Purse
from dpqr.strategies.transcript import Round
from dpqr.strategies.updates.local_fit import local_fit
from dpqr.workload.block import QueryBlock

NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""

FIRST_GAP = 0.5
"""Share of the records that the first chosen block may have in wrong cells (2 is the most there can be)."""

LEAST_PASSED = 0.2
"""Smallest part of a gap that a fit is taken to show."""

PRECISION = 1.0
"""A block is measured to within this much of the gap that the last one showed."""

TOLD, PART = 0.1, 0.25
"""But so exactly that this share of the records is left in wrong cells, if that costs at most this part of an even
share of what is left for each candidate. By a gap of most records alone no noise would be too much, and a block drowned
in it would count as explored. (A chain of 12 columns at epsilon 1: a mean L1 error of 0.034, and of 0.047 without.)"""

COLDNESS = 0.1
"""Temperature of a selection, as a share of the gap."""

WORTH = 0.6
"""A further block must have shown this many times the error that measuring leaves. Not more: one that has shown little
may have been measured too coarsely."""

SWEEP = 1.25
"""Where all are to be measured, the last ones must have shown this many times the error that it would leave."""

LARGEST_BITE = 0.1
"""Most of what is left that the measurements of one batch may cost; they are less exact where it would be more."""

ENOUGH = 0.4
"""Part of the blocks after which it is asked whether all should be measured."""

WORK = 2**17
"""Most scores of blocks that all choices may take together: a selection among thousands takes seconds."""

CLEAR = 0.12
"""Blocks wider than pairs are looked at where measuring them all would leave less of the records in wrong cells.
(Adult, all triples of 8 columns of up to 100 values at epsilon 10: 0.13 with pairs alone, 0.155 with both.)"""

BATCH = 6
"""One further choice between two fits for so many blocks explored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """After whole batches.

    left: share of the budget. gap: L1 error over n that the last batch showed, noise aside. explored: blocks
    measured. at: rounds that were read. level: whose candidates are searched.
    """

    left: float
    gap: float = FIRST_GAP
    explored: tuple[QueryBlock, ...] = ()
    at: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Choices from one hypothesis. size: how many; deviation: of each measurement; selection, measurement: shares."""

    size: int
    deviation: float
    selection: float
    measurement: float

    @property
    def cost(self) -> float:
        return self.size * (self.selection + self.measurement)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exploration:
    """levels: the candidates, searched one level after the other; coarse: offered beside those of the first level;
    singles: one-way marginals by attribute; asked: the workload's blocks; records: n as the first measurements tell
    it; spent: shares of the budget that went to the singles before the search."""

    levels: tuple[tuple[QueryBlock, ...], ...]
    coarse: tuple[QueryBlock, ...]
    singles: tuple[QueryBlock, ...]
    asked: tuple[QueryBlock, ...]
    errors: ExpectedError
    purse: Purse
    records: float
    spent: tuple[float, ...]
    _groups: frozenset[frozenset[int]] = field(init=False, repr=False)
    _loads: Counter[Axes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", frozenset(frozenset(block.axes) for block in self.asked))
        object.__setattr__(self, "_loads", _below(self.asked))

    def walk(self, start: Standing, rounds: Sequence[Round]) -> tuple[Standing, Batch | None]:
        """Where the rounds lead, and the batch that is under way; None: time for the last measurements."""
        standing = start
        while standing.level < len(self.levels):
            if not self._clear(standing):
                return replace(standing, level=len(self.levels)), None
            batch = self.batch(standing)
            if batch is None:
                standing = self._ended(standing)
                continue
            drawn = rounds[standing.at : standing.at + batch.size]
            if len(drawn) < batch.size:
                return standing, batch
            standing = self._after(standing, batch, drawn)
        return standing, None

    def batch(self, standing: Standing) -> Batch | None:
        """The next choices of the level; None: it has no more that are worth it, or that noise would let see."""
        blocks, explored = self.offered(standing.level), self._explored(standing)
        names = {block.name for block in explored}
        waiting = [block for block in blocks if block.name not in names]
        spent = len(names) * len(blocks) > WORK
        if not waiting or spent or self.sweeps(standing) or standing.gap < WORTH * self.reached(standing):
            return None
        size = min(1 + len(names) // BATCH, len(waiting))
        even = standing.left / len(blocks)
        share = min(self._enough(waiting, standing.gap, PART * even), LARGEST_BITE * standing.left / size)
        selection = self.purse.selection(max(COLDNESS * standing.gap * self.records, 1e-6))
        batch = Batch(size=size, deviation=self.purse.bought(share), selection=selection, measurement=share)
        return batch if batch.cost <= standing.left / 2 else None

    def _enough(self, waiting: Sequence[QueryBlock], gap: float, cheap: float) -> float:
        """The share that measures one of the blocks to within the gap, and, for `cheap` at most, to within TOLD."""
        within, told = (
            self.purse.share(self.errors.deviation(waiting, error * self.records)) for error in (PRECISION * gap, TOLD)
        )
        return max(within, min(told, cheap))

    def offered(self, level: int) -> tuple[QueryBlock, ...]:
        """The candidates of a level."""
        return self.levels[level] if level else (*self.levels[level], *self.coarse)

    def _clear(self, standing: Standing) -> bool:
        """Whether noise lets the level be searched; pairs always are."""
        if standing.level == 0 or self._explored(standing):
            return True
        blocks = self.levels[standing.level]
        return self._reached(blocks, (*standing.explored, *blocks), standing.left) < CLEAR

    def _ended(self, standing: Standing) -> Standing:
        """On to the next level; where all are to be measured, they count as explored."""
        explored = standing.explored
        if self.sweeps(standing):
            last = self.levels[-1]
            names = {block.name for block in (*last, *self.coarse)}
            explored = (*(block for block in explored if block.name not in names), *last)
        return replace(standing, gap=FIRST_GAP, explored=explored, level=standing.level + 1)

    def _explored(self, standing: Standing) -> tuple[QueryBlock, ...]:
        """Those of the level."""
        names = {block.name for block in self.offered(standing.level)}
        return tuple(block for block in standing.explored if block.name in names)

    def sweeps(self, standing: Standing) -> bool:
        """Whether so many of the asked blocks were worth it that the search ends and all are measured."""
        last = self.levels[-1]
        names = {block.name for block in last}.intersection(block.name for block in standing.explored)
        if standing.level < len(self.levels) - 1 or len(names) < ENOUGH * len(last):
            return False
        return standing.gap >= SWEEP * self._reached(last, last, standing.left)

    def reached(self, standing: Standing) -> float:
        """Mean error over n of the level's explored blocks if what is left were spent on the last measurements now."""
        explored = self._explored(standing)
        return self._reached(explored, standing.explored, standing.left) if explored else 0.0

    def final(self, standing: Standing) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares, `standing` being where the walk has ended."""
        return self._split(standing.explored, standing.left)

    def _reached(self, told: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...], left: float) -> float:
        names = {block.name for block in told}
        shares = [one for one in self._split(measured, left) if one[0].name in names]
        return (
            float(np.mean([self.errors.at(block, self.purse.bought(share)) for block, share in shares])) / self.records
        )

    def _split(self, measured: tuple[QueryBlock, ...], left: float) -> list[tuple[QueryBlock, float]]:
        """Measured blocks, and one-way marginals for all the blocks that they must stand in for, in the split of least
        expected error. A block weighs as much as the asked blocks that are answered by it, alone or with others."""
        loads, asked = self._loads.copy(), {block.name for block in self.asked}
        loads.subtract(_below([block for block in measured if block.name in asked]))
        wanted = [
            (block, float((frozenset(block.axes) in self._groups) + loads[tuple(sorted(block.axes))]), 0.0)
            for block in measured
        ]
        wanted += [
            (block, float(loads[block.axes]), spent) for block, spent in zip(self.singles, self.spent, strict=True)
        ]
        wanted = [(block, weight, spent) for block, weight, spent in wanted if weight > 0.0]
        even = self.purse.bought(left / max(len(wanted), 1))
        costs = [weight * self.errors.at(block, even) for block, weight, _ in wanted]
        shares = self.purse.split(left, costs, [spent for _, _, spent in wanted])
        return [(block, share) for (block, _, _), share in zip(wanted, shares, strict=True) if share > 0.0]

    def _after(self, standing: Standing, batch: Batch, drawn: Sequence[Round]) -> Standing:
        shown = [self._shown(one) for one in drawn if one.measurement is not None]
        gap = float(np.mean(shown)) if shown else 0.0
        found = tuple(one.measurement.blocks[0] for one in drawn if one.measurement is not None)
        return replace(
            standing,
            left=standing.left - batch.cost,
            gap=max(gap, standing.gap / 2),
            explored=(*standing.explored, *found),
            at=standing.at + batch.size,
        )

    def _shown(self, drawn: Round) -> float:
        """How far the fit to one measurement alone moves from what was expected, beyond what noise would do, over the
        part of a gap that the fit passes on."""
        if drawn.measurement is None or not drawn.expected:
            return 0.0
        block, deviation = drawn.measurement.blocks[0], drawn.measurement.law.deviation
        expected = np.maximum(drawn.expected[0], 0.0)
        values = np.asarray(drawn.measurement.values[0], dtype=np.float64)
        moved = float(np.abs(local_fit(expected, values, max(deviation, 1e-6)) - expected).sum())
        kept_back = self.errors.at(block, deviation)
        passed = max(LEAST_PASSED, 1.0 - kept_back / self.records)
        return max(0.0, moved - NOISE * kept_back) / passed / self.records


def _below(blocks: Sequence[QueryBlock]) -> Counter[Axes]:
    """How many of the blocks look at each attribute, and how many of the wider ones at each pair."""
    found: Counter[Axes] = Counter((axis,) for block in blocks for axis in block.axes)
    found.update(pair for block in blocks if len(block.axes) > 2 for pair in combinations(sorted(block.axes), 2))
    return found
