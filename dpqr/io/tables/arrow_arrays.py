"""Arrow arrays from NumPy's and back, through their buffers.

pyarrow's own conversions (`array`, `scalar`, `to_numpy`) import pandas wherever it is installed, and a table of Parquet
has no use for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from dpqr.data.arrays import AnyArray


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
    return np.where(present(cells), found, found.dtype.type(null)) if cells.null_count else found


def present(cells: Any) -> AnyArray:
    """Which cells are not null, shape (rows,)."""
    return numpy_values(cells.is_valid()) if cells.null_count else np.ones(len(cells), dtype=bool)
