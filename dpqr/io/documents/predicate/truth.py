"""Truth: a predicate over the cells of its columns, in three values as in SQL.

An own cell (null, outside, ...) has no value, so a comparison there is neither true nor false, its negation is not
true either, and a record counts only where the whole predicate is true: `race != 'White'` and `not race = 'White'`
both leave the null cell out. `is null` itself is always true or false.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from dpqr.data.arrays import Axes
from dpqr.data.domain import Domain
from dpqr.io.documents.place import Place
from dpqr.io.documents.predicate.cells import Mask, true_cells
from dpqr.io.documents.predicate.tree import And, Comparison, IsFault, Node, Not


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a predicate is true and where it is false, each broadcastable to the group's shape; elsewhere unknown."""

    true: Mask
    false: Mask


def evaluate(node: Node, domain: Domain, group: Axes, place: Place) -> Truth:
    """The predicate over the cells of the attributes at `group`, one dimension each, in that order."""
    if isinstance(node, Comparison | IsFault):
        return _leaf(node, domain, group, place)
    if isinstance(node, Not):
        inner = evaluate(node.part, domain, group, place)
        return Truth(inner.false, inner.true)
    parts = (evaluate(part, domain, group, place) for part in node.parts)
    if isinstance(node, And):
        return reduce(lambda a, b: Truth(a.true & b.true, a.false | b.false), parts)
    return reduce(lambda a, b: Truth(a.true | b.true, a.false & b.false), parts)


def _leaf(node: Comparison | IsFault, domain: Domain, group: Axes, place: Place) -> Truth:
    axis = domain.axis(node.column)
    attribute = domain.attributes[axis]
    true = np.zeros(attribute.size, dtype=np.bool_)
    if isinstance(node, IsFault):
        if node.fault not in attribute.own_cells:
            rule = attribute.rule(node.fault).value
            raise place.fault(
                f"column {node.column!r} has no cell for {node.fault} (its rule is {rule}); "
                f'declare "{node.fault}": "cell" in the domain, or leave this out'
            )
        true[attribute.own_cell(node.fault)] = True
        false = ~true
    else:
        true[: attribute.axis.size] = true_cells(node, attribute, place)
        false = ~true
        false[attribute.axis.size :] = False
    shape = [attribute.size if other == axis else 1 for other in group]
    return Truth(true.reshape(shape), false.reshape(shape))
