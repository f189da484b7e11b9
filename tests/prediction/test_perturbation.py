"""What a price buys of a perturbed objective: never more than it pays for, and corners as wide as that asks for."""

from fractions import Fraction

import pytest
from support.cases import in_one_test, thinned

from dpqr.kernel.accountants.analytic import Analytic
from dpqr.kernel.accountants.losses import log_above, pure_epsilon
from dpqr.prediction.learners.losses import ExactPinball, Hinge, Logistic, Pinball, TaperedCorner
from dpqr.prediction.learners.solver import FEATURE_NORM
from dpqr.prediction.perturbation import CLOSING, Perturbation, round_corner, round_corner_logistic


def figures(changes=1, **given):
    usual = {"width": 100, "gradient": Fraction(changes), "units": 1, "loss": Logistic(), "reach": 10}
    return Perturbation(**{**usual, "changes": changes, **given})


@in_one_test("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_what_a_price_buys_costs_the_price(epsilon):
    event = figures().event(epsilon)
    assert pure_epsilon(event) == epsilon
    assert event.closing == CLOSING * epsilon
    known = figures(moments=(0.5, 0.1), records=1000)
    assert known.spread(event) < figures().spread(event)


@pytest.mark.slow
@in_one_test("changes", [1, 2, 6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(8)])
def test_what_a_price_buys_of_a_normal_pull_costs_the_price(epsilon, changes):
    given = figures(changes, delta=Fraction(1, 10**6))
    event = given.gaussian_event(epsilon)
    assert 0 <= epsilon - Analytic().epsilon(((event, 1),), given.delta) <= epsilon / 10**6
    assert event.closing == CLOSING * epsilon
    balanced = max(10 * given.deviation(event) * changes / 10, 0.25)
    assert float(given.strength(event)) == pytest.approx(balanced, rel=0.3)


@pytest.mark.slow
def test_a_normal_pull_needs_a_delta_and_few_records_of_a_person():
    delta = Fraction(1, 10**6)
    assert [figures(changes, delta=delta).normal for changes in (1, 16, 17)] == [True, True, False]
    assert not figures().normal
    assert figures(16, delta=delta).gaussian_event(Fraction(1, 10**5)) is None


@pytest.mark.slow
@in_one_test("epsilon", [Fraction(1, 10), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Pinball(tau=Fraction(9, 10))])
def test_the_determinant_has_a_quarter_of_epsilon_at_most(loss, epsilon):
    """Whatever the loss, the width and the persons' rows, by either pull."""
    given = figures(6, width=1, units=3, loss=loss, gradient=6 * loss.lipschitz, delta=Fraction(1, 10**6))
    for event, number in ((given.event(epsilon), 3), (given.gaussian_event(epsilon), 6)):
        assert number * log_above(event.curvature) <= epsilon * Fraction(21, 80)
        assert given.strength(event) * event.curvature == loss.smoothness * FEATURE_NORM**2
    assert pure_epsilon(given.event(epsilon)) == epsilon
    assert Analytic().epsilon(((given.gaussian_event(epsilon), 1),), given.delta) <= epsilon


def test_an_opposite_slope_costs_more_than_none_and_less_than_a_second_record():
    price, delta = Fraction(1), Fraction(1, 10**6)
    median, most, one = (
        figures(loss=loss, delta=delta).gaussian_event(price).variance
        for loss in (Pinball(), Pinball(tau=Fraction(99, 100)), Hinge(width=Fraction(1, 32)))
    )
    assert one <= most < 1.01 * one < median < 1.1 * one


def test_a_corner_is_rounded_more_widely_where_records_are_few_and_epsilon_is_small():
    widths = [
        round_corner(Hinge(), 10, n, epsilon).width for n, epsilon in ((10**7, 1), (10**4, 1), (10**4, Fraction(1, 10)))
    ]
    assert widths == [Fraction(1, 8), Fraction(47, 100), 1]
    assert round_corner(Hinge(), 10, None, Fraction(1)).width == Fraction(47, 100)
    assert round_corner(Logistic(), 10, 100, Fraction(1)) == Logistic()
    assert round_corner(Pinball(tau=Fraction(3, 4)), 2, 10**4, Fraction(1)).tau == Fraction(3, 4)


def test_a_tapered_corner_follows_records_and_epsilon_too():
    widths = [
        round_corner_logistic(Pinball(), 1, n, epsilon).width
        for n, epsilon in ((10**9, 1), (10**4, 1), (10**4, Fraction(1, 10)))
    ]
    assert widths[0] == Fraction(1, 128) < widths[1] < widths[2] < Fraction(1, 4)
    assert round_corner_logistic(Logistic(), 1, 100, Fraction(1)) == Logistic()
    assert round_corner_logistic(Pinball(tau=Fraction(3, 4)), 2, 10**4, Fraction(1)).corner == ExactPinball(
        tau=Fraction(3, 4)
    )


@pytest.mark.parametrize("epsilon", thinned([Fraction(1, 100), Fraction(1), Fraction(8)], 3))
@pytest.mark.parametrize("delta", thinned([Fraction(1, 10), Fraction(1, 10**6)], 2))
@pytest.mark.parametrize("changes", [1, 2])
def test_a_tapered_loss_has_less_noise_at_the_same_price(epsilon, delta, changes):
    """The same by a parabola, of the same smoothness, pays for its curvature; so do neighbours of two records."""
    soft = TaperedCorner(corner=ExactPinball(), width=Fraction(1, 64))
    events = []
    for loss in (soft, Pinball(width=Fraction(1, 32))):
        given = figures(changes, loss=loss, delta=delta, gradient=changes * loss.lipschitz, reach=1)
        events.append(given.gaussian_event(epsilon))
        assert Analytic().epsilon(((events[-1], 1),), delta) <= epsilon
    assert [event.tapered for event in events] == [True, False]
    assert events[0].variance <= events[1].variance
    assert changes > 1 or delta > Fraction(1, 100) or events[0].variance < events[1].variance * Fraction(9, 10)
