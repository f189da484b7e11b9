"""RowEncoder: batches of cells become rows of codes; the rules are applied row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.attribute import Attribute
from dpqr.data.domain import Domain
from dpqr.io.tables.encoders import Encoder, encoder
from dpqr.io.tables.fault_codes import FAILED, Encoded, FaultCodes
from dpqr.io.tables.text_cells import numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRows:
    """The rows of a batch that are kept. Private.

    codes: one array an attribute, shape (rows,), every code a cell. counts: records a row, or None for one each.
    read: records in the batch, with those of the dropped rows. failed: the columns whose `fail` rule was broken.
    places: where in the batch the rows stood; None where all of it is kept.
    """

    codes: tuple[AnyArray, ...]
    rows: int
    counts: IntArray | None
    read: int
    failed: frozenset[str]
    places: AnyArray | None = None

    @property
    def kept(self) -> int:
        """Records that the rows stand for."""
        return self.rows if self.counts is None else _total(self.counts)


@dataclass(frozen=True, slots=True)
class _Column:
    """One attribute's encoder, with what every kind shares: nulls, missing texts, dictionaries."""

    encoder: Encoder
    null: int
    missing: tuple[str, ...]

    def encode(self, cells: Any) -> Encoded:
        from pyarrow import types

        if types.is_dictionary(cells.type):
            return self._looked_up(self.encode(cells.dictionary), cells.indices)
        present = self._present(cells)
        if present is None:
            return self.encoder.encode(cells)
        codes = np.full(len(cells), self.null, dtype=np.int64)
        if present.any():
            codes[present] = self.encoder.encode(cells.filter(_mask(present))).codes
        return Encoded(codes, clean=False)

    def _present(self, cells: Any) -> AnyArray | None:
        """Which cells are not null; None where all are there. Text tables have missing texts in place of nulls."""
        import pyarrow as pa
        from pyarrow import compute

        absent = None
        if self.missing:
            absent = compute.is_in(cells, value_set=pa.array(self.missing, type=cells.type))
        elif cells.null_count:
            absent = cells.is_null()
        if absent is None or not compute.any(absent, min_count=0).as_py():
            return None
        present: AnyArray = np.logical_not(absent.to_numpy(zero_copy_only=False))
        return present

    def _looked_up(self, table: Encoded, indices: Any) -> Encoded:
        """Rows by their dictionary entries. An entry that no row uses has no effect on any row's code."""
        codes = np.append(table.codes.astype(np.int64), self.null)
        places = indices.cast("int64").fill_null(len(table.codes)).to_numpy()
        return Encoded(codes[places], clean=table.clean and indices.null_count == 0)


@dataclass(frozen=True, slots=True)
class RowEncoder:
    """Encodes batches whose columns are the domain's, in its order, then the count column where there is one.

    count_cap: None if every row is one record, else the largest count that a cell may hold.
    """

    names: tuple[str, ...]
    columns: tuple[_Column, ...]
    count_cap: int | None

    @classmethod
    def of(cls, domain: Domain, *, text: bool, count_cap: int | None) -> RowEncoder:
        """text: the cells come from a text table, where the attribute's missing texts stand for null."""
        return cls(domain.names, tuple(_column(attribute, text=text) for attribute in domain.attributes), count_cap)

    def encode(self, batch: Any) -> CodedRows:
        """Codes of one batch. A broken contract of the count column leaves `counts` unused and is told in `failed`."""
        encoded = [column.encode(batch.column(place)) for place, column in enumerate(self.columns)]
        failed = {name for name, each in zip(self.names, encoded, strict=True) if _has_failed(each)}
        counts = None
        if self.count_cap is not None:
            counts = record_counts(batch.column(len(self.columns)), self.count_cap)
            if counts is None:
                failed.add(batch.schema.names[-1])
                counts = np.zeros(batch.num_rows, dtype=np.int64)
        read = batch.num_rows if counts is None else _total(counts)
        codes, places = tuple(each.codes for each in encoded), _passed(encoded)
        if places is not None:
            codes = tuple(each[places] for each in codes)
            counts = None if counts is None else counts[places]
        rows = batch.num_rows if places is None else len(places)
        return CodedRows(codes=codes, rows=rows, counts=counts, read=read, failed=frozenset(failed), places=places)

    def places(self, batch: Any) -> AnyArray:
        """Codes of every row of a public table, shape (rows, columns), int64; below 0 where a cell's rule would drop
        the row."""
        encoded = [column.encode(batch.column(place)).codes for place, column in enumerate(self.columns)]
        return np.stack([each.astype(np.int64) for each in encoded], axis=1)


def record_counts(cells: Any, cap: int) -> IntArray | None:
    """Whole numbers from 0 to `cap` as int64; None if any cell is something else."""
    from pyarrow import types

    if cells.null_count or types.is_null(cells.type):
        return None
    if types.is_string(cells.type):
        values, good = numbers(cells)
        values = np.where(good, values, -1)
    else:
        values = cells.to_numpy()
    fits = (values >= 0) & (values <= cap)
    if values.dtype.kind == "f":
        fits &= np.floor(values) == values
    return values.astype(np.int64) if fits.all() else None


def count_refusal(kind: Any) -> str | None:
    """None if the count column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    return None if types.is_integer(kind) or types.is_floating(kind) else "record counts, in an integer type"


def _column(attribute: Attribute, *, text: bool) -> _Column:
    return _Column(encoder(attribute), FaultCodes.of(attribute).null, attribute.missing if text else ())


def _has_failed(encoded: Encoded) -> bool:
    return not encoded.clean and bool((encoded.codes == FAILED).any())


def _passed(encoded: Sequence[Encoded]) -> AnyArray | None:
    """Places of the rows none of whose cells is dropped; None for all of them."""
    lost = [each.codes < 0 for each in encoded if not each.clean]
    dropped = np.logical_or.reduce(lost) if lost else None
    return None if dropped is None or not dropped.any() else np.flatnonzero(~dropped)


def _total(counts: IntArray) -> int:
    """The sum as an exact integer; the halves of 32 bits cannot overflow in one batch."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def _mask(present: AnyArray) -> Any:
    import pyarrow as pa

    return pa.array(present)
