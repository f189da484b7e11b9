"""Public randomness: repeatable, seeded, and never near a private value."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import final

import numpy as np

from dpqr.kernel.arrays import WordArray
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.law import NoiseLaw

LITTLE = 0.4
"""Deviation of integer noise that is nearly never more than 1."""

PublicGenerator = np.random.Generator


def public_generator(seed: int) -> PublicGenerator:
    """Return a generator for public choices: random queries, synthetic rows, points of a search.

    Why a seed: what is computed from released and public values is post-processing and needs no secrecy, but whoever
    verifies a release must be able to repeat it. Why only here: a seeded stream that reached private noise would undo
    it, so a test on the syntax tree lets no other module name numpy's generators.

    Args:
        seed: at least 0; it stands in the release.

    Raises:
        ValueError: the seed is negative.
    """
    if seed < 0:
        raise ValueError("a public seed must be an integer of at least 0")
    return np.random.default_rng(seed)


@final
@dataclass(frozen=True, slots=True)
class PublicNoise:
    """A repeatable stream of words for simulations on public tables; a run that draws from it protects nobody.

    seed: at least 0.

    >>> bool((PublicNoise(7).words(3) == PublicNoise(7).words(3)).all()), PublicNoise(7).private
    (True, False)
    """

    seed: int
    _generator: PublicGenerator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_generator", public_generator(self.seed))

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> WordArray:
        return np.asarray(self._generator.bit_generator.random_raw(count), dtype=np.uint64)


def public_normals(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draw `count` standard normals by Box and Muller (1958), shape (count,).

    They are the same in every version of numpy: numpy promises stable raw bits, but not stable normal draws.
    """
    uniform = public_uniforms(seed, 2 * count)
    radius = np.sqrt(-2 * np.log1p(-uniform[:count]))
    normals: np.ndarray[tuple[int], np.dtype[np.float64]] = radius * np.cos(2 * np.pi * uniform[count:])
    return normals


def public_draws(law: NoiseLaw, seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draw `count` numbers like the law's, shape (count,), as stable as normals: a stand-in for its exact draws.

    Laplace noise is the difference of two geometric numbers, which are exponential ones rounded down. Other noise is
    normal, before it is rounded; below LITTLE that would nearly always give 0, so it is 0, 1 or -1, of the law's
    deviation.

    >>> from fractions import Fraction
    >>> [bool(public_draws(DiscreteLaplace(Fraction(scale)), 7, 10**5).any()) for scale in ("0.01", "0.2", "50")]
    [False, True, True]
    """
    if isinstance(law, DiscreteLaplace):
        sizes = np.floor(-np.log1p(-public_uniforms(seed, 2 * count)) * float(law.scale))
        laplaces: np.ndarray[tuple[int], np.dtype[np.float64]] = sizes[:count] - sizes[count:]
        return laplaces
    if law.deviation >= LITTLE:
        return public_normals(seed, count) * law.deviation
    uniforms, often = public_uniforms(seed, count), law.deviation**2 / 2
    return (uniforms < often).astype(np.float64) - (uniforms >= 1.0 - often)


def public_uniforms(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draw `count` multiples of 2^-53 in [0, 1), shape (count,); as stable as normals."""
    raw = np.asarray(public_generator(seed).bit_generator.random_raw(count), dtype=np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def seed_everybody(seed: int) -> None:
    """Seed the global generators of Python and numpy, which third-party code draws from."""
    random.seed(seed)
    np.random.seed(seed)
