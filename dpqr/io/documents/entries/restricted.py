"""Restricted: factors that count only the records that fulfil a predicate.

A predicate is a product over groups of tied columns (`dpqr.io.documents.entries.where`). Factors of an entry that share
columns with such a group, or with each other, become one factor over all its cells: their product, zero where the
predicate is not true.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from msgspec import UNSET, UnsetType

from dpqr.data.arrays import Axes, IntArray
from dpqr.io.documents.entries.entry import Frame, integer_matrix
from dpqr.io.documents.entries.where import predicate_mask, predicated
from dpqr.io.documents.predicates.tree import Node
from dpqr.workload.block import Factor
from dpqr.workload.matrix import Identity

MAX_TERMS = 2**23
"""Coefficients of a factor before those that are 0 are left out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Restricted:
    """factors: of the block. order: for every combination of rows of the entry's factors, in C order, the block's row.
    work: cells that the predicate's comparisons look at."""

    factors: tuple[Factor, ...]
    order: IntArray
    work: int = 0


@dataclass(frozen=True, slots=True)
class _Tied:
    """Factors, by their places, and conjuncts on columns in domain order that have to stay together."""

    axes: Axes
    places: tuple[int, ...] = ()
    nodes: tuple[Node, ...] = ()


def restricted(factors: Sequence[Factor], where: str | UnsetType, frame: Frame) -> Restricted:
    """The factors for the records that fulfil a predicate; of all, where there is none.

    Args:
        factors: of the entry; they may share columns.

    Raises:
        DocumentError: the predicate cannot be read, or the columns that it ties together are too many.
    """
    parts = [_Tied(tuple(sorted(factor.axes)), places=(place,)) for place, factor in enumerate(factors)]
    work = 0
    if where is not UNSET:
        asked = predicated(where, frame)
        parts += [_Tied(axes, nodes=tuple(nodes)) for axes, nodes in asked.groups.items()]
        work = asked.work
    tied = sorted(_joined(parts), key=lambda one: min(one.places, default=len(factors)))
    places = [place for one in tied for place in one.places]
    rows = [factors[place].matrix.rows for place in places]
    order = np.arange(math.prod(rows)).reshape(rows or [1])
    order = order.transpose(np.argsort(places)) if places else order
    made = tuple(_made(one, [factors[place] for place in one.places], frame) for one in tied)
    return Restricted(factors=made, order=order.reshape(-1), work=work)


def _joined(parts: Sequence[_Tied]) -> list[_Tied]:
    """Those that share columns together; places ascend."""
    found: list[_Tied] = []
    for part in parts:
        together = [part, *(one for one in found if set(one.axes) & set(part.axes))]
        found = [one for one in found if one not in together]
        axes = tuple(sorted({axis for one in together for axis in one.axes}))
        places = tuple(sorted(place for one in together for place in one.places))
        found.append(_Tied(axes, places, tuple(node for one in together for node in one.nodes)))
    return found


def _made(tied: _Tied, factors: Sequence[Factor], frame: Frame) -> Factor:
    """One factor over all cells: the product of the factors where the predicate is true."""
    if len(factors) == 1 and not tied.nodes:
        return factors[0]
    mask = predicate_mask(tied.axes, tied.nodes, frame, frame.location.key("where"))
    codes, cells = np.nonzero(mask), np.flatnonzero(mask)
    queries = math.prod(factor.matrix.rows for factor in factors)
    if queries * len(cells) > MAX_TERMS:
        names = ", ".join(repr(frame.domain.attributes[axis].name) for axis in tied.axes)
        raise frame.location.fault(
            f"ties {names} together: {queries} queries on {len(cells)} cells, more than {MAX_TERMS} coefficients; ask "
            "for fewer groups, or merge cells"
        )
    terms = np.ones((1, len(cells)), dtype=np.int64)
    for factor in factors:
        own = np.ravel_multi_index(tuple(codes[tied.axes.index(axis)] for axis in factor.axes), factor.sizes)
        table = factor.matrix.table(0, factor.matrix.rows)[:, own]
        terms = (terms[:, None, :] * table[None, :, :]).reshape(-1, len(cells))
    rows, places = np.nonzero(terms)
    matrix = integer_matrix(rows, cells[places], terms[rows, places], (len(terms), mask.size))
    labels = tuple(_labels(factors, frame))
    return Factor(axes=tied.axes, sizes=mask.shape, matrix=matrix, labels=labels if any(labels) else ())


def _labels(factors: Sequence[Factor], frame: Frame) -> Iterator[str]:
    """Of every combination of rows."""
    for parts in product(*(_named(factor, frame) for factor in factors)):
        yield ", ".join(filter(None, parts))


def _named(factor: Factor, frame: Frame) -> tuple[str, ...]:
    if not isinstance(factor.matrix, Identity):
        return factor.labels or ("",) * factor.matrix.rows
    attribute = frame.domain.attributes[factor.axes[0]]
    return tuple(f"{attribute.name}={title}" for title in attribute.titles())


def condition(where: str | UnsetType) -> str:
    """What a name says of a predicate."""
    return "" if where is UNSET else f" where {' '.join(where.split())}"
