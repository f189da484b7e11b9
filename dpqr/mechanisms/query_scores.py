"""QueryScores: how badly a hypothesis answers each single query, the source's score |f(x) - f(D)| in records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpqr.data.arrays import IntArray, frozen
from dpqr.data.counts import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.block_scores import RESOLUTION
from dpqr.mechanisms.limits import RECORDS, largest_answer, refuse_beyond
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.stacking import all_answers, stacked


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryScores:
    """Every row of every block is a candidate: score = |ratio true - expected|, all on one common public grid.

    ratios: one positive integer a block, its scale in units of the common grid. expected: the hypothesis' answers on
    the common grid, int64, shape (candidates,), public. Candidates are numbered block by block.
    Weights do not enter: the source's loop bounds the largest error, and every query counts the same in it.
    Errors: InfeasiblePlan where a score could reach 2^62: |true| <= records times the largest coefficient, and
    |expected| is public.

    **Privacy.** Expected answers are public, so |ratio f(x) - g| moves by at most ratio |f(x) - f(x')|, and that is
    *add-remove:* the query's coefficient at the record that comes or goes, *replace:* the difference of two of its
    coefficients, or one of them where the other record is dropped by a rule. Sensitivity: the largest over all rows
    of all blocks, ratio times Norm.LARGEST; for queries with coefficients 0 and 1 on the grid of records it is 1
    under both relations.
    """

    blocks: tuple[QueryBlock, ...]
    ratios: tuple[int, ...]
    expected: IntArray
    records: int = RECORDS

    def __post_init__(self) -> None:
        largest, name = _largest(self.blocks, self.ratios, self.records)
        refuse_beyond(largest + int(np.abs(self.expected).max(initial=0)), name, self.records)

    def __len__(self) -> int:
        return len(self.expected)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, self.ratios, unit)

    def evaluate(self, counts: Counts) -> IntArray:
        """The true answers are worked out once a table and kept with it, inside the seal: rounds ask them again."""
        truths = counts.recalled(self.blocks, lambda: self._truths(counts))
        scores = np.multiply(truths, row_by_row(self.blocks, self.ratios))
        scores -= self.expected
        return np.abs(scores, out=scores)

    def _truths(self, counts: Counts) -> IntArray:
        """Every block's answers in its own grid, one after the other."""
        counts.prefetch([block.axes for block in stacked(self.blocks).blocks])
        return all_answers(self.blocks, lambda block: block.answer(counts))


@lru_cache(maxsize=16)
def _largest(blocks: tuple[QueryBlock, ...], ratios: tuple[int, ...], records: int) -> tuple[int, str]:
    """The largest true answer on the common grid, and whose it is."""
    reached = [ratio * largest_answer(block, records) for block, ratio in zip(blocks, ratios, strict=True)]
    largest = max(reached, default=0)
    return largest, blocks[reached.index(largest)].name if blocks else ""


@lru_cache(maxsize=16)
def row_by_row(blocks: tuple[QueryBlock, ...], figures: tuple[int, ...]) -> IntArray:
    """One figure a block as one a query, shape (queries,); (1,) where all are alike."""
    if len(set(figures)) <= 1:
        return frozen(np.array(figures[:1], dtype=np.int64))
    return frozen(np.repeat(np.array(figures, dtype=np.int64), [block.rows for block in blocks]))


@lru_cache(maxsize=16)
def queries_sensitivity(blocks: tuple[QueryBlock, ...], ratios: tuple[int, ...], unit: PrivacyUnit) -> int:
    """Largest change of any query's answer between neighbours, on the common grid."""
    pairs = zip(blocks, ratios, strict=True)
    return max((ratio * sensitivity((block,), Norm.LARGEST, unit) for block, ratio in pairs), default=0)


def fair_ratios(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> tuple[int, ...]:
    """Positive integers nearly in the ratio weight / sensitivity of one query (exactly, where small ones are).

    The ratio is right within half a unit of the largest sensitivity, which is about RESOLUTION where it is not exact.
    Public: a function of the workload.
    """
    moves = [max(1, sensitivity((block,), Norm.LARGEST, unit)) for block in blocks]
    shares = [block.weight / move for block, move in zip(blocks, moves, strict=True)]
    denominator = math.lcm(*(share.denominator for share in set(shares)))
    common = math.gcd(*(int(share * denominator) for share in set(shares)))
    exact = [int(share * denominator) // common for share in shares]
    if max(ratio * move for ratio, move in zip(exact, moves, strict=True)) <= RESOLUTION:
        return tuple(exact)
    most = max(block.weight for block in blocks)
    return tuple(max(1, round(RESOLUTION * share / most)) for share in shares)
