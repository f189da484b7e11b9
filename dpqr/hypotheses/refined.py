"""RefinedDistribution: a distribution, and better tables for questions that it has no room for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dpqr.data.arrays import Axes, CodeArray, FloatArray, frozen
from dpqr.data.facts import Region
from dpqr.data.marginals import dense_marginal
from dpqr.hypotheses.dense import DenseDistribution
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.hypotheses.row_fit import RowFit, reach, reachable
from dpqr.workload.block import QueryBlock

KEPT = 2**24
"""Cells of refined tables that are kept for the next question (128 MiB)."""

TOGETHER = 2**20
"""Cells that are refined together."""


class Tables(Protocol):
    """What is known beyond the model."""

    def touches(self, axes: Axes) -> bool:
        """Whether it says anything of these attributes together."""
        ...

    def holder(self, axes: Axes) -> Axes | None:
        """Attributes, ascending, of a table from which these are to be summed; None: they get one of their own."""
        ...

    def refined(self, groups: Sequence[Axes], bases: Sequence[FloatArray]) -> Sequence[FloatArray]:
        """Tables over `groups`, each ascending, from the model's own, in records."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefinedDistribution:
    """Answers come from `tables` where these say something of a question, and from the model elsewhere.

    Every answer by itself is that of a distribution with the model's one-way marginals; two that come from different
    tables need not agree on what they share. Rows are drawn from the model, and moved by `settle`: a distribution over
    the whole domain that had all the tables for marginals would not fit into memory, and need not exist.
    """

    model: DenseDistribution | FactoredDistribution
    tables: Tables
    _kept: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> float:
        return self.model.total

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        return self.model.potentials

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total."""
        source = self._source(axes)
        if source is None:
            return self.model.marginal(axes)
        kept = self._kept.get(source)
        table = self._refine({source: self.model.joint(source)})[0] if kept is None else kept
        told: FloatArray = dense_marginal(table, tuple(source.index(axis) for axis in axes))
        return told

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Tables for all of these questions together, up to KEPT cells."""
        sources = dict.fromkeys(source for axes in groups if (source := self._source(axes)) is not None)
        some: dict[Axes, FloatArray] = {}
        for source in sources:
            if sum(table.size for table in self._kept.values()) >= KEPT:
                return
            if source not in self._kept:
                some[source] = self.model.joint(source)
            if sum(base.size for base in some.values()) >= TOGETHER:
                self._refine(some)
                some = {}
        self._refine(some)

    def _source(self, axes: Axes) -> Axes | None:
        """The attributes, ascending, of the table that answers; None: the model does."""
        if len(axes) < 2 or not self.tables.touches(axes):
            return None
        return self.tables.holder(axes) or tuple(sorted(axes))

    def _refine(self, bases: Mapping[Axes, FloatArray]) -> Sequence[FloatArray]:
        """The tables, which are kept where there is room."""
        found = self.tables.refined(list(bases), list(bases.values()))
        room = KEPT - sum(table.size for table in self._kept.values())
        for source, table in zip(bases, found, strict=True):
            if table.size <= room:
                self._kept[source] = frozen(table)
                room -= table.size
        return found

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """The model's records a cell, shape = domain shape."""
        return self.model.weights()

    def rows(self, count: int, seed: int) -> CodeArray:
        """`count` synthetic records of the model, not yet settled."""
        return self.model.rows(count, seed)

    def settle(self, codes: CodeArray, groups: Sequence[Axes], fixed: Sequence[Region]) -> int:
        """Move records of the model, in place, towards the answers over those groups that are small enough; how many
        values are others than before."""
        shape = self.model.shape
        wanted = reachable(shape, groups)
        if not len(codes) or not reach(shape, wanted, len(codes)):
            return 0
        self.prefetch(wanted)
        tables = {axes: self.marginal(axes) * (len(codes) / self.total) for axes in wanted}
        return RowFit(shape=shape, wanted=tables, fixed=fixed).run(codes)
