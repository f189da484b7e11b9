from support.small_universes import marginal

from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import axis_groups, by_home, home

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
