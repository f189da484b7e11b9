"""Predicates as query blocks: a Kronecker product of one-row factors, one for each group of tied columns.

Columns are tied by `or`, by `not` and by being repeated; a group is one factor over all its cells. A `by` column that
the predicate names joins its group: the factor then has one row for each of its cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field

from dpqr.domain.attribute import Bins, Labels
from dpqr.domain.columns import scale_of
from dpqr.domain.domain import Domain, Region
from dpqr.domain.predicate_cells import Mask, evaluate
from dpqr.domain.predicates import And, Node, columns, comparisons, conjuncts, parse_over
from dpqr.domain.text.decoding import Location
from dpqr.kernel.arrays import Axes, IntArray
from dpqr.kernel.noise.public import public_generator
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.entry import CompiledEntry, EntryContext, default_name, integer_matrix
from dpqr.workload.form import MAX_BLOCKS, MAX_WORK, ConjunctionsEntry, RandomConjunctions, WhereEntry
from dpqr.workload.matrix import Identity
from dpqr.workload.ranges import Ranges

MAX_GROUP_CELLS = 2**22
"""Cells of one group of columns that a predicate ties together."""


class CompiledPredicate(Struct, frozen=True):
    """A predicate's conjuncts by the group of columns, in domain order, that they are tied to. work: cells that its
    comparisons look at."""

    groups: dict[Axes, list[Node]]
    work: int


def compile_predicate(text: str, frame: EntryContext, key: str = "where") -> CompiledPredicate:
    """The predicate of an entry, at this key. DocumentError where it cannot be read, or would take minutes."""
    location = frame.location.key(key)
    predicate = parse_over(frame.domain, text, location)
    # The conjuncts by the group of columns, in domain order, that they are tied to.
    groups: list[tuple[set[int], list[Node]]] = []
    for part in conjuncts(predicate):
        axes = {frame.axis(name, location) for name in columns(part)}
        nodes = [part]
        for group in [group for group in groups if group[0] & axes]:
            groups.remove(group)
            axes, nodes = axes | group[0], group[1] + nodes
        groups.append((axes, nodes))
    # A predicate that would keep the machine busy for minutes is refused.
    cells = {name: frame.domain.attributes[frame.axis(name, location)].size for name in columns(predicate)}
    work = sum(cells[leaf.column] for leaf in comparisons(predicate))
    if work > MAX_WORK:
        raise location.fault(f"its comparisons look at {work} cells, more than {MAX_WORK}; shorten it, or merge cells")
    return CompiledPredicate({tuple(sorted(axes)): nodes for axes, nodes in groups}, work)


def compile_where(entry: WhereEntry, frame: EntryContext) -> CompiledEntry:
    """One block: a row for every combination of `by` cells for which the predicate can be true."""
    by = frame.axes(entry.by, frame.location.key("by"))
    compiled = compile_predicate(entry.where, frame)
    spoken = {axis for group in compiled.groups for axis in group}
    plain = frame.identities(tuple(axis for axis in by if axis not in spoken))
    groups = []
    for group, nodes in compiled.groups.items():
        said = group, tuple(nodes), tuple(axis for axis in group if axis in by)
        if said not in frame.known:
            mask = predicate_mask(group, nodes, frame, frame.location.key("where"))
            kept = [position for position, axis in enumerate(group) if axis in by]
            # For every true cell (C order) the row that counts it, and what the rows are called.
            codes, cells = np.nonzero(mask), np.flatnonzero(mask)
            rows, labels = np.zeros(len(cells), dtype=np.int64), tuple[str, ...]()
            if kept:
                sizes = tuple(mask.shape[position] for position in kept)
                places = np.ravel_multi_index(tuple(codes[position] for position in kept), sizes)
                distinct, rows = np.unique(places, return_inverse=True)
                attributes = [frame.domain.attributes[group[position]] for position in kept]
                named = [[f"{attribute.name}={title}" for title in attribute.titles()] for attribute in attributes]
                picks = zip(*(column.tolist() for column in np.unravel_index(distinct, sizes)), strict=True)
                labels = tuple(", ".join(t[c] for t, c in zip(named, pick, strict=True)) for pick in picks)
            matrix = integer_matrix(rows, cells, np.ones(len(cells), dtype=np.int64), (max(len(labels), 1), mask.size))
            frame.known[said] = Factor(axes=group, sizes=mask.shape, matrix=matrix, labels=labels)
        groups.append(frame.known[said])
    rank = {axis: position for position, axis in enumerate(by)}
    factors = sorted((*plain, *groups), key=lambda factor: min(rank.get(axis, len(by)) for axis in factor.axes))
    name = default_name(f"where({' '.join(entry.where.split())})", entry.by)
    return CompiledEntry(blocks=(QueryBlock(name=name, factors=tuple(factors)),), work=compiled.work)


def predicate_mask(group: Axes, nodes: Sequence[Node], frame: EntryContext, location: Location) -> Mask:
    """Where all conjuncts are true: an axis for each column of the group. DocumentError: in no cell."""
    sizes = tuple(frame.domain.attributes[axis].size for axis in group)
    if math.prod(sizes) > MAX_GROUP_CELLS:
        names = ", ".join(repr(frame.domain.attributes[axis].name) for axis in group)
        raise location.fault(
            f"ties {names} together by or, not or by: {math.prod(sizes)} cells, more than {MAX_GROUP_CELLS}; "
            "split it into entries of fewer columns"
        )
    if not nodes:
        return np.ones(sizes, dtype=np.bool_)
    mask = np.broadcast_to(evaluate(And(tuple(nodes)), frame.domain, group, location).true, sizes)
    if not mask.any():
        raise location.fault("is true for no cell of the domain, so its answer is always 0; correct it or leave it out")
    return mask


def fulfilling(where: str | UnsetType, frame: EntryContext) -> tuple[tuple[Region, ...], int]:
    """The cells for which the predicate of an entry is true, by groups of columns, none where there is no predicate;
    and how many cells its comparisons look at. DocumentError: it cannot be read, or is true in no cell."""
    if where is UNSET:
        return (), 0
    compiled, location = compile_predicate(where, frame), frame.location.key("where")
    masks = {axes: predicate_mask(axes, nodes, frame, location) for axes, nodes in compiled.groups.items()}
    return tuple(Region(text=where, axes=axes, cells=mask) for axes, mask in masks.items()), compiled.work


# Restricted: factors that count only the records that fulfil a predicate.
#
# A predicate is a product over groups of tied columns (`dpqr.workload.conditions`). Factors of an entry that share
# columns with such a group, or with each other, become one factor over all its cells: their product, zero where the
# predicate is not true.

MAX_TERMS = 2**23
"""Coefficients of a factor before those that are 0 are left out."""


class RestrictedFactors(Struct, frozen=True, kw_only=True, eq=False):
    """factors: of the block. order: for every combination of rows of the entry's factors, in C order, the block's row.
    work: cells that the predicate's comparisons look at."""

    factors: tuple[Factor, ...]
    order: IntArray
    work: int = 0


class _JoinedFactors(Struct, frozen=True):
    """Factors, by their places, and conjuncts on columns in domain order that have to stay together."""

    axes: Axes
    places: tuple[int, ...] = ()
    nodes: tuple[Node, ...] = ()


def restrict_factors(factors: Sequence[Factor], where: str | UnsetType, frame: EntryContext) -> RestrictedFactors:
    """The factors for the records that fulfil a predicate; of all, where there is none.

    Args:
        factors: of the entry; they may share columns.

    Raises:
        DocumentError: the predicate cannot be read, or the columns that it ties together are too many.
    """
    parts = [_JoinedFactors(tuple(sorted(factor.axes)), places=(place,)) for place, factor in enumerate(factors)]
    work = 0
    if where is not UNSET:
        compiled = compile_predicate(where, frame)
        parts += [_JoinedFactors(axes, nodes=tuple(nodes)) for axes, nodes in compiled.groups.items()]
        work = compiled.work
    # Those that share columns together; places ascend.
    joined: list[_JoinedFactors] = []
    for part in parts:
        together = [part, *(one for one in joined if set(one.axes) & set(part.axes))]
        joined = [one for one in joined if one not in together]
        axes = tuple(sorted({axis for one in together for axis in one.axes}))
        shared = tuple(sorted(place for one in together for place in one.places))
        joined.append(_JoinedFactors(axes, shared, tuple(node for one in together for node in one.nodes)))
    tied = sorted(joined, key=lambda one: min(one.places, default=len(factors)))
    places = [place for one in tied for place in one.places]
    rows = [factors[place].matrix.rows for place in places]
    order = np.arange(math.prod(rows)).reshape(rows or [1])
    order = order.transpose(np.argsort(places)) if places else order
    made = tuple(_restricted_factors(one, [factors[place] for place in one.places], frame) for one in tied)
    return RestrictedFactors(factors=made, order=order.reshape(-1), work=work)


def _restricted_factors(tied: _JoinedFactors, factors: Sequence[Factor], frame: EntryContext) -> Factor:
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
    # The labels of every combination of rows.
    named: list[tuple[str, ...]] = []
    for factor in factors:
        attribute = frame.domain.attributes[factor.axes[0]]
        if isinstance(factor.matrix, Identity):
            named.append(tuple(f"{attribute.name}={title}" for title in attribute.titles()))
        else:
            named.append(factor.labels or ("",) * factor.matrix.rows)
    labels = tuple(", ".join(filter(None, parts)) for parts in product(*named))
    return Factor(axes=tied.axes, sizes=mask.shape, matrix=matrix, labels=labels if any(labels) else ())


def condition(where: str | UnsetType) -> str:
    """What a name says of a predicate."""
    return "" if where is UNSET else f" where {' '.join(where.split())}"


# Random conjunctions from a public seed, kept as intervals of cells and grouped by their columns.
#
# Each block holds the conjunctions on one set of columns, row by row. So a million of them need two numbers a
# comparison, and are answered from one small marginal a block (`dpqr.workload.ranges`).

MOST_WAYS = 5
CHUNK = 2**20
"""Keys drawn at once to pick columns by."""


class _RandomComparisons(Struct, frozen=True, kw_only=True, eq=False):
    """ways: comparisons of each query; columns, starts, stops: shape (queries, most ways), the first `ways` count."""

    ways: IntArray
    columns: IntArray
    starts: IntArray
    stops: IntArray


def compile_conjunctions(entry: ConjunctionsEntry, frame: EntryContext) -> CompiledEntry:
    """One block for every set of columns that occurs, its rows in the order in which they were drawn."""
    conjunctions, location = entry.conjunctions, frame.location.key("conjunctions")
    names = frame.domain.names if conjunctions.columns is UNSET else conjunctions.columns
    axes = frame.axes(names, location.key("columns"))
    low, high = conjunctions.ways
    if not 1 <= low <= high <= min(MOST_WAYS, len(axes)):
        raise location.key("ways").fault(
            f"expected two numbers [from, to], 1 <= from <= to <= {min(MOST_WAYS, len(axes))} "
            f"(there are {len(axes)} columns, and at most {MOST_WAYS} comparisons)"
        )
    drawn, texts = _drawn_conjunctions(conjunctions, axes, frame), _Texts(frame.domain)
    title = (
        f"conjunctions({conjunctions.random} random, seed {conjunctions.seed})" if entry.name is UNSET else entry.name
    )
    # The rows that look at each set of columns, ascending.
    codes = np.zeros(len(drawn.ways), dtype=np.int64)
    for nth in range(drawn.columns.shape[1]):
        codes = codes * (len(axes) + 1) + drawn.columns[:, nth]
    in_order = np.argsort(codes, kind="stable")
    blocks: list[QueryBlock] = []
    for rows in np.split(in_order, np.flatnonzero(np.diff(codes[in_order])) + 1):
        if len(blocks) >= MAX_BLOCKS:
            raise location.fault(f"they look at more than {MAX_BLOCKS} sets of columns; list fewer columns")
        first = drawn.columns[rows[0]]
        chosen, factors = [axes[int(column)] for column in first[first < len(axes)]], []
        for nth, axis in enumerate(chosen):
            starts, stops = drawn.starts[rows, nth], drawn.stops[rows, nth]
            size, labels = frame.domain.attributes[axis].size, texts.labels(axis, starts, stops)
            factors.append(Factor(axes=(axis,), sizes=(size,), matrix=Ranges(starts, stops, size), labels=labels))
        named = ",".join(frame.domain.attributes[axis].name for axis in chosen)
        blocks.append(QueryBlock(name=f"{title} on {named}", factors=tuple(factors), rowwise=True))
    return CompiledEntry(blocks=tuple(blocks))


def _drawn_conjunctions(conjunctions: RandomConjunctions, axes: Axes, frame: EntryContext) -> _RandomComparisons:
    """Ways, columns and comparisons, uniformly: of an ordered column =, <= or >, of others and pairs of cells =.

    A comparison is true of declared cells only, never of the column's own ones for null and the like.
    """
    generator = public_generator(conjunctions.seed)
    (low, high), count = conjunctions.ways, conjunctions.random
    sizes = np.array([frame.domain.attributes[axis].axis.size for axis in axes])
    ordered = np.array([frame.domain.attributes[axis].ordered for axis in axes])
    ways = generator.integers(low, high + 1, count)
    columns = np.empty((count, high), dtype=np.int64)
    step = max(1, CHUNK // len(axes))
    for start in range(0, count, step):
        keys = generator.random((min(step, count - start), len(axes)))
        columns[start : start + step] = np.argsort(keys, axis=1)[:, :high]
    columns[np.arange(high) >= ways[:, None]] = len(axes)
    columns.sort(axis=1)
    sizes, ordered = np.append(sizes, 1)[columns], np.append(ordered, False)[columns]
    kind = np.where(ordered & (sizes > 2), generator.integers(0, 3, columns.shape), 0)
    cut = generator.integers(0, sizes - (kind > 0))
    starts = np.where(kind == 0, cut, np.where(kind == 1, 0, cut + 1))
    stops = np.where(kind == 2, sizes, cut + 1)
    return _RandomComparisons(ways=ways, columns=columns, starts=starts, stops=stops)


class _Texts(Struct, frozen=True):
    """What comparisons are called: one text for each that occurs, shared by all rows that make it."""

    domain: Domain
    _scales: dict[int, Labels | Bins] = field(default_factory=dict)
    _known: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def labels(self, axis: int, starts: IntArray, stops: IntArray) -> tuple[str, ...]:
        attribute = self.domain.attributes[axis]
        if axis not in self._scales:
            self._scales[axis] = scale_of(attribute.axis)
        scale, cells = self._scales[axis], attribute.size + 1
        codes, inverse = np.unique(starts * cells + stops, return_inverse=True)
        texts = []
        for start, stop in (divmod(code, cells) for code in codes.tolist()):
            if (axis, start, stop) not in self._known:
                sign = "=" if isinstance(scale, Labels) and stop - start == 1 else "in"
                self._known[axis, start, stop] = f"{attribute.name} {sign} {scale.span_title(start, stop - 1)}"
            texts.append(self._known[axis, start, stop])
        return tuple(texts[pick] for pick in inverse.tolist())
