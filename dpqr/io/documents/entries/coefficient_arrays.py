"""Coefficient arrays: .npz files, dense or sparse. Nothing in them is ever unpickled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from dpqr.errors import DpqrError
from dpqr.io.documents.entries.coefficient_form import MAX_FILE_BYTES, Coefficients, spanned
from dpqr.io.documents.entries.frame import Frame
from dpqr.io.documents.entries.npz_members import npz_members
from dpqr.io.documents.entries.rows import MAX_ENTRIES
from dpqr.io.documents.json_text import read_regular_file
from dpqr.io.documents.place import Place

ARRAY = "coefficients"
MAX_QUERIES = 1_000_000


def read_npz(path: Path, columns: Sequence[str] | UnsetType, frame: Frame) -> Coefficients:
    """An array `coefficients` of shape (queries, cells) or (cells,), or a matrix that scipy.sparse.save_npz wrote.

    Cells are those of `columns` (all columns of the domain where none are named), in C order.
    """
    place = frame.place.key("coefficients")
    names = frame.domain.names if columns is UNSET else columns
    axes, sizes = spanned(names, frame, "coefficients" if columns is UNSET else "columns")
    matrix = _loaded(read_regular_file(path, MAX_FILE_BYTES), path.name, place)
    if matrix.ndim == 1:
        matrix = matrix[None, :]
    if matrix.ndim != 2 or matrix.shape[1] != math.prod(sizes):
        raise place.fault(
            f"{path.name} has the shape {matrix.shape}; expected (queries, {math.prod(sizes)}), "
            f"one coefficient a cell of {', '.join(map(repr, names))}"
        )
    if matrix.dtype.kind not in "biuf":
        raise place.fault(f"{path.name} holds {matrix.dtype.name}; coefficients are real numbers")
    if not 1 <= matrix.shape[0] <= MAX_QUERIES:
        raise place.fault(f"{path.name} holds {matrix.shape[0]} queries; give from 1 to {MAX_QUERIES}")
    if _size(matrix) > MAX_ENTRIES:
        raise place.fault(f"{path.name} holds more than {MAX_ENTRIES} coefficients; split it")
    rows, cells, values = _entries(matrix)
    for index, size in ((rows, matrix.shape[0]), (cells, matrix.shape[1])):
        if len(index) and not 0 <= index.min() <= index.max() < size:
            raise place.fault(f"{path.name} has an entry outside its own shape; save it anew")
    labels = tuple(f"query {index}" for index in range(matrix.shape[0]))
    return Coefficients(axes=axes, rows=rows, cells=cells, values=values, labels=labels)


def _loaded(data: bytes, name: str, place: Place) -> Any:
    """The one matrix in the file, dense or scipy sparse."""
    try:
        members = npz_members(data)
        if sum(members.values()) > MAX_FILE_BYTES:
            raise place.fault(f"{name} unpacks to more than {MAX_FILE_BYTES} bytes; split it")
        if {"format", "shape", "data"} <= members.keys():
            return _sparse(data)
        if ARRAY not in members:
            raise place.fault(f"{name} has no array {ARRAY!r}; save it as numpy.savez(file, {ARRAY}=...)")
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            return arrays[ARRAY]
    except (DpqrError, MemoryError):
        raise
    except Exception:  # numpy, scipy, zipfile and what unpacks for it know a dozen words for damage
        raise place.fault(f"{name} is no .npz of plain number arrays; save it with numpy or scipy.sparse") from None


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
