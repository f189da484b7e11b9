"""Cumulative answers on paper."""

from dataclasses import replace

import numpy as np

from dpqr.releases.answers.answered import AnsweredBlock, add_periods
from dpqr.releases.answers.errors import ESTIMATE, MEASURED

OWN = AnsweredBlock(
    name="n",
    columns=(),
    estimate=np.array([10.0, -1.0]),
    error=np.array([3.0, np.nan]),
    measured=np.array([10.0, -1.0]),
    deviation=np.array([3.0, 6.0]),
    lower=np.array([4.0, -13.0]),
    upper=np.array([16.0, 11.0]),
    basis=np.array([MEASURED, MEASURED], dtype=np.int8),
)
BEFORE = replace(OWN, estimate=np.array([100.0, 7.0]), error=np.array([4.0, 8.0]))


def test_the_first_node_keeps_its_interval():
    (found,) = add_periods((OWN,), None)
    assert found.estimate.tolist() == [10.0, -1.0]
    assert found.error.tolist() == [3.0, 6.0]
    assert found.lower.tolist() == [4.0, -13.0]
    assert np.isnan([found.measured, found.deviation]).all()


def test_estimates_and_squared_errors_add_up():
    (found,) = add_periods((OWN,), (BEFORE,))
    assert found.estimate.tolist() == [110.0, 6.0]
    assert found.error.tolist() == [5.0, 10.0]
    assert (found.upper - found.estimate).tolist() == [9.799999999999997, 19.6]
    assert found.basis.tolist() == [ESTIMATE, ESTIMATE]
