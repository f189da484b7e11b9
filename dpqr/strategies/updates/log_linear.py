"""LogLinear: distributions base x exp(M^T eta), and the convex function whose minimum is the fit's eta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.factored.junction_tree import JunctionTree
from dpqr.strategies.updates.cancellations import Cancellations
from dpqr.strategies.updates.descent import inner
from dpqr.strategies.updates.evidence import SMALLEST_DEVIATION, Evidence
from dpqr.strategies.updates.propagation import Propagation, Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogLinear:
    """One stage of the fit, on a junction tree whose cliques hold what each evidence looks at.

    The free vector is z = eta / scale with scale = (p + w s / N)^(-1/2), p the measured fraction: the Hessian's
    diagonal is then about 1 in every entry, rare cells and common ones alike, and the descent needs half as many
    steps as in units of the noise.

    deviations, ridge, targets: s / N, w s / N and y / N, one entry a measured answer.
    slots: where in z each evidence's entries stand.
    """

    evidence: tuple[Evidence, ...]
    propagation: Propagation
    slots: tuple[slice, ...]
    deviations: FloatArray
    ridge: FloatArray
    targets: FloatArray
    scales: FloatArray
    cancellations: Cancellations

    @classmethod
    def of(
        cls,
        evidence: Sequence[Evidence],
        tree: JunctionTree,
        base: Sequence[Table],
        total: float,
        leanings: Sequence[float] | Sequence[FloatArray],
    ) -> LogLinear:
        """base: logs over groups of attributes; total: records, more than 0; leanings: w, one an evidence or one
        an entry of it."""
        sizes = [seen.values.size for seen in evidence]
        ends = np.cumsum(sizes)
        deviations = np.repeat([max(seen.deviation, SMALLEST_DEVIATION) / total for seen in evidence], sizes)
        ridge = deviations * np.concatenate([np.full(size, one) for one, size in zip(leanings, sizes, strict=True)])
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
            cancellations=Cancellations.of(evidence, ridge, slots),
        )

    def tolerances(self, deviations: float) -> FloatArray:
        """The gradient's size, entry by entry, at which the fit is exact for answers moved by so many deviations."""
        return deviations * self.deviations * self.scales

    def objective(self, point: FloatArray) -> tuple[float, FloatArray]:
        """The dual's value and its gradient in z."""
        potentials = point * self.scales
        mass, marginals = self.propagation.run(self._told(potentials))
        costs = self.ridge * potentials
        value = mass + inner(0.5 * costs - self.targets, potentials)
        answers = [seen.ask(marginal) for seen, marginal in zip(self.evidence, marginals, strict=True)]
        return value, (np.concatenate(answers) - self.targets + costs) * self.scales

    def inverse(self, vector: FloatArray) -> FloatArray:
        """The inverse Hessian in z, as far as it is known beforehand, times a vector: 1 in every entry, and that of the
        ridge along moves that cancel out."""
        return vector + self.cancellations.eased(vector / self.scales) / self.scales

    def tables(self, point: FloatArray) -> list[Table]:
        """The logs that the potentials add, evidence by evidence."""
        told = self._told(point * self.scales)
        return [(seen.axes, table) for seen, table in zip(self.evidence, told, strict=True)]

    def beliefs(self, point: FloatArray) -> tuple[FloatArray, ...]:
        """Probabilities of every clique, read-only."""
        return self.propagation.beliefs(self._told(point * self.scales))

    def _told(self, potentials: FloatArray) -> list[FloatArray]:
        return [seen.tell(potentials[slot]) for seen, slot in zip(self.evidence, self.slots, strict=True)]

    def joined(self, potentials: Sequence[FloatArray | None]) -> FloatArray:
        """z from each evidence's eta; 0 where there is none yet."""
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
