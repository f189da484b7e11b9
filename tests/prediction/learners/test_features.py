"""Features of cells: norms, nulls, numbers and labels."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.prediction.learners.features import CellFeatures, clip_to_unit_norm

AGE = Attribute(
    name="age", axis=Bins(edges=tuple(map(Fraction, (0, 10, 30))), integral=False), rules={"null": Rule.CELL}
)
SEX = Attribute(name="sex", axis=Labels(("F", "M")))


def test_numbers_are_scaled_by_their_bounds_labels_one_hot_and_rows_have_norm_one_at_most():
    features = CellFeatures(domain=Domain((AGE, SEX)))
    assert features.width == 5
    rows = features.of(np.array([[0, 1], [1, 0], [2, 0]]))
    plain = np.array([[-2 / 3, 0, 0, 1, 1], [1 / 3, 0, 1, 0, 1], [0, 1, 1, 0, 1]])
    assert rows == pytest.approx(plain / np.linalg.norm(plain, axis=1, keepdims=True))
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12


def test_what_fits_no_cell_counts_as_nothing():
    assert CellFeatures(domain=Domain((AGE, SEX))).of(np.array([[-1, -2]])).tolist() == [[0, 0, 0, 0, 1]]


def test_too_many_labels_are_refused():
    with pytest.raises(InfeasiblePlan, match="merge labels"):
        CellFeatures(domain=Domain((Attribute(name="id", axis=Labels(tuple(map(str, range(9000))))),)))


@in_one_test("length", [0.0, 0.3, 1.0, 1.0000001, 1.5, 1.9999, 2.0, 1e9])
def test_no_row_is_longer_than_one_and_shorter_ones_stay_as_they_are(length):
    row = np.array([[0.6, -0.8]]) * length
    found = clip_to_unit_norm(row.copy())
    assert np.linalg.norm(found) == pytest.approx(min(length, 1.0), abs=1e-15)
    assert found == pytest.approx(row if length <= 1 else row / length, abs=1e-15)
