"""RowNames: names of a block's rows, for everything that prints or writes answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowNames:
    """Names of the first rows of a block.

    cells: attribute -> cell codes, shape (rows,), for every attribute of an identity factor; any other attribute is
    summed over, or described by the detail.
    details: the distinct texts of all other factors' rows ("<= 30"; several are joined by ", ").
    detail: one index into `details` per row; None if no factor has a name.
    """

    cells: dict[int, IntArray]
    details: tuple[str, ...] = ()
    detail: IntArray | None = None


def row_names(block: QueryBlock) -> RowNames:
    """Return the names of a block's rows. Public: a function of the block alone.

    >>> sex_by_age = QueryBlock(name="sex by age", factors=(Factor.identity(0, 2), Factor.identity(1, 2)))
    >>> row_names(sex_by_age)
    RowNames(cells={0: array([0, 0, 1, 1]), 1: array([0, 1, 0, 1])}, details=(), detail=None)
    """
    cells: dict[int, IntArray] = {}
    named: list[tuple[tuple[str, ...], IntArray]] = []
    for factor, picks in zip(block.factors, _picks(block), strict=True):
        if isinstance(factor.matrix, Identity):
            codes = np.unravel_index(picks, factor.sizes)
            cells |= {axis: code.astype(np.int64) for axis, code in zip(factor.axes, codes, strict=True)}
        elif _is_detailed(factor):
            named.append((_labels(factor), picks))
    if not named:
        return RowNames(cells=cells)
    if block.rowwise:  # every row is a combination of its own
        details = tuple(map(", ".join, zip(*(labels for labels, _ in named), strict=True)))
        return RowNames(cells=cells, details=details, detail=np.arange(block.rows, dtype=np.int64))
    return _detailed(cells, named)


def named_axes(block: QueryBlock) -> tuple[int, ...]:
    """Return the attributes in `cells` of a block's names."""
    return tuple(axis for factor in block.factors if isinstance(factor.matrix, Identity) for axis in factor.axes)


def detailed_rows(block: QueryBlock) -> int:
    """Return an upper bound on the number of details of a block's names; 0: none."""
    return block.rows if any(_is_detailed(factor) for factor in block.factors) else 0


def _is_detailed(factor: Factor) -> bool:
    """Whether a factor's rows are named by texts: they are not cells, and there are labels or several rows."""
    return not isinstance(factor.matrix, Identity) and (bool(factor.labels) or factor.matrix.rows > 1)


def _picks(block: QueryBlock) -> tuple[IntArray, ...]:
    """For every factor the row of it that each of the block's rows uses."""
    rows = np.arange(block.rows, dtype=np.int64)
    if block.rowwise:
        return (rows,) * len(block.factors)
    shape = tuple(factor.matrix.rows for factor in block.factors)
    return tuple(np.unravel_index(rows, shape)) if shape else ()


def _labels(factor: Factor) -> tuple[str, ...]:
    """The factor's own labels; rows without any are numbered, so that no two answers read the same."""
    return factor.labels or tuple(f"row {row}" for row in range(factor.matrix.rows))


def _detailed(cells: dict[int, IntArray], named: list[tuple[tuple[str, ...], IntArray]]) -> RowNames:
    """Join the labels once for every distinct combination, not once a row."""
    shape = tuple(len(labels) for labels, _ in named)
    combined = np.ravel_multi_index(tuple(picks for _, picks in named), shape)
    distinct, detail = np.unique(combined, return_inverse=True)
    combinations = zip(*(picks.tolist() for picks in np.unravel_index(distinct, shape)), strict=True)
    texts = tuple(
        ", ".join(labels[pick] for (labels, _), pick in zip(named, picks, strict=True)) for picks in combinations
    )
    return RowNames(cells=cells, details=texts, detail=detail.astype(np.int64))
