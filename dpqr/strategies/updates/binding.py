"""Binding: how public facts enter a fit. Post-processing of public statements: spends no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.data.facts import PublicFacts
from dpqr.hypotheses.factored.junction_tree import JunctionTree, within
from dpqr.strategies.updates.evidence import Evidence
from dpqr.strategies.updates.propagation import Propagation, Table
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

NEVER = -1e15
"""The log of what cannot be. Finite, so that differences stay numbers; no potential of a fit comes near it, and
exponentials of it are 0 exactly wherever anything else is possible."""

EXACT = 0.05
"""Records: the deviation that a known total counts with. A fit cannot be sharper than it is asked to converge."""


def barred(facts: PublicFacts) -> list[Table]:
    """Logs that shut out the impossible cells."""
    return [(region.axes, np.where(region.cells, NEVER, 0.0)) for region in facts.impossible]


def possible(shape: tuple[int, ...], facts: PublicFacts, limit: int) -> bool | None:
    """Whether some cell is left for a record; None where a model of all impossible regions has over `limit` cells."""
    groups = frozenset(region.axes for region in facts.impossible)
    if not within(shape, groups, limit):
        return None
    tree = JunctionTree.over(shape, groups)
    mass, _ = Propagation.of(tree, [], barred(facts)).run([])
    return mass > NEVER / 2


def totals(facts: PublicFacts, shape: tuple[int, ...]) -> tuple[Evidence, ...]:
    """The known totals as evidence that is as good as exact, those of the same attributes together."""
    told: dict[Axes, list[tuple[FloatArray, float]]] = {}
    for total in facts.totals:
        told.setdefault(total.region.axes, []).append((total.region.cells.reshape(-1), float(total.count)))
    found = []
    for axes, rows in told.items():
        matrix = Dense(np.array([cells for cells, _ in rows]).astype(np.int64))
        sizes = tuple(shape[axis] for axis in axes)
        block = QueryBlock(name="known totals", factors=(Factor(axes=axes, sizes=sizes, matrix=matrix),))
        ordered = tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))
        counts = np.array([count for _, count in rows])
        found.append(Evidence(key=("known", axes), axes=ordered, values=counts, deviation=EXACT, block=block))
    return tuple(found)


def cleared(evidence: Sequence[Evidence], facts: PublicFacts) -> tuple[Evidence, ...]:
    """The evidence with zeros where a marginal's cell is impossible: what was measured there is noise alone."""
    return tuple(_cleared(seen, facts) for seen in evidence)


def _cleared(seen: Evidence, facts: PublicFacts) -> Evidence:
    if seen.block is not None:
        return seen
    values = seen.values
    for region in (known for known in (region.within(seen.axes) for region in facts.impossible) if known):
        shape = [1] * values.ndim
        for place, size in zip(region.axes, region.cells.shape, strict=True):
            shape[place] = size
        values = np.where(region.cells.reshape(shape), 0.0, values)
    return seen if values is seen.values else replace(seen, values=values)
