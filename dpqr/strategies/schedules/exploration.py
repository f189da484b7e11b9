"""Exploration: how far a marginals run has come, and what is to be drawn next, from what was released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.strategies.schedules.finding import Finding
from dpqr.strategies.schedules.gap import largest_gap, shown_gap
from dpqr.strategies.schedules.last_measurements import LastMeasurements
from dpqr.strategies.schedules.purse import Purse
from dpqr.strategies.schedules.standing import FIRST_GAP, Batch, Standing
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock

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
    purse: Purse
    records: float
    spent: tuple[float, ...]
    _last: LastMeasurements = field(init=False, repr=False)

    def __post_init__(self) -> None:
        last = LastMeasurements(
            singles=self.singles, spent=self.spent, asked=self.asked, errors=self.errors, purse=self.purse
        )
        object.__setattr__(self, "_last", last)

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
        if not waiting or spent or self.sweeps(standing) or standing.idle >= PATIENCE:
            return None
        size = min(1 + len(names) // BATCH, len(waiting))
        even = standing.left / len(blocks)
        enough = self._enough(waiting, min(standing.gap, FIRST_GAP), PART * even)
        share = min(enough, LARGEST_BITE * standing.left / size)
        selection = min(self.purse.selection(max(COLDNESS * standing.gap * self.records, 1e-6)), share)
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
        """Whether noise lets the level be searched."""
        if self._explored(standing):
            return True
        if standing.level == 0:
            deviation = self.purse.bought(LARGEST_BITE * standing.left)
            told = (self.errors.at(block, deviation) / largest_gap(block) for block in self.offered(0))
            return min(told) <= HOPELESS * self.records
        blocks = self.levels[standing.level]
        return self._reached(blocks, (*standing.explored, *blocks), standing.left) < CLEAR

    def _ended(self, standing: Standing) -> Standing:
        """On to the next level; where all are to be measured, they count as explored."""
        explored = standing.explored
        if self.sweeps(standing):
            last = self.levels[-1]
            names = {block.name for block in (*last, *self.coarse)}
            explored = (*(block for block in explored if block.name not in names), *last)
        return replace(standing, gap=FIRST_GAP, explored=explored, idle=0, level=standing.level + 1)

    def _explored(self, standing: Standing) -> tuple[QueryBlock, ...]:
        """Those of the level."""
        names = {block.name for block in self.offered(standing.level)}
        return tuple(block for block in standing.explored if block.name in names)

    def sweeps(self, standing: Standing) -> bool:
        """Whether so many of the asked blocks were worth it, the last ones too, that the search ends and all are
        measured."""
        last = self.levels[-1]
        names = {block.name for block in last}.intersection(block.name for block in standing.explored)
        if standing.level < len(self.levels) - 1 or len(names) < ENOUGH * len(last) or standing.idle:
            return False
        return standing.gap >= SWEEP * self._reached(last, last, standing.left)

    def reached(self, standing: Standing) -> float:
        """Mean error over n of the level's explored blocks if what is left were spent on the last measurements now."""
        explored = self._explored(standing)
        return self._reached(explored, standing.explored, standing.left) if explored else 0.0

    def final(self, standing: Standing) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares, `standing` being where the walk has ended."""
        return self._last.split(standing.explored, standing.left)

    def _reached(self, told: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...], left: float) -> float:
        return self._last.leaves(told, measured, left) / self.records

    def _after(self, standing: Standing, batch: Batch, drawn: Sequence[Round]) -> Standing:
        shown = [gap for one in drawn if (gap := shown_gap(one, self.errors, self.records)) is not None]
        found = tuple(one.measurement.blocks[0] for one in drawn if one.measurement is not None)
        after = replace(
            standing,
            left=standing.left - batch.cost,
            gap=standing.gap / 2,
            explored=(*standing.explored, *found),
            at=standing.at + batch.size,
        )
        if not shown:
            return after
        finding = Finding.of(shown, standing.links)
        return replace(
            after,
            gap=max(finding.least, after.gap),
            links=standing.links.joined(shown),
            idle=finding.idle(standing.idle, self.reached(after), self._price(standing, after)),
        )

    def _price(self, before: Standing, after: Standing) -> float:
        """What a further block would cost, L1 error over n: what measuring leaves in one, or what each of the last ones
        has added to the sum over all explored ones, if that is more."""
        (few, one), (many, other) = ((len(self._explored(each)), self.reached(each)) for each in (before, after))
        return max(other, (many * other - few * one) / (many - few))
