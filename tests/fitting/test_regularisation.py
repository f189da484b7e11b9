"""How strongly answers are shrunk towards the base of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.fitting import regularisation
from dpqr.fitting.evidence import Evidence
from dpqr.fitting.maximum_entropy import MaximumEntropyFit
from dpqr.hypotheses.factored.distribution import FactoredDistribution

SIZES, RECORDS, NOISE = (10, 10), 10_000.0, 20.0
BASE = FactoredDistribution.uniform(SIZES, 1.0)
EVEN = np.full(SIZES, RECORDS / 100)
COPY = RECORDS * (0.7 * np.eye(10) / 10 + 0.3 / 100)


def observed(values: np.ndarray, *axes: int, noise: float = NOISE) -> Evidence:
    return Evidence(key=axes, axes=axes, values=values, deviation=noise)


def test_a_table_that_its_base_explains_has_one_strength() -> None:
    noisy = EVEN + NOISE * np.where(np.indices(SIZES).sum(axis=0) % 2, 0.9, -0.9)
    (found,) = regularisation.strengths_by_cell([observed(noisy, 0, 1)], BASE, RECORDS)
    assert found.tolist() == [1.0] * 100


def test_large_cells_of_a_table_that_departs_lean_less() -> None:
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1)], BASE, RECORDS)
    shares = found.reshape(SIZES)
    assert np.diag(shares) == pytest.approx(regularisation.TUNING.least)
    assert shares[0, 1] == pytest.approx(NOISE / (regularisation.TUNING.most * 100))


def test_cells_below_the_noise_are_never_trusted_more() -> None:
    (found,) = regularisation.strengths_by_cell([observed(COPY, 0, 1, noise=200.0)], BASE, RECORDS)
    assert (found == 1.0).all()


def test_single_attributes_lean_as_before() -> None:
    seen = [observed(EVEN.sum(axis=1), 0), observed(EVEN.sum(axis=0), 1)]
    by_cell = regularisation.strengths_by_cell(seen, BASE, RECORDS)
    assert [set(one) for one in by_cell] == [{figure} for figure in regularisation.strengths(seen, RECORDS)]


def test_copied_columns_keep_their_diagonals() -> None:
    """At even strength the diagonal's potential of two would cost it more than two deviations of noise."""
    seen = [observed(COPY, 0, 1), observed(COPY, 1, 2)]
    found = MaximumEntropyFit().run(seen, (10, 10, 10), RECORDS, {})
    off = np.abs(found.marginal((0, 1)) * RECORDS - COPY)
    assert np.diag(off).max() < 1.2 * NOISE
