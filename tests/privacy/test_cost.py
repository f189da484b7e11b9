from fractions import Fraction

import pytest

from dpqr.privacy.cost import NO_COST, Cost

ONE, TENTH = Fraction(1), Fraction(1, 10)


def test_costs_add_up_by_components():
    assert Cost(ONE, TENTH) + Cost(TENTH, ONE) == Cost(Fraction(11, 10), Fraction(11, 10))
    assert Cost(ONE, TENTH) - Cost(TENTH, TENTH) == Cost(Fraction(9, 10))
    assert Cost(ONE, TENTH).least(Cost(TENTH, ONE)) == Cost(TENTH, TENTH)


def test_one_cost_is_at_most_another_if_both_figures_are():
    assert Cost(TENTH, TENTH) <= Cost(ONE, TENTH)
    assert Cost(ONE, TENTH) >= Cost(TENTH, TENTH)
    for one, other in ((Cost(ONE, TENTH), Cost(TENTH, ONE)), (Cost(ONE, TENTH), Cost(ONE))):
        assert not one <= other
    assert not Cost(TENTH, ONE) <= Cost(ONE, TENTH)


def test_there_is_no_less_than():
    """Of two costs neither need be at most the other, so `asked > left` would let through what does not fit."""
    with pytest.raises(TypeError):
        assert Cost(ONE) < Cost(TENTH)
    with pytest.raises(TypeError):
        assert Cost(ONE) > 0


def test_a_bare_number_is_an_amount_without_a_delta():
    assert Cost(ONE) == 1 >= Cost(TENTH)
    assert Cost(ONE, TENTH) != 1
    assert not Cost(ONE, TENTH) <= 1
    assert hash(Cost(ONE)) == hash(1)
    assert Cost(ONE) != "1"
    assert not NO_COST
    assert Cost(delta=TENTH)
