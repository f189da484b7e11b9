"""Stopping rule of the search: what the measurements of a batch show, and when further batches stop paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.schedules.marginals.dependence_graph import DependenceGraph
from dpqr.strategies.schedules.marginals.gap import Gap
from dpqr.strategies.schedules.marginals.tuning import TUNING


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """Mean gap of a batch, and what may have hidden it. All figures are L1 errors over n.

    least: lower estimate of the gap. real: the gap beyond the error that earlier measurements propagate into these
    blocks. blur: what the measurements' own noise may have hidden. error: what that noise leaves in the blocks.

    The propagated error is subtracted because the last measurements correct it, whether these blocks are explored or
    not. Sampling variation of the records is never subtracted.
    """

    least: float
    real: float
    blur: float
    error: float

    @classmethod
    def of(cls, gaps: Sequence[Gap], graph: DependenceGraph) -> BatchEvidence:
        """What the gaps of one batch show.

        Args:
            gaps: one or more.
            graph: the pairs that were measured before them.
        """
        squared, propagated_error, chance, spread = np.mean(
            [(gap.squared, graph.propagated_error(gap.block.axes), gap.chance**2, gap.spread) for gap in gaps], axis=0
        )
        return cls(
            least=float(np.mean([gap.least for gap in gaps])),
            real=float(max(squared - propagated_error, min(squared, chance), 0.0)) ** 0.5,
            blur=float(spread) ** 0.5 / len(gaps) ** 0.25,
            error=float(np.mean([gap.error for gap in gaps])),
        )

    def unimproved(self, before: int, reached: float, price: float) -> int:
        """Batches in a row without improvement, `before` of them before this one.

        A batch improves nothing if its gap is below `price`. One that noise does not let decide is not counted; one
        whose measurement is mostly noise counts twice.

        Args:
            before: batches without improvement before this one.
            reached: final error of a block, L1 over n.
            price: error that a further block adds to its own and to the others' final measurements, L1 over n.
        """
        if self.real >= price:
            return 0
        if self.blur > TUNING.resolved * reached:
            return before
        return before + (2 if self.error > TUNING.noisy_error else 1)
