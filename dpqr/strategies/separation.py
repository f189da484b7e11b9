"""Separation: ordered columns that no query joins with another column, and all the rest of a workload."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.partition import Merged
from dpqr.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """joined: the problem without the blocks over columns apart. apart: the problem of these blocks alone. Both are
    over the whole domain."""

    joined: Problem
    apart: Problem

    @classmethod
    def of(cls, problem: Problem) -> Separation | None:
        """None where no column stands apart, or no other is asked about; and where public facts bind the cells."""
        workload = problem.workload
        apart = {axis for axis in workload.axes if _stands_apart(axis, problem)}
        if not apart or len(apart) == len(workload.axes) or problem.domain.facts:
            return None
        held = [apart.issuperset(block.axes) and bool(block.axes) for block in workload.blocks]
        joined, others = (
            replace(problem, workload=Workload(_where(workload.blocks, held, wanted))) for wanted in (False, True)
        )
        return cls(joined=joined, apart=others)


def _where(blocks: tuple[QueryBlock, ...], held: list[bool], wanted: bool) -> tuple[QueryBlock, ...]:
    return tuple(block for block, apart in zip(blocks, held, strict=True) if apart is wanted)


def _stands_apart(axis: int, problem: Problem) -> bool:
    """Whether prefixes, ranges or a tree are asked of the column, nothing together with another one, and its cells can
    be merged."""
    blocks = [block for block in problem.workload.blocks if axis in block.axes]
    return (
        TUNING.fewest_cells <= problem.domain.shape[axis] <= TUNING.most_cells
        and all(block.axes == (axis,) for block in blocks)
        and any(_is_ordered(block) for block in blocks)
    )


def _is_ordered(block: QueryBlock) -> bool:
    return any(
        factor.matrix.rows > 1 and not isinstance(factor.matrix, Dense | Identity | Merged) for factor in block.factors
    )
