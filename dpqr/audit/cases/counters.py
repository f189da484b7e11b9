"""A counter over three periods: every release of its life, on tables that differ in one row or in one person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from msgspec import Struct

from dpqr.audit.case import Case, Claim, Numbers, Outcomes, PublicOutcome, numbers, records
from dpqr.audit.cases.noisy_answers import AUDITED_QUERY, OfParts, noisy
from dpqr.audit.cases.persons import person_table
from dpqr.audit.law import Laws
from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Counts
from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.accountants.accountant import Portion, PrivacyFilter
from dpqr.kernel.accountants.known import available
from dpqr.kernel.budget import Cost, Price, PrivacyBudget
from dpqr.kernel.gate import Mechanism, measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.periods import PeriodBudgets
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.counter import Counter
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
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
        drawn = (Laplace() if node.pure else Gaussian()).mechanism((AUDITED_QUERY,), self.counter.unit, price)
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

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        return self.released([(database, OfParts(inner=self.drawn, parts=parts)) for parts in self.spans], noise)

    def released(
        self, nodes: Sequence[tuple[Private[Counts], Mechanism[Counts, Measurement]]], noise: NoiseSource
    ) -> PublicOutcome:
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
    row, person = PrivacyUnit(), PrivacyUnit(columns=("person",), rows=3)
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


# A counter of persons, from tables: the loader decides which of their rows each release uses, and all are drawn.

FIRST = Period.parse("2024-01")
DOMAIN = Domain((Attribute(name="cell", axis=Labels(("a", "b"))),))
ROWS = 3
"""K of each person."""
HISTORY_TREE, ONE_LEVEL = PeriodTree(periods=4, base=4), PeriodTree(periods=6, base=7)
"""One whose last release reads all periods, after three that read one each; and one where each reads its own."""


class HistoryCase(Struct, frozen=True, kw_only=True, eq=False):
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
        """Of every node's number: of its rows, those among the first `ROWS` of the life."""
        found = []
        for history in self.histories:
            first = [min(count, max(0, ROWS - sum(history[:period]))) for period, count in enumerate(history)]
            counts = (sum(first[period] for period in parts) for parts in self.life.spans)
            found.append(tuple(noisy(count, self.life.drawn.event) for count in counts))
        return found[0], found[1]

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` lives. The table is read once for each node, for which rows are used makes no difference here."""
        days = [FIRST.later(period).start.isoformat() for period in range(len(self.histories[side]))]
        table = [("p", day, "a") for day, count in zip(days, self.histories[side], strict=True) for _ in range(count)]
        nodes, counter = [], self.life.counter
        with person_table(("person", "day", "cell"), table) as source:
            for node in range(1, counter.tree.periods + 1):
                since = FIRST.later(counter.tree.span(node).start - 1)
                rows = PeriodRows(column="day", period=FIRST.later(node - 1), since=since, first=FIRST)
                loaded = load_table(replace(source, period=rows), DOMAIN, Limits(), unit=counter.unit, noise=noise)
                nodes.append((loaded.counts, self.life.drawn))
        return Outcomes.of([self.life.released(nodes, noise) for _ in range(runs)])


def history_cases() -> Iterator[HistoryCase]:
    """A person with more rows than are used in every period comes, or brings them earlier."""
    person = PrivacyUnit(columns=("person",), rows=ROWS)
    replaced = PrivacyUnit(columns=("person",), rows=ROWS, neighbours=Neighbours.REPLACE, drops=True)
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
    tree: PeriodTree = HISTORY_TREE,
) -> HistoryCase:
    """A counter of that life."""
    accountant = "basic" if life.pure else "zcdp"
    counter = Counter(tree=tree, life=life, accountant=accountant, unit=unit)
    return HistoryCase(name=f"counter-history-{name}", histories=histories, life=Life(counter=counter))


# Releases of two periods, each of its own rows: a row pays in one of them, and a person in both.

DAYS = (date(2026, 1, 31), date(2026, 2, 1))
"""Of the records: the last day of one month, and the first of the next."""
PERIODS = tuple(Period.of("month", day) for day in DAYS)
PERIOD_SHAPE = (len(DAYS), 2)
"""The day of a record, and its cell there."""
SHARE = Fraction(1)
"""Epsilon of each release, and of each period."""
PeriodTable = dict[tuple[int, ...], int]


class Releases(Struct, frozen=True, kw_only=True):
    """One release of each period, one after the other: the number of records in one cell."""

    unit: PrivacyUnit

    @property
    def claim(self) -> Claim:
        """What a ledger says that one unit has paid."""
        parallel = not self.unit.columns
        budgets = PeriodBudgets(column="day", every="month", share=Cost(SHARE), parallel=parallel)
        return Claim(epsilon=budgets.total({period.name: Cost(SHARE) for period in PERIODS}).amount)

    @property
    def draws(self) -> tuple[OfParts, ...]:
        """Each of the records whose day lies in its period."""
        drawn = Laplace().mechanism((AUDITED_QUERY,), self.unit, Price(epsilon=SHARE))
        spans = (PeriodRows(column="day", period=period) for period in PERIODS)
        held = (tuple(at for at, day in enumerate(DAYS) if span.days[0] <= day < span.days[-1]) for span in spans)
        return tuple(OfParts(inner=drawn, parts=parts) for parts in held)

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        shown: list[int] = []
        for drawn in self.draws:
            guard = available()["basic"].guard(PrivacyBudget(SHARE), ((drawn.event, 1),))
            shown += numbers(measure(database, drawn, accountant=guard, noise=noise).value)
        return (), tuple(shown), ()

    def laws(self, table: PeriodTable) -> Laws:
        """Of the number of every period."""
        counts = (sum(table.get((part, 0), 0) for part in drawn.parts) for drawn in self.draws)
        return tuple(noisy(count, drawn.event) for count, drawn in zip(counts, self.draws, strict=True))


def period_cases() -> Iterator[Case]:
    """A row comes on the first day of a period; a person brings rows of both."""
    yield period_case("add-remove", PrivacyUnit(), {}, {(1, 0): 1})
    yield period_case("person", PrivacyUnit(columns=("person",), rows=1), {}, {(0, 0): 1, (1, 0): 1})


def period_case(name: str, unit: PrivacyUnit, here: PeriodTable, there: PeriodTable) -> Case:
    """Two months, a release of each."""
    trial = Releases(unit=unit)
    return Case(
        name=f"periods-{name}",
        what="releases of two periods, each of the rows of its own",
        pair=(records(PERIOD_SHAPE, here), records(PERIOD_SHAPE, there)),
        trial=trial,
        laws=(trial.laws(here), trial.laws(there)),
    )
