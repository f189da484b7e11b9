"""Separation: ordered columns that no query joins with another column."""

from __future__ import annotations

from dpqr.data.arrays import Axes
from dpqr.data.domain import Domain
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.partition import Merged
from dpqr.workload.workload import Workload

CELLS = range(8, 2**18 + 1)
"""Of a column that stands apart: those that the schedule `ordered` merges."""


def columns_apart(workload: Workload, domain: Domain) -> Axes:
    """The columns that prefixes, ranges or trees are asked of, and nothing together with another column.

    Returns:
        Attributes, ascending. None where no other column is asked about, or where public facts bind the cells.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Prefix
    >>> domain = Domain((Attribute(name="sex", axis=Codes(2)), Attribute(name="age", axis=Codes(99))))
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> ages = QueryBlock(name="ages", factors=(Factor(axes=(1,), sizes=(99,), matrix=Prefix(99)),))
    >>> columns_apart(Workload((sex, ages)), domain)
    (1,)
    """
    if domain.facts:
        return ()
    joined = {axis for block in workload.blocks if len(block.axes) > 1 for axis in block.axes}
    ordered = {axis for block in workload.blocks if _is_ordered(block) for axis in block.axes}
    apart = tuple(sorted(axis for axis in ordered - joined if domain.shape[axis] in CELLS))
    return apart if len(apart) < len(workload.axes) else ()


def _is_ordered(block: QueryBlock) -> bool:
    return any(
        factor.matrix.rows > 1 and not isinstance(factor.matrix, Dense | Identity | Merged) for factor in block.factors
    )
