"""Candidates: what a selection chooses from, and how candidates are scored against a hypothesis.

Very many boxes (conjunctions of ranges) are scored together, on the hypothesis' table of cells.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import RECORDS
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.noisy_answers import CEILING, largest_answer, refuse_beyond
from dpqr.mechanisms.selection import (
    BlockScores,
    QueryScores,
    Scores,
    SomeScores,
    fair_multipliers,
    fair_ratios,
    largest_total,
    queries_sensitivity,
    refuse_large_score,
    row_by_row,
    scores_sensitivity,
)
from dpqr.models.hypothesis import Hypothesis, prepare
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.box_index import BoxIndex, box_index
from dpqr.workload.related_blocks import all_answers, stack_blocks
from dpqr.workload.workload import common_grid, round_answers

MOST_BITS = 20
"""Cells are rounded to 2^-20 records at the finest: 2^20 of them are off by less than one record together."""


def box_scores(blocks: tuple[QueryBlock, ...], index: BoxIndex, hypothesis: Hypothesis, records: int) -> BoxScores:
    """The recipe, with the hypothesis' table rounded to the finest grid that leaves every score below 2^62.

    Args:
        blocks: all of them boxes.
        index: of these blocks.
        hypothesis: its answers are scored.
        records: most that a table can hold.

    Raises:
        InfeasiblePlan: a score could reach 2^62 in whole records.
    """
    room = CEILING // (2 * records + 1)
    bits = max(0, min(MOST_BITS, room.bit_length() - 2))
    # The hypothesis' cells in units of 2^-bits records, shrunk where they stand for more than any table could hold.
    factors = tuple(Factor.identity(axis, size) for axis, size in zip(index.axes, index.sizes, strict=True))
    answers = hypothesis.answer(QueryBlock(name="table", factors=factors))
    finite = np.nan_to_num(answers, nan=0.0, posinf=records, neginf=-records)
    total = float(np.abs(finite / records).sum())
    cells = round_answers(finite / max(total, 1.0) * float(1 << bits), records << bits)
    return BoxScores(
        blocks=blocks, index=index, expected=cells.reshape(index.sizes or (1,)), bits=bits, records=records
    )


FEWEST_SEARCHED = 2**16
"""Fewer queries are scored one by one, which takes no longer."""

LARGEST_NARROW = int(np.iinfo(np.int32).max)
"""Answers up to it are held in words of four bytes."""

LARGEST_PENALTY = 2**40
"""Largest penalty of a block, in its grid: no table is that far from anything; beyond it scores could overflow."""

Candidate = tuple[QueryBlock, ...]
"""Blocks that are measured together if they are chosen."""


class Candidates(Protocol):
    """A fixed, public list."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Candidate: ...

    def scores(self, hypothesis: Hypothesis) -> Scores:
        """How badly `hypothesis` answers each: a recipe that meets the data inside a mechanism only."""
        ...

    def sensitivity(self, unit: PrivacyUnit) -> int:
        """The scores' sensitivity; it does not depend on the hypothesis."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockCandidates:
    """Each block is one candidate, scored by its L1 error per unit of sensitivity, times its weight.

    Attributes:
        unit: the neighbour relation whose sensitivities the candidates are made comparable by.
        penalties: one integer a block, in its grid: the L1 error that measuring it would leave anyway (public); empty
            for none.
        keep: whether true answers are cached, inside the seal, for later choices among the same blocks.

    Raises:
        InfeasiblePlan: a score could overflow whatever the hypothesis.

    >>> from dpqr.workload.block import Factor
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> BlockCandidates(blocks=(sex,)).sensitivity(PrivacyUnit())
    1
    """

    blocks: tuple[QueryBlock, ...]
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    penalties: tuple[int, ...] = ()
    records: int = RECORDS
    keep: bool = False
    _multipliers: tuple[Fraction, ...] = field(init=False, repr=False)
    _largest: tuple[int, ...] = field(init=False, repr=False)
    _cache: list[tuple[Hypothesis, BlockScores]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_multipliers", _fair(self.blocks, self.unit))
        object.__setattr__(self, "_largest", tuple(largest_total(group, self.records) for group in self._groups))
        limits = zip(self.blocks, self._multipliers, self._charged, self._largest, strict=True)
        for block, times, penalty, largest in limits:
            refuse_large_score((block,), times, penalty, expected=2 * (largest + block.rows), records=self.records)

    @property
    def _groups(self) -> tuple[Candidate, ...]:
        return tuple((block,) for block in self.blocks)

    @property
    def _charged(self) -> tuple[int, ...]:
        return self.penalties or (0,) * len(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, index: int) -> Candidate:
        return (self.blocks[index],)

    def scores(self, hypothesis: Hypothesis) -> BlockScores:
        """Kept for further choices from the same hypothesis."""
        if self._cache and self._cache[0][0] is hypothesis:
            return self._cache[0][1]
        prepare(hypothesis, self.blocks)
        scores = BlockScores(
            candidates=self._groups,
            expected=tuple(
                (_expected(block, hypothesis, max(1, largest)),)
                for block, largest in zip(self.blocks, self._largest, strict=True)
            ),
            multipliers=self._multipliers,
            penalties=self._charged,
            records=self.records,
            keep=self.keep,
        )
        self._cache[:] = [(hypothesis, scores)]
        return scores

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return scores_sensitivity(self._groups, self._multipliers, unit)


@lru_cache(maxsize=4)
def _fair(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> tuple[Fraction, ...]:
    """Kept from batch to batch."""
    return fair_multipliers([(block,) for block in blocks], unit)


def _expected(block: QueryBlock, hypothesis: Hypothesis, room: int) -> AnyArray:
    """The hypothesis on the block's grid, shrunk where it stands for more than any table could hold.

    room: the largest sum of true answers. After the shrinking sum |expected| <= room + half a unit a row, which the
    check at birth allowed for. No hypothesis of a real run is that large; it only makes overflow impossible.
    """
    answers = hypothesis.answer(block)
    total = float(np.abs(answers).sum())
    if total <= min(room, LARGEST_NARROW):
        return np.rint(answers).astype(np.int32)
    share = total / room
    if not math.isfinite(share):
        answers = np.nan_to_num(answers, nan=0.0, posinf=room, neginf=-room)
        share = float(np.abs(answers / room).sum())
    rounded = round_answers(answers / max(share, 1.0), room)
    # In words of four bytes where they fit: those of all blocks are held at a time.
    return rounded.astype(np.int32) if np.abs(rounded).max(initial=0) <= LARGEST_NARROW else rounded


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryCandidates:
    """Every single query of the blocks is a candidate, scored by |f(x) - f(D)|: the source's distinguisher.

    Attributes:
        unit: None compares errors on the blocks' common grid, in records, as the source's proof needs it. A neighbour
            relation compares them by weight and unit of sensitivity: a sum of incomes would outweigh every count
            otherwise.
        whole: names of the blocks of which all queries are measured where one of them is chosen.

    Raises:
        InfeasiblePlan: an answer, on that grid, could overflow.

    >>> from dpqr.workload.block import Factor
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> len(QueryCandidates(blocks=(sex,)))
    2
    """

    blocks: tuple[QueryBlock, ...]
    unit: PrivacyUnit | None = None
    records: int = RECORDS
    whole: frozenset[str] = frozenset()
    _grid: Fraction = field(init=False, repr=False)
    _ratios: tuple[int, ...] = field(init=False, repr=False)
    _most: tuple[int, ...] = field(init=False, repr=False)
    _ends: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        grid = common_grid(self.blocks)
        on_grid = tuple(int(block.scale / grid) for block in self.blocks)
        object.__setattr__(self, "_grid", grid)
        object.__setattr__(self, "_ratios", on_grid if self.unit is None else fair_ratios(self.blocks, self.unit))
        object.__setattr__(self, "_ends", tuple(accumulate(block.rows for block in self.blocks)))
        most = tuple(
            r * largest_answer(block, self.records) for block, r in zip(self.blocks, self._ratios, strict=True)
        )
        for block, largest in zip(self.blocks, most, strict=True):
            refuse_beyond(2 * largest, block.name, self.records)
        object.__setattr__(self, "_most", most)

    @property
    def grid(self) -> Fraction:
        """One unit of the scores, in records, where they are compared in records."""
        return self._grid

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int) -> Candidate:
        """The query alone, as a block of one row, or its whole block; cheap, nothing of the others is touched."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        position = int(np.searchsorted(self._ends, index, side="right"))
        block = self.blocks[position]
        if block.name in self.whole:
            return (block,)
        return (block.row(index - (self._ends[position] - block.rows)),)

    def scores(self, hypothesis: Hypothesis) -> QueryScores | BoxScores:
        """Many boxes on few cells are searched; others are scored one by one."""
        index = _index(self.blocks) if len(set(self._ratios)) == 1 else None
        if index is not None:
            return box_scores(self.blocks, index, hypothesis, self.records)
        prepare(hypothesis, stack_blocks(self.blocks).blocks)
        answers = all_answers(self.blocks, hypothesis.answer)
        times, most = row_by_row(self.blocks, self._ratios), row_by_row(self.blocks, self._most)
        return QueryScores(
            blocks=self.blocks,
            ratios=self._ratios,
            expected=round_answers(answers * times, most),
            records=self.records,
        )

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, self._ratios, unit)


@lru_cache(maxsize=2)
def _index(blocks: tuple[QueryBlock, ...]) -> BoxIndex | None:
    """Kept from round to round, for it is sorted from all queries."""
    if sum(block.rows for block in blocks) < FEWEST_SEARCHED:
        return None
    return box_index(blocks)


# SomeCandidates: what is left of a list of blocks while choices are made from one hypothesis.


@final
class SomeCandidates(Struct, frozen=True, kw_only=True, eq=False):
    """Some of the blocks, those at `places`: each choice leaves one fewer, and the scores of all serve every choice.

    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> blocks = tuple(QueryBlock(name=name, factors=(Factor.identity(0, 2),)) for name in "ab")
    >>> SomeCandidates(every=BlockCandidates(blocks=blocks), places=(1,))[0][0].name
    'b'
    """

    every: BlockCandidates
    places: tuple[int, ...]

    @classmethod
    def without(cls, every: BlockCandidates, names: Collection[str]) -> SomeCandidates:
        """All but the blocks of these names."""
        return cls(every=every, places=tuple(n for n, block in enumerate(every.blocks) if block.name not in names))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Candidate:
        return self.every[self.places[index]]

    def scores(self, hypothesis: Hypothesis) -> SomeScores:
        return SomeScores(scores=self.every.scores(hypothesis), places=self.places)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return self.listed.sensitivity(unit)

    @property
    def listed(self) -> BlockCandidates:
        """These alone."""
        blocks, charged = self.every.blocks, self.every.penalties
        return BlockCandidates(
            blocks=tuple(blocks[place] for place in self.places),
            unit=self.every.unit,
            penalties=tuple(charged[place] for place in self.places) if charged else (),
            records=self.every.records,
        )
