"""Every table's fit is certified to be within the tolerance, by whichever method it ends: hostile tables, and distances
from the minimiser that are proved anew in rational numbers or in 60 digits."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from support.cases import slowly, thinned
from support.hostile_fits import CORNERED, SMOOTH, distance_in_digits, exact_rows, gap_of, hostile_fit, hostile_pull

from dpqr.prediction.learners.corners import Corner, CornerSolver, Pivots
from dpqr.prediction.learners.losses import ExactHinge
from dpqr.prediction.learners.solver import Solver

FITS = 200
several = pytest.mark.parametrize("fits", [FITS // 4, *slowly(FITS)])


def whole_corner(learner, table):
    """All rows of a table as one corner, nobody's side known."""
    rows = list(exact_rows(learner, table))
    vectors = np.array([vector for vector, _, _ in rows], dtype=object)
    targets = np.array([target for _, target, _ in rows], dtype=object)
    weights = np.array([weight for _, _, weight in rows], dtype=object)
    classes, base = isinstance(learner.loss, ExactHinge), Fraction(float(learner.loss.base))
    penalty = Fraction(float(learner.penalty))
    directions = -targets if classes else targets * 0 - 1
    others = -((weights * base * directions) @ vectors) / (2 * penalty)
    offsets = targets * 0 + 1 if classes else targets
    kept = weights > 0
    corner = Corner(
        vectors=vectors[kept],
        offsets=offsets[kept],
        directions=directions[kept],
        weights=weights[kept],
        others=others,
        penalty=penalty,
    )
    return corner, kept


def proved_distance(learner, table, found):
    """From the minimiser, which exact pivots over all rows find; that it is one is proved by its gap, which is 0."""
    corner, kept = whole_corner(learner, table)
    pivots = Pivots(corner=corner, shares=corner.weights * 0)
    assert pivots.run(0)
    shares = np.array([Fraction(0)] * len(kept), dtype=object)
    shares[kept] = pivots.shares
    minimiser = pivots.function().tolist()
    assert gap_of(learner, table, minimiser, shares) == 0
    apart = [Fraction(float(one)) - two for one, two in zip(found, minimiser, strict=True)]
    return float(sum(each * each for each in apart)) ** 0.5


@several
@pytest.mark.parametrize("name", thinned(CORNERED, 2))
def test_every_fit_of_a_loss_with_a_corner_is_certified(name, fits, monkeypatch):
    """A tenth of these tables or so leave the path of barriers, and pivots in doubles certify nearly all of these; the
    rest are solved exactly."""
    ways, path, pivots = Counter(), CornerSolver._pivoted, Corner.solved

    def pivoted(solver, *given):
        ways["left the path"] += 1
        return path(solver, *given)

    def solved(corner, ends):
        ways["exact" if corner.vectors.dtype == object else "doubles"] += 1
        return pivots(corner, ends)

    for seed in range(fits):
        learner, table = hostile_fit(seed, name)
        with monkeypatch.context() as patched:
            patched.setattr(CornerSolver, "_pivoted", pivoted)
            patched.setattr(Corner, "solved", solved)
            found = learner.fit(table)
        assert proved_distance(learner, table, found) <= float(learner.solver.tolerance)
    assert 0.02 * fits < ways["left the path"] < 0.3 * fits
    assert ways["doubles"] >= ways["left the path"] > ways["exact"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CORNERED)
def test_exact_pivots_alone_certify_every_fit(name, monkeypatch):
    """Where neither the path nor doubles do."""
    monkeypatch.setattr(CornerSolver, "_gap", lambda *_: float("inf"))
    monkeypatch.setattr("dpqr.prediction.learners.corners.RUNS", 3)
    for seed in range(FITS // 4):
        learner, table = hostile_fit(seed, name)
        found = learner.fit(table)
        assert proved_distance(learner, table, found) <= float(learner.solver.tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("name", CORNERED)
def test_a_fit_that_stops_early_is_not_certified(name, monkeypatch):
    """Broken builds: one returns the last point of a path that is cut short, one the minimiser moved by twice the
    tolerance."""
    refused = 0
    for seed in range(FITS // 10):
        learner, table = hostile_fit(seed, name)
        tolerance, found = float(learner.solver.tolerance), learner.fit(table)
        moved = found + 2 * tolerance * np.eye(len(found))[0]
        assert proved_distance(learner, table, moved) > tolerance
        with monkeypatch.context() as patched:
            patched.setattr("dpqr.prediction.learners.corners.RUNS", 3)
            patched.setattr(CornerSolver, "_pivoted", lambda solver, rows, point, *_: point)
            refused += proved_distance(learner, table, learner.fit(table)) > tolerance
    assert refused > FITS // 20


@several
@pytest.mark.parametrize("name", thinned(SMOOTH, 3))
def test_every_fit_of_a_smooth_loss_is_certified(name, fits):
    for seed in range(fits):
        learner, table = hostile_fit(seed, name)
        found = learner.fit(table)
        assert distance_in_digits(learner, table, found) <= float(learner.solver.tolerance)


@several
@pytest.mark.parametrize("name", thinned(SMOOTH, 3))
def test_steps_that_slopes_measure_certify_what_values_do_not(name, fits, monkeypatch):
    monkeypatch.setattr(Solver, "_newton", lambda *_: None)
    monkeypatch.setattr(Solver, "_accelerated", lambda solver, objective, point: (point, False))
    for seed in range(fits // 2):
        learner, table = hostile_fit(seed, name)
        found = learner.fit(table)
        assert distance_in_digits(learner, table, found) <= float(learner.solver.tolerance)


@pytest.mark.slow
@several
def test_every_fit_of_a_perturbed_objective_is_certified(fits, monkeypatch):
    """Most of these tables have too many records for doubles; extended precision certifies all of them, and none is
    left to gradient steps."""
    refined, used = Solver.refine, Counter()

    def counted(solver, objective):
        step = refined(solver, objective)
        used["certified"] += solver.certified(objective.size(objective.gradient(step)))
        used["refined"] += 1
        return step

    monkeypatch.setattr(Solver, "refine", counted)
    monkeypatch.setattr(Solver, "_accelerated", lambda solver, objective, point: (point, False))
    for seed in range(2 * fits):
        learner, table, pull = hostile_pull(seed)
        found = learner.fit(table, pull)
        assert distance_in_digits(learner, table, found, pull) <= float(learner.tolerance)
    assert used["refined"] > fits
    assert used["certified"] == used["refined"]


@pytest.mark.slow
def test_a_point_that_is_not_certified_is_not_taken_for_one():
    """A broken build: doubles end without a certificate, and their point is returned all the same."""
    missed = 0
    for seed in range(FITS):
        if missed and seed > FITS // 4:
            break
        learner, table, pull = hostile_pull(seed)
        found = learner.fit(table, pull)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Solver, "refine", lambda solver, objective: np.zeros(objective.shape[1]))
            early = learner.fit(table, pull)
        tolerance = float(learner.tolerance)
        missed += distance_in_digits(learner, table, early, pull) > tolerance
        moved = found + 2 * tolerance * np.eye(len(found))[0]
        assert distance_in_digits(learner, table, moved, pull) > tolerance
    assert missed > 0
