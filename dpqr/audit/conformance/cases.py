"""Cases: tiny universes, workloads on them, and answers that a run could release there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import IntArray, freeze
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import is_frozen, replace
from dpqr.strategies.problem import Level, Problem
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement, Workload

SHAPES = ((1,), (2,), (4,), (2, 3), (2, 1, 2))
RECORDS = 60
SCALE = Fraction(2)
"""Of the noise."""


class Universe(Struct, frozen=True, kw_only=True):
    """One problem, and a public table that stands for its data. words: how a message names it."""

    problem: Problem
    table: IntArray
    words: str

    def measured(self, block: QueryBlock, shift: int = 0, factor: int = 1) -> Measurement:
        """The block's answers with noise; or what no table would give, for noise may be anything. Read-only."""
        seed = len(block.name) + abs(shift) + factor
        noise = public_generator(seed).integers(-4, 5, size=block.rows)
        marginal = self.table.sum(axis=tuple(a for a in range(self.table.ndim) if a not in block.axes))
        values = factor * (np.asarray(block.apply(marginal), dtype=np.int64) + noise + shift)
        return Measurement(blocks=(block,), values=(freeze(values),), law=DiscreteLaplace(SCALE))


def universes() -> Iterator[Universe]:
    """Every shape under add-remove, with a private and with a declared number of records, and under replace."""
    for shape in SHAPES:
        table = public_generator(len(shape) + sum(shape)).multinomial(
            RECORDS, np.full(np.prod(shape), 1 / np.prod(shape))
        )
        cells = "x".join(map(str, shape))
        for words, neighbours, declared in (
            ("add-remove, n private", Neighbours.ADD_REMOVE, None),
            ("add-remove, n0 declared", Neighbours.ADD_REMOVE, RECORDS),
            ("replace", Neighbours.REPLACE, RECORDS),
        ):
            domain = Domain(tuple(Attribute(name=f"a{axis}", axis=Codes(size)) for axis, size in enumerate(shape)))
            problem = Problem(
                domain=domain,
                workload=Workload(tuple(blocks(shape))),
                unit=PrivacyUnit(neighbours=neighbours),
                n=declared,
            )
            yield Universe(problem=problem, table=table.reshape(shape), words=f"{cells} cells, {words}")


def at_level(universe: Universe, level: Level) -> Universe:
    """The same as `theory` sets it up: single queries, a level, a public number of records."""
    queries = tuple(query for block in universe.problem.workload.blocks for query in rows(block))
    problem = replace(universe.problem, workload=Workload(queries), level=level, alpha=2 * level.value)
    return replace(universe, problem=problem)


def rows(block: QueryBlock) -> Iterator[QueryBlock]:
    """Single queries of the block that map a record to [0, 1]."""
    small = block.largest_coefficient * block.scale <= 1
    return (block.row(index) for index in range(block.rows if small else 0))


def blocks(shape: tuple[int, ...]) -> Iterator[QueryBlock]:
    """The total, marginals, cumulative counts, a predicate on all attributes, and a sum on a grid of halves."""
    yield QueryBlock(name="total")
    for axis, size in enumerate(shape):
        yield QueryBlock(name=f"marginal {axis}", factors=(Factor.identity(axis, size),))
    if len(shape) > 1:
        every = tuple(Factor.identity(axis, size) for axis, size in enumerate(shape))
        yield QueryBlock(name="cells", factors=every)
    size = shape[-1]
    last = (len(shape) - 1,)
    labels = tuple(f"up to {index}" for index in range(size))
    prefix = Factor(axes=last, sizes=(size,), matrix=Prefix(size), labels=labels)
    yield QueryBlock(name="cumulative", factors=(prefix,))
    axes, count = tuple(range(len(shape))), int(np.prod(shape))
    for name, row, scale in (
        ("predicate", np.arange(count) % 2, Fraction(1)),
        ("sum", 3 * np.arange(count) - 2, Fraction(1, 2)),
    ):
        matrix = Dense(row.reshape(1, -1).astype(np.int64))
        yield QueryBlock(name=name, factors=(Factor(axes=axes, sizes=shape, matrix=matrix),), scale=scale)


def frozen_faults(value: object) -> Iterator[str]:
    """Whether it is a frozen value, as all strategies are: a plan may hold it, and compares it by its fields."""
    kind = type(value)
    if not is_frozen(kind):
        yield f"value: {kind.__name__} is no frozen dataclass; decorate it with @dataclass(frozen=True, kw_only=True)"
