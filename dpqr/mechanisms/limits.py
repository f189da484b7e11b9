"""Limits: public bounds that keep every private sum inside int64, checked before any data is opened.

Why: a sum that wraps around moves by 2^64 where its sensitivity says 1, and a check on the real sum would be a
release. So the bound is on what any table of at most `records` records could answer.
"""

from __future__ import annotations

from fractions import Fraction

from dpqr.errors import InfeasiblePlan
from dpqr.workload.block import QueryBlock

RECORDS = 2**36
"""Declared cap on the number of records; loaders refuse more."""

CEILING = 2**62
"""No answer and no score may reach it, so that the difference of any two still fits into int64."""


def largest_answer(block: QueryBlock, records: int) -> int:
    """Bound on |answer| of one query: sum of count times |coefficient| <= records times the largest coefficient."""
    return records * block.largest_coefficient


def refuse_beyond(bound: int | Fraction, name: str, records: int) -> None:
    """InfeasiblePlan if a figure about the block `name` could reach CEILING."""
    if bound >= CEILING:
        raise InfeasiblePlan(
            f"query {name!r}: its exact integers could reach 2^62 on {records} records; "
            "round its coefficients to a coarser grid"
        )


def refuse_noise(parameter: Fraction, largest: int, words: str, smallest: Fraction = Fraction(0)) -> None:
    """InfeasiblePlan unless 0 < parameter and smallest <= parameter <= largest, the range of the exact sampler."""
    if not 0 < parameter <= largest or parameter < smallest:
        span = f"[{float(smallest):.3g}, {largest:.3g}]" if smallest else f"(0, {largest:.3g}]"
        raise InfeasiblePlan(
            f"the noise would need {words} {float(parameter):.3g} grid units, and {span} is possible; "
            "raise --eps or round the coefficients to a coarser grid"
        )
