"""Hinge and pinball with their corners: against closed forms, a search, and the promises of the path of barriers."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import Given

from dpqr.prediction.learners import corners
from dpqr.prediction.learners.corners import Barrier, Centring, CornerSolver
from dpqr.prediction.learners.examples import BLOCK, TrainingRows
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball

LOSSES = [ExactHinge(), ExactPinball(tau=Fraction(1, 5))]


def table(vectors, targets, weights):
    vectors = np.asarray(vectors, dtype=float)
    codes = np.arange(len(vectors))[:, None]
    targets, weights = np.asarray(targets, dtype=float), np.asarray(weights, dtype=float)
    return TrainingRows(features=Given(vectors), codes=codes, targets=targets, weights=weights)


def solver(loss, penalty, closeness=Fraction(1, 10**6), features=2, heaviest=1):
    return CornerSolver(
        penalty=Fraction(penalty), heaviest=Fraction(heaviest), loss=loss, features=features, closeness=closeness
    )


def random_table(size, seed, signs):
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(size, 2))
    vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
    targets = drawn.choice([-1.0, 1.0], size) if signs else drawn.uniform(-1, 1, size)
    return table(vectors, targets, drawn.multinomial(size, np.full(size, 1 / size)) / size)


@in_one_test("count", [1, 5, 10**6])
def test_one_row_by_hand(count):
    """Hinge: the full slope moves w to 1 / (2 lambda) at most, and to the corner at 1. Pinball: to y."""
    rows = table([[1.0, 0.0]], [1.0], [1 / count])
    for penalty, reached in ((10, 1 / (20 * count)), (Fraction(1, 10**8), 1.0)):
        for loss, slope in ((ExactHinge(), 1.0), (ExactPinball(tau=Fraction(4, 5)), 0.8)):
            near = solver(loss, penalty)
            expected = min(1.0, slope * reached) if reached < 1 else 1.0
            assert near.minimise(rows)[0] == pytest.approx(expected, abs=float(near.tolerance))


@in_one_test("loss", LOSSES)
def test_the_tolerance_holds_for_coarse_and_fine_solutions_alike(loss):
    for seed in range(4):
        rows = random_table(25, seed, isinstance(loss, ExactHinge))
        fine = solver(loss, Fraction(1, 50), Fraction(1, 10**8)).minimise(rows)
        for closeness in (Fraction(1, 10), Fraction(1, 1000)):
            near = solver(loss, Fraction(1, 50), closeness)
            assert np.linalg.norm(near.minimise(rows) - fine) <= float(near.tolerance)


@in_one_test("loss", LOSSES)
def test_without_a_certificate_the_path_ends_where_the_proof_says(loss, monkeypatch):
    rows = random_table(25, 3, isinstance(loss, ExactHinge))
    fine = solver(loss, Fraction(1, 50), Fraction(1, 10**8)).minimise(rows)
    monkeypatch.setattr(Centring, "paired", lambda self, point: (point, float("inf")))
    near = solver(loss, Fraction(1, 50), Fraction(1, 100))
    assert np.linalg.norm(near.minimise(rows) - fine) <= float(near.tolerance)


@in_one_test("loss", LOSSES)
def test_the_smallest_factor_needs_no_more_steps_than_are_proved(loss, monkeypatch):
    rows, steps = random_table(12, 4, isinstance(loss, ExactHinge)), []
    run = Centring.run

    def counted(self, point):
        monkeypatch.setattr(corners, "STEPS_EACH", 34)
        found = run(self, point)
        steps.append(found[1])
        return found

    monkeypatch.setattr(Centring, "run", counted)
    monkeypatch.setattr(corners, "LARGEST_FACTOR", 1.0)
    near = solver(loss, Fraction(1, 5), Fraction(1, 20))
    assert np.isfinite(near.minimise(rows)).all()
    assert all(steps)
    assert len(steps) > 50


def test_a_factor_that_is_too_large_falls_to_its_root(monkeypatch):
    rows = random_table(25, 3, signs=True)
    fine = solver(ExactHinge(), Fraction(1, 50)).minimise(rows)
    monkeypatch.setattr(corners, "STEPS_EACH", 3)
    again = solver(ExactHinge(), Fraction(1, 50)).minimise(rows)
    np.testing.assert_allclose(fine, again, atol=2e-6)


def test_rows_without_weight_and_no_rows_teach_nothing():
    assert not solver(ExactHinge(), 1).minimise(table([[1.0, 0.0]], [1.0], [0.0])).any()
    empty = table(np.zeros((0, 2)), [], [])
    assert not solver(ExactPinball(), 1).minimise(empty).any()
    with_nobody = table([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], [1.0, 0.0])
    assert solver(ExactHinge(), 1).minimise(with_nobody) == pytest.approx([0.5, 0], abs=1e-5)


def test_more_rows_than_a_block_are_all_read():
    size = BLOCK + 10
    rows = table(np.tile([[1.0, 0.0]], (size, 1)), [1.0] * BLOCK + [-1.0] * 10, np.full(size, 1 / size))
    found = solver(ExactHinge(), 5).minimise(rows)
    assert found[0] == pytest.approx((BLOCK - 10) / size / 10, abs=1e-5)


@in_one_test("loss", LOSSES)
@pytest.mark.parametrize("width", [1e-9, 0.1, 1e6])
def test_the_barriers_slope_and_curvature_are_its_derivatives(loss, width):
    barrier, grid = Barrier(loss=loss, width=width), np.array([-2.0, -0.3, 0.9, 1.0, 1.2, 3.0])
    ones, step = np.ones(6), 1e-5 * max(1.0, width)
    numeric = (barrier.value(grid + step, ones) - barrier.value(grid - step, ones)) / (2 * step)
    away = np.abs(loss.shortfall(grid, ones)) > 2 * step
    np.testing.assert_allclose(barrier.slope(grid, ones)[away], numeric[away], rtol=1e-4, atol=1e-4)
    assert ((barrier.share(grid, ones) >= 0) & (barrier.share(grid, ones) <= 1)).all()
    near = (barrier.slope(grid + step, ones) - barrier.slope(grid - step, ones)) / (2 * step)
    np.testing.assert_allclose(barrier.curvature(grid, ones)[away], near[away], rtol=1e-2, atol=1e-6)


def test_the_tolerance_states_what_rounding_adds_by_hand():
    near = solver(ExactHinge(), Fraction(1, 100), Fraction(1, 1000), features=2)
    assert near.norm == pytest.approx(2 * 10)
    values = (4 * 2.0**-53 / (1 - 4 * 2.0**-53)) * 20 * (1 + 2.0**-40) + 4 * 2.0**-52
    expected = 1e-3 + 2.0**-52 * (BLOCK + 68) * 50 + (values * 100) ** 0.5
    assert float(near.tolerance) == pytest.approx(expected, rel=1e-9)
