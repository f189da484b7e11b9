"""Encoders: the cells of one column, an Arrow array, become codes of one attribute.

Total functions: whatever a cell holds, it gets a code by the declared rules. Columns of Parquet have the types that
`refusal` lets pass; columns of CSV are text, whatever the attribute's kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import PLAIN, Attribute, Bins, Codes, Labels, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, IntArray
from dpqr.tables.cell_values import (
    FAILED,
    CellCodes,
    FaultCodes,
    WholeNumbers,
    changed_texts,
    float_cuts,
    is_text,
    mask,
    moment_reader,
    not_null,
    number_reader,
    numbers,
    numpy_values,
    parsed,
    place_decimals,
    places_among,
    text_array,
    whole_cuts,
)

_MICROSECONDS = {"s": Fraction(10**6), "ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}
_DAY = Fraction(24 * 3600 * 10**6)


class Encoder(Protocol):
    """Codes of one kind of axis."""

    def refusal(self, kind: Any) -> str | None:
        """None if a typed column may have the Arrow type `kind`, or else the types that it may have, in words."""
        ...

    def encode(self, cells: Any) -> CellCodes:
        """Codes of an Arrow array without nulls, of texts or of a type that was let pass."""
        ...


class LabelEncoder(Struct, frozen=True):
    """Exact text, or text without its case; whole numbers by their decimal text, booleans as "true" and "false", dates
    in ISO form."""

    axis: Labels
    faults: FaultCodes

    def refusal(self, kind: Any) -> str | None:
        from pyarrow import types

        fits = is_text(kind) or types.is_boolean(kind) or types.is_integer(kind) or types.is_date(kind)
        return None if fits else "text, whole numbers, booleans or dates (labels)"

    def encode(self, cells: Any) -> CellCodes:
        import pyarrow as pa
        from pyarrow import types

        if types.is_integer(cells.type):
            return self._integers(cells)
        if types.is_boolean(cells.type):
            labels = {value: place for place, value in enumerate(self.axis.values)}
            return self._found(cells.cast(pa.string()), self.axis.places() | labels)
        if not (types.is_string(cells.type) or types.is_large_string(cells.type)):
            cells = cells.cast(pa.string())
        if self.axis.folded:
            distinct, indices = changed_texts(cells, self.axis.form)
            return self._found(distinct, self.axis.places()).looked_up(indices, self.faults.null)
        return self._found(cells, self.axis.places())

    def _found(self, cells: Any, known: dict[str, int]) -> CellCodes:
        """By text: places of the texts that are known."""
        from pyarrow import compute

        found = compute.index_in(cells, value_set=text_array(tuple(known), cells.type))
        places = np.array([*known.values(), -1], dtype=np.int64)[numpy_values(found, -1)]
        return self.faults.settle(places, self.axis.size, places)

    def _integers(self, cells: Any) -> CellCodes:
        """By value: of the labels, those that are the decimal text of a number of this type."""
        values = numpy_values(cells)
        bounds = np.iinfo(values.dtype)
        # Labels that are what a whole number prints as: "7" and "-7", not "07" or "+7".
        numbers = {}
        for text, place in self.axis.places().items():
            digits = text.removeprefix("-")
            if digits.isdecimal() and digits.isascii() and str(int(text)) == text:
                numbers[int(text)] = place
        known = sorted(value for value in numbers if bounds.min <= value <= bounds.max)
        if not known:
            places = np.full(len(values), -1, dtype=np.int64)
        else:
            ordered = np.array(known, dtype=values.dtype)
            nearest = np.searchsorted(ordered, values).clip(max=len(known) - 1)
            labels = np.array([numbers[value] for value in known], dtype=np.int64)
            places = np.where(ordered[nearest] == values, labels[nearest], -1)
        return self.faults.settle(places, self.axis.size, places)


class CodeEncoder(Struct, frozen=True):
    """Whole numbers 0 .. size-1; other whole numbers are outside, fractions unparsable. 3.0 is 3."""

    axis: Codes
    faults: FaultCodes

    def refusal(self, kind: Any) -> str | None:
        from pyarrow import types

        fits = types.is_integer(kind) or types.is_floating(kind)
        return None if fits else "whole numbers (codes), in an integer or floating-point type"

    def encode(self, cells: Any) -> CellCodes:
        if is_text(cells.type):
            values, good = numbers(cells)
            return self.faults.whole(values, self.axis.size).with_code(~good, self.faults.unparsable)
        values = numpy_values(cells)
        return self.faults.whole(values, self.axis.size) if values.dtype.kind == "f" else self._integers(values)

    def _integers(self, values: AnyArray) -> CellCodes:
        """Codes that all fit are taken as they are, without a copy: the common case of a coded table."""
        # Read as unsigned, a negative number is larger than every positive one of its type: one comparison serves.
        fitting = min(self.axis.size, int(np.iinfo(values.dtype).max) + 1)
        if not len(values) or values.view(f"u{values.itemsize}").max() < fitting:
            return CellCodes(values, clean=True)
        if values.dtype == np.uint64:
            values = np.minimum(values, np.uint64(np.iinfo(np.int64).max))
        places = values.astype(np.int64).clip(-1, self.axis.size)
        return self.faults.settle(places, self.axis.size, places)


KnownCodes = dict[tuple[np.dtype[Any], Fraction], WholeNumbers]
"""What codes whole numbers, by their type and unit."""


class NumberEncoder(Struct, frozen=True, eq=False):
    """Numbers by bins; an integral axis places other numbers by the same edges."""

    axis: Bins
    faults: FaultCodes
    spelling: Spelling = PLAIN
    known: KnownCodes = msgspec.field(default_factory=dict)

    def refusal(self, kind: Any) -> str | None:
        from pyarrow import types

        exact = types.is_decimal(kind) and kind.scale >= 0  # Arrow compares no others: any cell would end the run
        fits = types.is_integer(kind) or types.is_floating(kind) or exact
        fits = fits or (is_text(kind) and not self.spelling.plain)
        hint = '; texts are read where the field says how they are written: "bareNumber": false, or a "groupChar"'
        wanted = "numbers (bins), in an integer, floating-point or decimal type"
        return None if fits else f"{wanted}{hint if is_text(kind) else ''}"

    def encode(self, cells: Any) -> CellCodes:
        from pyarrow import types

        if types.is_decimal(cells.type):
            places = place_decimals(cells, self.axis)
            return self.faults.settle(places, self.axis.size, places)
        if is_text(cells.type):
            values, good = (
                numbers(cells) if self.spelling.plain else parsed(cells, number_reader(self.spelling), np.float64)
            )
            return self._floats(values).with_code(~good, self.faults.unparsable)
        values = numpy_values(cells)
        if values.dtype.kind == "f":
            return self._floats(values)
        return _whole(self, values.dtype, Fraction(1)).codes(values)

    def cuts(self, unit: Fraction) -> list[int]:
        """Thresholds for whole numbers of this unit."""
        return whole_cuts(self.axis, unit)

    def _floats(self, values: AnyArray) -> CellCodes:
        places = places_among(float_cuts(self.axis, values.dtype), values)
        return self.faults.settle(places, self.axis.size, values)


class MomentEncoder(Struct, frozen=True, eq=False):
    """Days or moments by bins. A moment in a column of dates counts by its date, a date in one of moments by its
    midnight; a zoned moment by its instant in UTC.
    """

    axis: Bins
    faults: FaultCodes
    spelling: Spelling = PLAIN
    known: KnownCodes = msgspec.field(default_factory=dict)

    def refusal(self, kind: Any) -> str | None:
        from pyarrow import types

        fits = types.is_date(kind) or types.is_timestamp(kind) or (is_text(kind) and not self.spelling.plain)
        hint = '; texts are read where the field says how they are written: "format": "%Y-%m-%d", for example'
        return None if fits else f"a date or a timestamp ({self.axis.kind} bins){hint if is_text(kind) else ''}"

    def encode(self, cells: Any) -> CellCodes:
        import pyarrow as pa
        from pyarrow import types

        if is_text(cells.type):
            days = self.axis.kind == "date"
            moments, good = parsed(cells, moment_reader(self.spelling, days=days), np.int64)
            found = _whole(self, moments.dtype, _DAY if days else Fraction(1)).codes(moments)
            return found.with_code(~good, self.faults.unparsable)
        unit = _DAY if types.is_date32(cells.type) else _MICROSECONDS[getattr(cells.type, "unit", "ms")]
        values = numpy_values(cells.view(pa.int32() if types.is_date32(cells.type) else pa.int64()))
        return _whole(self, values.dtype, unit).codes(values)

    def cuts(self, unit: Fraction) -> list[int]:
        """Thresholds for whole numbers of this unit, in microseconds."""
        if self.axis.kind == "date":
            return [int(cut * _DAY / unit) for cut in whole_cuts(self.axis)]
        return whole_cuts(self.axis, unit)


def _whole(encoder: NumberEncoder | MomentEncoder, kind: np.dtype[Any], unit: Fraction) -> WholeNumbers:
    """What codes whole numbers of one type and unit; the same for all batches of a column."""
    if (kind, unit) not in encoder.known:
        encoder.known[kind, unit] = WholeNumbers.of(encoder.cuts(unit), kind, encoder.faults)
    return encoder.known[kind, unit]


class ColumnEncoder(Struct, frozen=True, kw_only=True):
    """One attribute's encoder, with what every kind shares: nulls, blanks at both ends of texts, and dictionaries.

    missing: texts that stand for null, in any table. trim: blanks at both ends go before anything is compared.
    """

    encoder: Encoder
    null: int
    missing: tuple[str, ...] = ()
    trim: bool = False

    @classmethod
    def of(cls, attribute: Attribute) -> ColumnEncoder:
        trim = attribute.spelling.trim
        missing = tuple(each.strip() for each in attribute.missing) if trim else attribute.missing
        return cls(encoder=encoder(attribute), null=FaultCodes.of(attribute).null, missing=missing, trim=trim)

    def encode(self, cells: Any) -> CellCodes:
        """Codes of an Arrow array, shape (rows,)."""
        from pyarrow import types

        if types.is_dictionary(cells.type):
            return self.encode(cells.dictionary).looked_up(cells.indices, self.null)
        if self.trim and is_text(cells.type):
            distinct, indices = changed_texts(cells, str.strip)
            return self._settled(distinct).looked_up(indices, self.null)
        return self._settled(cells)

    def _settled(self, cells: Any) -> CellCodes:
        """Codes of an Arrow array of values, nulls among them."""
        known = not_null(cells)  # and no text that stands for null
        if self.missing and is_text(cells.type):
            from pyarrow import compute

            known = known & ~numpy_values(compute.is_in(cells, value_set=text_array(self.missing, cells.type)))
        if len(cells) and known.all():
            return self.encoder.encode(cells)
        codes = np.full(len(cells), self.null, dtype=np.int64)
        if known.any():
            codes[known] = self.encoder.encode(cells.filter(mask(known))).codes
        return CellCodes(codes, clean=False)


def encoder(attribute: Attribute) -> Encoder:
    """The encoder of an attribute's kind of axis."""
    axis, faults = attribute.axis, FaultCodes.of(attribute)
    if isinstance(axis, Labels):
        return LabelEncoder(axis, faults)
    if isinstance(axis, Codes):
        return CodeEncoder(axis, faults)
    kind = NumberEncoder if axis.kind == "number" else MomentEncoder
    return kind(axis, faults, attribute.spelling)


# RowEncoder: batches of records become rows of codes; the rules are applied row by row.

NONE: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TableBatch:
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


class CodedRows(Struct, frozen=True, kw_only=True):
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
    malformed: IntArray = msgspec.field(default_factory=lambda: NONE)

    @property
    def origins(self) -> AnyArray:
        """The places of the kept rows among all records, the malformed ones included."""
        origins: AnyArray = np.delete(np.arange(self.read), self.malformed)
        return origins if self.places is None else origins[self.places]

    @property
    def kept(self) -> int:
        """Records that the rows stand for."""
        return self.rows if self.counts is None else _total(self.counts)


class RowEncoder(Struct, frozen=True):
    """Encodes batches whose columns are the domain's, in its order, then the count column where there is one.

    count_cap: None if every row is one record, else the largest count that a cell may hold: a constant, for a
    requester's limit here would cut single counts off.
    """

    names: tuple[str, ...]
    columns: tuple[ColumnEncoder, ...]
    count_cap: int | None

    @classmethod
    def of(cls, domain: Domain, *, count_cap: int | None) -> RowEncoder:
        return cls(domain.names, tuple(map(ColumnEncoder.of, domain.attributes)), count_cap)

    def encode(self, batch: Any, malformed: IntArray = NONE) -> CodedRows:
        """Codes of one batch of well-formed rows, which stood among the malformed ones at these places."""
        counts = None
        if self.count_cap is not None:
            counts, good = record_counts(batch.column(len(self.columns)), self.count_cap)
            if not good.all():
                batch, counts = batch.filter(mask(good)), counts[good]
                malformed = np.concatenate([malformed, np.flatnonzero(~good)])
        encoded = [column.encode(batch.column(place)) for place, column in enumerate(self.columns)]
        failed = {
            name
            for name, each in zip(self.names, encoded, strict=True)
            if not each.clean and bool((each.codes == FAILED).any())
        }
        read = batch.num_rows + len(malformed) if counts is None else _total(counts)
        codes = tuple(each.codes for each in encoded)
        # Places of the rows none of whose cells is dropped; None for all of them.
        lost = [each.codes < 0 for each in encoded if not each.clean]
        dropped = np.logical_or.reduce(lost) if lost else None
        places = None if dropped is None or not dropped.any() else np.flatnonzero(~dropped)
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
    if is_text(cells.type):
        values, good = numbers(cells)
    else:
        # Numbers, 0 for null, and which of them are not null.
        from pyarrow import types

        cells = cells.dictionary_decode() if types.is_dictionary(cells.type) else cells
        cells = cells.cast("int64") if types.is_null(cells.type) else cells
        values, good = numpy_values(cells), not_null(cells)
    if values.dtype.kind == "f":
        good = good & (np.floor(values) == values)
    good = good & (values >= 0) & (values <= cap)
    return np.where(good, values, 0).astype(np.int64), good


def count_refusal(kind: Any) -> str | None:
    """None if the count column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    return None if types.is_integer(kind) or types.is_floating(kind) else "record counts, in an integer type"


def _total(counts: IntArray) -> int:
    """The sum as an exact integer; the halves of 32 bits cannot overflow in one batch."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
