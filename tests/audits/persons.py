"""The audit of whole persons: exact laws of what is released about tiny tables, over every fall of the choice of rows.

A table is a sequence of (person, row); a row is a cell, or None where a rule of the domain drops it. A way to bound
the rows turns it into a law over (records by cell, records left out); noisy answers about those are then compared
between neighbours, every way of the choice weighed by its exact probability.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from audits.neighbours import Breach

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import LaplaceAnswers
from dpqr.tables.persons import Bounding
from dpqr.workload.block import QueryBlock

CELLS = 2
Row = tuple[int, int | None]
Table = tuple[Row, ...]
Outcome = tuple[tuple[int, ...], int]
Law = dict[Outcome, Fraction]
Bound = Callable[[Table, int, tuple[int, ...]], Outcome]
"""(table, K, an order of its rows that the tickets may take) -> (records by cell, records left out)."""


def as_built(table: Table, most: int, order: tuple[int, ...]) -> Outcome:
    """The loader's own bounding, its tickets in the given order."""
    passed = [place for place, (_, row) in enumerate(table) if row is not None]

    def words(key: bytes, names: Iterable[bytes], counts: Iterable[int]) -> np.ndarray:
        ranks = [[order.index(place) for place in passed if table[place][0] == int(name)] for name in names]
        assert [len(each) for each in ranks] == list(counts)
        return np.array(list(itertools.chain(*ranks)), dtype=np.uint64) << np.uint64(32)

    bounding = Bounding(most, 1, 2**28, b"")
    codes = np.array([[row for _, row in table if row is not None]], dtype=np.uint64)
    people = pa.array([person for person, _ in table], pa.int64())
    bounding.add(people, np.array(passed, dtype=np.int64), codes)
    with patch("dpqr.tables.persons.keyed_words", words):
        found = bounding.finish()
    return counted(found.rows[0].astype(np.int64).tolist()), found.lost


def counted(cells: Iterable[int]) -> tuple[int, ...]:
    return tuple(np.bincount(np.array(list(cells), dtype=np.int64), minlength=CELLS).tolist())


def law(table: Table, most: int, bound: Bound) -> Law:
    """Over all orders of the tickets, which are equally likely."""
    found: Law = {}
    share = Fraction(1, math.factorial(len(table)))
    for order in itertools.permutations(range(len(table))):
        outcome = bound(table, most, order)
        found[outcome] = found.get(outcome, Fraction(0)) + share
    return found


def rows_of_one_person(most: int) -> list[tuple[int | None, ...]]:
    """Every multiset of up to `most` rows, each in a cell or dropped by a rule."""
    kinds = (*range(CELLS), None)
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(kinds, size)]


def neighbours(relation: Neighbours, others: Table, rows: int) -> list[tuple[Table, Table]]:
    """All pairs, in both directions, of tables that hold `others` and differ in one person of up to `rows` rows, who
    stand before all other rows."""

    def with_person(person: int, held: tuple[int | None, ...]) -> Table:
        return (*((person, row) for row in held), *others)

    held = [each for each in rows_of_one_person(rows) if each]
    if relation is Neighbours.ADD_REMOVE:
        pairs = [(others, with_person(7, each)) for each in held]
    else:
        pairs = [(with_person(7, one), with_person(8, two)) for one, two in itertools.combinations(held, 2)]
    return pairs + [(two, one) for one, two in pairs]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Two noisy releases about one table: answers to blocks, and the count of what was left out (None: not released).

    most: K of the rows that are used; answers, dropped: mechanisms, whose events are what is said to be paid.
    """

    most: int
    bound: Bound
    answers: LaplaceAnswers
    dropped: LaplaceAnswers | None

    @classmethod
    def of(cls, unit: PrivacyUnit, blocks: tuple[QueryBlock, ...], bound: Bound = as_built) -> "Claim":
        answers = LaplaceAnswers(blocks=blocks, unit=unit, scale=Fraction(5, 2))
        dropped = LaplaceAnswers(blocks=(QueryBlock(name="left out"),), unit=unit, scale=Fraction(3))
        return cls(most=unit.rows, bound=bound, answers=answers, dropped=dropped)

    @property
    def epsilon(self) -> float:
        """What the events cost together."""
        events = [each.event for each in (self.answers, self.dropped) if each is not None]
        return float(sum(Fraction(event.sensitivity) / event.scale for event in events))

    def outputs(self, table: Table, reach: int) -> np.ndarray:
        """Probabilities, up to one common factor, of all pairs of outputs with entries from 0 to `reach`.

        Beyond the smallest and the largest exact value the ratio between two tables stays what it is there.
        """
        entries = sum(block.rows for block in self.answers.blocks) + (self.dropped is not None)
        grid = np.indices((reach + 1,) * entries).reshape(entries, -1)
        total = np.zeros(grid.shape[1])
        for (cells, lost), share in law(table, self.most, self.bound).items():
            counts = DenseHistogram(np.array(cells, dtype=np.int64))
            exact = np.concatenate([block.answer(counts) for block in self.answers.blocks])
            assert max(exact.max(), lost) <= reach
            off = np.abs(grid[: len(exact)] - exact[:, None]).sum(axis=0) / float(self.answers.scale)
            if self.dropped is not None:
                off += np.abs(grid[-1] - lost) / float(self.dropped.scale)
            total += float(share) * np.exp(-off)
        return total


def audit_persons(claim: Claim, pairs: Iterable[tuple[Table, Table]]) -> float:
    """Breach unless no log-ratio exceeds the claim; returns the largest as a share of it."""
    pairs = list(pairs)
    reach = max(len(table) for pair in pairs for table in pair)
    known: dict[Table, np.ndarray] = {}
    worst = 0.0
    for pair in pairs:
        one, two = (
            known[table] if table in known else known.setdefault(table, claim.outputs(table, reach)) for table in pair
        )
        worst = max(worst, float(np.log(one / two).max()))
    if worst > claim.epsilon + 1e-9:
        raise Breach(f"log-ratio {worst} beyond epsilon {claim.epsilon}")
    return worst / claim.epsilon
