"""Views: the answers of marginals and hierarchies in whole numbers that add up, beside the answers as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct, field

from dpqr.domain.attribute import HierarchyLevel
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, answered_block
from dpqr.releases.files.tidy import NO_TEXT, Column, Row, Texts, Tidy, free_column_name
from dpqr.releases.result import FinishedRun
from dpqr.workload.block import Factor
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import groups_of
from dpqr.workload.workload import Workload

VIEW_COLUMNS = ("query", "answer", "integer", "rounded", "mark")
UNSURE = 1 / 3
"""Of a value: an error above this marks a small cell."""
MARK = "unsure"
NO_TABLE = "views are of marginals and hierarchies without weights, and there are none among the queries; ask for one"


class WholeNumberViews(Struct, frozen=True, kw_only=True, eq=False):
    """blocks: marginals, and levels of hierarchies. integer, rounded: of each block's answers, shape (rows,). base: of
    the rounded ones."""

    blocks: tuple[AnsweredBlock, ...]
    integer: tuple[IntArray, ...]
    rounded: tuple[IntArray, ...]
    base: int

    @property
    def bias(self) -> tuple[str, ...]:
        """By how much each view moves the answers, in words."""
        return tuple(
            f"{name}: moves an answer by {moved.mean():+.2g} on average, and by at most {np.abs(moved).max():.3g}"
            for name, moved in (
                ("integer", _moved(self.blocks, self.integer)),
                (f"rounded to {self.base}", _moved(self.blocks, self.rounded)),
            )
        )


class Nodes(Struct, frozen=True, kw_only=True, eq=False):
    """Which blocks count the nodes of a level. names: of that level, by block. levels: what lies above each of them."""

    names: Mapping[str, str] = field(default_factory=dict)
    levels: Levels = field(default_factory=dict)


def nodes_of(workload: Workload, domain: Domain) -> Nodes:
    """The levels of columns with parents that blocks ask for, by themselves or crossed with other columns."""
    names: dict[str, str] = {}
    places: dict[str, dict[str, IntArray]] = {}
    for block in workload.blocks:
        found = [_level(factor, domain) for factor in block.factors]
        above = [each for each in found if each is not None]
        if len(above) == 1 and all(
            each is not None or isinstance(factor.matrix, Identity)
            for each, factor in zip(found, block.factors, strict=True)
        ):
            column, level = above[0]
            names[block.name] = f"{column}: {level.name}"
            places.setdefault(column, {})[names[block.name]] = level.places
    levels: dict[str, Above] = {}
    for column, held in places.items():
        coarsest_first = sorted(held, key=lambda name: int(held[name].max()))
        for name, finer in pairwise([*coarsest_first, column]):
            cells = held.get(finer, np.arange(len(held[name])))
            nodes = np.zeros(int(cells.max()) + 1, dtype=np.int64)
            nodes[cells] = held[name]
            levels[finer] = Above(name=name, nodes=nodes)
    return Nodes(names=names, levels=levels)


def _level(factor: Factor, domain: Domain) -> tuple[str, HierarchyLevel] | None:
    """The column and the level whose nodes a factor counts."""
    groups = None if isinstance(factor.matrix, Identity) else groups_of(factor.matrix)
    attribute = domain.attributes[factor.axes[0]]
    if groups is None or len(factor.axes) > 1 or attribute.hierarchy is None:
        return None
    found = (level for level in attribute.hierarchy.levels if np.array_equal(level.places, groups))
    level = next(found, None)
    return None if level is None else (attribute.name, level)


def views_of(blocks: Sequence[AnsweredBlock], nodes: Nodes, base: int) -> WholeNumberViews:
    """Views of marginals and levels. Raises: InfeasiblePlan where there are none, or too many cells overlap.

    Privacy:
        Post-processing of released answers, without a draw.
    """
    if not blocks:
        raise InfeasiblePlan(NO_TABLE)
    tables = []
    for block in blocks:
        # Dimensions in the order of the answers: the column that changes least often is the first.
        held = sorted(block.columns, key=lambda column: int(np.argmax(column.places > 0)), reverse=True)
        names = tuple(nodes.names[block.name] if column.name == DETAIL else column.name for column in held)
        values = block.estimate.reshape([len(column.texts) for column in held])
        tables.append(CountTable(columns=names, values=values))
    views = {step: tuple(each.reshape(-1) for each in added_up(tables, step, nodes.levels)) for step in {1, base}}
    return WholeNumberViews(blocks=tuple(blocks), integer=views[1], rounded=views[base], base=base)


def require_views(workload: Workload, domain: Domain) -> None:
    """InfeasiblePlan where a release of this workload has no views. Public: asked before anything is spent."""
    nodes = nodes_of(workload, domain)
    blocks = [block for block in workload.blocks if block.is_marginal or block.name in nodes.names]
    if not blocks:
        raise InfeasiblePlan(f"--views: {NO_TABLE}")
    tables = [
        CountTable(
            columns=tuple(
                domain.names[factor.axes[0]] if isinstance(factor.matrix, Identity) else nodes.names[block.name]
                for factor in block.factors
            ),
            values=np.broadcast_to(0.0, [factor.matrix.rows for factor in block.factors]),
        )
        for block in blocks
    ]
    added_up(tables, 1, nodes.levels)


def release_views(release: FinishedRun, base: int) -> WholeNumberViews:
    """The same of a release in memory."""
    problem = release.plan.problem
    nodes = nodes_of(problem.workload, problem.domain)
    of_records = [each for each in release.answers if each.block.most_cells is None]  # persons add up to nothing
    held = [each for each in of_records if each.block.is_marginal or each.block.name in nodes.names]
    return views_of([answered_block(each, problem.domain) for each in held], nodes, base)


def views_table(views: WholeNumberViews) -> Tidy:
    """One row an answer: its cells or node, the answer, and every view of it.

    mark: where the error of the answer is above a third of it.
    """
    sizes = [block.rows for block in views.blocks]
    places = np.repeat(np.arange(len(sizes)), sizes)
    columns: dict[str, Column] = {"query": Texts(places, [block.name for block in views.blocks])}
    for name in dict.fromkeys(column.name for block in views.blocks for column in block.columns):
        # A column of cells, or of nodes, whose texts are other ones in each block.
        at: list[IntArray] = []
        titles: list[str] = []
        for block in views.blocks:
            own = next((column for column in block.columns if column.name == name), None)
            at.append(np.full(block.rows, NO_TEXT) if own is None else own.places + len(titles))
            titles.extend(own.texts if own else ())
        columns[free_column_name(VIEW_COLUMNS, name)] = Texts(np.concatenate(at), titles)
    columns["answer"] = np.concatenate([block.estimate for block in views.blocks]) + 0.0
    columns["integer"] = np.concatenate(views.integer)
    columns["rounded"] = np.concatenate(views.rounded)
    marks = np.concatenate(
        [np.where(block.precision > UNSURE * np.abs(block.estimate), 0, NO_TEXT) for block in views.blocks]
    )
    columns["mark"] = Texts(marks, (MARK,))
    return Tidy(sum(sizes), columns)


def view_records(views: WholeNumberViews) -> list[Row]:
    """The same rows as plain dicts, for JSON."""
    return views_table(views).records()


def _moved(blocks: Sequence[AnsweredBlock], views: Sequence[IntArray]) -> FloatArray:
    pairs = zip(blocks, views, strict=True)
    return np.concatenate([np.nan_to_num(view - block.estimate) for block, view in pairs])


# Adding up: tables of counts rounded to whole multiples of a base, so that all that they have in common adds up.
#
# Controlled rounding, without a draw. A dimension of a table is a column, or a level of one: its nodes are then sums of
# those of a finer level (`Above`). The tables that lie within no other are put into an order in which each shares with
# those before it the columns and levels of a single one of them (a join tree). Each is filled from the counts of the
# shared ones that are rounded already: column after column, the smallest first, and level after level, the coarsest
# first, a count is divided among its parts. Every smaller table is a sum over one that holds it. Tables that overlap in
# a cycle have no such order; they are joined first, by iterative proportional fitting of one table of all their
# columns.
#
# A count is divided in proportion to the values of its parts; where these are more than it, all are lowered by one
# number and cut off at 0 (the projection on a simplex: parts below 0, which noise makes, take from their neighbours and
# not from the count). Then by the method of largest remainders (Hamilton), the first of equals.
#
# A value of a table moves by less than one base for each time that it was divided, beside what the shared counts moved.
#
# References:
#     Projection on a simplex: Held, Wolfe and Crowder 1974. Top-down integers: Abowd et al. 2022.

MOST_CELLS = 2**22
"""Of a table that is made of several which overlap in a cycle."""
SWEEPS, CLOSE = 50, 1e-3
"""Of the fit of such a table: at most so many, until no count is further off, in bases."""


class Above(Struct, frozen=True, kw_only=True, eq=False):
    """The next coarser level of a column: its name, and which of its nodes each cell lies in, shape (cells,)."""

    name: str
    nodes: IntArray


Levels = Mapping[str, Above]
"""By the name of the finer level, or of the column."""


class CountTable(Struct, frozen=True, kw_only=True, eq=False):
    """columns: names of the dimensions of `values`, columns or levels of them; none: the total.

    >>> CountTable(columns=("sex",), values=np.array([1.2, 2.9])).over((), {})
    array(4.1)
    """

    columns: tuple[str, ...]
    values: FloatArray

    def over(self, columns: Sequence[str], levels: Levels) -> FloatArray:
        """The sums over all else, dimensions in the order of `columns`, which are its own, or levels above them."""
        summed, held = self.values, list(self.columns)
        for name in self.columns:
            place, chain = held.index(name), _chain(name, levels)
            kept = next((each for each in chain if each in columns), None)
            if kept is None:
                summed = summed.sum(axis=place)
                held.pop(place)
            elif kept != name:
                nodes, front = _nodes(name, kept, levels), np.moveaxis(summed, place, 0)
                sums = np.zeros((int(nodes.max()) + 1, *front.shape[1:]))
                np.add.at(sums, nodes, front)
                summed = np.moveaxis(sums, 0, place)
                held[place] = kept
        turned: FloatArray = np.asarray(summed).transpose([held.index(name) for name in columns])
        return turned


def added_up(tables: Sequence[CountTable], base: int, levels: Levels) -> list[IntArray]:
    """Every table in multiples of `base`, none below 0; sums over equal columns and levels are equal in all tables.

    Raises:
        InfeasiblePlan: tables that overlap in a cycle have too many cells together.
    """
    scaled = [replace(one, values=np.nan_to_num(one.values, nan=0.0) / base) for one in tables]
    rounded: list[CountTable] = []
    for one in _ordered(_largest(scaled, levels), levels):
        rounded.append(_filled(one, rounded, levels))
    found = []
    for table in scaled:
        home = next(each for each in rounded if _held(table, levels) <= _held(each, levels))
        found.append(np.rint(home.over(table.columns, levels)).astype(np.int64) * base)
    return found


def _chain(name: str, levels: Levels) -> list[str]:
    """A column or level and those above it, the finest first."""
    chain = [name]
    while chain[-1] in levels:
        chain.append(levels[chain[-1]].name)
    return chain


def _nodes(name: str, above: str, levels: Levels) -> IntArray:
    """The node of every cell on a level above."""
    nodes = levels[name].nodes
    for each in _chain(levels[name].name, levels):
        if each == above:
            break
        nodes = levels[each].nodes[nodes]
    return nodes


def _held(table: CountTable, levels: Levels) -> frozenset[str]:
    """All columns and levels that a table has sums of."""
    return frozenset(each for name in table.columns for each in _chain(name, levels))


def _finest(names: frozenset[str], levels: Levels) -> frozenset[str]:
    """Without the levels that lie above others."""
    return names - {each for name in names for each in _chain(name, levels)[1:]}


def _largest(tables: Sequence[CountTable], levels: Levels) -> list[CountTable]:
    """Those within no other, each set of columns once; columns in one order for all, the smallest first."""
    sizes = {name: size for one in tables for name, size in zip(one.columns, one.values.shape, strict=True)}
    order = sorted(sizes, key=sizes.__getitem__)
    kept: dict[frozenset[str], CountTable] = {}
    for one in sorted(tables, key=lambda each: -len(_held(each, levels))):
        held = _held(one, levels)
        if not any(held <= other for other in kept):
            columns = tuple(name for name in order if name in one.columns)
            kept[held] = CountTable(columns=columns, values=one.over(columns, levels))
    return list(kept.values())


def _ordered(tables: list[CountTable], levels: Levels) -> list[CountTable]:
    """Each shares with those before it the columns of one of them; those that form a cycle are joined."""
    placed: list[CountTable] = []
    left, seen = list(tables), frozenset[str]()
    while left:
        left.sort(key=lambda one: len(seen & _held(one, levels)), reverse=True)
        one = left.pop(0)
        shared = seen & _held(one, levels)
        if shared and not any(shared <= _held(each, levels) for each in placed):
            others = [each for each in placed if shared & _held(each, levels)]
            return _ordered(_joined(tables, [one, *others], levels), levels)
        placed.append(one)
        seen |= _held(one, levels)
    return placed


def _joined(tables: list[CountTable], parts: list[CountTable], levels: Levels) -> list[CountTable]:
    """With one table in place of some that overlap."""
    sizes = {name: size for each in parts for name, size in zip(each.columns, each.values.shape, strict=True)}
    columns = tuple(sorted(_finest(frozenset(sizes), levels), key=sizes.__getitem__))
    if math.prod(sizes[name] for name in columns) > MOST_CELLS:
        names = ", ".join(" x ".join(each.columns) for each in parts)
        cells = math.prod(sizes[name] for name in columns)
        raise InfeasiblePlan(
            f"the queries {names} overlap in a cycle of {cells:,} cells, and views add up at most {MOST_CELLS:,}; ask "
            "for a marginal of all these columns, or for fewer"
        )
    whole = CountTable(columns=columns, values=np.ones([sizes[name] for name in columns]))
    wanted = [np.maximum(each.values, 0.0) for each in parts]
    for _ in range(SWEEPS):
        moved = 0.0
        for part, values in zip(parts, wanted, strict=True):
            held = whole.over(part.columns, levels)
            moved = max(moved, float(np.abs(values - held).max()))
            ratio = np.divide(values, held, out=np.zeros_like(held), where=held > 0.0)
            whole = replace(whole, values=whole.values * _spread(ratio, part.columns, columns, levels))
        if moved < CLOSE:
            break
    return [whole, *(each for each in tables if each not in parts)]


def _spread(values: FloatArray, columns: Sequence[str], finer: Sequence[str], levels: Levels) -> FloatArray:
    """Each value for all cells of the finer columns that lie in its own: the reverse of `over`."""
    held = [next((each for each in columns if each in _chain(name, levels)), None) for name in finer]
    turned = values.transpose([columns.index(each) for each in held if each is not None])
    spread = np.expand_dims(turned, tuple(place for place, each in enumerate(held) if each is None))
    for place, (name, each) in enumerate(zip(finer, held, strict=True)):
        if each is not None and each != name:
            spread = spread.take(_nodes(name, each, levels), axis=place)
    return spread


def _filled(one: CountTable, before: Sequence[CountTable], levels: Levels) -> CountTable:
    """Whole numbers that add up to those of the tables before."""
    seen = frozenset(name for each in before for name in _held(each, levels))
    shared = _held(one, levels) & seen
    home = next((each for each in before if shared <= _held(each, levels)), None)
    columns = [name for name in _names(one, levels) if name in _finest(shared, levels)]
    total = max(round(float(one.values.sum())), 0)
    target = np.array(total) if home is None else np.rint(home.over(columns, levels)).astype(np.int64)
    for name in _names(one, levels):
        if name in shared:
            continue
        above = levels.get(name)
        wider = np.arange(target.size).reshape(target.shape)
        if above is not None and above.name in columns:
            place = columns.index(above.name)
            columns[place] = name
            values, parents = one.over(columns, levels), wider.take(above.nodes, axis=place)
        else:
            columns.append(name)
            values = one.over(columns, levels)
            parents = np.broadcast_to(wider[..., None], values.shape)
        target = _divided(values.reshape(-1), parents.reshape(-1), target.reshape(-1)).reshape(values.shape)
    final = CountTable(columns=tuple(columns), values=target.astype(float))
    return replace(one, values=final.over(one.columns, levels))


def _names(one: CountTable, levels: Levels) -> list[str]:
    """All that it is divided by: column after column, the coarsest level of each first."""
    return [each for name in one.columns for each in _chain(name, levels)[::-1]]


def _divided(values: FloatArray, parents: IntArray, totals: IntArray) -> IntArray:
    """Non-negative whole numbers near `values` whose sums by parent are `totals`."""
    positive = np.maximum(values, 0.0)
    sums = np.bincount(parents, weights=positive, minlength=len(totals))
    shares = np.divide(totals, sums, out=np.zeros(len(totals)), where=sums > 0.0)
    evenly = totals / np.bincount(parents, minlength=len(totals))
    raised = np.where((sums > 0.0)[parents], positive * shares[parents], evenly[parents])
    lowered = np.maximum(positive - _shift(positive, parents, totals)[parents], 0.0)
    return _rounded(np.where((sums > totals)[parents], lowered, raised), parents, totals)


def _shift(values: FloatArray, parents: IntArray, totals: IntArray) -> FloatArray:
    """By how much values of a parent are lowered, and cut off at 0, to add up to less than before."""
    order = np.lexsort((-values, parents))
    parent, falling = parents[order], values[order]
    starts = np.searchsorted(parent, np.arange(len(totals)))
    summed = np.cumsum(falling)
    within = summed - (summed[starts] - falling[starts])[parent]
    lowered = (within - totals[parent]) / (np.arange(len(values)) - starts[parent] + 1)
    above = np.add.reduceat((falling > lowered).astype(np.int64), starts)
    return np.where(above > 0, lowered[starts + np.maximum(above, 1) - 1], math.inf)


def _rounded(exact: FloatArray, parents: IntArray, totals: IntArray) -> IntArray:
    """The method of largest remainders, parent by parent."""
    whole = np.floor(exact).astype(np.int64)
    sums = np.bincount(parents, weights=whole, minlength=len(totals)).astype(np.int64)
    order = np.lexsort((whole - exact, parents))
    starts = np.searchsorted(parents[order], np.arange(len(totals)))
    ranks = np.empty(len(exact), dtype=np.int64)
    ranks[order] = np.arange(len(exact)) - starts[parents[order]]
    return whole + (ranks < (totals - sums)[parents])
