"""NoiseSource: where random bits come from. Nothing else in the product may draw private randomness."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np

from dpqr.data.arrays import WordArray


class NoiseSource(Protocol):
    """A stream of independent, uniform bits."""

    @property
    def private(self) -> bool:
        """Whether noise from this source protects anybody; a release made with another is stamped NOT PRIVATE."""
        ...

    def words(self, count: int) -> WordArray:
        """`count` uniform 64-bit words, shape (count,)."""
        ...


@final
@dataclass(frozen=True, slots=True)
class SystemNoise:
    """The operating system's generator, asked anew at each call.

    Why: no state in user space means nothing to seed, to save, or to share after a fork.
    """

    @property
    def private(self) -> bool:
        return True

    def words(self, count: int) -> WordArray:
        return np.frombuffer(os.urandom(8 * count), dtype="<u8").astype(np.uint64, copy=False)


@final
@dataclass(frozen=True, slots=True)
class SeededNoise:
    """A repeatable stream for tests. Predictable, so no protection at all: no command can choose it."""

    seed: int
    _generator: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_generator", random.Random(self.seed))

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> WordArray:
        return np.frombuffer(self._generator.randbytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)
