"""Sums of losses against direct convolution, whose terms are all positive and so keep every digit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln
from support.cases import in_one_test

from dpqr.kernel.accountants import loss_laws as loss_sums
from dpqr.kernel.accountants.loss_laws import PurePair, RangedPair, ShiftPair, compose_losses, grid_step

pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")

TENTH = Fraction(1, 10)
MIXED = {
    RangedPair(epsilon=TENTH): 12,
    PurePair(epsilon=3 * TENTH): 9,
    PurePair(epsilon=Fraction(37, 100)): 1,
    ShiftPair(shift=9, scale=Fraction(30)): 4,
}


def direct(pairs, step, epsilon):
    """delta of the same grid laws, convolved one by one without a transform."""
    masses, lowest = np.ones(1), 0
    for pair, count in pairs.items():
        law = pair.losses(step)
        for _ in range(count):
            masses = np.convolve(masses, np.exp(law.logs))
            lowest += law.lowest
    losses = (lowest + np.arange(masses.size)) * step
    return math.fsum(masses * -np.expm1(np.minimum(float(epsilon) - losses, 0.0)))


def randomised_response(count, step, epsilon):
    """delta of `count` randomised responses, term by term."""
    lies = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(lies + 1) - gammaln(count - lies + 1)
    logs = ways + (count - lies) * step - count * math.log1p(math.exp(step))
    return math.fsum(np.exp(logs) * -np.expm1(np.minimum(epsilon - (count - 2 * lies) * step, 0.0)))


@pytest.mark.slow
@in_one_test("epsilon", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(3)])
@pytest.mark.parametrize("pairs", [MIXED, {PurePair(epsilon=TENTH): 40}, {RangedPair(epsilon=TENTH): 1}], ids=len)
def test_delta_is_that_of_direct_convolution_rounded_up(pairs, epsilon):
    step = grid_step([pair.epsilon for pair in pairs], TENTH)
    exact = direct(pairs, step, epsilon)
    if exact > 1e-280:
        found = compose_losses(pairs, step, exact).delta(epsilon)
        assert exact < found < exact * 1.0001


@in_one_test("epsilon", ["0.2", "1", "2", "3"])
def test_the_smallest_deltas_keep_their_digits(epsilon):
    """10^-3 to 10^-40 at 1,000 draws: an untilted transform in floats sees nothing below 10^-15."""
    exact = randomised_response(1000, 0.01, float(epsilon))
    step = grid_step([Fraction(1, 100)], Fraction(1, 100))
    found = compose_losses({PurePair(epsilon=Fraction(1, 100)): 1000}, step, exact).delta(Fraction(epsilon))
    assert exact * (1 - 1e-9) < found < exact * 1.001


def test_any_tilt_gives_a_bound():
    """Looked at where it was not made for, the figure is coarse, but never too small."""
    step = grid_step([TENTH], TENTH)
    pairs = {PurePair(epsilon=TENTH): 40}
    for delta in (0.5, 1e-3, 1e-12, 1e-30):
        made = compose_losses(pairs, step, delta)
        for epsilon in map(Fraction, ("0", "0.5", "1.5", "3", "3.9")):
            assert made.delta(epsilon) > direct(pairs, step, epsilon)


def test_what_is_left_out_is_paid_for(monkeypatch):
    """With a tenth of the mass off the ends, the figure must still lie above the exact one."""
    step = grid_step([TENTH], TENTH)
    pairs = {PurePair(epsilon=TENTH): 40}
    monkeypatch.setattr(loss_sums, "TRUNCATED", 0.1)
    for epsilon in map(Fraction, ("0.5", "1", "2")):
        exact = direct(pairs, step, epsilon)
        assert compose_losses(pairs, step, exact).delta(epsilon) > exact


@in_one_test(
    "epsilons",
    [["0.1"], ["0.0005", "0.002"], ["1", "0.3", "0.7"], ["0.000000001"], ["1000", "999.9"]],
)
def test_the_grid_is_finer_than_a_fifth_of_the_smallest_epsilon_and_fits_the_one_that_is_named(epsilons):
    exact = [Fraction(epsilon) for epsilon in epsilons]
    step = Fraction(grid_step(exact, exact[-1]))
    assert 5 * step <= min(exact)
    ratio = exact[-1] / step
    assert 0 <= math.ceil(ratio) - ratio < Fraction(1, 10**9)


def test_a_coarse_grid_is_refused():
    with pytest.raises(ArithmeticError, match="coarser than a fifth"):
        grid_step([TENTH], TENTH, 4)


def test_what_does_not_fit_is_not_computed():
    wide = {PurePair(epsilon=Fraction(1, 10**9)): 1, PurePair(epsilon=Fraction(1)): 1}
    assert compose_losses(wide, grid_step([pair.epsilon for pair in wide], Fraction(1, 10**9)), 1e-9) is None
    assert compose_losses({PurePair(epsilon=TENTH): loss_sums.MOST_DRAWS + 1}, 0.01, 1e-9) is None


def test_the_error_of_a_transform_is_that_of_the_theorem():
    """Higham 2002, Theorem 24.2: log2(N) times 6.7 roundings, for all N that are met."""
    assert loss_sums.TRANSFORM >= 38 * 6.7 * 2.0**-53
