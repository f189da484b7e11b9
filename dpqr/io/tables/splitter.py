"""Splitter: a keyed hash that cuts the persons into groups, one a pass, so that one group at a time fits in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, WordArray
from dpqr.io.tables.person import as_text
from dpqr.noise.source import NoiseSource

_PLACES = 64
_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Splitter:
    """Tabulation hashing: a random word for each byte at each place (modulo 64), joined by exclusive or.

    The key is drawn anew for every run, so that nobody can choose persons who crowd one group. It decides nothing but
    the pass in which a person is counted: what is kept of a person does not depend on it.
    """

    groups: int
    key: WordArray = field(repr=False)

    @classmethod
    def draw(cls, groups: int, noise: NoiseSource) -> Splitter:
        """A splitter with a fresh key, or none where there is one group only."""
        words = 256 * _PLACES if groups > 1 else 0
        return cls(groups, noise.words(words).reshape(-1, 256))

    def group(self, people: Any) -> AnyArray:
        """Each person's group, shape (rows,); people: as `persons` gives them, none of them empty."""
        if self.groups == 1 or not len(people):
            return np.zeros(len(people), dtype=np.uint64)
        text = as_text(people)
        _, offsets, data = text.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
        letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
        starts = ends[:-1] - ends[0]
        places = (np.arange(len(letters)) - np.repeat(starts, np.diff(ends))) % _PLACES
        mixed = np.bitwise_xor.reduceat(self.key[places, letters], starts)
        groups: AnyArray = ((mixed >> _SHIFT) * np.uint64(self.groups)) >> _SHIFT
        return groups
