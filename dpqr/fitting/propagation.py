"""Belief propagation: the normaliser and the marginals of a log-linear model on a junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A tensor over `axes`, summed from its parent over `dropped`.

    Attributes:
        dropped: positions in the parent's axes.
        layout: its shape among the parent's axes, 1 for the dropped ones.
        wanted: indices of the groups that equal `axes`.
    """

    axes: Axes
    dropped: Axes
    layout: tuple[int, ...]
    wanted: tuple[int, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalTree:
    """Marginals of a tensor of `shape` on groups of axes (ascending positions), through shared partial sums.

    A marginal is summed from the smallest partial sum that other marginals need as well.

    >>> tree = MarginalTree.over((2, 3), [(0,), (1,)])
    >>> [marginal.tolist() for marginal in tree.marginals(np.ones((2, 3)))]
    [[3.0, 3.0], [2.0, 2.0, 2.0]]
    """

    shape: tuple[int, ...]
    groups: tuple[Axes, ...]
    root: Branch

    @classmethod
    def over(cls, shape: tuple[int, ...], groups: Sequence[Axes]) -> MarginalTree:
        root = _grow(shape, tuple(range(len(shape))), (), shape, dict(enumerate(groups)))
        return cls(shape=shape, groups=tuple(groups), root=root)

    def marginals(self, tensor: FloatArray) -> list[FloatArray]:
        """One tensor per group, shape = sizes of its axes."""
        found: list[FloatArray] = [tensor] * len(self.groups)
        _collect(self.root, tensor, found)
        return found

    def spread(self, tables: Sequence[FloatArray], onto: FloatArray) -> FloatArray:
        """The transposed product: add every group's table, constant along the other axes, to `onto` in place."""
        for index in self.root.wanted:
            onto += tables[index]
        for branch in self.root.branches:
            onto += self._spread(branch, tables).reshape(branch.layout)
        return onto

    def _spread(self, branch: Branch, tables: Sequence[FloatArray]) -> FloatArray:
        """The sum of the tables below `branch`, a tensor over its axes."""
        if len(branch.wanted) == 1 and not branch.branches:
            return tables[branch.wanted[0]]
        total = np.zeros([self.shape[axis] for axis in branch.axes])
        for index in branch.wanted:
            total += tables[index]
        for below in branch.branches:
            total += self._spread(below, tables).reshape(below.layout)
        return total


def _collect(branch: Branch, tensor: FloatArray, found: list[FloatArray]) -> None:
    for index in branch.wanted:
        found[index] = tensor
    for below in branch.branches:
        _collect(below, np.add.reduce(tensor, axis=below.dropped), found)


def _grow(
    shape: tuple[int, ...], axes: Axes, dropped: Axes, layout: tuple[int, ...], groups: dict[int, Axes]
) -> Branch:
    """Groups that miss an axis go to a branch without it; the axis that most groups miss comes first."""
    wanted = tuple(index for index, group in groups.items() if group == axes)
    left = {index: group for index, group in groups.items() if group != axes}
    branches = []
    while left:
        missing = {axis: [index for index, group in left.items() if axis not in group] for axis in axes}
        axis = max(axes, key=lambda axis: (len(missing[axis]), shape[axis]))
        chosen = {index: left.pop(index) for index in missing[axis]}
        kept = tuple(a for a in axes if any(a in group for group in chosen.values()))
        gone = tuple(position for position, a in enumerate(axes) if a not in kept)
        places = tuple(shape[a] if a in kept else 1 for a in axes)
        branches.append(_grow(shape, kept, gone, places, chosen))
    return Branch(axes=axes, dropped=dropped, layout=layout, wanted=wanted, branches=tuple(branches))


Table = tuple[Axes, FloatArray]
"""Attributes in any order, all within one clique, and logs over them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CliqueState:
    """A clique and its work space.

    Attributes:
        groups: the marginals that are computed: its children's separators, then the requested groups.
        children, requested: indices of these cliques, and of the caller's groups.
        base: fixed logs.
        work: scratch space; after a run, the clique's probabilities.
    """

    clique: Clique
    groups: MarginalTree
    children: tuple[int, ...]
    requested: tuple[int, ...]
    base: FloatArray
    work: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Propagation:
    """Exact inference for p proportional to exp(base + sum of tables), on one tree for all tables.

    Every clique is kept as the conditional distribution of its own attributes given the separator. The upward pass
    normalises in logs, so nothing under- or overflows however large the potentials are, and takes one exponential per
    cell. The downward pass multiplies by the separator's marginal and never divides. A single clique is plain summation
    over the whole domain.

    References:
        Lauritzen and Spiegelhalter 1988.

    >>> tree = JunctionTree.over((2, 2), [(0,), (1,)])
    >>> log_sum, (first,) = Propagation.of(tree, [(0,)]).run([np.log([1.0, 3.0])])
    >>> round(float(np.exp(log_sum)), 6), first.tolist()
    (8.0, [0.25, 0.75])
    """

    tree: JunctionTree
    sites: tuple[CliqueState, ...]
    wanted: int

    @classmethod
    def of(cls, tree: JunctionTree, groups: Sequence[Axes], base: Iterable[Table] = ()) -> Propagation:
        """Every group, and every table of the base, lies within a clique.

        Args:
            groups: what `run` takes tables for and returns marginals of; axes ascending by size, then position.

        Raises:
            ValueError: no clique holds a group.
        """
        cliques_of = [_clique_of(tree, group) for group in groups]
        bases = [np.zeros(tree.sizes(clique)) for clique in tree.cliques]
        for axes, table in base:
            place = _clique_of(tree, axes)
            bases[place] += aligned(table, axes, tree.cliques[place].axes)
        sites = []
        for index, clique in enumerate(tree.cliques):
            children = tuple(child for child, other in enumerate(tree.cliques) if other.parent == index)
            requested = tuple(number for number, home in enumerate(cliques_of) if home == index)
            inside = [*(tree.cliques[child].separator for child in children), *(groups[number] for number in requested)]
            places = [tuple(clique.axes.index(axis) for axis in axes) for axes in inside]
            sites.append(
                CliqueState(
                    clique=clique,
                    groups=MarginalTree.over(tree.sizes(clique), places),
                    children=children,
                    requested=requested,
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
        """Leaves first: each clique becomes a conditional distribution and sends its parent the log of its sum."""
        messages: dict[int, FloatArray] = {}
        mass = 0.0
        for index in range(len(self.sites) - 1, -1, -1):
            site = self.sites[index]
            np.copyto(site.work, site.base)
            received = [messages.pop(child) for child in site.children]
            site.groups.spread([*received, *(tables[number] for number in site.requested)], onto=site.work)
            logs = _normalise(site.work, site.clique)
            if site.clique.parent is None:
                mass += float(logs)
            else:
                messages[index] = logs
        return mass

    def _down(self) -> list[FloatArray]:
        """Parents first: each clique is multiplied by the marginal of its separator."""
        found: list[FloatArray] = [np.empty(0)] * self.wanted
        above: dict[int, FloatArray] = {}
        for index, site in enumerate(self.sites):
            if index in above:
                cells = site.work
                cells *= np.expand_dims(above.pop(index), site.clique.dropped)
            marginals = site.groups.marginals(site.work)
            above.update(zip(site.children, marginals, strict=False))
            found_here = marginals[len(site.children) :]
            for number, marginal in zip(site.requested, found_here, strict=True):
                found[number] = marginal
        return found

    def beliefs(self, tables: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """Every clique's probabilities, read-only copies."""
        self.run(tables)
        copies = tuple(site.work.copy() for site in self.sites)
        for cells in copies:
            cells.flags.writeable = False
        return copies


def _clique_of(tree: JunctionTree, axes: Axes) -> int:
    place = tree.home(axes)
    if place is None:
        raise ValueError(f"no clique holds the attributes {axes}")
    return place


def _normalise(logs: FloatArray, clique: Clique) -> FloatArray:
    """Turn logs, in place, into probabilities with sum 1 over the dropped axes; returns the logs of the sums."""
    dropped = clique.dropped
    tops = logs.max(axis=dropped, keepdims=True)
    logs -= tops
    np.exp(logs, out=logs)
    sums = logs.sum(axis=dropped, keepdims=True)
    logs /= sums
    masses: FloatArray = np.log(sums)
    masses += tops
    return masses.reshape([size for place, size in enumerate(logs.shape) if place not in dropped])


def aligned(table: FloatArray, axes: Axes, target: Axes) -> FloatArray:
    """A view of the table with the target's axes in its order, of length 1 where the table has none.

    >>> aligned(np.ones((2, 3)), (4, 1), (1, 2, 4)).shape
    (3, 1, 2)
    """
    inside = [axis for axis in target if axis in axes]
    ordered = table.transpose([axes.index(axis) for axis in inside])
    return ordered.reshape([table.shape[axes.index(axis)] if axis in axes else 1 for axis in target])
