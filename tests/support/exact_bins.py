"""Bins, and the place of a value among them by exact rational arithmetic."""

from fractions import Fraction

from hypothesis import strategies as st

from dpqr.domain.attribute import Bins

SIDES = st.sampled_from(["left", "right"])
FINE = st.fractions(min_value=-300, max_value=300, max_denominator=8)


def bins_of(edges, closed="left") -> Bins:
    return Bins(edges=tuple(sorted(set(map(Fraction, edges)))), closed=closed)


def place(value: Fraction, bins: Bins) -> int:
    """-1 below the first edge, bins.size above the last, else the bin, by the definition of the closed side."""
    if value < bins.edges[0]:
        return -1
    if value > bins.edges[-1]:
        return bins.size
    inner = bins.edges[1:-1]
    return sum(value >= edge if bins.closed == "left" else value > edge for edge in inner)
