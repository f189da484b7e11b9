"""Log-linear models base x exp(M^T eta): the dual of a maximum-entropy fit, and its preconditioner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.models.fit.descent import inner
from dpqr.models.fit.evidence import SMALLEST_DEVIATION, LinearMeasurement
from dpqr.models.junction_tree import Clique, JunctionTree


class RedundancyPreconditioner(Struct, frozen=True, kw_only=True, eq=False):
    """Inverse of the ridge along moves of the potentials that leave the distribution unchanged.

    Such moves are constants, and what one table adds along a single attribute and the others that hold it take away.
    Only the ridge r of the dual's Hessian is left along them, far less than its diagonal p + r in cells of many
    records, so a descent that knows the diagonal alone converges slowly there.

    Where r is even in each table, a constant and one centred vector per attribute are orthogonal in it, and the inverse
    of the quadratic on all such moves has a closed form; elsewhere its mean stands for it. What tables share of pairs
    of attributes has no such form and is left to the descent.

    A slice is all cells of a table that hold one value of one of its attributes.

    Attributes:
        slices: for the first, second, ... attribute of the tables, the slice of every answer; one past the last for
            none.
        table, value: of every slice its table, and its value, counted through all attributes.
        size, order: number of values of its attribute, and number of attributes of its table.
        inverse: 1 / (r times the cells of the slice).
        together: its sum over the slices of a value.
    """

    slices: tuple[IntArray, ...]
    table: IntArray
    value: IntArray
    size: IntArray
    order: IntArray
    inverse: FloatArray
    together: FloatArray

    @classmethod
    def of(
        cls, evidence: Sequence[LinearMeasurement], ridge: FloatArray, slots: Sequence[slice]
    ) -> RedundancyPreconditioner:
        """For the marginals among the evidence.

        Args:
            ridge: r, one per answer, more than 0.
            slots: positions of each evidence's answers.
        """
        tables = [(seen, slot) for seen, slot in zip(evidence, slots, strict=True) if seen.block is None]
        sides = [side for seen, _ in tables for side in zip(seen.axes, seen.values.shape, strict=True)]
        lengths = np.array([size for _, size in sides], dtype=np.int64)
        orders = np.array([seen.order for seen, _ in tables], dtype=np.int64)
        inverses = np.array([1.0 / float(ridge[slot].sum()) for _, slot in tables], dtype=np.float64)
        table = np.repeat(np.repeat(np.arange(len(tables)), orders), lengths)
        starts = np.cumsum(lengths) - lengths
        # The number of each attribute's first value, counted through all attributes.
        sizes = dict(sides)
        ends = np.cumsum(list(sizes.values()))
        firsts = {axis: int(end) - sizes[axis] for axis, end in zip(sizes, ends, strict=True)}
        size, order = np.repeat(lengths, lengths), orders[table]
        offsets = np.array([firsts[axis] for axis, _ in sides], dtype=np.int64) - starts
        value = np.arange(len(table)) + np.repeat(offsets, lengths)
        inverse: FloatArray = inverses[table] * size
        # starts: the first slice of every table's first, second, ... attribute.
        none = len(table)
        slices = [np.full(ridge.size, none) for _ in range(max((seen.order for seen, _ in tables), default=0))]
        left = iter(starts)
        for seen, slot in tables:
            for own, cells in zip(slices, np.ix_(*map(np.arange, seen.values.shape)), strict=False):
                own[slot] = np.broadcast_to(next(left) + cells, seen.values.shape).reshape(-1)
        return cls(
            slices=tuple(slices),
            table=table,
            value=value,
            size=size,
            order=order,
            inverse=inverse,
            together=np.bincount(value, inverse).astype(np.float64),
        )

    def apply(self, slopes: FloatArray) -> FloatArray:
        """The inverse of the ridge on these moves, times slopes; shape (answers,)."""
        count = self.inverse.size
        sums = np.zeros(count + 1)
        for own in self.slices:
            sums += np.bincount(own, slopes, count + 1)
        even = np.bincount(self.table, sums[:-1] / self.order)[self.table] / self.size
        apart = sums[:-1] - even
        common = np.bincount(self.value, self.inverse * apart) / self.together
        sums[:-1] = self.inverse * (apart - common[self.value] + even / self.order)
        sums[-1] = 0.0
        moves = np.zeros_like(slopes)
        for own in self.slices:
            moves += sums[own]
        return moves


class LogLinear(Struct, frozen=True, kw_only=True, eq=False):
    """One stage of the fit, on a junction tree whose cliques hold the attributes of each evidence.

    The free vector is z = eta / scale with scale = (p + w s / N)^(-1/2), p the measured fraction. The Hessian's
    diagonal is then about 1 in every entry, for rare and common cells alike.

    Attributes:
        slots: where in z each evidence's entries stand.
        deviations, ridge, targets: s / N, w s / N and y / N, shape (answers,).

    >>> seen = LinearMeasurement(key=(0,), axes=(0,), values=np.array([75.0, 25.0]), deviation=1.0)
    >>> model = LogLinear.of([seen], JunctionTree.over((2,), [(0,)]), [], 100.0, [1.0])
    >>> model.beliefs(np.zeros(2))[0].tolist()
    [0.5, 0.5]
    """

    evidence: tuple[LinearMeasurement, ...]
    propagation: Propagation
    slots: tuple[slice, ...]
    deviations: FloatArray
    ridge: FloatArray
    targets: FloatArray
    scales: FloatArray
    preconditioner: RedundancyPreconditioner

    @classmethod
    def of(
        cls,
        evidence: Sequence[LinearMeasurement],
        tree: JunctionTree,
        base: Sequence[Table],
        total: float,
        strengths: Sequence[float] | Sequence[FloatArray],
    ) -> LogLinear:
        """The model at potentials 0.

        Args:
            base: logs over groups of attributes.
            total: N, records, more than 0.
            strengths: w, one per evidence or one per entry of it.
        """
        sizes = [seen.values.size for seen in evidence]
        ends = np.cumsum(sizes)
        deviations = np.repeat([max(seen.deviation, SMALLEST_DEVIATION) / total for seen in evidence], sizes)
        ridge = deviations * np.concatenate([np.full(size, one) for one, size in zip(strengths, sizes, strict=True)])
        targets = np.concatenate([seen.values.reshape(-1) for seen in evidence]) / total
        slots = tuple(slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True))
        return cls(
            evidence=tuple(evidence),
            propagation=Propagation.of(tree, [seen.axes for seen in evidence], base),
            slots=slots,
            deviations=deviations,
            ridge=ridge,
            targets=targets,
            scales=1.0 / np.sqrt(np.clip(targets, 0.0, 1.0) + ridge),
            preconditioner=RedundancyPreconditioner.of(evidence, ridge, slots),
        )

    def tolerances(self, deviations: float) -> FloatArray:
        """The gradient, entry by entry, at which the fit is exact for answers moved by that many deviations."""
        return deviations * self.deviations * self.scales

    def objective(self, point: FloatArray) -> tuple[float, FloatArray]:
        """The dual's value and its gradient in z."""
        potentials = point * self.scales
        mass, marginals = self.propagation.run(self._log_tables(potentials))
        costs = self.ridge * potentials
        value = mass + inner(0.5 * costs - self.targets, potentials)
        answers = [seen.apply(marginal) for seen, marginal in zip(self.evidence, marginals, strict=True)]
        return value, (np.concatenate(answers) - self.targets + costs) * self.scales

    def inverse(self, vector: FloatArray) -> FloatArray:
        """An estimate of the inverse Hessian in z, times a vector: the identity, plus the ridge's on redundant
        moves."""
        return vector + self.preconditioner.apply(vector / self.scales) / self.scales

    def tables(self, point: FloatArray) -> list[Table]:
        """The logs that the potentials add, evidence by evidence."""
        tables = self._log_tables(point * self.scales)
        return [(seen.axes, table) for seen, table in zip(self.evidence, tables, strict=True)]

    def beliefs(self, point: FloatArray) -> tuple[FloatArray, ...]:
        """Every clique's probabilities, read-only."""
        return self.propagation.beliefs(self._log_tables(point * self.scales))

    def _log_tables(self, potentials: FloatArray) -> list[FloatArray]:
        return [seen.adjoint(potentials[slot]) for seen, slot in zip(self.evidence, self.slots, strict=True)]

    def joined(self, potentials: Sequence[FloatArray | None]) -> FloatArray:
        """z from each evidence's eta; 0 where there is none."""
        point = np.zeros(self.targets.size)
        for slot, own in zip(self.slots, potentials, strict=True):
            if own is not None and own.shape == point[slot].shape:
                point[slot] = own / self.scales[slot]
        return point

    def split(self, point: FloatArray) -> list[FloatArray]:
        """Each evidence's eta, flat, read-only."""
        potentials = point * self.scales
        potentials.flags.writeable = False
        return [potentials[slot] for slot in self.slots]


# Belief propagation: the normaliser and the marginals of a log-linear model on a junction tree.


class Branch(Struct, frozen=True, kw_only=True):
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


class MarginalTree(Struct, frozen=True, kw_only=True):
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
        tables: list[FloatArray] = [tensor] * len(self.groups)
        _collect(self.root, tensor, tables)
        return tables

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


def _collect(branch: Branch, tensor: FloatArray, tables: list[FloatArray]) -> None:
    for index in branch.wanted:
        tables[index] = tensor
    for below in branch.branches:
        _collect(below, np.add.reduce(tensor, axis=below.dropped), tables)


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
        axes_below = tuple(a for a in axes if any(a in group for group in chosen.values()))
        gone = tuple(position for position, a in enumerate(axes) if a not in axes_below)
        places = tuple(shape[a] if a in axes_below else 1 for a in axes)
        branches.append(_grow(shape, axes_below, gone, places, chosen))
    return Branch(axes=axes, dropped=dropped, layout=layout, wanted=wanted, branches=tuple(branches))


Table = tuple[Axes, FloatArray]
"""Attributes in any order, all within one clique, and logs over them."""

LOG_ZERO = -1e15
"""The log of a structural zero. Finite, so that differences stay numbers; its exponential is exactly 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CliqueState:
    """A clique and its work space.

    Attributes:
        groups: the marginals that are computed: its children's separators, then the requested groups.
        children, requested: indices of these cliques, and of the caller's groups.
        dropped: positions of the clique's axes outside its separator.
        base: fixed logs.
        work: scratch space; after a run, the clique's probabilities.
    """

    clique: Clique
    groups: MarginalTree
    children: tuple[int, ...]
    requested: tuple[int, ...]
    dropped: tuple[int, ...]
    base: FloatArray
    work: FloatArray = field(repr=False)


class Propagation(Struct, frozen=True, kw_only=True, eq=False):
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
        requested: list[list[int]] = [[] for _ in tree.cliques]
        for number, group in enumerate(groups):
            requested[_clique_of(tree, group)].append(number)
        children: list[list[int]] = [[] for _ in tree.cliques]
        for index, clique in enumerate(tree.cliques):
            if clique.parent is not None:
                children[clique.parent].append(index)
        bases = [np.zeros(tree.sizes(clique)) for clique in tree.cliques]
        for axes, table in base:
            place = _clique_of(tree, axes)
            bases[place] += align_axes(table, axes, tree.cliques[place].axes)
        sites = []
        for index, clique in enumerate(tree.cliques):
            below = [tree.cliques[child].separator for child in children[index]]
            inside = [*below, *(groups[number] for number in requested[index])]
            places = [tuple(clique.axes.index(axis) for axis in axes) for axes in inside]
            sites.append(
                CliqueState(
                    clique=clique,
                    groups=MarginalTree.over(tree.sizes(clique), places),
                    children=tuple(children[index]),
                    requested=tuple(requested[index]),
                    dropped=clique.dropped,
                    base=bases[index],
                    work=np.empty(tree.sizes(clique)),
                )
            )
        return cls(tree=tree, sites=tuple(sites), wanted=len(groups))

    def run(self, tables: Sequence[FloatArray]) -> tuple[float, list[FloatArray]]:
        """log sum exp(base + tables), and every group's marginal probabilities.

        The marginals may be views of work space: the next run overwrites them.
        """
        # Leaves first: each clique becomes a conditional distribution, with sum 1 over its dropped axes, and sends its
        # parent the logs of the sums.
        messages: dict[int, FloatArray] = {}
        mass = 0.0
        for index in range(len(self.sites) - 1, -1, -1):
            site = self.sites[index]
            np.copyto(site.work, site.base)
            received = [messages.pop(child) for child in site.children]
            site.groups.spread([*received, *(tables[number] for number in site.requested)], onto=site.work)
            cells, dropped = site.work, site.dropped
            tops = cells.max(axis=dropped, keepdims=True)
            cells -= tops
            np.exp(cells, out=cells)
            sums = cells.sum(axis=dropped, keepdims=True)
            cells /= sums
            logs: FloatArray = np.log(sums)
            logs += tops
            logs = logs.reshape([size for place, size in enumerate(logs.shape) if place not in dropped])
            if site.clique.parent is None:
                mass += float(logs)
            else:
                messages[index] = logs
        # Parents first: each clique is multiplied by the marginal of its separator.
        group_marginals: list[FloatArray] = [np.empty(0)] * self.wanted
        above: dict[int, FloatArray] = {}
        for index, site in enumerate(self.sites):
            if index in above:
                cells = site.work
                cells *= np.expand_dims(above.pop(index), site.dropped)
            marginals = site.groups.marginals(site.work)
            above.update(zip(site.children, marginals, strict=False))
            found_here = marginals[len(site.children) :]
            for number, marginal in zip(site.requested, found_here, strict=True):
                group_marginals[number] = marginal
        return mass, group_marginals

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


def align_axes(table: FloatArray, axes: Axes, target: Axes) -> FloatArray:
    """A view of the table with the target's axes in its order, of length 1 where the table has none.

    >>> align_axes(np.ones((2, 3)), (4, 1), (1, 2, 4)).shape
    (3, 1, 2)
    """
    inside = [axis for axis in target if axis in axes]
    ordered = table.transpose([axes.index(axis) for axis in inside])
    return ordered.reshape([table.shape[axes.index(axis)] if axis in axes else 1 for axis in target])
