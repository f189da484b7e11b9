"""Minimisers: limited-memory BFGS on quadratics, and Newton's fit by its optimality conditions."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.rounding_error import smallest_slope

from dpqr.models.fit.descent import Descent, NewtonFit


def quadratic(matrix, offset):
    return lambda x: (0.5 * float(x @ matrix @ x) - float(offset @ x), matrix @ x - offset)


def test_finds_the_minimum_of_an_ill_conditioned_quadratic():
    matrix = np.diag(np.geomspace(1, 1e4, 30))
    offset = np.linspace(-1, 1, 30)
    tolerance = 1e-4
    # 2 x 30 terms of the value with sizes below offset' matrix^-1 offset < 10
    assert tolerance > smallest_slope(60, 10.0, 1e4)
    found = Descent(tolerance=tolerance, steps=1000).run(quadratic(matrix, offset), np.zeros(30))
    assert np.abs(matrix @ found - offset).max() <= tolerance


def test_stops_at_the_tolerance_and_not_before_and_at_once_at_a_minimum():
    start = np.zeros(3)
    assert Descent(tolerance=1e-9, steps=9).run(quadratic(np.eye(3), np.zeros(3)), start) is start
    seen = []

    def objective(x):
        value, gradient = quadratic(np.diag(np.geomspace(1, 100, 10)), np.ones(10))(x)
        seen.append(np.abs(gradient).max())
        return value, gradient

    Descent(tolerance=1e-3, steps=500).run(objective, np.zeros(10))
    assert seen[-1] <= 1e-3 < min(seen[:-1])


def test_what_is_known_of_the_inverse_beforehand_saves_most_steps():
    """A tenth of all directions is a thousand times flatter than the others."""
    scales = np.where(np.arange(50) % 10 == 0, 1e-3, 1.0)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(50, 50)))[0]
    matrix = turn @ np.diag(scales * np.linspace(1, 2, 50)) @ turn.T
    offset = matrix @ np.linspace(-1, 1, 50)

    # sums of 50 terms of sums of 50 terms, and 50 more
    assert smallest_slope(150, np.abs(matrix).sum(), 2.0) < 1e-5

    def evaluations(inverse):
        seen = []

        def objective(x):
            seen.append(x)
            return quadratic(matrix, offset)(x)

        found = Descent(tolerance=1e-5, steps=1000).run(objective, np.zeros(50), inverse)
        assert np.abs(matrix @ found - offset).max() <= 1e-5
        return len(seen)

    assert evaluations(lambda vector: turn @ ((turn.T @ vector) / scales)) < 20 < evaluations(None)


@in_one_test("steps", [0, 1, 3, 10])
def test_never_ends_above_its_start(steps):
    """log-sum-exp far out is flat and then bends sharply; cut short, the point is still no worse."""

    def objective(x):
        top = x.max()
        weights = np.exp(x - top)
        value = float(top + np.log(weights.sum()) - x[0] / 2 + 0.005 * x @ x)
        return value, weights / weights.sum() - np.array([0.5, 0, 0]) + 0.01 * x

    start = np.array([-300.0, 200.0, 0.0])
    assert objective(Descent(tolerance=1e-6, steps=steps).run(objective, start))[0] <= objective(start)[0]


def test_what_is_no_number_is_stepped_back_from():
    """Minus log has a wall at 0: a full first step crosses it."""

    def objective(x):
        if x[0] <= 0:
            return float("nan"), np.full(1, np.nan)
        return float(-np.log(x[0]) + 100 * x[0]), -1 / x + 100

    found = Descent(tolerance=1e-6, steps=100).run(objective, np.array([0.5]))
    assert found[0] == pytest.approx(0.01)


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
