"""Views: ways of looking at an outcome that turn it into one number, larger where the first database is likelier.

They are learned from runs that are then never used to test anything, so a bad view costs power and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpqr.audit.case import Outcomes
from dpqr.data.arrays import FloatArray, IntArray, WordArray

View = Callable[[Outcomes], FloatArray]
"""Scores of runs, shape (runs,)."""

FEW = 24
"""A column with no more distinct values is taken as it is; another is cut into BINS of equal weight."""
BINS = 16
WIDEST = 8
"""Columns of which all pairs are compared."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def views(one: Outcomes, two: Outcomes) -> Iterator[View]:
    """Every way of telling `one` from `two`: whole outcomes, a sum of evidence, single numbers, differences."""
    yield Joint.learned(one, two)
    yield Evidence.learned(one, two)
    for column in _varying(_numbers(one), _numbers(two)):
        yield _oriented(Number(column=column), one, two)
    for left, right in combinations(range(min(one.measured.shape[1], WIDEST)), 2):
        yield _oriented(Difference(left=left, right=right), one, two)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One of the measured or derived numbers. It sees what is published beside the noise, such as an exact total."""

    column: int
    sign: int = 1

    def __call__(self, seen: Outcomes) -> FloatArray:
        width = seen.measured.shape[1]
        found = seen.measured[:, self.column] if self.column < width else seen.derived[:, self.column - width]
        return self.sign * found.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One measured number minus another. It sees noise that was used twice: there it cancels."""

    left: int
    right: int
    sign: int = 1

    def __call__(self, seen: Outcomes) -> FloatArray:
        apart = seen.measured[:, self.left] - seen.measured[:, self.right]
        return self.sign * apart.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Log-ratios of how often each key was seen; 0 for one that was not. Counts are smoothed by one."""

    keys: WordArray
    ratios: FloatArray

    @classmethod
    def learned(cls, one: WordArray, two: WordArray) -> Table:
        keys, places = np.unique(np.concatenate([one, two]), return_inverse=True)
        here = np.bincount(places[: len(one)], minlength=len(keys))
        there = np.bincount(places[len(one) :], minlength=len(keys))
        return cls(keys=keys, ratios=np.log(here + 1.0) - np.log(there + 1.0))

    def look(self, keys: WordArray) -> FloatArray:
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.ratios[places], 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """The log-ratio of the whole outcome: exact where outcomes are few."""

    table: Table

    @classmethod
    def learned(cls, one: Outcomes, two: Outcomes) -> Joint:
        return cls(table=Table.learned(_whole(one), _whole(two)))

    def __call__(self, seen: Outcomes) -> FloatArray:
        return self.table.look(_whole(seen))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The log-ratio of the context plus, for every measured number, that of the number given the context.

    The exact log-ratio where the numbers are independent given the context; many numbers do not thin it out.
    """

    context: Table
    numbers: tuple[tuple[IntArray, Table], ...]

    @classmethod
    def learned(cls, one: Outcomes, two: Outcomes) -> Evidence:
        here, there = _keys(one.context), _keys(two.context)
        found = []
        for left, right in zip(one.measured.T, two.measured.T, strict=True):
            edges = _edges(np.concatenate([left, right]))
            found.append((edges, Table.learned(_within(here, left, edges), _within(there, right, edges))))
        return cls(context=Table.learned(here, there), numbers=tuple(found))

    def __call__(self, seen: Outcomes) -> FloatArray:
        keys = _keys(seen.context)
        prior = self.context.look(keys)
        score = prior.copy()
        for column, (edges, table) in zip(seen.measured.T, self.numbers, strict=True):
            score += table.look(_within(keys, column, edges)) - prior
        return score


def _numbers(seen: Outcomes) -> IntArray:
    return np.concatenate([seen.measured, seen.derived], axis=1)


def _varying(one: IntArray, two: IntArray) -> list[int]:
    """The columns that are not the same in every run."""
    low, high = np.minimum(one.min(axis=0), two.min(axis=0)), np.maximum(one.max(axis=0), two.max(axis=0))
    found: list[int] = np.flatnonzero(low < high).tolist()
    return found


def _oriented(view: Number | Difference, one: Outcomes, two: Outcomes) -> View:
    """The view or its mirror, so that the first database scores higher on average."""
    if view(one).mean() >= view(two).mean():
        return view
    if isinstance(view, Number):
        return Number(column=view.column, sign=-1)
    return Difference(left=view.left, right=view.right, sign=-1)


def _edges(values: IntArray) -> IntArray:
    distinct = np.unique(values)
    if len(distinct) <= FEW:
        return distinct[1:]
    return np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))


def _whole(seen: Outcomes) -> WordArray:
    return _keys(np.concatenate([seen.context, seen.measured], axis=1))


def _within(keys: WordArray, column: IntArray, edges: IntArray) -> WordArray:
    return _mixed(keys, np.searchsorted(edges, column, side="right"))


def _keys(rows: IntArray) -> WordArray:
    """One word a row. Two rows that happen to share one are merged, which can only weaken the view."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        keys = _mixed(keys, column)
    return keys


def _mixed(keys: WordArray, column: IntArray) -> WordArray:
    mixed = (keys ^ column.astype(np.uint64)) * _ODD
    return mixed ^ (mixed >> _SHIFT)
