"""Reopening: what the first one-way marginals tell, and how exactly they are measured again before a search begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.expected_error import records_told
from dpqr.strategies.schedules.exploration import Exploration
from dpqr.strategies.transcript import Transcript

OPENING = Fraction(1, 10)
"""Share of the budget that one-way marginals get at first."""

OPENING_ERROR = 0.15
"""Where noise leaves more of the records than this in wrong cells of a block, one-way marginals are measured again,
those with most wrong cells most exactly. (Adult, 91 pairs at epsilon 0.1: a mean L1 error of 0.170, and of 0.176 with
equal shares.)"""

LARGEST_OPENING = 0.5


def opening_counts(plan: Plan, transcript: Transcript) -> dict[int, FloatArray]:
    """The opening's noisy one-way marginals; even counts for one that was lost."""
    found: dict[int, FloatArray] = {}
    for (block,), one in zip(plan.opening, transcript.rounds, strict=False):
        if one.measurement is not None:
            found[block.axes[0]] = np.asarray(one.measurement.values[0], dtype=np.float64)
    total = records_told(found)
    for (block,) in plan.opening:
        found.setdefault(block.axes[0], np.full(block.cells, total / block.cells))
    return found


def reopened(known: Exploration) -> list[float]:
    """Further shares of the budget, one for each of `known.singles`, from the error that the first ones left; zeros
    where that is small enough. A function of what was released."""
    loads = Counter(axis for block in known.asked for axis in block.axes)
    weights = [float(loads[block.axes[0]]) for block in known.singles]

    def error(further: Sequence[float]) -> float:
        shares = zip(known.singles, known.spent, further, strict=True)
        each = [known.errors.at(block, known.purse.together(old, new)) for block, old, new in shares]
        return float(np.dot(weights, each)) / len(known.asked) / known.records

    further = [0.0] * len(known.singles)
    if not known.levels or error(further) <= OPENING_ERROR:
        return further
    for share in np.geomspace(float(OPENING), LARGEST_OPENING, 12)[1:]:
        even = known.purse.bought(share / len(weights))
        costs = [load * known.errors.at(block, even) for load, block in zip(weights, known.singles, strict=True)]
        further = known.purse.split(float(share) - float(OPENING), costs, known.spent)
        if error(further) <= OPENING_ERROR:
            break
    return further
