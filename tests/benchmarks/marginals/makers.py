"""Makers of tables of codes: each takes a generator, a number of rows and the columns' sizes.

What else a table has (skews, correlations, parents) is drawn from the generator, so two seeds give two unlike tables.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import ndtr


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


def even(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Independent columns, every value as likely as another."""
    return generator.integers(0, sizes, (rows, len(sizes)))


def correlated(generator: np.random.Generator, rows: int, sizes: tuple[int, ...], correlation: float) -> np.ndarray:
    """A Gaussian copula in which every two columns have the same correlation, cut into even bins."""
    common, own = generator.normal(size=(rows, 1)), generator.normal(size=(rows, len(sizes)))
    return _binned(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own, sizes)


def factors(generator: np.random.Generator, rows: int, sizes: tuple[int, ...], rank: int) -> np.ndarray:
    """A Gaussian copula of that many factors with normal loads, cut into even bins."""
    loads = 0.96 / np.sqrt(rank) * generator.normal(size=(rank, len(sizes)))
    shown = generator.normal(size=(rows, rank)) @ loads
    own = np.sqrt(0.4) * generator.normal(size=(rows, len(sizes)))
    return _binned((shown + own) / np.sqrt((loads**2).sum(axis=0) + 0.4), sizes)


def non_linear(generator: np.random.Generator, rows: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Waves of sums and products of three hidden normal columns, with noise, cut into even bins."""
    shown = generator.normal(size=(rows, 3))
    columns = []
    for _ in sizes:
        one, two, three = (shown @ generator.normal(size=(3, 3))).T
        wave = np.sin(1.5 * one + generator.uniform(0, 2 * np.pi))
        columns.append(wave + 0.5 * np.tanh(two * three) + 0.3 * generator.normal(size=rows))
    ranked = np.argsort(np.argsort(np.stack(columns, axis=1), axis=0), axis=0) / rows
    return (ranked * sizes).astype(np.int64)


def markov(generator: np.random.Generator, rows: int, sizes: tuple[int, ...], states: int = 5) -> np.ndarray:
    """Hidden Markov rows: a state that stays with chance .7 from column to column, and skewed laws given the state."""
    state = generator.integers(0, states, rows)
    columns = []
    for size in sizes:
        columns.append(_drawn(generator, generator.dirichlet(np.full(size, 0.6), states), state))
        state = np.where(generator.random(rows) < 0.7, state, generator.integers(0, states, rows))
    return np.stack(columns, axis=1)


def _binned(normal: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Standard normal columns, cut into bins of equal chance."""
    return np.minimum((ndtr(normal) * sizes).astype(np.int64), np.array(sizes) - 1)


def _drawn(generator: np.random.Generator, laws: np.ndarray, group: np.ndarray) -> np.ndarray:
    """One value a row, by the law of the row's group: laws has one row a group."""
    ends = laws.cumsum(axis=1) / laws.sum(axis=1, keepdims=True)
    stacked = (np.minimum(ends, 1.0) + np.arange(len(laws))[:, None]).reshape(-1)
    places = np.searchsorted(stacked, generator.random(len(group)) + group, side="right")
    return np.clip(places - group * laws.shape[1], 0, laws.shape[1] - 1)
