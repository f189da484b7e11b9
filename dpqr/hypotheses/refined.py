"""RefinedDistribution: a distribution, with more accurate tables for marginals that its model is too small for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dpqr.data.arrays import Axes, CodeArray, FloatArray, frozen
from dpqr.data.marginals import dense_marginal
from dpqr.hypotheses.dense import DenseDistribution
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.workload.block import QueryBlock

KEPT = 2**24
"""Cells of refined tables in the cache (128 MiB)."""

TOGETHER = 2**20
"""Cells that are refined together."""


class Tables(Protocol):
    """Tables that refine the model."""

    def touches(self, axes: Axes) -> bool:
        """Whether some table refines these attributes together."""
        ...

    def holder(self, axes: Axes) -> Axes | None:
        """Return the attributes, ascending, of a table to sum these from; None: they get a table of their own."""
        ...

    def refined(self, groups: Sequence[Axes], bases: Sequence[FloatArray]) -> Sequence[FloatArray]:
        """Return tables over `groups`, each ascending, from the model's own, in records."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefinedDistribution:
    """Answers come from `tables` where they refine the model, and from the model elsewhere.

    Every single answer is that of a distribution with the model's one-way marginals; answers from different tables need
    not agree on shared attributes. Rows are drawn from the model: a distribution over the whole domain with all tables
    as marginals would not fit into memory, and need not exist.

    >>> class NoTables:
    ...     def touches(self, axes):
    ...         return False
    >>> RefinedDistribution(model=DenseDistribution.uniform((2, 2), 8.0), tables=NoTables()).marginal((0,))
    array([4., 4.])
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
        cached = self._kept.get(source)
        table = self._refine({source: self.model.joint(source)})[0] if cached is None else cached
        marginal: FloatArray = dense_marginal(table, tuple(source.index(axis) for axis in axes))
        return marginal

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Refine and cache the tables of all of these groups together, up to KEPT cells."""
        sources = dict.fromkeys(source for axes in groups if (source := self._source(axes)) is not None)
        if isinstance(self.model, FactoredDistribution):
            self.model.prefetch([*sources, *groups])
        room, some, cells = self._room(), dict[Axes, FloatArray](), 0
        for source in sources:
            if room <= 0:
                return
            if source not in self._kept:
                some[source] = self.model.joint(source)
                cells += some[source].size
            if cells >= TOGETHER:
                self._refine(some)
                room, some, cells = self._room(), {}, 0
        self._refine(some)

    def _room(self) -> int:
        """Cells that may still be kept."""
        return KEPT - sum(table.size for table in self._kept.values())

    def _source(self, axes: Axes) -> Axes | None:
        """Return the attributes, ascending, of the table that answers; None: the model answers."""
        if len(axes) < 2 or not self.tables.touches(axes):
            return None
        return self.tables.holder(axes) or tuple(sorted(axes))

    def _refine(self, bases: Mapping[Axes, FloatArray]) -> Sequence[FloatArray]:
        """Refine tables and cache those that fit."""
        found = self.tables.refined(list(bases), list(bases.values()))
        room = self._room()
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
        """The model's records per cell, shape = domain shape."""
        return self.model.weights()

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records of the model."""
        return self.model.rows(count, seed)
