"""Cumulative answers: those of a counter's new node, added to the cumulative answers of an earlier release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpqr.construction.answered import AnsweredBlock
from dpqr.construction.intervals import ESTIMATE, FACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The cumulative answers of an earlier release of the same counter. Public.

    blocks: in workload order. period: up to and including which they count. sha256: of that release's record.
    """

    blocks: tuple[AnsweredBlock, ...]
    period: str
    sha256: str


def cumulative(own: AnsweredBlock, earlier: AnsweredBlock | None) -> AnsweredBlock:
    """Add the answers of a node to those of all periods before it.

    Both are unbiased and their noise is independent, so estimates add up, and so do squared errors. The interval of a
    sum is estimate +- 1.96 errors, an estimated 95%.

    Args:
        own: answers of the rows that this release has read.
        earlier: cumulative answers up to the period before those; None: there is none.

    Returns:
        The sum, with errors; `measured` and `deviation` are of no single draw, and NaN.

    Privacy:
        Post-processing.
    """
    none = np.full(own.rows, np.nan)
    alone = replace(own, error=own.precision, measured=none, deviation=none)
    if earlier is None:
        return alone
    estimate, error = own.estimate + earlier.estimate, np.hypot(own.precision, earlier.error)
    return replace(
        alone,
        estimate=estimate,
        error=error,
        lower=estimate - FACTOR * error,
        upper=estimate + FACTOR * error,
        basis=np.full(own.rows, ESTIMATE, dtype=np.int8),
    )


def all_cumulative(own: Sequence[AnsweredBlock], earlier: Earlier | None) -> tuple[AnsweredBlock, ...]:
    """Return the same of every block."""
    before = [None] * len(own) if earlier is None else earlier.blocks
    return tuple(cumulative(one, other) for one, other in zip(own, before, strict=True))
