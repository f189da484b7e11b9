"""Files of other kinds under the name of a table are known by their first bytes, and no row has a say in it."""

from __future__ import annotations

import gzip
import io
import sqlite3
from pathlib import Path

import duckdb
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.kernel.errors import DataError
from dpqr.tables.files import other_kind
from dpqr.tables.source import TableSource
from dpqr.tables.structure import column_types

SECRET = "PRIVATEVALUE"
TABLE = pa.table({"who": [SECRET], "age": [31]})


def duckdb_file(path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE people AS SELECT '{SECRET}' AS who")
    # A checksum that holds no line's end: with one, the file would rightly be taken for text.
    path.write_bytes(b"checksum" + path.read_bytes()[8:])


def sqlite_file(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute(f"CREATE TABLE people AS SELECT '{SECRET}' AS who")
    database.commit()
    database.close()


def workbook(path: Path) -> None:
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active.append([SECRET, 31])
    book.save(file)
    path.write_bytes(file.getvalue())


def arrow(path: Path) -> None:
    with pa.ipc.new_file(path, TABLE.schema) as file:
        file.write_table(TABLE)


def packed_parquet(path: Path) -> None:
    file = io.BytesIO()
    parquet.write_table(TABLE, file)
    path.write_bytes(gzip.compress(file.getvalue()))


MAKERS = {
    "duckdb": duckdb_file,
    "sqlite": sqlite_file,
    "xlsx": workbook,
    "arrow": arrow,
    "packed": packed_parquet,
}
WRITE = {
    "duckdb": "is a DuckDB database, not CSV; write duckdb:{path}?table=NAME",
    "sqlite": "is an SQLite database, not CSV; ",
    "xlsx": "is a zip archive, as Excel workbooks are, not CSV; give a workbook as a file that ends in .xlsx",
    "arrow": "is an Arrow file, not CSV; give it as a file that ends in .arrow",
    "packed": "is Parquet, not CSV; give Parquet as a file that ends in .parquet",
}


@in_one_test("name", ["t.csv", "t.db", "t.duckdb", "t"])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_file_under_another_name_is_refused_with_what_to_write(tmp_path, kind, name):
    path = tmp_path / name
    MAKERS[kind](path)
    with pytest.raises(DataError) as refused:
        column_types(TableSource(paths=(str(path),)))
    assert WRITE[kind].format(path=path) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert str(refused.value).count("\n") <= 1


@in_one_test(("ending", "taken"), [(".parquet", "Parquet"), (".xlsx", ".xlsx"), (".arrow", ".arrow")])
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_so_is_one_under_the_name_of_another_kind(tmp_path, kind, ending, taken):
    path = tmp_path / f"t{ending}"
    MAKERS[kind](path)
    with pytest.raises(DataError, match=rf"database, not {taken}; "):
        column_types(TableSource(paths=(str(path),)))


def test_a_damaged_file_under_its_own_name_is_damaged(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(DataError, match=r"cannot be read as \.xlsx"):
        column_types(TableSource(paths=(str(path),)))


BEGINNINGS = [b"SQLite format 3\0", b"PK\x03\x04", b"01234567DUCK\x40\x03\0\0", b"ARROW1\0\0", b"\x1f\x8b\x08", b"PAR1"]


@in_one_test("begin", BEGINNINGS)
def test_bytes_behind_the_first_line_have_no_say(begin):
    """Where the first line ends within the beginning, the file is a table, whatever its rows hold."""
    assert other_kind(begin + b"anything", "t.csv") is not None
    for cut in range(len(begin)):
        for end in (b"\n", b"\r"):
            assert other_kind(begin[:cut] + end + begin[cut:], "t.csv") is None
            assert other_kind(begin[:cut] + end + begin[cut + 1 :] + b"anything", "t.csv") is None
