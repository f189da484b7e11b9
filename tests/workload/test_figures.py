from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpqr.workload.figures import comparisons, moments


def test_comparisons_hold_a_part_of_the_last_count_against_each_other() -> None:
    curve, at = np.array([10, 60, 100]), [Fraction(1, 10), Fraction(3, 4)]
    found = comparisons(at, 3) @ curve
    expected = [part.denominator * (count - part * 100) for part in at for count in curve[:2]]
    assert found.tolist() == [*expected, 100]


def test_moments_give_all_covariances() -> None:
    covariance = np.array([[4.0, 1.0, -0.5], [1.0, 9.0, 2.0], [-0.5, 2.0, 1.0]])
    variances = np.einsum("ti,ij,tj->t", moments(3), covariance, moments(3))
    assert variances[:3] == pytest.approx(np.diag(covariance))
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert variances[3:] == pytest.approx(
        [covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs]
    )
