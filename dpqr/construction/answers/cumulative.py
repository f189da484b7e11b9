"""Cumulative answers: those of a counter's new node, added to what earlier releases have counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.construction.answers.intervals import ESTIMATE, FACTOR

Blocks = tuple[AnsweredBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What the release before hands on to the next one of the same counter. Public.

    counts: cumulative answers, by level j: up to the last period before the new one whose number is a multiple of
    base^j; nothing at a level where that is 0. Blocks in workload order; their estimates and errors alone count.
    period: of the release before; empty: there is none. sha256: of its record.

    >>> Earlier().counts
    {}
    """

    counts: Mapping[int, Blocks] = field(default_factory=dict)
    period: str = ""
    sha256: str = ""


def added(own: Blocks, earlier: Blocks | None) -> Blocks:
    """Add the answers of a node to those of all periods before it.

    Both are unbiased and their noise is independent, so estimates add up, and so do squared errors. The interval of a
    sum is estimate +- 1.96 errors, an estimated 95%.

    Args:
        own: answers of the rows that this release has read.
        earlier: cumulative answers up to the period before those; None: there is none.

    Returns:
        The sums; `measured` and `deviation` are of no single draw, and NaN.

    Privacy:
        Post-processing.
    """
    before = [None] * len(own) if earlier is None else earlier
    return tuple(_added(one, other) for one, other in zip(own, before, strict=True))


def _added(own: AnsweredBlock, earlier: AnsweredBlock | None) -> AnsweredBlock:
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
