"""No theorem may claim less than the exact optimum, nor more than its textbook formula.

Optima: Kairouz, Oh and Viswanath for draws that are eps-DP; the law of summed losses for Laplace noise on one integer;
the analytic curve for Gaussian noise (Balle and Wang 2018, Theorem 8). All are computed here by other means than in the
product: sums of positive terms, direct convolution, and mpmath.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent

DELTAS = [Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**12)]
DRAWS = [(1, "1"), (3, "0.5"), (44, "0.05"), (200, "0.005"), (1000, "0.02"), (1000, "0.0005")]
TIGHT = 1.02


def smallest(delta_at, top, delta):
    """The epsilon where a falling curve reaches delta, from below: 0 where it is there at once."""
    low, high = 0.0, top
    if delta_at(low) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return low


def priced(name, events, delta):
    if name == "pld":
        pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")
    return float(ACCOUNTANTS[name].epsilon(events, delta))


def randomised_response(draws, step):
    """Law of the sum of losses: k - 2 i times the step."""
    lies = np.arange(draws + 1)
    ways = gammaln(draws + 1) - gammaln(lies + 1) - gammaln(draws - lies + 1)
    return (draws - 2 * lies) * step, np.exp(ways + (draws - lies) * step - draws * math.log1p(math.exp(step)))


def moved_integer(draws, shift, scale):
    """Law of the sum of losses of discrete Laplace noise on one integer that moves by `shift`."""
    decay = 1 / scale
    one = math.tanh(decay / 2) * np.exp(-np.arange(shift + 1) * decay)
    one[[0, -1]] /= -math.expm1(-decay)
    masses = np.ones(1)
    for _ in range(draws):
        masses = np.convolve(masses, one)
    return (draws * shift - 2 * np.arange(masses.size)) * decay, masses


def optimum(law, delta):
    losses, masses = law
    return smallest(
        lambda e: math.fsum(masses * -np.expm1(np.minimum(e - losses, 0.0))), float(losses.max()), float(delta)
    )


def textbook_advanced(draws, step, delta):
    """Dwork and Roth 2014, Theorem 3.20, or the sum."""
    bound = math.sqrt(2 * draws * math.log(1 / delta)) * step + draws * step * math.expm1(step)
    return min(bound, draws * step)


@pytest.mark.slow
@in_one_test("delta", DELTAS)
@pytest.mark.parametrize(("draws", "step"), DRAWS)
@pytest.mark.parametrize("kind", ["laplace", "permute-and-flip"])
def test_pure_draws(draws, step, delta, kind):
    epsilon = Fraction(step)
    event = (
        DiscreteLaplaceEvent(sensitivity=3, scale=3 / epsilon)
        if kind == "laplace"
        else PermuteAndFlipEvent(epsilon=epsilon)
    )
    best = optimum(randomised_response(draws, float(epsilon)), delta)
    ceiling = textbook_advanced(draws, float(epsilon), float(delta)) * (1 + 1e-9)
    for name in ("optimal", "pld"):
        found = priced(name, ((event, draws),), delta)
        assert best * (1 - 1e-9) <= found <= best * TIGHT + 1e-12
        assert found <= ceiling
    assert best * (1 - 1e-9) <= priced("advanced", ((event, draws),), delta) <= ceiling
    assert best <= priced("zcdp", ((event, draws),), delta)


@pytest.mark.slow
@in_one_test("delta", DELTAS)
@pytest.mark.parametrize(("draws", "shift", "scale"), [(1, 8, 4), (5, 3, 6), (20, 10, 60), (60, 25, 400)])
def test_laplace_noise_on_one_integer(draws, shift, scale, delta):
    event = DiscreteLaplaceEvent(sensitivity=shift, scale=Fraction(scale), coordinates=1)
    best = optimum(moved_integer(draws, shift, scale), delta)
    found = priced("pld", ((event, draws),), delta)
    assert best * (1 - 1e-9) <= found <= best * TIGHT + 1e-12
    assert found <= priced("optimal", ((event, draws),), delta) * (1 + 1e-6)
    assert found <= textbook_advanced(draws, shift / scale, float(delta)) * (1 + 1e-9)


@in_one_test("delta", DELTAS)
def test_a_mixture_of_selections_and_measurements(delta):
    """Optimum of the measurements alone, and of all draws as if they were any pure ones: between the two."""
    picked, measured = (
        (ExponentialEvent(epsilon=Fraction(1, 100)), 50),
        (PermuteAndFlipEvent(epsilon=Fraction(1, 50)), 50),
    )
    low = optimum(randomised_response(50, 0.02), delta)
    losses, masses = randomised_response(50, 0.02)
    more, others = randomised_response(50, 0.01)
    both = ((losses[:, None] + more[None, :]).ravel(), (masses[:, None] * others[None, :]).ravel())
    assert low < priced("pld", (picked, measured), delta) < optimum(both, delta)


@pytest.mark.slow
@in_one_test("delta", DELTAS)
@pytest.mark.parametrize(("draws", "squared", "variance"), [(1, 1, 20), (7, 2, 50), (100, 4, 10**6), (1000, 1, 300)])
def test_gaussian_noise(draws, squared, variance, delta):
    """The continuous law's curve; the discrete one has at most the same rho, which is all that is claimed for it."""
    event = DiscreteGaussianEvent(squared_sensitivity=squared, variance=Fraction(variance))
    rho = draws * squared / (2 * variance)
    best = analytic(math.sqrt(2 * rho), delta)
    textbook = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert best <= priced("zcdp", ((event, draws),), delta) <= textbook
    assert priced("zcdp", ((event, draws),), delta) <= best * 1.15 + 0.02


def analytic(mu, delta):
    """delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    with mpmath.workdps(40):

        def delta_at(epsilon):
            e = mpmath.mpf(epsilon)
            return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

        return smallest(delta_at, mu * mu / 2 + 20 * mu, mpmath.mpf(delta.numerator) / delta.denominator)


def test_a_price_below_the_optimum_would_be_seen():
    """The oracle has teeth: the price of 99 draws is below the optimum of 100."""
    draw = PermuteAndFlipEvent(epsilon=Fraction(1, 20))
    best = optimum(randomised_response(100, 0.05), DELTAS[1])
    assert priced("optimal", ((draw, 99),), DELTAS[1]) < best * (1 - 1e-3)


def test_the_package_by_itself_agrees():
    """dp-accounting's own chain, on a grid that fits, finds the same price to six digits."""
    distribution = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution",
        reason="dp-accounting is not installed; it comes with dpqr[pld]",
    )
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    one = distribution.from_privacy_parameters(DifferentialPrivacyParameters(0.05, 0), 0.005)
    theirs = one.self_compose(100).get_epsilon_for_delta(1e-6)
    ours = priced("pld", ((PermuteAndFlipEvent(epsilon=Fraction(1, 20)), 100),), DELTAS[1])
    assert ours == pytest.approx(theirs, rel=1e-6)


# The figures that the source's schedule is known to afford: T0 = 26,616 rounds at eps 1, delta 1e-9.


ROUNDS = 26_616
BUDGET = PrivacyBudget.parse("1", "1e-9")


def affordable(name):
    """The common eps0 of the exponential mechanism and of the Laplace check, 2 T0 draws in all."""
    accountant = ACCOUNTANTS[name]
    measured = Fraction(4) if accountant.concentrated else Fraction(1)
    portions = [Portion(share=Fraction(1), count=ROUNDS), Portion(share=measured, count=ROUNDS)]
    select, measure = accountant.cut(BUDGET, portions)
    assert abs(select.bounded_range / measure.pure - 1) < Fraction(1, 2**46)
    return float(min(select.bounded_range, measure.pure))


def textbook_epsilon(step):
    """Dwork, Rothblum and Vadhan's bound for 2 T0 draws: the oracle's "advanced"."""
    draws = 2 * ROUNDS
    return step * math.sqrt(2 * draws * math.log(1e9)) + draws * step * math.expm1(step)


def test_the_source_affords_what_it_is_known_to_afford():
    """Advanced is the textbook's figure but for its smaller drift; optimal lies between it and bounded range's."""
    basic, advanced, optimal, zcdp = map(affordable, ("basic", "advanced", "optimal", "zcdp"))
    assert basic == 1 / (2 * ROUNDS) == pytest.approx(1.9e-5, rel=0.02)
    assert textbook_epsilon(6.55e-4) < 1 < textbook_epsilon(6.65e-4)
    assert 6.6e-4 < advanced < 6.7e-4
    assert textbook_epsilon(advanced) > 1
    closed = 1 / (4 * math.sqrt(ROUNDS * math.log(1e9)))  # the formula of the source, which every theorem beats
    assert closed == pytest.approx(3.4e-4, rel=0.02)
    assert closed < advanced < optimal == pytest.approx(7.888e-4, rel=1e-3)
    assert optimal < zcdp == pytest.approx(9.5e-4, rel=0.005)
