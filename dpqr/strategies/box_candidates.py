"""Scores of very many boxes against a hypothesis' table of cells."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.noisy_answers import CEILING
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.box_index import BoxIndex
from dpqr.workload.workload import rounded

MOST_BITS = 20
"""Cells are rounded to 2^-20 records at the finest: 2^20 of them are off by less than one record together."""


def box_scores(blocks: tuple[QueryBlock, ...], index: BoxIndex, hypothesis: Hypothesis, records: int) -> BoxScores:
    """The recipe, with the hypothesis' table rounded to the finest grid that leaves every score below 2^62."""
    room = CEILING // (2 * records + 1)
    bits = max(0, min(MOST_BITS, room.bit_length() - 2))
    expected = _expected(index, hypothesis, records, bits)
    return BoxScores(blocks=blocks, index=index, expected=expected, bits=bits, records=records)


def _expected(index: BoxIndex, hypothesis: Hypothesis, records: int, bits: int) -> IntArray:
    """The hypothesis' cells in units of 2^-bits records, shrunk where they stand for more than any table could hold."""
    factors = tuple(Factor.identity(axis, size) for axis, size in zip(index.axes, index.sizes, strict=True))
    answers = hypothesis.answer(QueryBlock(name="table", factors=factors))
    known = np.nan_to_num(answers, nan=0.0, posinf=records, neginf=-records)
    total = float(np.abs(known / records).sum())
    cells = rounded(known / max(total, 1.0) * float(1 << bits), records << bits)
    return cells.reshape(index.sizes or (1,))
