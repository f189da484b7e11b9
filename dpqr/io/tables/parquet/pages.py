"""Parquet pages: what their headers declare, read before anything is decoded, and how many rows are decoded at a time.

A page header decides how much is unpacked at once. The footer's sizes are claims that the decoder never compares with
the pages. Rows alone bound nothing: a text may be as long as a page, and one page in a dictionary may stand in every
row.
Source: the Parquet format's PageHeader (parquet.thrift).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.errors import DataError
from dpqr.io.tables.arrow_arrays import numpy_values
from dpqr.io.tables.file import TableFile
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.parquet.footer import I32, STRUCT, BadParquet, BadThrift, Chunk, Compact, Group, Take

_HEADER = 2**8
LONGEST_HEADER = 2**20
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_PLACES = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}
"""By page type: the fields of the header of that type and, in it, of the encoding. Field 1 is its number of values."""
_DELTA_BYTE_ARRAY = 7
_WHOLE: Take = (I32, Compact.whole)
_FIELDS: dict[int, Take] = {
    **dict.fromkeys((1, 2, 3), _WHOLE),
    5: (STRUCT, lambda at: at.struct({1: _WHOLE, 2: _WHOLE})),
    7: (STRUCT, lambda at: at.struct({1: _WHOLE, 2: _WHOLE})),
    8: (STRUCT, lambda at: at.struct({1: _WHOLE, 4: _WHOLE})),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """unpacked: bytes it unpacks to. values: how many it holds, nulls included. data: whether they are rows and no
    dictionary. prefixed: texts are stored as differences, so each may be as long as the whole page."""

    unpacked: int
    values: int
    data: bool
    prefixed: bool


def chunk_pages(file: int, chunk: Chunk) -> Iterator[Page]:
    """The pages of one column chunk, up to its declared number of values.

    file: a descriptor of the file.

    Raises: BadParquet for headers that lie outside the chunk, or hold sizes that no page has.
    """
    at = chunk.first if chunk.dictionary is None else chunk.dictionary  # as the decoder finds it
    end, seen = at + chunk.packed, 0
    while seen < chunk.values:
        if at >= end:
            raise BadParquet
        header, length = _header(file, at, end)
        packed = _whole(header, 3)
        at += length + packed
        if at > end:
            raise BadParquet
        page = _page(header)
        if page is not None:
            seen += page.values if page.data else 0
            yield page


def _page(header: dict[int, Any]) -> Page | None:
    """None: a page of a kind that the decoder passes over."""
    kind, unpacked = _whole(header, 1), _whole(header, 2)
    if kind not in _PLACES:
        return None
    place, encoding = _PLACES[kind]
    own = header.get(place)
    if not isinstance(own, dict):
        raise BadParquet
    values = _whole(own, 1)
    if kind == _DICTIONARY and values > unpacked:  # each of its values takes a byte at least
        raise BadParquet
    prefixed = kind != _DICTIONARY and own.get(encoding) == _DELTA_BYTE_ARRAY
    return Page(unpacked=unpacked, values=values, data=kind != _DICTIONARY, prefixed=prefixed)


def _whole(fields: dict[int, Any], number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int) or not 0 <= found < 2**31:
        raise BadParquet
    return found


def _header(file: int, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at `at`, and its length. Statistics in it may be long, so more is read where needed."""
    size = _HEADER
    while True:
        cursor = Compact(os.pread(file, min(size, end - at), at))
        try:
            return cursor.struct(_FIELDS), cursor.at
        except BadThrift:
            raise BadParquet from None
        except IndexError:
            if size >= min(LONGEST_HEADER, end - at):
                raise BadParquet from None
            size *= 8


PAGE_BYTES = 2**28
"""What one page of every column that is read may unpack to, all together."""
BATCH_BYTES = 2**28
"""What the rows that are decoded at a time may come to."""
_MANY_PAGES = 2**17
_TINY = 2**8
_SMALL = 2**22
"""Texts that come to no more when they are spelt out need no count."""


@dataclass(slots=True, kw_only=True)
class ParquetBudget:
    """Meters the pages of one file. descriptor: of that file. coded: columns that stay in dictionary form.

    **Privacy** Sizes of pages depend on cells. Above a cap they end the run, which has paid for it.
    """

    file: TableFile
    descriptor: int
    coded: Set[str]
    limits: Limits
    pages: int = 0
    unpacked: int = 0

    def rows(self, group: Group) -> int:
        """Rows of this group to decode at a time. Raises: DataError above a cap; BadParquet."""
        weighed = [self._weighed(chunk) for chunk in group.chunks]
        if sum(largest for largest, _ in weighed) > PAGE_BYTES:
            raise DataError(
                f"{self.file.path} has pages that unpack to more than {PAGE_BYTES} bytes; write it with smaller pages"
            )
        wide = sum(each for _, each in weighed)
        return min(self.limits.batch_rows, max(1, BATCH_BYTES // max(1, wide)))

    def _weighed(self, chunk: Chunk) -> tuple[int, int]:
        """The largest page of a column chunk, and the most bytes that one of its rows takes on average in any page.

        A value that is written as a difference, or as a place in a dictionary that is not kept, may be as long as the
        page that it comes from.
        """
        whole = largest = each = 0
        loose = chunk.texts and chunk.name not in self.coded
        for page in chunk_pages(self.descriptor, chunk):
            self.pages += 1
            # each batch has a copy of its own of the dictionary
            self._count(page.unpacked * (1 if page.data else 1 + chunk.values // self.limits.batch_rows))
            whole, largest = whole + page.unpacked, max(largest, page.unpacked)
            stretched = page.prefixed or (loose and not page.data)
            each = max(each, page.unpacked if stretched else page.unpacked // max(1, page.values))
        return largest, each

    def pieces(self, batch: Any, spelt: str) -> Iterator[Any]:
        """The batch, cut so that the texts of column `spelt` fit the memory when they are spelt out; those longer than
        a CSV row may be never are, for their rows are malformed.

        Raises: DataError where few texts come to a great many bytes.
        """
        from pyarrow import compute, types

        cells, rows = batch.column(spelt), batch.num_rows
        if types.is_dictionary(cells.type) and len(cells.dictionary) and not types.is_primitive(cells.type.value_type):
            lengths = numpy_values(compute.binary_length(cells.dictionary)).astype(np.int64)
            lengths[lengths > self.limits.row_bytes] = 0
            longest = int(lengths.max())
            if longest * rows > _SMALL:
                places = numpy_values(cells.indices.cast("int64"), len(lengths))
                self._count(int(np.append(lengths, 0)[places].sum()))
                rows = min(rows, BATCH_BYTES // longest)
        for start in range(0, batch.num_rows, max(1, rows)):
            yield batch.slice(start, rows)

    def _count(self, unpacked: int) -> None:
        self.unpacked += unpacked
        packed = self.file.bytes or 0
        self.limits.require_bytes(self.unpacked)
        if self.limits.is_decompression_bomb(packed, self.unpacked):
            raise DataError(
                f"{self.file.path} unpacks to more than 100 times its size; state --max-bytes if that is meant"
            )
        if self.pages > _MANY_PAGES and packed < self.pages * _TINY:
            raise DataError(f"{self.file.path} consists of tiny pages; write it with larger ones")
