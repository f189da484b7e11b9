import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from support.cases import in_one_test, slow_but

from dpqr.kernel.accountants.accountant import PlanFilter, Portion
from dpqr.kernel.accountants.analytic import (
    Analytic,
    curve,
    free_curvature,
    most_rho,
    smallest,
    sum_curves,
    tapered_price,
)
from dpqr.kernel.accountants.numerics import LEVELS, SPLIT, _mills, sixty_digits, upper_tail
from dpqr.kernel.accountants.sums import ZeroConcentrated, largest_rho, zcdp_to_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    GaussianObjectiveEvent,
    RoundedGaussianEvent,
)
from dpqr.kernel.values import replace

MILLIONTH = Fraction(1, 10**6)
BUDGETS = [("1", "1e-6"), ("0.1", "1e-6"), ("10", "1e-9"), ("1e-9", "1e-30"), ("1000", "1e-30"), ("1", "0.5")]


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def printed(rho, epsilon):
    """Balle and Wang's delta, to 100 digits."""
    mu, loss = mpmath.sqrt(2 * real(rho)), real(epsilon)
    return mpmath.ncdf(mu / 2 - loss / mu) - mpmath.exp(loss) * mpmath.ncdf(-mu / 2 - loss / mu)


def rounded(rho, **changed):
    return replace(RoundedGaussianEvent(squared_sensitivity=2, variance=1 / Fraction(rho)), **changed)


@in_one_test("epsilon", ["0", "1e-9", "0.1", "1", "3", "40", "1000"])
@pytest.mark.parametrize("rho", ["1e-9", "0.001", "0.0281", "1", "30", "1200"])
def test_the_curve_is_the_printed_one_rounded_up(rho, epsilon):
    with mpmath.workdps(700):
        rho, epsilon = Fraction(rho), Fraction(epsilon)
        exact, found = printed(rho, epsilon), real(curve(rho, epsilon))
        near = epsilon / Fraction(math.sqrt(2 * rho)) - Fraction(math.sqrt(rho / 2))
        assert (
            exact
            < found
            <= exact
            + mpmath.mpf("1.1e-35") * mpmath.ncdf(-real(near)) * (1 + mpmath.mpf("1e-6"))
            + mpmath.mpf("1e-300")
        )


def test_nothing_is_claimed_where_digits_would_not_suffice():
    assert curve(Fraction(1, 10**40), Fraction(1)) == curve(Fraction(10**20), Fraction(1)) == 1
    assert 0 < curve(Fraction(1, 10**12), Fraction(1)) < Fraction(1, 10**299)


@pytest.mark.parametrize(("epsilon", "delta"), slow_but({0, 3}, BUDGETS))
def test_the_price_lies_between_the_optimum_and_that_of_rho(epsilon, delta):
    """Bisection of the printed curve, and zero-concentrated privacy."""
    budget = PrivacyBudget.parse(epsilon, delta)
    for rho in (largest_rho(budget) / 7, largest_rho(budget)):
        found = smallest(rho, budget.delta)
        with mpmath.workdps(100):
            assert printed(rho, found) <= real(budget.delta)
            assert found == 0 or printed(rho, found * (1 - Fraction(1, 2**34))) > real(budget.delta)
        assert found < zcdp_to_epsilon(rho, budget.delta) or found == 0
        assert Analytic().epsilon(((rounded(rho), 1),), budget.delta) == found


def test_far_out_the_price_is_that_of_rho():
    for rho in (Fraction(1, 10**80), Fraction(10**20)):
        assert 0 <= smallest(rho, MILLIONTH) <= zcdp_to_epsilon(rho, MILLIONTH)


def test_the_noise_at_one_and_a_millionth_is_that_of_the_analytic_mechanism():
    """4.2247 times the sensitivity, where zero-concentrated privacy asks for 4.5309."""
    (price,) = Analytic().cut(PrivacyBudget.parse("1", "1e-6"), [gaussian_portion()])
    assert float(1 / (2 * price.rho)) ** 0.5 == pytest.approx(4.22468, abs=1e-5)
    (price,) = ZeroConcentrated().cut(PrivacyBudget.parse("1", "1e-6"), [gaussian_portion()])
    assert float(1 / (2 * price.rho)) ** 0.5 == pytest.approx(4.53088, abs=1e-5)


def gaussian_portion(share=1, count=1):
    return Portion(share=Fraction(share), count=count, event=lambda price: rounded(price.concentrated))


@pytest.mark.parametrize(("epsilon", "delta"), slow_but({0, 3}, BUDGETS))
def test_what_was_cut_stays_within_the_budget_and_nearly_fills_it(epsilon, delta):
    """Gaussian noise of two sizes beside a count and a choice."""
    budget = PrivacyBudget.parse(epsilon, delta)
    choice = Portion(share=Fraction(1), count=2, event=lambda price: ExponentialEvent(epsilon=price.bounded_range))
    portions = [gaussian_portion(6, 3), Portion(share=Fraction(2), count=1), choice, gaussian_portion(1)]
    prices = Analytic().cut(budget, portions)
    assert [price.rho is None for price in prices] == [False, True, True, False]
    assert prices[0].rho == 6 * prices[3].rho
    assert prices[1].epsilon == 2 * prices[2].epsilon == budget.epsilon * 2 / 23

    def plan(stretch):
        return (
            (rounded(prices[0].rho * stretch), 3),
            (DiscreteLaplaceEvent(sensitivity=1, scale=1 / prices[1].epsilon), 1),
            (ExponentialEvent(epsilon=prices[2].epsilon), 2),
            (rounded(prices[3].rho * stretch), 1),
        )

    assert Analytic().epsilon(plan(1), budget.delta) <= budget.epsilon
    assert Analytic().epsilon(plan(1 + MILLIONTH), budget.delta) > budget.epsilon
    guard = Analytic().guard(budget, plan(1))
    draws = [event for event, count in plan(1) for _ in range(count)]
    assert [guard.charge(event) for event in draws] == list(range(7))
    with pytest.raises(BudgetRefused, match="asks rho"):
        guard.charge(draws[0])


def test_many_draws_are_one_of_their_summed_squares():
    many = ((rounded("0.001"), 20), (rounded("0.01"), 1))
    assert Analytic().epsilon(many, MILLIONTH) == Analytic().epsilon(((rounded("0.03"), 1),), MILLIONTH)


def test_at_delta_zero_and_for_other_gaussian_noise_it_has_no_price():
    discrete = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(10**9))
    assert Analytic().epsilon(((rounded(1), 1),), Fraction(0)) is None
    assert Analytic().epsilon(((discrete, 1),), MILLIONTH) is None
    assert Analytic().epsilon(((rounded(1), 1), (discrete, 1)), MILLIONTH) is None
    assert Analytic().epsilon(((rounded(1, squared_sensitivity=0), 5),), Fraction(0)) == 0


def test_a_cut_never_buys_less_than_rho_does():
    for epsilon, delta in BUDGETS:
        budget = PrivacyBudget.parse(epsilon, delta)
        assert most_rho(budget.epsilon, budget.delta) > largest_rho(budget)


PLACES = ("0", "1e-30", "1e-9", "0.3", "1", "2", "4.5", "5.9999", "6", "6.0001", "7.5", "12", "40", "1e3", "1e5")


@in_one_test("sign", [1, -1])
@pytest.mark.parametrize("place", PLACES)
def test_the_tail_within_a_relative_ten_to_the_minus_forty(place, sign):
    with sixty_digits(), mpmath.workdps(100):
        x = sign * Decimal(place)
        found, exact = mpmath.mpf(str(upper_tail(x))), mpmath.ncdf(-mpmath.mpf(str(x)))
        assert abs(found / exact - 1) < mpmath.mpf("1e-40")


def test_convergents_on_either_side_are_as_close_as_it_says():
    with sixty_digits():
        for place in (SPLIT, 7, 9, 20, 1000):
            x = Decimal(place)
            one, other = _mills(x, LEVELS - 1), _mills(x, LEVELS)
            assert abs(one / other - 1) < Decimal("1e-47")


def objective(**changed):
    usual = {"squared_sensitivity": 1, "variance": Fraction(9), "changes": 1, "closing": Fraction(1, 64)}
    return GaussianObjectiveEvent(**{**usual, "curvature": Fraction(1, 9), **changed})


def test_the_curves_of_all_sets_of_records_add_up():
    """Three sets of one record, three of two, one of three."""
    rho, epsilon = Fraction(1, 50), Fraction(1, 2)
    parts = [times * curve(size**2 * rho, epsilon) for size, times in ((1, 3), (2, 3), (3, 1))]
    assert sum_curves(rho, epsilon, 3) == sum(parts)
    assert sum_curves(rho, epsilon, 1) == curve(rho, epsilon)
    found = smallest(rho, MILLIONTH, 3)
    assert sum_curves(rho, found, 3) <= MILLIONTH < sum_curves(rho, found * (1 - Fraction(1, 2**30)), 3)


def test_the_curves_of_both_ends_add_up():
    """Two records: both at the full end, one (two ways), none."""
    rho, epsilon, opposite = Fraction(1, 50), Fraction(1, 2), Fraction(1, 4)
    ends = ((1, 2), (2, Fraction(5, 4)), (1, Fraction(1, 2)))
    assert sum_curves(rho, epsilon, 2, opposite) == sum(times * curve(mu**2 * rho, epsilon) for times, mu in ends)
    assert sum_curves(rho, epsilon, 1, Fraction(1)) == 2 * curve(rho, epsilon)
    found = smallest(rho, MILLIONTH, 2, opposite)
    assert (
        sum_curves(rho, found, 2, opposite)
        <= MILLIONTH
        < sum_curves(rho, found * (1 - Fraction(1, 2**30)), 2, opposite)
    )


def test_a_perturbed_objective_has_a_price_alone_or_beside_pure_draws():
    choice = ExponentialEvent(epsilon=Fraction(1, 10))
    alone = Analytic().epsilon(((objective(), 1),), MILLIONTH)
    assert Analytic().epsilon(((objective(), 1), (choice, 1)), MILLIONTH) == alone + Fraction(1, 10)
    assert Analytic().epsilon(((objective(), 2),), MILLIONTH) is None
    assert Analytic().epsilon(((objective(), 1), (rounded("0.01"), 1)), MILLIONTH) is None
    assert Analytic().epsilon(((objective(), 1), (objective(changes=2), 1)), MILLIONTH) is None
    assert Analytic().epsilon(((objective(), 1),), Fraction(0)) is None


def test_what_a_tapered_loss_pays_by_hand():
    """(1 + o) (epsilon - o rho) / 4 is free, o = 1/2; beyond it the largest of (1 - p) (4 c p - 4 f) is paid."""
    half, free = Fraction(1, 2), Fraction(45, 128)
    assert free_curvature(Fraction(1), Fraction(1, 8), half) == free
    assert free_curvature(Fraction(1, 100), Fraction(1, 8), Fraction(1)) == 0
    assert tapered_price(free, free) == 0
    curvature = 3 * free
    largest = max((1 - p) * 4 * (curvature * p - free) for p in (Fraction(each, 300) for each in range(301)))
    assert tapered_price(curvature, free) == largest


def test_a_perturbed_objective_takes_the_place_of_none_but_its_equal():
    """One of more noise is cheaper, and its curve need not lie below that of the planned one."""
    guard = PlanFilter(planned=((objective(), 1),))
    for cheaper in (objective(variance=Fraction(36)), objective(curvature=Fraction(1, 99))):
        with pytest.raises(BudgetRefused, match="asks rho"):
            guard.charge(cheaper)
    assert guard.charge(objective()) == 0
    with pytest.raises(BudgetRefused, match="asks rho"):
        guard.charge(objective())
