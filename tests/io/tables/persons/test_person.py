"""Persons by their exact text, whatever type a file writes them in."""

import numpy as np
import pyarrow as pa
import pytest

from dpqr.io.tables.persons.person import as_text, distinct, person_refusal, persons


def people(cells):
    found, present = persons(cells)
    return [None if one is None else one.decode() for one in as_text(found).to_pylist()], present.tolist()


@pytest.mark.parametrize(
    ("cells", "found", "present"),
    [
        (pa.array(["b", None, "", "b", " "]), ["b", "b", " "], [True, False, False, True, True]),
        (pa.array([7, None, -1]), ["7", "-1"], [True, False, True]),
        (pa.array([7, 2**64 - 1], pa.uint64()), ["7", str(2**64 - 1)], [True, True]),
        (pa.array(["7", "07"]), ["7", "07"], [True, True]),
        (pa.array(["7", "-12"]), ["7", "-12"], [True, True]),
        (pa.array(["+7", "7", "-0"]), ["+7", "7", "-0"], [True, True, True]),
        (pa.array([None, None]), [], [False, False]),
        (pa.array(["x", None, ""]).dictionary_encode(), ["x"], [True, False, False]),
        (pa.array([3, None]).dictionary_encode(), ["3"], [True, False]),
        (pa.array(["é"], pa.large_string()), ["é"], [True]),
        (pa.array([], pa.string()), [], []),
    ],
)
def test_who_a_row_belongs_to(cells, found, present) -> None:
    assert people(cells) == (found, present)


def test_text_that_is_none_is_a_person_like_any_other() -> None:
    damaged = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
    found, _ = persons(damaged)
    assert found.to_pylist() == [b"\xff", b"\xfe"]


def test_whole_numbers_as_text_are_the_numbers() -> None:
    assert persons(pa.array(["5", "12"]))[0].type == pa.int64()
    assert persons(pa.array(["5", "x"]))[0].type == pa.large_binary()


def test_distinct_persons_over_arrays_and_types() -> None:
    numbers, texts = persons(pa.array([7, 8, 7]))[0], persons(pa.array(["x", "8", "07"]))[0]
    known, places = distinct([numbers, texts])
    assert known.to_pylist() == [b"7", b"8", b"x", b"07"]
    assert places.tolist() == [0, 1, 0, 2, 1, 3]
    known, places = distinct([numbers, numbers])
    assert known.to_pylist() == [7, 8]
    assert places.tolist() == [0, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.int8(), pa.uint64()])
def test_types_that_name_persons(kind) -> None:
    assert person_refusal(kind) is None


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.date32(), pa.list_(pa.int8()), pa.decimal128(5, 0)])
def test_types_that_do_not(kind) -> None:
    assert "persons" in person_refusal(kind)
