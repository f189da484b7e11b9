"""Finding: what a batch of a search has shown, and whether a search that finds no more should go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.schedules.gap import Gap
from dpqr.strategies.schedules.links import Links

KNOWN = 0.25
"""Carried noise is known to this part of itself."""

WORTH = 1.2
"""A further block must be off by this many times the error that measuring leaves."""

TELLS = 2.5
"""A batch tells whether blocks are worth it if what it cannot see is at most this many times that error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """least: L1 error over n that the blocks of a batch were off by, at least. real: by how far beyond the noise that
    blocks measured before carry into what was expected of these. blur: a real error that it may not have seen.

    Why the noise comes off: the last measurements mend it, whether these blocks are explored or not. Without that, a
    search along strong links goes on and on, for every further pair looks as far off as the first ones were measured
    coarsely. (A star of 12 columns at epsilon 1 in pure differential privacy: pairs off by 0.33, of which 0.06 stay
    after the last measurements.)
    """

    least: float
    real: float
    blur: float

    @classmethod
    def of(cls, gaps: Sequence[Gap], links: Links) -> Finding:
        """gaps: one or more; links: what was measured before them."""
        carried = float(np.mean([links.carried(gap.block.axes) for gap in gaps]))
        real = float(np.mean([gap.squared for gap in gaps])) - carried
        spread = float(np.mean([gap.spread for gap in gaps])) / len(gaps) ** 0.5
        return cls(
            least=float(np.mean([gap.least for gap in gaps])),
            real=max(real, 0.0) ** 0.5,
            blur=(spread + KNOWN**2 * carried) ** 0.5,
        )

    def idle(self, before: int, reached: float) -> int:
        """How many batches in a row, `before` of them before this one, found nothing that is worth measuring; one that
        cannot tell is passed over. reached: the error that measuring leaves."""
        if self.real >= WORTH * reached:
            return 0
        return before + (self.blur <= TELLS * reached)
