"""Schemas: names and types, and nothing that comes from rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.codebooks import fields_of

from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.known import read_codebook

SECRET = "PRIVATEVALUE"
FRAME = pd.DataFrame({"who": pd.Categorical([SECRET, "x"]), "age": [987654321, 3]}, index=[123456789, 4])
TABLE = pa.Table.from_pandas(FRAME)


def write_file(table, path):
    """Feather's second version is Arrow's file format."""
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


WRITERS = {
    "Parquet": parquet.write_table,
    "Feather": write_file,
    "stream": write_stream,
    "schema": lambda table, path: Path(path).write_bytes(table.schema.serialize()),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_names_and_types_alone_are_read(write, tmp_path):
    path = str(tmp_path / "t")
    write(TABLE, path)
    found = read_codebook(path)
    assert fields_of(found) == {
        "who": {"type": "string"},
        "age": {"type": "integer"},
        "__index_level_0__": {"type": "integer"},
    }
    assert not any(value in repr(found) for value in (SECRET, "987654321", "123456789"))


@pytest.mark.parametrize("content", [b"PAR1SECRETPAR1", b"ARROW1\0\0SECRET", b"\xff\xff\xff\xffSECRET"])
def test_a_damaged_file_is_refused_as_a_document(content, given):
    with pytest.raises(DocumentError, match="book") as refused:
        given(content)
    assert "SECRET" not in str(refused.value)


def test_a_type_that_the_domain_file_lacks_is_left_open(tmp_path):
    kinds = {"a": pa.list_(pa.int8()), "b": pa.decimal128(5, 2), "c": pa.timestamp("ms"), "d": pa.time32("s")}
    (tmp_path / "s").write_bytes(pa.schema(list(kinds.items())).serialize())
    found = read_codebook(str(tmp_path / "s"))
    assert fields_of(found) == {"a": {}, "b": {"type": "number"}, "c": {"type": "datetime"}, "d": {}}
