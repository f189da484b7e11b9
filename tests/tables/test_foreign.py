"""Tables of other programs count as the same rows in a CSV do."""

from __future__ import annotations

import datetime as dt
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import ipc
from support.cases import in_one_test, thinned

from dpqr.domain.attribute import Attribute, Labels, Rule, Spelling
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DataError, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.values import replace
from dpqr.releases.journal import table_mark
from dpqr.tables import foreign
from dpqr.tables.foreign import ArrowFile, StatisticalFile, Workbook, _silently
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.points import require_public
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table, column_types

CELLS = {"otherwise": "cell"}
DOMAIN = read_domain(
    {
        "missingValues": ["", "NA"],
        "fields": [
            {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "dpqr": CELLS},
            {"name": "home region", "type": "integer", "constraints": {"enum": [1, 2]}, "dpqr": CELLS},
            {"name": "income", "type": "number", "dpqr": {"edges": [0, 10, 20.5], **CELLS}},
            {"name": "born", "type": "date", "dpqr": {"edges": ["1950-01-01", "2000-01-01", "2010-01-01"], **CELLS}},
            {
                "name": "seen",
                "type": "datetime",
                "dpqr": {"edges": ["2024-01-01", "2024-07-01T12:00:00Z", "2025-01-01"]},
            },
        ],
    }
)
ROWS = [
    ("f", 1, 3.0, dt.date(1991, 5, 5), dt.datetime(2024, 3, 1, 4, 5, 6)),
    ("m", 2, 20.5, dt.date(2005, 1, 1), dt.datetime(2024, 12, 31, 23, 59)),
    ("", None, None, None, dt.datetime(2024, 1, 1)),
    ("x", 3, 99.25, dt.date(1890, 1, 1), dt.datetime(2024, 7, 1, 12)),
    ("NA", 2, 0.0, dt.date(2009, 12, 31), dt.datetime(2024, 7, 1, 11, 59)),
]
NAMES = list(DOMAIN.names)
STATED = [name.replace(" ", "_") for name in NAMES]
"""No name of the statistical formats holds a blank."""


def domain(names: list[str]) -> Any:
    renamed = [replace(each, name=name) for each, name in zip(DOMAIN.attributes, names, strict=True)]
    return replace(DOMAIN, attributes=tuple(renamed))


def frame(names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=names).astype({names[1]: "float64", names[2]: "float64", names[0]: "object"})


def workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [NAMES, *ROWS, [None] * 5]:
        book.active.append(row)
    book.create_sheet("other").append(["private"])
    book.save(path)


def stata(path: Path) -> None:
    table = frame(STATED).astype({"born": "datetime64[s]", "seen": "datetime64[ms]"})
    table.to_stata(path, write_index=False, convert_dates={"born": "td", "seen": "tc"})


def arrow(path: Path) -> None:
    table = pa.Table.from_pandas(frame(NAMES).astype({"sex": "category"}))
    with ipc.new_file(path, table.schema, options=ipc.IpcWriteOptions(compression="lz4")) as file:
        file.write_table(table, max_chunksize=2)


MADE = {
    "t.xlsx": (workbook, NAMES),
    "t.dta": (stata, STATED),
    "t.sav": (lambda path: pyreadstat.write_sav(frame(STATED), path), STATED),
    "t.feather": (arrow, NAMES),
}


@pytest.mark.parametrize("file", thinned(MADE, 4))
def test_the_rows_are_those_of_a_csv(file: str, tmp_path: Path, load: Any) -> None:
    make, names = MADE[file]
    make(tmp_path / file)
    frame(names).astype({names[1]: "Int64"}).to_csv(tmp_path / "t.csv", index=False)
    found = load(domain(names), tmp_path / file)
    assert found.sum() == len(ROWS)
    assert np.array_equal(found, load(domain(names), tmp_path / "t.csv"))
    assert np.array_equal(found, load(domain(names), tmp_path / file, batch_rows=2))


@in_one_test("file", MADE)
def test_names_alone_are_checked_before_anything_is_paid(file: str, tmp_path: Path) -> None:
    make, names = MADE[file]
    make(tmp_path / file)
    source = TableSource(paths=(str(tmp_path / file),))
    check_table(source, domain(names), Limits())
    assert [name for name, _ in column_types(source)] == names
    first = " in the first row of its first sheet" if file.endswith(".xlsx") else ""
    with pytest.raises(DataError, match=rf"has no column 'sexx'{first};"):
        check_table(source, domain(["sexx", *names[1:]]), Limits())


@in_one_test("file", [*MADE, "t.sas7bdat"])
def test_a_file_of_another_kind_is_refused_by_its_header(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(b"sex,age\nPRIVATEVALUE,3\n" * 100)
    with pytest.raises(DataError, match=r"save it again, or as CSV$") as caught:
        check_table(TableSource(paths=(str(tmp_path / file),)), DOMAIN, Limits())
    assert "PRIVATE" not in str(caught.value)


def test_a_date_that_is_on_no_calendar_ends_no_run(tmp_path: Path, load: Any) -> None:
    pyreadstat.write_sav(
        pd.DataFrame({"d": [1e12, 1e18, -1e15, 13e9]}), tmp_path / "t.sav", variable_format={"d": "DATE11"}
    )
    dates = {"fields": [{"name": "d", "type": "date", "dpqr": {"edges": ["1990-01-01", "2000-01-01"], **CELLS}}]}
    assert load(read_domain(dates), tmp_path / "t.sav").tolist() == [1, 0, 3, 0]


@in_one_test(
    ("ending", "form", "cell", "meant"),
    [
        (".dta", "%td", 0, dt.datetime(1960, 1, 1)),
        (".dta", "%tdCCYY-NN-DD", -1.0, dt.datetime(1959, 12, 31)),
        (".dta", "%d", 1, dt.datetime(1960, 1, 2)),
        (".dta", "%tc", 1500, dt.datetime(1960, 1, 1, 0, 0, 1, 500_000)),
        (".dta", "%tm", 5, 5),
        (".dta", "%9.0g", 5, 5),
        (".sas7bdat", "DATE", 1, dt.datetime(1960, 1, 2)),
        (".sas7bdat", "YYMMDD", 1, dt.datetime(1960, 1, 2)),
        (".sas7bdat", "DATETIME", 60, dt.datetime(1960, 1, 1, 0, 1)),
        (".sas7bdat", "TIME", 60, 60),
        (".sav", "ADATE10", 86400, dt.datetime(1582, 10, 15)),
        (".sav", "DATETIME20", 1, dt.datetime(1582, 10, 14, 0, 0, 1)),
        (".sav", "F8.2", 1, 1),
        (".sav", "A20", "x", "x"),
        (".sav", "DATE11", "x", "x"),
    ],
)
def test_moments(ending: str, form: str, cell: Any, meant: Any) -> None:
    assert foreign._moments(ending, form)(cell) == meant


@in_one_test(
    ("name", "way"),
    [
        ("t.json", "read_json('t.json', dtype=False).to_csv"),
        ("t.JSONL", "read_json('t.JSONL', dtype=False, lines=True)"),
        ("t.xls", "save it as .xlsx or CSV"),
        ("t.rds", "write_parquet"),
        ("t.orc", "read_orc('t.orc')"),
    ],
)
def test_other_formats_name_the_way_to_convert(name: str, way: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("PRIVATEVALUE")
    with pytest.raises(DataError, match=r"tables are not read; convert it to CSV or Parquet\n") as caught:
        TableSource(paths=(str(tmp_path / name),)).files()
    assert way in str(caught.value)


@in_one_test("name", ["t.xlsx", "t.sav"])
def test_the_extra_is_named_where_it_is_missing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("x")
    monkeypatch.setattr(foreign, "find_spec", lambda library: None if library != "pandas" else find_spec(library))
    with pytest.raises(UsageFault, match=r"pip install 'dpqr\[formats\]'"):
        TableSource(paths=(str(tmp_path / name),)).files()


def test_the_mark_is_of_the_file_and_points_are_told_from_the_table(tmp_path: Path) -> None:
    workbook(tmp_path / "t.xlsx")
    source = TableSource(paths=(str(tmp_path / "t.xlsx"),))
    assert source.repeatable
    assert table_mark(source, b"key") == table_mark(source, b"key")
    with pytest.raises(UsageFault, match="is a file of the private table"):
        require_public(source, source)


def test_a_workbook_that_unpacks_to_more_than_allowed_or_fills_a_machine_is_not_read(
    tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbook(tmp_path / "t.xlsx")
    size = foreign.unpacked_bytes(str(tmp_path / "t.xlsx"))
    assert size > 2 * (tmp_path / "t.xlsx").stat().st_size
    with pytest.raises(DataError, match="more bytes than the declared limit"):
        load(DOMAIN, tmp_path / "t.xlsx", bytes=size - 1)
    with ZipFile(tmp_path / "t.xlsx", "a", ZIP_DEFLATED) as packed, packed.open("xl/more.xml", "w") as part:
        part.write(bytes(3 * 2**20))
    monkeypatch.setattr("dpqr.tables.limits._FREE_BYTES", 2**20)
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        load(DOMAIN, tmp_path / "t.xlsx")


def test_cells_of_a_workbook_are_text_and_may_be_missing_at_its_end(tmp_path):
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in (["a", "b"], [1, 2], [3]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    found = Workbook(str(tmp_path / "t.xlsx"), None)
    assert (found.kind("a"), found.kind("b")) == (pa.large_string(), pa.large_string())
    (batch,) = found.batches(["b"], 10)
    assert batch.column(0).to_pylist() == ["2", None]


def arrow_file(path: Path, cells: pa.Array) -> str:
    batch = pa.RecordBatch.from_arrays([cells], names=["a"])
    with pa.OSFile(str(path), "wb") as opened, pa.ipc.new_file(opened, batch.schema) as writer:
        writer.write_batch(batch)
    return str(path)


TEXTS = pa.array(["x", "y"])
DAMAGED = {
    "texts": pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2**20, 2], dtype=np.int32)), TEXTS.buffers()[2]),
    "a dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int8()), TEXTS, safe=False),
}


@pytest.mark.parametrize("cells", DAMAGED.values(), ids=DAMAGED)
def test_damage_of_an_arrow_file_is_found_before_its_cells_are_read(tmp_path, cells):
    with pytest.raises(pa.ArrowInvalid):
        list(ArrowFile(arrow_file(tmp_path / "t.arrow", cells), None).batches(["a"], 10))


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_a_text_of_an_arrow_file_that_is_no_utf_8_makes_its_row_malformed(tmp_path, kind, coded):
    texts = {pa.binary(): pa.string(), pa.large_binary(): pa.large_string(), pa.binary_view(): pa.string_view()}[kind]
    cells = pa.array([b"x", b"\xff", b"x", None], kind).view(texts)
    if coded:
        cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), cells[:2])
    domain = Domain((Attribute(name="a", axis=Labels(("x",)), rules={"null": Rule.CELL}),))
    loaded = load_table(TableSource(paths=(arrow_file(tmp_path / "t.arrow", cells),)), domain, Limits())
    assert loaded.counts._unseal(SealKey()).marginal((0,)).tolist() == [2, 1]
    assert loaded.dropped._unseal(SealKey()).marginal(()) == 1


STATISTICAL = {
    "of Stata 15": ("t.dta", lambda table, path: pyreadstat.write_dta(table, path, version=15), "é".encode()),
    "of Stata 13": ("t.dta", lambda table, path: pyreadstat.write_dta(table, path, version=13), b"\xe9"),
    "of SPSS": ("t.sav", pyreadstat.write_sav, "é".encode()),
}


@pytest.mark.parametrize(("file", "write", "letter"), STATISTICAL.values(), ids=STATISTICAL)
def test_a_text_that_is_none_in_the_encoding_of_a_file_makes_its_row_malformed(file, write, letter, tmp_path):
    """0x81 is no character in UTF-8, nor in Windows' code page, which older files of Stata are written in."""
    table = pd.DataFrame({"naive": ["same", "mine", "same", ""], "k": [1.0, 2.0, 3.0, 4.0]})
    write(table, tmp_path / file)
    content = (tmp_path / file).read_bytes()
    domain = Domain((Attribute(name="naive", axis=Labels(("same", "é")), rules={"null": Rule.CELL}),))

    def counted(text: bytes) -> tuple[list[int], int]:
        before, _, after = content.rpartition(b"mine")
        (tmp_path / file).write_bytes(before + text.ljust(4) + after)
        loaded = load_table(TableSource(paths=(str(tmp_path / file),)), domain, Limits())
        return loaded.counts._unseal(SealKey()).marginal((0,)).tolist(), int(
            loaded.dropped._unseal(SealKey()).marginal(())
        )

    domain = Domain((replace(domain.attributes[0], spelling=Spelling(trim=True)),))
    assert counted(b"mine")[0][0] == counted(b"\x81")[0][0] == 2
    assert counted(letter)[0][:2] == [2, 1]
    assert counted(b"\x81")[1] == counted(b"mine")[1] == counted(letter)[1] + 1


@pytest.mark.parametrize(("stated", "text"), [("BIG-5", "中".encode("big5")), ("CP932", "ｶ".encode("cp932"))])
def test_texts_are_read_in_the_encoding_that_a_header_states(tmp_path, stated, text):
    pyreadstat.write_sav(pd.DataFrame({"a": ["mine"]}), tmp_path / "t.sav")
    content = (tmp_path / "t.sav").read_bytes()
    assert content.count(b"UTF-8") == content.count(b"mine") == 1
    content = content.replace(b"UTF-8", stated.encode()).replace(b"mine", text.ljust(4))
    (tmp_path / "t.sav").write_bytes(content)
    (batch,) = StatisticalFile(str(tmp_path / "t.sav"), None).batches(["a"], 10)
    assert batch.column(0).to_pylist() == [text.decode(stated.replace("-", ""))]


def test_a_file_in_an_encoding_that_is_not_known_is_refused_by_its_header(tmp_path, monkeypatch):
    pyreadstat.write_sav(pd.DataFrame({"a": ["x"]}), tmp_path / "t.sav")
    about = SimpleNamespace(column_names=["a"], file_encoding="EBCDIC-OF-MARS")
    monkeypatch.setattr(StatisticalFile, "_read", lambda self, **options: (None, about))
    with pytest.raises(DataError, match="save it again, or as CSV"):
        _ = StatisticalFile(str(tmp_path / "t.sav"), None).names


def test_names_of_a_statistical_file_may_have_any_letters(tmp_path):
    pyreadstat.write_sav(pd.DataFrame({"naïve": ["é"], "œ": [3.0]}), tmp_path / "t.sav")
    (batch,) = StatisticalFile(str(tmp_path / "t.sav"), None).batches(["œ", "naïve"], 10)
    assert batch.to_pydict() == {"œ": ["3"], "naïve": ["é"]}


def test_no_value_of_an_arrow_file_ends_a_run(tmp_path):
    wide = pa.py_buffer(np.array([10**17, 0], dtype=np.int64))
    odd = {"a date with a time": pa.array([5], pa.int64()).view(pa.date64())}
    odd["too many digits"] = pa.Array.from_buffers(pa.decimal128(5, 2), 1, [None, wide])
    for cells in (*odd.values(), *(each.dictionary_encode() for each in odd.values())):
        with pytest.raises(pa.ArrowInvalid):
            cells.validate(full=True)
        (batch,) = ArrowFile(arrow_file(tmp_path / "t.arrow", cells), None).batches(["a"], 10)
        assert batch.num_rows == 1


def test_what_a_library_warns_of_is_not_shown():
    with warnings.catch_warnings(record=True) as seen:
        _silently(lambda: warnings.warn("cell 987654321", stacklevel=1))
    assert seen == []
