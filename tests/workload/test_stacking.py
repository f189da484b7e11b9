"""Stacked blocks answer what the blocks themselves do, in the same order."""

from fractions import Fraction

import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.domain.histogram import DenseHistogram
from dpqr.workload import related_blocks as stacking
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.related_blocks import all_answers, stack_blocks

SHAPE = (5, 4, 3)
COUNTS = DenseHistogram(np.arange(60).reshape(SHAPE) ** 2 % 37)
GENERATOR = np.random.default_rng(3)


def interval(axis):
    start, stop = sorted(GENERATOR.choice(SHAPE[axis] + 1, 2, replace=False).tolist())
    return Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=Ranges(np.array([start]), np.array([stop]), SHAPE[axis]))


def coefficients(axis):
    row = GENERATOR.integers(-2, 3, (1, SHAPE[axis]))
    return Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=Dense(row))


def mixed(count):
    """Queries of four kinds in turn, blocks of many rows among them."""
    blocks = [marginal((1, 0), SHAPE), QueryBlock(name="total"), dense(GENERATOR.integers(0, 2, (3, 3)), SHAPE, (2,))]
    for index in range(count):
        kinds = [
            (interval(0), interval(2)),
            (coefficients(1), interval(0)),
            (coefficients(2),),
            (interval(1),),
        ]
        scale = Fraction(1, 1 + index % 3)
        blocks.insert(index % 5, QueryBlock(name=f"q{index}", factors=kinds[index % 4], scale=scale))
    return tuple(blocks)


def by_hand(blocks):
    return np.concatenate([block.answer(COUNTS) for block in blocks])


@pytest.mark.parametrize("entries", [2**22, 1])
def test_answers_are_those_of_the_blocks(entries, monkeypatch) -> None:
    monkeypatch.setattr(stacking, "DENSE_ENTRIES", entries)
    blocks = mixed(4 * stacking.FEWEST)
    np.testing.assert_array_equal(all_answers(blocks, lambda block: block.answer(COUNTS)), by_hand(blocks))
    arranged = stack_blocks(blocks)
    assert len(arranged.blocks) == 3 + 4
    assert sum(block.rows for block in arranged.blocks) == sum(block.rows for block in blocks)
    kinds = [{type(factor.matrix) for factor in block.factors} for block in arranged.blocks[3:]]
    assert sorted(map(len, kinds)) == [1, 1, 1, 2]
    assert {Ranges} in kinds
    assert ({Sparse} if entries == 1 else {Dense}) in kinds


def test_few_blocks_of_a_kind_are_left_alone() -> None:
    blocks = mixed(4 * (stacking.FEWEST - 1))
    assert stack_blocks(blocks).blocks is blocks
    assert stack_blocks(blocks).order is None
    np.testing.assert_array_equal(all_answers(blocks, lambda block: block.answer(COUNTS)), by_hand(blocks))
