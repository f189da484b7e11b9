"""For which cells a predicate is true.

A comparison must be decidable from the cell alone. One whose threshold cuts through a bin is refused, with the nearest
edges, which are public: an answer that guesses would be about other records.

Truth has three values, as in SQL. An own cell (null, outside, ...) has no value, so a comparison there is neither true
nor false, its negation is not true either, and a record counts only where the whole predicate is true: `race !=
'White'` and `not race = 'White'` both leave the null cell out. `is null` itself is always true or false.
"""

from __future__ import annotations

from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from functools import reduce

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.domain.attribute import Attribute, Bins, Labels
from dpqr.domain.columns import moment, scale_of
from dpqr.domain.domain import Domain
from dpqr.domain.predicates import And, ColumnComparison, Constant, IsFault, Node, Not
from dpqr.domain.text.decoding import Location, nearest
from dpqr.domain.text.documents import MAX_DIGITS
from dpqr.kernel.arrays import Axes


class BinSplit(Struct, frozen=True):
    """Bins against a threshold: the first `below` lie wholly below it; `cut`: the next one lies on both sides."""

    below: int
    cut: bool


def side(bins: Bins, value: Fraction, *, strict: bool) -> BinSplit:
    """Which bins hold only values < `value` (strict) or <= `value`."""

    def reaches_above(cell: int) -> bool:
        high = bins.bounds(cell)[1]
        return high > value or (high == value and strict and _owns_high(bins, cell))

    below = bisect_left(range(bins.size), True, key=reaches_above)
    if below == bins.size:
        return BinSplit(below, False)
    low = bins.bounds(below)[0]
    return BinSplit(below, low < value or (low == value and not strict and _owns_low(bins, below)))


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


def range_end(bins: Bins, value: Fraction, *, upper: bool) -> bool:
    """Whether an end of a range lies before `value` (strict) or after it, by the declared bins.

    Both ends belong where that cuts through no bin. An end that is an edge belongs as the bins' closed side says. One
    that is neither belongs where values are whole, and else as the closed side says.
    """
    for strict in (not upper, upper):
        if not side(bins, value, strict=strict).cut:
            return strict
    return not upper if bins.integral else bins.closed == "left"


Mask = NDArray[np.bool_]


def true_cells(comparison: ColumnComparison, attribute: Attribute, location: Location) -> Mask:
    """Shape (declared cells,): where the comparison holds."""
    name, operator = attribute.name, comparison.operator
    bins = scale_of(attribute.axis)
    if isinstance(bins, Labels):
        return _label_cells(comparison, name, bins, location)
    value = constant_value(comparison.constant, name, bins, location)
    if operator == "=":
        # The one bin that holds `value` and nothing else.
        cell = single(bins, value)
        if cell is None:
            above, below = side(bins, value, strict=False), side(bins, value, strict=True).below
            if above.below == below and not above.cut:
                cover = f"its cells cover {bins.span_title(0, bins.size - 1)}"
                raise location.fault(f"no cell of column {name!r} holds {bins.mark(value)}; {cover}")
            raise location.fault(
                f"{bins.mark(value)} shares the bin {bins.span_title(below, below)} of column {name!r} with other "
                f"values; compare by edges: {remedy(bins, below, strict=True)}"
            )
        equal: Mask = np.arange(bins.size) == cell
        return equal
    # The cells that lie wholly below `value` (up to it, where not strict); none may lie on both sides.
    strict = operator in ("<", ">=")
    found = side(bins, value, strict=strict)
    if found.cut:
        title = bins.span_title(found.below, found.below)
        advice = remedy(bins, found.below, strict=strict)
        if not bins.integral and strict != (bins.closed == "left"):
            signs = "< and >=" if bins.closed == "left" else "<= and >"
            advice = f"{advice}; bins that are closed on the {bins.closed} can be cut for {signs} only"
        raise location.fault(f"{bins.mark(value)} cuts through the bin {title} of column {name!r}; {advice}")
    mask: Mask = np.arange(bins.size) < found.below
    return mask if operator in ("<", "<=") else ~mask


def _label_cells(comparison: ColumnComparison, name: str, labels: Labels, location: Location) -> Mask:
    if comparison.operator != "=" and not labels.ordered:
        raise location.fault(
            f"column {name!r} holds labels, which have no order; use =, != or in, or state categoriesOrdered"
        )
    text = label_text(comparison.constant, location)
    if text not in labels.values:
        raise location.fault(f"column {name!r} has no label {text!r}; {nearest(text, labels.values)}")
    place, cells = labels.values.index(text), np.arange(labels.size)
    if comparison.operator == "=":
        equal: Mask = cells == place
        return equal
    mask: Mask = cells < place + (comparison.operator in ("<=", ">"))
    return mask if comparison.operator in ("<", "<=") else ~mask


def label_text(constant: Constant, location: Location) -> str:
    """The label that a constant names."""
    return str(_plain_number(constant, location)) if constant.kind == "number" else constant.text


def _plain_number(constant: Constant, location: Location) -> Fraction:
    value = Decimal(constant.text)
    if len(constant.text) > 2 * MAX_DIGITS or abs(value.adjusted()) > MAX_DIGITS:
        raise location.fault(f"at character {constant.start}: a number of more than {MAX_DIGITS} digits; shorten it")
    return Fraction(value)


def constant_value(constant: Constant, name: str, bins: Bins, location: Location) -> Fraction:
    """The constant on the column's own scale."""
    if bins.kind == "number":
        if constant.kind != "number":
            raise location.fault(f"column {name!r} holds numbers; compare it with a number, without quotes")
        return _plain_number(constant, location)
    if constant.kind != "text":
        raise location.fault(f"column {name!r} holds a {bins.kind}; compare it with one in quotes, like '2024-01-31'")
    return moment(constant.text, bins.kind, location)


class TruthMasks(Struct, frozen=True):
    """Where a predicate is true and where it is false, each broadcastable to the group's shape; elsewhere unknown."""

    true: Mask
    false: Mask


def evaluate(node: Node, domain: Domain, group: Axes, location: Location) -> TruthMasks:
    """The predicate over the cells of the attributes at `group`, one dimension each, in that order."""
    if isinstance(node, Not):
        inner = evaluate(node.part, domain, group, location)
        return TruthMasks(inner.false, inner.true)
    if not isinstance(node, ColumnComparison | IsFault):
        parts = (evaluate(part, domain, group, location) for part in node.parts)
        if isinstance(node, And):
            return reduce(lambda a, b: TruthMasks(a.true & b.true, a.false | b.false), parts)
        return reduce(lambda a, b: TruthMasks(a.true | b.true, a.false & b.false), parts)
    axis = domain.axis(node.column)
    attribute = domain.attributes[axis]
    true = np.zeros(attribute.size, dtype=np.bool_)
    if isinstance(node, IsFault):
        if node.fault not in attribute.own_cells:
            rule = attribute.rule(node.fault).value
            raise location.fault(
                f"column {node.column!r} has no cell for {node.fault} (its rule is {rule}); "
                f'declare "{node.fault}": "cell" in the domain, or leave this out'
            )
        true[attribute.own_cell(node.fault)] = True
        false = ~true
    else:
        true[: attribute.axis.size] = true_cells(node, attribute, location)
        false = ~true
        false[attribute.axis.size :] = False
    shape = [attribute.size if other == axis else 1 for other in group]
    return TruthMasks(true.reshape(shape), false.reshape(shape))
