"""Changes of answers and their errors, on paper."""

from dataclasses import replace

import numpy as np
import pytest

from dpqr.releases.answers.answered import AnsweredBlock, trend
from dpqr.releases.answers.errors import NO_BASIS


def point(estimate, error, deviation=np.nan):
    none = np.full(2, np.nan)
    return AnsweredBlock(
        name="n",
        columns=(),
        estimate=np.array(estimate),
        error=np.array(error),
        measured=none,
        deviation=np.full(2, deviation),
        lower=none,
        upper=none,
        basis=np.full(2, NO_BASIS, dtype=np.int8),
    )


POINTS = (point([10.0, 5.0], [3.0, np.nan]), point([14.0, 4.0], [4.0, 1.0]))


def test_squared_errors_of_both_points_add_up():
    found = trend(POINTS)
    assert found.change[1].tolist() == [4.0, -1.0]
    assert found.change_error[1][0] == 5.0
    assert np.isnan(found.change_error[1][1]), "one of the errors is not known"
    assert np.isnan([*found.change[0], *found.change_error[0]]).all()


def test_without_an_error_of_the_estimate_the_noise_counts():
    found = trend((point([1.0, 1.0], [np.nan, np.nan], 6.0), point([1.0, 1.0], [np.nan, 8.0])))
    assert found.change_error[1][1] == 10.0


def test_shared_noise_cancels():
    """Both points hold noise of standard deviation 3; the second one has 4 of its own."""
    shared = (np.zeros(2), np.full(2, 3.0))
    points = (POINTS[0], replace(POINTS[1], error=np.full(2, 5.0)))
    assert trend(points, shared).change_error[1][0] == pytest.approx(4.0)
