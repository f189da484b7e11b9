"""A counter over three periods: every release of its life, on tables that differ in one row or in one person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction

from dpqr.audit.case import Case, Shown, numbers, records
from dpqr.audit.cases.answers import noisy
from dpqr.audit.cases.left_out import ASKED, OfParts
from dpqr.audit.claim import Claim
from dpqr.audit.law import Laws
from dpqr.data.histogram import Counts
from dpqr.data.period_tree import PeriodTree
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import Portion, PrivacyFilter
from dpqr.privacy.accountants.known import available
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.counter import Counter
from dpqr.privacy.gate import Mechanism, measure
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.workload.workload import Measurement

SHAPE = (3, 2)
"""The period of a record, and its cell there."""
TREE = PeriodTree(periods=3)
PURE, APPROXIMATE = PrivacyBudget(Fraction(1)), PrivacyBudget(Fraction(2), Fraction(1, 100))
Table = dict[tuple[int, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Life:
    """All releases of a counter, one after the other: the number of records in one cell."""

    counter: Counter
    drawn: Mechanism[Counts, Measurement] = field(init=False, repr=False)
    _guard: PrivacyFilter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        node, accountant = self.counter.node, available()[self.counter.accountant]
        (price,) = accountant.cut(node, [Portion(share=Fraction(1), count=1)])
        drawn = (Laplace() if node.pure else Gaussian()).mechanism((ASKED,), self.counter.unit, price)
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "_guard", accountant.guard(node, ((drawn.event, 1),)))

    @property
    def claim(self) -> Claim:
        """The budget of the life, whatever the nodes are charged."""
        life = self.counter.life
        if life.pure:
            return Claim(epsilon=life.epsilon)
        (whole,) = available()["zcdp"].cut(life, [Portion(share=Fraction(1), count=1)])
        return Claim(epsilon=life.epsilon, delta=life.delta, rho=whole.figure)

    @property
    def spans(self) -> tuple[tuple[int, ...], ...]:
        """The places of each node's periods."""
        spans = map(self.counter.tree.span, range(1, self.counter.tree.periods + 1))
        return tuple(tuple(period - 1 for period in span) for span in spans)

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        return self.released([(database, OfParts(inner=self.drawn, parts=parts)) for parts in self.spans], noise)

    def released(
        self, nodes: Sequence[tuple[Private[Counts], Mechanism[Counts, Measurement]]], noise: NoiseSource
    ) -> Shown:
        """A draw for each node, which has a filter of its own."""
        shown = list[int]()
        for database, drawn in nodes:
            shown += numbers(measure(database, drawn, accountant=copy(self._guard), noise=noise).value)
        return (), tuple(shown), ()

    def laws(self, table: Table) -> Laws:
        """Of every node's number."""
        counts = (sum(table.get((period, 0), 0) for period in parts) for parts in self.spans)
        return tuple(noisy(count, self.drawn.event) for count in counts)


def counter_cases() -> Iterator[Case]:
    """A row comes in the first period, which lies in two nodes; it moves to the last one; a person brings all rows."""
    row, person = PrivacyUnit(), PrivacyUnit(column="person", rows=3)
    yield counter_case("add-remove", row, {}, {(0, 0): 1})
    yield counter_case("replace", PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True), {(0, 0): 1}, {(2, 0): 1})
    yield counter_case("person", person, {}, {(0, 0): 3})
    yield counter_case("spread-person", person, {}, {(0, 0): 2, (2, 0): 1})
    yield counter_case("rho-add-remove", row, {}, {(0, 0): 1}, APPROXIMATE)


def counter_case(name: str, unit: PrivacyUnit, here: Table, there: Table, life: PrivacyBudget = PURE) -> Case:
    """A binary counter of that life."""
    accountant = "basic" if life.pure else "zcdp"
    trial = Life(counter=Counter(tree=TREE, life=life, accountant=accountant, unit=unit))
    return Case(
        name=f"counter-{name}",
        what="all releases of a counter over three periods",
        pair=(records(SHAPE, here), records(SHAPE, there)),
        trial=trial,
        laws=(trial.laws(here), trial.laws(there)),
    )
