"""A counter of persons, from tables: the loader decides which of their rows each release uses, and all are drawn."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpqr.audit.case import Numbers, Outcomes
from dpqr.audit.cases.answers import noisy
from dpqr.audit.cases.counters import APPROXIMATE, PURE, Life
from dpqr.audit.claim import Claim
from dpqr.audit.law import Laws
from dpqr.data.attribute import Attribute, Labels
from dpqr.data.domain import Domain
from dpqr.data.histogram import Counts
from dpqr.data.period import Period, PeriodRows
from dpqr.data.period_tree import PeriodTree
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.noise.source import NoiseSource
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.counter import Counter
from dpqr.privacy.sealed import Private

FIRST = Period.parse("2024-01")
DOMAIN = Domain((Attribute(name="cell", axis=Labels(("a", "b"))),))
ROWS = 3
"""K of each person."""
TREE, ONE_LEVEL = PeriodTree(periods=4, base=4), PeriodTree(periods=6, base=7)
"""One whose last release reads all periods, after three that read one each; and one where each reads its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistoryCase:
    """One attack on a counter of persons. Fields and methods as `Case`.

    histories: of one person in two neighbouring tables, how many rows in each period; nobody else has any.
    """

    name: str
    histories: tuple[Numbers, Numbers]
    life: Life
    what: str = "all releases of a counter of a person with more rows than are used, from a table"
    work: int = 1
    brief: int | None = None

    @property
    def claim(self) -> Claim:
        return self.life.claim

    @property
    def laws(self) -> tuple[Laws, Laws]:
        one, two = (self._law(history) for history in self.histories)
        return one, two

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` lives. The table is read once for each node, for which rows are used makes no difference here."""
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "table.csv"
            _write(path, self.histories[side])
            nodes = [(self._loaded(path, node, noise), self.life.drawn) for node in self._nodes]
        return Outcomes.of([self.life.released(nodes, noise) for _ in range(runs)])

    @property
    def _nodes(self) -> range:
        return range(1, self.life.counter.tree.periods + 1)

    def _loaded(self, path: Path, node: int, noise: NoiseSource) -> Private[Counts]:
        since = FIRST.later(self.life.counter.tree.span(node).start - 1)
        rows = PeriodRows(column="day", period=FIRST.later(node - 1), since=since, first=FIRST)
        source = TableSource(paths=(str(path),), period=rows)
        return load_table(source, DOMAIN, Limits(), unit=self.life.counter.unit, noise=noise).counts

    def _law(self, history: Numbers) -> Laws:
        """Of every node's number: of its rows, those among the first `ROWS` of the life."""
        first = [min(count, max(0, ROWS - sum(history[:period]))) for period, count in enumerate(history)]
        counts = (sum(first[period] for period in parts) for parts in self.life.spans)
        return tuple(noisy(count, self.life.drawn.event) for count in counts)


def history_cases() -> Iterator[HistoryCase]:
    """A person with more rows than are used in every period comes, or brings them earlier."""
    person = PrivacyUnit(column="person", rows=ROWS)
    replaced = PrivacyUnit(column="person", rows=ROWS, neighbours=Neighbours.REPLACE, drops=True)
    yield history_case("person", person, ((0, 0, 0, 0), (4, 4, 4, 4)))
    yield history_case("one-level", person, ((0,) * 6, (4,) * 6), tree=ONE_LEVEL)
    yield history_case("late-person", person, ((0, 0, 0, 0), (0, 1, 9, 1)))
    yield history_case("replace", replaced, ((0, 0, 9, 9), (9, 9, 0, 0)))
    yield history_case("rho-person", person, ((0, 0, 0, 0), (4, 4, 4, 4)), APPROXIMATE)


def history_case(
    name: str,
    unit: PrivacyUnit,
    histories: tuple[Numbers, Numbers],
    life: PrivacyBudget = PURE,
    tree: PeriodTree = TREE,
) -> HistoryCase:
    """A counter of that life."""
    accountant = "basic" if life.pure else "zcdp"
    counter = Counter(tree=tree, life=life, accountant=accountant, unit=unit)
    return HistoryCase(name=f"counter-history-{name}", histories=histories, life=Life(counter=counter))


def _write(path: Path, history: Numbers) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("person", "day", "cell"))
        for period, count in enumerate(history):
            table.writerows([("p", FIRST.later(period).start.isoformat(), "a")] * count)
