"""Persons: whose row it is, as the unit column says it, compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpqr.data.arrays import AnyArray
from dpqr.io.tables.parsing import is_text


def person_refusal(kind: Any) -> str | None:
    """None if the unit column may have the Arrow type `kind`, or else the types that it may have, in words."""
    from pyarrow import types

    return None if is_text(kind) or types.is_integer(kind) else "text or whole numbers (persons)"


def persons(cells: Any) -> tuple[Any, AnyArray]:
    """Persons of a batch's rows, an Arrow array without nulls (int64 or bytes of text), and which rows have one.

    cells: an Arrow array. A null and an empty text are nobody. Everything else is a person by its exact text
    ("7" is not "07" or " 7").
    """
    from pyarrow import compute, types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_integer(cells.type) and not types.is_uint64(cells.type):
        found = cells.cast("int64")
        present = found.is_valid()
    else:
        found = as_text(cells)
        present = compute.fill_null(compute.greater(compute.binary_length(found), 0), False)
    mask: AnyArray = present.to_numpy(zero_copy_only=False)
    return _plain(found if mask.all() else found.filter(present)), mask


def _plain(found: Any) -> Any:
    """Texts as numbers where each of them is what its number prints as: the same persons, several times faster."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_integer(found.type) or not len(found) or not found[0].as_py().lstrip(b"-").isdigit():
        return found
    try:
        numbers = found.cast(pa.large_string()).cast("int64")
    except pa.ArrowInvalid:
        return found
    same = compute.all(compute.equal(as_text(numbers), found), min_count=0).as_py()
    return numbers if same else found


def as_text(cells: Any) -> Any:
    """Decimal text of whole numbers, and any text as it is: bytes, for text may be none in a damaged table."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_large_binary(cells.type):
        return cells
    if types.is_integer(cells.type) or types.is_null(cells.type):
        cells = cells.cast(pa.string())
    return cells.cast(pa.large_binary())


def distinct(parts: Sequence[Any]) -> tuple[Any, AnyArray]:
    """The distinct persons of several arrays, in the order of their first rows, and each row's place among them.

    Exact: hashes only find candidates, values decide. Files may write one person as a number and as text: then all
    are compared as text.
    """
    import pyarrow as pa

    if len({part.type for part in parts}) > 1:
        parts = [as_text(part) for part in parts]
    encoded = pa.concat_arrays(list(parts)).dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy().astype("int64", copy=False)
