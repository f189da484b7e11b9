import numpy as np
import pyarrow as pa
import pytest

from dpqr.domain.attribute import Attribute, Codes, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.tables.encoders import RowEncoder, record_counts


def domain(null_a: Rule = Rule.DROP, null_b: Rule = Rule.CELL) -> Domain:
    return Domain(
        (
            Attribute(name="a", axis=Codes(3), rules={"null": null_a, "outside": Rule.DROP}),
            Attribute(name="b", axis=Labels(("x", "y")), rules={"null": null_b}, missing=("", "NA")),
        )
    )


def encode(batch: dict, declared: Domain, *, text: bool = False, cap: int | None = None):
    return RowEncoder.of(declared, text=text, count_cap=cap).encode(pa.record_batch(batch))


def rows(coded) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in coded.codes), strict=True))


def test_a_row_is_left_out_if_any_cell_is_dropped() -> None:
    coded = encode({"a": pa.array([0, None, 2, 9]), "b": pa.array(["x", "x", None, "y"])}, domain())
    assert rows(coded) == [(0, 0), (2, 2)]
    assert (coded.rows, coded.read, coded.counts, coded.failed) == (2, 4, None, frozenset())


def test_counts_follow_their_rows() -> None:
    batch = {"a": pa.array([0, None, 2]), "b": pa.array(["x", "x", "y"]), "n": pa.array([5, 7, 0])}
    coded = encode(batch, domain(), cap=10)
    assert (rows(coded), coded.counts.tolist(), coded.read) == ([(0, 0), (2, 1)], [5, 0], 12)


def test_every_broken_fail_rule_is_told() -> None:
    batch = {"a": pa.array([0, None, 1]), "b": pa.array(["x", "z", None])}
    coded = encode(batch, domain(Rule.FAIL, Rule.FAIL))
    assert coded.failed == {"a", "b"}
    assert encode({"a": pa.array([0]), "b": pa.array(["x"])}, domain(Rule.FAIL, Rule.FAIL)).failed == frozenset()


def test_missing_texts_stand_for_null_in_text_tables_only() -> None:
    text = {"a": ["0", "", "2"], "b": ["NA", "x", ""]}
    assert rows(encode(text, domain(), text=True)) == [(0, 2), (2, 2)]
    typed = {"a": pa.array([0, 1]), "b": pa.array(["NA", "x"])}
    assert rows(encode(typed, domain())) == [(1, 0)]


def test_dictionaries_are_looked_up_and_unused_entries_do_nothing() -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2, 1], pa.int8()), pa.array(["y", "x", None, "gone"]))
    batch = {"a": pa.array([0, 0, 1, 1, 2]), "b": labels}
    assert rows(encode(batch, domain())) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 0)]
    strict = Domain((Attribute(name="b", axis=Labels(("x", "y")), rules={"outside": Rule.FAIL}),))
    used = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", "y", "gone"]))
    assert encode({"b": used}, strict).failed == frozenset()
    assert encode({"b": pa.DictionaryArray.from_arrays(pa.array([2]), pa.array(["x", "y", "gone"]))}, strict).failed
    codes = pa.array([2, 0]).dictionary_encode()
    assert rows(encode({"a": codes, "b": pa.array(["x", "y"])}, domain())) == [(2, 0), (0, 1)]
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    assert rows(encode({"a": pa.array([0]), "b": empty}, domain())) == [(0, 2)]


def test_a_column_without_any_value() -> None:
    assert rows(encode({"a": pa.array([0, 1]), "b": pa.nulls(2)}, domain())) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    "cells",
    [pa.array([0, 3, 10]), pa.array([0, 3, 10], pa.uint8()), pa.array([0.0, 3.0, 10.0]), pa.array(["0", "3", "1e1"])],
)
def test_record_counts(cells) -> None:
    found, good = record_counts(cells, 10)
    assert (found.tolist(), found.dtype, good.all()) == ([0, 3, 10], np.int64, True)


@pytest.mark.parametrize(
    "cells",
    [[-1], [11], [1, None], [2.5], [float("nan")], [float("inf")], [None]],
)
def test_cells_that_are_no_record_counts(cells) -> None:
    """Their rows are malformed, and stand for no record."""
    for counts in (pa.array([3, *cells]), pa.array([3, *cells]).dictionary_encode()):
        found, good = record_counts(counts, 10)
        assert (found.sum(), good.sum()) == (3 + (cells == [1, None]), 1 + (cells == [1, None]))
        batch = {"a": pa.array([0] * len(counts)), "b": pa.array(["x"] * len(counts)), "n": counts}
        coded = encode(batch, domain(), cap=10)
        assert (coded.failed, len(coded.malformed), coded.read) == (frozenset(), 1, found.sum())
        assert coded.kept == coded.read


@pytest.mark.parametrize("cell", ["x", "", "-1", "2.5", "11", "nan"])
def test_texts_that_are_no_record_counts(cell) -> None:
    assert [each.tolist() for each in record_counts(pa.array(["1", cell]), 10)] == [[1, 0], [True, False]]
    coded = encode({"a": ["0", ""], "b": ["x", "y"], "n": ["4", cell]}, domain(Rule.FAIL), text=True, cap=10)
    assert (rows(coded), coded.counts.tolist(), coded.failed) == ([(0, 0)], [4], frozenset())


def test_a_total_beyond_64_bits_is_exact() -> None:
    batch = {"a": pa.array([0] * 8192), "b": pa.array(["x"] * 8192), "n": pa.array([2**52] * 8192)}
    assert encode(batch, domain(), cap=2**52).read == 2**65
