"""Parts of marginals: how many cells each has to itself, and who shows it."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import marginals

from dpqr.strategies.schedules.marginals.last_measurements import MarginalParts
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

SIZES = (2, 3, 4)
BLOCKS = (*marginals(3, SIZES), *marginals(2, SIZES), *marginals(1, SIZES))


def test_a_part_has_what_its_columns_add_to_itself():
    """The product of sizes less one each, over all cells; all parts of a table together are all its cells."""
    alone = MarginalParts.of(BLOCKS, BLOCKS, [1.0] * len(BLOCKS)).alone
    cells = [1, *(block.cells for block in BLOCKS)]
    own = [1, *(np.prod([factor.matrix.cells - 1 for factor in block.factors]) for block in BLOCKS)]
    assert alone == pytest.approx(np.divide(own, cells))
    assert sum(own) == BLOCKS[0].cells


def test_parts_without_a_number_are_left_to_the_whole():
    alone = MarginalParts.of(BLOCKS[:1], BLOCKS[:1], [1.0]).alone
    assert alone.tolist() == [1.0, 1 - 1 / 24]


def test_every_marginal_shows_its_smaller_ones_the_better_the_fewer_cells_are_summed():
    held = MarginalParts.of(BLOCKS, (), ()).measured
    table = [
        (part, factor) for block, part, factor in zip(held.blocks, held.parts, held.factors, strict=True) if not block
    ]
    assert [part for part, _ in table] == [0, 5, 6, 7, 2, 3, 4, 1]
    assert [1 / factor for _, factor in table] == pytest.approx([24, 12, 8, 6, 4, 3, 2, 1])


def test_another_block_shows_itself_alone_and_needs_its_columns_by_what_it_holds():
    row = Dense(np.array([[1, 0]]))
    other = QueryBlock(name="other", factors=tuple(Factor(axes=(axis,), sizes=(2,), matrix=row) for axis in (0, 1)))
    parts = MarginalParts.of((other, *marginals(1, (2, 2))), (other,), [0.25])
    assert [part for block, part in zip(parts.measured.blocks, parts.measured.parts, strict=True) if block == 0] == [1]
    assert dict(zip(parts.asked.parts.tolist(), parts.asked.factors.tolist(), strict=True)) == {
        0: 0.25,
        2: 0.25,
        3: 0.25,
        1: 1.0,
    }
    assert parts.own.tolist() == [1]
