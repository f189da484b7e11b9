"""SingleQuery: what the source's update rules read, one normalised query and its noisy answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.strategies.problem import Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingleQuery:
    """f : X -> [0, 1] and v, a fraction of the records.

    coefficients: f, of a shape that broadcasts to the domain's.
    """

    coefficients: FloatArray
    value: float

    @classmethod
    def newest(cls, problem: Problem, history: Sequence[Measurement]) -> SingleQuery:
        """The last measurement, which must be of one query, over the public number of records."""
        block, value = cls.parts(history[-1])
        scale = float(block.scale)
        row = block.adjoint(np.full(1, scale))
        return cls(
            coefficients=on_domain(row, block.axes, len(problem.domain.attributes)),
            value=value * scale / records(problem),
        )

    @staticmethod
    def parts(measured: Measurement) -> tuple[QueryBlock, int]:
        """The one-row block and its answer as the integer that was released."""
        if len(measured.blocks) != 1 or measured.blocks[0].rows != 1:
            raise InfeasiblePlan("this rule takes one query a round; measure one-row blocks with it")
        return measured.blocks[0], int(measured.values[0][0])


def records(problem: Problem) -> int:
    """The public n (or the declared n0) that turns counts into fractions."""
    if not problem.n:
        raise InfeasiblePlan("the theory schedule asks for fractions of the records; state how many with --n")
    return problem.n


def on_domain(tensor: FloatArray, axes: Axes, ndim: int) -> FloatArray:
    """A tensor over `axes`, in that order, as one that broadcasts to a domain of `ndim` attributes."""
    order = sorted(axes)
    ordered = tensor.transpose([axes.index(axis) for axis in order])
    sizes = dict(zip(order, ordered.shape, strict=True))
    return ordered.reshape([sizes.get(axis, 1) for axis in range(ndim)])
