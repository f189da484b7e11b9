"""The loader as a whole, against a written-out reading of the rules."""

import csv
import gzip
import math
import traceback
import tracemalloc
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.cases import in_one_test, thinned

from dpqr.domain.attribute import Attribute, Bins, Codes, Fault, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private, SealKey
from dpqr.kernel.values import replace
from dpqr.tables import csv_table as csv_rows
from dpqr.tables import load as slots_module
from dpqr.tables.encoders import CodedRows
from dpqr.tables.limits import Limits
from dpqr.tables.load import Slots, load_table
from dpqr.tables.persons import BoundedPersons
from dpqr.tables.source import TableSource
from dpqr.tables.tallies import JointTally

CELL, DROP, CLIP, FAIL = Rule.CELL, Rule.DROP, Rule.CLIP, Rule.FAIL
DOMAIN = Domain(
    (
        Attribute(name="sex", axis=Labels(("f", "m")), rules={"null": CELL, "outside": DROP}),
        Attribute(name="k", axis=Codes(3), rules={"null": DROP, "outside": CELL, "unparsable": CELL}),
        Attribute(
            name="income",
            axis=Bins(tuple(map(Fraction, ("0", "0.5", "10"))), closed="right"),
            rules={"outside": CLIP, "infinite": DROP, "nan": CELL, "null": CELL, "unparsable": DROP},
        ),
    )
)
TEXTS = (
    st.sampled_from(["f", "m", "", "F", "other, one", "line\nbreak", 'quo"te']),
    st.sampled_from(["0", "1", "2", "3", "-1", "", "1.0", "1.5", "x", " 2 ", "nan"]),
    st.sampled_from(["0", "0.5", "0.50001", "10", "11", "-1", "inf", "nan", "", "x", "1e-3", "+5", "1e999"]),
)
ROWS = st.lists(st.tuples(*TEXTS), max_size=25)


def cell(attribute: Attribute, text: str) -> int | None:
    """The code by the definition of the rules, one cell at a time; None: the row is dropped."""
    fault, place = diagnosed(attribute, text)
    if fault is None:
        return place
    rule = attribute.rule(fault)
    if rule is CLIP:
        return place
    return attribute.own_cell(fault) if rule is CELL else None


def diagnosed(attribute: Attribute, text: str) -> tuple[Fault | None, int]:
    if text == "":
        return "null", 0
    if isinstance(attribute.axis, Labels):
        known = text in attribute.axis.values
        return (None, attribute.axis.values.index(text)) if known else ("outside", 0)
    try:
        value = float(text)
    except ValueError:
        return "unparsable", 0
    if math.isnan(value):
        return "nan", 0
    if math.isinf(value):
        return "infinite", 0
    if isinstance(attribute.axis, Codes):
        if value != int(value):
            return "unparsable", 0
        return (None, int(value)) if 0 <= value < attribute.axis.size else ("outside", 0)
    if value < 0 or value > 10:
        return "outside", 0 if value < 0 else 1
    return None, int(value > 0.5)


def expected(rows, counts=None) -> np.ndarray:
    cells = np.zeros(DOMAIN.shape, dtype=np.int64)
    for place, row in enumerate(rows):
        codes = [cell(attribute, text) for attribute, text in zip(DOMAIN.attributes, row, strict=True)]
        if None not in codes:
            cells[tuple(codes)] += 1 if counts is None else counts[place]
    return cells


def write_csv(path, rows, header=("sex", "k", "income")) -> None:
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


LENIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


@pytest.mark.slow
@LENIENT
@given(
    ROWS,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
    st.sampled_from([64, 100, 2**20]),
    st.sampled_from([0, 99]),
)
def test_order_batches_and_files_of_csv_do_not_matter(tmp_path, load, rows, shuffled, parts, row_bytes, cells) -> None:
    directory = tmp_path / "table"
    for old in directory.glob("*"):
        old.unlink()
    directory.mkdir(exist_ok=True)
    mixed = list(rows)
    shuffled.shuffle(mixed)
    for part in range(parts):
        write_csv(directory / f"{part}.csv{'.gz' if part % 2 else ''}", mixed[part::parts])
    found = load(DOMAIN, directory, row_bytes=row_bytes, cells=max(1, cells))
    assert (found == expected(rows)).all()


def typed(rows) -> pa.Table:
    """The same rows as Parquet columns: text, floating-point codes (NaN where a CSV cell is no number), numbers."""

    def real(text: str) -> float | None:
        try:
            return float(text) if text else None
        except ValueError:
            return None

    return pa.table(
        {
            "income": pa.array([real(row[2]) for row in rows], pa.float64()),
            "sex": pa.array([row[0] or None for row in rows], pa.string()),
            "k": pa.array([real(row[1]) for row in rows], pa.float32()),
        }
    )


@pytest.mark.slow
@LENIENT
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 5), st.integers(1, 9), st.sampled_from([1, 99]))
def test_order_batches_and_files_of_parquet_do_not_matter(tmp_path, load, rows, shuffled, batch, group, cells) -> None:
    rows = [row for row in rows if "x" not in row]
    mixed = list(rows)
    shuffled.shuffle(mixed)
    parquet.write_table(typed(mixed[1::2]), tmp_path / "1.parquet", row_group_size=group)
    parquet.write_table(typed(mixed[0::2]), tmp_path / "0.parquet", row_group_size=group, use_dictionary=False)
    found = load(DOMAIN, tmp_path / "*.parquet", batch_rows=batch, cells=cells)
    assert (found == expected(rows)).all()


@LENIENT
@given(ROWS, st.data())
def test_a_histogram_given_as_counts(tmp_path, load, rows, data) -> None:
    counts = data.draw(st.lists(st.integers(0, 2**30), min_size=len(rows), max_size=len(rows)))
    write_csv(
        tmp_path / "t.csv",
        [(*row, count) for row, count in zip(rows, counts, strict=True)],
        ("sex", "k", "income", "n"),
    )
    for cells in (1, 99):
        found = load(DOMAIN, tmp_path / "t.csv", source={"count_column": "n"}, cells=cells, records=2**36)
        assert (found == expected(rows, counts)).all()


def test_the_value_is_sealed_and_a_table_without_rows_counts_nothing(tmp_path) -> None:
    write_csv(tmp_path / "t.csv", [])
    sealed = load_table(TableSource(paths=(str(tmp_path / "t.csv"),)), DOMAIN, Limits()).counts
    assert isinstance(sealed, Private)
    assert int(sealed._unseal(SealKey()).marginal(())) == 0


def test_a_domain_that_fits_no_memory(tmp_path) -> None:
    names = [f"c{place}" for place in range(120)]
    rows = [[place % 7 for place in range(120)], [9] * 120, [9] * 120]
    write_csv(tmp_path / "t.csv", rows, names)
    wide = Domain(tuple(Attribute(name=name, axis=Codes(10)) for name in names))
    source = TableSource(paths=(str(tmp_path / "t.csv"),))
    histogram = load_table(source, wide, Limits()).counts._unseal(SealKey())
    assert histogram.marginal((119, 0))[9, 9] == 2
    assert histogram.marginal((119, 0))[0, 0] == 1
    assert histogram.counts.tolist() == [1, 2]


def strict(*faults: Fault) -> Domain:
    return Domain((Attribute(name="k", axis=Codes(3), rules=dict.fromkeys(faults, FAIL)), *DOMAIN.attributes[::2]))


BROKEN = {"null": "", "unparsable": "secret", "nan": "nan", "infinite": "-inf", "outside": "471147"}


@in_one_test("fault", BROKEN)
def test_a_broken_fail_rule_has_one_message_and_no_history(tmp_path, fault) -> None:
    told = set()
    for before, others in ((0, 0), (3, 50), (60, 1)):
        rows = [("f", "1", "5")] * before + [("", BROKEN[fault], "")] + [("m", "0", "2")] * others
        write_csv(tmp_path / "t.csv", rows)
        seen: list[int] = []
        with pytest.raises(DataError) as caught:
            load_table(
                TableSource(paths=(str(tmp_path / "t.csv"),)), strict(fault), Limits(row_bytes=64), progress=seen.append
            )
        told.add(str(caught.value))
        assert seen == list(range(0, 101, 10))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
        assert not any(name in frame.f_locals for frame in frames for name in ("coded", "batch", "cells"))
    assert told == {
        f"column 'k' has a cell that its rule in the domain file does not allow\n"
        f"the rule is 'fail' for: {fault}; fix the table, or choose another rule"
    }


@in_one_test("fault", BROKEN)
def test_other_faults_and_other_columns_do_not_fail(tmp_path, load, fault) -> None:
    rows = [("odd", BROKEN[other], "odd") for other in BROKEN if other != fault]
    write_csv(tmp_path / "t.csv", rows)
    assert load(strict(fault), tmp_path / "t.csv").sum() == 0


def test_of_several_broken_columns_the_first_of_the_domain_is_named(tmp_path, load) -> None:
    rules: dict[Fault, Rule] = {"null": FAIL}
    domain = Domain(tuple(Attribute(name=name, axis=Codes(2), rules=rules) for name in "ab"))
    broken = [("", "0"), ("0", "")]
    for rows in (broken, broken[::-1]):
        write_csv(tmp_path / "t.csv", rows, ("a", "b"))
        with pytest.raises(DataError, match="column 'a'"):
            load(domain, tmp_path / "t.csv", row_bytes=16)


@in_one_test("count", ["-1", "1.5", "", "many", "nan", "99999999999999"])
def test_a_row_whose_count_is_none_is_malformed(tmp_path, load, count) -> None:
    write_csv(tmp_path / "t.csv", [("f", "1", "5", "3"), ("f", "1", "5", count)], ("sex", "k", "income", "n"))
    assert load(DOMAIN, tmp_path / "t.csv", source={"count_column": "n"}, records=3).sum() == 3
    with pytest.raises(DataError, match="or without its count"):
        load(replace(DOMAIN, malformed=FAIL), tmp_path / "t.csv", source={"count_column": "n"})


@in_one_test("bad", [b"f,1\n", b"f,1,5,6\n", b"\xe9,1,5\n", b"f," + b"1" * 99 + b",5\n", b'f,1,"5\n'])
def test_a_malformed_row_is_dropped_or_fails_by_the_rule_of_the_table(tmp_path, load, bad) -> None:
    path, told = tmp_path / "t.csv", set()
    for before in (0, 3, 60):
        path.write_bytes(b"sex,k,income\n" + b"f,1,5\n" * before + bad)
        source = TableSource(paths=(str(path),))
        for rule in (None, DROP):
            table = load_table(source, replace(DOMAIN, malformed=rule), Limits(row_bytes=64), declared=before + 1)
            counts, dropped = (each._unseal(SealKey()).marginal(()) for each in (table.counts, table.dropped))
            assert (int(counts), int(dropped)) == (before, 1)
        with pytest.raises(DataError, match="the rule is 'fail' for: malformed") as caught:
            load(replace(DOMAIN, malformed=FAIL), path, row_bytes=64)
        told.add(str(caught.value))
    assert len(told) == 1


ENDINGS = {
    "limit": {"limits": Limits(records=1)},
    "unpacked": {"limits": Limits(bytes=40_000)},
    "rule": {"domain": strict("unparsable")},
    "declared": {"declared": 1},
    "damage": {"cut": 9},
}


@in_one_test("ending", ENDINGS.values())
@pytest.mark.parametrize("rows", [9000, 90_000])
def test_what_is_told_of_reading_does_not_depend_on_how_it_ends(tmp_path, ending, rows) -> None:
    """Neither on the table's size: always the same numbers."""
    path, seen = tmp_path / "t.csv.gz", list[int]()
    packed = gzip.compress(b"sex,k,income\n" + b"f,x,5\n" * rows)
    path.write_bytes(packed[: len(packed) - ending.get("cut", 0)])
    source = TableSource(paths=(str(path),))
    with pytest.raises(DataError):
        load_table(
            source,
            ending.get("domain", DOMAIN),
            ending.get("limits", Limits()),
            declared=ending.get("declared"),
            progress=seen.append,
        )
    assert seen == list(range(0, 101, 10))


def test_the_limit_on_records(tmp_path, load) -> None:
    write_csv(tmp_path / "t.csv", [("f", "1", "5", "3"), ("f", "9", "x", "4")], ("sex", "k", "income", "n"))
    assert load(DOMAIN, tmp_path / "t.csv", records=2).sum() == 1
    assert load(DOMAIN, tmp_path / "t.csv", source={"count_column": "n"}, records=7).sum() == 3
    with pytest.raises(DataError, match="more records than the declared limit"):
        load(DOMAIN, tmp_path / "t.csv", records=1)
    with pytest.raises(DataError, match="more records than the declared limit"):
        load(DOMAIN, tmp_path / "t.csv", source={"count_column": "n"}, records=6)


def test_a_declared_number_of_records_must_be_met(tmp_path) -> None:
    """Rows that a rule drops are among them: whether a row is dropped is private, so it may not decide the outcome."""
    write_csv(tmp_path / "t.csv", [("f", "1", "5"), ("f", "1", "5"), ("f", "", "5")])
    source = TableSource(paths=(str(tmp_path / "t.csv"),))
    load_table(source, DOMAIN, Limits(), declared=3)
    write_csv(tmp_path / "t.csv", [("f", "1", "5"), ("f", "", "5"), ("odd", "1", "5")])
    load_table(source, DOMAIN, Limits(), declared=3)
    told = set()
    for records in (2, 4, 0):
        with pytest.raises(DataError, match="declared number of records") as caught:
            load_table(source, DOMAIN, Limits(), declared=records)
        told.add(str(caught.value).replace(str(records), "n"))
    assert len(told) == 1


def test_what_goes_wrong_unexpectedly_is_told_in_constant_words(tmp_path, monkeypatch) -> None:
    write_csv(tmp_path / "t.csv", [("f", "1", "5")])

    def explode(*_: object) -> None:
        raise MemoryError("4711secret")

    monkeypatch.setattr("dpqr.tables.tallies.JointTally.add", explode)
    with pytest.raises(DataError, match="cannot be read") as caught:
        load_table(TableSource(paths=(str(tmp_path / "t.csv"),)), DOMAIN, Limits())
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("kind", thinned(["csv", "parquet"], 2))
def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch, kind) -> None:
    """What Arrow and numpy hold while rows are counted: as much in the last batch of a table as in an early one."""
    held: list[int] = []
    add = JointTally.add

    def watched(*given) -> None:
        held.append(pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[0])
        add(*given)

    monkeypatch.setattr(JointTally, "add", watched)
    monkeypatch.setattr(csv_rows, "PIECE_BYTES", 2**14)
    path = tmp_path / f"t.{kind}"
    table = pa.table({"k": np.arange(2**18) % 3})
    if kind == "csv":
        write_csv(path, [("0",)] * 2**18, ("k",))
    else:
        parquet.write_table(table, path, row_group_size=2**15)
    domain = Domain((Attribute(name="k", axis=Codes(3)),))
    tracemalloc.start()
    try:
        load_table(TableSource(paths=(str(path),)), domain, Limits(batch_rows=2**13))
    finally:
        tracemalloc.stop()
    assert len(held) >= 24
    assert max(held[8:]) <= max(held[:8]) + 2**18


def test_few_rows_in_many_cells_take_little_memory(tmp_path) -> None:
    domain = Domain(tuple(Attribute(name=f"c{place}", axis=Codes(2)) for place in range(22)))
    write_csv(tmp_path / "t.csv", [("0",) * 22, ("1",) * 22, ("1",) * 22], domain.names)
    tracemalloc.start()
    try:
        counts = load_table(TableSource(paths=(str(tmp_path / "t.csv"),)), domain, Limits()).counts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counts._unseal(SealKey()).marginal((0, 21)).tolist() == [[1, 0], [0, 2]]
    assert peak < 2**22 < 8 * domain.size


def rows(read, places=None, malformed=()):
    kept = read - len(malformed) if places is None else len(places)
    return CodedRows(
        codes=(),
        rows=kept,
        counts=None,
        read=read,
        failed=frozenset(),
        places=None if places is None else np.array(places),
        malformed=np.array(malformed, dtype=np.int64),
    )


def people(owners, codes, persons):
    return BoundedPersons(rows=np.array([codes], dtype=np.uint64), owners=np.array(owners), persons=persons, lost=0)


def test_a_row_has_the_slot_of_its_place_and_a_dropped_or_malformed_one_leaves_its_own_empty():
    for batches, expected in (
        ((rows(3), rows(4, [1, 3]), rows(2)), [[0, 1, 2], [4, 6], [7, 8]]),
        ((rows(4, malformed=[0, 2]), rows(3, [0], malformed=[1]), rows(2)), [[1, 3], [4], [7, 8]]),
    ):
        slots = Slots(count=9, most=1, noise=SeededNoise(1))
        assert [slots.of_rows(batch).tolist() for batch in batches] == expected
    assert Slots(count=2, most=1, noise=SeededNoise(1)).of_rows(rows(5)).max() < 2  # more rows than declared


def test_persons_have_slots_of_their_own_in_a_drawn_order_and_their_rows_are_sorted():
    slots = Slots(count=12, most=3, noise=SeededNoise(2))
    first = slots.of_persons(people([0, 1, 0], [9, 5, 2], 2))
    second = slots.of_persons(people([1, 0], [7, 7], 2))
    assert first[2] % 3 == first[1] % 3 == 0
    assert first[0] == first[2] + 1
    assert len({int(slot) // 3 for slot in (*first, *second)}) == 4


def test_who_sits_where_does_not_depend_on_what_others_brought():
    """Another person in place of one: everybody else keeps the slots, with the same draw."""

    def others(brought):
        slots = Slots(count=12, most=4, noise=SeededNoise(5))
        owners, codes = [0] * brought + [1, 2, 1], [*[8, 1, 4, 3][:brought], 5, 6, 7]
        return slots.of_persons(people(owners, codes, 3))[brought:].tolist()

    assert others(1) == others(4)


def test_every_order_of_persons_comes_up_alike():
    seen = np.zeros(3, dtype=int)
    for seed in range(600):
        seen[Slots(count=3, most=1, noise=SeededNoise(seed)).of_persons(people([0], [1], 3))[0]] += 1
    assert seen.min() > 130


def test_ties_do_not_decide_a_permutation(monkeypatch):
    """All keys are drawn again: the places of equal ones would follow the order of the persons."""
    drawn = iter(([5, 5, 1], [3, 4, 3], [9, 2, 4]))
    monkeypatch.setattr(slots_module, "uniforms_below", lambda bound, count, noise: np.array(next(drawn)))
    assert slots_module._permutation(3, SeededNoise(1)).tolist() == [1, 2, 0]


def test_a_persons_slots_do_not_follow_the_order_of_its_rows():
    found = set()
    for codes in ([9, 5, 2], [2, 5, 9], [5, 9, 2]):
        places = Slots(count=6, most=3, noise=SeededNoise(4)).of_persons(people([0, 0, 0], codes, 1)).tolist()
        found.add(tuple(sorted(zip(codes, places, strict=True))))
    assert len(found) == 1


def test_a_person_without_a_kept_row_keeps_its_place():
    """Else the slots of the persons after it would tell that its rows were dropped."""
    kept, dropped = (Slots(count=4, most=1, noise=SeededNoise(7)) for _ in range(2))
    kept.of_persons(people([0, 1], [5, 6], 2))
    dropped.of_persons(people([1], [6], 2))
    after = [each.of_persons(people([0, 1], [7, 8], 2)).tolist() for each in (kept, dropped)]
    assert after[0] == after[1]
