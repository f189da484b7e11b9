from fractions import Fraction

import mpmath
import pytest

from dpqr.kernel.accountants import fixed_schedules as advanced
from dpqr.kernel.accountants.fixed_schedules import advanced_epsilon, optimal_epsilon

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


@pytest.mark.parametrize("losses", CASES, ids=str)
@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "0.01"])
def test_it_is_the_formula_rounded_up(losses, delta):
    with mpmath.workdps(50):
        exact = formula(losses, mpmath.mpf(delta))
        found = advanced_epsilon(losses, Fraction(delta))
        got = mpmath.mpf(found.numerator) / found.denominator
        straight = sum(step * count for step, count in losses)
        assert found == straight or exact < got < exact + mpmath.mpf("3e-24")
        assert found <= straight


@pytest.mark.parametrize("draws", [50, 1000, 10**5])
@pytest.mark.parametrize("step", [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), Fraction(1)])
def test_it_lies_between_the_exact_optimum_and_the_textbook(draws, step):
    delta = Fraction(1, 10**6)
    found = advanced_epsilon(((step, draws),), delta)
    assert optimal_epsilon(((step, draws),), delta) <= found
    assert float(found) <= float(textbook(float(step), draws, float(delta))) * (1 + 1e-12)


def test_the_mean_loss_of_tiny_and_of_huge_steps():
    for step in (Fraction(1, 10**20), Fraction(10**4)):
        with mpmath.workdps(80):
            size = mpmath.mpf(step.numerator) / step.denominator
            with advanced.sixty_digits():
                found = mpmath.mpf(str(advanced._mean_loss(advanced.decimal(step))))
            assert abs(found - size * mpmath.tanh(size / 2)) < mpmath.mpf("1e-50")


def test_unequal_draws_cost_less_than_if_all_were_the_largest():
    mixed = advanced_epsilon(((Fraction(1, 10), 500), (Fraction(1, 100), 500)), BILLIONTH)
    assert mixed < advanced_epsilon(((Fraction(1, 10), 1000),), BILLIONTH)
    assert mixed > advanced_epsilon(((Fraction(1, 10), 500),), BILLIONTH)
