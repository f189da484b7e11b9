"""Columns of pandas as Arrow arrays.

A column of Python objects is text, whatever it holds, so that no cell decides its type. Each cell is what a CSV would
hold: whole numbers, decimals, true and false, ISO dates; None, NaN, NaT and pandas.NA are null; an object of any other
type is a text that nothing is called.

From pandas 3 on a column of Arrow cells that was put together of several (`pandas.concat`) is handed out in chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray

Reader = Callable[[slice], Any]
"""Rows of one column as an Arrow array."""
_SAMPLE = 2**10
"""Cells by which it is guessed whether few texts stand in many; the guess changes nothing but the time."""
_LARGEST = 10**40
"""Larger whole numbers are no cells: Python prints none of more than 4,300 digits."""


def column_reader(series: Any) -> Reader:
    """How a column of pandas is read. What does not depend on the slice is made once."""
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        categories = column_reader(kind.categories.to_series())(slice(None))
        return lambda part: _dictionary(series.array.codes[part], categories)
    if isinstance(kind, pandas.IntervalDtype):
        return lambda part: _texts(series.iloc[part].astype(str).to_numpy(dtype=object))
    if isinstance(kind, pandas.SparseDtype):
        return lambda part: _array(series.iloc[part].sparse.to_dense())
    if isinstance(kind, pandas.StringDtype):
        return lambda part: _strings(series.iloc[part])
    if kind == np.dtype(object):
        return lambda part: _texts(series.iloc[part].to_numpy())
    return lambda part: _array(series.iloc[part])


def without_values(series: Any) -> Any:
    """Two rows of the column's type in which every cell is missing, put together of two columns; none where the type
    has no missing cell. What reads them reads the column: its type is structure, and its values are not looked at."""
    import pandas

    try:
        missing = pandas.Series([None], dtype=series.dtype)
    except Exception:  # of a third party's type, or of whole numbers
        return series.iloc[:0]
    return pandas.concat([missing, missing], ignore_index=True)


def _array(cells: Any) -> Any:
    """Cells of pandas as one Arrow array.

    Chunks of texts are joined with 64-bit offsets: no length of a cell may decide whether there is room for them.
    """
    import pyarrow as pa
    from pyarrow import types

    found = pa.array(cells, from_pandas=True)
    if not isinstance(found, pa.ChunkedArray):
        return found
    plain = found.type.value_type if types.is_dictionary(found.type) else found.type
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(plain, plain)
    return found.cast(wide).combine_chunks()


def _dictionary(codes: AnyArray, categories: Any) -> Any:
    import pyarrow as pa

    missing = codes < 0
    indices = pa.array(codes, mask=missing) if missing.any() else pa.array(codes)
    return pa.DictionaryArray.from_arrays(indices, categories)


def _strings(series: Any) -> Any:
    """A column of pandas' own text type. Arrow takes it as it is, but for texts that no UTF-8 can hold."""
    try:
        return _array(series)
    except UnicodeError:
        return _texts(series.to_numpy(dtype=object))


def _texts(cells: AnyArray) -> Any:
    """Python objects as texts; those that cannot be written in UTF-8 are bytes that are none, so that their rows are
    malformed."""
    import pandas
    import pyarrow as pa

    with suppress(pa.ArrowException, UnicodeError):
        few = _few_texts(cells)
        return pa.array(cells, type=pa.large_string(), from_pandas=True) if few is None else few
    missing = pandas.isna(cells)
    found = [None if gone else _spelt(cell) for cell, gone in zip(cells, missing, strict=True)]
    return pa.array(found, type=pa.large_binary()).view(pa.large_string())


def _few_texts(cells: AnyArray) -> Any:
    """A dictionary, where few texts stand in many cells; None elsewhere.

    Only texts: 1, 1.0 and True are equal, and stand for different cells.
    """
    import pandas
    import pyarrow as pa

    try:
        sample = cells[:_SAMPLE].tolist()
        if 2 * len(set(sample)) >= len(sample):
            return None
        codes, found = pandas.factorize(cells)
    except Exception:  # an object without a hash, such as a list, or whose own hash fails
        return None
    if not all(type(text) is str for text in found):
        return None
    return _dictionary(codes, pa.array(found, type=pa.large_string()))


def _spelt(cell: object) -> bytes:
    """A cell as a CSV would hold it. Any object has some text, for none may end a run."""
    if isinstance(cell, bytes):
        return cell
    return spelt_out(cell).encode("utf-8", "surrogatepass")


def spelt_out(cell: object) -> str:
    """A Python object as the text of a CSV's cell."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, Integral) and abs(int(cell)) < _LARGEST:
        return str(int(cell))
    if isinstance(cell, float | np.floating):
        value = float(cell)
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, Decimal | np.datetime64):
        return str(cell)
    return f"<{type(cell).__name__}>"
