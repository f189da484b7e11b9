"""Forged Parquet files: a sound file's footer, or a page's header, taken apart, changed and put together again.

Both are written in Thrift's compact protocol. A struct is read as {field: [type, value]}, a list as [type, values], and
everything else as the number or the bytes that it is.
"""

from __future__ import annotations

import io
import struct

import pyarrow as pa
from pyarrow import parquet

from dpqr.tables.parquet import BINARY, BYTE, DOUBLE, FALSE, I16, I32, I64, LIST, SET, STRUCT, TRUE

SCHEMA, ROWS, GROUPS = 2, 3, 4
"""Fields of the footer."""
GROUP_ROWS, GROUP_BYTES = 3, 2
"""Fields of a row group; field 1 lists its column chunks."""
VALUES, UNPACKED, PACKED, FIRST_PAGE = 5, 6, 7, 9
"""Fields of a column chunk's meta data, which is field 3 of the chunk."""
CHILDREN = 5
"""Field of a schema element: how many of the next ones are below it."""


def table_bytes(columns, **options):
    """A Parquet file of these columns (or this table)."""
    file = io.BytesIO()
    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), file, **options)
    return file.getvalue()


def footer_of(data):
    """The footer of a Parquet file, and the bytes before it."""
    (length,) = struct.unpack("<I", data[-8:-4])
    return read(io.BytesIO(data[-8 - length : -8]), STRUCT), data[: -8 - length]


def with_footer(before, footer):
    """A Parquet file of these bytes and that footer."""
    written = written_struct(footer)
    return before + written + struct.pack("<I", len(written)) + b"PAR1"


def forged(data, change):
    """`data` with a footer that `change` has had its way with."""
    footer, before = footer_of(data)
    change(footer)
    return with_footer(before, footer)


def chunk_facts(footer, group=0, column=0):
    """The meta data of one column chunk."""
    return footer[GROUPS][1][1][group][1][1][1][column][3][1]


def with_page(data, change, column=0):
    """`data`, of one row group, with the first page header of a column changed; what lies behind is moved along."""
    footer, before = footer_of(data)
    facts = chunk_facts(footer, 0, column)
    start = min(facts[field][1] for field in (FIRST_PAGE, 11) if field in facts)
    file = io.BytesIO(before)
    file.seek(start)
    header = read(file, STRUCT)
    end = file.tell()
    change(header)
    made = written_struct(header)
    grown = len(made) - (end - start)
    facts[PACKED][1] += grown
    for each in footer[GROUPS][1][1][0][1][1][1]:
        for field in (FIRST_PAGE, 11):
            if field in each[3][1] and each[3][1][field][1] > start:
                each[3][1][field][1] += grown
    return with_footer(before[:start] + made + before[end:], footer)


def read(file, kind):
    """One value of this type."""
    if kind in (TRUE, FALSE):
        return kind == TRUE
    if kind == BYTE:
        return file.read(1)
    if kind in (I16, I32, I64):
        coded = varint(file)
        return (coded >> 1) ^ -(coded & 1)
    if kind == DOUBLE:
        return file.read(8)
    if kind == BINARY:
        return file.read(varint(file))
    if kind in (LIST, SET):
        mark = file.read(1)[0]
        count = mark >> 4
        return [mark & 15, [read(file, mark & 15) for _ in range(varint(file) if count == 15 else count)]]
    return read_struct(file)


def read_struct(file):
    fields, number = {}, 0
    while mark := file.read(1)[0]:
        if mark >> 4:
            number += mark >> 4
        else:
            number = read(file, I16)
        fields[number] = [mark & 15, read(file, mark & 15)]
    return fields


def varint(file):
    value, shift = 0, 0
    while True:
        byte = file.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def written(kind, value):
    if kind in (TRUE, FALSE):
        return b""
    if kind in (BYTE, DOUBLE):
        return value
    if kind in (I16, I32, I64):
        return written_varint((value << 1) ^ (value >> 63))
    if kind == BINARY:
        return written_varint(len(value)) + value
    if kind in (LIST, SET):
        of, values = value
        head = bytes([len(values) << 4 | of]) if len(values) < 15 else bytes([0xF0 | of]) + written_varint(len(values))
        return head + b"".join(written(of, each) for each in values)
    return written_struct(value)


def written_struct(fields):
    """Fields with their numbers in full: longer than the usual form, and as good."""
    parts = []
    for number, (kind, value) in fields.items():
        sign = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        parts.append(bytes([sign]) + written(I16, number) + written(kind, value))
    return b"".join(parts) + b"\0"


def written_varint(value):
    value &= 2**64 - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])
