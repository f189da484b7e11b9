import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain, KnownTotal, PublicFacts, Region, connected_totals, record_bounds

CELLS = np.array([[True, False, False], [True, True, True]])
REGION = Region(text="r", axes=(1, 3), cells=CELLS)


def test_a_region_is_told_by_what_is_left_of_its_attributes():
    assert REGION.within((0, 1, 3)).axes == (1, 2)
    alone = REGION.within((0, 1))
    assert (alone.axes, alone.cells.tolist()) == ((1,), [False, True])
    assert REGION.within((3,)).cells.tolist() == [True, False, False]
    assert Region(text="r", axes=(1,), cells=np.array([True, False])).within((0,)) is None


def test_axes_stay_ascending_whatever_the_order_they_are_asked_in():
    turned = REGION.within((3, 1))
    assert turned.axes == (0, 1)
    assert turned.cells.tolist() == CELLS.T.tolist()


def test_a_total_needs_all_of_its_attributes():
    total = KnownTotal(region=REGION, count=7)
    assert total.within((1,)) is None
    assert total.within((1, 3)).count == 7


def test_facts_that_say_nothing_of_the_attributes_asked_about_are_named():
    part = Region(text="both", axes=(0, 1), cells=np.array([[True, False], [False, False]]))
    facts = PublicFacts(impossible=(part,), totals=(KnownTotal(region=REGION, count=3),), least=3)
    assert facts.silent((0, 1)) == ("r",)
    assert facts.silent((0,)) == ("both", "r")
    assert facts.axes == {(0, 1), (1, 3)}


def test_a_domain_keeps_what_its_columns_are_told():
    domain = Domain(
        tuple(Attribute(name=name, axis=Codes(size)) for name, size in zip("abcd", (2, 2, 2, 3), strict=True)),
        PublicFacts(impossible=(REGION,), least=5, most=5),
    )
    left = domain.project((3, 1))
    assert left.facts.axes == {(0, 1)}
    assert left.facts.records == 5
    assert not Domain(domain.attributes).facts
    assert domain.facts


SHAPE = (3, 2, 2)
EVERYBODY = Region(text="all", axes=(), cells=np.ones((), dtype=bool))


def on(axis, *codes):
    cells = np.zeros(SHAPE[axis], dtype=bool)
    cells[list(codes)] = True
    return Region(text="r", axes=(axis,), cells=cells)


def both(*axes):
    cells = np.zeros([SHAPE[axis] for axis in axes], dtype=bool)
    cells[0, 0] = True
    return Region(text="b", axes=axes, cells=cells)


def known(count, region):
    return KnownTotal(region=region, count=count)


@pytest.mark.parametrize(
    ("totals", "bounds"),
    [
        ([], (0, None)),
        ([known(4, on(0, 0))], (4, None)),
        ([known(4, on(0, 0)), known(5, on(0, 1, 2))], (9, 9)),
        ([known(4, on(0, 0, 1)), known(5, on(0, 1, 2))], (5, 9)),
        ([known(4, on(0, 0)), known(6, on(1, 0))], (6, None)),
        ([known(4, on(0, 0)), known(9, EVERYBODY)], (9, 9)),
        ([known(4, on(0, 0, 1, 2)), known(4, EVERYBODY)], (4, 4)),
        ([known(4, on(0, 0)), known(3, both(0, 1))], (4, None)),
        ([known(4, on(0, 0)), known(5, both(0, 1))], None),
        ([known(4, on(0, 0)), known(3, EVERYBODY)], None),
        ([known(4, EVERYBODY), known(5, EVERYBODY)], None),
        ([known(4, on(0, 0)), known(4, on(0, 1, 2)), known(9, on(1, 0))], None),
        ([known(2**36, on(0, 0)), known(2**36 - 1, both(0, 1))], (2**36, None)),
    ],
)
def test_what_totals_leave_for_the_number_of_records(totals, bounds):
    assert record_bounds([], totals, SHAPE) == bounds


def test_impossible_cells_hold_nobody():
    assert record_bounds([both(0, 1)], [known(1, both(0, 1))], SHAPE) is None
    assert record_bounds([on(0, 0)], [known(0, on(0, 0)), known(2, on(0, 1, 2))], SHAPE) == (2, 2)
    assert record_bounds([on(0, 1, 2)], [known(2, on(0, 0))], SHAPE) == (2, 2)


def test_only_totals_that_share_attributes_are_tied():
    parts = connected_totals([known(1, on(0, 0)), known(2, on(2, 0)), known(3, both(0, 1)), known(4, EVERYBODY)])
    assert {axes: len(totals) for axes, totals in parts.items()} == {(0, 1): 2, (2,): 1, (): 1}
