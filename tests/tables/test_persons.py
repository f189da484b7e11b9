"""Persons by their exact text, whatever type a file writes them in.

Groups of persons: a function of the person and the key only, and about equally large."""

import csv
import io
import itertools
from collections import Counter, defaultdict
from math import comb
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import force_setattr
from pyarrow import parquet
from support.cases import in_one_test, thinned
from support.scripted_noise import ScriptedNoise

from dpqr.domain.attribute import Attribute, Codes, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Packing, PersonTable
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.noise.source import KeyedNoise, SeededNoise, SystemNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.tables import load as loading
from dpqr.tables import persons as bounding
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.persons import (
    Bounding,
    PersonTally,
    Splitter,
    as_text,
    distinct,
    person_refusal,
    persons,
    smallest_tickets,
)
from dpqr.tables.source import TableSource


def people(cells):
    found, present = persons(cells)
    return [None if one is None else one.decode() for one in as_text(found).to_pylist()], present.tolist()


@in_one_test(
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


def test_bytes_that_are_no_text_name_a_person_and_whole_numbers_as_text_are_the_numbers() -> None:
    damaged = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
    assert persons(damaged)[0].to_pylist() == [b"\xff", b"\xfe"]
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


def test_whole_numbers_and_texts_name_persons_and_other_types_do_not() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.int8(), pa.uint64()):
        assert person_refusal(kind) is None
    for kind in (pa.float64(), pa.bool_(), pa.date32(), pa.list_(pa.int8()), pa.decimal128(5, 0)):
        assert "persons" in person_refusal(kind)


NAMES = [f"person {number}" for number in range(3000)]


def groups(splitter, *cells):
    return splitter.group(persons(pa.array(*cells))[0]).tolist()


def test_a_persons_group_depends_on_nobody_else() -> None:
    splitter = Splitter.draw(5, SeededNoise(1))
    together = groups(splitter, NAMES)
    assert together[::10] == [groups(splitter, [name])[0] for name in NAMES[::10]]
    assert groups(splitter, pa.array(["gone", *NAMES]).slice(1)) == together
    assert groups(Splitter.draw(5, SeededNoise(2)), NAMES) != together


def test_a_number_and_its_text_fall_into_one_group() -> None:
    splitter = Splitter.draw(7, SeededNoise(3))
    assert groups(splitter, list(range(500))) == groups(splitter, [str(number) for number in range(500)])
    assert groups(splitter, ["x", *map(str, range(500))])[1:] == groups(splitter, list(range(500)))


@in_one_test("count", [2, 3, 10])
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


@in_one_test("start", [1, 7])
def test_a_slice_of_persons_has_the_groups_of_its_own_rows(start) -> None:
    splitter = Splitter.draw(1000, SeededNoise(6))
    people = pa.array([name.encode() * (1 + place % 3) for place, name in enumerate(NAMES)], pa.large_binary())
    assert splitter.group(people.slice(start)).tolist() == splitter.group(people).tolist()[start:]


# The choice of rows: every set of K of a person's rows equally likely, a function of the key and of that person's rows

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


@pytest.mark.parametrize("owners", thinned([(0, 0, 0), (0, 0, 0, 1, 1), (0, 0, 1, 2, 2, 2)], 3))
@pytest.mark.parametrize("most", thinned([1, 2, 3], 3))
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


@pytest.mark.slow
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


@pytest.mark.parametrize("most", thinned([1, 2, 3], 2))
@pytest.mark.parametrize("sizes", thinned([(4,), (3, 3), (1, 3, 2), (3, 0, 1, 3)], 2), ids=str)
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


@in_one_test("ranked", [False, True])
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


@in_one_test("most", [1, 2, 5])
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


@in_one_test("most", [1, 3, 50])
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


@in_one_test("row_bytes", [2**9, PLENTY // 5])
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


# The loader where the unit is a person: the same law in whatever order, batches, files and passes the rows come.

DOMAIN = Domain((Attribute(name="k", axis=Codes(6), rules={"outside": Rule.DROP}),))
ROWS = [("a", 0), ("b", 1), ("a", 2), ("", 5), ("c", 3), ("a", 9), ("b", 1), ("c", 8), ("d", 7), ("c", 4)]
TWO = PrivacyUnit(columns=("pid",), rows=2)
ONE = PrivacyUnit(columns=("pid",), rows=1)


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("pid", "other", "k"), *((person, "x", k) for person, k in rows)])


def loaded(*paths, unit=TWO, noise=None, limits=None, **more):
    table = load_table(
        TableSource(paths=tuple(map(str, paths))),
        DOMAIN,
        limits or Limits(),
        unit=unit,
        noise=noise or SystemNoise(),
        **more,
    )
    counts, dropped = (each._unseal(SealKey()) for each in (table.counts, table.dropped))
    return tuple(counts.marginal((0,)).tolist()), int(dropped.marginal(()))


@pytest.fixture(params=[1, 3])
def passes(request, monkeypatch):
    monkeypatch.setattr(loading, "group_count", lambda *_: request.param)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("kind", thinned(["csv", "parquet", "dictionary", "numbers"], 2))
@pytest.mark.parametrize("parts", [1, 3])
def test_what_is_certain_of_the_kept_rows(tmp_path, kind, parts) -> None:
    for part in range(parts):
        rows = ROWS[part::parts]
        if kind == "csv":
            write(tmp_path / f"{part}.csv", rows)
            continue
        people = pa.array([person or None for person, _ in rows], pa.string())
        if kind == "dictionary":
            people = people.dictionary_encode()
        if kind == "numbers":
            people = pa.array([ord(person) if person else None for person, _ in rows], pa.int16())
        table = pa.table({"k": [k for _, k in rows], "pid": people})
        parquet.write_table(table, tmp_path / f"{part}.parquet", row_group_size=2)
    counts, dropped = loaded(tmp_path)
    assert counts == (1, 2, 1, 1, 1, 0)
    assert dropped == 1 + 0 + 1 + 1
    counts, dropped = loaded(tmp_path, unit=ONE)
    assert counts[0] + counts[2] == counts[1] == counts[3] + counts[4] == 1
    assert dropped == 4


@pytest.mark.usefixtures("passes")
def test_one_person_is_one_in_files_of_different_types(tmp_path) -> None:
    parquet.write_table(pa.table({"k": [0, 1], "pid": pa.array([7, 8])}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"k": [2, 3], "pid": pa.array(["7", "07"])}), tmp_path / "1.parquet")
    counts, _ = loaded(tmp_path, unit=ONE)
    assert counts[0] + counts[2] == counts[1] == counts[3] == 1


@pytest.mark.slow
def test_the_law_does_not_depend_on_order_files_and_passes(tmp_path, monkeypatch) -> None:
    """a keeps 0 or 2, c keeps 3 or 4, each pair of choices a quarter of the time: of 128 runs, each count lies within
    six standard deviations of 32."""
    write(tmp_path / "one.csv", ROWS)
    (tmp_path / "many").mkdir()
    for part in range(4):
        write(tmp_path / "many" / f"{part}.csv", ROWS[::-1][part::4])
    noise = SeededNoise(11)
    for path, groups in ((tmp_path / "one.csv", 1), (tmp_path / "many", 2)):
        monkeypatch.setattr(loading, "group_count", lambda *_, groups=groups: groups)
        seen = Counter(loaded(path, unit=ONE, noise=noise)[0] for _ in range(128))
        expected = {(1 - a, 1, a, 1 - c, c, 0) for a in (0, 1) for c in (0, 1)}
        assert set(seen) == expected
        assert all(abs(count - 32) < 30 for count in seen.values())


@pytest.mark.usefixtures("passes")
def test_the_declared_number_is_of_persons_whose_rows_are_dropped_too(tmp_path) -> None:
    write(tmp_path / "t.csv", ROWS)
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("pid",), rows=2)
    assert loaded(tmp_path / "t.csv", unit=unit, declared=4)[0] == (1, 2, 1, 1, 1, 0)
    for wrong in (3, 5, 10):
        with pytest.raises(DataError, match=f"declared number of persons in column 'pid', {wrong};"):
            loaded(tmp_path / "t.csv", unit=unit, declared=wrong)


def test_standard_input_is_read_once(monkeypatch) -> None:
    text = "pid,k\n" + "".join(f"{person},{k}\n" for person, k in ROWS)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert loaded("-") == ((1, 2, 1, 1, 1, 0), 3)


def test_persons_beyond_memory_are_refused(tmp_path, monkeypatch) -> None:
    """Where they must fit together, as on standard input; in three passes the same table fits."""
    write(tmp_path / "t.csv", [(person, 0) for person in range(6000)])
    small = Limits()
    force_setattr(small, "memory", 10**6)
    monkeypatch.setattr(loading, "group_count", lambda *_: 1)
    with pytest.raises(DataError, match="raise --max-memory"):
        loaded(tmp_path / "t.csv", limits=small)
    monkeypatch.setattr(loading, "group_count", lambda *_: 3)
    assert loaded(tmp_path / "t.csv", limits=small)[0][0] == 6000


def test_a_cap_on_records_holds_in_every_pass(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(loading, "group_count", lambda *_: 3)
    write(tmp_path / "t.csv", ROWS)
    assert sum(loaded(tmp_path / "t.csv", limits=Limits(records=10))[0]) == 6
    with pytest.raises(DataError, match="more records than the declared limit"):
        loaded(tmp_path / "t.csv", limits=Limits(records=9))


def test_progress_is_the_same_whatever_the_passes_and_the_sizes(tmp_path, monkeypatch) -> None:
    for groups, rows in ((1, ROWS), (3, ROWS), (2, ROWS * 9999)):
        monkeypatch.setattr(loading, "group_count", lambda *_, groups=groups: groups)
        write(tmp_path / "t.csv", rows)
        told = []
        loaded(tmp_path / "t.csv", progress=told.append)
        assert told == list(range(0, 101, 10))


def test_a_choice_from_the_same_key_is_the_same_choice(tmp_path, monkeypatch) -> None:
    """Whatever the batches: what a run that is continued keeps."""
    rows = [(f"p{place % 200}", place % 6) for place in range(6000)]
    write(tmp_path / "t.csv", rows)
    found = set()
    for memory in (2**28, 2**30):
        found.add(loaded(tmp_path / "t.csv", noise=KeyedNoise(b"k" * 32), limits=Limits(memory=memory)))
    assert len(found) == 1
    assert loaded(tmp_path / "t.csv", noise=KeyedNoise(b"l" * 32)) not in found
    monkeypatch.setattr(loading, "group_count", lambda *_: 3)
    assert loaded(tmp_path / "t.csv", noise=KeyedNoise(b"k" * 32)) == loaded(
        tmp_path / "t.csv", noise=KeyedNoise(b"k" * 32)
    )


@in_one_test(
    ("source", "unit", "error", "words"),
    [
        ({}, PrivacyUnit(columns=("nobody",)), DataError, "no column 'nobody'"),
        ({}, PrivacyUnit(columns=("k",)), UsageFault, "--unit 'k' is a column of the domain"),
        ({"count_column": "other"}, TWO, UsageFault, "--unit cannot go with --counts"),
    ],
)
def test_units_that_a_table_cannot_have(tmp_path, source, unit, error, words) -> None:
    write(tmp_path / "t.csv", ROWS)
    with pytest.raises(error, match=words):
        load_table(TableSource(paths=(str(tmp_path / "t.csv"),), **source), DOMAIN, Limits(), unit=unit)


def test_a_column_of_no_persons_is_refused(tmp_path) -> None:
    parquet.write_table(pa.table({"k": [0], "pid": pa.array([1.5])}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="persons"):
        loaded(tmp_path / "t.parquet")


def test_a_large_table_of_many_groups(tmp_path, monkeypatch) -> None:
    """Every person is counted in one pass and no other."""
    monkeypatch.setattr(loading, "group_count", lambda *_: 7)
    generator = np.random.default_rng(1)
    people = generator.integers(0, 5000, 30000)
    write(tmp_path / "t.csv", [(f"p{person}", 0) for person in people])
    counts, dropped = loaded(tmp_path / "t.csv", unit=PrivacyUnit(columns=("pid",), rows=4))
    rows = np.bincount(people)
    assert counts[0] == np.minimum(rows, 4).sum()
    assert dropped == np.minimum(rows - np.minimum(rows, 4), 4).sum()


@in_one_test("most", [1, 2, 4])
def test_of_each_person_every_cell_once_and_at_most_so_many(most) -> None:
    """Whatever K is: `tests/tables/test_person_counts.py` counts through the whole loader."""
    rows = [(person, place % (1 + person % 5)) for person in range(30) for place in range(7)]
    tally = PersonTally(tables=[PersonTable((0,), most), PersonTable((), 1)], packing=Packing((5,)), key=KEY)
    tally.add(bounded(1, [rows[::2], rows[1::2]]).held)
    by_cell, persons = tally.counts
    assert int(persons) == 30
    assert by_cell.sum() == sum(min(most, 1 + person % 5) for person in range(30))
    if most == 1:
        assert by_cell.max() < 30
    # Of two columns, whose rows (3, 0) and (3, 1) lie in one cell of the first.
    alone = PersonTally(tables=[PersonTable((0,), most), PersonTable((0,), 9)], packing=Packing((5, 2)), key=KEY)
    alone.add(bounded(1, [[(0, code) for code in (6, 7, 2, 0, 6, 8, 4)]]).held)
    assert alone.counts[0].sum() == most
    assert alone.counts[1].tolist() == [1] * 5
