"""Public randomness: repeatable, seeded, and never near a private value."""

from __future__ import annotations

import random

import numpy as np


def public_generator(seed: int) -> np.random.Generator:
    """A generator for choices that everybody may know: random queries, synthetic rows, points of a search.

    seed: at least 0; it stands in the release.

    Why a seed at all: what is made from released and public values alone is post-processing and needs no secrecy, but
    whoever checks a release must be able to repeat it. Why only here: a seeded stream that reached private noise
    would undo it, so a test on the syntax tree lets no other module name numpy's generators.
    """
    if seed < 0:
        raise ValueError("a public seed must be an integer of at least 0")
    return np.random.default_rng(seed)


def public_normals(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """`count` draws of the standard normal law, the same in every version of numpy: its raw bits are kept stable, its
    own normal draws are not. (Box and Muller 1958.)
    """
    raw = public_generator(seed).bit_generator.random_raw(2 * count)
    uniform = (np.asarray(raw, dtype=np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    radius = np.sqrt(-2 * np.log1p(-uniform[:count]))
    normals: np.ndarray[tuple[int], np.dtype[np.float64]] = radius * np.cos(2 * np.pi * uniform[count:])
    return normals


def seed_everybody(seed: int) -> None:
    """Set the global generators of Python and numpy, which other people's code draws from, to a public state."""
    random.seed(seed)
    np.random.seed(seed)
