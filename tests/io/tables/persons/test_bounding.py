"""The choice of rows: every set of K of a person's rows equally likely, each person apart, and ties without a say.

Bounding against a dictionary: who is kept, how often, and what is left out.
"""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from support.scripted_noise import ScriptedNoise, outcomes

from dpqr.errors import DataError
from dpqr.io.tables.persons import bounding
from dpqr.io.tables.persons.bounding import Bounding, fresh_tickets, smallest_tickets
from dpqr.noise.source import SeededNoise

HIGH, LOW = 2**63, 0
NO_NOISE = ScriptedNoise([])


def choice(owners, tickets, most, noise=NO_NOISE):
    kept, tickets = smallest_tickets(np.array(owners), np.array(tickets, dtype=np.uint64), most, noise)
    return tuple(np.flatnonzero(kept).tolist()), tickets


@pytest.mark.parametrize("owners", [(0, 0, 0), (0, 1, 0, 1, 0), (2, 0, 2, 1, 0, 2)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_each_persons_choice_is_uniform_and_independent_of_the_others(owners, most) -> None:
    """All orders of distinct tickets are equally likely; so are then all combinations of the persons' choices."""
    found = Counter(
        choice(owners, [[rank << 40 for rank in ranks]], most)[0]
        for ranks in itertools.permutations(range(len(owners)))
    )
    ways = 1
    for rows in Counter(owners).values():
        ways *= comb(rows, min(rows, most))
    assert len(found) == ways
    assert len(set(found.values())) == 1
    for kept in found:
        assert Counter(owners[row] for row in kept) == {
            owner: min(rows, most) for owner, rows in Counter(owners).items()
        }


@pytest.mark.parametrize(("rows", "most", "depth"), [(2, 1, 8), (3, 1, 6), (3, 2, 6), (4, 2, 4)])
def test_ties_have_no_say(rows, most, depth) -> None:
    """Tickets of a few digits tie often. Of what is decided within `depth` words, every set has the same share."""

    def draw(noise):
        return choice([0] * rows, fresh_tickets(rows, 1, noise), most, noise)[0]

    found: dict[tuple[int, ...], Fraction] = {}
    for kept, share in outcomes(draw, (LOW, 2**62, HIGH, HIGH + 2**62), depth):
        found[kept] = found.get(kept, Fraction(0)) + share
    assert len(found) == comb(rows, most)
    assert len(set(found.values())) == 1
    assert sum(found.values()) >= Fraction(3, 32)


def test_more_digits_are_drawn_for_all_and_kept() -> None:
    kept, tickets = choice([0, 0, 1], [[HIGH, HIGH, LOW]], 1, ScriptedNoise([5, 3, 9]))
    assert kept == (1, 2)
    assert tickets.tolist() == [[HIGH, HIGH, LOW], [5, 3, 9]]


def test_a_second_level_decides_what_the_first_leaves_equal_only() -> None:
    assert choice([0, 0, 0], [[7, 7, 8], [9, 1, 0]], 1)[0] == (1,)
    assert choice([0, 0, 0], [[7, 7, 8], [9, 1, 0]], 2)[0] == (0, 1)


def test_digits_below_the_leading_ones_of_the_key_count() -> None:
    """The key that is sorted first has no room for the last digits where there are several owners."""
    assert choice([0, 0, 5, 5], [[HIGH + 1, HIGH, 4, 5]], 1)[0] == (1, 2)


def test_equal_tickets_of_different_persons_or_of_persons_with_few_rows_need_no_more() -> None:
    assert choice([0, 1, 2], [[4, 4, 4]], 1)[0] == (0, 1, 2)
    assert choice([0, 0], [[4, 4]], 2)[0] == (0, 1)
    assert choice([], [[]], 1)[0] == ()


def test_many_rows_against_a_sort_of_each_person() -> None:
    generator = np.random.default_rng(5)
    owners = generator.integers(0, 400, 5000)
    tickets = generator.integers(0, 2**64, (1, 5000), dtype=np.uint64)
    kept = set(choice(owners, tickets, 7, SeededNoise(1))[0])
    for owner in range(400):
        rows = sorted(np.flatnonzero(owners == owner).tolist(), key=lambda row: int(tickets[0, row]))
        assert kept.intersection(rows) == set(rows[:7])


PLENTY = 2**32


def bounded(most, batches, *, memory=PLENTY, seed=1):
    """batches: lists of (person, code), code None where a rule drops the row."""
    made = Bounding(most, 1, memory, SeededNoise(seed))
    for batch in batches:
        people = pa.array([person for person, _ in batch], pa.int64())
        passed = np.array([place for place, (_, code) in enumerate(batch) if code is not None], dtype=np.int64)
        codes = np.array([[code for _, code in batch if code is not None]], dtype=np.uint64)
        made.add(people, passed, codes)
    return made.finish()


def rows_of(seed, count=400, people=40):
    generator = np.random.default_rng(seed)
    codes = [None if generator.integers(4) == 0 else number for number in range(count)]
    return list(zip(generator.integers(0, people, count).tolist(), codes, strict=True))


@pytest.mark.parametrize("most", [1, 3, 50])
@pytest.mark.parametrize("size", [1, 7, 400])
@pytest.mark.parametrize("row_bytes", [2**9, PLENTY // 50])
def test_of_each_person_as_many_rows_as_there_are_up_to_the_bound(monkeypatch, most, size, row_bytes) -> None:
    """Whether rows are merged in many times or once."""
    monkeypatch.setattr(bounding, "_ROW", row_bytes)
    rows = rows_of(3)
    found = bounded(most, [rows[start : start + size] for start in range(0, len(rows), size)])
    valid, read = defaultdict(list), Counter(person for person, _ in rows)
    for person, code in rows:
        valid[person] += [] if code is None else [code]
    owner = {code: person for person, codes in valid.items() for code in codes}
    kept = Counter(owner[code] for code in found.rows[0].tolist())
    assert len(set(found.rows[0].tolist())) == found.rows.shape[1]
    assert kept == {person: min(most, len(codes)) for person, codes in valid.items() if codes}
    assert found.persons == len(read)
    assert found.lost == sum(min(most, count - kept[person]) for person, count in read.items())


@pytest.mark.parametrize("row_bytes", [2**9, PLENTY // 5])
def test_early_and_late_rows_are_kept_alike(monkeypatch, row_bytes) -> None:
    """One of 12 rows of each of 6,000 persons, in 12 batches that are merged one by one: a chi-square of 11 degrees
    of freedom stays below 75 but for 1e-11."""
    monkeypatch.setattr(bounding, "_ROW", row_bytes)
    found = bounded(1, [[(person, turn) for person in range(6000)] for turn in range(12)])
    seen = np.bincount(found.rows[0].astype(np.int64), minlength=12)
    assert ((seen - 500) ** 2 / 500).sum() < 75


def test_nobody_and_persons_of_whom_nothing_passes() -> None:
    assert (bounded(2, []).persons, bounded(2, []).rows.shape, bounded(2, []).lost) == (0, (1, 0), 0)
    found = bounded(2, [[(5, None), (5, None), (5, None), (6, None)]])
    assert (found.persons, found.rows.shape, found.lost) == (2, (1, 0), 3)


def test_persons_beyond_the_declared_memory_are_refused_in_constant_words() -> None:
    rows = [(person, 0) for person in range(3000)]
    assert bounded(1, [rows], memory=10**6).persons == 3000
    said = set()
    for extra in (0, 1000):
        with pytest.raises(DataError) as caught:
            bounded(1, [[(person, 0) for person in range(6000 + extra)]], memory=10**6)
        said.add(str(caught.value))
    assert len(said) == 1


def test_rows_that_are_lost_take_no_memory() -> None:
    """A hundred thousand rows of few persons pass where a hundred thousand persons would not."""
    batches = [[(row % 10, row) for row in range(1000)] for _ in range(100)]
    assert bounded(2, batches, memory=10**6).rows.shape == (1, 20)


def test_every_row_has_a_ticket_of_its_own() -> None:
    """Two persons choose one of two rows each: all four outcomes come up in 100 runs but for 2e-12."""
    rows = [(0, 0), (0, 1), (1, 2), (1, 3)]
    for batches in ([rows], [rows[:2], rows[2:]], [[one] for one in rows], [[rows[0], rows[2], rows[1], rows[3]]]):
        found = {tuple(sorted(bounded(1, batches, seed=seed).rows[0].tolist())) for seed in range(100)}
        assert found == {(0, 2), (0, 3), (1, 2), (1, 3)}
