"""Coefficients: any linear queries, from a public file, over the cells of some columns.

The numbers are quantised before anything is derived from them: to millionths where they are such decimals, else to
2^-20 (a note says so). Sensitivity, noise and answers then speak of the quantised queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import UsageFault
from dpqr.io.documents.entries.coefficient_arrays import read_npz
from dpqr.io.documents.entries.coefficient_form import Coefficients
from dpqr.io.documents.entries.coefficient_table import read_table
from dpqr.io.documents.entries.frame import Compiled, Frame
from dpqr.io.documents.entries.rows import MAX_ENTRIES, integer_matrix
from dpqr.io.documents.query_form import CoefficientsEntry
from dpqr.workload.block import Factor, QueryBlock

DECIMAL = 10**6
BINARY = 2**20
ROUNDING = 1e-12
"""How far a float may lie from the decimal it stands for, in units of 1."""

_READERS: dict[str, Callable[..., Coefficients]] = {".npz": read_npz, ".csv": read_table, ".parquet": read_table}


def compile_coefficients(entry: CoefficientsEntry, frame: Frame) -> Compiled:
    """One factor over all the columns; a row a query."""
    place = frame.place.key("coefficients")
    path = frame.folder / entry.coefficients
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise place.fault(f"{entry.coefficients!r} ends in none of {', '.join(_READERS)}; give one of these formats")
    try:
        found = reader(path, entry.columns, frame)
    except UsageFault as error:
        raise place.fault(str(error)) from None
    _check_values(found.values, frame)
    whole, grid, exact = quantised(found.values)
    if not whole.any():
        raise place.fault("holds no coefficient above 0, so every answer is 0")
    sizes = tuple(frame.domain.attributes[axis].size for axis in found.axes)
    matrix = integer_matrix(found.rows, found.cells, whole, (len(found.labels), math.prod(sizes)))
    factor = Factor(axes=found.axes, sizes=sizes, matrix=matrix, labels=found.labels)
    name = f"coefficients({Path(entry.coefficients).name})"
    notes = (
        () if exact else ("coefficients are rounded to multiples of 2^-20; answers are those of the rounded queries",)
    )
    return Compiled(blocks=(QueryBlock(name=name, factors=(factor,), scale=grid),), notes=notes)


def _check_values(values: FloatArray, frame: Frame) -> None:
    place = frame.place.key("coefficients")
    if len(values) > MAX_ENTRIES:
        raise place.fault(f"has more than {MAX_ENTRIES} coefficients; split the file")
    if not np.isfinite(values).all():
        raise place.fault("a coefficient is NaN or infinite; all must lie in [0, 1]")
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise place.fault("a coefficient lies outside [0, 1]; divide each query by its largest coefficient")


def quantised(values: FloatArray) -> tuple[IntArray, Fraction, bool]:
    """Integers, their coarsest grid, and whether grid times integer is the decimal that was written."""
    decimals = np.rint(values * DECIMAL)
    exact = bool((np.abs(values - decimals / DECIMAL) <= ROUNDING).all())
    whole = (decimals if exact else np.rint(values * BINARY)).astype(np.int64)
    shared = int(np.gcd.reduce(whole)) or 1 if len(whole) else 1
    return whole // shared, Fraction(shared, DECIMAL if exact else BINARY), exact
