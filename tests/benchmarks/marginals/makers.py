"""Makers of tables of codes: each takes a generator, a number of rows and the columns' sizes.

What else a table has (skews, correlations, parents) is drawn from the generator, so two seeds give two unlike tables.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def zipf(generator: np.random.Generator, rows: int, size: int, skew: float = 1.0) -> np.ndarray:
    odds = 1 / np.arange(1, size + 1) ** skew
    return generator.choice(size, rows, p=odds / odds.sum())


def independent(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Columns that tell nothing of each other."""
    return np.stack([zipf(generator, rows, size) for size in sizes], axis=1)


def classes(generator: np.random.Generator, rows: int, sizes: tuple[int, ...], skew: float = 1.0) -> np.ndarray:
    """Six latent classes, each with its own order of every column's values; 40 % of the cells ignore the class."""
    latent = generator.choice(6, rows, p=np.arange(6, 0, -1) / 21)
    columns = []
    for size in sizes:
        orders = np.stack([generator.permutation(size) for _ in range(6)])
        value = zipf(generator, rows, size, skew)
        columns.append(np.where(generator.random(rows) < 0.6, orders[latent, value], value))
    return np.stack(columns, axis=1)


def skewed(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """The same with a few values that nearly all records have."""
    return classes(generator, rows, sizes, skew=2.5)


def chain(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Each column copies 70 % of the one before it."""
    columns = [zipf(generator, rows, sizes[0], 0.5)]
    for before, size in pairwise(sizes):
        fresh = zipf(generator, rows, size, 0.5)
        columns.append(np.where(generator.random(rows) < 0.7, columns[-1] * size // before, fresh))
    return np.stack(columns, axis=1)


def copula(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """A Gaussian copula of three factors; each column has one of five kinds of one-way law."""
    factors = generator.normal(size=(rows, 3))
    columns = []
    for size in sizes:
        loads = generator.normal(size=3) * generator.uniform(0.1, 1.2)
        law = _ordered_law(generator, size)
        noisy = factors @ loads + generator.normal(size=rows)
        ranks = np.argsort(np.argsort(noisy)) / rows
        columns.append(np.minimum(np.searchsorted(law.cumsum(), ranks, side="right"), size - 1))
    return np.stack(columns, axis=1)


def _ordered_law(generator: np.random.Generator, size: int) -> np.ndarray:
    """A bell, a slope, a flat law, a heavy tail, or most records in the first cell."""
    places = np.arange(size)
    bell = np.exp(-(((places - generator.uniform(0, size)) / (0.2 * size + 0.5)) ** 2))
    spike = np.where(places == 0, 4.0 * size, 1.0)
    laws = (bell, 0.8**places, np.ones(size), 1 / (1 + places) ** 1.5, spike)
    law = laws[generator.integers(len(laws))] + 1e-6
    return law / law.sum()


def bayes(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """A Bayesian network: every column has up to two parents before it, and skewed conditional laws."""
    columns: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        parents = generator.choice(place, min(place, int(generator.integers(0, 3))), replace=False)
        group = np.zeros(rows, dtype=np.int64)
        for parent in parents:
            group = group * sizes[parent] + columns[parent]
        laws = generator.dirichlet(np.full(size, generator.uniform(0.2, 1.5)), int(group.max()) + 1)
        columns.append(_drawn(generator, laws, group))
    return np.stack(columns, axis=1)


def mixture(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """3 to 15 components, in each of which all columns are independent."""
    latent = zipf(generator, rows, int(generator.integers(3, 16)), 0.7)
    columns = []
    for size in sizes:
        laws = generator.dirichlet(np.full(size, generator.uniform(0.3, 3.0)), int(latent.max()) + 1)
        columns.append(_drawn(generator, laws, latent))
    return np.stack(columns, axis=1)


def labels(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Zipf labels of many skews; a third of the columns follow the one before them for a part of the rows."""
    columns: list[np.ndarray] = []
    for size in sizes:
        value = zipf(generator, rows, size, generator.uniform(0.3, 2.5))
        if columns and generator.random() < 1 / 3:
            order = generator.integers(0, size, int(columns[-1].max()) + 1)
            value = np.where(generator.random(rows) < generator.uniform(0.3, 0.9), order[columns[-1]], value)
        columns.append(value)
    return np.stack(columns, axis=1)


def hidden(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Two independent hidden classes; each column follows one of them, for a part of the rows and with its own skew."""
    latent = [zipf(generator, rows, int(generator.integers(3, 12)), 0.5) for _ in range(2)]
    columns = []
    for size in sizes:
        shown = latent[generator.integers(2)]
        orders = np.stack([generator.permutation(size) for _ in range(int(shown.max()) + 1)])
        value = zipf(generator, rows, size, generator.uniform(0.5, 2.5))
        columns.append(np.where(generator.random(rows) < generator.uniform(0.1, 0.9), orders[shown, value], value))
    return np.stack(columns, axis=1)


def duplicates(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Near-duplicates: rows copy one of a few prototypes, cells are replaced now and then."""
    count = max(5, rows // int(generator.integers(20, 400)))
    prototype, kept = zipf(generator, rows, count, generator.uniform(0.3, 1.2)), generator.uniform(0.8, 0.98)
    columns = []
    for size in sizes:
        own = zipf(generator, count, size, generator.uniform(0.3, 2.0))
        fresh = zipf(generator, rows, size, 1.0)
        columns.append(np.where(generator.random(rows) < kept, own[prototype], fresh))
    return np.stack(columns, axis=1)


def _drawn(generator: np.random.Generator, laws: np.ndarray, group: np.ndarray) -> np.ndarray:
    """One value a row, by the law of the row's group: laws has one row a group."""
    ends = laws.cumsum(axis=1) / laws.sum(axis=1, keepdims=True)
    stacked = (np.minimum(ends, 1.0) + np.arange(len(laws))[:, None]).reshape(-1)
    places = np.searchsorted(stacked, generator.random(len(group)) + group, side="right")
    return np.clip(places - group * laws.shape[1], 0, laws.shape[1] - 1)
