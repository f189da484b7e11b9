"""Cells: for which declared cells of one column a comparison is true.

A comparison must be decidable from the cell alone. One whose threshold cuts through a bin is refused, with the nearest
edges (which are public), for an answer that guesses would silently be about other people.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpqr.data.attribute import Attribute, Bins, Codes, Labels
from dpqr.io.documents.calendar_cuts import moment
from dpqr.io.documents.cuts import code_bins
from dpqr.io.documents.intervals import remedy, side, single
from dpqr.io.documents.json_text import MAX_DIGITS
from dpqr.io.documents.place import Place, nearest
from dpqr.io.documents.predicate.tree import Comparison, Constant

Mask = NDArray[np.bool_]


def true_cells(comparison: Comparison, attribute: Attribute, place: Place) -> Mask:
    """Shape (declared cells,): where the comparison holds."""
    if isinstance(attribute.axis, Labels):
        return _label_cells(comparison, attribute.name, attribute.axis, place)
    bins = code_bins(attribute.axis.size) if isinstance(attribute.axis, Codes) else attribute.axis
    value = _value(comparison.constant, attribute.name, bins, place)
    if comparison.operator == "=":
        mask = np.zeros(bins.size, dtype=np.bool_)
        mask[_equal_cell(bins, value, attribute.name, place)] = True
        return mask
    strict = comparison.operator in ("<", ">=")
    below = _cells_below(bins, value, attribute.name, place, strict=strict)
    mask = np.arange(bins.size) < below
    return mask if comparison.operator in ("<", "<=") else ~mask


def _label_cells(comparison: Comparison, name: str, labels: Labels, place: Place) -> Mask:
    if comparison.operator != "=":
        raise place.fault(f"column {name!r} holds labels, which have no order; use =, != or in")
    text = comparison.constant.text
    if comparison.constant.kind == "number":
        text = str(_plain_number(comparison.constant, place))
    mask = np.zeros(len(labels.values), dtype=np.bool_)
    try:
        mask[labels.values.index(text)] = True
    except ValueError:
        raise place.fault(f"column {name!r} has no label {text!r}; {nearest(text, labels.values)}") from None
    return mask


def _plain_number(constant: Constant, place: Place) -> Fraction:
    value = Decimal(constant.text)
    if len(constant.text) > 2 * MAX_DIGITS or abs(value.adjusted()) > MAX_DIGITS:
        raise place.fault(f"at character {constant.start}: a number of more than {MAX_DIGITS} digits; shorten it")
    return Fraction(value)


def _value(constant: Constant, name: str, bins: Bins, place: Place) -> Fraction:
    """The constant on the column's own scale."""
    if bins.kind == "number":
        if constant.kind != "number":
            raise place.fault(f"column {name!r} holds numbers; compare it with a number, without quotes")
        return _plain_number(constant, place)
    if constant.kind != "text":
        raise place.fault(f"column {name!r} holds a {bins.kind}; compare it with one in quotes, like '2024-01-31'")
    return moment(constant.text, bins.kind, place)


def _equal_cell(bins: Bins, value: Fraction, name: str, place: Place) -> int:
    """The one bin that holds `value` and nothing else."""
    found = single(bins, value)
    if found is not None:
        return found
    above = side(bins, value, strict=False)
    if above.below == side(bins, value, strict=True).below and not above.cut:
        raise place.fault(f"no cell of column {name!r} holds {bins.mark(value)}; {_extent(bins)}")
    cell = side(bins, value, strict=True).below
    raise place.fault(
        f"{bins.mark(value)} shares the bin {bins.span_title(cell, cell)} of column {name!r} with other values; "
        f"compare by edges: {remedy(bins, cell, strict=True)}"
    )


def _cells_below(bins: Bins, value: Fraction, name: str, place: Place, *, strict: bool) -> int:
    """How many cells lie wholly below `value` (up to it, where not strict); none may lie on both sides."""
    found = side(bins, value, strict=strict)
    if found.cut:
        title = bins.span_title(found.below, found.below)
        advice = remedy(bins, found.below, strict=strict)
        raise place.fault(f"{bins.mark(value)} cuts through the bin {title} of column {name!r}; {advice}")
    return found.below


def _extent(bins: Bins) -> str:
    return f"its cells cover {bins.span_title(0, bins.size - 1)}"
