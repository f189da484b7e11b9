"""PublicStart: the distribution that an earlier release has published, from which a fit starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from dpqr.data.arrays import Axes, FloatArray, frozen
from dpqr.hypotheses.factored.junction_tree import SMALL, JunctionTree, within


class Known(Protocol):
    """A model that knows every marginal."""

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/start.py`; figures: tests/benchmarks/RESULTS.md, "Starts"."""

    cells: int = SMALL  # of all tables: each measured block needs room beside them
    uniform: float = 1e-3  # share of the uniform distribution, so that a cell which was empty may fill
    dependence: float = 0.01  # L1 distance of a pair from its product, over n, that is worth a table


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicStart:
    """A distribution as probabilities of the cliques of a junction tree, by their axes.

    sha256: of the release that it was taken from. shape: sizes of all attributes. tables: one array a clique, in the
    order of `JunctionTree.over` its axes, equal on what two of them share.

    Privacy:
        Post-processing of a published release.

    >>> table = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> start = PublicStart(sha256="", shape=(2, 2), groups=((0, 1),), tables=(table,))
    >>> start.groups
    ((0, 1),)
    """

    sha256: str
    shape: tuple[int, ...]
    groups: tuple[Axes, ...]
    tables: tuple[FloatArray, ...]

    @classmethod
    def of(cls, sha256: str, shape: tuple[int, ...], model: Known, asked: Iterable[Axes]) -> PublicStart:
        """The pairs of columns that depend most on each other in a model, as many as the tables have room for.

        Args:
            model: of the earlier release.
            asked: columns that queries look at together.
        """
        records = float(model.marginal(()))
        pairs = sorted({pair for axes in asked for pair in combinations(sorted(axes), 2)})
        ranked = sorted(pairs, key=lambda pair: (-_dependence(model, pair), pair))
        groups: frozenset[Axes] = frozenset()
        for pair in ranked:
            if _dependence(model, pair) < TUNING.dependence * records:
                break
            if within(shape, groups, TUNING.cells, frozenset({pair})):
                groups |= {pair}
        cliques = [clique.axes for clique in JunctionTree.over(shape, groups).cliques]
        tables = (model.marginal(axes) / records for axes in cliques)
        mixed = (frozen((1.0 - TUNING.uniform) * table + TUNING.uniform / table.size) for table in tables)
        return cls(sha256=sha256, shape=shape, groups=tuple(cliques), tables=tuple(mixed))

    @property
    def logs(self) -> list[tuple[Axes, FloatArray]]:
        """Log factors whose sum is the distribution's log: of each clique given its separator."""
        tree = JunctionTree.over(self.shape, self.groups)
        found = []
        for clique, table in zip(tree.cliques, self.tables, strict=True):
            shared = table.sum(axis=clique.dropped, keepdims=True)
            found.append((clique.axes, np.log(table) - np.log(shared)))
        return found


def _dependence(model: Known, pair: Axes) -> float:
    """L1 distance of a pair's table from the product of its columns, in records."""
    table = model.marginal(pair)
    total = max(float(table.sum()), 1e-300)
    return float(np.abs(table - table.sum(axis=1, keepdims=True) * table.sum(axis=0) / total).sum())
