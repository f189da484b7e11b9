"""Parquet footer: rows, and sizes of the column chunks that will be read, from the file's last bytes.

Chunks go with the schema's columns by their order, as in the decoder; the name that a chunk gives itself is not looked
at. Thrift is read more strictly than in the decoder: a field that stands twice, or has another type than the format
gives it, is refused and not passed over, for then the two could read one text in two ways.
Sources: Thrift's compact protocol specification; the Parquet format's FileMetaData (parquet.thrift).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = (*range(1, 11), 12)
_FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}
_VARYING = (I16, I32, I64)
_MOST_FIELDS = 100
_DEEPEST = 16


class BadThrift(Exception):
    """The bytes are no sound Thrift. (That they end too early is an IndexError.)"""


Take = tuple[int, Callable[["Compact"], Any]]
"""The type that a field must have, and what reads its value."""


@dataclass(slots=True)
class Compact:
    """A cursor over `data`, which stands at `at`. Its methods raise IndexError where the bytes end too early."""

    data: bytes
    at: int = 0

    def struct(self, taken: Mapping[int, Take]) -> dict[int, Any]:
        """The fields that are `taken`, by number; all others are passed over."""
        found: dict[int, Any] = {}
        number = 0
        for _ in range(_MOST_FIELDS):
            mark = self._byte()
            if mark == 0:
                return found
            number = number + (mark >> 4) if mark >> 4 else self.whole()
            take = taken.get(number)
            if take is None:
                self._pass(mark & 15, _DEEPEST)
            elif take[0] != mark & 15 or number in found:
                raise BadThrift
            else:
                found[number] = take[1](self)
        raise BadThrift

    def whole(self) -> int:
        """A whole number of 16, 32 or 64 bits."""
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def list_of(self, kind: int) -> int:
        """The head of a list of that kind: how many elements follow."""
        found, count = self._list()
        if found != kind and count:
            raise BadThrift
        return count

    def _byte(self) -> int:
        found = self.data[self.at]
        self.at += 1
        return found

    def _varint(self) -> int:
        value, shift = 0, 0
        while shift <= 63:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise BadThrift

    def _list(self) -> tuple[int, int]:
        mark = self._byte()
        return mark & 15, self._varint() if mark >> 4 == 15 else mark >> 4

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def _pass(self, kind: int, depth: int) -> None:
        """Over one value of this type."""
        if kind in _VARYING:
            self._varint()
        elif kind in _FIXED:
            self._skip(_FIXED[kind])
        elif kind == BINARY:
            self._skip(self._varint())
        elif kind in (LIST, SET) and depth:
            self._pass_list(depth)
        elif kind == STRUCT and depth:
            while mark := self._byte():
                if not mark >> 4:
                    self._varint()
                self._pass(mark & 15, depth - 1)
        else:  # neither a footer nor a page header holds maps
            raise BadThrift

    def _pass_list(self, depth: int) -> None:
        kind, count = self._list()
        if kind in _FIXED:  # a truth value takes a byte where it stands in a list
            self._skip(count * max(1, _FIXED[kind]))
            return
        for _ in range(count):
            self._pass(kind, depth - 1)


MOST_BYTES = 2**27
MOST_CHUNKS = 2**20
_MAGIC = b"PAR1"
_TAIL = 8
BYTE_ARRAY = 6
_DELTA = {5, 6, 7}
_TYPE, _ENCODINGS, _VALUES, _UNPACKED, _PACKED, _FIRST, _DICTIONARY = 1, 2, 5, 6, 7, 9, 11


class BadParquet(Exception):
    """The footer or the page headers are no sound Parquet; the reader of the table says so in its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One column's part of a row group. name: of the schema's column. values: rows, nulls included. unpacked, packed:
    bytes. first, dictionary: where its first data page and its dictionary begin. texts: whether values have any length.
    delta: whether some page holds differences.
    """

    name: str
    values: int
    unpacked: int
    packed: int
    first: int
    dictionary: int | None
    texts: bool
    delta: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One row group: its rows, and the chunks of the columns that were asked for."""

    rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What the footer declares; claims, as far as pages go."""

    rows: int
    groups: tuple[Group, ...]


def read_footer(file: int, columns: list[str], wanted: Set[str]) -> Footer:
    """The footer of the file with this descriptor.

    columns: names of the schema's leaves, in order, as the decoder has them. Raises: BadParquet where the bytes are no
    footer, numbers are negative, a row group has other columns, or there are more chunks than any table needs.
    """
    data = _footer_bytes(file)
    try:
        found = Compact(data).struct({3: _NUMBER, 4: (LIST, partial(_groups, columns=columns, wanted=wanted))})
        return Footer(rows=_count(found.get(3)), groups=found.get(4, ()))
    except (BadThrift, IndexError):
        raise BadParquet from None


def _footer_bytes(file: int) -> bytes:
    size = os.fstat(file).st_size
    tail = os.pread(file, _TAIL, max(0, size - _TAIL))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(size - _TAIL, MOST_BYTES):
        raise BadParquet
    return os.pread(file, length, size - _TAIL - length)


def _groups(at: Compact, columns: list[str], wanted: Set[str]) -> tuple[Group, ...]:
    count = at.list_of(STRUCT)
    if count * len(columns) > MOST_CHUNKS:
        raise BadParquet
    fields: dict[int, Take] = {1: (LIST, partial(_chunks, columns=columns, wanted=wanted)), 3: _NUMBER}
    groups = []
    for _ in range(count):
        found = at.struct(fields)
        groups.append(Group(rows=_count(found.get(3)), chunks=found.get(1, ())))
    return tuple(groups)


def _chunks(at: Compact, columns: list[str], wanted: Set[str]) -> tuple[Chunk, ...]:
    if at.list_of(STRUCT) != len(columns):
        raise BadParquet
    found = []
    for name in columns:
        if name in wanted:
            found.append(_chunk(at.struct(_FACTS).get(3), name))
        else:
            at.struct({})
    return tuple(found)


def _chunk(facts: dict[int, Any] | None, name: str) -> Chunk:
    if facts is None:
        raise BadParquet
    first, dictionary = _count(facts.get(_FIRST)), facts.get(_DICTIONARY)
    return Chunk(
        name=name,
        values=_count(facts.get(_VALUES)),
        unpacked=_count(facts.get(_UNPACKED)),
        packed=_count(facts.get(_PACKED)),
        first=first,
        dictionary=dictionary if dictionary is not None and 0 < dictionary < first else None,
        texts=facts.get(_TYPE) == BYTE_ARRAY,
        delta=not _DELTA.isdisjoint(facts.get(_ENCODINGS, ())),
    )


def _count(value: int | None) -> int:
    if value is None or not 0 <= value < 2**63:
        raise BadParquet
    return value


def _encodings(at: Compact) -> set[int]:
    return {at.whole() for _ in range(at.list_of(I32))}


_NUMBER: Take = (I64, Compact.whole)
_META: dict[int, Take] = {
    _TYPE: (I32, Compact.whole),
    _ENCODINGS: (LIST, _encodings),
    **dict.fromkeys((_VALUES, _UNPACKED, _PACKED, _FIRST, _DICTIONARY), _NUMBER),
}
_FACTS: dict[int, Take] = {3: (STRUCT, lambda at: at.struct(_META))}
