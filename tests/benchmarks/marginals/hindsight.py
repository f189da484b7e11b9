"""Fits to plain noise of all pairs: a junction tree, and latent classes. The best of them is known by hindsight only.

Plain noise: every pair of columns is counted once with Gaussian noise, in the shares of least error, or in equal ones;
together these draws cost the whole budget (Gaussian differential privacy). The number of records is taken as known.
All of it reads public tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.optimize import minimize
from task import Task

from dpqr.kernel.accountants.analytic import largest_squared_mu
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.values import replace
from dpqr.models.compound import RefinedDistribution
from dpqr.models.fit.evidence import LinearMeasurement, lower_order, merge_measurements
from dpqr.models.fit.local_fits import Refinement, by_interaction, put_together
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit
from dpqr.models.hypothesis import prepare
from dpqr.models.junction_tree import by_size, within
from dpqr.workload.block import Factor, QueryBlock

TREE_CELLS = 2**17
"""Of the junction tree's tables; pairs that it has no room for are refined by themselves."""
CLASSES = (1, 2, 4, 8, 16, 32)
STEPS = 300
"""Of the descent on latent classes."""

LEAST = 2 / 3
"""Power of the shares of least error: a share x leaves x^-1/2 of the noise in each cell."""

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class NoisyPairs:
    """Noisy tables of all pairs of columns, each with the deviation of its noise."""

    sizes: tuple[int, ...]
    records: int
    tables: dict[Pair, np.ndarray]
    deviations: dict[Pair, float]

    @classmethod
    def drawn(cls, task: Task, epsilon: str, delta: str, seed: int, power: float = LEAST) -> NoisyPairs:
        """A table's share of mu squared is in proportion to that power of its cells."""
        mu = sqrt(largest_squared_mu(PrivacyBudget(epsilon=Fraction(epsilon), delta=Fraction(delta))))
        truth, generator = pair_tables(task), np.random.default_rng(seed)
        whole = sum(table.size**power for table in truth.values())
        deviations = {pair: sqrt(whole / table.size**power) / mu for pair, table in truth.items()}
        noisy = {pair: table + generator.normal(0, deviations[pair], table.shape) for pair, table in truth.items()}
        return cls(tuple(task.sizes.values()), task.records, noisy, deviations)

    @cached_property
    def starts(self) -> np.ndarray:
        """Of each column's cells among those of all columns."""
        return np.cumsum((0, *self.sizes[:-1]))

    def cells(self, pair: Pair) -> tuple[slice, slice]:
        """Of a pair in a matrix over the cells of all columns."""
        one, other = (slice(self.starts[axis], self.starts[axis] + self.sizes[axis]) for axis in pair)
        return one, other


@lru_cache(maxsize=1)
def pair_tables(task: Task) -> dict[Pair, np.ndarray]:
    """Exact counts."""
    names, sizes = list(task.sizes), list(task.sizes.values())
    return {
        (one, other): task.counted(task.codes, (names[one], names[other])).reshape(sizes[one], sizes[other])
        for one, other in combinations(range(len(names)), 2)
    }


def methods(sizes: tuple[int, ...]) -> dict[str, tuple[Fit, float]]:
    """Fits by name, each with the power of its shares."""
    shares = {"": LEAST} if len(set(sizes)) == 1 else {"": LEAST, ", equal shares": 0.0}
    return {f"{fit}{label}": (FITS[fit], power) for label, power in shares.items() for fit in FITS}


def hindsight_error(task: Task, method: str, epsilon: str, delta: str, seed: int) -> float:
    """L1 / n of one fit, mean over the pairs. Methods of equal shares have the same noise."""
    fit, power = methods(tuple(task.sizes.values()))[method]
    found = fit(NoisyPairs.drawn(task, epsilon, delta, seed, power))
    return (
        float(np.mean([np.abs(found[pair] - table).sum() for pair, table in pair_tables(task).items()])) / task.records
    )


def plain_noise(noisy: NoisyPairs) -> dict[Pair, np.ndarray]:
    return noisy.tables


def junction_tree(noisy: NoisyPairs) -> dict[Pair, np.ndarray]:
    """The maximum-entropy fit to as many pairs as the tree has room for, those of most interaction first; the rest are
    refined one by one."""
    measured = []
    for pair, table in noisy.tables.items():
        axes = by_size(noisy.sizes, pair)
        values = table if axes == pair else table.T
        measured.append(LinearMeasurement(key=axes, axes=axes, values=values, deviation=noisy.deviations[pair]))
    evidence, limit = put_together(measured, noisy.records), max(TREE_CELLS, max(t.size for t in noisy.tables.values()))
    admitted: list[LinearMeasurement] = []
    for seen in by_interaction(evidence):
        if within(noisy.sizes, frozenset(one.axes for one in admitted), limit, frozenset({seen.axes})):
            admitted.append(seen)
    kept = frozenset(seen.axes for seen in admitted)
    left = tuple(seen for seen in evidence if seen.axes not in kept)
    inside = frozenset(tuple(sorted(axes)) for axes in kept if len(axes) > 1)
    observed = merge_measurements([*admitted, *lower_order(left, 1)])
    fitted = replace(
        MaximumEntropyFit().run(observed, noisy.sizes, noisy.records, {}, None), total=float(noisy.records)
    )
    model = RefinedDistribution(model=fitted, tables=Refinement(left=left, inside=inside)) if left else fitted
    blocks = {
        pair: QueryBlock(name=f"{pair}", factors=tuple(Factor.identity(axis, noisy.sizes[axis]) for axis in pair))
        for pair in noisy.tables
    }
    prepare(model, list(blocks.values()))
    return {pair: model.answer(block).reshape(noisy.tables[pair].shape) for pair, block in blocks.items()}


def latent_classes(noisy: NoisyPairs, classes: int, seed: int = 0) -> dict[Pair, np.ndarray]:
    """Weighted least squares over mixtures of that many products, by descent on the logarithms of their laws."""
    starts, sizes, cells = noisy.starts, noisy.sizes, sum(noisy.sizes)
    counts, weights = np.zeros((cells, cells)), np.zeros((cells, cells))
    for pair, table in noisy.tables.items():
        place = noisy.cells(pair)
        counts[place], weights[place] = table, noisy.deviations[pair] ** -2
    # Each pair stands twice, so that one product of matrices gives the gradient by both its columns.
    counts, weights = counts + counts.T, weights + weights.T
    scale = 1 / np.count_nonzero(weights)

    def by_column(totals: np.ndarray) -> np.ndarray:
        return np.repeat(totals, sizes, axis=0)

    def laws(logs: np.ndarray) -> np.ndarray:
        odds = np.exp(logs - by_column(np.maximum.reduceat(logs, starts)))
        return odds / by_column(np.add.reduceat(odds, starts))

    def split(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A law of each column in each class, shape (cells, classes), and the share of each class."""
        odds = np.exp(state[-classes:] - state[-classes:].max())
        return laws(state[:-classes].reshape(cells, classes)), odds / odds.sum()

    def loss(state: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the mean squared residual in deviations, and its gradient."""
        columns, shares = split(state)
        gaps = noisy.records * (columns * shares) @ columns.T - counts
        slope = (noisy.records * scale * weights * gaps) @ columns
        moved = columns * (2 * shares * slope)
        by_log = moved - columns * by_column(np.add.reduceat(moved, starts))
        by_share = (columns * slope).sum(axis=0)
        by_odds = shares * (by_share - shares @ by_share)
        return 0.5 * scale * float((weights * gaps**2).sum()), np.concatenate([by_log.ravel(), by_odds])

    # The start: the columns' own noisy laws in every class, moved apart at random.
    own = np.maximum((counts * weights).sum(axis=1), 1e-9 * weights.max())
    moves = 0.3 * np.random.default_rng(seed).normal(size=(cells, classes))
    start = np.concatenate([(np.log(laws(np.log(own)[:, None])) + moves).ravel(), np.zeros(classes)])
    columns, shares = split(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x)
    fitted = noisy.records * (columns * shares) @ columns.T
    return {pair: fitted[noisy.cells(pair)] for pair in noisy.tables}


Fit = Callable[[NoisyPairs], dict[Pair, np.ndarray]]
FITS: dict[str, Fit] = {"noise": plain_noise, "tree": junction_tree} | {
    f"classes {classes}": partial(latent_classes, classes=classes) for classes in CLASSES
}
