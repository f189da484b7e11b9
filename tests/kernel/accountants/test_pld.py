"""The accountant of privacy loss distributions: what it covers, what it cuts, and what it costs beside others."""

import math
from fractions import Fraction
from importlib.util import find_spec

import pytest

from dpqr.kernel.accountants import loss_laws as loss_sums
from dpqr.kernel.accountants import pld
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.fixed_schedules import Advanced
from dpqr.kernel.accountants.known import ACCOUNTANTS, available
from dpqr.kernel.accountants.pld import PrivacyLossDistribution
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
)

BUDGET = PrivacyBudget.parse("1", "1e-6")
DELTA = BUDGET.delta
PLD = PrivacyLossDistribution()
pytestmark = pytest.mark.skipif(
    find_spec("dp_accounting") is None, reason="dp-accounting is not installed; it comes with dpqr[pld]"
)


def laplace(epsilon):
    return DiscreteLaplaceEvent(sensitivity=1, scale=1 / Fraction(epsilon))


def exponential(price):
    return ExponentialEvent(epsilon=price.bounded_range)


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    assert list(available()) == list(ACCOUNTANTS)
    assert PLD.refusal(BUDGET) is None
    monkeypatch.setattr(pld, "find_spec", lambda name: None)
    refusal = PLD.refusal(BUDGET)
    assert "pip install 'dpqr[pld]'" in refusal
    assert "\n" not in refusal
    with pytest.raises(InfeasiblePlan, match="dpqr\\[pld\\]"):
        PLD.cut(BUDGET, [Portion(share=Fraction(1), count=1)])
    with pytest.raises(BudgetRefused, match="dpqr\\[pld\\]"):
        PLD.guard(BUDGET, ((laplace(1), 1),))
    assert PLD.epsilon(((laplace(1), 1),), DELTA) is None
    assert list(available()) == [name for name in ACCOUNTANTS if name != "pld"]


def test_bounded_range_makes_selections_cheaper():
    drawn = [(kind(epsilon=Fraction(1, 200)), 100) for kind in (ExponentialEvent, PermuteAndFlipEvent)]
    ranged, pure = (PLD.epsilon((one, (laplace("0.005"), 100)), DELTA) for one in drawn)
    assert float(ranged) == pytest.approx(0.2192, abs=2e-4)
    assert float(pure) == pytest.approx(0.2723, abs=2e-4)


@pytest.mark.slow
def test_a_cut_knows_what_its_portions_are_recorded_as():
    plain, told = (
        PLD.cut(BUDGET, [Portion(share=Fraction(1), count=50, event=event), Portion(share=Fraction(1), count=50)])
        for event in (None, exponential)
    )
    assert told[0].pure > Fraction(11, 10) * plain[0].pure
    events = ((exponential(told[0]), 50), (laplace(told[1].pure), 50))
    assert Fraction(999, 1000) < PLD.epsilon(events, DELTA) <= 1


def test_the_order_of_the_events_does_not_matter_and_equal_ones_count_together():
    parts = [(laplace("0.02"), 30), (exponential_event("0.01"), 40), (laplace("0.02"), 10)]
    once = PLD.epsilon(tuple(parts), DELTA)
    assert PLD.epsilon(tuple(reversed(parts)), DELTA) == pytest.approx(once, rel=1e-9)
    assert PLD.epsilon((parts[1], (laplace("0.02"), 40)), DELTA) == pytest.approx(once, rel=1e-9)


def test_rounding_of_losses_does_not_add_up():
    """Draws of 0.0005 rounded up to multiples of its 10^-4, or 10^-3, gain that much each; here they gain nothing."""
    price = PLD.epsilon(((laplace("0.0005"), 2000),), DELTA)
    assert float(price) == pytest.approx(0.0801, abs=2e-4)


@pytest.mark.parametrize("events", [((laplace("0.000000001"), 1), (laplace(1), 60)), ((laplace("0.00001"), 10**6),)])
def test_where_no_grid_would_fit_advanced_composition_answers(events):
    assert PLD.epsilon(events, DELTA) == Advanced().epsilon(events, DELTA)


def test_one_integer_that_moves_is_cheaper_than_several():
    alone, together = (
        PLD.epsilon(((DiscreteLaplaceEvent(sensitivity=50, scale=Fraction(100), coordinates=moved), 60),), DELTA)
        for moved in (1, 2)
    )
    assert alone < Fraction(95, 100) * together


def test_the_guard_tells_one_integer_from_several():
    """At the same epsilon a draw of several is dearer, so it may not stand in for the planned one; the other way round
    it may."""
    one, several = (DiscreteLaplaceEvent(sensitivity=50, scale=Fraction(500), coordinates=moved) for moved in (1, None))
    guard = PLD.guard(BUDGET, ((one, 1), (several, 1)))
    guard.charge(several)
    with pytest.raises(BudgetRefused, match="lacks"):
        guard.charge(several)
    guard.charge(one)
    guard = PLD.guard(BUDGET, ((several, 1),))
    assert guard.charge(one) == 0


def exponential_event(epsilon):
    return ExponentialEvent(epsilon=Fraction(epsilon))


@pytest.mark.parametrize("parts", [((1, 10**6),), ((1, 1), (10**9, 60))], ids=["too many", "too unequal"])
def test_a_cut_where_no_grid_would_fit_is_that_of_advanced_composition(parts):
    portions = [Portion(share=Fraction(share), count=count) for share, count in parts]
    assert PLD.cut(BUDGET, portions) == Advanced().cut(BUDGET, portions)


def gaussian(squared_mu):
    return RoundedGaussianEvent(squared_sensitivity=1, variance=1 / Fraction(squared_mu))


@pytest.mark.parametrize("choice", [ExponentialEvent, PermuteAndFlipEvent])
def test_gaussian_rounds_cost_less_than_under_the_sums(choice):
    events = ((gaussian("0.0025"), 22), (choice(epsilon=Fraction(1, 20)), 22))
    others = [ACCOUNTANTS[name].epsilon(events, DELTA) for name in ("gdp", "zcdp")]
    assert PLD.epsilon(events, DELTA) < Fraction(96, 100) * min(others)


def test_gaussian_noise_alone_has_its_exact_curve():
    events = ((gaussian("0.0025"), 22), (gaussian("0.01"), 3))
    assert PLD.epsilon(events, DELTA) == ACCOUNTANTS["gdp"].epsilon(events, DELTA)


def test_choices_and_normal_noise_cost_as_much_by_sums_of_losses_but_for_the_adaptive_ranges():
    """The worst range of each choice by itself, and a cost of permute-and-flip, are above that of adaptive ranges."""
    noise = (gaussian("0.0025"), 22)
    ranged, two, pure = (
        PLD.epsilon((noise, *choices), DELTA)
        for choices in (
            [(exponential_event("0.05"), 22)],
            [(exponential_event("0.05"), 21), (exponential_event("0.04999"), 1)],
            [(PermuteAndFlipEvent(epsilon=Fraction(1, 20)), 22)],
        )
    )
    assert float(ranged) == pytest.approx(1.1195, abs=1e-3)
    assert ranged < two < pure < Fraction(13, 10) * ranged


@pytest.mark.parametrize(
    "event", [DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9)), MuSumEvent(squared_mu=Fraction(1, 9))]
)
def test_discrete_gaussian_noise_and_sums_under_a_filter_have_no_price(event):
    assert PLD.epsilon(((event, 1), (exponential_event("0.05"), 22)), DELTA) is None


@pytest.mark.slow
@pytest.mark.parametrize("told", [exponential, None])
def test_a_cut_in_squared_mu_buys_gaussian_noise(told):
    """A draw that states no event may be any of that mu; a choice of that mu is bounded in range, which costs less."""
    portions = [Portion(share=Fraction(1), count=22, event=told), Portion(share=Fraction(4), count=22)]
    select, measure = PrivacyLossDistribution(concentrated=True).cut(BUDGET, portions)
    cruder = ACCOUNTANTS["gdp"].cut(BUDGET, portions)[1]
    assert measure.squared_mu == 4 * select.squared_mu
    assert measure.squared_mu / cruder.squared_mu == pytest.approx(1.0745 if told else 1, abs=2e-3)
    events = ((exponential(select), 22), (gaussian(measure.squared_mu), 22))
    assert PLD.epsilon(events, DELTA) <= 1
    assert PLD.guard(BUDGET, events).charge(gaussian(measure.squared_mu / 2)) == 0


@pytest.mark.slow
def test_a_cut_for_choices_alone_is_found_though_their_curve_ends_in_nothing():
    portions = [Portion(share=Fraction(1), count=3, event=exponential)]
    (select,) = PrivacyLossDistribution(concentrated=True).cut(BUDGET, portions)
    assert PLD.epsilon(((exponential(select), 3),), DELTA) <= 1


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_one_choice_has_nearly_its_own_curve(epsilon):
    """(e^(eps/2) - e^(a/2))^2 / (e^eps - 1) at a, from above."""
    delta = 1e-3
    ratio = math.exp(float(epsilon) / 2) - math.sqrt(delta * math.expm1(float(epsilon)))
    found = PrivacyLossDistribution().epsilon(((ExponentialEvent(epsilon=Fraction(epsilon)), 1),), Fraction(1, 1000))
    assert 2 * math.log(ratio) <= found <= 2 * math.log(ratio) * 1.0005


def test_what_has_no_room_on_the_finer_grid_is_computed_on_the_other_one(monkeypatch):
    events = ((ExponentialEvent(epsilon=Fraction(1, 10)), 20), (laplace("0.1"), 1))
    monkeypatch.setattr(pld, "_below", pld._below.__wrapped__)  # nothing is kept
    finer = PrivacyLossDistribution().epsilon(events, Fraction(1, 10**6))
    monkeypatch.setattr(loss_sums, "MOST_CELLS", 2000)
    coarse = PrivacyLossDistribution().epsilon(events, Fraction(1, 10**6))
    assert finer < coarse < finer * Fraction(101, 100)
