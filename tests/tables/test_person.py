"""Persons by their exact text, whatever type a file writes them in.

Groups of persons: a function of the person and the key only, and about equally large.
"""

import numpy as np
import pyarrow as pa
import pytest
from support.scripted_noise import ScriptedNoise

from dpqr.kernel.noise.source import SeededNoise
from dpqr.tables.persons import Splitter, as_text, distinct, person_refusal, persons


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


NAMES = [f"person {number}" for number in range(3000)]


def groups(splitter, *cells):
    return splitter.group(persons(pa.array(*cells))[0]).tolist()


def test_a_persons_group_depends_on_nobody_else() -> None:
    splitter = Splitter.draw(5, SeededNoise(1))
    together = groups(splitter, NAMES)
    assert together == [groups(splitter, [name])[0] for name in NAMES]
    assert groups(splitter, pa.array(["gone", *NAMES]).slice(1)) == together
    assert groups(Splitter.draw(5, SeededNoise(2)), NAMES) != together


def test_a_number_and_its_text_fall_into_one_group() -> None:
    splitter = Splitter.draw(7, SeededNoise(3))
    assert groups(splitter, list(range(500))) == groups(splitter, [str(number) for number in range(500)])
    assert groups(splitter, ["x", *map(str, range(500))])[1:] == groups(splitter, list(range(500)))


@pytest.mark.parametrize("count", [2, 3, 10])
@pytest.mark.parametrize("cells", [NAMES, list(range(3000)), ["a" * 63 + chr(number + 200) for number in range(3000)]])
def test_groups_are_about_equally_large(cells, count) -> None:
    """Six standard deviations, in a seeded run."""
    sizes = np.bincount(groups(Splitter.draw(count, SeededNoise(4)), cells), minlength=count)
    assert len(sizes) == count
    assert np.abs(sizes - 3000 / count).max() < 6 * (3000 / count) ** 0.5


def test_every_byte_of_a_name_counts() -> None:
    splitter = Splitter.draw(2**31, SeededNoise(5))
    names = [
        "abc",
        "acb",
        "abcc",
        "ab",
        "bbc",
        "x" * 64,
        "x" * 63 + "y",
        "y" + "x" * 63,
        "x" * 65,
        "x" * 999 + "y",
        "x" * 1000,
    ]
    assert len(set(groups(splitter, names))) == len(names)


def test_one_group_needs_no_key() -> None:
    assert groups(Splitter.draw(1, ScriptedNoise([])), NAMES) == [0] * len(NAMES)
    assert groups(Splitter.draw(4, SeededNoise(1)), pa.array([], pa.string())) == []


@pytest.mark.parametrize("start", [1, 7])
def test_a_slice_of_persons_has_the_groups_of_its_own_rows(start) -> None:
    splitter = Splitter.draw(1000, SeededNoise(6))
    people = pa.array([name.encode() * (1 + place % 3) for place, name in enumerate(NAMES)], pa.large_binary())
    assert splitter.group(people.slice(start)).tolist() == splitter.group(people).tolist()[start:]
