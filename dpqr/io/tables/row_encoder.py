"""RowEncoder: batches of records become rows of codes; the rules are applied row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.domain import Domain
from dpqr.io.tables.arrow_arrays import is_text, mask, numpy_values, present
from dpqr.io.tables.cell_values import FAILED, Encoded, numbers
from dpqr.io.tables.encoders import Column

NONE: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Records:
    """Some records of a table, in the table's order. Private.

    rows: the well-formed ones, an Arrow batch. malformed: the places of the others among all of them,
    in rising order.

    **Privacy** Whether a record is malformed depends on that record alone: on what the grammar of the format makes of
    it. So neighbouring tables, whose lists of records differ in one record, differ in one place.
    """

    rows: Any = field(repr=False)
    malformed: IntArray = field(default_factory=lambda: NONE, repr=False)

    @property
    def count(self) -> int:
        """All of them."""
        return int(self.rows.num_rows) + len(self.malformed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRows:
    """The rows of a batch that are kept. Private.

    codes: one array an attribute, shape (rows,), every code a cell. counts: records a row, or None for one each.
    read: records in the batch, with those of the dropped rows. failed: the columns whose `fail` rule was broken.
    places: where in the batch the rows stood; None where all of it is kept. malformed: places of the malformed rows
    among all records, the batch holding the others. A malformed row is one record; in a table of counts, where a row
    whose count is none is malformed too, it stands for none, and the places mean nothing.
    """

    codes: tuple[AnyArray, ...]
    rows: int
    counts: IntArray | None
    read: int
    failed: frozenset[str]
    places: AnyArray | None = None
    malformed: IntArray = field(default_factory=lambda: NONE)

    @property
    def origins(self) -> AnyArray:
        """The places of the kept rows among all records, the malformed ones included."""
        origins: AnyArray = np.delete(np.arange(self.read), self.malformed)
        return origins if self.places is None else origins[self.places]

    @property
    def kept(self) -> int:
        """Records that the rows stand for."""
        return self.rows if self.counts is None else _total(self.counts)


@dataclass(frozen=True, slots=True)
class RowEncoder:
    """Encodes batches whose columns are the domain's, in its order, then the count column where there is one.

    count_cap: None if every row is one record, else the largest count that a cell may hold: a constant, for a
    requester's limit here would cut single counts off.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    count_cap: int | None

    @classmethod
    def of(cls, domain: Domain, *, text: bool, count_cap: int | None) -> RowEncoder:
        """text: the cells come from a text table, where the attribute's missing texts stand for null."""
        columns = tuple(Column.of(attribute, text=text) for attribute in domain.attributes)
        return cls(domain.names, columns, count_cap)

    def encode(self, batch: Any, malformed: IntArray = NONE) -> CodedRows:
        """Codes of one batch of well-formed rows, which stood among the malformed ones at these places."""
        counts = None
        if self.count_cap is not None:
            counts, good = record_counts(batch.column(len(self.columns)), self.count_cap)
            if not good.all():
                batch, counts = batch.filter(mask(good)), counts[good]
                malformed = np.concatenate([malformed, np.flatnonzero(~good)])
        encoded = [column.encode(batch.column(place)) for place, column in enumerate(self.columns)]
        failed = {name for name, each in zip(self.names, encoded, strict=True) if _has_failed(each)}
        read = batch.num_rows + len(malformed) if counts is None else _total(counts)
        codes, places = tuple(each.codes for each in encoded), _passed(encoded)
        if places is not None:
            codes = tuple(each[places] for each in codes)
            counts = None if counts is None else counts[places]
        rows = batch.num_rows if places is None else len(places)
        return CodedRows(
            codes=codes,
            rows=rows,
            counts=counts,
            read=read,
            failed=frozenset(failed),
            places=places,
            malformed=malformed,
        )

    def places(self, batch: Any) -> AnyArray:
        """Codes of every row of a public table, shape (rows, columns), int64; below 0 where a cell's rule would drop
        the row."""
        encoded = [column.encode(batch.column(place)).codes for place, column in enumerate(self.columns)]
        return np.stack([each.astype(np.int64) for each in encoded], axis=1)


def record_counts(cells: Any, cap: int) -> tuple[IntArray, AnyArray]:
    """Records a row, int64, and which cells hold such a count: a whole number from 0 to `cap`. The others count 0.

    cells: an Arrow array, of texts or numbers.
    """
    values, good = numbers(cells) if is_text(cells.type) else _counted(cells)
    if values.dtype.kind == "f":
        good = good & (np.floor(values) == values)
    good = good & (values >= 0) & (values <= cap)
    return np.where(good, values, 0).astype(np.int64), good


def _counted(cells: Any) -> tuple[AnyArray, AnyArray]:
    """Numbers, 0 for null, and which of them are not null."""
    from pyarrow import types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_null(cells.type):
        cells = cells.cast("int64")
    return numpy_values(cells), present(cells)


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
