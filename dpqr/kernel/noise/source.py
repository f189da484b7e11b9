"""NoiseSource: the only source of private random bits in dpqr."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import WordArray

_PIECE = 2**16
"""Bytes per call of SHAKE256."""
_NAME = b"name:"
"""Before a name; a counter begins with a byte 0, so no name is taken for one."""


class NoiseSource(Protocol):
    """A stream of independent, uniform bits."""

    @property
    def private(self) -> bool:
        """Whether noise from this source gives privacy. Otherwise the release is stamped NOT PRIVATE."""
        ...

    def words(self, count: int) -> WordArray:
        """`count` uniform 64-bit words, shape (count,)."""
        ...


@final
class SystemNoise(Struct, frozen=True):
    """The operating system's generator, called for every draw.

    Why: without state in user space there is nothing to seed, to save, or to share after a fork.

    >>> SystemNoise().words(3).shape
    (3,)
    """

    @property
    def private(self) -> bool:
        return True

    def words(self, count: int) -> WordArray:
        return np.frombuffer(os.urandom(8 * count), dtype="<u8").astype(np.uint64, copy=False)


@final
@dataclass(slots=True)
class KeyedNoise:
    """A stream of words that depends on a secret key alone: SHAKE256 of the key and a counter.

    key: 256 uniform bits of the operating system's generator, used for nothing else.

    Why: a run that is resumed must repeat the choices that it made before.

    Privacy:
        Without the key the words are uniform and independent, under the assumption that SHAKE256 with a secret prefix
        is a pseudorandom function; the operating system's generator rests on one of the same kind. The noise of
        answers never comes from here.

    >>> one, same = KeyedNoise(key=bytes(32)), KeyedNoise(key=bytes(32))
    >>> bool((one.words(2) == same.words(2)).all())
    True
    """

    key: bytes = field(repr=False)
    _number: int = 0
    _left: bytes = field(default=b"", repr=False)

    @property
    def private(self) -> bool:
        return True

    def words(self, count: int) -> WordArray:
        pieces, missing = [self._left], 8 * count - len(self._left)
        while missing > 0:
            pieces.append(hashlib.shake_256(self.key + self._number.to_bytes(8, "big")).digest(_PIECE))
            self._number, missing = self._number + 1, missing - _PIECE
        found = b"".join(pieces)
        self._left = found[8 * count :]
        return np.frombuffer(found[: 8 * count], dtype="<u8").astype(np.uint64, copy=False)


def keyed_words(key: bytes, names: Iterable[bytes], counts: Iterable[int]) -> WordArray:
    """Uniform words for each name, `counts` of them, one name after the other: SHAKE256 of the key and the name.

    Privacy:
        A name's words depend on the key and the name alone, whatever the other names are. As for `KeyedNoise`, they
        are uniform and independent for who does not have the key, and the noise of answers never comes from here.

    >>> keyed_words(bytes(32), [b"ann", b"bob"], [2, 1])[2] == keyed_words(bytes(32), [b"bob"], [1])[0]
    np.True_
    """
    drawn = (hashlib.shake_256(key + _NAME + name).digest(8 * count) for name, count in zip(names, counts, strict=True))
    return np.frombuffer(b"".join(drawn), dtype="<u8").astype(np.uint64, copy=False)


@final
@dataclass(frozen=True, slots=True)
class SeededNoise:
    """A repeatable stream for tests. It is predictable and gives no privacy; no command can choose it."""

    seed: int
    _generator: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_generator", random.Random(self.seed))

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> WordArray:
        return np.frombuffer(self._generator.randbytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)
