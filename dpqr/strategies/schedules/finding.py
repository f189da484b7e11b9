"""Finding: what a batch of a search has shown, and whether a search that finds no more should go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.schedules.gap import Gap
from dpqr.strategies.schedules.links import Links

DROWNED = 0.8
"""Share of the records in wrong cells from which on a measurement tells next to nothing, and a second that shows no gap
is not waited for. (500 records, 8 columns: a mean L1 error of 0.69, and of 0.71 with it.)"""

TELLS = 2.0
"""A batch tells whether blocks are worth it if what it cannot see is at most this many times what measuring leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """least: L1 error over n that the blocks of a batch were off by, at least. real: by how far beyond the noise that
    blocks measured before carry into what was expected of these. blur: what their own noise may have hidden. error:
    what it leaves in them.

    Why that noise comes off: the last measurements mend it, whether these blocks are explored or not. Without that, a
    search along strong links goes on and on, for every further pair looks as far off as the first ones were measured
    coarsely. (A star of 12 columns at epsilon 1 in pure differential privacy: pairs off by 0.33, of which 0.06 stay
    after the last measurements.) But as much as records differ by chance from what they are drawn from is always real.
    """

    least: float
    real: float
    blur: float
    error: float

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
            error=float(np.mean([gap.error for gap in gaps])),
        )

    def idle(self, before: int, reached: float, price: float) -> int:
        """How many batches in a row, `before` of them before this one, found blocks that were off by less than another
        would cost; one that cannot tell is passed over, one that noise drowns counts twice. L1 errors over n: reached,
        what measuring leaves in a block; price, what a block takes from itself and others."""
        if self.real >= price:
            return 0
        if self.blur > TELLS * reached:
            return before
        return before + (2 if self.error > DROWNED else 1)
