"""Private noise that is the same in every run, for recordings that are compared."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from dpqr.kernel.noise.source import SeededNoise, SystemNoise


@contextmanager
def repeatable_noise() -> Iterator[None]:
    """The operating system's generator gives the same words in the same order, run after run."""
    stream, sound, state = SeededNoise(1), SystemNoise.words, random.getstate()
    SystemNoise.words = lambda self, count: stream.words(count)  # type: ignore[method-assign]
    random.seed(1)
    try:
        yield
    finally:
        SystemNoise.words = sound  # type: ignore[method-assign]
        random.setstate(state)
