"""Coefficients from .npz files, dense or sparse. Nothing in them is unpickled, and headers are read before arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.lib import format as npy

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.errors import DpqrError
from dpqr.io.documents.entries.entry import MAX_ENTRIES, Frame
from dpqr.io.documents.text.decoding import Location
from dpqr.io.documents.text.json_text import MAX_FILE_BYTES, read_regular_file

MAX_CELLS = 2**24
"""Cells of the columns that one coefficient file spans."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients:
    """Entry i stands in row `rows[i]` and cell `cells[i]` (C order over `axes`); all others are 0.

    labels: one a query, in row order.
    """

    axes: Axes
    rows: IntArray
    cells: IntArray
    values: FloatArray
    labels: tuple[str, ...]


def spanned(names: Sequence[str], frame: Frame, key: str) -> tuple[Axes, tuple[int, ...]]:
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

    Raises: ValueError or zipfile's own for what is no .npz of plain arrays: a directory of thousands of members, arrays
    of objects, arrays that declare more bytes than their member holds.
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


def read_npz(path: Path, columns: Sequence[str] | UnsetType, frame: Frame) -> Coefficients:
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
    if _size(matrix) > MAX_ENTRIES:
        raise location.fault(f"{path.name} holds more than {MAX_ENTRIES} coefficients; split it")
    rows, cells, values = _entries(matrix)
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
            return _sparse(data)
        if ARRAY not in members:
            raise location.fault(f"{name} has no array {ARRAY!r}; save it as numpy.savez(file, {ARRAY}=...)")
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            return arrays[ARRAY]
    except (DpqrError, MemoryError):
        raise
    except Exception:  # numpy, scipy, zipfile and what unpacks for it know a dozen words for damage
        raise location.fault(f"{name} is no .npz of plain number arrays; save it with numpy or scipy.sparse") from None


def _sparse(data: bytes) -> Any:
    """As scipy saved it. Its native code takes indices on trust, so they are checked in full before it meets them."""
    from scipy.sparse import load_npz

    matrix = load_npz(BytesIO(data))
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    if matrix.nnz > MAX_ENTRIES:
        return matrix
    matrix = matrix.tocoo()
    matrix.sum_duplicates()
    return matrix


def _size(matrix: Any) -> int:
    return int(np.count_nonzero(matrix)) if isinstance(matrix, np.ndarray) else int(matrix.nnz)


def _entries(matrix: Any) -> tuple[Any, Any, Any]:
    if isinstance(matrix, np.ndarray):
        rows, cells = np.nonzero(matrix)
        return rows, cells, matrix[rows, cells].astype(np.float64)
    rows, cells = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    return rows.astype(np.int64), cells.astype(np.int64), matrix.data.astype(np.float64)
