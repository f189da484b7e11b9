"""Coefficient tables: .csv and .parquet files in long form, one row a coefficient that is not 0.

Columns: the domain columns that the queries look at (cells by the names that answers print), `coefficient`, and
`query`, which may be left out where the file holds one query.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from dpqr.data.attribute import Attribute
from dpqr.errors import DataError
from dpqr.io.documents.decoding import spoken
from dpqr.io.documents.entries.coefficient_form import Coefficients, spanned
from dpqr.io.documents.entries.frame import Frame
from dpqr.io.documents.json_text import read_regular_file, regular_size
from dpqr.io.documents.place import Place, nearest
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet.table import parquet_batches, parquet_schema
from dpqr.io.tables.source import TableFile

VALUE, QUERY = "coefficient", "query"
MAX_ROWS, MAX_TEXTS, MAX_BYTES = 2**22, 2**24, 2**27
"""A long table is read as texts, which take far more room than numbers: rows, cells in all, bytes of the file."""

Table = dict[str, list[str]]


def read_table(path: Path, columns: Sequence[str] | UnsetType, frame: Frame) -> Coefficients:
    """A long table. `columns` (where named) must be the file's domain columns."""
    place = frame.place.key("coefficients")
    table = (_csv if path.suffix.lower() == ".csv" else _parquet)(path, place)
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


def _csv(path: Path, place: Place) -> Table:
    name = path.name
    try:
        text = read_regular_file(path, MAX_BYTES).decode("utf-8-sig")
        rows = list(islice(filter(None, csv.reader(StringIO(text, newline=""), strict=True)), MAX_ROWS + 2))
    except (UnicodeDecodeError, csv.Error):
        raise place.fault(f"{name} is no CSV in UTF-8; save it as comma-separated text") from None
    if len(rows) < 2:
        raise place.fault(f"{name} holds no coefficient; it needs a header and at least one row")
    header, *body = rows
    _distinct(header, name, place)
    _refuse_large(len(body), len(header), name, place)
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise place.fault(f"{name}: row {number} has {len(row)} cells; the header has {len(header)}")
    return dict(zip(header, map(list, zip(*body, strict=True)), strict=True))


def _parquet(path: Path, place: Place) -> Table:
    """Read as a private table is: pages and footer are weighed before anything is decoded."""
    name, limits = path.name, Limits(records=MAX_ROWS, bytes=MAX_BYTES)
    file = TableFile(path=str(path), kind="parquet", delimiter=",", bytes=regular_size(path, MAX_BYTES))
    try:
        names = parquet_schema(file, {}, limits).names
        _distinct(names, name, place)
        table: Table = {column: [] for column in names}
        for records in parquet_batches(file, dict.fromkeys(names, _flat), limits, lambda _: None):
            batch = records.rows
            if len(records.malformed):
                raise place.fault(f"{name} holds text that is not UTF-8; write it as UTF-8")
            _refuse_large(len(table[names[0]]) + batch.num_rows, len(names), name, place)
            for column, values in zip(names, batch.columns, strict=True):
                table[column].extend(_texts(values))
    except DataError:
        raise place.fault(
            f"{name} is no Parquet file that can be read, or holds more than {MAX_ROWS} rows or {MAX_BYTES} bytes"
        ) from None
    if not names or not table[names[0]]:
        raise place.fault(f"{name} holds no coefficient; it needs at least one row")
    return table


def _flat(kind: Any) -> str | None:
    from pyarrow import types

    return "plain columns" if types.is_nested(kind) else None


def _texts(values: Any) -> list[str]:
    """A text that stands in many rows is made once."""
    from pyarrow import types

    if types.is_dictionary(values.type):
        known = [*_texts(values.dictionary), ""]
        return [known[place] for place in values.indices.fill_null(len(known) - 1).to_pylist()]
    return ["" if value is None else str(value) for value in values.to_pylist()]


def _refuse_large(rows: int, columns: int, name: str, place: Place) -> None:
    if rows > MAX_ROWS or rows * columns > MAX_TEXTS:
        raise place.fault(f"{name} holds more than {MAX_ROWS} rows or {MAX_TEXTS} cells; split it, or save it as .npz")


def _distinct(header: Sequence[str], name: str, place: Place) -> None:
    column, times = max(Counter(header).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        raise place.fault(f"{name} has the column {spoken(column)} twice; keep one of them")


def _codes(titles: Sequence[str], attribute: Attribute, name: str, place: Place) -> Any:
    codes = {title: code for code, title in enumerate(attribute.titles())}
    for title in titles:
        if title not in codes:
            raise place.fault(
                f"{name}: column {attribute.name!r} has no cell {spoken(title)}; {nearest(title, codes)} "
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
            raise place.fault(f"{name}: {spoken(text)} is no number; coefficients lie in [0, 1]") from None
    return values
