"""Optimal and advanced composition, held against enumeration, printed formulas and another library."""

from fractions import Fraction
from itertools import product

import mpmath
import pytest
from scipy.stats import binom
from support.cases import in_one_test, thinned

from dpqr.kernel.accountants import fixed_schedules, numerics
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.fixed_schedules import (
    MOST_DRAWS,
    Optimal,
    advanced_epsilon,
    curve,
    optimal_epsilon,
    smallest,
)
from dpqr.kernel.budget import PrivacyBudget

MILLIONTH = Fraction(1, 10**6)


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def enumerated(draws, step, epsilon):
    """Hockey-stick divergence of k-fold randomised response, summed over all 2^k outputs one by one."""
    truth = mpmath.exp(real(step)) / (1 + mpmath.exp(real(step)))
    factor, delta = mpmath.exp(real(epsilon)), mpmath.mpf(0)
    for output in product((False, True), repeat=draws):
        lies = sum(output)
        here = truth ** (draws - lies) * (1 - truth) ** lies
        there = truth**lies * (1 - truth) ** (draws - lies)
        delta += max(mpmath.mpf(0), here - factor * there)
    return delta


def printed(draws, step, i):
    """delta_i as Theorem 3.3 prints it, at epsilon (k - 2i) step."""
    loss = real(step)
    terms = [
        mpmath.binomial(draws, lies) * (mpmath.exp((draws - lies) * loss) - mpmath.exp((draws - 2 * i + lies) * loss))
        for lies in range(i)
    ]
    return mpmath.fsum(terms) / (1 + mpmath.exp(loss)) ** draws


@in_one_test("draws", [1, 2, 3, 8])
@pytest.mark.parametrize("step", [Fraction(1, 10**8), Fraction(1, 100), Fraction(7, 10), Fraction(30)])
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(99, 100)])
def test_the_curve_is_that_of_randomised_response_rounded_up(draws, step, part):
    with mpmath.workdps(60):
        epsilon = part * draws * step
        exact, found = enumerated(draws, step, epsilon), real(curve(draws, step, epsilon))
        assert exact < found < exact * (1 + mpmath.mpf("2e-15")) + mpmath.mpf("2e-50")


@in_one_test("draws", [5, 6, 40])
def test_at_the_theorems_points_the_curve_is_its_delta(draws):
    step = Fraction(1, 5)
    with mpmath.workdps(60):
        for i in range(1, draws // 2 + 1):
            found = real(curve(draws, step, (draws - 2 * i) * step))
            assert abs(found / printed(draws, step, i) - 1) < mpmath.mpf("2e-15")


@in_one_test(
    ("draws", "step", "epsilon"),
    [
        (53_232, Fraction(79, 10**5), Fraction(1)),
        (53_232, Fraction(79, 10**5), Fraction(1, 100)),
        (100_000, Fraction(1, 100), Fraction(0)),
        (100_000, Fraction(1, 100), Fraction(20)),
        (100_001, Fraction(1, 10**6), Fraction(1, 1000)),
        (1000, Fraction(1), Fraction(500)),
        (1000, Fraction(1), Fraction(1)),
    ],
)
def test_many_draws_agree_with_binomial_tails(draws, step, epsilon):
    """delta = Pr[lies <= l | x] - e^eps Pr[lies <= l | x'], by another library's distribution functions."""
    truth = 1 / (1 + float(mpmath.exp(-real(step))))
    last = -((epsilon / step - draws) // 2) - 1
    there = binom.logcdf(last, draws, truth)
    expected = binom.cdf(last, draws, 1 - truth) - float(mpmath.exp(float(epsilon) + there))
    assert float(curve(draws, step, epsilon)) == pytest.approx(expected, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("draws", thinned([1, 2, 5, 6], 2))
@pytest.mark.parametrize("delta", thinned([Fraction(1, 10**12), MILLIONTH, Fraction(1, 10)], 3))
def test_the_smallest_epsilon_is_the_exact_one_rounded_up(draws, delta):
    step = Fraction(1, 2)
    with mpmath.workdps(40):
        low, high = Fraction(0), draws * step
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if enumerated(draws, step, middle) <= real(delta) else (middle, high)
        found = smallest(draws, step, delta)
        assert high * (1 - Fraction(1, 10**14)) <= found <= high * (1 + Fraction(1, 10**10))


def test_one_draw_gives_the_closed_form():
    """delta = (e^eps0 - e^eps) / (1 + e^eps0), solved for eps."""
    delta = Fraction(1, 100)
    exact = mpmath.log(mpmath.e - real(delta) * (1 + mpmath.e))
    assert float(optimal_epsilon(((Fraction(1), 1),), delta)) == pytest.approx(float(exact), rel=1e-10)
    assert optimal_epsilon(((Fraction(1, 10**6), 10),), Fraction(1, 10)) == 0
    assert optimal_epsilon(((Fraction(1, 2), 6),), Fraction(0)) == 3


def test_unequal_draws_are_priced_as_the_largest_or_by_advanced_composition():
    nearly_equal = ((Fraction(1, 100), 900), (Fraction(99, 10_000), 100))
    assert optimal_epsilon(nearly_equal, MILLIONTH) == smallest(1000, Fraction(1, 100), MILLIONTH)
    far_apart = ((Fraction(1, 2), 20), (Fraction(1, 1000), 1000))
    assert optimal_epsilon(far_apart, MILLIONTH) == advanced_epsilon(far_apart, MILLIONTH)
    assert optimal_epsilon(far_apart, MILLIONTH) < smallest(1020, Fraction(1, 2), MILLIONTH)


def test_events_that_cost_nothing_do_not_count_as_draws():
    paid = ((Fraction(1, 100), 900),)
    assert optimal_epsilon((*paid, (Fraction(0), 10**6)), MILLIONTH) == optimal_epsilon(paid, MILLIONTH)


@in_one_test("draws", [MOST_DRAWS + 1, 10**15])
def test_beyond_any_run_advanced_composition_answers_at_once(draws):
    budget = PrivacyBudget.parse("1", "1e-9")
    price = Optimal().cut(budget, [Portion(share=Fraction(1), count=draws)])[0]
    losses = ((price.pure, draws),)
    assert optimal_epsilon(losses, budget.delta) == advanced_epsilon(losses, budget.delta) <= 1
    assert advanced_epsilon(((price.pure * (1 + MILLIONTH), draws),), budget.delta) > 1


@pytest.mark.parametrize("draws", thinned([3, 40, 41, 999], 4))
def test_a_cut_to_the_last_digit_still_leaves_room_for_the_rounding_of_its_price(draws, monkeypatch):
    monkeypatch.setattr(numerics, "PRECISION", Fraction(1, 2**60))
    monkeypatch.setattr(fixed_schedules, "smallest", fixed_schedules.smallest.__wrapped__)  # nothing is kept
    budget = PrivacyBudget.parse("1", "1e-6")
    price = Optimal().cut(budget, [Portion(share=Fraction(1), count=draws)])[0]
    proved = optimal_epsilon(((price.pure, draws),), budget.delta)
    assert budget.epsilon * (1 - Fraction(1, 2**29)) < proved <= budget.epsilon


@in_one_test("draws", [1, 3, 8])
@pytest.mark.parametrize("short", [40, 45, 48])
def test_the_smallest_deltas_are_rounded_up_too(draws, short):
    """Just below the largest loss nearly all digits cancel."""
    step = Fraction(1, 2)
    with mpmath.workdps(150):
        epsilon = draws * step * (1 - Fraction(1, 10**short))
        exact, found = enumerated(draws, step, epsilon), real(curve(draws, step, epsilon))
        assert exact < found < exact + mpmath.mpf("2e-50") + exact * mpmath.mpf("1e-11")


# Advanced composition.


BILLIONTH = Fraction(1, 10**9)
CASES = [
    ((Fraction(1, 100), 1000),),
    ((Fraction(1, 1000), 10), (Fraction(1, 50), 4000)),
    ((Fraction(1, 2), 50), (Fraction(1), 50), (Fraction(3), 2)),
    ((Fraction(1, 10**7), 10**9),),
]


def formula(losses, delta):
    """Kairouz, Oh and Viswanath 2015, Theorem 3.5, third bound."""
    steps = [(mpmath.mpf(step.numerator) / step.denominator, count) for step, count in losses]
    drift = sum(count * step * mpmath.expm1(step) / (mpmath.exp(step) + 1) for step, count in steps)
    return drift + mpmath.sqrt(2 * mpmath.log(1 / delta) * sum(count * step**2 for step, count in steps))


def textbook(step, draws, delta):
    """Dwork, Rothblum and Vadhan 2010; Dwork and Roth 2014, Theorem 3.20, with pure draws."""
    return step * mpmath.sqrt(2 * draws * mpmath.log(1 / delta)) + draws * step * mpmath.expm1(step)


@in_one_test("losses", CASES)
@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "0.01"])
def test_it_is_the_formula_rounded_up(losses, delta):
    with mpmath.workdps(50):
        exact = formula(losses, mpmath.mpf(delta))
        found = advanced_epsilon(losses, Fraction(delta))
        got = mpmath.mpf(found.numerator) / found.denominator
        straight = sum(step * count for step, count in losses)
        assert found == straight or exact < got < exact + mpmath.mpf("3e-24")
        assert found <= straight


@pytest.mark.parametrize("draws", thinned([50, 1000, 10**5], 3))
@pytest.mark.parametrize("step", thinned([Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), Fraction(1)], 2))
def test_it_lies_between_the_exact_optimum_and_the_textbook(draws, step):
    delta = Fraction(1, 10**6)
    found = advanced_epsilon(((step, draws),), delta)
    assert optimal_epsilon(((step, draws),), delta) <= found
    assert float(found) <= float(textbook(float(step), draws, float(delta))) * (1 + 1e-12)


def test_the_mean_loss_of_tiny_and_of_huge_steps():
    for step in (Fraction(1, 10**20), Fraction(10**4)):
        with mpmath.workdps(80):
            size = mpmath.mpf(step.numerator) / step.denominator
            with numerics.sixty_digits():
                found = mpmath.mpf(str(fixed_schedules._mean_loss(numerics.decimal(step))))
            assert abs(found - size * mpmath.tanh(size / 2)) < mpmath.mpf("1e-50")


def test_unequal_draws_cost_less_than_if_all_were_the_largest():
    mixed = advanced_epsilon(((Fraction(1, 10), 500), (Fraction(1, 100), 500)), BILLIONTH)
    assert mixed < advanced_epsilon(((Fraction(1, 10), 1000),), BILLIONTH)
    assert mixed > advanced_epsilon(((Fraction(1, 10), 500),), BILLIONTH)
