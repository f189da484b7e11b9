"""Views: the answers of marginals and hierarchies in whole numbers that add up, beside the answers as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dpqr.domain.attribute import HierarchyLevel
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.releases.answers.adding_up import Above, CountTable, Levels, added_up
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, answered_block
from dpqr.releases.result import FinishedRun
from dpqr.releases.tidy import NO_TEXT, Column, Row, Texts, Tidy, free_column_name
from dpqr.workload.block import Factor
from dpqr.workload.matrix import Identity
from dpqr.workload.partition import groups_of
from dpqr.workload.workload import Workload

VIEW_COLUMNS = ("query", "answer", "integer", "rounded", "mark")
UNSURE = 1 / 3
"""Of a value: an error above this marks a small cell."""
MARK = "unsure"
NO_TABLE = "views are of marginals and hierarchies without weights, and there are none among the queries; ask for one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeNumberViews:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nodes:
    """Which blocks count the nodes of a level: its name by the block's. levels: what lies above each of those asked."""

    asked: Mapping[str, str] = field(default_factory=dict)
    levels: Levels = field(default_factory=dict)


def nodes_of(workload: Workload, domain: Domain) -> Nodes:
    """The levels of columns with parents that blocks ask for, by themselves or crossed with other columns."""
    asked: dict[str, str] = {}
    places: dict[str, dict[str, IntArray]] = {}
    for block in workload.blocks:
        found = [_level(factor, domain) for factor in block.factors]
        above = [each for each in found if each is not None]
        if len(above) == 1 and all(
            each is not None or isinstance(factor.matrix, Identity)
            for each, factor in zip(found, block.factors, strict=True)
        ):
            column, level = above[0]
            asked[block.name] = f"{column}: {level.name}"
            places.setdefault(column, {})[asked[block.name]] = level.places
    levels: dict[str, Above] = {}
    for column, held in places.items():
        coarsest_first = sorted(held, key=lambda name: int(held[name].max()))
        for name, finer in pairwise([*coarsest_first, column]):
            cells = held.get(finer, np.arange(len(held[name])))
            nodes = np.zeros(int(cells.max()) + 1, dtype=np.int64)
            nodes[cells] = held[name]
            levels[finer] = Above(name=name, nodes=nodes)
    return Nodes(asked=asked, levels=levels)


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
        names = tuple(nodes.asked[block.name] if column.name == DETAIL else column.name for column in held)
        values = block.estimate.reshape([len(column.texts) for column in held])
        tables.append(CountTable(columns=names, values=values))
    views = {step: tuple(each.reshape(-1) for each in added_up(tables, step, nodes.levels)) for step in {1, base}}
    return WholeNumberViews(blocks=tuple(blocks), integer=views[1], rounded=views[base], base=base)


def require_views(workload: Workload, domain: Domain) -> None:
    """InfeasiblePlan where a release of this workload has no views. Public: asked before anything is spent."""
    nodes = nodes_of(workload, domain)
    blocks = [block for block in workload.blocks if block.is_marginal or block.name in nodes.asked]
    if not blocks:
        raise InfeasiblePlan(f"--views: {NO_TABLE}")
    tables = [
        CountTable(
            columns=tuple(
                domain.names[factor.axes[0]] if isinstance(factor.matrix, Identity) else nodes.asked[block.name]
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
    held = [each for each in of_records if each.block.is_marginal or each.block.name in nodes.asked]
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
