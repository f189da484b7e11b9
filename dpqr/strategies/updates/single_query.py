"""What the source's update rules share: one normalised query with its noisy answer, and exact mistake bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.fitting.propagation import aligned
from dpqr.strategies.problem import Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingleQuery:
    """f : X -> [0, 1] and its noisy answer v, a fraction of the records.

    Attributes:
        coefficients: f, of a shape that broadcasts to the domain's.
    """

    coefficients: FloatArray
    value: float

    @classmethod
    def newest(cls, problem: Problem, history: Sequence[Measurement]) -> SingleQuery:
        """The last measurement over the public number of records.

        Raises:
            InfeasiblePlan: it has more than one query, or no number of records is stated.
        """
        block, value = cls.parts(history[-1])
        scale = float(block.scale)
        row = block.adjoint(np.full(1, scale))
        return cls(
            coefficients=on_domain(row, block.axes, len(problem.domain.attributes)),
            value=value * scale / records(problem),
        )

    @staticmethod
    def parts(measured: Measurement) -> tuple[QueryBlock, int]:
        """The one-row block and its answer as the released integer."""
        if len(measured.blocks) != 1 or measured.blocks[0].rows != 1:
            raise InfeasiblePlan("this rule takes one query a round; measure one-row blocks with it")
        return measured.blocks[0], int(measured.values[0][0])


def records(problem: Problem) -> int:
    """The public n (or the declared n0) that turns counts into fractions."""
    if not problem.n:
        raise InfeasiblePlan("the theory schedule asks for fractions of the records; state how many with --n")
    return problem.n


def on_domain(tensor: FloatArray, axes: Axes, ndim: int) -> FloatArray:
    """A tensor over `axes`, in that order, as one that broadcasts to a domain of `ndim` attributes.

    >>> on_domain(np.ones((2, 3)), (2, 0), 3).shape
    (3, 1, 2)
    """
    return aligned(tensor, axes, tuple(range(ndim)))


def floor_of_log(size: int, factor: Fraction) -> int:
    """floor(factor * log(size)), exactly, for an integer size of at least 1 and a positive factor.

    Mistake bounds are integers, and one too many would be a false promise. The logarithm of an integer above 1 is
    irrational, so the product is never an integer and enough digits always decide; Decimal.ln is correctly rounded, so
    one unit in the last digit on either side brackets it.

    >>> floor_of_log(1024, Fraction(4))
    27
    """
    if size == 1:
        return 0
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            logarithm = Fraction(Decimal(size).ln())
        error = logarithm / 10 ** (digits - 2)
        low, high = factor * (logarithm - error), factor * (logarithm + error)
        if low // 1 == high // 1:
            return int(low // 1)
        digits *= 2
