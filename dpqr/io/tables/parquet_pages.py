"""Parquet pages: what the page headers of a column chunk declare, read before anything is decoded.

Why not the footer alone: its sizes are claims that the decoder never compares with the pages. A page header decides how
much is unpacked at once, and a file of a few hundred bytes can ask there for gigabytes.
Source: the Parquet format's PageHeader (parquet.thrift), in Thrift's compact protocol.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_HEADER = 2**8
LONGEST_HEADER = 2**20
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_PLACES = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}
"""By page type: the fields of the header of that type and, in it, of the encoding. Field 1 is its number of values."""
_DELTA_BYTE_ARRAY = 7
_I32 = 5
_STRUCT = 12
_MOST_FIELDS = 100
_DEEPEST = 4


class BadPages(Exception):
    """The page headers are no sound Parquet; the reader of the table says so in its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """unpacked: bytes it unpacks to. values: how many it holds, nulls included. data: whether they are rows and no
    dictionary. prefixed: texts are stored as differences, so each may be as long as the whole page."""

    unpacked: int
    values: int
    data: bool
    prefixed: bool


def chunk_pages(file: int, chunk: Any) -> Iterator[Page]:
    """The pages of one column chunk (pyarrow's ColumnChunkMetaData), up to its declared number of values.

    file: a descriptor of the file.

    Errors: BadPages for headers that lie outside the chunk, or hold sizes that no page has.
    """
    at, end = _span(chunk)
    seen = 0
    while seen < chunk.num_values:
        if at >= end:
            raise BadPages
        header, length = _header(file, at, end)
        packed = _whole(header, 3)
        at += length + packed
        if at > end:
            raise BadPages
        page = _page(header)
        if page is not None:
            seen += page.values if page.data else 0
            yield page


def _span(chunk: Any) -> tuple[int, int]:
    """Where the pages begin and end, as the decoder finds it."""
    start, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
    if chunk.has_dictionary_page and dictionary is not None and 0 < dictionary < start:
        start = dictionary
    if start < 0 or chunk.total_compressed_size < 0 or chunk.num_values < 0:
        raise BadPages
    return start, start + chunk.total_compressed_size


def _page(header: dict[int, Any]) -> Page | None:
    """None: a page of a kind that the decoder passes over."""
    kind, unpacked = _whole(header, 1), _whole(header, 2)
    if kind not in _PLACES:
        return None
    place, encoding = _PLACES[kind]
    own = header.get(place)
    if not isinstance(own, dict):
        raise BadPages
    values = _whole(own, 1)
    if kind == _DICTIONARY and values > unpacked:  # each of its values takes a byte at least
        raise BadPages
    prefixed = kind != _DICTIONARY and own.get(encoding) == _DELTA_BYTE_ARRAY
    return Page(unpacked=unpacked, values=values, data=kind != _DICTIONARY, prefixed=prefixed)


def _whole(fields: dict[int, Any], number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int) or not 0 <= found < 2**31:
        raise BadPages
    return found


def _header(file: int, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at `at`, and its length. Statistics in it may be long, so more is read where needed."""
    size = _HEADER
    while True:
        cursor = _Cursor(os.pread(file, min(size, end - at), at))
        try:
            return cursor.struct(_DEEPEST), cursor.at
        except IndexError:
            if size >= min(LONGEST_HEADER, end - at):
                raise BadPages from None
            size *= 8


@dataclass(slots=True)
class _Cursor:
    """Reads Thrift's compact protocol. IndexError: the bytes end too early."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        found = self.data[self.at]
        self.at += 1
        return found

    def varint(self) -> int:
        value, shift = 0, 0
        while shift <= 63:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise BadPages

    def signed(self) -> int:
        coded = self.varint()
        return (coded >> 1) ^ -(coded & 1)

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def struct(self, depth: int) -> dict[int, Any]:
        """Field by number: whole numbers and structs; of all others only that they are passed over."""
        fields: dict[int, Any] = {}
        number = 0
        for _ in range(_MOST_FIELDS):
            mark = self.byte()
            if mark == 0:
                return fields
            step, kind = mark >> 4, mark & 15
            number = number + step if step else self.signed()
            fields[number] = self.value(kind, depth)
        raise BadPages

    def value(self, kind: int, depth: int) -> Any:
        if kind == _I32:
            return self.signed()
        if kind == _STRUCT and depth:
            return self.struct(depth - 1)
        if kind in (1, 2):  # true and false have no bytes of their own
            return None
        if kind == 3:
            self.skip(1)
        elif kind in (4, 6):
            self.signed()
        elif kind == 7:
            self.skip(8)
        elif kind == 8:
            self.skip(self.varint())
        else:  # a page header holds no lists, sets or maps
            raise BadPages
        return None
