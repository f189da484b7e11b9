"""Neighbours through the loader: whatever one more row holds, one record more is counted or left out, and no run ends.

Small tables of odd cells, in files of the kinds that a test can write quickly, read in pieces of any size.
"""

from __future__ import annotations

import csv
import io
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.cases import slowly

from dpqr.domain.attribute import Attribute, Bins, Codes, Labels, Rule, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables import csv_table
from dpqr.tables.label_counts import count_labels
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.wanted import columns_to_read

EDGES = tuple(map(Fraction, (-1, 0, "0.3", 7, 2**53)))
ATTRIBUTES = [
    {"axis": Labels(("F", "\ufeffF", "7", "true", ""))},
    {"axis": Labels(("ss", "é"), True), "rules": {"null": Rule.CELL}},
    {"axis": Labels(("F", "7")), "spelling": Spelling(trim=True), "missing": ("NA", " - ")},
    {"axis": Codes(3), "rules": {"unparsable": Rule.CELL}},
    {"axis": Bins(EDGES), "rules": {"outside": Rule.CLIP, "nan": Rule.CELL, "infinite": Rule.CLIP}},
    {"axis": Bins(EDGES, integral=True), "spelling": Spelling(decimal=",", group="."), "rules": {"null": Rule.CELL}},
    {"axis": Bins((Fraction(0), Fraction(18262)), integral=True, kind="date"), "rules": {"outside": Rule.CELL}},
]
TEXTS = [
    *(
        "F",
        "\ufeffF",
        "\ufeff7",
        "\ufeffss",
        "\ufeff",
        " F",
        "",
        "NA",
        " - ",
        "ß",
        "SS",
        "é",
        "e\u0301",
        "\u2003",
        "a\0b",
        "a,b",
        '"',
        "true",
    ),
    *("7", "07", "-7", "+7", "0.1", "1,5", "1.234,5", "0x10", "1e400", "nan", "-inf", "9007199254740993"),
    *("2020-01-05", "1970-01-01", "10000-01-01", "\ud83d", "x\udcff"),
]
SIXTYFOUR = (-(2**63), 2**63 - 1, 0, 7, 18266)
COLUMNS: list[tuple[Any, Any, Any]] = [
    (pa.int64(), pa.int64(), SIXTYFOUR),
    (pa.uint64(), pa.uint64(), (2**64 - 1, 2**53 + 1, 0)),
    (pa.float64(), pa.float64(), (0.3, 0.1 + 0.2, -0.0, float("nan"), float("-inf"), 1e308)),
    (pa.decimal128(5, 2), pa.decimal128(5, 2), (Decimal("0.30"), Decimal("-999.99"))),
    (pa.int64(), pa.date64(), SIXTYFOUR),
    (pa.int32(), pa.date32(), (-(2**31), 2**31 - 1, 0, 18266)),
    (pa.int64(), pa.timestamp("us", "UTC"), SIXTYFOUR),
    (pa.binary(), pa.string(), [each.encode(errors="surrogatepass") for each in TEXTS]),
]
"""What is written, as what it is read, and some values; texts are the last."""


def written(place: Path, cells: list[Any], kind: str, column: tuple[Any, Any, Any], chance: random.Random) -> str:
    """The table in a file of this kind. In a CSV its cells come first in the rows, where a piece begins."""
    path = place.with_suffix(kind)
    if kind == ".csv":
        text, quoting = io.StringIO(newline=""), chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        csv.writer(text, quoting=quoting, lineterminator="\n").writerows([["a", "b"], *([cell, "x"] for cell in cells)])
        path.write_bytes(text.getvalue().encode(errors="surrogatepass"))
        return str(path)
    found = pa.array(cells, column[0]).view(column[1])
    table = pa.table({"a": found.dictionary_encode() if chance.random() < 0.3 else found})
    if kind == ".parquet":
        parquet.write_table(table, path, row_group_size=chance.choice([1, 3, 99]))
    else:
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return str(path)


def counted(path: str, attribute: Attribute, size: int) -> list[Any]:
    """Counts and left-out rows; then labels with their counts, where the column may have labels."""
    source, limits, domain = TableSource(paths=(path,)), Limits(batch_rows=size), Domain((attribute,))
    table = load_table(source, domain, limits)
    found = [table.counts._unseal(SealKey()).marginal((0,)), table.dropped._unseal(SealKey()).marginal(())]
    if not isinstance(attribute.axis, Labels):
        return [np.append(*found), {}]
    (labels,) = count_labels(source, domain, limits, unit=PrivacyUnit(), most=[1], noise=SeededNoise(1))
    opened = labels._unseal(SealKey())
    return [np.append(*found), dict(zip(opened.labels.to_pylist(), opened.counts.tolist(), strict=True))]


@pytest.mark.parametrize("tables", [200, *slowly(1500)])
def test_one_row_more_is_one_record_more(monkeypatch, tmp_path, tables) -> None:
    chance, fits = random.Random(1), [[each for each in COLUMNS if accepted(one, each[1])] for one in ATTRIBUTES]
    for _ in range(tables):
        place = chance.randrange(len(ATTRIBUTES))
        attribute, kind = Attribute(name="a", **ATTRIBUTES[place]), chance.choice([".csv", ".parquet", ".arrow"])
        column = fits[place][-1] if chance.random() < 0.5 else chance.choice(fits[place])
        pool = TEXTS if kind == ".csv" else [*column[2], None]
        cells = [chance.choice(pool) for _ in range(chance.randint(1, 6))]
        found = []
        for some in (cells[1:], cells):
            monkeypatch.setattr(csv_table, "PIECE_BYTES", chance.choice([1, 8, 2**22]))
            path = written(tmp_path / "t", some, kind, column, chance)
            found.append(counted(path, attribute, chance.choice([1, 2, 2**17])))
        (before, labels), (after, more) = found
        moved = sum(abs(more.get(label, 0) - labels.get(label, 0)) for label in {*labels, *more})
        assert np.abs(after - before).sum() == 1, (attribute, kind, cells, before, after)
        assert moved <= 1, (attribute, kind, cells, labels, more)


def accepted(attribute: dict[str, Any], kind: Any) -> bool:
    """Whether a column of this Arrow type fits."""
    return columns_to_read(Domain((Attribute(name="a", **attribute),)), PrivacyUnit(), None)["a"](kind) is None
