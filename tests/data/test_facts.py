import numpy as np

from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.facts import KnownTotal, PublicFacts, Region

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
