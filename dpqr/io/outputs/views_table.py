"""Views: the answers of marginals in whole numbers that add up, beside the answers as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.construction.adding_up import CountTable, added_up
from dpqr.construction.answered import DETAIL, AnsweredBlock, answered
from dpqr.construction.release import Release
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.domain import Domain
from dpqr.errors import InfeasiblePlan
from dpqr.io.outputs.tidy import NOTHING, Column, Texts, Tidy, beside
from dpqr.workload.workload import Workload

OWN = ("query", "answer", "integer", "rounded", "mark")
UNSURE = 1 / 3
"""Of a value: an error above this marks a small cell."""
MARK = "unsure"
NO_MARGINAL = "views are of marginals, and there are none among the queries; ask for one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Views:
    """blocks: marginals. integer, rounded: of each block's answers, shape (rows,). base: of the rounded ones."""

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


def views_of(blocks: Sequence[AnsweredBlock], base: int) -> Views:
    """Views of all marginals among some blocks. Raises: InfeasiblePlan where there are none, or too many cells overlap.

    Privacy:
        Post-processing of released answers, without a draw.
    """
    held = tuple(block for block in blocks if _is_marginal(block))
    if not held:
        raise InfeasiblePlan(NO_MARGINAL)
    tables = [_table(block) for block in held]
    views = {step: tuple(each.reshape(-1) for each in added_up(tables, step)) for step in {1, base}}
    return Views(blocks=held, integer=views[1], rounded=views[base], base=base)


def require_views(workload: Workload, domain: Domain) -> None:
    """InfeasiblePlan where a release of this workload has no views. Public: asked before anything is spent."""
    blocks = [block for block in workload.blocks if block.is_marginal]
    if not blocks:
        raise InfeasiblePlan(f"--views: {NO_MARGINAL}")
    tables = [
        CountTable(
            columns=tuple(domain.names[axis] for axis in block.axes),
            values=np.broadcast_to(0.0, [domain.shape[axis] for axis in block.axes]),
        )
        for block in blocks
    ]
    added_up(tables, 1)


def release_views(release: Release, base: int) -> Views:
    """The same of a release in memory."""
    domain = release.plan.problem.domain
    return views_of([answered(each, domain) for each in release.answers if each.block.is_marginal], base)


def views_table(views: Views) -> Tidy:
    """One row an answer of a marginal: its cells, the answer, and every view of it.

    mark: where the error of the answer is above a third of it.
    """
    sizes = [block.rows for block in views.blocks]
    places = np.repeat(np.arange(len(sizes)), sizes)
    columns: dict[str, Column] = {"query": Texts(places, [block.name for block in views.blocks])}
    for name in dict.fromkeys(column.name for block in views.blocks for column in block.columns):
        columns[beside(OWN, name)] = _cells(views.blocks, name)
    columns["answer"] = np.concatenate([block.estimate for block in views.blocks]) + 0.0
    columns["integer"] = np.concatenate(views.integer)
    columns["rounded"] = np.concatenate(views.rounded)
    marks = np.concatenate([np.where(_unsure(block), 0, NOTHING) for block in views.blocks])
    columns["mark"] = Texts(marks, (MARK,))
    return Tidy(sum(sizes), columns)


def view_records(views: Views) -> list[dict[str, Any]]:
    """The same rows as plain dicts, for JSON."""
    return views_table(views).records()


def _is_marginal(block: AnsweredBlock) -> bool:
    """Whether the answers are one for every combination of the cells of some columns."""
    named = all(column.name != DETAIL for column in block.columns)
    return named and block.rows == int(np.prod([len(column.texts) for column in block.columns]))


def _table(block: AnsweredBlock) -> CountTable:
    names = tuple(column.name for column in block.columns)
    shape = [len(column.texts) for column in block.columns]
    return CountTable(columns=names, values=block.estimate.reshape(shape))


def _cells(blocks: Sequence[AnsweredBlock], name: str) -> Texts:
    found: list[IntArray] = []
    titles: tuple[str, ...] = ()
    for block in blocks:
        own = next((column for column in block.columns if column.name == name), None)
        titles = own.texts if own else titles
        found.append(np.full(block.rows, NOTHING) if own is None else own.places)
    return Texts(np.concatenate(found), titles)


def _unsure(block: AnsweredBlock) -> Any:
    return block.precision > UNSURE * np.abs(block.estimate)


def _moved(blocks: Sequence[AnsweredBlock], views: Sequence[IntArray]) -> FloatArray:
    pairs = zip(blocks, views, strict=True)
    return np.concatenate([np.nan_to_num(view - block.estimate) for block, view in pairs])
