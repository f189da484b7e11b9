"""How strongly answers are shrunk towards the base of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.models.factored import FactoredDistribution
from dpqr.models.fit import maximum_entropy as regularisation
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit

SIZES, RECORDS, NOISE = (10, 10), 10_000.0, 20.0
BASE = FactoredDistribution.uniform(SIZES, 1.0)
EVEN = np.full(SIZES, RECORDS / 100)
COPY = RECORDS * (0.7 * np.eye(10) / 10 + 0.3 / 100)


def observed(values: np.ndarray, *axes: int, noise: float = NOISE) -> LinearMeasurement:
    return LinearMeasurement(key=axes, axes=axes, values=values, deviation=noise)


def test_a_table_that_its_base_explains_has_one_strength() -> None:
    noisy = EVEN + NOISE * np.where(np.indices(SIZES).sum(axis=0) % 2, 0.9, -0.9)
    (found,) = regularisation.strengths_by_cell([observed(noisy, 0, 1)], BASE, RECORDS)
    assert found.tolist() == [1.0] * 100


def test_large_cells_of_a_table_that_departs_lean_less_but_none_below_the_noise() -> None:
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1)], BASE, RECORDS)
    shares = found.reshape(SIZES)
    assert np.diag(shares) == pytest.approx(regularisation.LEAST_FACTOR)
    assert shares[0, 1] == pytest.approx(NOISE / (regularisation.LARGEST_CREDIT * 100))
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1, noise=200.0)], BASE, RECORDS)
    assert (found == 1.0).all()


def test_single_attributes_lean_by_how_uneven_they_are() -> None:
    """Noise of half an even cell. Even cells have log-odds of variance 0.1 or a bit more, 500 to 1 that of 3."""
    even, uneven = np.full(100, 100.0), np.geomspace(1.0, 500.0, 100)
    uneven *= RECORDS / uneven.sum()
    alike = regularisation.strengths([observed(even, axis, noise=50.0) for axis in range(5)], RECORDS)
    apart = regularisation.strengths([observed(uneven, axis, noise=50.0) for axis in range(5)], RECORDS)
    assert min(alike) > 2 * max(apart)
    assert max(alike) <= 0.5 / regularisation.SMALLEST_SPREAD
    assert min(apart) >= 0.5 / regularisation.LARGEST_SPREAD


def test_where_noise_covers_a_single_attribute_the_others_tell_how_much_it_leans() -> None:
    """Ten cells under noise of 20 times their size tell nothing. Beside five even attributes they lean more."""
    covered = observed(np.full(10, 1_000.0), 0, noise=20_000.0)
    even = [observed(np.full(100, 100.0), axis, noise=10.0) for axis in range(1, 6)]
    (alone,) = regularisation.strengths([covered], RECORDS)
    beside, *_ = regularisation.strengths([covered, *even], RECORDS)
    assert beside > 1.5 * alone


def test_copied_columns_keep_their_diagonals() -> None:
    """At even strength the diagonal's potential of two would cost it more than two deviations of noise."""
    seen = [observed(COPY, 0, 1), observed(COPY, 1, 2)]
    found = MaximumEntropyFit().run(seen, (10, 10, 10), RECORDS, {})
    off = np.abs(found.marginal((0, 1)) * RECORDS - COPY)
    assert np.diag(off).max() < 1.2 * NOISE
