"""Sifting: rows of a Parquet batch that cannot be read are malformed, as they are in CSV."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.io.tables.parsing import is_text
from dpqr.io.tables.records import Records, mask


def sifted(batch: Any, unit: str | None, longest: int) -> Records:
    """The rows of an Arrow batch all of whose texts are UTF-8, and whose text in column `unit` has at most `longest`
    bytes. Arrow itself takes any bytes for a text, and some of its functions fail on others than UTF-8."""
    good = np.ones(batch.num_rows, dtype=bool)
    for place, name in enumerate(batch.schema.names):
        unreadable = _unreadable(batch.column(place), longest if name == unit else None)
        if unreadable is not None:
            good &= ~unreadable
    return Records(batch) if good.all() else Records(batch.filter(mask(good)), np.flatnonzero(~good))


def _unreadable(cells: Any, longest: int | None) -> AnyArray | None:
    """Which rows hold such a text, shape (rows,); None: none does. A dictionary's entries count where rows use them."""
    from pyarrow import types

    if not types.is_dictionary(cells.type):
        return _bad_texts(cells, longest)
    bad = _bad_texts(cells.dictionary, longest)
    if bad is None:
        return None
    found: AnyArray = np.append(bad, False)[cells.indices.cast("int64").fill_null(len(bad)).to_numpy()]
    return found


def _bad_texts(texts: Any, longest: int | None) -> AnyArray | None:
    """Which of these values are no UTF-8 or too long; None: none is, or they are no texts."""
    from pyarrow import compute

    if not is_text(texts.type):
        return None
    bad = np.zeros(len(texts), dtype=bool)
    if longest is not None:
        long = compute.greater(compute.binary_length(texts), longest)
        bad |= compute.fill_null(long, False).to_numpy(zero_copy_only=False)
    if not _is_utf8(texts):
        bad |= np.array([value is not None and not _decodes(value) for value in _bytes(texts)], dtype=bool)
    return bad if bad.any() else None


def _is_utf8(texts: Any) -> bool:
    """Whether Arrow finds nothing else in all of them."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _bytes(texts: Any) -> list[bytes | None]:
    import pyarrow as pa
    from pyarrow import types

    wide = pa.binary_view() if types.is_string_view(texts.type) else pa.large_binary()
    found: list[bytes | None] = texts.cast(wide).to_pylist()
    return found


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
