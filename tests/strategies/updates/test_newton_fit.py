"""Newton's fit: its optimum's own equations, and what it is worth where the noise is nothing or everything."""

import numpy as np
from support.rounding_error import smallest_slope

from dpqr.strategies.updates.newton_fit import NewtonFit

DESIGN = (np.arange(5)[:, None] * 7 % 5 + np.arange(40) * 3 % 11 > 8).astype(float)
BASE = np.full(40, 1 / 40)
TRUTH = np.arange(1, 41) / 820


def test_every_residual_is_the_tilt_times_the_deviation() -> None:
    ridge = np.array([1e-3, 1e-2, 1e-4, 1e-3, 0.1])
    targets = DESIGN @ TRUTH + 0.01
    tilts, cells = NewtonFit(tolerance=1e-9).run(DESIGN, BASE, targets, ridge, np.zeros(5))
    # The value has 40 + 5 terms, their sizes below 5; its curvature: five queries' variances, 1/4 at most, and ridge.
    least = smallest_slope(45, 5.0, 5 / 4 + ridge.max())
    np.testing.assert_allclose(targets - DESIGN @ cells, ridge * tilts, atol=least)
    assert least < np.abs(ridge * tilts).min() / 5
    np.testing.assert_allclose(cells, BASE * np.exp(tilts @ DESIGN) / (BASE * np.exp(tilts @ DESIGN)).sum())


def test_exact_answers_are_met_and_noise_alone_changes_little() -> None:
    exact = DESIGN @ TRUTH
    _, cells = NewtonFit().run(DESIGN, BASE, exact, np.full(5, 1e-9), np.zeros(5))
    np.testing.assert_allclose(DESIGN @ cells, exact, atol=1e-7)
    _, cells = NewtonFit().run(DESIGN, BASE, exact, np.full(5, 1e3), np.zeros(5))
    np.testing.assert_allclose(cells, BASE, atol=1e-4)


def test_impossible_answers_and_repeated_queries_still_give_a_distribution() -> None:
    twice = np.concatenate([DESIGN, DESIGN])
    targets = np.concatenate([np.full(5, -3.0), np.full(5, 7.0)])
    tilts, cells = NewtonFit().run(twice, BASE, targets, np.full(10, 1e-6), np.zeros(10))
    assert np.isfinite(tilts).all()
    assert (cells >= 0).all()
    np.testing.assert_allclose(cells.sum(), 1)
