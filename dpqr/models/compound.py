"""Models made of others: one with tables beside it, a weighted mean of several, one with columns apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Protocol

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Packing, dense_marginal
from dpqr.kernel.arrays import Axes, CodeArray, FloatArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import public_generator
from dpqr.models.factored import LARGEST_LISTING, FactoredDistribution
from dpqr.models.hypothesis import DenseDistribution, Prefetching
from dpqr.models.latent_classes import LatentClasses
from dpqr.workload.block import QueryBlock

# RefinedDistribution: a distribution, with more accurate tables for marginals that its model is too small for.

KEPT = 2**24
"""Cells of refined tables in the cache (128 MiB)."""

TOGETHER = 2**17
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

    Every single answer is that of a distribution; answers from different tables need not agree on shared attributes,
    nor with the model's own on fewer. Rows are drawn from the model: a distribution over the whole domain with all
    tables as marginals would not fit into memory, and need not exist.

    >>> class NoTables:
    ...     def touches(self, axes):
    ...         return False
    >>> RefinedDistribution(model=DenseDistribution.uniform((2, 2), 8.0), tables=NoTables()).marginal((0,))
    array([4., 4.])
    """

    model: DenseDistribution | FactoredDistribution | RefinedDistribution | ModelAverage
    tables: Tables
    _cache: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> float:
        return self.model.total

    @property
    def shape(self) -> tuple[int, ...]:
        return self.model.shape

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        return self.model.potentials

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total."""
        source = self._source(axes)
        if source is None:
            return self.model.marginal(axes)
        cached = self._cache.get(source)
        table = self._refine({source: self._base(source)})[0] if cached is None else cached
        marginal: FloatArray = dense_marginal(table, tuple(source.index(axis) for axis in axes))
        return marginal

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Refine and cache the tables of all of these groups together, up to KEPT cells."""
        sources = dict.fromkeys(source for axes in groups if (source := self._source(axes)) is not None)
        if isinstance(self.model, Prefetching):
            self.model.prefetch([*sources, *groups])
        room, some, cells = self._room(), dict[Axes, FloatArray](), 0
        for source in sources:
            if room <= 0:
                return
            if source not in self._cache:
                some[source] = self._base(source)
                cells += some[source].size
            if cells >= TOGETHER:
                self._refine(some)
                room, some, cells = self._room(), {}, 0
        self._refine(some)

    def _base(self, axes: Axes) -> FloatArray:
        """The model's own table, not cached."""
        if isinstance(self.model, FactoredDistribution):
            return self.model.joint(axes)
        return np.asarray(self.model.marginal(axes))

    def _room(self) -> int:
        """Cells that may still be kept."""
        return KEPT - sum(table.size for table in self._cache.values())

    def _source(self, axes: Axes) -> Axes | None:
        """Return the attributes, ascending, of the table that answers; None: the model answers."""
        if len(axes) < 2 or not self.tables.touches(axes):
            return None
        return self.tables.holder(axes) or tuple(sorted(axes))

    def _refine(self, bases: Mapping[Axes, FloatArray]) -> Sequence[FloatArray]:
        """Refine tables and cache those that fit."""
        tables = self.tables.refined(list(bases), list(bases.values()))
        room = self._room()
        for source, table in zip(bases, tables, strict=True):
            if table.size <= room:
                self._cache[source] = freeze(table)
                room -= table.size
        return tables

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


Joint = DenseDistribution | FactoredDistribution | RefinedDistribution


class ModelAverage(Struct, frozen=True, kw_only=True, eq=False):
    """The weighted mean of several distributions over the same domain, all of as many records.

    Attributes:
        tree: the first of them, whose parameters are the warm start of the next fit.
        classes: the others.
        shares: of the tree and of each of the others, non-negative, sum 1, shape (1 + others,).
        joined: pairs of attributes that somebody has asked about together. Where such a pair was not measured, the
            classes were fitted to the tree's table of it.

    >>> tree, one = DenseDistribution.uniform((2,), 8.0), np.array([[1.0], [0.0]])
    >>> classes = LatentClasses(shares=np.ones(1), laws=(one,), total=8.0)
    >>> ModelAverage(tree=tree, classes=(classes,), shares=np.array([0.5, 0.5])).marginal((0,)).tolist()
    [6.0, 2.0]
    """

    tree: Joint
    classes: tuple[LatentClasses, ...]
    shares: FloatArray
    joined: frozenset[Axes] = frozenset()

    @property
    def total(self) -> float:
        return self.tree.total

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tree.shape

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        """The tree's."""
        return self.tree.potentials

    @property
    def models(self) -> tuple[Joint | LatentClasses, ...]:
        return (self.tree, *self.classes)

    @property
    def words(self) -> str:
        """Which models, and their shares, for whoever reads the answers."""
        numbers = [len(each.shares) for each in self.classes]
        others = (f"{number} latent classes" if number > 1 else "independence" for number in numbers)
        each = zip(("the maximum-entropy fit", *others), self.shares.tolist(), strict=True)
        weights = ", ".join(f"{name} {share:.2f}" for name, share in each)
        return (
            f"estimates are the weighted mean of several models of the noisy answers: {weights}; the weights are those "
            "that best predict noisy answers that no model was fitted to"
        )

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total."""
        each = zip(self.shares.tolist(), self.models, strict=True)
        marginal: FloatArray = reduce(np.add, [share * np.asarray(model.marginal(axes)) for share, model in each])
        return marginal

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Announce the groups to the tree."""
        if isinstance(self.tree, Prefetching):
            self.tree.prefetch(groups)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        each = zip(self.shares.tolist(), self.models, strict=True)
        cells: FloatArray = np.sum([share * model.weights() for share, model in each], axis=0)
        return cells

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order: of each model its share, with the seeds from `seed` on."""
        ends = np.rint(np.cumsum(self.shares) / self.shares.sum() * count).astype(np.int64).tolist()
        codes = np.empty((count, len(self.shape)), dtype=Packing(self.shape).code_type)
        for place, (model, start, stop) in enumerate(zip(self.models, [0, *ends], ends, strict=False)):
            if start < stop:
                codes[start:stop] = model.rows(stop - start, seed + place)
        return codes[public_generator(seed).permutation(count)]


class ProductDistribution(Struct, frozen=True, kw_only=True, eq=False):
    """A model, and columns that are independent of it.

    Attributes:
        model: over the whole domain; of its columns apart nothing is read.
        apart: by attribute, probabilities of its cells, shape (cells,), read-only.

    >>> model = DenseDistribution.uniform((2, 2), 8.0)
    >>> ProductDistribution(model=model, apart={1: np.array([0.25, 0.75])}).marginal((1, 0)).tolist()
    [[1.0, 1.0], [3.0, 3.0]]
    """

    model: Joint | ModelAverage
    apart: Mapping[int, FloatArray]

    @property
    def total(self) -> float:
        """The model's records."""
        return self.model.total

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        """The model's: the warm start of its next fit."""
        return self.model.potentials

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total."""
        joint, own = self._joint(axes), [axis for axis in axes if axis in self.apart]
        table = np.asarray(self.model.marginal(joint))
        for axis in own:
            table = np.multiply.outer(table, self.apart[axis])
        order = (*joint, *own)
        return table.transpose([order.index(axis) for axis in axes])

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Announce to the model what is read of it."""
        if isinstance(self.model, Prefetching):
            self.model.prefetch([self._joint(axes) for axes in groups])

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        cells = math.prod(self.model.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self.marginal(tuple(range(len(self.model.shape))))

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; the columns apart with the seeds after `seed`, one each."""
        codes = self.model.rows(count, seed)
        for place, (axis, probabilities) in enumerate(self.apart.items()):
            column = DenseDistribution(probabilities=probabilities, total=float(count))
            codes[:, axis] = column.rows(count, seed + 1 + place)[:, 0]
        return codes

    def _joint(self, axes: Axes) -> Axes:
        """Those that the model answers for."""
        return tuple(axis for axis in axes if axis not in self.apart)
