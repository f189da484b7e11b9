"""Gaps: how far a measurement shows a block to be from its expected answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.fitting.local_fits import local_fit
from dpqr.strategies.schedules.marginals.expected_error import ExpectedError
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock

NOISE = 0.8
"""sqrt(2 / pi): mean size of noise of deviation 1."""

SPREAD = 1.51
"""Relative deviation of the square of a sum of sizes of noise over one cell, 2 sqrt(pi / 2 - 1): the sum's own is half
of that, and both fall with the root of the number of cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What one measurement shows of the gap between a block and its expected answers. All figures are L1 errors over n.

    moved: how far a fit to that measurement alone moves from the expected answers. error: what the noise leaves
    in the block, by forecast. passed: the part of a gap that the fit passes on. chance: sampling variation of as many
    records as were expected.
    """

    block: QueryBlock
    moved: float
    error: float
    passed: float
    chance: float

    @property
    def least(self) -> float:
        """Lower estimate of the gap: noise is subtracted in full, as if it never hid a part of the gap."""
        return max(0.0, self.moved - NOISE * self.error) / self.passed

    @property
    def squared(self) -> float:
        """Estimate of the squared gap: noise is independent of a gap of its size, so their squares add up.

        Below 0 where noise happened to move less than it mostly does.
        """
        return (self.moved**2 - (NOISE * self.error) ** 2) / self.passed**2

    @property
    def spread(self) -> float:
        """Standard deviation of `squared` where there is no gap."""
        return SPREAD * (NOISE * self.error / self.passed) ** 2 / float(np.sqrt(self.block.rows))


def largest_gap(block: QueryBlock) -> float:
    """The largest L1 error over n of two columns that were taken for independent: each determines the other."""
    fewest = min(factor.matrix.rows for factor in block.factors)
    return 2.0 * (1.0 - 1.0 / fewest) if fewest > 1 else 2.0


def shown_gap(drawn: Round, errors: ExpectedError, records: float) -> Gap | None:
    """The gap that a round shows; None: a draw was lost, or nothing was expected.

    Args:
        drawn: the round, with the expected answers to the measured block.
        errors: forecast errors of all blocks.
        records: n, as `errors` was made with.

    The gap is divided by the number of expected records: the hypothesis estimates n from more measurements than the
    first ones, and an error in n would look like a gap.
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
        passed=max(TUNING.least_passed, 1.0 - error),
        chance=NOISE * float(np.sqrt(expected).sum()) / total,
    )
