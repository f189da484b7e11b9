"""The choice of rows: every set of K of a person's rows equally likely, a function of the key and of that person's rows
alone, whatever order and batches they come in, and whoever else is there.

Bounding against a dictionary: who is kept, how often, and what is left out.
"""

import itertools
from collections import Counter, defaultdict
from math import comb

import numpy as np
import pyarrow as pa
import pytest

from dpqr.kernel.errors import DataError
from dpqr.tables import persons as bounding
from dpqr.tables.persons import Bounding, smallest_tickets

HIGH = 2**63
KEY = bytes(range(32))


def choice(monkeypatch, owners, tickets, most, ranks=None):
    """The rows kept where crowded owners' tickets are these, in the order of their rows."""

    def words(key, names, counts):
        assert [len(name) for name in names] == [1] * len(counts)
        crowded = [ticket for owner, ticket in zip(owners, tickets, strict=True) if owners.count(owner) > most]
        assert sum(counts) == len(crowded)
        return np.array(crowded, dtype=np.uint64)

    monkeypatch.setattr(bounding, "keyed_words", words)
    people = pa.array(range(max(owners, default=0) + 1), pa.int64())
    ranked = None if ranks is None else np.array(ranks, dtype=np.uint64)
    return tuple(np.flatnonzero(smallest_tickets(np.array(owners, dtype=np.int64), people, most, KEY, ranked)).tolist())


@pytest.mark.parametrize("owners", [(0, 0, 0), (0, 0, 0, 1, 1), (0, 0, 1, 2, 2, 2)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_each_persons_choice_is_uniform_and_independent_of_the_others(monkeypatch, owners, most) -> None:
    """All orders of distinct tickets are equally likely; so are then all combinations of the persons' choices."""
    found = Counter(
        choice(monkeypatch, owners, [rank << 40 for rank in ranks], most)
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


def test_the_last_digits_of_a_ticket_count_and_equal_ones_go_by_the_rows_order(monkeypatch) -> None:
    """Whatever others there are: the word that is sorted first has no room for all digits where they are many."""
    for others in ((), (5,), (700,)):
        owners, tickets = (0, 0, *others), [HIGH + 1, HIGH, *(3 for _ in others)]
        assert choice(monkeypatch, owners, tickets, 1)[0] == 1
        assert choice(monkeypatch, owners, [HIGH, HIGH, *(3 for _ in others)], 1)[0] == 0


def test_persons_with_few_rows_need_no_ticket(monkeypatch) -> None:
    assert choice(monkeypatch, (0, 1, 2), (4, 4, 4), 1) == (0, 1, 2)
    assert choice(monkeypatch, (0, 0), (4, 4), 2) == (0, 1)
    assert choice(monkeypatch, (), (), 1) == ()


def test_many_rows_against_a_sort_of_each_person(monkeypatch) -> None:
    generator = np.random.default_rng(5)
    owners = np.sort(generator.integers(0, 9, 5000)).tolist()
    tickets = generator.integers(0, 2**64, 5000, dtype=np.uint64)
    kept = set(choice(monkeypatch, owners, tickets.tolist(), 7))
    for owner in range(9):
        rows = sorted(np.flatnonzero(np.array(owners) == owner).tolist(), key=lambda row: int(tickets[row]))
        assert kept.intersection(rows) == set(rows[:7])


def ranked_rows(sizes):
    """All rising ranks of persons with so many rows each, from 0 to 2."""
    each = [list(itertools.combinations_with_replacement(range(3), size)) for size in sizes]
    return itertools.product(*each)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(4,), (3, 3), (1, 3, 2), (3, 0, 1, 3)], ids=str)
def test_each_person_keeps_the_rows_of_the_lowest_ranks_whatever_ranks_their_neighbours_have(
    monkeypatch, sizes, most
) -> None:
    """All ranks, equal ones of neighbouring persons among them, with tickets in several orders: by the definition."""
    owners = tuple(owner for owner, size in enumerate(sizes) for _ in range(size))
    generator = np.random.default_rng(3)
    for given in ranked_rows(sizes):
        ranks = [rank for each in given for rank in each]
        tickets = (generator.permutation(len(owners)) << 40).tolist()
        expected = []
        for owner in range(len(sizes)):
            mine = [row for row, each in enumerate(owners) if each == owner]
            expected += sorted(mine, key=lambda row: (ranks[row], tickets[row]))[:most]
        assert choice(monkeypatch, owners, tickets, most, ranks) == tuple(sorted(expected))


PLENTY = 2**32


def bounded(most, batches, *, memory=PLENTY, key=KEY):
    """batches: lists of (person, code), code None where a rule drops the row."""
    made = Bounding(most, 1, memory, key)
    for batch in batches:
        people = pa.array([person for person, _ in batch], pa.int64())
        passed = np.array([place for place, (_, code) in enumerate(batch) if code is not None], dtype=np.int64)
        codes = np.array([[code for _, code in batch if code is not None]], dtype=np.uint64)
        made.add(people, passed, codes)
    return made.finish()


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("row_bytes", [2**9, PLENTY // 50])
def test_no_person_keeps_more_than_the_bound_among_persons_of_equal_ranks(monkeypatch, ranked, row_bytes) -> None:
    """Three rows of rank 0 and 1 of each person: of K = 2 two are kept, those of rank 0 first, however they come."""
    monkeypatch.setattr(bounding, "_ROW", row_bytes)
    for zeros in range(4):
        made = Bounding(2, 2, PLENTY, KEY, ranked=ranked)
        rows = [(person, int(row >= zeros), 10 * person + row) for person in range(4) for row in range(3)]
        for batch in (rows[1::2], rows[::2]):
            codes = np.array([[rank for _, rank, _ in batch], [code for *_, code in batch]], dtype=np.uint64)
            made.add(pa.array([person for person, *_ in batch], pa.int64()), np.arange(len(batch)), codes)
        found = made.finish()
        assert np.bincount(found.owners).tolist() == [2] * 4
        assert found.lost == 4
        if ranked:
            assert found.rows[0].tolist().count(0) == 4 * min(2, zeros)


def kept_rows(found):
    """The kept rows of each person's number."""
    return Counter(zip(found.owners.tolist(), found.rows[0].tolist(), strict=True))


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_keeps_the_same_rows_in_any_order_and_company(monkeypatch, most) -> None:
    """So a table without the person differs by that person's rows, under every key."""
    monkeypatch.setattr(bounding, "_ROW", PLENTY // 50)
    mine = [(0, code) for code in (3, 3, 3, 8, 1, None, 8, 2**63, 4)]
    others = [(1 + person % 40, person % 7) for person in range(300)]
    expected = kept_rows(bounded(most, [mine]))
    assert sum(expected.values()) == most
    for turn in range(4):
        mixed = mine[turn:] + others + mine[:turn]
        for size in (1, 50, 400):
            found = bounded(most, [[mine[4]], *(mixed[start : start + size] for start in range(0, len(mixed), size))])
            again = bounded(most, [[*mine, mine[4]]])
            assert Counter({each: n for each, n in kept_rows(found).items() if each[0] == 0}) == kept_rows(again)
    alone = kept_rows(bounded(most, [others]))
    assert sorted((code, n) for (_, code), n in alone.items()) == sorted(
        (code, n) for (owner, code), n in kept_rows(bounded(most, [[*mine, *others]])).items() if owner
    )


def test_equal_rows_are_as_likely_as_other_rows() -> None:
    """One of nine equal rows and one other: a normal variable beyond 6.5 deviations has probability below 1e-10."""
    found = bounded(1, [[(person, int(turn == 4)) for person in range(9000)] for turn in range(10)])
    assert abs(int(found.rows[0].sum()) - 900) < 6.5 * (9000 * 0.1 * 0.9) ** 0.5


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


def test_equal_rows_take_no_memory() -> None:
    """A hundred thousand rows of few persons pass where a hundred thousand persons would not."""
    batches = [[(row % 10, row) for row in range(1000)] for _ in range(100)]
    assert bounded(2, batches, memory=10**6).rows.shape == (1, 20)


def test_every_person_has_tickets_of_their_own() -> None:
    """Two persons choose one of two rows each: all four outcomes come up under 100 keys but for 2e-12."""
    rows = [(0, 0), (0, 1), (1, 2), (1, 3)]
    keys = [bytes([number]) * 32 for number in range(100)]
    found = {tuple(sorted(bounded(1, [rows], key=key).rows[0].tolist())) for key in keys}
    assert found == {(0, 2), (0, 3), (1, 2), (1, 3)}
