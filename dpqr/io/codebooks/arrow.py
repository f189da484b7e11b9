"""Arrow and Parquet schemas: names and types of columns.

Privacy: a file's statistics, dictionaries and key-value metadata come from rows (pandas keeps the index's last row
there), so none of them is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import UNSET

from dpqr.errors import DataError, DocumentError
from dpqr.io.codebooks.column import Codebook, Column, Outline
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import column_types, frictionless_type

PARQUET, FILE, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
"""First bytes of a Parquet file, of an Arrow file, and of an Arrow stream or a schema alone."""


def is_schema(head: bytes) -> bool:
    """Whether a file that begins with these bytes has such a schema."""
    return head.startswith((PARQUET, FILE, STREAM))


def read_schema(path: Path) -> Codebook:
    """The columns of a Parquet file, an Arrow file or stream, or a serialised Arrow schema.

    Raises:
        DocumentError: the file holds none.
    """
    with path.open("rb") as opened:
        head = opened.read(8)
    if head.startswith(PARQUET):
        try:
            return typed_columns(column_types(TableSource(paths=(str(path),))))
        except DataError as error:
            raise DocumentError(str(error)) from None
    return typed_columns([(field.name, frictionless_type(field.type)) for field in _schema(path, head)])


def typed_columns(columns: Any) -> Codebook:
    """Columns from (name, type) pairs; a type that the domain file lacks is left open."""
    known = ("integer", "number", "string", "boolean", "date", "datetime")
    fields = tuple(Column(name=name, type=kind if kind in known else UNSET) for name, kind in columns)
    return Codebook(outline=Outline(fields=fields))


def _schema(path: Path, head: bytes) -> Any:
    """The schema message that an Arrow file (behind its 8 bytes of magic) and a stream begin with; nothing after it."""
    import pyarrow as pa
    from pyarrow import ipc

    try:
        with pa.OSFile(str(path)) as opened:
            opened.seek(8 if head.startswith(FILE) else 0)
            return ipc.read_schema(opened)
    except (pa.ArrowException, OSError):
        raise DocumentError(f"{path.name}: is no Arrow schema, or a damaged one; write it again") from None
