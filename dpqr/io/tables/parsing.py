"""Text cells: what the text of a CSV cell stands for as a number, a day or a moment.

A cell's meaning depends on its own text alone, never on its neighbours, so rows may be cut into batches anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import numpy as np

from dpqr.data.arrays import AnyArray

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def number(text: str) -> float | None:
    """Decimal text as the nearest float64; "nan" and "inf" in any case and sign; None: no number (hex, "1,5")."""
    cleaned = text.strip()
    if _DECIMAL.fullmatch(cleaned) or _NAN.fullmatch(cleaned) or _INFINITE.fullmatch(cleaned):
        return float(cleaned)
    return None


def moment(text: str) -> int | None:
    """ISO 8601 text as microseconds since 1970-01-01T00:00 (UTC where the text has an offset); None: not a moment."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        if parsed.tzinfo is not None:
            parsed = parsed.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return (parsed - _EPOCH) // _MICROSECOND


def day(text: str) -> int | None:
    """ISO 8601 text as days since 1970-01-01; of a moment its date. None: not a date."""
    try:
        return (date.fromisoformat(text.strip()) - _EPOCH.date()).days
    except ValueError:
        found = moment(text)
    return None if found is None else found // (24 * 3600 * 10**6)


def parsed(cells: Any, parse: Callable[[str], float | None], dtype: type) -> tuple[AnyArray, AnyArray]:
    """Values of an Arrow array of texts without nulls, shape (rows,), and which of them parsed. Each distinct text is
    parsed once."""
    encoded = cells.dictionary_encode()
    found = [parse(text) for text in encoded.dictionary.to_pylist()]
    values: AnyArray = np.array([0 if value is None else value for value in found], dtype=dtype)
    places, good = encoded.indices.to_numpy(), np.array([value is not None for value in found], dtype=bool)
    return values[places], good[places]


def numbers(cells: Any) -> tuple[AnyArray, AnyArray]:
    """The same as float64. Arrow converts texts that are all plain and finite numbers, and agrees with `number`."""
    import pyarrow as pa

    try:
        values: AnyArray = cells.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return parsed(cells, number, np.float64)
    if not np.isfinite(values).all():
        return parsed(cells, number, np.float64)
    return values, np.ones(len(values), dtype=bool)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return cast(bool, types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
