"""Coefficient tables: .csv and .parquet files in long form, one row a coefficient that is not 0.

Columns: the domain columns that the queries look at (cells by the names that answers print), `coefficient`, and
`query`, which may be left out where the file holds one query.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from dpqr.data.attribute import Attribute
from dpqr.io.documents.entries.coefficient_form import MAX_FILE_BYTES, Coefficients, spanned
from dpqr.io.documents.entries.frame import Frame
from dpqr.io.documents.json_text import read_regular_file
from dpqr.io.documents.place import Place, nearest

VALUE, QUERY = "coefficient", "query"
MAX_ROWS = 2**24

Table = dict[str, list[str]]


def read_table(path: Path, columns: Sequence[str] | UnsetType, frame: Frame) -> Coefficients:
    """A long table. `columns` (where named) must be the file's domain columns."""
    place = frame.place.key("coefficients")
    data = read_regular_file(path, MAX_FILE_BYTES)
    table = (_csv if path.suffix.lower() == ".csv" else _parquet)(data, path.name, place)
    named = [name for name in table if name not in (VALUE, QUERY)]
    if VALUE not in table:
        raise place.fault(f"{path.name} has no column {VALUE!r}; it is the one with the numbers")
    if columns is not UNSET and set(columns) != set(named):
        raise frame.place.key("columns").fault(
            f"{path.name} has the columns {', '.join(map(repr, named))}; name the same"
        )
    axes, sizes = spanned(
        named if columns is UNSET else columns, frame, "coefficients" if columns is UNSET else "columns"
    )
    attributes = [frame.domain.attributes[axis] for axis in axes]
    codes = [_codes(table[attribute.name], attribute, path.name, place) for attribute in attributes]
    cells = np.ravel_multi_index(codes, sizes) if codes else np.zeros(len(table[VALUE]), dtype=np.int64)
    queries = table.get(QUERY, [""] * len(table[VALUE]))
    labels = tuple(dict.fromkeys(queries))
    order = {label: row for row, label in enumerate(labels)}
    rows = np.array([order[query] for query in queries], dtype=np.int64)
    _once(rows, cells, path.name, place)
    values = _numbers(table[VALUE], path.name, place)
    return Coefficients(axes=axes, rows=rows, cells=cells, values=values, labels=labels)


def _csv(data: bytes, name: str, place: Place) -> Table:
    try:
        rows = list(csv.reader(StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise place.fault(f"{name} is no CSV in UTF-8; save it as comma-separated text") from None
    rows = [row for row in rows if row]
    if len(rows) < 2:
        raise place.fault(f"{name} holds no coefficient; it needs a header and at least one row")
    header, *body = rows
    _distinct(header, name, place)
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise place.fault(f"{name}: row {number} has {len(row)} cells; the header has {len(header)}")
    return dict(zip(header, map(list, zip(*body, strict=True)), strict=True))


def _parquet(data: bytes, name: str, place: Place) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(BytesIO(data))
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        if file.metadata.num_rows > MAX_ROWS or sum(group.total_byte_size for group in groups) > MAX_FILE_BYTES:
            raise place.fault(f"{name} holds more than {MAX_ROWS} rows or {MAX_FILE_BYTES} bytes; split it")
        _distinct(file.schema_arrow.names, name, place)
        table = {column: _texts(values) for column, values in zip(file.schema_arrow.names, file.read(), strict=True)}
    except (pa.ArrowException, OSError):
        raise place.fault(f"{name} is no Parquet file that can be read; write it anew") from None
    if not file.metadata.num_rows:
        raise place.fault(f"{name} holds no coefficient; it needs at least one row")
    return table


def _texts(values: Any) -> list[str]:
    return ["" if value is None else str(value) for value in values.to_pylist()]


def _distinct(header: Sequence[str], name: str, place: Place) -> None:
    for column in header:
        if header.count(column) > 1:
            raise place.fault(f"{name} has the column {column!r} twice; keep one of them")


def _codes(titles: Sequence[str], attribute: Attribute, name: str, place: Place) -> Any:
    codes = {title: code for code, title in enumerate(attribute.titles())}
    for title in titles:
        if title not in codes:
            raise place.fault(
                f"{name}: column {attribute.name!r} has no cell {title!r}; {nearest(title, codes)} "
                "(cells are named as answers print them)"
            )
    return np.array([codes[title] for title in titles], dtype=np.int64)


def _once(rows: Any, cells: Any, name: str, place: Place) -> None:
    if len(np.unique(np.stack([rows, cells]), axis=1).T) < len(rows):
        raise place.fault(f"{name} gives two coefficients for one cell of one query; keep one of them")


def _numbers(texts: Sequence[str], name: str, place: Place) -> Any:
    values = np.empty(len(texts))
    for index, text in enumerate(texts):
        try:
            values[index] = float(text)
        except ValueError:
            raise place.fault(f"{name}: {text!r} is no number; coefficients lie in [0, 1]") from None
    return values
