"""Labels that nobody has listed: what a cell's label is, and how many units have each, in whatever pieces they come."""

import random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Labels, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables import label_counts as counting
from dpqr.tables.encoders import ColumnEncoder
from dpqr.tables.label_counts import LONGEST_LABEL, TOO_MANY_LABELS, LabelSums, PersonLabels, count_labels, label_texts
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

ROWS, PERSONS = PrivacyUnit(), PrivacyUnit(columns=("person",), rows=1)


def column(folded=False, **more):
    return Attribute(name="region", axis=Labels(("?",), folded), **more)


def counted(path, *, unit=ROWS, most=1, names=("region",), **limits):
    domain = Domain(tuple(Attribute(name=name, axis=Labels(("?",))) for name in names))
    source = TableSource(paths=(str(path),))
    found = count_labels(
        source,
        domain,
        Limits(**limits),
        unit=unit,
        most=[most] * len(names) if isinstance(most, int) else most,
        noise=SeededNoise(1),
    )
    opened = [each._unseal(SealKey()) for each in found]
    tables = [dict(zip(each.labels.to_pylist(), each.counts.tolist(), strict=True)) for each in opened]
    return [{label.decode(): count for label, count in each.items() if count} for each in tables]


CELLS = [
    (column(), pa.array(["a", " a", "A", "", None]), ["a", " a", "A", None, None]),
    (column(missing=("NA", "-")), pa.array(["NA", "-", "", "na"]), [None, None, "", "na"]),
    (column(spelling=Spelling(trim=True), missing=("- ",)), pa.array([" a ", "-", "  "]), ["a", None, ""]),
    (column(folded=True), pa.array(["NORTH", "north", "Ä"]), ["north", "north", "ä"]),
    (column(), pa.array([7, -7, None], pa.int16()), ["7", "-7", None]),
    (column(), pa.array([True, False]), ["true", "false"]),
    (column(), pa.array([0, 19_000], pa.date32()), ["1970-01-01", "2022-01-08"]),
    (column(), pa.array(["b", None, "b"]).dictionary_encode(), ["b", None, "b"]),
    (column(), pa.array(["é" * 64, "é" * 65, "x" * 128, "x" * 129]), ["é" * 64, None, "x" * 128, None]),
    (column(), pa.array(["\0", "a\0", "FILL-IN", "FILL-IN: x", "fill-in"]), [None, None, None, None, "fill-in"]),
    (column(), pa.array([None, None]), [None, None]),
    (column(), pa.array([], pa.large_string()), []),
]


@in_one_test(("attribute", "cells", "labels"), CELLS)
def test_the_label_of_a_cell(attribute, cells, labels):
    found = label_texts(cells, attribute).to_pylist()
    assert [None if each is None else each.decode() for each in found] == labels


@in_one_test(("attribute", "cells", "labels"), CELLS[:8])
def test_a_stated_column_finds_each_learned_label_in_its_own_cells(attribute, cells, labels):
    """What is counted as a label is what a release over a domain file with that label counts."""
    listed = tuple(sorted({label for label in labels if label}))
    stated = Attribute(
        name="region",
        axis=Labels(listed, attribute.axis.folded),
        missing=attribute.missing,
        spelling=attribute.spelling,
    )
    codes = ColumnEncoder.of(stated).encode(cells).codes
    assert [listed[code] if code >= 0 else None for code in codes.tolist()] == [label or None for label in labels]


def table(path, rows, persons=11, seed=3):
    """A random table of persons, regions and ward numbers, as CSV or Parquet by its name."""
    draw = random.Random(seed)
    cells = [
        (str(draw.randrange(persons)), draw.choice(["north", "south", "ä", "", "x" * 200]), draw.randrange(4))
        for _ in range(rows)
    ]
    if path.suffix == ".csv":
        lines = [",".join(map(str, row)) for row in cells]
        path.write_text("\n".join(["person,region,ward", *lines, ""]))
    else:
        made = pa.table(dict(zip(("person", "region", "ward"), map(list, zip(*cells, strict=True)), strict=True)))
        parquet.write_table(made, path)
    return cells


def expected(cells, place, unit):
    """Labels of a column by unit, at once: whose they are does not matter where the unit is a row."""
    found = {}
    for number, row in enumerate(cells):
        label = str(row[place])
        if 0 < len(label.encode()) <= LONGEST_LABEL:
            found.setdefault(row[0] if unit.columns else number, set()).add(label)
    return found


@in_one_test("ending", ["csv", "parquet"])
@pytest.mark.parametrize("unit", [ROWS, PERSONS])
def test_every_unit_counts_once_in_each_label_it_has(tmp_path, ending, unit):
    cells = table(tmp_path / f"t.{ending}", 400)
    found = counted(tmp_path / f"t.{ending}", unit=unit, most=5, names=("region", "ward"))
    for place, counts in enumerate(found, start=1):
        own = expected(cells, place, unit).values()
        assert counts == {label: sum(label in each for each in own) for label in set().union(*own)}


def test_at_most_m_labels_of_a_person_count(tmp_path):
    cells = table(tmp_path / "t.csv", 400)
    own = expected(cells, 1, PERSONS)
    for most in (1, 2):
        (found,) = counted(tmp_path / "t.csv", unit=PERSONS, most=most)
        assert sum(found.values()) == sum(min(most, len(labels)) for labels in own.values())


def test_the_result_does_not_depend_on_pieces_passes_or_the_order_of_rows(tmp_path, monkeypatch):
    cells = table(tmp_path / "t.csv", 300)
    whole = counted(tmp_path / "t.csv", unit=PERSONS)
    (tmp_path / "turned.csv").write_text(
        "\n".join(["person,region,ward", *(",".join(map(str, row)) for row in cells[::-1]), ""])
    )
    assert counted(tmp_path / "turned.csv", unit=PERSONS) == whole
    monkeypatch.setattr(counting, "_LEAST_MERGED", 1)
    assert counted(tmp_path / "t.csv", unit=PERSONS) == whole
    monkeypatch.setattr(counting, "group_count", lambda *_, **__: 4)
    assert counted(tmp_path / "t.csv", unit=PERSONS) == whole


def test_one_person_more_moves_at_most_m_counts_by_one_whatever_the_others_have(tmp_path):
    for most in (1, 2):
        for person in range(11):
            cells = table(tmp_path / "t.csv", 120, seed=person)
            (before,) = counted(tmp_path / "t.csv", unit=PERSONS, most=most)
            rest = [",".join(map(str, row)) for row in cells if row[0] != str(person)]
            (tmp_path / "t.csv").write_text("\n".join(["person,region,ward", *rest, ""]))
            (after,) = counted(tmp_path / "t.csv", unit=PERSONS, most=most)
            moved = [before.get(label, 0) - after.get(label, 0) for label in {*before, *after}]
            assert all(0 <= each <= 1 for each in moved)
            assert sum(moved) <= most


def test_a_table_of_too_many_labels_or_records_ends_in_constant_words(tmp_path):
    sums = LabelSums(memory=1000)
    sums.add(pa.array([b"%d" % number for number in range(1000)], pa.large_binary()), np.ones(1000, dtype=np.int64))
    with pytest.raises(DataError) as ended:
        sums.finish()
    assert str(ended.value) == TOO_MANY_LABELS
    own = PersonLabels(memory=1000, most=1, key=bytes(32))
    own.add(pa.array(range(1000)), pa.array([b"a"] * 1000, pa.large_binary()))
    with pytest.raises(DataError) as ended:
        own.finish()
    assert str(ended.value) == TOO_MANY_LABELS
    table(tmp_path / "t.csv", 30)
    with pytest.raises(DataError, match="more records than the declared limit"):
        counted(tmp_path / "t.csv", records=29)


def test_a_table_of_counts_is_refused(tmp_path):
    table(tmp_path / "t.csv", 3)
    source = TableSource(paths=(str(tmp_path / "t.csv"),), count_column="ward")
    with pytest.raises(UsageFault, match="table of counts"):
        count_labels(source, Domain((column(),)), Limits(), unit=ROWS, most=[1], noise=SeededNoise(1))


def test_rows_of_nobody_and_an_empty_table_have_no_labels(tmp_path):
    (tmp_path / "t.csv").write_text("person,region\n,north\n")
    assert counted(tmp_path / "t.csv", unit=PERSONS) == [{}]
    (tmp_path / "t.csv").write_text("person,region\n")
    assert counted(tmp_path / "t.csv") == [{}]


def test_a_person_counts_in_so_many_labels_of_each_column(tmp_path):
    """Of 20 persons each has the same three labels of both columns."""
    rows = [f"{person},{label},{label}" for person in range(20) for label in "abc"]
    (tmp_path / "t.csv").write_text("\n".join(["person,region,town", *rows, ""]))
    region, town = counted(tmp_path / "t.csv", unit=PERSONS, most=(1, 3), names=("region", "town"))
    assert sum(region.values()) == 20
    assert town == dict.fromkeys("abc", 20)
