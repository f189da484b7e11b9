"""Persons with many rows, from files: tables of persons, and tables that count at most m rows of each in one cell."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from fractions import Fraction
from pathlib import Path

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Claim, MechanismTrial, Outcomes, numbers
from dpqr.audit.cases.noisy_answers import noisy
from dpqr.audit.law import Laws
from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.learning import person_counts
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

LABELS = ("a", "b", "c")
DOMAIN = Domain((Attribute(name="cell", axis=Labels(LABELS)),))
UNIT = PrivacyUnit(columns=("person",), rows=2)
EPSILON = Fraction(1)


@contextmanager
def person_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[TableSource]:
    """A CSV file of these rows, for the length of a with block."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "table.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        yield TableSource(paths=(str(path),))


class PersonTablesCase(Struct, frozen=True, kw_only=True, eq=False):
    """One attack on tables of persons, measured in one draw. Fields and methods as `Case`.

    rows: how many rows in each cell the one person has who comes; nobody else has any. tables: that are measured.
    moved: of every count of all tables, what the person adds, where that is the same under every key; None: it is not.
    """

    name: str
    rows: tuple[int, ...]
    tables: tuple[QueryBlock, ...]
    moved: tuple[int, ...] | None
    what: str = "tables of persons, of which one with many rows comes"
    work: int = 1
    brief: int | None = None

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=EPSILON)

    @property
    def laws(self) -> tuple[Laws, Laws] | None:
        if self.moved is None:
            return None
        event = Laplace().event(self.tables, UNIT, Price(epsilon=EPSILON))
        here, there = (tuple(noisy(side * moved, event) for moved in self.moved) for side in (0, 1))
        return here, there

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` draws from a table that is read once: its key decides cells, and the guarantee holds for every key."""
        mechanism = Laplace().mechanism(self.tables, UNIT, Price(epsilon=EPSILON))
        guard = Basic().guard(PrivacyBudget(EPSILON), ((mechanism.event, 1),))
        rows = [("p", label) for label, count in zip(LABELS, self.rows, strict=True) for _ in range(count * side)]
        person_tables = [one for one in (block.person_table for block in self.tables) if one is not None]
        with person_table(("person", "cell"), rows) as source:
            loaded = load_table(source, DOMAIN, Limits(), unit=UNIT, noise=noise, persons=person_tables)
        drawn = (measure(loaded.persons, mechanism, accountant=copy(guard), noise=noise).value for _ in range(runs))
        return Outcomes.of([((), tuple(numbers(one)), ()) for one in drawn])


def person_cases() -> Iterator[PersonTablesCase]:
    """Many rows in one cell, and in more cells than a person may count in; of one table and of two together."""
    by_cell = (Factor.identity(0, len(LABELS)),)
    one, all_cells = (QueryBlock(name=f"by cell {most}", factors=by_cell, most_cells=most) for most in (1, 3))
    number = QueryBlock(name="persons", most_cells=1)
    # Each row counts 1, and a total is clipped to at most 2: nine rows are far beyond the bound.
    ones = Dense(np.array([[-1] * len(LABELS), [1] * len(LABELS)]))
    summed = Factor(axes=(0,), sizes=(len(LABELS),), matrix=ones)
    totals = QueryBlock(name="totals", factors=(summed,), most_cells=1, within=(0, 2))
    yield PersonTablesCase(name="persons-totals", rows=(9, 0, 0), tables=(totals,), moved=(0, 2))
    binned = replace(summed, matrix=Dense(np.ones((3, len(LABELS)), dtype=np.int64)))
    by_total = QueryBlock(name="by total", factors=(binned,), most_cells=1, within=(0, 1, 3, 4))
    yield PersonTablesCase(name="persons-by-total", rows=(2, 0, 0), tables=(by_total,), moved=(0, 1, 0))
    by_rows = person_counts(len(LABELS), (1, 2, 4), EPSILON, UNIT).blocks
    yield PersonTablesCase(name="persons-by-rows", rows=(4, 5, 0), tables=by_rows, moved=(0, 0, 1))
    yield PersonTablesCase(name="persons-one-cell", rows=(4, 0, 0), tables=(one,), moved=(1, 0, 0))
    yield PersonTablesCase(name="persons-most-cells", rows=(1, 1, 1), tables=(one,), moved=None)
    yield PersonTablesCase(name="persons-together", rows=(2, 2, 2), tables=(all_cells, number), moved=(1, 1, 1, 1))


# Tables that count at most m rows of a person in one cell: the loader keeps the bound, and every cell is drawn.

TABLE = QueryBlock(name="cells", factors=(Factor.identity(0, len(LABELS)),))
PERSON = PrivacyUnit(columns=("person",), rows=3, cell_rows=1)
REPLACED = PrivacyUnit(columns=("person",), rows=3, cell_rows=1, neighbours=Neighbours.REPLACE, drops=True)
PRICE, DELTA = Price(rho=Fraction(1, 2)), Fraction(1, 100)


class CellCase(Struct, frozen=True, kw_only=True, eq=False):
    """One attack on a table of one person's rows. Fields and methods as `Case`.

    rows: of the person in two neighbouring tables, a letter each, for its cell; nobody else has any.
    """

    name: str
    rows: tuple[str, str]
    unit: PrivacyUnit
    what: str = "a Gaussian table that counts at most one row of a person in a cell, from a file"
    work: int = 1
    brief: int | None = None

    @property
    def trial(self) -> MechanismTrial:
        return MechanismTrial(mechanisms=(Gaussian().mechanism((TABLE,), self.unit, PRICE),), delta=DELTA)

    @property
    def claim(self) -> Claim:
        return self.trial.claim

    @property
    def laws(self) -> tuple[Laws, Laws]:
        """Of every cell's number: 1 where the person has a row there."""
        ((event, _),) = self.trial.events
        one, two = (tuple(noisy(min(Counter(rows)[cell], 1), event) for cell in LABELS) for rows in self.rows)
        return one, two

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` draws from the table, which is read once."""
        with person_table(("person", "cell"), [("p", cell) for cell in self.rows[side]]) as source:
            counts = load_table(source, DOMAIN, Limits(), unit=self.unit, noise=noise, column_sets=(TABLE.axes,)).counts
        trial = self.trial
        return Outcomes.of([trial.run(counts, noise) for _ in range(runs)])


def cell_cases() -> Iterator[CellCase]:
    """A person comes with rows in every cell, or in one alone; or has them in other cells."""
    yield CellCase(name="cells-spread-person", rows=("", "abc"), unit=PERSON)
    yield CellCase(name="cells-equal-person", rows=("", "aaa"), unit=PERSON)
    yield CellCase(name="cells-replaced-person", rows=("aab", "ccc"), unit=REPLACED)
