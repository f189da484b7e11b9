import math
from fractions import Fraction

import mpmath
import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.sums import ZeroConcentrated, largest_rho, total_rho, zcdp_to_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent

RHOS = [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(40)]
DELTAS = ["1e-30", "1e-9", "1e-3", "0.3"]


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def delta_of_order(order, rho, epsilon):
    """Canonne, Kamath and Steinke 2020, Corollary 13, as printed, before the infimum over the order."""
    scale = mpmath.exp((order - 1) * (order * rho - epsilon)) / (order - 1)
    return scale * (1 - 1 / order) ** order


def bisect(falling, low, high):
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


@pytest.mark.slow
@in_one_test("rho", RHOS)
@pytest.mark.parametrize("text", DELTAS)
def test_the_conversion_is_the_infimum_over_all_orders_rounded_up(rho, text):
    with mpmath.workdps(40):
        size, delta = real(rho), mpmath.mpf(text)
        found = real(zcdp_to_epsilon(rho, Fraction(text)))

        def best_for(log_excess):
            """The epsilon for which this order is the best one: where d/d order of log delta is 0."""
            order = 1 + mpmath.exp(log_excess)
            return order, (2 * order - 1) * size + mpmath.log(1 - 1 / order)

        def surplus(log_excess):
            order, epsilon = best_for(log_excess)
            return delta_of_order(order, size, epsilon) - delta

        exact = max(mpmath.mpf(0), best_for(bisect(surplus, mpmath.mpf(-50), mpmath.mpf(30)))[1])
        assert exact - mpmath.mpf("1e-30") <= found <= exact * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("3e-24")


@in_one_test("order", [1.01, 1.5, 2.0, 7.0, 300.0])
def test_the_inequality_behind_every_order(order):
    top = (1 - 1 / order) ** (order - 1) / order
    losses = [step / 1000 for step in range(20_000)]
    reached = max(max(0.0, 1 - math.exp(-loss)) * math.exp(-(order - 1) * loss) for loss in losses)
    assert reached <= top * (1 + 1e-12)
    assert reached >= top * 0.99


def test_extreme_figures_are_converted_too():
    assert zcdp_to_epsilon(Fraction(1, 10**6), Fraction(1, 2)) == 0
    assert 0 < zcdp_to_epsilon(Fraction(1, 10**22), Fraction(1, 10**30)) < Fraction(1, 10**9)
    assert zcdp_to_epsilon(Fraction(10**6), Fraction(1, 10**30)) > 10**6


def test_rhos_add_up_exactly():
    events = (
        (ExponentialEvent(epsilon=Fraction(1, 10)), 3),
        (PermuteAndFlipEvent(epsilon=Fraction(1, 10)), 2),
        (DiscreteLaplaceEvent(sensitivity=2, scale=Fraction(20)), 1),
        (DiscreteGaussianEvent(squared_sensitivity=2, variance=Fraction(7)), 5),
    )
    assert total_rho(events) == Fraction(3, 800) + Fraction(2, 200) + Fraction(1, 200) + Fraction(5, 7)


def test_one_to_four_gives_both_kinds_the_same_epsilon():
    portions = [Portion(share=Fraction(1), count=10), Portion(share=Fraction(4), count=10)]
    select, measure = ZeroConcentrated().cut(PrivacyBudget.parse("1", "1e-9"), portions)
    assert select.bounded_range == measure.pure


def test_the_largest_rho_is_handed_out_whole():
    budget = PrivacyBudget.parse("1", "1e-9")
    portions = [Portion(share=Fraction(2), count=3), Portion(share=Fraction(1, 3), count=9)]
    prices = ZeroConcentrated().cut(budget, portions)
    assert sum(price.rho * portion.count for price, portion in zip(prices, portions, strict=True)) == largest_rho(
        budget
    )


def test_a_plan_that_is_proved_is_admitted_though_it_passes_the_rounded_limit():
    budget = PrivacyBudget.parse("1", "1e-9")
    rho = largest_rho(budget) * (1 + Fraction(1, 2**40))
    assert zcdp_to_epsilon(rho, budget.delta) <= budget.epsilon
    event = DiscreteGaussianEvent(squared_sensitivity=1, variance=1 / (2 * rho))
    assert ZeroConcentrated().guard(budget, ((event, 1),)).charge(event) == 0


def test_a_guard_and_a_filter_admit_the_largest_rho_of_the_budget_once():
    budget = PrivacyBudget.parse("1", "1e-9")
    event = DiscreteGaussianEvent(squared_sensitivity=1, variance=1 / (2 * largest_rho(budget)))
    for guard in (ZeroConcentrated().guard(budget, ((event, 1),)), ZeroConcentrated().filter(budget)):
        assert guard.charge(event) == 0
        with pytest.raises(BudgetRefused):
            guard.charge(ExponentialEvent(epsilon=Fraction(1, 10**9)))
