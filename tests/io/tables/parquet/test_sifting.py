"""Rows of Parquet that cannot be read: text that is no UTF-8, and texts of the unit column that are too long."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.data.attribute import Attribute, Labels, Rule
from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import DataError
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.parquet.sifting import sifted
from dpqr.io.tables.source import TableSource
from dpqr.privacy.sealed import SealKey

DOMAIN = Domain((Attribute(name="a", axis=Labels(("x", "y"))),))


def texts(*values, kind=None):
    """An Arrow array of any bytes, which it takes for text."""
    kind = kind or pa.string()
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int32 if kind == pa.string() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])


BAD = texts(b"x", b"\xff", b"y", b"\xed\xa0\x80", "é".encode())


@pytest.mark.parametrize(
    ("cells", "malformed"),
    [
        (pa.array(["x", None, "é"]), []),
        (pa.array([1, 2, None]), []),
        (BAD, [1, 3]),
        (texts(b"\xff", b"x", kind=pa.large_string()), [0]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), BAD), [1]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 2, 2]), BAD), []),
    ],
    ids=["text", "numbers", "bad", "large", "dictionary", "unused entries"],
)
def test_rows_with_other_text_than_utf8(cells, malformed) -> None:
    batch = pa.record_batch({"n": pa.array(range(len(cells))), "a": cells})
    found = sifted(batch, None, 2**20)
    assert found.malformed.tolist() == malformed
    assert found.rows.column(0).to_pylist() == [row for row in range(len(cells)) if row not in malformed]
    assert found.count == len(cells)


@pytest.mark.parametrize("coded", [False, True])
def test_long_texts_are_malformed_in_the_unit_column_alone(coded) -> None:
    cells = pa.array(["xxxx", "xxxxx", None, "x"])
    batch = pa.record_batch({"a": cells.dictionary_encode() if coded else cells})
    assert sifted(batch, "a", 4).malformed.tolist() == [1]
    assert sifted(batch, None, 4).malformed.tolist() == []


def counted(path, rule=None, **more):
    table = load_table(TableSource(paths=(str(path),)), Domain(DOMAIN.attributes, malformed=rule), Limits(), **more)
    return [int(each._unseal(SealKey()).marginal(())) for each in (table.counts, table.dropped)]


@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": False}, {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}],
    ids=["dictionary", "plain", "differences"],
)
def test_the_rule_of_the_table(tmp_path, options) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": BAD}), path, **options)
    assert counted(path) == counted(path, Rule.DROP) == [2, 3]
    with pytest.raises(DataError, match="the rule is 'fail' for: malformed"):
        counted(path, Rule.FAIL)


@pytest.mark.parametrize("length", [2**20, 2**20 + 1])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}])
def test_a_long_name_of_a_person_ends_no_run(tmp_path, length, options) -> None:
    path, unit = tmp_path / "t.parquet", PrivacyUnit(column="who")
    parquet.write_table(pa.table({"a": ["x", "y", "x"], "who": ["p", "q" * length, "r"]}), path, **options)
    assert counted(path, unit=unit) == [3 if length == 2**20 else 2, 0]
