"""Oracles for the samplers: scripted bits, exponentials to 600 bits, and a chi-square p-value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import erf, sqrt

import mpmath
import numpy as np
import pytest

from dpqr.kernel.arrays import WordArray
from dpqr.kernel.noise.bits import CELL_BITS, LAST_CELL, bernoulli_exp


class ScriptedNoise:
    """Gives the listed words, then `rest` for ever: a real uniform number written out by hand."""

    def __init__(self, words: Iterable[int], rest: int = 0) -> None:
        self.script = [int(word) for word in words]
        self.rest = rest

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> WordArray:
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken + [self.rest] * (count - len(taken)), dtype=np.uint64)


@pytest.fixture(autouse=True)
def _precision() -> Iterable[None]:
    with mpmath.workprec(600):
        yield


@pytest.fixture
def scripted() -> type[ScriptedNoise]:
    return ScriptedNoise


@pytest.fixture
def exp_minus() -> Callable[[Fraction], mpmath.mpf]:
    return lambda x: mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


@pytest.fixture
def p_value() -> Callable[[Sequence[int], Sequence[float]], float]:
    """Pearson's test; cells that expect fewer than 10 draws are pooled, what the cells leave out is one more cell."""

    def value(observed: Sequence[int], chances: Sequence[float], draws: int) -> float:
        from scipy.stats import chi2

        seen = np.append(np.asarray(observed, dtype=float), draws - np.sum(observed))
        expected = np.append(np.asarray(chances, dtype=float), max(0.0, 1 - np.sum(chances))) * draws
        large = expected >= 10
        seen = np.append(seen[large], seen[~large].sum())
        expected = np.append(expected[large], expected[~large].sum())
        statistic = float(((seen - expected) ** 2 / np.maximum(expected, 1)).sum())
        return float(chi2.sf(statistic, len(seen) - 1))

    return value


@pytest.fixture
def follows_normal(p_value) -> Callable[[np.ndarray], None]:
    """Draws over their deviation lie as a normal law's do, and not as one's that is a tenth wider."""

    def check(draws: np.ndarray) -> None:
        levels = np.arange(-4, 4.1, 0.1)
        line = np.array([(1 + erf(level / sqrt(2))) / 2 for level in levels])
        wrong = np.array([(1 + erf(level / sqrt(2) / 1.1)) / 2 for level in levels])
        seen = np.histogram(draws, levels)[0]
        assert p_value(seen, np.diff(line), len(draws)) > 1e-9
        assert p_value(seen, np.diff(wrong), len(draws)) < 1e-9

    return check


@pytest.fixture
def checked_coins() -> Callable[..., np.ndarray]:
    """`bernoulli_exp` that first asks every coin's exact exponent, and refuses a cell that does not stand for it.

    A coin that its cell decides and one that its exponent decides are then coins of one probability.
    """

    def coins(cells, exact, noise):
        for i, cell in enumerate(cells.tolist()):
            place = exact(i) * (1 << CELL_BITS)
            assert 0 <= cell <= place, (i, cell, place)
            assert place < cell + 2 or cell == LAST_CELL, (i, cell, place)
        return bernoulli_exp(cells, exact, noise)

    return coins
