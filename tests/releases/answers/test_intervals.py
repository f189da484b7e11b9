"""Which interval an answer gets, and what it rests on."""

import numpy as np

from dpqr.releases.answers.errors import CERTIFIED, ESTIMATE, MEASURED, NO_BASIS, AnswerIntervals
from dpqr.releases.answers.noisy import Noisy

ESTIMATES = np.array([10.0, 20.0, 30.0])


def noisy(margins):
    figures = np.array(margins)
    return Noisy(values=figures * 0 + 5.0, deviation=figures / 2, margin=figures)


def test_a_proved_interval_goes_before_an_estimated_one():
    found = AnswerIntervals.of(ESTIMATES, np.array([1.0, 2.0, np.nan]), noisy([4.0, np.nan, np.nan]))
    assert found.basis.tolist() == [MEASURED, ESTIMATE, NO_BASIS]
    assert found.lower[:2].tolist() == [1.0, 20.0 - 1.96 * 2.0]
    assert found.upper[:2].tolist() == [9.0, 20.0 + 1.96 * 2.0]
    assert np.isnan([found.lower[2], found.upper[2]]).all()


def test_where_all_are_proved_no_error_is_asked_for():
    found = AnswerIntervals.of(ESTIMATES, np.full(3, np.nan), noisy([4.0] * 3))
    assert (found.basis == MEASURED).all()
    assert (found.lower == 1.0).all()


def test_a_certificate_bounds_what_has_no_other_interval():
    found = AnswerIntervals.of(ESTIMATES, np.array([np.nan, 2.0, np.nan]), noisy([4.0, np.nan, np.nan]), bound=7.0)
    assert found.basis.tolist() == [MEASURED, ESTIMATE, CERTIFIED]
    assert (found.lower[2], found.upper[2]) == (23.0, 37.0)
