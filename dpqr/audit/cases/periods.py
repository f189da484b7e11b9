"""Releases of two periods, each of its own rows: a row pays in one of them, and a person in both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from dpqr.audit.case import Case, Shown, numbers, records
from dpqr.audit.cases.answers import noisy
from dpqr.audit.cases.left_out import ASKED, OfParts
from dpqr.audit.claim import Claim
from dpqr.audit.law import Laws
from dpqr.data.histogram import Counts
from dpqr.data.period import Period, PeriodRows
from dpqr.data.unit import PrivacyUnit
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountants.known import available
from dpqr.privacy.budget import Cost, Price, PrivacyBudget
from dpqr.privacy.gate import measure
from dpqr.privacy.periods import PeriodBudgets
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks import Laplace

DAYS = (date(2026, 1, 31), date(2026, 2, 1))
"""Of the records: the last day of one month, and the first of the next."""
PERIODS = tuple(Period.of("month", day) for day in DAYS)
SHAPE = (len(DAYS), 2)
"""The day of a record, and its cell there."""
SHARE = Fraction(1)
"""Epsilon of each release, and of each period."""
Table = dict[tuple[int, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """One release of each period, one after the other: the number of records in one cell."""

    unit: PrivacyUnit

    @property
    def claim(self) -> Claim:
        """What a ledger says that one unit has paid."""
        parallel = self.unit.column is None
        budgets = PeriodBudgets(column="day", every="month", share=Cost(SHARE), parallel=parallel)
        return Claim(epsilon=budgets.total({period.name: Cost(SHARE) for period in PERIODS}).amount)

    @property
    def draws(self) -> tuple[OfParts, ...]:
        """Each of the records whose day lies in its period."""
        drawn = Laplace().mechanism((ASKED,), self.unit, Price(epsilon=SHARE))
        spans = (PeriodRows(column="day", period=period) for period in PERIODS)
        held = (tuple(at for at, day in enumerate(DAYS) if span.days[0] <= day < span.days[-1]) for span in spans)
        return tuple(OfParts(inner=drawn, parts=parts) for parts in held)

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        shown: list[int] = []
        for drawn in self.draws:
            guard = available()["basic"].guard(PrivacyBudget(SHARE), ((drawn.event, 1),))
            shown += numbers(measure(database, drawn, accountant=guard, noise=noise).value)
        return (), tuple(shown), ()

    def laws(self, table: Table) -> Laws:
        """Of the number of every period."""
        counts = (sum(table.get((part, 0), 0) for part in drawn.parts) for drawn in self.draws)
        return tuple(noisy(count, drawn.event) for count, drawn in zip(counts, self.draws, strict=True))


def period_cases() -> Iterator[Case]:
    """A row comes on the first day of a period; a person brings rows of both."""
    yield period_case("add-remove", PrivacyUnit(), {}, {(1, 0): 1})
    yield period_case("person", PrivacyUnit(column="person", rows=1), {}, {(0, 0): 1, (1, 0): 1})


def period_case(name: str, unit: PrivacyUnit, here: Table, there: Table) -> Case:
    """Two months, a release of each."""
    trial = Releases(unit=unit)
    return Case(
        name=f"periods-{name}",
        what="releases of two periods, each of the rows of its own",
        pair=(records(SHAPE, here), records(SHAPE, there)),
        trial=trial,
        laws=(trial.laws(here), trial.laws(there)),
    )
