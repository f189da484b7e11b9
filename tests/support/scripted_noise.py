"""A noise source that says what it is told, so that every way in which a draw can fall may be walked through."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Exhausted(Exception):
    """More words were asked for than the script has."""


@dataclass
class ScriptedNoise:
    """Gives the words of `script` one after another."""

    script: list[int]
    private: bool = False
    given: int = field(default=0)

    def words(self, count: int) -> np.ndarray:
        start, self.given = self.given, self.given + count
        if self.given > len(self.script):
            raise Exhausted
        return np.array(self.script[start : self.given], dtype=np.uint64)


def outcomes(draw: Callable[[ScriptedNoise], T], letters: tuple[int, ...], depth: int) -> Iterator[tuple[T, Fraction]]:
    """Every outcome of `draw` that is decided within `depth` words over an alphabet of equally likely `letters`, with
    the probability of the words that lead there."""
    open_scripts: list[list[int]] = [[]]
    while open_scripts:
        script = open_scripts.pop()
        noise = ScriptedNoise(script)
        try:
            outcome = draw(noise)
        except Exhausted:
            wanted = noise.given - len(script)
            if noise.given <= depth:
                longer = [script]
                for _ in range(wanted):
                    longer = [[*one, letter] for one in longer for letter in letters]
                open_scripts += longer
            continue
        yield outcome, Fraction(1, len(letters) ** len(script))
