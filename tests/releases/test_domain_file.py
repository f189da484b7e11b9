"""A domain file from several sources."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.cases import in_one_test
from support.codebooks import SAMPLES

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DataError, DocumentError, UsageFault
from dpqr.releases.documents import DomainRequest, domain_file

SQL = str(SAMPLES / "clinic.sql")


@pytest.fixture
def table(tmp_path):
    """A Parquet table with four columns, one of which no codebook knows."""
    columns = {"AGE": [987654321], "sex": ["SECRET"], "insured": [True], "weight": [1.5]}
    path = str(tmp_path / "clinic.parquet")
    parquet.write_table(pa.table(columns), path)
    return path


def made(**request):
    written = domain_file(DomainRequest(**request))
    return {field["name"]: field for field in written.document["fields"]}, written.remarks


def test_the_header_orders_the_codebook_describes_and_types_win(table):
    fields, remarks = made(data=table, codebooks=(SQL,), types=("AGE=integer:18..97:width=10,weight=number:0..250",))
    assert list(fields) == ["AGE", "sex", "insured", "weight"]
    assert fields["AGE"]["constraints"] == {"minimum": 18, "maximum": 97}
    assert fields["AGE"]["dpqr"]["width"] == 10
    assert fields["sex"]["constraints"] == {"enum": ["female", "male"]}
    assert remarks == (
        "left out, for the table has no such column: patient_id, visit_date, ward, triage, temperature",
        "proposed, change what does not suit: 10 bins of weight",
    )
    assert "SECRET" not in str((fields, remarks))


def test_a_column_that_no_codebook_describes_is_said(table):
    fields, remarks = made(data=table, codebooks=(SQL,))
    assert fields["weight"]["constraints"] == {"minimum": "FILL-IN", "maximum": "FILL-IN"}
    assert "in the table, and described by no codebook: weight" in remarks
    assert remarks[-1] == "to fill in (FILL-IN), from public knowledge: minimum and maximum of weight"


NAMES = "person_id,sex,age,income,interview_date\n"


@in_one_test("rows", ["", "SECRET,7,old,much,never\n", "1,f,20,3.5,2024-01-01\n" * 9])
def test_a_header_alone_proposes_types_by_its_names_and_no_row_has_a_say(tmp_path, rows):
    (tmp_path / "t.csv").write_text(NAMES + rows)
    fields, remarks = made(data=str(tmp_path / "t.csv"))
    assert {name: field["type"] for name, field in fields.items()} == {
        "person_id": "string",
        "sex": "string",
        "age": "integer",
        "income": "number",
        "interview_date": "date",
    }
    assert fields["age"]["constraints"] == {"minimum": 0, "maximum": 120}
    assert fields["income"]["constraints"] == {"minimum": "FILL-IN", "maximum": "FILL-IN"}
    said = "proposed by the names alone, change what does not suit: "
    assert f"{said}integer from 0 to 120 for age; number for income; date for interview_date" in remarks
    assert "SECRET" not in str((fields, remarks))


def test_what_a_source_states_of_a_column_is_not_guessed(tmp_path):
    (tmp_path / "t.csv").write_text(NAMES)
    (tmp_path / "b.json").write_text(
        json.dumps({"fields": [{"name": "income", "constraints": {"enum": ["low", "high"]}}]})
    )
    fields, remarks = made(
        data=str(tmp_path / "t.csv"), codebooks=(str(tmp_path / "b.json"),), types=("age=string:young|old",)
    )
    assert (fields["age"]["type"], fields["income"]["type"]) == ("string", "string")
    assert any(remark.endswith("what does not suit: date for interview_date") for remark in remarks)


def test_of_two_codebooks_the_later_one_wins(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps({"fields": [{"name": "sex", "constraints": {"enum": ["f", "m"]}}]}))
    fields, _ = made(codebooks=(SQL, str(tmp_path / "b.json")))
    assert fields["sex"]["constraints"] == {"enum": ["f", "m"]}
    assert fields["age"]["constraints"] == {"minimum": 0, "maximum": 110}


def test_a_codebook_may_be_named_in_the_table_s_place():
    assert made(data=SQL) == made(codebooks=(SQL,))


def test_types_alone_make_a_domain():
    fields, remarks = made(types=("age=integer:0..99", "sex=string:f|m"))
    assert read_domain({"fields": list(fields.values())}).size == 101 * 3
    assert remarks == ()


def test_a_table_given_as_a_codebook_and_a_row_as_a_header_are_refused_without_a_word_of_them(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"name": "SECRET"}]')
    (tmp_path / "t.csv").write_text("SECRET,33\n")
    with pytest.raises(DocumentError, match="is no codebook of a known form") as codebook:
        made(data=str(path))
    with pytest.raises(DataError) as header:
        made(data=str(tmp_path / "t.csv"), codebooks=(SQL,))
    assert "SECRET" not in f"{codebook.value}{header.value}"


def test_the_unit_is_written_and_its_column_is_not(table):
    request = DomainRequest(data=table, codebooks=(SQL,), unit="weight", max_rows=3)
    written = domain_file(request)
    assert written.document["unit"] == {"column": "weight", "max_rows": 3}
    assert [field["name"] for field in written.document["fields"]] == ["AGE", "sex", "insured"]
    assert "weight" not in str(written.remarks)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "name a table, or a codebook by --from, or columns by --types"),
        ({"types": ("wieght=number:0..9",)}, "--types: the table has no column 'wieght'; did you mean 'weight'?"),
        ({"types": ("x=number:0..9",)}, "no column 'x'; its columns: AGE, sex, insured, weight"),
        ({"unit": "wieght", "max_rows": 3}, "--unit: the table has no column 'wieght'; did you mean 'weight'?"),
        ({"unit": "weight"}, "--unit needs a bound on the rows of each person that are used: add --max-rows K"),
        ({"max_rows": 3}, "--max-rows bounds the rows of each person: add --unit COLUMN"),
    ],
)
def test_refusals(table, asked, says):
    with pytest.raises(UsageFault) as refused:
        made(**asked, **({"data": table} if asked else {}))
    assert says in str(refused.value)


def test_a_table_in_another_encoding_has_a_hint(tmp_path):
    (tmp_path / "t.csv").write_text("größe;sex\n9;f\n", encoding="cp1252")
    _, remarks = made(data=str(tmp_path / "t.csv"), delimiter=";")
    assert remarks[0] == "names of columns are no UTF-8; say how the file is written: --encoding cp1252, for example"
    _, remarks = made(data=str(tmp_path / "t.csv"), delimiter=";", encoding="cp1252")
    assert not any("--encoding" in remark for remark in remarks)


def test_a_table_with_another_delimiter_has_a_hint(tmp_path):
    (tmp_path / "t.csv").write_text("age;sex\n987654321;f\n")
    _, remarks = made(data=str(tmp_path / "t.csv"))
    assert remarks[0] == (
        "the table has one column, whose name holds ';'; if that stands between columns: --delimiter ';'"
    )
    _, remarks = made(data=str(tmp_path / "t.csv"), delimiter=";")
    assert not any("--delimiter" in remark for remark in remarks)
