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


def test_a_table_that_its_base_explains_is_shrunk_towards_it_at_one_strength() -> None:
    """Of variance 0.01, the least that is tried, log-odds make a cell of 100 records vary by 200 in squares."""
    noisy = EVEN + NOISE * np.where(np.indices(SIZES).sum(axis=0) % 2, 0.9, -0.9)
    (found,) = regularisation.strengths_by_cell([observed(noisy, 0, 1)], BASE, RECORDS, hidden=True)
    assert found == pytest.approx(NOISE / 2, rel=0.1)
    assert len(set(found.tolist())) == 1
    (found,) = regularisation.strengths_by_cell([observed(noisy, 0, 1)], BASE, RECORDS)
    assert found.tolist() == [1.0] * 100


def test_large_cells_of_a_table_that_departs_lean_less_but_none_below_the_noise() -> None:
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1)], BASE, RECORDS)
    shares = found.reshape(SIZES)
    assert np.diag(shares) == pytest.approx(regularisation.LEAST_FACTOR)
    assert shares[0, 1] == pytest.approx(NOISE / (regularisation.LARGEST_CREDIT * 100))
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1, noise=200.0)], BASE, RECORDS)
    assert (found == 1.0).all()


def test_one_table_keeps_its_large_cells_and_loses_noise_on_its_empty_ones() -> None:
    """In closed form. At even strength a diagonal of seven times its base would lose two deviations of noise."""
    found = MaximumEntropyFit().run([observed(COPY, 0, 1)], SIZES, RECORDS, {}).marginal((0, 1)) * RECORDS
    assert np.abs(np.diag(found - COPY)).max() < NOISE / 4
    empty = np.zeros((100, 100))
    empty[np.diag_indices(100)] = RECORDS / 100
    noisy = empty + NOISE * np.random.default_rng(3).normal(size=empty.shape)
    found = MaximumEntropyFit().run([observed(noisy, 0, 1)], (100, 100), RECORDS, {}).marginal((0, 1)) * RECORDS
    # Of 9,900 empty cells one in 44 is above two deviations, which nothing tells from records.
    assert np.abs(found - empty).sum() < np.abs(noisy - empty).sum() / 4


def test_noise_that_hides_a_table_leaves_its_base() -> None:
    """Independent even columns, a record a cell, noise of 30: at strength 1 log-odds of a deviation would remain."""
    noisy = 1.0 + 30.0 * np.random.default_rng(5).normal(size=SIZES)
    seen = [observed(np.full(10, 10.0), axis, noise=0.1) for axis in range(2)]
    seen.append(observed(noisy, 0, 1, noise=30.0))
    for more in ((), (observed(np.full((2, 2), 25.0), 2, 3, noise=0.1),)):  # in closed form, and by descent
        fits = [MaximumEntropyFit(shrinks_hidden=one) for one in (False, True)]
        found = [fit.run([*seen, *more], (10, 10, 2, 2), 100.0, {}).marginal((0, 1)) for fit in fits]
        kept, left = (float(np.abs(each - 0.01).mean()) for each in found)
        assert kept > 0.004
        assert left < 0.001


def test_single_attributes_are_shrunk_by_how_even_they_are() -> None:
    """Noise of half an even cell of 100 records. Even cells are shrunk as log-odds of variance 0.01 are, of 500 to 1 as
    those of 3."""
    even, uneven = np.full(100, 100.0), np.geomspace(1.0, 500.0, 100)
    uneven *= RECORDS / uneven.sum()
    alike, apart = regularisation.strengths([observed(one, 0, noise=50.0) for one in (even, uneven)], RECORDS)
    assert alike == pytest.approx(50.0 / (1 + 0.01 * 100), rel=0.1)
    assert apart == pytest.approx(50.0 / (1 + 3 * 100), rel=0.1)


def test_copied_columns_keep_their_diagonals() -> None:
    """At even strength the diagonal's potential of two would cost it more than two deviations of noise."""
    seen = [observed(COPY, 0, 1), observed(COPY, 1, 2)]
    found = MaximumEntropyFit().run(seen, (10, 10, 10), RECORDS, {})
    off = np.abs(found.marginal((0, 1)) * RECORDS - COPY)
    assert np.diag(off).max() < 1.2 * NOISE
