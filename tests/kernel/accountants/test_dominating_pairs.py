"""Dominating pairs against the curves that they are proved to have, and against real draws."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned

from dpqr.kernel.accountants.loss_laws import MOST_SHIFT, GaussianPair, PurePair, RangedPair, ShiftPair, dominating_pair
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
)

PARTS = [-1.2, -1.0, -0.63, -0.2, 0.0, 0.31, 0.5, 0.77, 0.999, 1.0, 1.4]
"""Where curves are compared, in multiples of the largest loss."""


def curve(law, step, a):
    """sum of Pr[l] (1 - e^(a - l)) over l > a."""
    losses = (law.lowest + np.arange(law.logs.size)) * step
    return math.fsum(np.exp(law.logs) * -np.expm1(np.minimum(a - losses, 0.0)))


def hockey_stick(here, there, a):
    return math.fsum(max(0.0, p - math.exp(a) * q) for p, q in zip(here, there, strict=True))


def pure_curve(epsilon, a):
    if a >= epsilon:
        return 0.0
    return -math.expm1(a) if a <= -epsilon else (math.exp(epsilon) - math.exp(a)) / (1 + math.exp(epsilon))


def ranged_curve(epsilon, a):
    """The largest over t, tried one by one, of the curve of losses t and t - epsilon."""
    best = max(0.0, -math.expm1(a))
    for t in np.linspace(0, epsilon, 20_001):
        upper = (math.exp(epsilon) - math.exp(t)) / math.expm1(epsilon)
        best = max(best, upper * max(0.0, -math.expm1(a - t)) + (1 - upper) * max(0.0, -math.expm1(a - t + epsilon)))
    return best


def shift_curve(shift, scale, a):
    """Discrete Laplace against itself moved, over all noise that floats can tell apart."""
    noise = np.arange(-60 * scale - shift, 60 * scale + shift + 1)
    law = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(noise) / scale)
    moved = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(noise - shift) / scale)
    return hockey_stick(law, moved, a)


CASES = [
    (PurePair(epsilon=Fraction(1, 10)), lambda a: pure_curve(0.1, a)),
    (PurePair(epsilon=Fraction(5)), lambda a: pure_curve(5, a)),
    (RangedPair(epsilon=Fraction(1, 10)), lambda a: ranged_curve(0.1, a)),
    (RangedPair(epsilon=Fraction(3)), lambda a: ranged_curve(3, a)),
    (ShiftPair(shift=1, scale=Fraction(5)), lambda a: pure_curve(0.2, a)),
    (ShiftPair(shift=7, scale=Fraction(5)), lambda a: shift_curve(7, 5, a)),
    (ShiftPair(shift=30, scale=Fraction(100)), lambda a: shift_curve(30, 100, a)),
]


@pytest.mark.parametrize(("pair", "exact"), slow_but({0}, CASES), ids=[str(pair) for pair, _ in CASES])
@pytest.mark.parametrize("parts", thinned([10, 37.3], 2))
def test_the_curve_is_at_least_the_exact_one_and_close(pair, exact, parts):
    top = float(pair.epsilon)
    law = pair.losses(top / parts)
    assert math.fsum(np.exp(law.logs)) == pytest.approx(1, abs=1e-12)
    for part in PARTS:
        found, wanted = curve(law, top / parts, part * top), exact(part * top)
        assert found >= wanted - 1e-13
        assert found <= wanted + 0.25 * top / parts


@in_one_test("pair", [PurePair(epsilon=Fraction(1)), RangedPair(epsilon=Fraction(1))])
def test_on_the_points_of_a_grid_that_fits_the_curve_is_exact(pair):
    exact = (
        pure_curve
        if isinstance(pair, PurePair)
        else lambda e, a: (math.sqrt(math.e) - math.exp(a / 2)) ** 2 / math.expm1(1)
    )
    law = pair.losses(1 / 16)
    for k in range(-15, 17):
        assert curve(law, 1 / 16, k / 16) == pytest.approx(exact(1.0, k / 16), rel=1e-10, abs=1e-13)


@in_one_test("pair", [pair for pair, _ in CASES])
def test_all_pairs_are_symmetric(pair):
    """Pr[-l] = e^-l Pr[l], so that both directions of a neighbourhood are covered by one law."""
    step = float(pair.epsilon) / 10
    law = pair.losses(step)
    losses = (law.lowest + np.arange(law.logs.size)) * step
    for a in np.linspace(-1, 1, 7) * float(pair.epsilon):
        swapped = math.fsum(np.exp(law.logs - losses) * np.maximum(0.0, -np.expm1(a + losses)))
        assert swapped == pytest.approx(curve(law, step, a), rel=1e-9, abs=1e-11)


def test_a_law_with_too_little_loss_is_caught_by_the_same_comparison():
    law = PurePair(epsilon=Fraction(99, 100)).losses(0.099)
    assert curve(law, 0.099, 0.5) < pure_curve(1, 0.5) - 1e-3


def normal_curve(mu, a):
    return float(mpmath.ncdf(mu / 2 - a / mu) - mpmath.exp(a) * mpmath.ncdf(-mu / 2 - a / mu))


@in_one_test("mu", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("parts", [5, 40])
def test_the_curve_of_normal_noise_is_at_least_the_exact_one_and_close(mu, parts):
    pair, step = GaussianPair(squared_mu=Fraction(mu) ** 2), mu / parts
    law = pair.losses(step)
    assert math.fsum(np.exp(law.logs)) == pytest.approx(1, abs=1e-12)
    assert law.lowest * step < float(pair.epsilon) <= (law.lowest + law.logs.size) * step
    for deviations in (-3, -1, 0, 0.4, 2, 5, 7):
        a = mu**2 / 2 + deviations * mu
        found, exact = curve(law, step, a) + law.beyond, normal_curve(mu, a)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + (3 + deviations**2) / parts**2)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_no_exponential_mechanism_on_three_candidates_exceeds_the_ranged_curve(epsilon):
    """All integer scores in a box, all changes of each score by at most 1."""
    law = RangedPair(epsilon=Fraction(epsilon)).losses(epsilon / 10)
    worst = 0.0
    for scores in itertools.product((0, 3, 9), repeat=3):
        for moved in itertools.product((-1, 0, 1), repeat=3):
            here, there = (
                np.exp(epsilon / 2 * (np.array(one) - max(one))) for one in (scores, np.add(scores, moved).tolist())
            )
            here, there = here / here.sum(), there / there.sum()
            for a in np.linspace(-1, 1, 9) * epsilon:
                found, bound = hockey_stick(here, there, a), curve(law, epsilon / 10, a)
                assert found <= bound + 1e-13
                worst = max(worst, found / bound if bound > 1e-3 else 0)
    assert worst > 0.95


def test_permute_and_flip_exceeds_the_ranged_curve():
    """Two equal candidates, one rises and one falls: its draws are not bounded in range, so it gets the pure pair."""
    epsilon = 1.0
    better = 1 - math.exp(-epsilon) / 2
    law = RangedPair(epsilon=Fraction(1)).losses(0.1)
    assert hockey_stick((better, 1 - better), (1 - better, better), 0.6) > curve(law, 0.1, 0.6) + 0.01


@in_one_test(
    ("event", "pair"),
    [
        (ExponentialEvent(epsilon=Fraction(1, 3)), RangedPair(epsilon=Fraction(1, 3))),
        (PermuteAndFlipEvent(epsilon=Fraction(1, 3)), PurePair(epsilon=Fraction(1, 3))),
        (DiscreteLaplaceEvent(sensitivity=4, scale=Fraction(12)), PurePair(epsilon=Fraction(1, 3))),
        (DiscreteLaplaceEvent(sensitivity=4, scale=Fraction(12), coordinates=2), PurePair(epsilon=Fraction(1, 3))),
        (
            DiscreteLaplaceEvent(sensitivity=4, scale=Fraction(12), coordinates=1),
            ShiftPair(shift=4, scale=Fraction(12)),
        ),
        (DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(3), coordinates=1), PurePair(epsilon=Fraction(1, 3))),
        (
            DiscreteLaplaceEvent(sensitivity=MOST_SHIFT + 1, scale=Fraction(1), coordinates=1),
            PurePair(epsilon=Fraction(MOST_SHIFT + 1)),
        ),
        (DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9)), None),
        (RoundedGaussianEvent(squared_sensitivity=4, variance=Fraction(9)), GaussianPair(squared_mu=Fraction(4, 9))),
        (MuSumEvent(squared_mu=Fraction(1)), None),
    ],
)
def test_every_event_has_its_pair(event, pair):
    assert dominating_pair(event) == pair


def test_a_strangers_event_has_none():
    with pytest.raises(BudgetRefused, match="no price"):
        dominating_pair("laplace")


def test_large_epsilons_neither_overflow_nor_lose_mass():
    for pair in (PurePair(epsilon=Fraction(900)), RangedPair(epsilon=Fraction(900))):
        law = pair.losses(90.0)
        assert math.fsum(np.exp(law.logs)) == pytest.approx(1, abs=1e-12)
        lowest = mpmath.mpf(float(law.logs[0]))
        assert -1000 < lowest < -890


@in_one_test("epsilon", [Fraction(2), Fraction(7, 2), Fraction(5)])
@pytest.mark.parametrize("parts", [3.3, 10.5, 17.9])
def test_floats_move_losses_up_and_never_down(epsilon, parts):
    """In exact arithmetic splitting keeps both masses; what floats get wrong may only take from Q's, summed in 50
    digits, so that the law on the grid dominates."""
    for pair in (PurePair(epsilon=epsilon), ShiftPair(shift=2, scale=2 / epsilon)):
        step = float(epsilon) / parts
        law = pair.losses(step)
        with mpmath.workdps(50):
            here = [mpmath.exp(mpmath.mpf(float(log))) for log in law.logs]
            there = [mass * mpmath.exp(-(law.lowest + k) * mpmath.mpf(step)) for k, mass in enumerate(here)]
            assert mpmath.fsum(there) < mpmath.fsum(here)
