"""Values drawn from the bins of synthetic rows."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from dpqr.data.attribute import Bins
from dpqr.io.outputs.bin_values import sampled

UNIFORMS = np.linspace(0.0, 1.0, 4_001)[:-1]


def edges(*ends: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, ends))


def drawn(axis: Bins, code: int) -> list[object]:
    found: list[object] = sampled(axis, np.full(UNIFORMS.size, code), UNIFORMS).to_pylist()
    return found


@pytest.mark.parametrize(
    ("closed", "held"),
    [("left", [{0, 1, 2, 3, 4}, {5, 6, 7, 8}]), ("right", [{0, 1, 2, 3, 4, 5}, {6, 7, 8}])],
)
def test_every_whole_number_of_a_bin_and_no_other_one_is_drawn_alike(
    closed: Literal["left", "right"], held: list[set[int]]
) -> None:
    axis = Bins(edges("0", "5", "8"), closed=closed, integral=True)
    for code, values in enumerate(held):
        found = drawn(axis, code)
        assert set(found) == values
        assert max(found.count(one) for one in values) - min(found.count(one) for one in values) <= 1


def test_numbers_lie_within_their_edges_and_never_on_one() -> None:
    axis = Bins(edges("0.1", "0.3", "0.7"))
    for code, (low, high) in enumerate([(0.1, 0.3), (0.3, 0.7)]):
        found = np.array(drawn(axis, code))
        assert low < found.min() < low + 0.001 * (high - low) < high - 0.001 * (high - low) < found.max() < high
        assert found.mean() == pytest.approx((low + high) / 2, abs=0.001)


def test_days_and_moments_keep_their_kind() -> None:
    days = Bins(edges("0", "3", "10"), kind="date", integral=True)
    assert set(drawn(days, 0)) == {date(1970, 1, day) for day in (1, 2, 3)}
    moments = Bins(edges("0", "3000000"), kind="datetime")
    found = sampled(moments, np.zeros(3, dtype=np.int64), np.array([0.0, 0.5, 1.0 - 2.0**-53]))
    assert found.type == pa.timestamp("us")
    assert found.to_pylist() == [
        datetime(1970, 1, 1),
        datetime(1970, 1, 1, 0, 0, 1, 500_000),
        datetime(1970, 1, 1, 0, 0, 3),
    ]


def test_own_cells_become_null() -> None:
    axis = Bins(edges("0", "5", "8"), integral=True)
    assert sampled(axis, np.array([1, 2, 0, 3]), np.zeros(4)).to_pylist() == [5, None, 0, None]


def test_bins_of_numbers_that_no_integer_type_holds_are_drawn_as_floats() -> None:
    axis = Bins(edges("0", "1" + "0" * 30), integral=True)
    assert sampled(axis, np.zeros(2, dtype=np.int64), np.array([0.25, 0.5])).to_pylist() == [2.5e29, 5e29]
