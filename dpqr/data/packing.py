"""Packing: rows of codes as few 64-bit words, so that domains of any size can be sorted and merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import AnyArray, WordArray

_WORD = 2**64


@dataclass(frozen=True, slots=True)
class Packing:
    """Attributes in mixed radix, as many per word as fit: words sort as the rows do, attribute by attribute.

    shape: the attributes' sizes, each at most 2^32. groups: the attributes of each word, in order.

    >>> packing = Packing((10, 10))
    >>> packing.unpack(packing.pack(np.array([[1, 2], [3, 4]]), 2)).tolist()
    [[1, 3], [2, 4]]
    """

    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(_grouped(self.shape)))

    def empty(self) -> WordArray:
        return np.zeros((len(self.groups), 0), dtype=np.uint64)

    def pack(self, codes: Sequence[AnyArray], rows: int) -> WordArray:
        """Return words, shape (words, rows), the most significant first; codes: one array per attribute."""
        words = np.zeros((len(self.groups), rows), dtype=np.uint64)
        for word, group in zip(words, self.groups, strict=True):
            for axis in group:
                word *= np.uint64(self.shape[axis])
                word += codes[axis].astype(np.uint64)
        return words

    def unpack(self, words: WordArray) -> AnyArray:
        """Return codes of packed rows, shape (rows, attributes), of the smallest type, each attribute contiguous."""
        codes = np.empty((words.shape[1], len(self.shape)), dtype=self.code_type, order="F")
        for word, group in zip(words, self.groups, strict=True):
            rest = word.copy()
            for axis in reversed(group):
                rest, digit = np.divmod(rest, np.uint64(self.shape[axis]))
                codes[:, axis] = digit
        return codes

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger]:
        return np.min_scalar_type(max(self.shape, default=1) - 1)


def _grouped(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    group: list[int] = []
    cells = 1
    for axis, size in enumerate(shape):
        if group and cells * size > _WORD:
            yield tuple(group)
            group, cells = [], 1
        group.append(axis)
        cells *= size
    yield tuple(group)
