"""P1, P2, P10, P12: the filter by count, the dropped rows in parallel, adaptive choices, and mu of pure draws."""

from fractions import Fraction
from itertools import product

import pytest
from mpmath import exp, expm1, linspace, log, mpf, quad, sqrt
from proofs.exact import (
    LEAST,
    exponential_law,
    gaussian_curve,
    hockey_stick,
    losses,
    normal_quantile,
    randomised_response,
    real,
    rho_to_epsilon,
    trade_off_slack,
)
from support.cases import in_one_test, thinned

from dpqr.kernel.accountants.accountant import in_parallel
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.loss_laws import AdaptiveChoices, GaussianPair
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget, pure_of_squared_mu, squared_mu_of_pure, squared_mu_of_ranged
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent, LeftOutEvent, RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import LaplaceAnswers, for_dropped_records
from dpqr.workload.block import QueryBlock

BUDGETS = [PrivacyBudget(Fraction(eps), Fraction(1, 10**digits)) for eps in ("1/10", "1", "5") for digits in (5, 9)]


@in_one_test(("first", "rest"), list(product((Fraction(3, 2), Fraction(4)), repeat=2)))
def test_p1_every_pair_of_continuations_is_within_epsilon_and_delta(first, rest):
    """Exact: e^eps_0, e^(eps - eps_0), delta are rational. A continuation is pure, or leaks with probability delta."""
    for delta in (Fraction(0), Fraction(1, 100), Fraction(1, 3)):
        one, other = randomised_response(rest)
        pure = (*one, Fraction(0), Fraction(0)), (*other, Fraction(0), Fraction(0))
        leaks = (
            (*((1 - delta) * p for p in one), delta, Fraction(0)),
            (*((1 - delta) * q for q in other), Fraction(0), delta),
        )
        continuations = [pair for each in (pure, leaks) for pair in (each, each[::-1])]
        worst = Fraction(0)
        for chosen in product(continuations, repeat=2):
            laws = [
                [share * p for share, pair in zip(seen, chosen, strict=True) for p in pair[side]]
                for side, seen in enumerate(randomised_response(first))
            ]
            worst = max(worst, hockey_stick(*laws, first * rest))
        assert worst == delta


@in_one_test("budget", BUDGETS)
def test_p1_what_the_filter_admits_after_the_count_is_within_what_the_count_leaves(budget):
    first = ByCount().first(budget).pure
    (pure, _), (normal, _) = ByCount().sums(budget)
    left = budget.epsilon - first
    assert pure.epsilon == left
    curve = gaussian_curve(sqrt(real(normal.squared_mu)), real(left))
    assert curve <= real(budget.delta) < gaussian_curve(sqrt(real(normal.squared_mu) * (1 + mpf(2) ** -24)), real(left))

    guard = ByCount().filter(budget)
    guard.charge(ExponentialEvent(epsilon=first))
    guard.charge(RoundedGaussianEvent(squared_sensitivity=1, variance=3 / normal.squared_mu))
    guard.charge(RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(3, 2) / normal.squared_mu))
    with pytest.raises(BudgetRefused):
        guard.charge(RoundedGaussianEvent(squared_sensitivity=1, variance=1000 / normal.squared_mu))
    guard = ByCount().filter(budget)
    guard.charge(ExponentialEvent(epsilon=first))
    guard.charge(ExponentialEvent(epsilon=left))
    with pytest.raises(BudgetRefused):
        guard.charge(ExponentialEvent(epsilon=left / 1000))


UNITS = {
    "rows": PrivacyUnit(),
    "replaced rows": PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True),
    "persons": PrivacyUnit(columns=("id",), rows=2),
    "replaced persons": PrivacyUnit(columns=("id",), rows=2, neighbours=Neighbours.REPLACE, drops=True),
}
MOVES = {
    "rows": {(1, 0), (0, 1)},
    "replaced rows": {(1, 1), (0, 0)},
    "persons": set(product(range(3), repeat=2)),
    "replaced persons": set(product(range(3), repeat=2)),
}
"""Of each unit by how much one pair of neighbours moves the counts of kept and of left-out records."""


@in_one_test("name", UNITS)
@pytest.mark.parametrize(("kept", "left_out"), list(product((Fraction(2), Fraction(5)), repeat=2)))
def test_p2_the_price_of_both_counts_is_the_largest_loss_of_any_neighbours(name, kept, left_out):
    """A count with noise of scale s that moves by m loses exactly m / s; losses of both draws add up on a path."""
    unit, block = UNITS[name], (QueryBlock(name="all"),)
    answer = LaplaceAnswers(blocks=block, unit=unit, scale=kept).event
    dropped = for_dropped_records(LaplaceAnswers(blocks=block, unit=unit, scale=left_out), unit).event
    most = max(one / kept + other / left_out for one, other in MOVES[name])
    assert Basic().epsilon(((answer, 1), (dropped, 1)), Fraction(0)) == most


def test_p2_a_run_that_reads_both_parts_adaptively_costs_the_larger_price():
    """Exact: three draws of randomised response, each from the part that the answers before it name, and its bit by
    them too. Neighbours differ in the bit of one part."""
    one, two = Fraction(3), Fraction(2)

    def law(bits, plan):
        """bits: of the kept and of the left-out part. plan: of each history, which part is read."""
        found = {(): Fraction(1)}
        for _ in range(3):
            grown = {}
            for seen, share in found.items():
                part = plan[seen]
                ratio = (one, two)[part]
                true = bits[part] ^ (sum(seen) % 2)
                for shown in (0, 1):
                    grown[*seen, shown] = share * (ratio if shown == true else 1) / (1 + ratio)
            found = grown
        return found

    histories = [seen for length in range(3) for seen in product((0, 1), repeat=length)]
    worst = Fraction(0)
    for parts in product((0, 1), repeat=len(histories)):
        plan = dict(zip(histories, parts, strict=True))
        dearest = max(
            ratio ** sum(plan[seen[:step]] == part for step in range(3))
            for part, ratio in enumerate((one, two))
            for seen in product((0, 1), repeat=3)
        )
        for before, after in (((0, 0), (1, 0)), ((0, 0), (0, 1))):
            here, there = law(before, plan), law(after, plan)
            ratio = max(max(here[seen] / there[seen], there[seen] / here[seen]) for seen in here)
            assert ratio <= dearest
            worst = max(worst, ratio)
    assert worst == one**3


def test_p2_every_sum_prices_the_larger_group():
    draws, delta = ExponentialEvent(epsilon=Fraction(1, 2)), Fraction(1, 10**6)
    dear = ExponentialEvent(epsilon=Fraction(3, 4))
    kept, left_out = in_parallel(((draws, 2), (LeftOutEvent(event=dear), 3)))
    assert (kept, left_out) == (((draws, 2),), ((dear, 3),))
    whole = ZeroConcentrated().epsilon(((draws, 2), (LeftOutEvent(event=dear), 3)), delta)
    assert abs(whole - rho_to_epsilon(3 * mpf("0.75") ** 2 / 8, real(delta))) <= mpf(10) ** -10


def exact_choices(epsilon, count, place):
    """V_k of the statement: the largest over t of q V(a - t) + (1 - q) V(a - t + epsilon), by a fine grid of t that is
    refined once. Every t is a mechanism that exists, so this is a lower bound."""
    if count == 0:
        return max(mpf(0), -expm1(place))

    def at(t):
        share = (exp(epsilon) - exp(t)) / expm1(epsilon)
        return share * exact_choices(epsilon, count - 1, place - t) + (1 - share) * exact_choices(
            epsilon, count - 1, place - t + epsilon
        )

    grid = linspace(0, epsilon, 13 if count > 1 else 41)
    best = max(grid, key=at)
    step = grid[1]
    return max(map(at, [t for t in linspace(best - step, best + step, 13) if 0 <= t <= epsilon]))


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_p10_the_stated_curve_of_choices_lies_above_the_worst_and_within_a_percent(epsilon, count):
    stated = AdaptiveChoices(epsilon=epsilon, count=count)
    for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
        place = count * epsilon * share / 2
        true = exact_choices(real(epsilon), count, real(place))
        if count == 1:
            closed = (exp(real(epsilon) / 2) - exp(real(place) / 2)) ** 2 / expm1(real(epsilon))
            assert abs(true - closed) <= closed / 10**3
            true = closed
        assert true <= stated.delta(place) <= true * mpf("1.01")


def test_p10_normal_noise_among_the_choices():
    """One choice and normal noise: the mean of V_1(a - L) over the normal loss L."""
    epsilon, squared, place = Fraction(1), Fraction(1, 4), Fraction(1, 2)
    mu = sqrt(real(squared))

    def curve(at):
        if at < -1:
            return -expm1(at)
        return mpf(0) if at > 1 else (exp(mpf(1) / 2) - exp(at / 2)) ** 2 / expm1(mpf(1))

    def term(z):
        return (
            exp(-(z**2) / 2)
            / sqrt(2 * mpf("3.14159265358979323846264338328"))
            * curve(real(place) - mu**2 / 2 - mu * z)
        )

    true = quad(term, [-9, *sorted((real(place) - mu**2 / 2 - edge) / mu for edge in (1, -1)), 12])
    normal = GaussianPair(squared_mu=squared, reach=9.0)
    assert true <= AdaptiveChoices(epsilon=epsilon, count=1, normal=normal).delta(place) <= true * mpf("1.01")


def test_p10_two_exponential_mechanisms_keep_to_the_curve():
    """The second mechanism's scores follow the first one's choice."""
    epsilon = Fraction(1)
    stated = AdaptiveChoices(epsilon=epsilon, count=2)
    pairs = [
        (exponential_law(scores, Fraction(1, 2)), exponential_law(moved, Fraction(1, 2)))
        for scores in ((0, 0), (0, 1), (0, 2), (0, 3))
        for moved in (
            tuple(score + by for score, by in zip(scores, signs, strict=True)) for signs in ((1, -1), (-1, 1))
        )
    ]
    for first in pairs:
        for following in product(pairs, repeat=2):
            laws = [[first[side][i] * following[i][side][j] for i in range(2) for j in range(2)] for side in range(2)]
            for place in (Fraction(0), Fraction(1, 2), Fraction(1)):
                assert hockey_stick(*laws, exp(real(place))) <= stated.delta(place)


@in_one_test("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(8)])
def test_p12_a_pure_draw_is_mu_gdp_and_no_smaller_mu_does(epsilon):
    ratio = exp(real(epsilon))
    pair = randomised_response(ratio)
    mu = sqrt(real(squared_mu_of_pure(epsilon)))
    assert trade_off_slack(*pair, mu) >= -LEAST > trade_off_slack(*pair, mu * (1 - mpf(10) ** -12))
    assert squared_mu_of_pure(pure_of_squared_mu(Fraction(1, 7))) <= Fraction(1, 7)


@pytest.mark.parametrize("epsilon", thinned([Fraction(1, 10), Fraction(1), Fraction(6)], 3))
def test_p12_a_draw_of_bounded_range_is_mu_gdp_whatever_its_interval(epsilon):
    mu, least = sqrt(real(squared_mu_of_ranged(epsilon))), mpf("inf")
    for t in linspace(0, real(epsilon), 41)[1:-1]:
        share = (exp(real(epsilon)) - exp(t)) / expm1(real(epsilon))
        one = (share, 1 - share)
        other = (share * exp(-t), (1 - share) * exp(real(epsilon) - t))
        assert losses(one, other)[1] - losses(one, other)[0] <= real(epsilon) + LEAST
        least = min(least, trade_off_slack(one, other, mu), trade_off_slack(other, one, mu))
    assert -LEAST < least < mpf(10) ** -10


def test_p12_what_a_pure_draw_costs_in_mu_rises_faster_than_its_epsilon():
    """So k / K of the epsilon costs at most k / K of the mu^2, as counters and layers count."""
    costs = [(epsilon, squared_mu_of_pure(epsilon) / epsilon) for epsilon in map(Fraction, (1, 2, 3, 5, 8, 13, 40))]
    shares = [cost for _, cost in costs]
    assert shares == sorted(shares)
    assert squared_mu_of_pure(Fraction(1, 3)) * 3 <= squared_mu_of_pure(Fraction(1))
    # The same from the formula: 4 z^2 over log(Phi / Q) at z.
    tails = [mpf(step) / 100 for step in range(1, 50)]
    found = [4 * normal_quantile(tail) ** 2 / log((1 - tail) / tail) for tail in reversed(tails)]
    assert found == sorted(found)


def test_p12_the_sum_of_mu_squared_is_the_curve_of_one_draw():
    draws, delta = RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(8)), Fraction(1, 10**6)
    stated = GaussianDP().epsilon(((draws, 2), (ExponentialEvent(epsilon=Fraction(1, 5)), 1)), delta)
    mu = sqrt(mpf(2) / 8 + real(squared_mu_of_pure(Fraction(1, 10))))
    assert gaussian_curve(mu, real(stated)) <= real(delta) < gaussian_curve(mu, real(stated) * (1 - mpf(10) ** -8))
