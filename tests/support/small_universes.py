"""Small universes, blocks and measurements written by hand."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.problem import Level, Problem
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload


@dataclass(frozen=True)
class Spread:
    """A noise law of which only the deviation is known."""

    deviation: float


def domain(shape):
    return Domain(tuple(Attribute(name=f"a{i}", axis=Codes(size)) for i, size in enumerate(shape)))


def marginal(axes, shape, name=""):
    return QueryBlock(name=name or f"marginal{axes}", factors=tuple(Factor.identity(a, shape[a]) for a in axes))


def dense(rows, shape, axes=None, *, name="dense", scale=Fraction(1)):
    """Rows of integer coefficients on the cells of `axes` (default: all)."""
    axes = tuple(range(len(shape))) if axes is None else axes
    sizes = tuple(shape[a] for a in axes)
    matrix = Dense(np.atleast_2d(np.asarray(rows, dtype=np.int64)))
    return QueryBlock(name=name, factors=(Factor(axes=axes, sizes=sizes, matrix=matrix),), scale=scale)


def measured(blocks, values, deviation=1.0):
    return Measurement(
        blocks=tuple(blocks),
        values=tuple(np.atleast_1d(np.asarray(v, dtype=np.int64)) for v in values),
        law=Spread(deviation),
    )


def problem(shape, blocks=None, *, n=None, level=None, variant="printed", neighbours=Neighbours.ADD_REMOVE, seed=0):
    return Problem(
        domain=domain(shape),
        workload=Workload(tuple(blocks or [marginal((0,), shape)])),
        unit=PrivacyUnit(neighbours=neighbours),
        n=n,
        level=None if level is None else Level(value=Fraction(level), variant=variant),
        seed=seed,
    )
