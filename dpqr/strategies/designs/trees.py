"""Hierarchies: trees whose level weights minimise the expected error of a workload."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.values import replace
from dpqr.models.fit.descent import Descent
from dpqr.strategies.designs.gram import AxisQueries, CellQueries
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import BucketMatrix, groups_of
from dpqr.workload.sensitivity import Norm
from dpqr.workload.trees import NestedTree, Nesting, Tree, dyadic

# Limits of precision and of time.

PRECISION = 1024
"""Sum of the integer weights, about; finer ones change the error by less than a thousandth."""
STEPS = 500
"""Descent steps, at most."""
TOLERANCE = 1e-6
"""Largest gradient of the logarithm at which the descent stops: below what integer weights resolve, above rounding."""
SMALLEST_SHARE = 1e-4
"""Share of the lowest level during the search, so that single cells stay identifiable."""


def hierarchy(queries: CellQueries, norm: Norm, precision: int = PRECISION) -> Tree:
    """The binary tree with the best level weights, rounded to integers whose sum is about `precision`.

    On 2^h cells with weights w_l for the groups of width s_l, A^T A = sum w_l^2 s_l P_l, P_l the projection on vectors
    constant on those groups. The P_l are nested, so their differences Q_j are orthogonal projections and A^T A has the
    eigenvalue lambda_j = sum over l >= j of w_l^2 s_l on Q_j. The expected squared error is

        (sum w_l)^2 sum over j of |W Q_j|^2 / lambda_j      (for squared L2: sum w_l^2 in front),

    which is minimised over the h + 1 weights. Levels whose weight rounds to 0 are left out, so trees of larger
    branching are included.

    Args:
        queries: the workload over the cells.
        norm: of a column, L1 or squared L2, to which the noise is scaled.

    References:
        Hay, Rastogi, Miklau and Suciu 2010 (equal weights); Li, Miklau, Hay, McGregor and Rastogi 2015 (weights).

    >>> from dpqr.strategies.designs.gram import AxisQueries
    >>> from dpqr.workload.matrix import Prefix
    >>> hierarchy(AxisQueries(size=64, terms=((Prefix(64), np.ones(64)),)), Norm.L1).cells
    64
    """
    widths = dyadic(queries.size)
    levels, cells = len(widths), np.array(widths, dtype=np.float64)
    energies = np.diff(queries.energies(widths), prepend=0.0)
    energies = np.maximum(energies, 0.0) / max(float(energies.sum()), 1e-300)
    floor = np.where(np.arange(levels) == levels - 1, SMALLEST_SHARE, 0.0)

    def objective(roots: FloatArray) -> tuple[float, FloatArray]:
        error, slope = log_error(roots**2 + floor, energies, cells, norm)
        return error, slope * 2 * roots

    # A descent from every branching, as there are local minima; the best shares sum to 1.
    starts = [np.where((np.arange(levels)[::-1] % step) == 0, 1.0, 0.02) for step in range(1, max(levels, 2))]
    descent = Descent(tolerance=TOLERANCE, steps=STEPS)
    ends = [descent.run(objective, np.sqrt(start / start.sum())) for start in starts]
    shares = min(ends, key=lambda roots: objective(roots)[0]) ** 2 + floor
    shares /= shares.sum()
    weights = np.rint(shares * precision).astype(int)
    weights[-1] = max(weights[-1], 1)
    measured = [level for level, weight in enumerate(weights) if weight > 0]
    divisor = int(np.gcd.reduce(weights[measured]))
    return Tree(
        queries.size, tuple(widths[level] for level in measured), tuple(int(weights[k]) // divisor for k in measured)
    )


def log_error(weights: FloatArray, energies: FloatArray, widths: FloatArray, norm: Norm) -> tuple[float, FloatArray]:
    """Logarithm of the expected squared error, and its gradient in the weights.

    Args:
        weights: of the levels, shape (levels,).
        energies: |W Q_j|^2 (`hierarchy`), shape (levels,).
        widths: cells of a group on each level, shape (levels,).
        norm: of a column, L1 or squared L2.

    Returns:
        The logarithm, and the gradient of shape (levels,).
    """
    values = np.cumsum((weights**2 * widths)[::-1])[::-1]
    error = float((energies / values).sum())
    slope = -np.cumsum(energies / values**2) * 2 * weights * widths / error
    if norm is Norm.L1:
        column = float(weights.sum())
        return np.log(error) + 2 * np.log(column), slope + 2 / column
    squared = float(weights @ weights)
    return np.log(error) + np.log(squared), slope + 2 * weights / squared


# Levels: the tree over the levels that a workload asks of one column, with the weights of least expected error.


# Limits of precision and of time. Figures: `python tests/benchmarks/hierarchies.py`.

LEVEL_STEPS = 60
"""Descent steps, at most."""
LEVEL_TOLERANCE = 1e-3
"""Largest gradient of the logarithm at which the descent stops: below what integer weights resolve."""
LEVEL_STEP = 1e-4
"""In the logarithm of a weight, between the two values that give a derivative."""
LEVEL_SCALE = 1e9
"""Of the largest weight during the search, in whole numbers."""
SMALLEST_LEVEL = 1e-6
"""Summed weight of a level that nobody asks for, where it begins."""
LEVEL_ABOVE = Fraction(1, 8)
"""Summed weight of a level above the lowest one, as a part of that one's."""


def balance_levels(blocks: Sequence[QueryBlock]) -> tuple[QueryBlock, ...]:
    """Blocks of levels with weights by which every level above the lowest one counts alike, however few its nodes.

    Were all answers to count alike, most of the budget would go to the lowest level, and a single node at the top would
    have ten times the error that an equal split leaves it. Levels that do not help each other share the budget as the
    cube root of what they count (squared L2: the square root): with an eighth, the lowest of k levels gets 2 of k + 1
    parts of epsilon, and each other level 1, so none has more than (k + 1) / k times the error of an equal split.

    The blocks' own weights multiply this. All answers of the levels count as much together as before.
    """
    balanced = list(blocks)
    for axis in {
        factor.axes for block in blocks for factor in block.factors if isinstance(factor.matrix, BucketMatrix)
    }:
        # Nodes of the column's level that each block counts; blocks that count none are left out.
        nodes: dict[int, int] = {}
        for place, block in enumerate(balanced):
            own = next((factor.matrix for factor in block.factors if factor.axes == axis), None)
            groups = None if own is None else groups_of(own)
            if groups is not None:
                nodes[place] = int(groups.max()) + 1
        lowest = max(nodes.values())
        parts = {place: Fraction(1) if count == lowest else LEVEL_ABOVE for place, count in nodes.items()}
        common = Fraction(sum(balanced[place].rows for place in nodes), 1) / sum(parts.values())
        for place, part in parts.items():
            weight = balanced[place].weight * part * common / balanced[place].rows
            balanced[place] = replace(balanced[place], weight=weight)
    return tuple(balanced)


def nested_levels(matrices: Iterable[IntMatrix]) -> tuple[IntArray, ...]:
    """The levels among `matrices` that have fewer groups than cells, coarsest first, each one once.

    Returns:
        The group of every cell on each level, numbered from 0 without gaps; empty if the levels are not nested.
    """
    levels: list[IntArray] = []
    for matrix in matrices:
        if isinstance(matrix, BucketMatrix) and (groups := groups_of(matrix)) is not None:
            own = _numbered(groups)
            if int(own.max()) + 1 < len(own) and not any(np.array_equal(own, other) for other in levels):
                levels.append(own)
    levels.sort(key=lambda groups: int(groups.max()))
    for above, below in pairwise(levels):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        if not np.array_equal(parent[below], above):
            return ()
    return tuple(levels)


def _numbered(groups: IntArray) -> IntArray:
    """The same groups, numbered from 0 in the order of their first cells."""
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[numbers])


def levels_tree(queries: AxisQueries, norm: Norm, precision: int) -> NestedTree:
    """The tree of the asked levels and the cells, its weights rounded to integers whose sum is about `precision`.

    The expected squared error is (sum w)^2 sum over q of q T(w)^-1 q^T (for squared L2: sum w^2 in front), T = A^T A.
    It follows from the sizes of the groups alone, and each value takes one pass up the tree and one down. Levels whose
    weight rounds to 0 are not measured; the cells always are.

    References:
        Hay, Rastogi, Miklau and Suciu 2010 (consistent trees); Li, Miklau, Hay, McGregor and Rastogi 2015 (weights).

    >>> from dpqr.workload.matrix import Identity
    >>> levels = BucketMatrix(Identity(2), np.arange(200) // 100), Identity(200)
    >>> queries = AxisQueries(size=200, terms=tuple((one, np.ones(one.rows)) for one in levels))
    >>> levels_tree(queries, Norm.L1, 16).weights
    (1, 7)
    """
    levels = nested_levels(matrix for matrix, _ in queries.terms)
    nesting = Nesting.of_levels(levels, queries.size)
    # Terms of a level, whatever the numbers of its groups: the weight of every group's squared error. The others.
    of_levels, others = [np.zeros(count) for count in nesting.counts], []
    for matrix, row_weights in queries.terms:
        groups, level = groups_of(matrix), None
        if groups is not None:
            own = _numbered(groups)
            level = next((at for at, other in enumerate(nesting.groups) if np.array_equal(other, own)), None)
        if groups is None or level is None:
            others.append((matrix, row_weights))
            continue
        of_groups = np.zeros(nesting.counts[level])
        of_groups[nesting.groups[level]] = row_weights[groups]
        of_levels[level] += of_groups

    def log_of_error(logs: FloatArray) -> float:
        weights = np.maximum(np.rint(np.exp(logs - logs.max()) * LEVEL_SCALE), 1.0)
        tree = NestedTree(nesting, tuple(int(weight) for weight in weights))
        column = float(weights.sum()) ** 2 if norm is Norm.L1 else float(weights @ weights)
        error = sum(float(rows @ tree.level_variances(level)) for level, rows in enumerate(of_levels))
        error += sum(float(rows @ tree.variances(matrix)) for matrix, rows in others)
        return math.log(column) + math.log(error)

    def objective(logs: FloatArray) -> tuple[float, FloatArray]:
        value = log_of_error(logs)
        moved = logs + LEVEL_STEP * np.eye(len(logs))
        return value, np.array([log_of_error(each) - value for each in moved]) / LEVEL_STEP

    # A descent in the logarithms of the weights, from the best ones if no level helped another: alone, a level has the
    # error e / w^2, e the sum of its rows' weights, which is least at w in proportion to e^(1/3) (squared L2: e^(1/4)).
    totals = np.array([max(float(np.sum(rows)), SMALLEST_LEVEL) for rows in of_levels])
    start = np.log(totals / totals.max()) * (1 / 3 if norm is Norm.L1 else 1 / 4)
    shares = np.exp(Descent(tolerance=LEVEL_TOLERANCE, steps=LEVEL_STEPS).run(objective, start))
    weights = np.rint(shares / shares.sum() * precision).astype(int)
    weights[-1] = max(weights[-1], 1)
    kept_levels = [place for place, weight in enumerate(weights) if weight > 0]
    divisor = int(np.gcd.reduce(weights[kept_levels]))
    measured = [levels[place] for place in kept_levels[:-1]]
    return NestedTree(Nesting.of_levels(measured, queries.size), tuple(int(w) // divisor for w in weights[kept_levels]))
