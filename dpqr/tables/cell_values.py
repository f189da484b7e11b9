"""Cell values: what the text of a cell stands for, between which bin edges a value lies, and the code of each fault.

A cell's meaning depends on its own text alone, never on its neighbours, so rows may be cut into batches anywhere.

Bin edges become thresholds in a column's own units and type, so that placing a cell never rounds it. Bin k holds the
values at or above threshold k and below threshold k + 1. Edge e is turned into the smallest value of the column's type
that lies on the right side of it: v >= e where e belongs to the bin above, v > e where it belongs to the bin below
(every inner edge closed on the right, and the last edge, which belongs to the last bin).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Bins, Fault, Rule, Spelling
from dpqr.domain.periods import LAST_YEAR, MONTHS, Every
from dpqr.kernel.arrays import AnyArray

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
MICROSECONDS_A_DAY = 24 * 3600 * 10**6
_A_DAY = {unit: 24 * 3600 * second for unit, second in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items()}
"""A day in each unit of a timestamp."""
_FIRST_DAY, _LAST_DAY = ((each - _EPOCH.date()).days for each in (date.min, date(LAST_YEAR, 12, 31)))


def number(text: str) -> float | None:
    """Decimal text as the nearest float64; "nan" and "inf" in any case and sign; None: no number (hex, "1,5")."""
    cleaned = text.strip()
    return float(cleaned) if _DECIMAL.fullmatch(cleaned) else special_number(cleaned)


def special_number(text: str) -> float | None:
    """NaN or an infinity by its name; None: another text."""
    return float(text) if _NAN.fullmatch(text) or _INFINITE.fullmatch(text) else None


def moment(text: str) -> int | None:
    """ISO 8601 text as microseconds since 1970-01-01T00:00 (UTC where the text has an offset); None: not a moment."""
    try:
        return instant(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def instant(stated: datetime) -> int:
    """Microseconds since 1970-01-01T00:00 (UTC where it has an offset). Raises: OverflowError off the calendar."""
    if stated.tzinfo is not None:
        stated = stated.astimezone(UTC).replace(tzinfo=None)
    return (stated - _EPOCH) // _MICROSECOND


def day(text: str) -> int | None:
    """ISO 8601 text as days since 1970-01-01; of a moment its date. None: not a date."""
    try:
        return (date.fromisoformat(text.strip()) - _EPOCH.date()).days
    except ValueError:
        found = moment(text)
    return None if found is None else found // MICROSECONDS_A_DAY


def days(cells: Any) -> tuple[AnyArray, AnyArray]:
    """Days since 1970-01-01 of an Arrow array of dates, timestamps or texts (`day`), shape (rows,), and which cells
    have one that lies on the calendar of periods."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_null(cells.type):
        cells = cells.cast(pa.string())
    known = not_null(cells).copy()
    if is_text(cells.type):
        read, good = parsed(cells.filter(mask(known)), day, np.int64)
        found = np.zeros(len(cells), dtype=np.int64)
        found[known], known[known] = read, good
    elif types.is_date32(cells.type):
        found = numpy_values(cells.view(pa.int32())).astype(np.int64)
    else:
        found = numpy_values(cells.view(pa.int64())) // _A_DAY[getattr(cells.type, "unit", "ms")]
    return found, known & (found >= _FIRST_DAY) & (found <= _LAST_DAY)


def period_numbers(every: Every, found: AnyArray) -> AnyArray:
    """The number of the period that holds each day (since 1970-01-01), the same for all days of one, rising with them.

    >>> period_numbers("month", np.array([-1, 0, 30, 31])).tolist()
    [-1, 0, 0, 1]
    """
    if every == "day":
        return found
    if every == "week":
        weeks: AnyArray = (found + 3) // 7  # 1970-01-01 was a Thursday
        return weeks
    months: AnyArray = found.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) // MONTHS[every]
    return months


def parsed(cells: Any, parse: Callable[[str], float | None], dtype: type) -> tuple[AnyArray, AnyArray]:
    """Values of an Arrow array of texts without nulls, shape (rows,), and which of them parsed. Each distinct text is
    parsed once."""
    encoded = cells.dictionary_encode()
    found = [parse(text) for text in encoded.dictionary.to_pylist()]
    known: AnyArray = np.array([0 if value is None else value for value in found], dtype=dtype)
    places, good = numpy_values(encoded.indices), np.array([value is not None for value in found], dtype=bool)
    return known[places], good[places]


def numbers(cells: Any) -> tuple[AnyArray, AnyArray]:
    """The same as float64. Arrow converts texts that are all plain and finite numbers, and agrees with `number`."""
    import pyarrow as pa

    try:
        found = numpy_values(cells.cast(pa.float64()))
    except pa.ArrowInvalid:
        return parsed(cells, number, np.float64)
    if not np.isfinite(found).all():
        return parsed(cells, number, np.float64)
    return found, np.ones(len(found), dtype=bool)


def edges(bins: Bins) -> list[tuple[Fraction, bool]]:
    """Each edge, and whether values must lie strictly above it to pass."""
    inner = bins.closed == "right"
    last = bins.size
    return [(edge, inner if 0 < place < last else place == last) for place, edge in enumerate(bins.edges)]


def whole_cuts(bins: Bins, unit: Fraction = Fraction(1)) -> list[int]:
    """Thresholds for whole numbers of `unit`: exact."""
    return [math.floor(edge / unit) + 1 if strict else math.ceil(edge / unit) for edge, strict in edges(bins)]


def float_cuts(bins: Bins, dtype: np.dtype[Any]) -> AnyArray:
    """Thresholds for floating-point numbers of that type.

    Edges are first rounded to the column's type, as its cells were when they were written, so that a cell that
    reads 0.3 lies on the edge 0.3. Exact with respect to those rounded edges.
    """
    with np.errstate(over="ignore"):
        rounded = np.array([_float(edge) for edge in bins.edges]).astype(dtype)
    strict = [above for _, above in edges(bins)]
    found: AnyArray = np.where(strict, np.nextafter(rounded, dtype.type(np.inf)), rounded)
    return found


def _float(edge: Fraction) -> float:
    try:
        return float(edge)
    except OverflowError:
        return math.inf if edge > 0 else -math.inf


def place_decimals(column: Any, bins: Bins) -> AnyArray:
    """Places of an Arrow decimal column without nulls: exact, by comparisons in its own type."""
    import pyarrow as pa
    from pyarrow import compute

    scale, largest = column.type.scale, 10**column.type.precision - 1
    places = np.full(len(column), -1, dtype=np.int64)
    for cut in whole_cuts(bins, Fraction(10) ** -scale):
        if cut <= largest:
            # cut / 10^scale, exact whatever the precision of the current decimal context
            whole = max(cut, -largest)
            exact = Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -scale))
            threshold = pa.scalar(exact, type=column.type)
            places += numpy_values(compute.greater_equal(column, threshold))
    return places


def places_among(thresholds: AnyArray, values: AnyArray) -> AnyArray:
    """Places of values among thresholds of their type, int64: -1 below the first one."""
    return np.searchsorted(thresholds, values, side="right").astype(np.int64, copy=False) - 1


DROPPED = -1
FAILED = -2


def narrow(codes: AnyArray) -> AnyArray:
    """The same in the smallest signed type that holds them: what stays in the processor's cache is fast."""
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))


class CellCodes(Struct, frozen=True):
    """One code a row: a cell of the attribute, or DROPPED or FAILED. `clean`: certainly none of the latter two."""

    codes: AnyArray
    clean: bool

    def with_code(self, where: AnyArray, code: int) -> CellCodes:
        """The same codes with `code` wherever `where` is true."""
        if not where.any():
            return self
        return CellCodes(np.where(where, np.int64(code), self.codes), clean=False)

    def looked_up(self, indices: Any, null: int) -> CellCodes:
        """Rows by the place of their entry here, an Arrow array; `null` for rows without one. An entry that no row uses
        has no effect on any row's code."""
        codes = narrow(np.append(self.codes, null))
        places = numpy_values(indices.cast("int64") if indices.null_count else indices, len(self.codes))
        return CellCodes(codes.take(places), clean=self.clean and indices.null_count == 0)


class FaultCodes(Struct, frozen=True, kw_only=True):
    """The code of each fault of one attribute; None for `outside` and `infinite` means the nearest cell (clip)."""

    null: int
    unparsable: int
    nan: int
    infinite: int | None
    outside: int | None

    @classmethod
    def of(cls, attribute: Attribute) -> FaultCodes:
        def code(fault: Fault) -> int:
            rule = attribute.rule(fault)
            if rule is Rule.CELL:
                return attribute.own_cell(fault)
            return FAILED if rule is Rule.FAIL else DROPPED

        def nearest(fault: Fault) -> int | None:
            return None if attribute.rule(fault) is Rule.CLIP else code(fault)

        return cls(
            null=code("null"),
            unparsable=code("unparsable"),
            nan=code("nan"),
            infinite=nearest("infinite"),
            outside=nearest("outside"),
        )

    def settle(self, places: AnyArray, size: int, values: AnyArray) -> CellCodes:
        """Replace every place below 0 or from `size` on by the code of its fault.

        places: int64, changed in place. values: what the places were found for; only floats can be NaN or infinite.
        """
        astray = np.flatnonzero(places.view(np.uint64) >= size)
        if not astray.size:
            return CellCodes(places, clean=True)
        ends = np.where(places[astray] < 0, 0, size - 1)
        codes = ends if self.outside is None else np.full(astray.size, self.outside)
        if values.dtype.kind == "f":
            codes = np.where(np.isinf(values[astray]), ends if self.infinite is None else self.infinite, codes)
            codes = np.where(np.isnan(values[astray]), self.nan, codes)
        places[astray] = codes
        return CellCodes(places, clean=False)

    def whole(self, values: AnyArray, size: int) -> CellCodes:
        """Codes 0 .. size - 1 that are written as floating-point numbers; fractions are unparsable."""
        values = values.astype(np.float64, copy=False)
        fraction = (np.floor(values) != values) & ~np.isnan(values)
        places = np.where(np.isnan(values), -1, values).clip(-1, size).astype(np.int64)
        return self.settle(places, size, values).with_code(fraction, self.unparsable)


# Readers of texts: numbers, days and moments in the way that a column's spelling states.
#
# A text that does not follow the spelling is unparsable, and is never read some other way: where a point separates
# groups of digits, "12.5" is no number, for the last group has three digits.

_ALIKE = {
    " ": "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]",
    "'": "['\N{RIGHT SINGLE QUOTATION MARK}]",
}
"""Marks between groups that typesetting replaces by others."""
_AROUND = r"[^0-9+\-()]*"
"""What may stand around a number: anything but a part of another number, or another way to write a sign."""
_NO_DIGIT = re.compile("[^0-9]")
_BEHIND_NO_LETTER = r"(?<![^\W\d_])"


def number_reader(spelling: Spelling) -> Callable[[str], float | None]:
    """Reads a text as the nearest float64; "nan" and "inf" in any case and sign; None: no number in this spelling."""
    # Groups: a sign, a sign behind what stands before, the whole part, its decimals, decimals alone, the exponent. Of
    # the two signs one at most may be there. A mark right behind a letter ends an abbreviation and begins no fraction:
    # "Rs.500" is 500.
    mark, group = re.escape(spelling.decimal), spelling.group
    apart = _ALIKE.get(group, re.escape(group)) if group else ""
    grouped = f"[0-9]{{1,3}}(?:{apart}[0-9]{{2,3}})*{apart}[0-9]{{3}}|" if apart else ""
    parts = f"({grouped}[0-9]+)(?:{mark}([0-9]*))?|{_BEHIND_NO_LETTER}{mark}([0-9]+)"
    before, behind = ("", "") if spelling.bare else (f"{_AROUND}?", _AROUND)
    pattern = re.compile(f"([+-]?){before}([+-]?)(?:{parts})([eE][+-]?[0-9]+)?{behind}")

    def read(text: str) -> float | None:
        cleaned = text.strip()
        found = pattern.fullmatch(cleaned)
        if found is None:
            return special_number(cleaned)
        outer, inner, whole, part, only, power = found.groups()
        if outer and inner:
            return None
        whole = whole if whole is None or whole.isdigit() else _NO_DIGIT.sub("", whole)
        return float(f"{outer or inner}{whole or 0}.{part or only or 0}{power or ''}")

    return read


def moment_reader(spelling: Spelling, *, days: bool) -> Callable[[str], int | None]:
    """Reads a text as microseconds since 1970-01-01, or as days; None: no day or moment in this spelling."""
    pattern = spelling.pattern
    if pattern is None:
        return day if days else moment

    def read(text: str) -> int | None:
        try:
            found = instant(datetime.strptime(text.strip(), pattern.strip()))
        except (ValueError, OverflowError):
            return None
        return found // MICROSECONDS_A_DAY if days else found

    return read


# Whole numbers by bins: thresholds in a column's own type, and a table of the codes of all numbers between them.


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Codes of whole numbers of one type. thresholds: of that type, in rising order; those above all of its numbers are
    left out. faults: their codes. size: how many bins there are."""

    thresholds: AnyArray
    faults: FaultCodes
    size: int

    @classmethod
    def of(cls, cuts: Sequence[int], kind: np.dtype[Any], faults: FaultCodes) -> WholeNumbers:
        """cuts: the lower ends of the bins, and what lies above the last one; they may exceed the type."""
        bounds = np.iinfo(kind)
        reachable = [max(cut, int(bounds.min)) for cut in cuts if cut <= int(bounds.max)]
        return cls(np.array(reachable, dtype=kind), faults, len(cuts) - 1)

    def codes(self, values: AnyArray) -> CellCodes:
        """Codes of numbers of the type: from the table, several times faster, where it is not longer than the batch."""
        if not len(self.thresholds) or self._highest - self._lowest >= len(values):
            return self.faults.settle(places_among(self.thresholds, values), self.size, values)
        if values.min() < self._lowest or values.max() > self._highest:
            values = values.clip(self._lowest, self._highest)
        offsets = values.view(self._first.dtype) - self._first
        codes = self._table.take(offsets.view(np.int64) if offsets.itemsize == 8 else offsets)
        return CellCodes(codes, clean=bool(codes.min() >= 0))

    @cached_property
    def _table(self) -> AnyArray:
        """Codes of the numbers from `_lowest` to `_highest`."""
        offsets = np.arange(self._highest - self._lowest + 1, dtype=self._first.dtype)
        numbers = (offsets + self._first).view(self.thresholds.dtype)
        return narrow(self.faults.settle(places_among(self.thresholds, numbers), self.size, numbers).codes)

    @cached_property
    def _lowest(self) -> int:
        """All numbers below it have its code."""
        return max(int(self.thresholds[0]) - 1, int(np.iinfo(self.thresholds.dtype).min))

    @cached_property
    def _highest(self) -> int:
        """All numbers above it have its code."""
        return int(self.thresholds[-1])

    @cached_property
    def _first(self) -> AnyArray:
        """The lowest number, shape (1,), unsigned: then no difference of two numbers of a type overflows."""
        return np.array([self._lowest], dtype=self.thresholds.dtype).view(f"u{self.thresholds.itemsize}")


# Arrow arrays from NumPy's and back, through their buffers.
#
# pyarrow's own conversions (`array`, `scalar`, `to_numpy`) import pandas wherever it is installed, and a table of
# Parquet has no use for it.


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return cast(bool, types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def mask(chosen: AnyArray) -> Any:
    """One truth value a row, as an Arrow array."""
    import pyarrow as pa

    bits = np.packbits(chosen, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(chosen), [None, pa.py_buffer(bits)])


def text_array(texts: Sequence[str], kind: Any) -> Any:
    """Texts as an Arrow array of the type string or large_string."""
    import pyarrow as pa
    from pyarrow import types

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64 if types.is_large_string(kind) else np.int32)
    return pa.Array.from_buffers(kind, len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def changed_texts(cells: Any, change: Callable[[str], str]) -> tuple[Any, Any]:
    """Each distinct text of an Arrow array of texts, changed, and the place of every cell's among them."""
    import pyarrow as pa

    encoded = cells.dictionary_encode()
    changed = [change(text) for text in encoded.dictionary.to_pylist()]
    kind = pa.large_string() if pa.types.is_large_string(cells.type) else pa.string()
    return text_array(changed, kind), encoded.indices


def numpy_values(cells: Any, null: int = 0) -> AnyArray:
    """The values of an Arrow array of numbers or truth values, shape (rows,), with `null` in the place of nulls."""
    import pyarrow as pa
    from pyarrow import types

    if not len(cells):
        return np.zeros(0, dtype=cells.type.to_pandas_dtype())
    bare = pa.Array.from_buffers(cells.type, len(cells), [None, cells.buffers()[1]], offset=cells.offset)
    found = np.from_dlpack(bare.cast(pa.uint8()) if types.is_boolean(cells.type) else bare)
    found = found.view(bool) if types.is_boolean(cells.type) else found
    return np.where(not_null(cells), found, found.dtype.type(null)) if cells.null_count else found


def not_null(cells: Any) -> AnyArray:
    """Which cells are not null, shape (rows,)."""
    return numpy_values(cells.is_valid()) if cells.null_count else np.ones(len(cells), dtype=bool)
