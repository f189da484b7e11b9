"""Made-up arrays of counts for the benchmark of ordered columns: families, each with its parameters drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Shape = tuple[int, ...]
Family = Callable[[np.random.Generator, Shape], np.ndarray]


def _grids(shape: Shape) -> list[np.ndarray]:
    """Positions in [0, 1) along each axis."""
    return [(grid + 0.5) / size for grid, size in zip(np.indices(shape), shape, strict=True)]


def _points(rng: np.random.Generator, shape: Shape, count: int, weights: np.ndarray) -> np.ndarray:
    found = np.zeros(int(np.prod(shape)))
    found[rng.choice(len(found), count, replace=False)] = weights
    return found.reshape(shape)


def few_spikes(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    count = int(rng.integers(2, 8))
    return _points(rng, shape, count, rng.exponential(size=count))


def many_spikes(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    count = int(rng.integers(20, 120))
    return _points(rng, shape, count, rng.exponential(size=count))


def spikes_on_ground(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Spikes hold a half to nine tenths of the records."""
    spikes, share = many_spikes(rng, shape), rng.uniform(0.5, 0.9)
    return share * spikes / spikes.sum() + (1 - share) / spikes.size


def clustered_spikes(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Single cells within a few narrow regions."""
    where = bumps(rng, shape, narrowest=0.005, widest=0.03).reshape(-1)
    count = int(rng.integers(20, 80))
    found = np.zeros(where.size)
    np.add.at(found, rng.choice(where.size, count, p=where / where.sum()), rng.exponential(size=count))
    return found.reshape(shape)


def zipf_labels(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Zipf in no order."""
    return rng.permutation(zipf_sorted(rng, shape).reshape(-1)).reshape(shape)


def zipf_sorted(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    power = rng.uniform(0.7, 1.8)
    return np.prod([(grid * size + 0.5) ** -power for grid, size in zip(_grids(shape), shape, strict=True)], axis=0)


def steps(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Piecewise constant, about a third of it empty; on two axes a sum of rectangles."""
    found = np.zeros(shape)
    for _ in range(int(rng.integers(3, 12))):
        starts = [int(rng.integers(0, size - 1)) for size in shape]
        stops = [int(rng.integers(start + 1, size)) for start, size in zip(starts, shape, strict=True)]
        found[tuple(map(slice, starts, stops))] += rng.exponential()
    return found


def bumps(rng: np.random.Generator, shape: Shape, narrowest: float = 0.02, widest: float = 0.3) -> np.ndarray:
    """A mixture of normal curves."""
    found = np.zeros(shape)
    for _ in range(int(rng.integers(1, 6))):
        width = np.exp(rng.uniform(np.log(narrowest), np.log(widest)))
        squares = sum((grid - rng.uniform()) ** 2 for grid in _grids(shape))
        found += rng.exponential() * np.exp(-squares / (2 * width**2))
    return found + 1e-12


def waves(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """One plus a cosine of 2 to 40 periods."""
    turns = [rng.uniform(2, 40) for _ in shape]
    phase = sum(turn * grid for turn, grid in zip(turns, _grids(shape), strict=True))
    return 1 + rng.uniform(0.3, 1) * np.cos(2 * np.pi * phase)


def heaped(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """A smooth curve with most records on multiples of a step, as rounded answers have."""
    step, share = int(rng.integers(5, 13)), rng.uniform(0.5, 0.95)
    on = np.prod([np.indices(shape)[axis] % step == 0 for axis in range(len(shape))], axis=0)
    curve = bumps(rng, shape, 0.1, 0.4)
    return curve * (share * on / max(on.mean(), 1e-9) + 1 - share)


def diagonal(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Two axes that depend on each other; on one axis a geometric law."""
    grids = _grids(shape)
    if len(shape) == 1:
        return np.exp(-grids[0] * rng.uniform(5, 100))
    width = rng.uniform(0.005, 0.1)
    return np.exp(-(((grids[0] - grids[1]) / width) ** 2) / 2) + 1e-12


def even(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return np.ones(shape)


def one_cell(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return _points(rng, shape, 1, np.ones(1))


FAMILIES: dict[str, Family] = {
    maker.__name__.replace("_", " "): maker
    for maker in (
        few_spikes,
        many_spikes,
        spikes_on_ground,
        clustered_spikes,
        zipf_labels,
        zipf_sorted,
        steps,
        bumps,
        waves,
        heaped,
        diagonal,
        even,
        one_cell,
    )
}


def array(family: str, shape: Shape, records: int, seed: int) -> np.ndarray:
    """So many records drawn from a member of the family; int64."""
    rng = np.random.default_rng([seed, sorted(FAMILIES).index(family), *shape])
    shares = FAMILIES[family](rng, shape).reshape(-1)
    return rng.multinomial(records, shares / shares.sum()).reshape(shape)
