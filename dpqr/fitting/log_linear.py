"""Log-linear models base x exp(M^T eta): the dual of a maximum-entropy fit, and its preconditioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.fitting.descent import inner
from dpqr.fitting.evidence import SMALLEST_DEVIATION, Evidence
from dpqr.fitting.propagation import Propagation, Table
from dpqr.hypotheses.factored.junction_tree import JunctionTree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RedundancyPreconditioner:
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
    def of(cls, evidence: Sequence[Evidence], ridge: FloatArray, slots: Sequence[slice]) -> RedundancyPreconditioner:
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
        starts, firsts = np.cumsum(lengths) - lengths, _firsts(dict(sides))
        size, order = np.repeat(lengths, lengths), orders[table]
        offsets = np.array([firsts[axis] for axis, _ in sides], dtype=np.int64) - starts
        value = np.arange(len(table)) + np.repeat(offsets, lengths)
        inverse: FloatArray = inverses[table] * size
        return cls(
            slices=_slices(tables, starts, ridge.size, len(table)),
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


def _firsts(sizes: Mapping[int, int]) -> dict[int, int]:
    """The number of each attribute's first value."""
    ends = np.cumsum(list(sizes.values()))
    return {axis: int(end) - sizes[axis] for axis, end in zip(sizes, ends, strict=True)}


def _slices(
    tables: Sequence[tuple[Evidence, slice]], starts: IntArray, answers: int, none: int
) -> tuple[IntArray, ...]:
    """starts: the first slice of every table's first, second, ... attribute."""
    slices = [np.full(answers, none) for _ in range(max((seen.order for seen, _ in tables), default=0))]
    left = iter(starts)
    for seen, slot in tables:
        for own, cells in zip(slices, np.ix_(*map(np.arange, seen.values.shape)), strict=False):
            own[slot] = np.broadcast_to(next(left) + cells, seen.values.shape).reshape(-1)
    return tuple(slices)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogLinear:
    """One stage of the fit, on a junction tree whose cliques hold the attributes of each evidence.

    The free vector is z = eta / scale with scale = (p + w s / N)^(-1/2), p the measured fraction. The Hessian's
    diagonal is then about 1 in every entry, for rare and common cells alike.

    Attributes:
        slots: where in z each evidence's entries stand.
        deviations, ridge, targets: s / N, w s / N and y / N, shape (answers,).

    >>> seen = Evidence(key=(0,), axes=(0,), values=np.array([75.0, 25.0]), deviation=1.0)
    >>> model = LogLinear.of([seen], JunctionTree.over((2,), [(0,)]), [], 100.0, [1.0])
    >>> model.beliefs(np.zeros(2))[0].tolist()
    [0.5, 0.5]
    """

    evidence: tuple[Evidence, ...]
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
        evidence: Sequence[Evidence],
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
        for slot, known in zip(self.slots, potentials, strict=True):
            if known is not None and known.shape == point[slot].shape:
                point[slot] = known / self.scales[slot]
        return point

    def split(self, point: FloatArray) -> list[FloatArray]:
        """Each evidence's eta, flat, read-only."""
        potentials = point * self.scales
        potentials.flags.writeable = False
        return [potentials[slot] for slot in self.slots]
