"""SmartNoise metadata: bounds, dates, the private identifier."""

from __future__ import annotations

from msgspec import UNSET
from support.cases import in_one_test
from support.codebooks import SAMPLES, fields_of

from dpqr.domain.form import UnitForm
from dpqr.domain.text.decoding import Location
from dpqr.tables.codebooks.known import read_codebook
from dpqr.tables.codebooks.smartnoise import read_smartnoise


def test_the_private_identifier_is_the_unit_and_no_column_and_row_counts_are_not_taken():
    found = read_codebook(str(SAMPLES / "clinic.smartnoise.yaml"))
    assert found.name == "clinic"
    assert "patient_id" not in fields_of(found)
    assert found.outline.unit == UnitForm(column="patient_id", max_rows=4)
    assert found.remarks == ()
    assert "1000" not in str(found)


def test_persons_without_a_bound_on_their_rows_are_left_to_the_curator():
    table = {"id": {"type": "int", "private_id": True}, "a": {"type": "int"}}
    (found,) = read_smartnoise({"": {"": {"t": table}}}, Location("book"))
    assert found.outline.unit is UNSET
    assert found.remarks == ("id says whose row it is; state how many rows of each person to use: --max-rows K",)


CLIPPED = {"null": "cell", "outside": "clip", "otherwise": "drop"}


@in_one_test(
    ("stated", "field"),
    [
        ("{type: int, lower: 0}", {"type": "integer", "constraints": {"minimum": 0}}),
        (
            "{type: float, lower: -.5, upper: 1e0}",
            {"type": "number", "constraints": {"minimum": -0.5, "maximum": 1}, "dpqr": CLIPPED},
        ),
        ("{type: float, lower: -.inf, upper: .nan}", {"type": "number"}),
        (
            "{type: datetime, lower: 2020-01-01, upper: 2020-12-31}",
            {"type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}, "dpqr": CLIPPED},
        ),
        (
            "{type: datetime, lower: 2020-01-01 06:00:00}",
            {"type": "datetime", "constraints": {"minimum": "2020-01-01T06:00:00"}},
        ),
        ("{type: string, cardinality: 7}", {"type": "string"}),
        ("{type: unknown}", {}),
    ],
)
def test_columns(stated, field, given):
    assert fields_of(given(f"'': {{s: {{t: {{row_privacy: true, a: {stated}}}}}}}", "book.yaml")) == {"a": field}


def test_what_is_not_clamped_there_is_not_clipped_here():
    table = {"clamp_columns": False, "a": {"type": "int", "lower": 0, "upper": 9, "missing_value": 5}}
    (found,) = read_smartnoise({"": {"": {"t": table}}}, Location("book"))
    assert fields_of(found) == {"a": {"type": "integer", "constraints": {"minimum": 0, "maximum": 9}}}
    assert found.remarks == ("a has a missing_value, which is not put in for null; null has a cell or is dropped",)
