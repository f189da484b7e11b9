"""The loader where the unit is a person: the same law in whatever order, batches, files and passes the rows come."""

import csv
import io
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.domain.attribute import Attribute, Codes, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.noise.source import KeyedNoise, SeededNoise, SystemNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.tables import load as loading
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource

DOMAIN = Domain((Attribute(name="k", axis=Codes(6), rules={"outside": Rule.DROP}),))
ROWS = [("a", 0), ("b", 1), ("a", 2), ("", 5), ("c", 3), ("a", 9), ("b", 1), ("c", 8), ("d", 7), ("c", 4)]
TWO = PrivacyUnit(column="pid", rows=2)
ONE = PrivacyUnit(column="pid", rows=1)


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
@pytest.mark.parametrize("kind", ["csv", "parquet", "dictionary", "numbers"])
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


def test_a_run_without_a_unit_counts_every_row(tmp_path) -> None:
    write(tmp_path / "t.csv", ROWS)
    assert loaded(tmp_path / "t.csv", unit=PrivacyUnit()) == ((1, 2, 1, 1, 1, 1), 3)


@pytest.mark.usefixtures("passes")
def test_the_declared_number_is_of_persons_whose_rows_are_dropped_too(tmp_path) -> None:
    write(tmp_path / "t.csv", ROWS)
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE, column="pid", rows=2)
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
    object.__setattr__(small, "memory", 10**6)
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


@pytest.mark.parametrize(
    ("source", "unit", "error", "words"),
    [
        ({}, PrivacyUnit(column="nobody"), DataError, "no column 'nobody'"),
        ({}, PrivacyUnit(column="k"), UsageFault, "--unit 'k' is a column of the domain"),
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
    counts, dropped = loaded(tmp_path / "t.csv", unit=PrivacyUnit(column="pid", rows=4))
    rows = np.bincount(people)
    assert counts[0] == np.minimum(rows, 4).sum()
    assert dropped == np.minimum(rows - np.minimum(rows, 4), 4).sum()
