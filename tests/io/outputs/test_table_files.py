import csv
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.io.outputs.answers import answer_records, answer_tables, answers_table
from dpqr.io.outputs.table_files import write_table, write_tables


@pytest.fixture
def table(release):
    return answers_table(release)


def test_csv_reads_back_as_the_same_rows(table, tmp_path):
    write_table(table, tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = [{key: "" if value is None else value for key, value in row.items()} for row in table.to_pylist()]
    for row, wanted in zip(rows, expected, strict=True):
        assert {key: float(value) if isinstance(wanted[key], float) else value for key, value in row.items()} == wanted


def test_parquet_keeps_labels_nulls_and_figures(table, tmp_path):
    write_table(table, tmp_path / "a.parquet", "parquet")
    assert parquet.read_table(tmp_path / "a.parquet").equals(table)


def test_json_is_an_array_of_records_one_a_line(table, release, tmp_path):
    write_table(table, tmp_path / "a.json", "json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text) == answer_records(release)
    assert len(text.splitlines()) == table.num_rows + 2


def test_only_csv_makes_labels_inert(tmp_path):
    table = pa.table({"label": pa.array(["=1+1", "-1"]).dictionary_encode()})
    for form in ("csv", "parquet", "json"):
        write_table(table, tmp_path / f"a.{form}", form)
    assert (tmp_path / "a.csv").read_text() == '"label"\n"\'=1+1"\n"-1"\n'
    assert parquet.read_table(tmp_path / "a.parquet")["label"].to_pylist() == ["=1+1", "-1"]
    assert json.loads((tmp_path / "a.json").read_text())[0] == {"label": "=1+1"}


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_equal_tables_give_equal_bytes(form, table, tmp_path):
    write_table(table, tmp_path / "one", form)
    write_table(table, tmp_path / "two", form)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_a_table_in_pieces_reads_back_as_the_table(form, table, release, tmp_path):
    write_table(table, tmp_path / "whole", form)
    write_tables(answer_tables(release, 4), tmp_path / "pieces", form)
    if form == "parquet":
        read = parquet.ParquetFile(tmp_path / "pieces")
        assert read.num_row_groups == 4
        assert read.read().to_pylist() == table.to_pylist()
    else:
        assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()


def test_json_refuses_what_is_no_json_number(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_table(pa.table({"x": [float("inf")]}), tmp_path / "a.json", "json")
