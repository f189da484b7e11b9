"""Intervals: on which side of a threshold the bins of a column lie, and what to write where one lies on both."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from dpqr.data.attribute import Bins


@dataclass(frozen=True, slots=True)
class Side:
    """Bins against a threshold: the first `below` lie wholly below it; `cut`: the next one lies on both sides."""

    below: int
    cut: bool


def side(bins: Bins, value: Fraction, *, strict: bool) -> Side:
    """Which bins hold only values < `value` (strict) or <= `value`."""
    below = bisect_left(range(bins.size), True, key=lambda cell: not _wholly_below(bins, cell, value, strict))
    return Side(below, below < bins.size and _reaches_below(bins, below, value, strict))


def single(bins: Bins, value: Fraction) -> int | None:
    """The bin that holds `value` and nothing else."""
    below = side(bins, value, strict=True).below
    return below if below < bins.size and bins.bounds(below) == (value, value) else None


def remedy(bins: Bins, cell: int, *, strict: bool) -> str:
    """Comparisons around bin `cell` that cut through no bin."""
    low, high = edges_around(bins, cell, strict=strict)
    below, up_to = "< or >=", "<= or >"
    if bins.integral:
        return f"with {below if strict else up_to} the nearest edges are {low} and {high}"
    at_low = below if _owns_low(bins, cell) else up_to
    at_high = up_to if _owns_high(bins, cell) else below
    if at_low == at_high:
        return f"with {at_low} the nearest edges are {low} and {high}"
    return f"the nearest edges are {low} (with {at_low}) and {high} (with {at_high})"


def edges_around(bins: Bins, cell: int, *, strict: bool) -> tuple[str, str]:
    """The thresholds on both sides of bin `cell`; of whole values those for < and >=, or else for <= and >."""
    low, high = bins.edges[cell], bins.edges[cell + 1]
    if bins.integral:
        first, last = bins.bounds(cell)
        low, high = (first, last + 1) if strict else (first - 1, last)
    return bins.mark(low), bins.mark(high)


def _owns_low(bins: Bins, cell: int) -> bool:
    return bins.integral or bins.closed == "left" or cell == 0


def _owns_high(bins: Bins, cell: int) -> bool:
    return bins.integral or bins.closed == "right" or cell == bins.size - 1


def _wholly_below(bins: Bins, cell: int, value: Fraction, strict: bool) -> bool:
    high = bins.bounds(cell)[1]
    return high < value or (high == value and not (strict and _owns_high(bins, cell)))


def _reaches_below(bins: Bins, cell: int, value: Fraction, strict: bool) -> bool:
    low = bins.bounds(cell)[0]
    return low < value or (low == value and not strict and _owns_low(bins, cell))
