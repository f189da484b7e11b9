"""Groups of persons: a function of the person and the key only, and about equally large."""

import numpy as np
import pyarrow as pa
import pytest
from support.scripted_noise import ScriptedNoise

from dpqr.io.tables.persons.person import persons
from dpqr.io.tables.persons.splitter import Splitter
from dpqr.noise.source import SeededNoise

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
