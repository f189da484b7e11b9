"""Constraints: structural zeros and known totals of the domain file, as a fit takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.data.facts import PublicFacts
from dpqr.fitting.evidence import Evidence
from dpqr.fitting.propagation import Propagation, Table
from dpqr.hypotheses.factored.junction_tree import JunctionTree, within
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

LOG_ZERO = -1e15
"""The log of a structural zero. Finite, so that differences stay numbers; its exponential is exactly 0."""

KNOWN_DEVIATION = 0.05
"""Records: the standard deviation that a known total enters the fit with, about its tolerance."""


def structural_zeros(facts: PublicFacts) -> list[Table]:
    """Log potentials that are `LOG_ZERO` on impossible cells and 0 elsewhere.

    >>> from dpqr.data.facts import Region
    >>> region = Region(axes=(0,), cells=np.array([True, False]), text="c0 = 0")
    >>> [(axes, table.tolist()) for axes, table in structural_zeros(PublicFacts(impossible=(region,)))]
    [((0,), [-1000000000000000.0, 0.0])]
    """
    return [(region.axes, np.where(region.cells, LOG_ZERO, 0.0)) for region in facts.impossible]


def possible(shape: tuple[int, ...], facts: PublicFacts, limit: int) -> bool | None:
    """Whether the structural zeros leave a cell for a record.

    Returns:
        None where the junction tree of all impossible regions has more than `limit` cells.
    """
    groups = frozenset(region.axes for region in facts.impossible)
    if not within(shape, groups, limit):
        return None
    tree = JunctionTree.over(shape, groups)
    mass, _ = Propagation.of(tree, [], structural_zeros(facts)).run([])
    return mass > LOG_ZERO / 2


def known_totals(facts: PublicFacts, shape: tuple[int, ...]) -> tuple[Evidence, ...]:
    """Known totals as evidence of deviation `KNOWN_DEVIATION`, those of the same attributes in one block.

    Args:
        shape: cells of each attribute of the domain.
    """
    stated: dict[Axes, list[tuple[FloatArray, float]]] = {}
    for total in facts.totals:
        stated.setdefault(total.region.axes, []).append((total.region.cells.reshape(-1), float(total.count)))
    found = []
    for axes, rows in stated.items():
        matrix = Dense(np.array([cells for cells, _ in rows]).astype(np.int64))
        sizes = tuple(shape[axis] for axis in axes)
        block = QueryBlock(name="known totals", factors=(Factor(axes=axes, sizes=sizes, matrix=matrix),))
        ordered = tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))
        counts = np.array([count for _, count in rows])
        found.append(Evidence(key=("known", axes), axes=ordered, values=counts, deviation=KNOWN_DEVIATION, block=block))
    return tuple(found)


def without_impossible_cells(evidence: Sequence[Evidence], facts: PublicFacts) -> tuple[Evidence, ...]:
    """The evidence with 0 in impossible cells of marginals: what was measured there is noise alone."""
    return tuple(_without_impossible(seen, facts) for seen in evidence)


def _without_impossible(seen: Evidence, facts: PublicFacts) -> Evidence:
    if seen.block is not None:
        return seen
    values = seen.values
    for region in (known for known in (region.within(seen.axes) for region in facts.impossible) if known):
        shape = [1] * values.ndim
        for place, size in zip(region.axes, region.cells.shape, strict=True):
            shape[place] = size
        values = np.where(region.cells.reshape(shape), 0.0, values)
    return seen if values is seen.values else replace(seen, values=values)
