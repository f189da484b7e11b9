"""Budgets of periods within a dataset's budget: what each may spend, and what one unit pays over all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from dpqr.data.period import Every, Period, named_periods
from dpqr.privacy.budget import NO_COST, Cost
from dpqr.privacy.layers import LayerNode

WHOLE = ""
"""Stands, among the names of periods, for releases that read the rows of all periods."""

Spending = Mapping[str, Cost]
"""What the releases of each period cost, by its name; under WHOLE those that name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodBudgets:
    """How a dataset's budget is divided into periods, fixed for life when it is opened.

    column: holds the date that says which period a row is in. every: the kind of period. share: the largest cost of
    all releases that read one period's rows, in the dataset's currency. first: periods before it have no budget; None:
    any period has one. parallel: whether the unit is one row, added or removed; else it is a person.

    Privacy:
        Releases that name no period read all rows, so they charge every period. Let w be their sum and s(p) that of the
        releases that read the rows of period p: one that reads several charges each of them.

        *Rows, added or removed*: a unit costs at most w + max s(p). Neighbours differ in one row r, whose date alone
        says that it is in period q, or in none. The releases of any other period read equal rows on both tables, so
        given what was released before they have the same law on both: they are randomness of the analyst's own between
        the draws that read r, and the likelihood ratio of a whole history is the product of those draws' ratios
        (`dpqr.privacy.parallel.in_parallel` proves the same of kept and left-out records). They cost w + s(q), where
        each filter that the ledger's currencies use holds for adaptive sequences, such as this one (McSherry 2009,
        Theorem 4, for histories).

        *Persons*: one person may have rows in every period, so a unit costs at most w + sum s(p). Releases of counters
        that bound a person's rows over the life are left out of that sum, and are added by `of_layers`; each period's
        own s(p) holds them too.

        *Replaced rows* are refused: a row that is replaced may leave one period and enter another, so a unit would
        cost w + the sum of the two largest s(p); and though the number of all rows is public there, that of a period's
        rows is not.

        One column holds for life: under another a row might be in two periods at once. A row whose date is changed in a
        later version of the table is two rows here: it pays in the period that it leaves and in the one it enters.

    >>> from fractions import Fraction
    >>> spent = {"2026-01": Cost(Fraction(1, 10)), "2026-02": Cost(Fraction(1, 5)), "": Cost(Fraction(1, 20))}
    >>> rows = PeriodBudgets(column="day", every="month", share=Cost(Fraction(1, 4)), parallel=True)
    >>> rows.total(spent).amount, rows.of("2026-01", spent).amount
    (Fraction(1, 4), Fraction(3, 20))
    """

    column: str
    every: Every
    share: Cost
    first: Period | None = None
    parallel: bool = True

    def total(self, spent: Spending) -> Cost:
        """Return what one unit has paid at most, over all periods."""
        return spent.get(WHOLE, NO_COST) + self._joined(spent)

    def paying(self, name: str) -> tuple[str, ...]:
        """Return the periods that a release of this name charges: each one whose rows it reads.

        >>> PeriodBudgets(column="day", every="month", share=NO_COST).paying("2026-01/2026-02")
        ('2026-01', '2026-02')
        """
        return (WHOLE,) if name == WHOLE else tuple(period.name for period in named_periods(name, self.every))

    def read(self, spent: Spending, nodes: Iterable[LayerNode]) -> Spending:
        """Return what the releases that read each period cost, with those of layers."""
        found = dict(spent)
        for node in nodes:
            for name in self.paying(node.period):
                found[name] = found.get(name, NO_COST) + node.cost
        return found

    def of(self, period: str | None, spent: Spending) -> Cost:
        """Return what the releases that read this period's rows cost.

        Args:
            period: its name; WHOLE: the period where they cost most; None: one that has released nothing.
        """
        most = _largest(spent) if period == WHOLE else NO_COST if period is None else spent.get(period, NO_COST)
        return spent.get(WHOLE, NO_COST) + most

    def room(self, period: str | None, spent: Spending, left: Cost) -> Cost:
        """Return the largest cost of one release of this period (as in `of`) now. left: of the budget for life.

        In parallel that is no bound of its own: no share is above it, and another period's cost takes nothing away.
        """
        own = self.share - self.of(period, spent)
        return own if self.parallel else own.least(left)

    def _joined(self, spent: Spending) -> Cost:
        if self.parallel:
            return _largest(spent)
        return sum((cost for name, cost in spent.items() if name != WHOLE), NO_COST)


def _largest(spent: Spending) -> Cost:
    """The largest of each figure over the periods."""
    return reduce(Cost.most, (cost for name, cost in spent.items() if name != WHOLE), NO_COST)
