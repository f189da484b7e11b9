"""QueryScores: how badly a hypothesis answers each single query, the source's score |f(x) - f(D)| in records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.counts import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.block_scores import RESOLUTION
from dpqr.mechanisms.limits import RECORDS, largest_answer, refuse_beyond
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryScores:
    """Every row of every block is a candidate: score = |ratio true - expected|, all on one common public grid.

    ratios: one positive integer a block, its scale in units of the common grid. expected: the hypothesis' answers on
    the common grid, int64, shape (rows,) a block, public. Candidates are numbered block by block.
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
    expected: tuple[IntArray, ...]
    records: int = RECORDS

    def __post_init__(self) -> None:
        for block, ratio, answers in zip(self.blocks, self.ratios, self.expected, strict=True):
            public = int(np.abs(answers).max(initial=0))
            refuse_beyond(ratio * largest_answer(block, self.records) + public, block.name, self.records)

    def __len__(self) -> int:
        return sum(block.rows for block in self.blocks)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, self.ratios, unit)

    def evaluate(self, counts: Counts) -> IntArray:
        """The true answers are worked out once a table and kept with it, inside the seal: rounds ask them again."""
        truths = counts.recalled(self.blocks, lambda: self._truths(counts))
        scores = np.empty(len(self), dtype=np.int64)
        start = 0
        for ratio, answers in zip(self.ratios, self.expected, strict=True):
            rows = slice(start, start + len(answers))
            np.multiply(truths[rows], ratio, out=scores[rows])
            scores[rows] -= answers
            start = rows.stop
        return np.abs(scores, out=scores)

    def _truths(self, counts: Counts) -> IntArray:
        """Every block's answers in its own grid, one after the other."""
        counts.prefetch([block.axes for block in self.blocks])
        return np.concatenate([block.answer(counts) for block in self.blocks])


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
