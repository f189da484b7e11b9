"""Finding: what a batch of a search has shown, and whether a search that finds no more should go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.schedules.gap import Gap
from dpqr.strategies.schedules.links import Links

TELLS = 2.0
"""A batch tells whether blocks are worth it if what it cannot see is at most this many times what measuring leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """least: L1 error over n that the blocks of a batch were off by, at least. real: by how far beyond the noise that
    blocks measured before carry into what was expected of these. blur: what their own noise may have hidden.

    Why that noise comes off: the last measurements mend it, whether these blocks are explored or not. Without that, a
    search along strong links goes on and on, for every further pair looks as far off as the first ones were measured
    coarsely. (A star of 12 columns at epsilon 1 in pure differential privacy: pairs off by 0.33, of which 0.06 stay
    after the last measurements.) But as much as records differ by chance from what they are drawn from is always real.
    """

    least: float
    real: float
    blur: float

    @classmethod
    def of(cls, gaps: Sequence[Gap], links: Links) -> Finding:
        """gaps: one or more; links: what was measured before them."""
        squared, carried, chance, spread = np.mean(
            [(gap.squared, links.carried(gap.block.axes), gap.chance**2, gap.spread) for gap in gaps], axis=0
        )
        return cls(
            least=float(np.mean([gap.least for gap in gaps])),
            real=float(max(squared - carried, min(squared, chance), 0.0)) ** 0.5,
            blur=float(spread) ** 0.5 / len(gaps) ** 0.25,
        )

    def idle(self, before: int, reached: float, price: float) -> int:
        """How many batches in a row, `before` of them before this one, found blocks that were off by less than another
        would cost; one that cannot tell is passed over. L1 errors over n: reached, what measuring leaves in a block;
        price, what a block takes from itself and others."""
        if self.real >= price:
            return 0
        return before + (self.blur <= TELLS * reached)
