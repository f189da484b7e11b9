"""Adding up: tables of counts rounded to whole multiples of a base, so that all that they have in common adds up.

Controlled rounding, without a draw. The tables that lie within no other are put into an order in which each shares with
those before it the columns of a single one of them (a join tree). Each is filled from the counts of the shared columns
that are rounded already: column after column, the smallest first, a count is cut by the method of largest remainders
(Hamilton) in proportion to the tables' values. Every smaller table is a sum over one that holds it. Tables that overlap
in a cycle have no such order; they are joined first, by iterative proportional fitting of one table of all their
columns.

A value of a table moves by less than one base for each column that it was cut by, beside what the shared counts moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import InfeasiblePlan

MOST_CELLS = 2**22
"""Of a table that is made of several which overlap in a cycle."""
SWEEPS, CLOSE = 50, 1e-3
"""Of the fit of such a table: at most so many, until no count is further off, in bases."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountTable:
    """columns: names of the dimensions of `values`; none: the total.

    >>> CountTable(columns=("sex",), values=np.array([1.2, 2.9])).over(())
    array(4.1)
    """

    columns: tuple[str, ...]
    values: FloatArray

    def over(self, columns: Sequence[str]) -> FloatArray:
        """The sums over all other columns, dimensions in the order of `columns`, which are its own."""
        rest = tuple(place for place, name in enumerate(self.columns) if name not in columns)
        held = [name for name in self.columns if name in columns]
        summed: FloatArray = np.asarray(self.values.sum(axis=rest))
        return summed.transpose([held.index(name) for name in columns])


def added_up(tables: Sequence[CountTable], base: int) -> list[IntArray]:
    """Every table in multiples of `base`, none below 0; sums over equal columns are equal in all tables.

    Raises:
        InfeasiblePlan: tables that overlap in a cycle have too many cells together.
    """
    scaled = [CountTable(columns=one.columns, values=_positive(one.values) / base) for one in tables]
    rounded: list[CountTable] = []
    for one in _ordered(_largest(scaled)):
        rounded.append(_filled(one, rounded))
    found = []
    for table in scaled:
        home = next(each for each in rounded if set(table.columns) <= set(each.columns))
        found.append(np.rint(home.over(table.columns)).astype(np.int64) * base)
    return found


def _positive(values: FloatArray) -> FloatArray:
    return np.maximum(np.nan_to_num(values, nan=0.0), 0.0)


def _largest(tables: Sequence[CountTable]) -> list[CountTable]:
    """Those within no other, each set of columns once; columns in one order for all, the smallest first."""
    sizes = {name: size for one in tables for name, size in zip(one.columns, one.values.shape, strict=True)}
    order = sorted(sizes, key=sizes.__getitem__)
    kept: dict[frozenset[str], CountTable] = {}
    for one in sorted(tables, key=lambda each: -len(each.columns)):
        if not any(set(one.columns) <= held for held in kept):
            columns = tuple(name for name in order if name in one.columns)
            kept[frozenset(columns)] = CountTable(columns=columns, values=one.over(columns))
    return list(kept.values())


def _ordered(tables: list[CountTable]) -> list[CountTable]:
    """Each shares with those before it the columns of one of them; those that form a cycle are joined."""
    placed: list[CountTable] = []
    left, seen = list(tables), set[str]()
    while left:
        left.sort(key=lambda one: len(seen.intersection(one.columns)), reverse=True)
        one = left.pop(0)
        shared = seen.intersection(one.columns)
        if shared and not any(shared <= set(each.columns) for each in placed):
            return _ordered(_joined(tables, one, [each for each in placed if shared & set(each.columns)]))
        placed.append(one)
        seen.update(one.columns)
    return placed


def _joined(tables: list[CountTable], one: CountTable, others: list[CountTable]) -> list[CountTable]:
    """With one table in place of some that overlap."""
    parts = [one, *others]
    sizes = {name: size for each in parts for name, size in zip(each.columns, each.values.shape, strict=True)}
    columns = tuple(sorted(sizes, key=sizes.__getitem__))
    if math.prod(sizes.values()) > MOST_CELLS:
        names = ", ".join(" x ".join(each.columns) for each in parts)
        raise InfeasiblePlan(
            f"the queries {names} overlap in a cycle of {math.prod(sizes.values()):,} cells, and views add up at most "
            f"{MOST_CELLS:,}; ask for a marginal of all these columns, or for fewer"
        )
    joint = np.ones([sizes[name] for name in columns])
    for _ in range(SWEEPS):
        moved = 0.0
        for part in parts:
            rest = tuple(place for place, name in enumerate(columns) if name not in part.columns)
            wanted = part.over([name for name in columns if name in part.columns])
            held = joint.sum(axis=rest)
            moved = max(moved, float(np.abs(wanted - held).max()))
            ratio = np.divide(wanted, held, out=np.zeros_like(held), where=held > 0.0)
            joint = joint * np.expand_dims(ratio, rest)
        if moved < CLOSE:
            break
    whole = CountTable(columns=columns, values=joint)
    return [whole, *(each for each in tables if each not in parts)]


def _filled(one: CountTable, before: Sequence[CountTable]) -> CountTable:
    """Whole numbers that add up to those of the tables before."""
    seen = {name for each in before for name in each.columns}
    shared = tuple(name for name in one.columns if name in seen)
    home = next((each for each in before if set(shared) <= set(each.columns)), None)
    total = round(float(one.values.sum()))
    target = np.array(total) if home is None else np.rint(home.over(shared)).astype(np.int64)
    rest = tuple(name for name in one.columns if name not in shared)
    order = (*shared, *rest)
    for place in range(len(shared), len(order)):
        values = one.over(order[: place + 1])
        target = _cut(values.reshape(target.size, -1), target.reshape(-1)).reshape(values.shape)
    final = CountTable(columns=order, values=target.astype(float))
    return CountTable(columns=one.columns, values=final.over(one.columns))


def _cut(values: FloatArray, totals: IntArray) -> IntArray:
    """Whole numbers in proportion to each row's values that add up to its total: largest remainders, the first of
    equals."""
    sums = values.sum(axis=1, keepdims=True)
    shares = np.divide(values, sums, out=np.full(values.shape, 1.0 / values.shape[1]), where=sums > 0.0)
    exact = shares * totals[:, None]
    whole = np.floor(exact).astype(np.int64)
    missing = totals - whole.sum(axis=1)
    order = np.argsort(whole - exact, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    found: IntArray = whole + (ranks < missing[:, None])
    return found
