"""Kronecker designs: one strategy per attribute, each tuned to the error that the others leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.strategies.designs.gram import AxisQueries, importance
from dpqr.strategies.designs.hierarchy import hierarchy
from dpqr.strategies.designs.levels import balanced, levels_tree, nested_levels
from dpqr.strategies.designs.p_identity import TUNING, p_identity
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.partition import Merged, groups_of
from dpqr.workload.ranges import everything
from dpqr.workload.recovery import query_variances, recoverable, strategy_block
from dpqr.workload.sensitivity import Norm

BITS = 21
"""Bits of the product of all attributes' integer columns, at most: true answers stay far below 2^62."""

SWEEPS = 3
"""Passes over the attributes; none raises the expected error."""

IDENTITY, LEVELS, HIERARCHY, P_IDENTITY = "identity", "levels", "hierarchy", "p-identity"
KINDS = (IDENTITY, LEVELS, HIERARCHY, P_IDENTITY)

_MAKERS: dict[str, Callable[[AxisQueries, Norm, int], IntMatrix]] = {
    LEVELS: levels_tree,
    HIERARCHY: hierarchy,
    P_IDENTITY: p_identity,
}

MOST_SEARCHED = 2**13
"""Cells of a column with levels for which a tree of its own, or sums, are tried as well; other queries ask for them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """A strategy for the blocks of one group of attributes. Public: tuned to the workload alone.

    Attributes:
        strategy: the block to measure.
        kinds: one per attribute, of `KINDS`.
        error: weighted sum of squared errors over all queries at noise of variance 1; levels are `balanced`.
    """

    strategy: QueryBlock
    kinds: tuple[str, ...]
    error: float


@lru_cache(maxsize=64)
def designs(name: str, axes: Axes, sizes: tuple[int, ...], blocks: tuple[QueryBlock, ...], norm: Norm) -> list[Design]:
    """Candidate strategies: identity, the best with declared levels, with hierarchies, and of all kinds.

    Cached by the identity of the blocks: a plan compares every combination that the budget allows.

    Args:
        name: of the strategy blocks.
        axes, sizes: the group's attributes and their numbers of cells.
        blocks: the workload's blocks over the group.
        norm: of the noise, L1 or squared L2.

    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Prefix
    >>> cdf = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(64,), matrix=Prefix(64)),))
    >>> [design.kinds for design in designs("s", (0,), (64,), (cdf,), Norm.L1)]
    [('identity',), ('hierarchy',), ('p-identity',)]
    """
    found: dict[tuple[str, ...], Design] = {}
    blocks = balanced(blocks)
    merged = any(isinstance(factor.matrix, Merged) for block in blocks for factor in block.factors)
    for kinds in (KINDS[:1], *([KINDS[:2]] if merged else []), KINDS[:3], KINDS):
        design = _descended(name, axes, sizes, blocks, norm, kinds)
        found.setdefault(design.kinds, design)
    return list(found.values())


def expected_error(strategy: QueryBlock, blocks: Sequence[QueryBlock]) -> float:
    """Weighted sum of squared errors of `blocks` after measuring `strategy` at noise of variance 1."""
    return math.fsum(importance(block) * float(query_variances(strategy, block).sum()) for block in blocks)


def _descended(
    name: str, axes: Axes, sizes: tuple[int, ...], blocks: Sequence[QueryBlock], norm: Norm, kinds: Sequence[str]
) -> Design:
    """Coordinate descent: each attribute in turn takes the kind of least error, the others fixed."""
    chosen: list[str] = [IDENTITY] * len(axes)
    matrices: list[IntMatrix] = [Identity(size) for size in sizes]
    for _ in range(SWEEPS if len(axes) > 1 and len(kinds) > 1 else 1):
        before = list(chosen)
        for position, axis in enumerate(axes):
            queries = _asked(axis, sizes[position], axes, matrices, blocks)
            chosen[position], matrices[position] = _best(
                queries, norm, kinds, min(TUNING.precision, 2 ** (BITS // len(axes)))
            )
        if chosen == before:
            break
    strategy = strategy_block(name, axes, tuple(matrices))
    return Design(strategy=strategy, kinds=tuple(chosen), error=expected_error(strategy, blocks))


def _best(queries: AxisQueries, norm: Norm, kinds: Sequence[str], precision: int) -> tuple[str, IntMatrix]:
    """The kind of least error at noise in proportion to its columns' norm; identity where only cells are asked for."""
    options: list[tuple[str, IntMatrix]] = [(IDENTITY, Identity(queries.size))]
    options += [(kind, _MAKERS[kind](queries, norm, precision)) for kind in _suited(queries) if kind in kinds]
    return min(options, key=lambda option: _scaled_error(option[1], queries, norm))


def _suited(queries: AxisQueries) -> tuple[str, ...]:
    """The kinds beside the identity that may have less error: none where only cells are asked for, the declared levels
    where nothing else is."""
    if queries.size == 1 or queries.plain:
        return ()
    if not nested_levels(matrix for matrix, _ in queries.terms):
        return HIERARCHY, P_IDENTITY
    alone = all(groups_of(matrix) is not None for matrix, _ in queries.terms)
    return (LEVELS,) if alone or queries.size > MOST_SEARCHED else (LEVELS, HIERARCHY, P_IDENTITY)


def _scaled_error(matrix: IntMatrix, queries: AxisQueries, norm: Norm) -> float:
    column = float(matrix.column_norm(norm.value))
    inverse = recoverable(matrix)
    assert inverse is not None, "designs are recoverable"
    error = math.fsum(float(weights @ inverse.variances(asked)) for asked, weights in queries.terms)
    return error * (column**2 if norm is Norm.L1 else column)


def _asked(
    axis: int, size: int, axes: Axes, matrices: Sequence[IntMatrix], blocks: Sequence[QueryBlock]
) -> AxisQueries:
    """What every block asks of `axis`, each row weighted by the error that the other attributes leave.

    Rows of a row-by-row block without a factor on `axis` all ask for its sum.
    """
    terms = []
    for block in blocks:
        own = next((factor.matrix for factor in block.factors if factor.axes == (axis,)), everything(size))
        weights = np.full(own.rows, importance(block))
        for other, matrix in zip(axes, matrices, strict=True):
            if other != axis:
                weights = weights * _left(matrix, other, block)
        terms.append((own, weights if len(weights) == own.rows else weights.sum(keepdims=True)))
    return AxisQueries(size=size, terms=tuple(terms))


def _left(matrix: IntMatrix, axis: int, block: QueryBlock) -> FloatArray:
    """Variance that `matrix` leaves in the block's rows on `axis`: per row, or summed over them."""
    inverse = recoverable(matrix)
    assert inverse is not None, "designs are recoverable"
    asked = next((factor.matrix for factor in block.factors if factor.axes == (axis,)), None)
    if asked is None:
        return inverse.variances(everything(matrix.cells))
    variances = inverse.variances(asked)
    return variances if block.rowwise else np.full(1, variances.sum())
