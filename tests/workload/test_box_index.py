"""The index holds every query once, under what it compares, and refuses what it cannot hold."""

import numpy as np
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.domain.histogram import dense_marginal
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.box_index import box_index
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges, group_tables, with_totals

SHAPE = (3, 2, 4)


def boxes(axes, count, seed, shape=SHAPE, name=None):
    """Random boxes, row by row."""
    generator = np.random.default_rng(seed)
    factors = []
    for axis in axes:
        ends = np.sort(generator.integers(0, shape[axis] + 1, (2, count)), axis=0)
        factors.append(Factor(axes=(axis,), sizes=(shape[axis],), matrix=Ranges(ends[0], ends[1], shape[axis])))
    return QueryBlock(name=name or f"boxes{axes}", factors=tuple(factors), rowwise=True)


def singles(axes, count, seed):
    """As many blocks of one box each, which are stacked."""
    block = boxes(axes, count, seed)
    return tuple(block.row(index) for index in range(count))


PREFIX = QueryBlock(name="cdf", factors=(Factor(axes=(2,), sizes=(4,), matrix=Prefix(4)),))
TOTAL = QueryBlock(name="total")
ALONE = singles((1, 2), 40, 4)
BLOCKS = (*ALONE[:15], boxes((0, 2), 90, 1), PREFIX, *ALONE[15:], boxes((2, 0), 7, 2), TOTAL, boxes((0, 1, 2), 200, 3))
"""Blocks of one query stand among the others, so that stacking them changes the order."""


def test_every_query_is_held_once_with_its_own_comparisons() -> None:
    index = box_index(BLOCKS)
    assert index is not None
    assert index.queries == sum(block.rows for block in BLOCKS)
    assert sorted(np.concatenate([family.order for family in index.families])) == list(range(index.queries))
    table = np.random.default_rng(0).integers(-9, 9, SHAPE)
    answers = np.concatenate([block.apply(dense_marginal(table, block.axes)) for block in BLOCKS])
    for family in index.families:
        tables = group_tables(with_totals(table), family.cells, family.sizes).reshape(-1, *family.sizes)
        group, *picks = family.picks(np.arange(len(family.codes)))
        for place, number in enumerate(family.order.tolist()):
            ends = [
                (own[0][pick[place]], own[1][pick[place]]) for own, pick in zip(family.intervals, picks, strict=True)
            ]
            box = tables[(group[place], *(slice(*one) for one in ends))]
            assert int(box.sum()) == answers[number]


def test_nodes_part_the_queries_by_one_comparison_more_a_level() -> None:
    index = box_index(BLOCKS)
    assert index is not None
    for family in index.families:
        assert len(family.levels) == len(family.sizes) + 1
        assert family.levels[0].nodes == len(family.cells)
        for depth, level in enumerate(family.levels):
            assert level.first[0] == 0
            assert level.first[-1] == len(family.codes)
            picks = np.array(family.picks(np.arange(len(family.codes))))[: depth + 1]
            for node in range(level.nodes):
                own = picks[:, level.first[node] : level.first[node + 1]]
                assert own.shape[1] > 0
                assert (own == own[:, :1]).all()
                assert own[-1, 0] == level.kinds[node]
            if depth < len(family.sizes):
                below = family.levels[depth + 1]
                np.testing.assert_array_equal(below.first[level.down], level.first)
        assert level.down.size == 0


def test_all_marginals_come_from_one_table() -> None:
    table = np.random.default_rng(5).integers(-(2**50), 2**50, (3, 1, 4))
    index = box_index((boxes((2, 0), 50, 1, shape=(3, 1, 4)), boxes((1,), 5, 1, shape=(3, 1, 4))))
    assert index is not None
    assert index.axes == (0, 1, 2)
    for family, axes in zip(index.families, [(2, 0), (1,)], strict=True):
        found = group_tables(with_totals(table), family.cells, family.sizes)
        np.testing.assert_array_equal(found[0], dense_marginal(table, axes).reshape(-1))


@in_one_test(
    "blocks",
    [
        (boxes((0, 1, 2), 23, 1),),
        (*BLOCKS, dense([[1, 0, 1]], SHAPE, (0,))),
        (*BLOCKS, dense(np.ones((1, 6)), SHAPE, (0, 1))),
        (*BLOCKS, marginal((0, 1), SHAPE)),
        tuple(boxes((0, 1, 2), 1, seed, name=f"b{seed}") for seed in range(24)),
    ],
)
def test_what_is_not_worth_it_or_no_box_is_left_to_others(blocks) -> None:
    assert box_index(blocks) is None
