"""BoxScores: how badly a hypothesis answers each of very many boxes, searched rather than worked out one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.counts import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.box_search import BoxSearch
from dpqr.mechanisms.limits import RECORDS, refuse_beyond
from dpqr.mechanisms.query_scores import queries_sensitivity
from dpqr.workload.block import QueryBlock
from dpqr.workload.box_index import BoxIndex


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxScores:
    """Every box of the index is a candidate: score = |sum over its cells of (2^bits count - expected)|.

    blocks: the boxes, as they are asked; all count alike. expected: the hypothesis' own table in units of 2^-bits
    records, int64, of the index's sizes, public. So hypothesis and counts meet cell by cell in exact integers, and a
    bound on many boxes' scores is a sum of cells.
    Errors: InfeasiblePlan where a score could reach 2^62.

    **Privacy.** Expected cells are public, so a score moves by at most 2^bits |f(x) - f(x')|, f the box's count:
    *add-remove:* 2^bits, *replace:* 2^bits too, for a box holds both cells or one of them; for persons that times
    their rows. That is 2^bits times the sensitivity of `QueryScores`, whose scores these are on a finer grid.
    """

    blocks: tuple[QueryBlock, ...]
    index: BoxIndex
    expected: IntArray
    bits: int
    records: int = RECORDS

    def __post_init__(self) -> None:
        largest = (self.records << self.bits) + int(np.abs(self.expected).sum())
        refuse_beyond(largest, self.blocks[0].name, self.records)

    def __len__(self) -> int:
        return self.index.queries

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit) << self.bits

    def search(self, counts: Counts) -> BoxSearch:
        """What a draw works out no more of than it needs; private."""
        table = (counts.marginal(self.index.axes) << self.bits) - self.expected
        return BoxSearch(self.index, table)

    def evaluate(self, counts: Counts) -> IntArray:
        return self.search(counts).evaluate()
