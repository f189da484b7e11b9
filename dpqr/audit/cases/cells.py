"""Tables that count at most m rows of a person in one cell: the loader keeps the bound, and every cell is drawn."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpqr.audit.case import Claim, MechanismTrial, Outcomes
from dpqr.audit.cases.noisy_answers import noisy
from dpqr.audit.law import Laws
from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain
from dpqr.kernel.budget import Price
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.checks import Gaussian
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.block import Factor, QueryBlock

CELLS = ("a", "b", "c")
DOMAIN = Domain((Attribute(name="cell", axis=Labels(CELLS)),))
TABLE = QueryBlock(name="cells", factors=(Factor.identity(0, len(CELLS)),))
PERSON = PrivacyUnit(columns=("person",), rows=3, cell_rows=1)
REPLACED = PrivacyUnit(columns=("person",), rows=3, cell_rows=1, neighbours=Neighbours.REPLACE, drops=True)
PRICE, DELTA = Price(rho=Fraction(1, 2)), Fraction(1, 100)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellCase:
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
        one, two = (tuple(noisy(min(Counter(rows)[cell], 1), event) for cell in CELLS) for rows in self.rows)
        return one, two

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` draws from the table, which is read once."""
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "table.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("person", "cell"), *(("p", cell) for cell in self.rows[side])])
            source = TableSource(paths=(str(path),))
            counts = load_table(source, DOMAIN, Limits(), unit=self.unit, noise=noise, asked=(TABLE.axes,)).counts
        trial = self.trial
        return Outcomes.of([trial.run(counts, noise) for _ in range(runs)])


def cell_cases() -> Iterator[CellCase]:
    """A person comes with rows in every cell, or in one alone; or has them in other cells."""
    yield CellCase(name="cells-spread-person", rows=("", "abc"), unit=PERSON)
    yield CellCase(name="cells-equal-person", rows=("", "aaa"), unit=PERSON)
    yield CellCase(name="cells-replaced-person", rows=("aab", "ccc"), unit=REPLACED)
