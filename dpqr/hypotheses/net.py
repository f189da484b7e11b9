"""Net: a set of small databases that answers by its median member."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Net:
    """Every database of `size` records that the answers so far allow.

    members: records a cell, one column a member, shape (|X|, members), a small integer type; cells in C order.
    Cell by cell, and not member by member, for a query then adds up a few long rows.
    total: the records that the hypothesis stands for.
    """

    members: AnyArray
    size: int
    total: float
    shape: tuple[int, ...]
    _kept: dict[QueryBlock, IntArray] = field(default_factory=dict, repr=False)

    def answer(self, block: QueryBlock) -> FloatArray:
        """The members' median answer, scaled from `size` to `total` records; shape (block.rows,)."""
        answers: FloatArray = self.medians(block).astype(np.float64) * (self.total / self.size)
        return answers

    def medians(self, block: QueryBlock) -> IntArray:
        """The lower median over the members, in records of a member; exact, shape (block.rows,).

        Any median serves the halving argument: at least half of the members answer no less, at least half no more.
        """
        if block not in self._kept:
            middle = (self.members.shape[1] - 1) // 2
            answers = (self.member_answers(row) for row in coefficients_on(block, self.shape))
            medians = [int(np.partition(answer, middle)[middle]) for answer in answers]
            self._kept[block] = np.array(medians, dtype=np.int64)
        return self._kept[block]

    def member_answers(self, row: IntArray) -> AnyArray:
        """Every member's answer to one query, given by its coefficients on the cells; shape (members,)."""
        bound = self.size * int(np.abs(row).max(initial=0))
        answers = np.zeros(self.members.shape[1], dtype=_smallest_type(bound))
        for cell in np.flatnonzero(row):
            answers += self.members[cell] * answers.dtype.type(row[cell])
        return answers

    def only(self, kept: AnyArray) -> Net:
        """The net of the members where the boolean `kept`, shape (members,), is true."""
        return Net(members=self.members[:, kept], size=self.size, total=self.total, shape=self.shape)


def every_database(size: int, cells: int) -> AnyArray:
    """All databases of `size` records on `cells` cells, one a column: shape (cells, C(size + cells - 1, size))."""
    kind = _smallest_type(size)
    left = np.array([size], dtype=kind)
    columns: list[AnyArray] = []
    for _ in range(cells - 1):
        choices = left.astype(np.int64) + 1
        starts = np.repeat(np.cumsum(choices) - choices, choices)
        taken = (np.arange(int(choices.sum())) - starts).astype(kind)
        columns = [np.repeat(column, choices) for column in columns]
        left = np.repeat(left, choices) - taken
        columns.append(taken)
    return np.stack([*columns, left])


def coefficients_on(block: QueryBlock, shape: tuple[int, ...]) -> IntArray:
    """Each query's coefficients on all cells of a small universe, int64, shape (block.rows, |X|)."""
    order = sorted(block.axes)
    absent = tuple(axis for axis in range(len(shape)) if axis not in order)
    rows = []
    for unit in np.eye(block.rows, dtype=np.int64):
        tensor = block.adjoint(unit).transpose([block.axes.index(axis) for axis in order])
        rows.append(np.broadcast_to(np.expand_dims(tensor, absent), shape).reshape(-1))
    return np.stack(rows)


def rounding_size(cells: int, level: Fraction) -> int:
    """The smallest m > |X| / (4a): then every distribution has a database of m records within a, for all queries.

    Proof. Round m p by largest remainder: k = the sum of the remainders r_i is whole, and the k largest are rounded
    up. A query in [0, 1] moves by at most the mass that is added, (1/m) times the sum over rounded-up cells of
    1 - r_i. The k largest of |X| remainders have at least the mean k/|X| each on average, so that sum is at most
    k - k^2/|X| <= |X|/4. Hence every query moves by at most |X|/(4m) < a. It is attained for even |X| (all
    remainders 1/2 and the query of the rounded-up cells), so no smaller m is proved by rounding.
    """
    return int(Fraction(cells) / (4 * level) // 1) + 1


def _smallest_type(bound: int) -> type[np.signedinteger]:
    for kind in (np.int8, np.int16, np.int32):
        if bound <= np.iinfo(kind).max:
            return kind
    return np.int64
