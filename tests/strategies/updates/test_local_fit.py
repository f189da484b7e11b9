"""A noisy table drawn to a base, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.strategies.updates.local_fit import local_fit, strength

BASE = np.array([[40.0, 10.0, 0.0], [20.0, 25.0, 5.0]])
NOISY = np.array([[55.0, -3.0, 4.0], [12.0, 30.0, 1.0]])


@pytest.mark.parametrize("deviation", [0.01, 0.5, 3.0, 100.0])
def test_it_is_the_optimum_of_squared_error_and_divergence(deviation):
    found = local_fit(BASE, NOISY, deviation)
    assert found.sum() == pytest.approx(BASE.sum(), rel=1e-3)
    inside = found > 1e-9  # exact answers below zero leave less than a double can tell
    assert (inside == (BASE > 0)).all() or deviation < 0.1
    slopes = (found - NOISY)[inside] / strength(deviation) + np.log(found[inside] / BASE[inside])
    assert np.ptp(slopes) == pytest.approx(0.0, abs=1e-6 * np.abs(slopes).max() + 1e-6)


def test_impossible_cells_stay_empty():
    assert local_fit(BASE, NOISY, 2.0)[0, 2] == 0.0


def test_nearly_exact_answers_are_kept():
    counts = np.array([0.0, 1.0, 7.0, 1000.0])
    assert local_fit(np.full(4, 252.0), counts, 0.01) == pytest.approx(counts, abs=0.01)


def test_useless_answers_leave_the_base():
    assert local_fit(BASE, NOISY, 1e7) == pytest.approx(BASE, abs=0.01)


def test_faces_are_kept():
    faces = [np.array([60.0, 40.0]), np.array([50.0, 40.0, 10.0])]
    found = local_fit(np.maximum(BASE, 0.1), NOISY, 5.0, faces)
    assert found.sum(axis=1) == pytest.approx(faces[0], rel=0.02)
    assert found.sum(axis=0) == pytest.approx(faces[1], rel=0.02)


def test_a_prior_in_records_for_exact_answers_and_in_deviations_beyond():
    assert strength(0.1) == pytest.approx(0.01)
    assert strength(30.0) == 30.0
