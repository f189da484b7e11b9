"""Parquet pages: what the page headers of a column chunk declare, read before anything is decoded.

Why not the footer alone: its sizes are claims that the decoder never compares with the pages. A page header decides how
much is unpacked at once, and a file of a few hundred bytes can ask there for gigabytes.
Source: the Parquet format's PageHeader (parquet.thrift).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpqr.io.tables.parquet.footer import BadParquet, Chunk
from dpqr.io.tables.parquet.thrift import I32, STRUCT, BadThrift, Compact, Take

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

    Errors: BadParquet for headers that lie outside the chunk, or hold sizes that no page has.
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
