"""Propagation: the sum and the marginals of a log-linear model, clique by clique along a junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree
from dpqr.strategies.updates.marginal_tree import MarginalTree

Table = tuple[Axes, FloatArray]
"""Logs over some attributes, which one clique holds; axes in any order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Site:
    """A clique at work.

    groups: marginals that are wanted of it: first its children's separators, then groups of the caller's.
    children, asked: indices of the cliques and of the caller's groups that they stand for.
    base: logs, fixed. work: scratch space; after a propagation, the clique's probabilities.
    """

    clique: Clique
    groups: MarginalTree
    children: tuple[int, ...]
    asked: tuple[int, ...]
    base: FloatArray
    work: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Propagation:
    """Exact inference for p proportional to exp(base + sum of tables), on one tree for all tables.

    Method: Lauritzen and Spiegelhalter 1988, with every clique kept as the conditional distribution of its own
    attributes given the separator: the way up normalises in logs, so nothing under- or overflows however large the
    potentials are, and takes one exponential a cell; the way down multiplies by the separator's marginal and never
    divides. A single clique is plain summation over the whole domain.
    """

    tree: JunctionTree
    sites: tuple[Site, ...]
    wanted: int

    @classmethod
    def of(cls, tree: JunctionTree, groups: Sequence[Axes], base: Iterable[Table] = ()) -> Propagation:
        """groups: what `run` takes tables for and gives marginals of; axes ascending by size, then position.

        Every group, and every table of the base, lies within a clique.
        """
        homes = [_home(tree, group) for group in groups]
        bases = [np.zeros(tree.sizes(clique)) for clique in tree.cliques]
        for axes, table in base:
            place = _home(tree, axes)
            bases[place] += _aligned(table, axes, tree.cliques[place].axes)
        sites = []
        for index, clique in enumerate(tree.cliques):
            children = tuple(child for child, other in enumerate(tree.cliques) if other.parent == index)
            asked = tuple(number for number, home in enumerate(homes) if home == index)
            inside = [*(tree.cliques[child].separator for child in children), *(groups[number] for number in asked)]
            places = [tuple(clique.axes.index(axis) for axis in axes) for axes in inside]
            sites.append(
                Site(
                    clique=clique,
                    groups=MarginalTree.over(tree.sizes(clique), places),
                    children=children,
                    asked=asked,
                    base=bases[index],
                    work=np.empty(tree.sizes(clique)),
                )
            )
        return cls(tree=tree, sites=tuple(sites), wanted=len(groups))

    def run(self, tables: Sequence[FloatArray]) -> tuple[float, list[FloatArray]]:
        """log sum exp(base + tables), and every group's marginal probabilities.

        The marginals may be views of work space: the next run overwrites them.
        """
        mass = self._up(tables)
        return mass, self._down()

    def _up(self, tables: Sequence[FloatArray]) -> float:
        """Leaves first: each clique becomes a conditional distribution and tells its parent the log of its sum."""
        told: dict[int, FloatArray] = {}
        mass = 0.0
        for index in range(len(self.sites) - 1, -1, -1):
            site = self.sites[index]
            np.copyto(site.work, site.base)
            heard = [told.pop(child) for child in site.children]
            site.groups.spread([*heard, *(tables[number] for number in site.asked)], onto=site.work)
            logs = _normalise(site.work, site.clique)
            if site.clique.parent is None:
                mass += float(logs)
            else:
                told[index] = logs
        return mass

    def _down(self) -> list[FloatArray]:
        """Parents first: each clique is weighed by the marginal of what it shares with its parent."""
        found: list[FloatArray] = [np.empty(0)] * self.wanted
        above: dict[int, FloatArray] = {}
        for index, site in enumerate(self.sites):
            if index in above:
                cells = site.work
                cells *= np.expand_dims(above.pop(index), site.clique.dropped)
            marginals = site.groups.marginals(site.work)
            above.update(zip(site.children, marginals, strict=False))
            found_here = marginals[len(site.children) :]
            for number, marginal in zip(site.asked, found_here, strict=True):
                found[number] = marginal
        return found

    def beliefs(self, tables: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """Every clique's probabilities, read-only, in space of their own."""
        self.run(tables)
        copies = tuple(site.work.copy() for site in self.sites)
        for cells in copies:
            cells.flags.writeable = False
        return copies


def _home(tree: JunctionTree, axes: Axes) -> int:
    place = tree.home(axes)
    if place is None:
        raise ValueError(f"no clique holds the attributes {axes}")
    return place


def _normalise(logs: FloatArray, clique: Clique) -> FloatArray:
    """Turn logs, in place, into probabilities that sum to 1 over the dropped axes; returns the logs of the sums."""
    dropped = clique.dropped
    tops = logs.max(axis=dropped, keepdims=True)
    logs -= tops
    np.exp(logs, out=logs)
    sums = logs.sum(axis=dropped, keepdims=True)
    logs /= sums
    told: FloatArray = np.log(sums)
    told += tops
    return told.reshape([size for place, size in enumerate(logs.shape) if place not in dropped])


def _aligned(table: FloatArray, axes: Axes, target: Axes) -> FloatArray:
    """The table's axes in the target's order, with length 1 where it has none."""
    inside = [axis for axis in target if axis in axes]
    ordered = table.transpose([axes.index(axis) for axis in inside])
    return ordered.reshape([table.shape[axes.index(axis)] if axis in axes else 1 for axis in target])
