"""Persons: whose row it is, as the unit column says it, compared exactly.

A keyed hash cuts them into groups, one a pass, so that one group at a time fits in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, WordArray
from dpqr.errors import DataError
from dpqr.io.tables.arrow_arrays import is_text, mask, numpy_values, present
from dpqr.io.tables.limits import OUT_OF_ORDER
from dpqr.noise.source import NoiseSource


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
        named = present(found)
    else:
        found = as_text(cells)
        named = numpy_values(compute.binary_length(found)) > 0
    return _plain(found if named.all() else found.filter(mask(named))), named


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


def last_in_order(last: Any, cells: Any) -> Any:
    """The last person of a batch whose persons may not come before `last`, nor before those of the rows above them:
    numbers by value, texts by their bytes, nulls anywhere. Then all rows of a person lie together.

    cells: an Arrow array. Returns: an Arrow array of one person, or `last` where the batch has none. Raises: DataError
    for another order: a person of whom rows come twice would count twice.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    found = cells.drop_null()
    if not len(found):
        return last
    joined = found if last is None else pa.concat_arrays([last, found])
    if compute.any(compute.less(joined[1:], joined[:-1]), min_count=0).as_py():
        raise DataError(OUT_OF_ORDER)
    return found[-1:]


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
    return encoded.dictionary, numpy_values(encoded.indices).astype("int64", copy=False)


_LETTERS = 8
_WORDS = 8
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Splitter:
    """A chain of products over words of eight letters, each mixed in by one of eight random odd factors in turn.

    The key is drawn anew for every run, so that nobody can choose persons who crowd one group. It decides nothing but
    the pass in which a person is counted: what is kept of a person does not depend on it.
    """

    groups: int
    key: WordArray = field(repr=False)

    @classmethod
    def draw(cls, groups: int, noise: NoiseSource) -> Splitter:
        """A splitter with a fresh key, or none where there is one group only."""
        return cls(groups, noise.words(_WORDS + 2 if groups > 1 else 0) | np.uint64(1))

    def group(self, people: Any) -> AnyArray:
        """Each person's group, shape (rows,); people: as `persons` gives them, none of them empty."""
        if self.groups == 1 or not len(people):
            return np.zeros(len(people), dtype=np.uint64)
        starts, lengths, words = _letters(as_text(people))
        mixed = lengths.astype(np.uint64)
        for place in range(-(-int(lengths.max()) // _LETTERS)):
            left = lengths - _LETTERS * place
            rows = np.flatnonzero(left > 0)
            spare = (_LETTERS - left[rows].clip(max=_LETTERS)).astype(np.uint64) * np.uint64(8)
            word = words[starts[rows] + _LETTERS * place] << spare
            mixed[rows] = _stirred(mixed[rows] ^ word, self.key[place % _WORDS])
        for factor in self.key[_WORDS:]:  # what the last letters changed may still stand in few bits
            mixed = _stirred(mixed, factor)
        groups: AnyArray = ((mixed >> _HALF) * np.uint64(self.groups)) >> _HALF
        return groups


def _letters(text: Any) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Where each name starts, its length, and the eight letters from every place on as one word."""
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    padded = np.concatenate([letters, np.zeros(_LETTERS, dtype=np.uint8)])
    words: AnyArray = np.ndarray((len(letters),), dtype="<u8", buffer=padded, strides=(1,))
    return ends[:-1] - ends[0], np.diff(ends), words


def _stirred(words: AnyArray, factor: np.uint64) -> AnyArray:
    """The high half of the product carries the mixture; the low half gets it back, so that no bit is left weak."""
    product = words * factor
    stirred: AnyArray = product ^ (product >> _HALF)
    return stirred
