"""Figures: what is computed from released answers: means, quantiles, variances, ratios, proportions, largest cells.

A figure names the block that its queries are rows of. It asks nothing of the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.data.arrays import Axes, IntArray

Name = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotient:
    """One linear function of a group's answers over another: a mean, a proportion, a ratio of sums.

    numerator, denominator: coefficients of the answers, in the units of their blocks; each answer is at least 0 on any
    table. count: coefficients of the number of records; None: the denominator is no count. floor: the least value that
    a table can give, and ceiling the largest; None: no bound.
    """

    numerator: tuple[Fraction, ...]
    denominator: tuple[Fraction, ...]
    floor: Fraction | None = None
    ceiling: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A variance: square / count - (sum / count)^2. Every field: coefficients of a group's answers."""

    count: tuple[Fraction, ...]
    sum: tuple[Fraction, ...]
    square: tuple[Fraction, ...]
    ceiling: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Values below which a part of the records lies, for each of `at`. A group's answers are cumulative counts.

    bounds: smallest and largest value of each bin.
    """

    at: tuple[Fraction, ...]
    bounds: tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The cells with the largest counts. titles: of the cells, each one of a group's answers."""

    count: int
    titles: tuple[str, ...]


Formula = Quotient | Spread | Quantiles | Largest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """One figure for every group.

    kind: of the entry, such as "mean". blocks: names of the blocks whose rows, one block after the other, it rests on.
    rows: of them, shape (groups, answers of a group). by: columns whose cells are the groups, in C order.

    >>> import numpy as np
    >>> halves = Quotient(numerator=(Fraction(1), Fraction(0)), denominator=(Fraction(1), Fraction(1)))
    >>> Figure(kind="proportion", name="p", blocks=("p",), by=(), rows=np.array([[0, 1]]), formula=halves).groups
    1
    """

    kind: str
    name: Name
    blocks: tuple[Name, ...]
    by: Axes
    rows: IntArray
    formula: Formula

    @property
    def groups(self) -> int:
        return len(self.rows)
