"""Figures: what is computed from released answers: means, quantiles, variances, ratios, proportions, largest cells.

A figure names the block that its queries are rows of. It asks nothing of the table itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, IntArray
from dpqr.workload.block import QueryBlock

Name = str
UNFULFILLED = "count too, and fulfil no comparison with it"
"""How a note of fault cells in a proportion ends; plans note them from dpqr 0.17 on."""


class QuotientFormula(Struct, frozen=True, kw_only=True):
    """One linear function of a group's answers over another: a mean, a proportion, a ratio of sums.

    numerator, denominator: coefficients of the answers, in the units of their blocks; each answer is at least 0 on any
    table. floor: the least value that a table can give, and ceiling the largest; None: no bound.
    """

    numerator: tuple[Fraction, ...]
    denominator: tuple[Fraction, ...]
    floor: Fraction
    ceiling: Fraction | None = None


class VarianceFormula(Struct, frozen=True, kw_only=True):
    """A variance: square / count - (sum / count)^2. Every field: coefficients of a group's answers.

    >>> one, none = Fraction(1), Fraction(0)
    >>> VarianceFormula(count=(one, none), sum=(none, one), square=(none, one), ceiling=one / 4).ceiling
    Fraction(1, 4)
    """

    count: tuple[Fraction, ...]
    sum: tuple[Fraction, ...]
    square: tuple[Fraction, ...]
    ceiling: Fraction


class Quantiles(Struct, frozen=True, kw_only=True):
    """Values below which a part of the records lies, for each of `at`. A group's answers are cumulative counts.

    bounds: smallest and largest value of each bin. counted: whether the answers are the counts of the bins themselves.

    >>> Quantiles(at=(Fraction(1, 2),), bounds=((Fraction(0), Fraction(9)),)).at
    (Fraction(1, 2),)
    """

    at: tuple[Fraction, ...]
    bounds: tuple[tuple[Fraction, Fraction], ...]
    counted: bool = False


class Largest(Struct, frozen=True, kw_only=True):
    """The cells with the largest counts. titles: of the cells, each one of a group's answers.

    >>> Largest(count=1, titles=("yes", "no")).count
    1
    """

    count: int
    titles: tuple[str, ...]


def moments(count: int) -> IntArray:
    """Every one of so many answers, and the difference of every pair: their variances give all covariances.

    >>> moments(2).tolist()
    [[1, 0], [0, 1], [1, -1]]
    """
    unit = np.eye(count, dtype=np.int64)
    pairs = [unit[first] - unit[second] for first, second in combinations(range(count), 2)]
    return np.stack([*unit, *pairs])


def comparisons(at: Sequence[Fraction], count: int) -> IntArray:
    """Cumulative counts less a part of the last one, times the part's denominator, for each of `at`; then the last one.

    >>> comparisons([Fraction(1, 2)], 3).tolist()
    [[2, 0, -1], [0, 2, -1], [0, 0, 1]]
    """
    below, last = np.eye(count, dtype=np.int64)[:-1], np.eye(count, dtype=np.int64)[-1:]
    return np.concatenate([*(part.denominator * below - part.numerator * last for part in at), last])


Formula = QuotientFormula | VarianceFormula | Quantiles | Largest


class Figure(Struct, frozen=True, kw_only=True, eq=False):
    """One figure for every group.

    kind: of the entry, such as "mean". blocks: names of the blocks whose rows, one block after the other, it rests on.
    rows: of them, shape (groups, answers of a group). by: columns whose cells are the groups, in C order.
    tests: linear functions of a group's answers, shape (tests, answers of a group), whose errors its interval needs:
    `moments` of a formula in few answers, `comparisons` of cumulative counts; none of single counts. tested: them as a
    block that nobody asks for, test_rows its rows, shape (groups, tests); None where they span several blocks.

    >>> import numpy as np
    >>> one, none = Fraction(1), Fraction(0)
    >>> halves = QuotientFormula(numerator=(one, none), denominator=(one, one), floor=none)
    >>> rows = np.array([[0, 1]])
    >>> Figure(kind="proportion", name="p", blocks=("p",), by=(), rows=rows, formula=halves, tests=moments(2)).groups
    1
    """

    kind: str
    name: Name
    blocks: tuple[Name, ...]
    by: Axes
    rows: IntArray
    formula: Formula
    tests: IntArray
    tested: QueryBlock | None = None
    test_rows: IntArray | None = None

    @property
    def groups(self) -> int:
        return len(self.rows)
