"""Kronecker designs: one strategy per attribute, each tuned to the error that the others leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, Axes, FloatArray
from dpqr.kernel.noise.public import public_generator
from dpqr.models.fit.descent import Descent
from dpqr.strategies.designs.gram import AxisQueries, CellQueries, importance
from dpqr.strategies.designs.trees import balance_levels, hierarchy, levels_tree, nested_levels
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.partition import BucketMatrix, groups_of
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm
from dpqr.workload.strategy_matrices import PIdentity, query_variances, recoverable, strategy_block

# p-Identity: single cells and a few sums, tuned to the workload; constant on groups of neighbouring cells.
#
# Tuning makes thousands of small matrix products in a row. `product` and `inverse` keep each below the size at which
# the linear-algebra library spreads it over threads, whose synchronisation costs more than it gains.


class PIdentityTuning(Struct, frozen=True, kw_only=True):
    """Set by `python tests/benchmarks/dense.py`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    groups: int = 512  # groups of cells, at most
    spacing: int = 16  # cells for each sum: HDMM's
    sums: int = 32  # at least; and at most half as many as groups
    steps: int = 250  # descent steps, at most
    tolerance: float = 1e-7  # of the gradient of the logarithm of the error
    precision: int = 4096  # norm of an integer column, about
    piece: int = 2**18  # multiplications below which the library keeps to one thread
    small: int = 64  # rows of a matrix that the library inverts on one thread


TUNING = PIdentityTuning()


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product, a few columns at a time."""
    rows, inner = left.shape
    step = max(1, TUNING.piece // max(rows * inner, 1))
    result = np.empty((rows, right.shape[1]))
    for first in range(0, right.shape[1], step):
        result[:, first : first + step] = left @ right[:, first : first + step]
    return result


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a symmetric, positive definite matrix, by halves (Schur complements)."""
    size = len(matrix)
    if size <= TUNING.small:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    half = size // 2
    first = inverse(matrix[:half, :half])
    across = product(first, matrix[:half, half:])
    second = inverse(matrix[half:, half:] - product(matrix[half:, :half], across))
    corner = product(across, second)
    result = np.empty((size, size))
    result[:half, :half] = first + product(corner, across.T)
    result[:half, half:], result[half:, :half], result[half:, half:] = -corner, -corner.T, second
    return result


class PIdentityError(Struct, frozen=True, kw_only=True, eq=False):
    """Expected squared error of A = [D; F D] as a function of F >= 0, D the diagonal that makes all column norms 1.

    With n the columns' norm before D (1 + sum F in L1, sqrt(1 + sum F^2) in L2), G the workload's Gram matrix and
    M = 1 + F F^T over cells, Woodbury's formula gives tr (A^T A)^-1 G = tr n G n - tr M^-1 F n G n F^T. With F and n
    constant on groups, all of it is computed on groups.

    Attributes:
        widths: cells per group.
        pairs, diagonal: the Gram matrix on groups (`AxisQueries.gram`).
        norm: L1 or squared L2.
        support: where F may differ from 0, booleans of shape (p, groups).

    References:
        McKenna, Miklau, Hay and Machanavajjhala 2018, sections 5.2 and 7.
    """

    widths: FloatArray
    pairs: FloatArray
    diagonal: FloatArray
    norm: Norm
    support: AnyArray

    def spread(self, free: FloatArray) -> FloatArray:
        """F from its free entries."""
        sums = np.zeros(self.support.shape)
        sums[self.support] = free
        return sums

    def columns(self, sums: FloatArray) -> FloatArray:
        """n, shape (groups,)."""
        total = sums.sum(axis=0) if self.norm is Norm.L1 else (sums**2).sum(axis=0)
        norms: FloatArray = 1.0 + total if self.norm is Norm.L1 else np.sqrt(1.0 + total)
        return norms

    def value(self, roots: FloatArray) -> tuple[float, FloatArray]:
        """The logarithm of the error, and its gradient, in the square roots of F's free entries."""
        sums = self.spread(roots**2)
        columns = self.columns(sums)
        try:
            core = inverse(np.eye(len(sums)) + product(sums * self.widths, sums.T))
        except np.linalg.LinAlgError:  # a step so long that rounding has eaten the identity: as below
            return math.inf, np.zeros_like(roots)
        left, right = product(core, sums), product(sums * columns, self.pairs)
        error = float((columns**2) @ self.diagonal - ((left * right) * columns).sum())
        if not error > 0.0:  # a step so long that rounding has eaten the difference: the search takes a shorter one
            return math.inf, np.zeros_like(roots)
        inner = product(core, right) * columns
        slope = -2 * (inner - product(product(inner, sums.T), left * self.widths))
        by_column = 2 * (columns * self.diagonal - (left * right).sum(axis=0))
        share = 1.0 if self.norm is Norm.L1 else sums / columns
        gradient: FloatArray = (slope + by_column * share)[self.support] * (2 * roots / error)
        return math.log(error), gradient


def p_identity(queries: CellQueries, norm: Norm, precision: int = TUNING.precision) -> PIdentity:
    """The strategy of least expected error, in integers of about `precision` per column.

    Repeatable on one machine; the rounding of another one may end the descent elsewhere, at about the same error.
    Tuned strategies are not cached across processes: a plan depends on its inputs alone, and no file is trusted.

    Args:
        queries: the workload over the cells.
        norm: of a column, L1 or squared L2, to which the noise is scaled.
        precision: norm of an integer column, about.

    >>> from dpqr.strategies.designs.gram import AxisQueries
    >>> from dpqr.workload.matrix import Prefix
    >>> p_identity(AxisQueries(size=16, terms=((Prefix(16), np.ones(16)),)), Norm.L1).cells
    16
    """
    # The Gram matrix on groups of neighbouring cells, scaled so that measuring single cells has an error of about 1.
    groups = min(queries.size, TUNING.groups)
    edges = np.rint(np.linspace(0, queries.size, groups + 1)).astype(np.int64)
    pairs, diagonal = queries.gram(edges)
    scale, widths = max(float(diagonal.sum()), 1e-300), np.diff(edges)
    # Start of the descent: the first nodes of the binary tree, with noise added, for equal rows would stay equal. Each
    # may grow to its neighbours of the same level only, which loses nothing and leaves a quarter of the entries.
    count = max(1, min(groups // 2, max(TUNING.sums, queries.size // TUNING.spacing)))
    start, support = np.zeros((count, groups)), np.zeros((count, groups), dtype=bool)
    for row in range(count):
        level = (row + 1).bit_length() - 1
        node = row + 1 - 2**level
        start[row, node * groups >> level : (node + 1) * groups >> level] = 0.3
        support[row, max(node - 1, 0) * groups >> level : -(-(node + 2) * groups >> level)] = True
    start += 0.05 * public_generator(0).random(start.shape)
    error = PIdentityError(
        widths=widths.astype(np.float64), pairs=pairs / scale, diagonal=diagonal / scale, norm=norm, support=support
    )
    roots = Descent(tolerance=TUNING.tolerance, steps=TUNING.steps).run(error.value, np.sqrt(start[support]))
    # Integers first: sensitivity and inverse are those of the rounded matrix. Sums that vanish are left out.
    sums = error.spread(roots**2)
    columns = error.columns(sums)
    single_cells = np.maximum(np.rint(precision / columns), 1).astype(np.int64)
    rows = np.rint(precision * sums / columns).astype(np.int64)
    rows = rows[rows.any(axis=1)]
    divisor = int(np.gcd.reduce(np.concatenate([single_cells, rows.reshape(-1)])))
    return PIdentity(widths.astype(np.int64), single_cells // divisor, rows // divisor)


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


class Design(Struct, frozen=True, kw_only=True, eq=False):
    """A strategy for the blocks of one group of attributes. Public: tuned to the workload alone.

    Attributes:
        strategy: the block to measure.
        kinds: one per attribute, of `KINDS`.
        error: weighted sum of squared errors over all queries at noise of variance 1; levels are `balance_levels`.
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
    by_kinds: dict[tuple[str, ...], Design] = {}
    blocks = balance_levels(blocks)
    merged = any(isinstance(factor.matrix, BucketMatrix) for block in blocks for factor in block.factors)
    for kinds in (KINDS[:1], *([KINDS[:2]] if merged else []), KINDS[:3], KINDS):
        design = _descended(name, axes, sizes, blocks, norm, kinds)
        by_kinds.setdefault(design.kinds, design)
    return list(by_kinds.values())


def expected_error(strategy: QueryBlock, blocks: Sequence[QueryBlock]) -> float:
    """Weighted sum of squared errors of `blocks` after measuring `strategy` at noise of variance 1."""
    return math.fsum(importance(block) * float(query_variances(strategy, block).sum()) for block in blocks)


def _descended(
    name: str, axes: Axes, sizes: tuple[int, ...], blocks: Sequence[QueryBlock], norm: Norm, kinds: Sequence[str]
) -> Design:
    """Coordinate descent: each attribute in turn takes the kind of least error, the others fixed."""
    chosen: list[str] = [IDENTITY] * len(axes)
    matrices: list[IntMatrix] = [Identity(size) for size in sizes]
    precision = min(TUNING.precision, 2 ** (BITS // max(len(axes), 1)))
    for _ in range(SWEEPS if len(axes) > 1 and len(kinds) > 1 else 1):
        before = list(chosen)
        for position, axis in enumerate(axes):
            queries = _on_axis(axis, sizes[position], axes, matrices, blocks)
            options: list[tuple[str, IntMatrix]] = [(IDENTITY, Identity(queries.size))]
            options += [(kind, _MAKERS[kind](queries, norm, precision)) for kind in _suited(queries) if kind in kinds]
            errors = [_scaled_error(matrix, queries, norm) for _, matrix in options]
            chosen[position], matrices[position] = options[int(np.argmin(errors))]
        if chosen == before:
            break
    strategy = strategy_block(name, axes, tuple(matrices))
    return Design(strategy=strategy, kinds=tuple(chosen), error=expected_error(strategy, blocks))


def _suited(queries: AxisQueries) -> tuple[str, ...]:
    """The kinds other than the identity that may have less error: none where only cells are queried, the declared
    levels where nothing else is."""
    if queries.size == 1 or queries.plain:
        return ()
    if not nested_levels(matrix for matrix, _ in queries.terms):
        return HIERARCHY, P_IDENTITY
    alone = all(groups_of(matrix) is not None for matrix, _ in queries.terms)
    return (LEVELS,) if alone or queries.size > MOST_SEARCHED else (LEVELS, HIERARCHY, P_IDENTITY)


def _scaled_error(matrix: IntMatrix, queries: AxisQueries, norm: Norm) -> float:
    """Error at noise in proportion to the norm of the matrix' columns."""
    column = float(matrix.column_norm(norm.value))
    inverse = recoverable(matrix)
    assert inverse is not None, "designs are recoverable"
    error = math.fsum(float(weights @ inverse.variances(rows)) for rows, weights in queries.terms)
    return error * (column**2 if norm is Norm.L1 else column)


def _on_axis(
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
            if other == axis:
                continue
            # The variance that `matrix` leaves in the block's rows on `other`: per row, or summed over them.
            inverse = recoverable(matrix)
            assert inverse is not None, "designs are recoverable"
            rows = next((factor.matrix for factor in block.factors if factor.axes == (other,)), None)
            variances = inverse.variances(everything(matrix.cells) if rows is None else rows)
            weights = weights * (variances if block.rowwise and rows is not None else variances.sum())
        terms.append((own, weights if len(weights) == own.rows else weights.sum(keepdims=True)))
    return AxisQueries(size=size, terms=tuple(terms))
