"""Thrift's compact protocol, as far as a Parquet file's footer and page headers need it: read strictly, nothing decoded
that nobody asks for.

Stricter than the decoder behind it: a field that stands twice, or has another type than the format gives it, is refused
and not passed over, for then the two could read one text in two ways.
Source: Thrift's compact protocol specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
