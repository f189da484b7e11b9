"""Workload Q, the groups of attributes that it joins, the integer grid of its answers, and `Measurement`.

A true answer is an integer times its block's scale. Whatever is compared with it is rounded to that grid first. So the
difference is an integer too, and a record changes it by no more than the block's sensitivity; a float difference would
carry rounding errors that depend on private values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, IntArray
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.matrix import Identity


class Workload(Struct, frozen=True):
    """The query blocks of a release, in the curator's order; their names are unique.

    figures: what is computed from the released answers to some of them. persons: tables of persons, which no model
    answers: they are measured once, apart from the blocks; their names are unique among all. person_figures: what is
    computed from the answers to these.

    >>> from dpqr.workload.block import Factor
    >>> ages = QueryBlock(name="ages", factors=(Factor.identity(0, 5),))
    >>> Workload((ages, QueryBlock(name="everybody"))).rows
    6

    Raises:
        DocumentError: no block, or two blocks of one name.
    """

    blocks: tuple[QueryBlock, ...]
    figures: tuple[Figure, ...] = ()
    persons: tuple[QueryBlock, ...] = ()
    person_figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        if not self.blocks:
            raise DocumentError("the workload asks nothing; give at least one query")
        seen: set[str] = set()
        for block in (*self.blocks, *self.persons):
            if block.name in seen:
                raise DocumentError(f"two queries are named {block.name!r}; give one of them another name")
            seen.add(block.name)

    @property
    def rows(self) -> int:
        """|Q|: the number of linear queries."""
        return sum(block.rows for block in self.blocks)

    @property
    def axes(self) -> Axes:
        """The attributes that some query reads, in domain order."""
        return tuple(sorted({axis for block in self.blocks for axis in block.axes}))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnSets:
    """Sets of columns, each found by those that it holds without a look at the others.

    >>> sets = ColumnSets.of([{0, 1}, {1, 2}, {0, 1, 2}])
    >>> sorted(map(sorted, sets.beyond((1, 2)))), sets.hold((1, 2)), sets.hold((0, 3))
    ([[0, 1, 2]], True, False)
    """

    sets: frozenset[frozenset[int]]
    _by_size: dict[int, dict[int, set[frozenset[int]]]] = field(repr=False)

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> ColumnSets:
        """_by_size: by their size, then by column, those that hold it."""
        found, by_size = frozenset(map(frozenset, sets)), dict[int, dict[int, set[frozenset[int]]]]()
        for one in found:
            by_column = by_size.setdefault(len(one), {})
            for column in one:
                by_column.setdefault(column, set()).add(one)
        return cls(sets=found, _by_size=by_size)

    def beyond(self, columns: Iterable[int]) -> frozenset[frozenset[int]]:
        """Those that hold all of `columns`, and more."""
        own, nothing = frozenset(columns), set[frozenset[int]]()
        if not own:
            return self.sets - {own}
        wider = (by_column for size, by_column in self._by_size.items() if size > len(own))
        holding = ([by_column.get(column, nothing) for column in own] for by_column in wider)
        return frozenset(one for first, *others in holding for one in first.intersection(*others))

    def hold(self, columns: Iterable[int]) -> bool:
        """Whether one of them holds all of `columns`."""
        own = frozenset(columns)
        return own in self.sets or bool(self.beyond(own))


def axis_groups(blocks: Iterable[QueryBlock]) -> tuple[Axes, ...]:
    """Return the maximal sets of attributes of single blocks, ascending, in order of first mention.

    Every block's attributes lie within one of them.
    """
    column_sets = dict.fromkeys(tuple(sorted(block.axes)) for block in blocks)
    sets = ColumnSets.of(column_sets)
    return tuple(axes for axes in column_sets if not sets.beyond(axes))


def by_home(blocks: Iterable[QueryBlock]) -> dict[Axes, tuple[QueryBlock, ...]]:
    """Return the blocks of every group of `axis_groups`, each under its `home`, in their order."""
    blocks = tuple(blocks)
    groups = axis_groups(blocks)
    column_sets = {tuple(sorted(block.axes)) for block in blocks}
    homes = {axes: axes for axes in groups} | {axes: home(axes, groups) for axes in column_sets.difference(groups)}
    held: dict[Axes, list[QueryBlock]] = {axes: [] for axes in groups}
    for block in blocks:
        axes = homes[tuple(sorted(block.axes))]
        assert axes is not None, "every block has a group"
        held[axes].append(block)
    return {axes: tuple(members) for axes, members in held.items()}


def home(axes: Axes, groups: Iterable[Axes]) -> Axes | None:
    """Return the smallest group that holds all of `axes`, the first of several; None if there is none."""
    own = frozenset(axes)
    holding = [group for group in groups if own.issubset(group)]
    return min(holding, key=len, default=None)


def common_grid(blocks: Sequence[QueryBlock]) -> Fraction:
    """Return the coarsest grid that holds every block's answers: each scale is an integer multiple of it."""
    scales = {block.scale for block in blocks}
    denominator = math.lcm(*(scale.denominator for scale in scales))
    return Fraction(math.gcd(*(int(scale * denominator) for scale in scales)), denominator)


def round_answers(answers: FloatArray, limit: int | IntArray) -> IntArray:
    """Round public answers to the nearest integers within -limit .. limit; NaN becomes 0. Never fails.

    Clipping to the range that true answers can take never widens a gap.

    Args:
        answers: shape (rows,).
        limit: at most 2^61, one for all answers or one for each.

    Privacy:
        Post-processing of public values.
    """
    numbers = np.where(np.isnan(answers), 0.0, answers)
    nearest: IntArray = np.rint(np.minimum(np.maximum(numbers, -limit), limit)).astype(np.int64)
    return nearest


class Measurement(Struct, frozen=True, kw_only=True, eq=False):
    """Blocks, their released noisy answers, and the law of the noise. Public.

    values: one int64 array per block, shape (rows,), in units of the block's grid.
    law: of the noise of every entry, in the same units.

    >>> from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
    >>> law = DiscreteLaplace(Fraction(2))
    >>> Measurement(blocks=(QueryBlock(name="all"),), values=(np.array([41]),), law=law).values[0].tolist()
    [41]
    """

    blocks: tuple[QueryBlock, ...]
    values: tuple[IntArray, ...]
    law: NoiseLaw


# RowNames: names of a block's rows, for everything that prints or writes answers.


class RowNames(Struct, frozen=True, kw_only=True, eq=False):
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
    # For every factor the row of it that each of the block's rows uses.
    rows, sizes = np.arange(block.rows, dtype=np.int64), tuple(factor.matrix.rows for factor in block.factors)
    used = (rows,) * len(sizes) if block.rowwise or not sizes else np.unravel_index(rows, sizes)
    for factor, picks in zip(block.factors, used, strict=True):
        if isinstance(factor.matrix, Identity):
            codes = np.unravel_index(picks, factor.sizes)
            cells |= {axis: code.astype(np.int64) for axis, code in zip(factor.axes, codes, strict=True)}
        elif _is_detailed(factor):
            # The factor's own labels; rows without any are numbered, so that no two answers read the same.
            named.append((factor.labels or tuple(f"row {row}" for row in range(factor.matrix.rows)), picks))
    if not named:
        return RowNames(cells=cells)
    if block.rowwise:  # every row is a combination of its own
        details = tuple(map(", ".join, zip(*(labels for labels, _ in named), strict=True)))
        return RowNames(cells=cells, details=details, detail=np.arange(block.rows, dtype=np.int64))
    # Join the labels once for every distinct combination, not once a row.
    shape = tuple(len(labels) for labels, _ in named)
    combined = np.ravel_multi_index(tuple(picks for _, picks in named), shape)
    distinct, detail = np.unique(combined, return_inverse=True)
    combinations = zip(*(picks.tolist() for picks in np.unravel_index(distinct, shape)), strict=True)
    texts = tuple(
        ", ".join(labels[pick] for (labels, _), pick in zip(named, picks, strict=True)) for picks in combinations
    )
    return RowNames(cells=cells, details=texts, detail=detail.astype(np.int64))


def named_axes(block: QueryBlock) -> tuple[int, ...]:
    """Return the attributes in `cells` of a block's names."""
    return tuple(axis for factor in block.factors if isinstance(factor.matrix, Identity) for axis in factor.axes)


def detailed_rows(block: QueryBlock) -> int:
    """Return an upper bound on the number of details of a block's names; 0: none."""
    return block.rows if any(_is_detailed(factor) for factor in block.factors) else 0


def _is_detailed(factor: Factor) -> bool:
    """Whether a factor's rows are named by texts: they are not cells, and there are labels or several rows."""
    return not isinstance(factor.matrix, Identity) and (bool(factor.labels) or factor.matrix.rows > 1)
