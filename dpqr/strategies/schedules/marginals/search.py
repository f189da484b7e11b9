"""SearchState: how far a search among marginals has come, in whole batches of choices.

Exploration: how far a marginals run has come, and what is to be drawn next, from what was released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpqr.data.unit import PrivacyUnit
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation, LastMeasurements
from dpqr.strategies.schedules.marginals.dependence_graph import DependenceGraph
from dpqr.strategies.schedules.marginals.expected_error import ExpectedError
from dpqr.strategies.schedules.marginals.stopping_rule import Finding, largest_gap, shown_gap
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock

FIRST_GAP = 0.5
"""Share of the records that the first chosen block may have in wrong cells (2 is the most there can be)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """After whole batches.

    left: share of the budget. gap: L1 error over n that the last batch showed, noise aside. explored: blocks
    measured, and the links that they are. idle: batches in a row that found nothing worth measuring. level: whose
    candidates are searched.
    """

    left: float
    gap: float = FIRST_GAP
    explored: tuple[QueryBlock, ...] = ()
    links: DependenceGraph = field(default_factory=DependenceGraph)
    idle: int = 0
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


PRECISION = 1.0
"""A block is measured to within this much of the gap that the last one showed, or of FIRST_GAP: a gap of most records,
which noise can make, would have the next block drowned in noise. (5,000 records, a chain of 12 columns at epsilon 1 in
pure differential privacy: a mean L1 error of 0.42, and of 0.47 without.)"""

TOLD, PART = 0.1, 0.25
"""But so exactly that this share of the records is left in wrong cells, if that costs at most this part of an even
share of what is left for each candidate. By a gap of most records alone no noise would be too much, and a block drowned
in it would count as explored. (A chain of 12 columns at epsilon 1: a mean L1 error of 0.034, and of 0.047 without.)"""

COLDNESS = 0.1
"""Temperature of a selection, as a share of the gap; more where it would cost more than what it leads to. Small blocks
are measured for little, and more choices of them, each less sharp, find more. (All pairs of 30 columns of two values at
epsilon 1: a mean L1 error of 0.0106, and of 0.0113 with sharper ones.)"""

PATIENCE = 2
"""Batches in a row that find nothing worth measuring, after which a level ends: one may have been unlucky.
(Ending where the very first does is 2 to 5 % better on few records, and now and then half worse on skewed columns.)"""

SWEEP = 1.25
"""Where all are to be measured, the last ones must have shown this many times the error that it would leave."""

LARGEST_BITE = 0.1
"""Most of what is left that the measurements of one batch may cost; they are less exact where it would be more."""

ENOUGH = 0.4
"""Part of the blocks after which it is asked whether all should be measured."""

WORK = 2**19
"""Most scores of blocks that all choices may take together: a selection among thousands takes a third of a second. (A
chain of 100 columns, 4,950 pairs, 10^6 records at epsilon 1: a mean L1 error of 0.010; of 0.061 with half as many.)"""

CLEAR = 0.12
"""Blocks wider than pairs are looked at where measuring them all would leave less of the records in wrong cells.
(Adult, all triples of 8 columns of up to 100 values at epsilon 10: 0.13 with pairs alone, 0.155 with both.)"""

HOPELESS = 0.22
"""No search begins where measuring any block with LARGEST_BITE of what is left would leave more than this part of its
largest gap. (At epsilon 0.1, pairs: 500 records of 8 columns are off by 0.96, by 1.4 with a search; 1,000 along a chain
by 1.1 and 1.3. Where this is 0.2 or less, made-up chains and stars were told better by a search at epsilon 1.)"""

BATCH = 6
"""One further choice between two fits for so many blocks explored."""


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
    purse: BudgetAllocation
    unit: PrivacyUnit
    records: float
    spent: tuple[float, ...]
    _last: LastMeasurements = field(init=False, repr=False)

    def __post_init__(self) -> None:
        last = LastMeasurements(
            singles=self.singles, spent=self.spent, asked=self.asked, errors=self.errors, purse=self.purse
        )
        object.__setattr__(self, "_last", last)

    def advanced(self, state: SearchState) -> tuple[SearchState, Batch | None]:
        """Past the levels that are not worth a batch, and the next batch; None: time for the last measurements."""
        while state.level < len(self.levels):
            if not self._clear(state):
                return replace(state, level=len(self.levels)), None
            batch = self.batch(state)
            if batch is not None:
                return state, batch
            state = self._ended(state)
        return state, None

    def batch(self, state: SearchState) -> Batch | None:
        """The next choices of the level; None: it has no more that are worth it, or that noise would let see."""
        blocks, explored = self.offered(state.level), self._explored(state)
        names = {block.name for block in explored}
        waiting = [block for block in blocks if block.name not in names]
        spent = len(names) * len(blocks) > WORK
        if not waiting or spent or self.sweeps(state) or state.idle >= PATIENCE:
            return None
        size = min(1 + len(names) // BATCH, len(waiting))
        even = state.left / len(blocks)
        enough = self._enough(waiting, min(state.gap, FIRST_GAP), PART * even)
        share = min(enough, LARGEST_BITE * state.left / size)
        selection = min(self.purse.selection(max(COLDNESS * state.gap * self.records, 1e-6)), share)
        batch = Batch(size=size, deviation=self.purse.bought(share), selection=selection, measurement=share)
        return batch if batch.cost <= state.left / 2 else None

    def _enough(self, waiting: Sequence[QueryBlock], gap: float, cheap: float) -> float:
        """The share that measures one of the blocks to within the gap, and, for `cheap` at most, to within TOLD."""
        within, told = (
            self.purse.share(self.errors.deviation(waiting, error * self.records)) for error in (PRECISION * gap, TOLD)
        )
        return max(within, min(told, cheap))

    def offered(self, level: int) -> tuple[QueryBlock, ...]:
        """The candidates of a level."""
        return self.levels[level] if level else (*self.levels[level], *self.coarse)

    def _clear(self, state: SearchState) -> bool:
        """Whether noise lets the level be searched."""
        if self._explored(state):
            return True
        if state.level == 0:
            deviation = self.purse.bought(LARGEST_BITE * state.left)
            told = (self.errors.at(block, deviation) / largest_gap(block) for block in self.offered(0))
            return min(told) <= HOPELESS * self.records
        blocks = self.levels[state.level]
        return self._reached(blocks, (*state.explored, *blocks), state.left) < CLEAR

    def _ended(self, state: SearchState) -> SearchState:
        """On to the next level; where all are to be measured, they count as explored."""
        explored = state.explored
        if self.sweeps(state):
            last = self.levels[-1]
            names = {block.name for block in (*last, *self.coarse)}
            explored = (*(block for block in explored if block.name not in names), *last)
        return replace(state, gap=FIRST_GAP, explored=explored, idle=0, level=state.level + 1)

    def _explored(self, state: SearchState) -> tuple[QueryBlock, ...]:
        """Those of the level."""
        names = {block.name for block in self.offered(state.level)}
        return tuple(block for block in state.explored if block.name in names)

    def sweeps(self, state: SearchState) -> bool:
        """Whether so many of the asked blocks were worth it, the last ones too, that the search ends and all are
        measured."""
        last = self.levels[-1]
        names = {block.name for block in last}.intersection(block.name for block in state.explored)
        if state.level < len(self.levels) - 1 or len(names) < ENOUGH * len(last) or state.idle:
            return False
        return state.gap >= SWEEP * self._reached(last, last, state.left)

    def reached(self, state: SearchState) -> float:
        """Mean error over n of the level's explored blocks if what is left were spent on the last measurements now."""
        explored = self._explored(state)
        return self._reached(explored, state.explored, state.left) if explored else 0.0

    def final(self, state: SearchState) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares, `state` being where the walk has ended."""
        return self._last.split(state.explored, state.left)

    def _reached(self, told: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...], left: float) -> float:
        return self._last.leaves(told, measured, left) / self.records

    def after(self, state: SearchState, batch: Batch, drawn: Sequence[Round]) -> SearchState:
        """After all choices of the batch; one that was lost in a crash shows nothing, and is paid."""
        shown = [gap for one in drawn if (gap := shown_gap(one, self.errors, self.records)) is not None]
        found = tuple(one.measurement.blocks[0] for one in drawn if one.measurement is not None)
        after = replace(
            state,
            left=state.left - batch.cost,
            gap=state.gap / 2,
            explored=(*state.explored, *found),
        )
        if not shown:
            return after
        finding = Finding.of(shown, state.links)
        return replace(
            after,
            gap=max(finding.least, after.gap),
            links=state.links.joined(shown),
            idle=finding.idle(state.idle, self.reached(after), self._price(state, after)),
        )

    def _price(self, before: SearchState, after: SearchState) -> float:
        """What a further block would cost, L1 error over n: what measuring leaves in one, or what each of the last ones
        has added to the sum over all explored ones, if that is more."""
        (few, one), (many, other) = ((len(self._explored(each)), self.reached(each)) for each in (before, after))
        return max(other, (many * other - few * one) / (many - few))
