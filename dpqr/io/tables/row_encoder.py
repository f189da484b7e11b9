"""RowEncoder: batches of cells become rows of codes; the rules are applied row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.attribute import Attribute
from dpqr.data.domain import Domain
from dpqr.io.tables.fault_codes import FAILED, Encoded
from dpqr.io.tables.parquet.column import TypedColumn
from dpqr.io.tables.text.cells import numbers
from dpqr.io.tables.text.column import TextColumn


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


class Column(Protocol):
    """Encodes the cells of one attribute."""

    def encode(self, cells: Any) -> Encoded: ...


@dataclass(frozen=True, slots=True)
class RowEncoder:
    """Encodes batches whose columns are the domain's, in its order, then the count column where there is one.

    count_cap: None if every row is one record, else the largest count that a cell may hold.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    count_cap: int | None

    @classmethod
    def of(cls, domain: Domain, *, text: bool, count_cap: int | None) -> RowEncoder:
        """text: the cells come from a text table, where the attribute's missing texts stand for null."""
        column: Callable[[Attribute], Column] = TextColumn.of if text else TypedColumn.of
        return cls(domain.names, tuple(column(attribute) for attribute in domain.attributes), count_cap)

    def encode(self, batch: Any) -> CodedRows:
        """Codes of one batch. A broken contract of the count column leaves `counts` unused and is told in `failed`."""
        encoded = [column.encode(batch.column(place)) for place, column in enumerate(self.columns)]
        failed = {name for name, each in zip(self.names, encoded, strict=True) if _has_failed(each)}
        counts = None
        if self.count_cap is not None:
            counts = record_counts(batch.column(len(self.columns)), self.count_cap)
            if counts is None:
                failed.add(batch.column_names[-1])
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
    """Whole numbers from 0 to `cap` as int64; None if any cell is something else. cells: texts, or an Arrow array."""
    values = _counted_texts(cells) if isinstance(cells, list) else _counted(cells)
    if values is None:
        return None
    fits = (values >= 0) & (values <= cap)
    if values.dtype.kind == "f":
        fits &= np.floor(values) == values
    return values.astype(np.int64) if fits.all() else None


def _counted(cells: Any) -> AnyArray | None:
    from pyarrow import types

    if cells.null_count or types.is_null(cells.type):
        return None
    values: AnyArray = cells.to_numpy()
    return values


def _counted_texts(cells: list[str]) -> AnyArray | None:
    values, good = numbers(cells)
    return values if good.all() else None


def count_refusal(kind: Any) -> str | None:
    """None if the count column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    return None if types.is_integer(kind) or types.is_floating(kind) else "record counts, in an integer type"


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
