"""Questions that are the same, and answers that follow from others."""

from fractions import Fraction

import numpy as np
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.domain.histogram import DenseHistogram
from dpqr.workload import related_blocks as stacking
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.related_blocks import all_answers, follows_from, same_rows, stack_blocks

SIZES = (2, 3, 4)


def factor(axis, *rows):
    matrix = Dense(np.array(rows, dtype=np.int64)) if rows else Factor.identity(axis, SIZES[axis]).matrix
    return Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=matrix)


def block(*factors, **more):
    return QueryBlock(name="any", factors=factors, **more)


def test_order_does_not_matter():
    known = block(factor(0), factor(1, (1, 0, 1)), factor(2))
    asked = block(factor(2), factor(0), factor(1, (1, 0, 1)))
    counts = np.arange(24).reshape(SIZES)
    rows = same_rows(asked, known)
    assert known.apply(counts)[rows].tolist() == asked.apply(counts.transpose(2, 0, 1)).tolist()
    assert same_rows(block(), block()).tolist() == [0]


@in_one_test(
    "other",
    [
        block(factor(0), factor(1)),
        block(factor(0), factor(1, (1, 1, 0))),
        block(factor(0), factor(1, (1, 0, 1)), scale=Fraction(2)),
        block(factor(0), factor(1, (1, 0, 1), (0, 1, 0))),
        block(factor(0), factor(1, (1, 0, 1)), rowwise=True),
        block(factor(0), factor(1, (1, 0, 1)), factor(2)),
    ],
)
def test_other_questions_are_others(other):
    assert same_rows(block(factor(0), factor(1, (1, 0, 1))), other) is None


def test_answers_follow_from_a_span():
    known = block(factor(0), factor(1, (1, 0, 1), (0, 1, 0)))
    assert follows_from(known, block(factor(0)))
    assert follows_from(known, block(factor(0, (1, 0)), factor(1, (1, 0, 1))))
    assert follows_from(known, block())
    assert not follows_from(known, block(factor(1)))
    assert not follows_from(known, block(factor(2)))
    assert follows_from(block(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3))), block(factor(1)))


# Stacked blocks answer what the blocks themselves do, in the same order.

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
        kinds = [(interval(0), interval(2)), (coefficients(1), interval(0)), (coefficients(2),), (interval(1),)]
        scale = Fraction(1, 1 + index % 3)
        blocks.insert(index % 5, QueryBlock(name=f"q{index}", factors=kinds[index % 4], scale=scale))
    return tuple(blocks)


def by_hand(blocks):
    return np.concatenate([block.answer(COUNTS) for block in blocks])


@in_one_test("entries", [2**22, 1])
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
