"""P31 to P38: the theorems of composition, against exact laws of draws together."""

from fractions import Fraction
from itertools import product

import pytest
from mpmath import binomial, exp, log, mpf, sqrt, tanh
from proofs.exact import (
    LEAST,
    exponential_law,
    gaussian_curve,
    hockey_stick,
    randomised_response,
    real,
    rho_to_epsilon,
    two_sided_geometric,
)
from support.cases import in_one_test, thinned

from dpqr.kernel.accountants.accountant import PlanFilter
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.fixed_schedules import Advanced, Optimal
from dpqr.kernel.accountants.pld import PrivacyLossDistribution
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Pricing
from dpqr.kernel.currency import PAIR
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, RoundedGaussianEvent

DELTA = Fraction(1, 10**4)


def together(pairs):
    """The law of all outcomes of independent draws, and the same on the neighbour."""
    laws = []
    for side in (0, 1):
        found = [mpf(1)]
        for pair in pairs:
            found = [share * p for share in found for p in pair[side]]
        laws.append(found)
    return laws


def smallest_epsilon(pairs, delta, most):
    """Of draws together at delta, by bisection on the exact curve."""
    laws = together(pairs)
    low, high = mpf(0), most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(*laws, exp(middle)) <= delta else (middle, high)
    return high


def test_p31_epsilons_add_up_exactly():
    draws = ((ExponentialEvent(epsilon=Fraction(1, 3)), 2), (PermuteAndFlipEvent(epsilon=Fraction(1, 5)), 3))
    pairs = [randomised_response(exp(mpf(1) / 3))] * 2 + [randomised_response(exp(mpf(1) / 5))] * 3
    stated = Basic().epsilon(draws, Fraction(0))
    assert stated == Fraction(2, 3) + Fraction(3, 5)
    assert abs(log(max(p / q for p, q in zip(*together(pairs), strict=True))) - real(stated)) <= LEAST


@pytest.mark.parametrize("epsilon", thinned([Fraction(1, 10), Fraction(1)], 2))
@pytest.mark.parametrize("count", thinned([1, 4, 8], 3))
def test_p32_p33_no_equal_draws_lose_more_and_optimal_is_the_exact_figure(epsilon, count):
    draws = ((PermuteAndFlipEvent(epsilon=epsilon), count),)
    true = smallest_epsilon([randomised_response(exp(real(epsilon)))] * count, real(DELTA), count * real(epsilon))
    optimal, advanced = (real(one.epsilon(draws, DELTA)) for one in (Optimal(), Advanced()))
    assert true - LEAST <= optimal <= true * (1 + mpf(10) ** -8)
    step = real(epsilon)
    formula = count * step * tanh(step / 2) + step * sqrt(2 * log(1 / real(DELTA)) * count)
    assert true - LEAST <= advanced
    assert min(formula, count * step) - LEAST <= advanced <= min(formula, count * step) * (1 + mpf(10) ** -8)


@in_one_test("count", [150, 400])
def test_p32_p33_many_small_draws_by_the_binomial_law_of_their_losses(count):
    """k randomised responses of epsilon 1/10: l of them have the loss -1/10."""
    step, draws = mpf(1) / 10, ((PermuteAndFlipEvent(epsilon=Fraction(1, 10)), count),)

    def curve(epsilon):
        shares = (binomial(count, lost) * exp((count - lost) * step) for lost in range(count + 1))
        falls = (1 - exp(epsilon - (count - 2 * lost) * step) for lost in range(count + 1))
        return sum(share * max(0, fall) for share, fall in zip(shares, falls, strict=True)) / (1 + exp(step)) ** count

    optimal, advanced = (real(one.epsilon(draws, DELTA)) for one in (Optimal(), Advanced()))
    assert curve(optimal) <= real(DELTA) < curve(optimal * (1 - mpf(10) ** -8))
    formula = count * step * tanh(step / 2) + step * sqrt(2 * log(1 / real(DELTA)) * count)
    assert optimal <= formula <= advanced <= formula * (1 + mpf(10) ** -8)


def test_p32_unequal_draws_lose_no_more_than_advanced_composition_states():
    epsilons = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), Fraction(1, 10))
    draws = tuple((PermuteAndFlipEvent(epsilon=epsilon), 1) for epsilon in epsilons)
    pairs = [randomised_response(exp(real(epsilon))) for epsilon in epsilons]
    assert smallest_epsilon(pairs, real(DELTA), mpf(2)) <= Advanced().epsilon(draws, DELTA)


@in_one_test("rho", [Fraction(1, 200), Fraction(1, 2), Fraction(20)])
def test_p34_rhos_add_up_and_convert_as_the_best_order_does(rho):
    draws = (
        (ExponentialEvent(epsilon=Fraction(1)), 4),
        (RoundedGaussianEvent(squared_sensitivity=1, variance=1 / rho), 1),
    )
    whole = real(4 * Fraction(1, 8) + rho / 2)
    stated = real(ZeroConcentrated().epsilon(draws, DELTA))
    assert abs(stated - rho_to_epsilon(whole, real(DELTA))) <= mpf(10) ** -8 * stated
    # What any draws of that rho may lose is above the curve of normal noise of the same rho.
    assert gaussian_curve(sqrt(2 * whole), stated) <= real(DELTA)


def test_p35_squares_of_mu_add_up_and_no_draw_of_bounded_range_exceeds_its_curve():
    epsilon, squared = Fraction(1), Fraction(1, 16)
    draws = (
        (ExponentialEvent(epsilon=epsilon), 2),
        (RoundedGaussianEvent(squared_sensitivity=1, variance=1 / squared), 1),
    )
    stated = real(GaussianDP().epsilon(draws, DELTA))
    pair = exponential_law((0, 2), Fraction(1, 2)), exponential_law((1, 1), Fraction(1, 2))
    laws = together([pair, pair])
    # Normal noise beside a finite pair: each outcome of the pair shifts the loss of the noise.
    mu = sqrt(real(squared))
    lost = mpf(0)
    for p, q in zip(*laws, strict=True):
        ratio = stated - log(p / q)
        lost += p * gaussian_curve(mu, ratio)
    assert lost <= real(DELTA)


@pytest.mark.parametrize("scale", [Fraction(2), pytest.param(Fraction(5), marks=pytest.mark.slow)])
def test_p36_losses_of_laplace_noise_and_choices_are_those_of_their_laws(scale):
    """Two draws of noise on one integer that moves by 2, and one choice: the exact curve of some neighbours is below
    the stated one, and the stated one within 2% of randomised response in place of the choice."""
    noise = two_sided_geometric(scale, 40)
    shared = [k for k in noise if k - 2 in noise]
    # Places with one loss are one outcome.
    pair = ([], [])
    grouped = {}
    for k in shared:
        key = abs(k) - abs(k - 2)
        one, other = grouped.get(key, (mpf(0), mpf(0)))
        grouped[key] = (one + noise[k], other + noise[k - 2])
    for one, other in grouped.values():
        pair[0].append(one)
        pair[1].append(other)
    choices = [
        (exponential_law((0, gap), Fraction(1, 4)), exponential_law((1, gap - 1), Fraction(1, 4)))
        for gap in (2, -4, -8)
    ]
    draws = (
        (DiscreteLaplaceEvent(sensitivity=2, scale=scale, coordinates=1), 2),
        (ExponentialEvent(epsilon=Fraction(1, 2)), 1),
    )
    stated = real(PrivacyLossDistribution().epsilon(draws, DELTA))
    true = max(smallest_epsilon([pair, pair, choice], real(DELTA), mpf(4)) for choice in choices)
    above = smallest_epsilon([pair, pair, randomised_response(exp(mpf(1) / 2))], real(DELTA), mpf(4))
    assert true <= stated <= above * mpf("1.001")


def test_p37_a_plan_admits_each_draw_once_and_cheaper_ones_in_its_place():
    """Exhaustive: every sequence of three charges of three prices against every plan of two."""
    prices = (Fraction(1, 4), Fraction(1, 2), Fraction(1))
    for planned in product(prices, repeat=2):
        for asked in product(prices, repeat=3):
            guard, admitted = PlanFilter(planned=tuple((ExponentialEvent(epsilon=one), 1) for one in planned)), []
            for one in asked:
                try:
                    guard.charge(ExponentialEvent(epsilon=one))
                    admitted.append(one)
                except BudgetRefused:
                    pass
            # Paired off with planned draws that cost at least as much: sorted, each is covered by its like.
            covered = zip(sorted(admitted, reverse=True), sorted(planned, reverse=True), strict=False)
            assert len(admitted) <= 2
            assert all(one <= other for one, other in covered)


def test_p38_pairs_add_up_over_mechanisms_that_are_asked_by_turns():
    """Two mechanisms of two messages each, each (log 3, 1/10)-DP, asked alternately, each question the answers so far:
    exact, over every strategy of an adversary who picks one of two bits to ask for."""
    ratio, leak = Fraction(3), Fraction(1, 10)
    answers = [0, 1, 2, 3]  # a noisy bit, or a leak of the bit itself

    def reply(bit, asked):
        """Law of the first message's answer: randomised response of bit xor asked, or the bit with probability leak."""
        true = bit ^ asked
        noisy = [ratio / (1 + ratio) if shown == true else 1 / (1 + ratio) for shown in (0, 1)]
        return [(1 - leak) * one for one in noisy] + [leak if bit == shown else Fraction(0) for shown in (0, 1)]

    worst = Fraction(0)
    for strategy in product((0, 1), repeat=len(answers)):
        one, other = [], []
        for first in answers:
            for second in answers:
                one.append(reply(0, 0)[first] * reply(0, strategy[first])[second])
                other.append(reply(1, 0)[first] * reply(1, strategy[first])[second])
        worst = max(worst, hockey_stick(one, other, ratio**2))
    assert Fraction(1, 10) < worst <= Fraction(2, 10)
    draws = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(50)), 1),)
    price = PAIR.price(draws, Pricing(accountant="gdp", delta=DELTA))
    assert (price + price).delta == 2 * DELTA
    assert gaussian_curve(1 / sqrt(mpf(50)), real(price.amount)) <= real(DELTA)
    assert PAIR.settled(price, draws, Pricing(accountant="gdp", delta=DELTA)) == price
