from itertools import chain, combinations

import numpy as np
from support.cases import in_one_test
from support.small_universes import marginal

from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import ColumnSets, axis_groups, by_home, home

SHAPE = (2, 3, 2, 4)


def test_groups_are_the_largest_sets_of_attributes() -> None:
    asked = [(1,), (2, 0), (0, 2), (3,), (0,)]
    blocks = [marginal(axes, SHAPE, name=f"q{index}") for index, axes in enumerate(asked)]
    assert axis_groups([*blocks, QueryBlock(name="total")]) == ((1,), (0, 2), (3,))
    assert axis_groups([QueryBlock(name="total")]) == ((),)


def test_a_block_is_at_home_in_the_smallest_group_that_holds_it() -> None:
    groups = ((0, 1, 2), (0, 2), (3,))
    assert home((2,), groups) == (0, 2)
    assert home((2, 1), groups) == (0, 1, 2)
    assert home((), groups) == (3,)
    assert home((1, 3), groups) is None


def test_blocks_are_grouped_by_their_homes() -> None:
    blocks = {axes: marginal(axes, SHAPE, name=f"{axes}") for axes in [(1,), (2, 0), (0, 2), (3, 2), (0,), (2,), ()]}
    assert by_home(blocks.values()) == {
        (1,): (blocks[1,], blocks[()]),
        (0, 2): (blocks[2, 0], blocks[0, 2], blocks[0,], blocks[2,]),
        (2, 3): (blocks[3, 2],),
    }
    assert by_home([]) == {}


@in_one_test("seed", range(5))
def test_sets_that_hold_columns_are_found_as_by_a_look_at_all_of_them(seed: int) -> None:
    every = [frozenset(some) for some in chain(*(combinations(range(5), size) for size in range(6)))]
    generator = np.random.default_rng(seed)
    chosen = [one for one in every if generator.random() < 0.2 * seed]
    sets = ColumnSets.of(chosen)
    for columns in every:
        assert sets.beyond(columns) == {one for one in chosen if columns < one}
        assert sets.hold(columns) == any(columns <= one for one in chosen)
