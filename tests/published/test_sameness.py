"""Figures that were computed again: what counts as the same, and how a difference is named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.kernel.errors import GoalMissed
from dpqr.published.evidence import Sameness, same_answers, same_documents, same_rows

ANSWERS = {
    "query": ["a", "a"],
    "estimate": [10.0, 20.0],
    "error": [4.0, 8.0],
    "measured": [11.0, None],
    "noise_deviation": [5.0, None],
    "lower": [1.0, 4.32],
    "upper": [21.0, 35.68],
    "basis": ["measured", "estimate"],
}
SHARES = "Estimates are the weighted mean of several models: the fit {:.2f}, 2 latent classes {:.2f}; the rest"
NOISE = np.array([5.0, 5.0])


def written(place, name, **changed):
    parquet.write_table(pa.table(ANSWERS | changed), place / name)
    return place / name


def compared(place, **changed):
    return same_answers(written(place, "kept.parquet", **changed), written(place, "made.parquet"), NOISE)


def test_equal_bit_for_bit(tmp_path):
    assert compared(tmp_path) == Sameness(compared=2)


@in_one_test(
    "changed",
    [
        {"estimate": [10.0, 20.0 + 1e-9]},
        {"estimate": [12.4, 20.0], "upper": [21.0 + 2.4, 35.68]},
        {"estimate": [10.0, 23.9], "lower": [1.0, 4.32 + 3.9], "upper": [21.0, 35.68 + 3.9]},
        {"error": [4.0, 20.0], "lower": [1.0, 4.32 - 12 * 1.96]},
        {"error": [4.0, 5.5], "lower": [1.0, 4.32 + 2.5 * 1.96]},
        {"estimate": [10.0 + 1e-9, 20.0], "lower": [2.0, 4.32]},
        {"measured": [11.0 + 1e-6, None]},
    ],
)
def test_within_what_fits_leave_open(tmp_path, changed):
    assert compared(tmp_path, **changed).near == 1


@in_one_test(
    ("changed", "said"),
    [
        ({"estimate": [10.0, 24.1]}, r"row 2, estimate: 24\.1 stands there, the draws give 20\.0"),
        ({"error": [19.1, 8.0]}, "row 1, error"),
        ({"error": [4.0, 2.6]}, "row 2, error"),
        ({"error": [4.0, 0.0], "lower": [1.0, 20.0], "upper": [21.0, 20.0]}, "row 2, error"),
        ({"measured": [11.1, None]}, "row 1, measured"),
        ({"measured": [11.0, 1.0]}, "row 2, measured"),
        ({"measured": [None, None]}, "row 1, measured"),
        ({"noise_deviation": [4.9, None]}, "row 1, noise_deviation"),
        ({"lower": [1.0, 4.4]}, "row 2, lower"),
        ({"query": ["a", "b"]}, "row 2, query"),
        ({"basis": ["estimate", "estimate"]}, "row 1, basis"),
    ],
)
def test_beyond_it(tmp_path, changed, said):
    with pytest.raises(GoalMissed, match=said):
        compared(tmp_path, **changed)


def test_rows_are_equal_or_not(tmp_path):
    for name, values in (("kept", [1, 2, 3]), ("made", [1, 5, 3])):
        parquet.write_table(pa.table({"a": values, "b": ["x", "y", "z"]}), tmp_path / f"{name}.parquet")
    assert same_rows(tmp_path / "kept.parquet", tmp_path / "made.parquet") == Sameness(compared=3, near=1)


@in_one_test(
    ("kept", "made", "said"),
    [
        ({"a": 1}, {"a": 2}, r"\$\.a: 1 stands there, and the draws give 2"),
        ({"a": 1}, {}, r"\$\.a: 1 stands there, and the draws give nothing"),
        ({}, {"a": "x" * 99}, r"\$\.a: nothing stands there, and the draws give 'x+\.\.\."),
        ([1, 2], [1], r"\$: \[1, 2\] stands there"),
        ({"a": [{"b": 1.0}]}, {"a": [{"b": 1.1}]}, r"\$\.a\[0\]\.b: 1\.0 stands"),
        ({"a": 1}, {"a": 1.0}, r"\$\.a: 1 stands there, and the draws give 1\.0"),
        ({"a": True}, {"a": 1}, r"\$\.a: True stands"),
        (["epsilon 0.50, delta 0"], ["epsilon 0.51, delta 0"], r"\$\[0\]: 'epsilon"),
        ([SHARES.format(0.79, 0.21)], [SHARES.format(0.73, 0.27)], r"\$\[0\]: 'Estimates"),
        (
            [SHARES.format(0.79, 0.21)],
            [SHARES.format(0.79, 0.21).replace("2 latent", "4 latent")],
            r"\$\[0\]: 'Estimates",
        ),
        ({"error_bars": {"predicted": {"a": 1.0}}}, {"error_bars": {"predicted": {"a": 3.1}}}, "predicted"),
    ],
)
def test_documents_that_differ(kept, made, said):
    with pytest.raises(GoalMissed, match=said):
        same_documents(kept, made)


def test_documents_that_are_near():
    shares = SHARES.format(0.79, 0.21), SHARES.format(0.76, 0.24)
    kept = {"a": 1.0, "b": [1, "x", shares[0]], "error_bars": {"predicted": {"a": 1.0}}}
    made = {"a": 1.0 + 1e-8, "b": [1, "x", shares[1]], "error_bars": {"predicted": {"a": 2.0}}}
    assert same_documents(kept, made) == Sameness(compared=5, near=3)


@in_one_test("name", ["measured", "noise_deviation"])
@pytest.mark.parametrize("size", [1.0, 11.0, 10.0**6])
def test_a_figure_in_closed_form_is_equal_to_a_millionth_of_its_size(tmp_path, name, size):
    """Or of one, where it is smaller; in either direction."""
    made = written(tmp_path, "made.parquet", **{name: [size, None]})
    for apart, same in ((0.5e-6, True), (2e-6, False), (-0.5e-6, True), (-2e-6, False)):
        kept = written(tmp_path, "kept.parquet", **{name: [size * (1 + apart), None]})
        if same:
            assert same_answers(kept, made, NOISE).near == 1
        else:
            with pytest.raises(GoalMissed, match=f"row 1, {name}"):
                same_answers(kept, made, NOISE)


@in_one_test("compare", [same_rows, lambda one, two: same_answers(one, two, NOISE)])
def test_other_columns_or_more_rows_are_no_tolerance(tmp_path, compare):
    made = written(tmp_path, "made.parquet")
    longer = {name: [*values, values[-1]] for name, values in ANSWERS.items()}
    for other in (longer, {**ANSWERS, "more": [1.0, 2.0]}, {**ANSWERS, "basis ": ANSWERS["basis"]}):
        parquet.write_table(pa.table(other), tmp_path / "kept.parquet")
        with pytest.raises(GoalMissed, match=r"kept\.parquet holds"):
            compare(tmp_path / "kept.parquet", made)
    parquet.write_table(pa.table({name: ANSWERS[name] for name in reversed(ANSWERS)}), tmp_path / "kept.parquet")
    with pytest.raises(GoalMissed, match="rows of basis, upper"):
        compare(tmp_path / "kept.parquet", made)
