"""LogLinear: distributions base x exp(M^T eta), and the convex function whose minimum is the fit's eta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.strategies.updates.evidence import Evidence
from dpqr.strategies.updates.marginal_tree import MarginalTree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogLinear:
    """One stage of the fit, on the attributes of a frame.

    The free vector is z = eta s / N, every entry's potential times its deviation s / N as a fraction of the records:
    then the gradient counts deviations, so one tolerance serves all entries and all noise scales.

    deviations, ridge, targets: s / N, w s / N and y / N, one entry a measured answer.
    slots: where in z each evidence's entries stand. base: logs, the frame's shape.
    """

    evidence: tuple[Evidence, ...]
    tree: MarginalTree
    base: FloatArray
    slots: tuple[slice, ...]
    deviations: FloatArray
    ridge: FloatArray
    targets: FloatArray
    _cells: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls, evidence: Sequence[Evidence], frame: Axes, base: FloatArray, total: float, leanings: Sequence[float]
    ) -> LogLinear:
        groups = [tuple(frame.index(axis) for axis in seen.axes) for seen in evidence]
        sizes = [seen.values.size for seen in evidence]
        ends = np.cumsum(sizes)
        deviations = np.repeat([seen.deviation / total for seen in evidence], sizes)
        return cls(
            evidence=tuple(evidence),
            tree=MarginalTree.over(base.shape, groups),
            base=base,
            slots=tuple(slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)),
            deviations=deviations,
            ridge=deviations * np.repeat(leanings, sizes),
            targets=np.concatenate([seen.values.reshape(-1) for seen in evidence]) / total,
            _cells=np.empty(base.shape),
        )

    def objective(self, point: FloatArray) -> tuple[float, FloatArray]:
        """The dual's value and its gradient in z (residuals in deviations)."""
        potentials = point / self.deviations
        cells = self._spread(potentials)
        top = cells.max()
        cells -= top
        np.exp(cells, out=cells)
        mass = float(cells.sum())
        cells /= mass
        costs = self.ridge * potentials
        value = float(top) + float(np.log(mass)) + float((0.5 * costs - self.targets) @ potentials)
        marginals = self.tree.marginals(cells)
        answers = [seen.ask(marginal) for seen, marginal in zip(self.evidence, marginals, strict=True)]
        return value, (np.concatenate(answers) - self.targets + costs) / self.deviations

    def logs(self, point: FloatArray) -> FloatArray:
        """Log probabilities up to a constant, the frame's shape."""
        return self._spread(point / self.deviations).copy()

    def _spread(self, potentials: FloatArray) -> FloatArray:
        """base + M^T eta in the stage's own work space."""
        np.copyto(self._cells, self.base)
        tables = [seen.tell(potentials[slot]) for seen, slot in zip(self.evidence, self.slots, strict=True)]
        return self.tree.spread(tables, onto=self._cells)

    def joined(self, potentials: Sequence[FloatArray | None]) -> FloatArray:
        """z from each evidence's eta; 0 where there is none yet."""
        point = np.zeros(self.targets.size)
        for slot, known in zip(self.slots, potentials, strict=True):
            if known is not None and known.shape == point[slot].shape:
                point[slot] = known * self.deviations[slot]
        return point

    def split(self, point: FloatArray) -> list[FloatArray]:
        """Each evidence's eta, flat, read-only."""
        potentials = point / self.deviations
        potentials.flags.writeable = False
        return [potentials[slot] for slot in self.slots]
