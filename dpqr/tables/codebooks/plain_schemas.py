"""Sizes of columns whose values are the codes 0, 1, ...: the domain file of mbi (private-pgm)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import UNSET

from dpqr.domain.form import Constraints, Sizes, Treatment
from dpqr.domain.text.decoding import Location, decode
from dpqr.kernel.errors import DataError, DocumentError
from dpqr.tables.codebooks.columns import Codebook, CodebookColumn, Outline
from dpqr.tables.source import TableSource
from dpqr.tables.structure import column_types, frictionless_type


def is_sizes(tree: Any) -> bool:
    """Whether all members are whole numbers."""
    return isinstance(tree, dict) and bool(tree) and all(type(size) is int for size in tree.values())


def read_sizes(tree: Any, location: Location) -> tuple[Codebook, ...]:
    """Integer columns from 0 to size - 1. Every value has a code, so none is null."""
    if not is_sizes(tree):
        raise location.fault("sizes are an object of whole numbers, such as {'age': 85}")
    sizes = decode(tree, Sizes, location)
    each = Treatment(width=1)
    fields = tuple(
        CodebookColumn(
            name=name, type="integer", constraints=Constraints(minimum=0, maximum=size - 1, required=True), dpqr=each
        )
        for name, size in sizes.items()
    )
    return (Codebook(outline=Outline(fields=fields)),)


# Arrow and Parquet schemas: names and types of columns.
#
# Privacy: a file's statistics, dictionaries and key-value metadata come from rows (pandas keeps the index's last row
# there), so none of them is read.

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
    # The schema message that an Arrow file (behind its 8 bytes of magic) and a stream begin with; nothing after it.
    import pyarrow as pa
    from pyarrow import ipc

    try:
        with pa.OSFile(str(path)) as stream:
            stream.seek(8 if head.startswith(FILE) else 0)
            schema = ipc.read_schema(stream)
    except (pa.ArrowException, OSError):
        raise DocumentError(f"{path.name}: is no Arrow schema, or a damaged one; write it again") from None
    return typed_columns([(field.name, frictionless_type(field.type)) for field in schema])


def typed_columns(columns: Any) -> Codebook:
    """Columns from (name, type) pairs; a type that the domain file lacks is left open."""
    known = ("integer", "number", "string", "boolean", "date", "datetime")
    fields = tuple(CodebookColumn(name=name, type=kind if kind in known else UNSET) for name, kind in columns)
    return Codebook(outline=Outline(fields=fields))
