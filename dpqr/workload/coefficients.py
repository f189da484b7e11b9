"""Any linear queries, from a public file of coefficients over the cells of some columns.

Coefficients are quantised before anything is derived from them: to millionths where they are such decimals, else to
2^-20 (a note says so). Sensitivity, noise and answers then hold for the quantised queries.

A long table (.csv, .parquet) has one row a coefficient that is not 0. Its columns: the domain columns that the queries
look at (cells by the names that answers print), `coefficient`, and `query`, which may be left out for one query.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from io import BytesIO, StringIO
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from numpy.lib import format as npy

from dpqr.domain.text.decoding import Location, describe_value, nearest
from dpqr.domain.text.documents import MAX_FILE_BYTES, read_regular_file, regular_size
from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.kernel.errors import DataError, DpqrError, UsageFault
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits
from dpqr.tables.parquet import parquet_batches, parquet_schema
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.entry import MAX_ENTRIES, CompiledEntry, EntryContext, integer_matrix
from dpqr.workload.form import CoefficientsEntry

# Coefficients from .npz files, dense or sparse. Nothing in them is unpickled, and headers are read before arrays.

MAX_CELLS = 2**24
"""Cells of the columns that one coefficient file spans."""


class Coefficients(Struct, frozen=True, kw_only=True, eq=False):
    """Entry i stands in row `rows[i]` and cell `cells[i]` (C order over `axes`); all others are 0.

    labels: one a query, in row order.
    """

    axes: Axes
    rows: IntArray
    cells: IntArray
    values: FloatArray
    labels: tuple[str, ...]


def spanned(names: Sequence[str], frame: EntryContext, key: str) -> tuple[Axes, tuple[int, ...]]:
    """Positions and sizes of the columns that a file spans. key: what in the entry named them."""
    location = frame.location.key(key)
    axes = frame.axes(names, location)
    sizes = tuple(frame.domain.attributes[axis].size for axis in axes)
    if math.prod(sizes) > MAX_CELLS:
        raise location.fault(
            f"the columns have {math.prod(sizes)} cells, more than {MAX_CELLS}; name fewer in 'columns'"
        )
    return axes, sizes


_END, _END_LENGTH, _LOCATOR_LENGTH = b"PK\x05\x06", 22, 20
_LARGE = b"PK\x06\x07"
_LONGEST_DIRECTORY = 2**16
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def npz_members(data: bytes) -> dict[str, int]:
    """Bytes of each array by its name.

    Raises:
        ValueError, or zipfile's own: what is no .npz of plain arrays: a directory of thousands of members, arrays of
            objects, arrays that declare more bytes than their member holds.
    """
    end = data[-_END_LENGTH:]
    large = data[-_END_LENGTH - _LOCATOR_LENGTH :][: len(_LARGE)] == _LARGE
    if not end.startswith(_END) or large or int.from_bytes(end[12:16], "little") > _LONGEST_DIRECTORY:
        raise ValueError("no directory of a few members at its end")
    members = {}
    with ZipFile(BytesIO(data)) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                read = _HEADERS.get(npy.read_magic(member))
                if read is None:
                    raise ValueError("an array of another version")
                shape, _, kind = read(member)
            if kind.hasobject or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize > info.file_size:
                raise ValueError("an array of objects, or of more bytes than there are")
            members[Path(info.filename).stem] = info.file_size
    return members


ARRAY = "coefficients"
MAX_QUERIES = 1_000_000


def read_npz(path: Path, columns: Sequence[str] | UnsetType, frame: EntryContext) -> Coefficients:
    """An array `coefficients` of shape (queries, cells) or (cells,), or a matrix that scipy.sparse.save_npz wrote.

    Cells are those of `columns` (all columns of the domain where none are named), in C order.
    """
    location = frame.location.key("coefficients")
    names = frame.domain.names if columns is UNSET else columns
    axes, sizes = spanned(names, frame, "coefficients" if columns is UNSET else "columns")
    matrix = _loaded(read_regular_file(path, MAX_FILE_BYTES), path.name, location)
    if matrix.ndim == 1:
        matrix = matrix[None, :]
    if matrix.ndim != 2 or matrix.shape[1] != math.prod(sizes):
        raise location.fault(
            f"{path.name} has the shape {matrix.shape}; expected (queries, {math.prod(sizes)}), "
            f"one coefficient a cell of {', '.join(map(repr, names))}"
        )
    if matrix.dtype.kind not in "biuf":
        raise location.fault(f"{path.name} holds {matrix.dtype.name}; coefficients are real numbers")
    if not 1 <= matrix.shape[0] <= MAX_QUERIES:
        raise location.fault(f"{path.name} holds {matrix.shape[0]} queries; give from 1 to {MAX_QUERIES}")
    if (int(np.count_nonzero(matrix)) if isinstance(matrix, np.ndarray) else int(matrix.nnz)) > MAX_ENTRIES:
        raise location.fault(f"{path.name} holds more than {MAX_ENTRIES} coefficients; split it")
    rows: Any
    if isinstance(matrix, np.ndarray):
        rows, cells = np.nonzero(matrix)
        values = matrix[rows, cells]
    else:
        rows, cells = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        rows, cells, values = rows.astype(np.int64), cells.astype(np.int64), matrix.data
    values = values.astype(np.float64)
    for index, size in ((rows, matrix.shape[0]), (cells, matrix.shape[1])):
        if len(index) and not 0 <= index.min() <= index.max() < size:
            raise location.fault(f"{path.name} has an entry outside its own shape; save it anew")
    labels = tuple(f"query {index}" for index in range(matrix.shape[0]))
    return Coefficients(axes=axes, rows=rows, cells=cells, values=values, labels=labels)


def _loaded(data: bytes, name: str, location: Location) -> Any:
    """The one matrix in the file, dense or scipy sparse."""
    try:
        members = npz_members(data)
        if sum(members.values()) > MAX_FILE_BYTES:
            raise location.fault(f"{name} unpacks to more than {MAX_FILE_BYTES} bytes; split it")
        if {"format", "shape", "data"} <= members.keys():
            # As scipy saved it. Its native code takes indices on trust, so they are checked in full before it meets
            # them.
            from scipy.sparse import load_npz

            matrix = load_npz(BytesIO(data))
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)
            if matrix.nnz > MAX_ENTRIES:
                return matrix
            matrix = matrix.tocoo()
            matrix.sum_duplicates()
            return matrix
        if ARRAY not in members:
            raise location.fault(f"{name} has no array {ARRAY!r}; save it as numpy.savez(file, {ARRAY}=...)")
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            return arrays[ARRAY]
    except (DpqrError, MemoryError):
        raise
    except Exception:  # numpy, scipy, zipfile and what unpacks for it know a dozen words for damage
        raise location.fault(f"{name} is no .npz of plain number arrays; save it with numpy or scipy.sparse") from None


VALUE, QUERY = "coefficient", "query"
MAX_ROWS, MAX_TEXTS, MAX_BYTES = 2**22, 2**24, 2**27
"""A long table is read as texts, which take far more room than numbers: rows, cells in all, bytes of the file."""

Table = dict[str, list[str]]


def read_table(path: Path, columns: Sequence[str] | UnsetType, frame: EntryContext) -> Coefficients:
    """A long table. `columns` (where named) must be the file's domain columns."""
    location = frame.location.key("coefficients")
    table = (_csv if path.suffix.lower() == ".csv" else _parquet)(path, location)
    named = [name for name in table if name not in (VALUE, QUERY)]
    if VALUE not in table:
        raise location.fault(f"{path.name} has no column {VALUE!r}; it is the one with the numbers")
    if columns is not UNSET and set(columns) != set(named):
        raise frame.location.key("columns").fault(
            f"{path.name} has the columns {', '.join(map(repr, named))}; name the same"
        )
    axes, sizes = spanned(
        named if columns is UNSET else columns, frame, "coefficients" if columns is UNSET else "columns"
    )
    attributes = [frame.domain.attributes[axis] for axis in axes]
    codes = []
    for attribute in attributes:
        known = {title: code for code, title in enumerate(attribute.titles())}
        for title in table[attribute.name]:
            if title not in known:
                raise location.fault(
                    f"{path.name}: column {attribute.name!r} has no cell {describe_value(title)}; "
                    f"{nearest(title, known)} (cells are named as answers print them)"
                )
        codes.append(np.array([known[title] for title in table[attribute.name]], dtype=np.int64))
    cells = np.ravel_multi_index(codes, sizes) if codes else np.zeros(len(table[VALUE]), dtype=np.int64)
    queries = table.get(QUERY, [""] * len(table[VALUE]))
    labels = tuple(dict.fromkeys(queries))
    order = {label: row for row, label in enumerate(labels)}
    rows = np.array([order[query] for query in queries], dtype=np.int64)
    if len({*zip(queries, cells.tolist(), strict=True)}) < len(rows):
        raise location.fault(f"{path.name} gives two coefficients for one cell of one query; keep one of them")
    texts = table[VALUE]
    values = np.empty(len(texts))
    for index, text in enumerate(texts):
        try:
            values[index] = float(text)
        except ValueError:
            raise location.fault(
                f"{path.name}: {describe_value(text)} is no number; coefficients lie in [0, 1]"
            ) from None
    return Coefficients(axes=axes, rows=rows, cells=cells, values=values, labels=labels)


def _csv(path: Path, location: Location) -> Table:
    name = path.name
    try:
        text = read_regular_file(path, MAX_BYTES).decode("utf-8-sig")
        rows = list(islice(filter(None, csv.reader(StringIO(text, newline=""), strict=True)), MAX_ROWS + 2))
    except (UnicodeDecodeError, csv.Error):
        raise location.fault(f"{name} is no CSV in UTF-8; save it as comma-separated text") from None
    if len(rows) < 2:
        raise location.fault(f"{name} holds no coefficient; it needs a header and at least one row")
    header, *body = rows
    _distinct(header, name, location)
    _refuse_large(len(body), len(header), name, location)
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise location.fault(f"{name}: row {number} has {len(row)} cells; the header has {len(header)}")
    return dict(zip(header, map(list, zip(*body, strict=True)), strict=True))


def _parquet(path: Path, location: Location) -> Table:
    """Read as a private table is: pages and footer are weighed before anything is decoded."""
    name, limits = path.name, Limits(records=MAX_ROWS, bytes=MAX_BYTES)
    file = TableFile(path=str(path), kind="parquet", delimiter=",", bytes=regular_size(path, MAX_BYTES))

    def plain(kind: Any) -> str | None:
        from pyarrow import types

        return "plain columns" if types.is_nested(kind) else None

    try:
        names = parquet_schema(file, {}, limits).names
        _distinct(names, name, location)
        table: Table = {column: [] for column in names}
        for records in parquet_batches(file, dict.fromkeys(names, plain), limits, lambda _: None):
            batch = records.rows
            if len(records.malformed):
                raise location.fault(f"{name} holds text that is not UTF-8; write it as UTF-8")
            _refuse_large(len(table[names[0]]) + batch.num_rows, len(names), name, location)
            for column, values in zip(names, batch.columns, strict=True):
                table[column].extend(_texts(values))
    except DataError:
        raise location.fault(
            f"{name} is no Parquet file that can be read, or holds more than {MAX_ROWS} rows or {MAX_BYTES} bytes"
        ) from None
    if not names or not table[names[0]]:
        raise location.fault(f"{name} holds no coefficient; it needs at least one row")
    return table


def _texts(values: Any) -> list[str]:
    """A text that stands in many rows is made once."""
    from pyarrow import types

    if types.is_dictionary(values.type):
        known = [*_texts(values.dictionary), ""]
        return [known[code] for code in values.indices.fill_null(len(known) - 1).to_pylist()]
    return ["" if value is None else str(value) for value in values.to_pylist()]


def _refuse_large(rows: int, columns: int, name: str, location: Location) -> None:
    if rows > MAX_ROWS or rows * columns > MAX_TEXTS:
        raise location.fault(
            f"{name} holds more than {MAX_ROWS} rows or {MAX_TEXTS} cells; split it, or save it as .npz"
        )


def _distinct(header: Sequence[str], name: str, location: Location) -> None:
    column, times = max(Counter(header).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        raise location.fault(f"{name} has the column {describe_value(column)} twice; keep one of them")


DECIMAL = 10**6
BINARY = 2**20
ROUNDING = 1e-12
"""How far a float may lie from the decimal it stands for, in units of 1."""

_READERS: dict[str, Callable[..., Coefficients]] = {".npz": read_npz, ".csv": read_table, ".parquet": read_table}


def compile_coefficients(entry: CoefficientsEntry, frame: EntryContext) -> CompiledEntry:
    """One factor over all the columns; a row a query."""
    location = frame.location.key("coefficients")
    path = frame.folder / entry.coefficients
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise location.fault(f"{entry.coefficients!r} ends in none of {', '.join(_READERS)}; give one of these formats")
    try:
        found = reader(path, entry.columns, frame)
    except UsageFault as error:
        raise location.fault(str(error)) from None
    values = found.values
    if len(values) > MAX_ENTRIES:
        raise location.fault(f"has more than {MAX_ENTRIES} coefficients; split the file")
    if not np.isfinite(values).all():
        raise location.fault("a coefficient is NaN or infinite; all must lie in [0, 1]")
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise location.fault("a coefficient lies outside [0, 1]; divide each query by its largest coefficient")
    whole, grid, exact = quantised(values)
    if not whole.any():
        raise location.fault("holds no coefficient above 0, so every answer is 0")
    sizes = tuple(frame.domain.attributes[axis].size for axis in found.axes)
    matrix = integer_matrix(found.rows, found.cells, whole, (len(found.labels), math.prod(sizes)))
    factor = Factor(axes=found.axes, sizes=sizes, matrix=matrix, labels=found.labels)
    name = f"coefficients({Path(entry.coefficients).name})"
    notes = (
        () if exact else ("coefficients are rounded to multiples of 2^-20; answers are those of the rounded queries",)
    )
    return CompiledEntry(blocks=(QueryBlock(name=name, factors=(factor,), scale=grid),), notes=notes)


def quantised(values: FloatArray) -> tuple[IntArray, Fraction, bool]:
    """Integers, their coarsest grid, and whether grid times integer is the decimal that was written."""
    decimals = np.rint(values * DECIMAL)
    exact = bool((np.abs(values - decimals / DECIMAL) <= ROUNDING).all())
    whole = (decimals if exact else np.rint(values * BINARY)).astype(np.int64)
    shared = int(np.gcd.reduce(whole)) or 1 if len(whole) else 1
    return whole // shared, Fraction(shared, DECIMAL if exact else BINARY), exact
