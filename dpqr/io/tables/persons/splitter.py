"""Splitter: a keyed hash that cuts the persons into groups, one a pass, so that one group at a time fits in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, WordArray
from dpqr.io.tables.persons.person import as_text
from dpqr.noise.source import NoiseSource

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
