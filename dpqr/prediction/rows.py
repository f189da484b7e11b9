"""Rows: the distinct rows of a table as learners read them, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.prediction.features import FeatureMap

BLOCK = 2**12
"""Rows whose gradients are added up in one go."""
KEPT = 2**26
"""Features that are kept in memory; of larger tables they are computed anew at every look."""


class Block(NamedTuple):
    """vectors: shape (rows, width), norms at most 1; targets: on the scale of `Target`; weights: of their losses."""

    vectors: FloatArray
    targets: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Private. codes: of the rows without their target. targets and weights: one a row."""

    features: FeatureMap
    codes: AnyArray
    targets: FloatArray
    weights: FloatArray
    _kept: list[FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        small = len(self.codes) * self.features.width <= KEPT
        object.__setattr__(self, "_kept", [self._vectors(at) for at in self._starts] if small else [])

    def blocks(self) -> Iterator[Block]:
        """At least one, of no rows perhaps."""
        for index, at in enumerate(self._starts):
            vectors = self._kept[index] if self._kept else self._vectors(at)
            yield Block(vectors, self.targets[at : at + BLOCK], self.weights[at : at + BLOCK])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        return self.features.width

    @property
    def _starts(self) -> range:
        return range(0, max(1, len(self.codes)), BLOCK)

    def _vectors(self, at: int) -> FloatArray:
        return self.features.of(self.codes[at : at + BLOCK])


def summed(parts: Iterator[FloatArray]) -> FloatArray:
    """The sum of arrays of one shape, in pairs, so that rounding hardly grows with their number."""
    waiting: list[tuple[int, FloatArray]] = []
    for part in parts:
        level, total = 0, part
        while waiting and waiting[-1][0] == level:
            total = waiting.pop()[1] + total
            level += 1
        waiting.append((level, total))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return np.asarray(total, dtype=np.float64)
