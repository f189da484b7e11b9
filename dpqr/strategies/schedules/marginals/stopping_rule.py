"""Gap: how far a measurement shows that what had been expected of a block was off.

Finding: what a batch of a search has shown, and whether a search that finds no more should go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.schedules.marginals.dependence_graph import DependenceGraph
from dpqr.strategies.schedules.marginals.expected_error import ExpectedError
from dpqr.strategies.transcript import Round
from dpqr.strategies.updates.local_fit import local_fit
from dpqr.workload.block import QueryBlock

NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""

SPREAD = 1.51
"""Relative deviation of the square of a sum of sizes of noise over one cell, 2 sqrt(pi / 2 - 1): the sum's own is half
of that, and both fall with the root of the number of cells."""

LEAST_PASSED = 0.2
"""Smallest part of a gap that a fit is taken to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What one measurement of a block shows, L1 errors over n.

    moved: how far the fit to that measurement alone moves from what was expected; error: what its noise leaves in the
    block, by forecast; passed: the part of a gap that the fit passes on; chance: how far as many records would be off
    that were drawn from what was expected.
    """

    block: QueryBlock
    moved: float
    error: float
    passed: float
    chance: float

    @property
    def least(self) -> float:
        """Noise taken off as if it never hid a part of the gap: low, and nearly nothing where there is none."""
        return max(0.0, self.moved - NOISE * self.error) / self.passed

    @property
    def squared(self) -> float:
        """Noise taken off in squares: independent of a gap of its size, it adds to it as one leg to the other. (184
        batches of three blocks and more, Adult and made-up tables at epsilon 0.1 to 10: the root of their mean over the
        true gap has the median 1.00, quartiles 0.93 and 1.07; `least` has 0.48.) Below 0 where noise happened to move
        less than it mostly does."""
        return (self.moved**2 - (NOISE * self.error) ** 2) / self.passed**2

    @property
    def spread(self) -> float:
        """Deviation of `squared` where there is no gap."""
        return SPREAD * (NOISE * self.error / self.passed) ** 2 / float(np.sqrt(self.block.rows))


def largest_gap(block: QueryBlock) -> float:
    """The most that a marginal of two columns can be off by, L1 error over n, where they were taken for independent:
    one names the other's values."""
    fewest = min(factor.matrix.rows for factor in block.factors)
    return 2.0 * (1.0 - 1.0 / fewest) if fewest > 1 else 2.0


def shown_gap(drawn: Round, errors: ExpectedError, records: float) -> Gap | None:
    """None: a draw was lost, or nothing had been expected.

    errors: of all blocks, `records` being n as they count it. Gaps are over the records that were expected: the
    hypothesis knows n from more measurements, and where noise is most of what moves, an n that is a tenth too low would
    look like a gap. (500 records, 8 columns: a mean L1 error of 0.71, and of 0.80 over the n of the first ones.)
    """
    if drawn.measurement is None or not drawn.expected:
        return None
    block, deviation = drawn.measurement.blocks[0], drawn.measurement.law.deviation
    expected = np.maximum(drawn.expected[0], 0.0)
    values = np.asarray(drawn.measurement.values[0], dtype=np.float64)
    total = max(1.0, float(expected.sum()))
    moved = float(np.abs(local_fit(expected, values, max(deviation, 1e-6)) - expected).sum())
    error = errors.at(block, deviation) / records
    return Gap(
        block=block,
        moved=moved / total,
        error=error,
        passed=max(LEAST_PASSED, 1.0 - error),
        chance=NOISE * float(np.sqrt(expected).sum()) / total,
    )


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
    def of(cls, gaps: Sequence[Gap], links: DependenceGraph) -> Finding:
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
