"""Budgets of periods within a dataset's budget: what each may spend, and what one unit pays over all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from itertools import count

from msgspec import Struct

from dpqr.domain.periods import Every, Period, PeriodRows, parse_periods
from dpqr.kernel.budget import NO_COST, Cost
from dpqr.kernel.values import replace

ALL_PERIODS = ""
"""Stands, among the names of periods, for releases that read the rows of all periods."""

Spending = Mapping[str, Cost]
"""What the releases of each period cost, by its name; under ALL_PERIODS those that name none."""


class PeriodBudgets(Struct, frozen=True, kw_only=True):
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
        (`dpqr.kernel.accountants.accountant.in_parallel` proves the same of kept and left-out records). They cost
        w + s(q), where each filter that the ledger's currencies use holds for adaptive sequences, such as this one
        (McSherry 2009, Theorem 4, for histories).

        *Persons*: one person may have rows in every period, so a unit costs at most w + sum s(p). Releases of counters
        that bound a person's rows over the life are left out of that sum, and are added by `of_layers`; each period's
        own s(p) holds them too.

        *Replaced rows* are refused: a row that is replaced may leave one period and enter another, so a unit would
        cost w + the sum of the two largest s(p); and though the number of all rows is public there, that of a period's
        rows is not.

        One column holds for life: under another a row might be in two periods at once. A row whose date is changed in a
        later version of the table is two rows here: it pays in the period that it leaves and in the one it enters.
        Statement P39 of the guide's topic proofs.

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
        each = (cost for name, cost in spent.items() if name != ALL_PERIODS)
        joined = _largest(spent) if self.parallel else sum(each, NO_COST)
        return spent.get(ALL_PERIODS, NO_COST) + joined

    def paying(self, name: str) -> tuple[str, ...]:
        """Return the periods that a release of this name charges: each one whose rows it reads.

        >>> PeriodBudgets(column="day", every="month", share=NO_COST).paying("2026-01/2026-02")
        ('2026-01', '2026-02')
        """
        return (
            (ALL_PERIODS,) if name == ALL_PERIODS else tuple(period.name for period in parse_periods(name, self.every))
        )

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
        most = _largest(spent) if period == ALL_PERIODS else NO_COST if period is None else spent.get(period, NO_COST)
        return spent.get(ALL_PERIODS, NO_COST) + most

    def room(self, period: str | None, spent: Spending, left: Cost) -> Cost:
        """Return the largest cost of one release of this period (as in `of`) now. left: of the budget for life.

        In parallel that is no bound of its own: no share is above it, and another period's cost takes nothing away.
        """
        own = self.share - self.of(period, spent)
        return own if self.parallel else own.least(left)


def _largest(spent: Spending) -> Cost:
    """The largest of each figure over the periods."""
    return reduce(Cost.most, (cost for name, cost in spent.items() if name != ALL_PERIODS), NO_COST)


# Layers: releases of counters that use at most K rows of a person together, and cost what the dearest of them does.


class Layer(Struct, frozen=True, kw_only=True):
    """Releases of later and later periods, in the order in which they were made.

    column: of dates. first: the period from which on each person's rows are counted against the bound. rows: K. read:
    digest of what decides which rows are well-formed. number: of several such layers, from 0.

    Privacy:
        Let k_i be how many rows of a person release i uses. *Their sum is at most K:* the lemma of `Counter` asks of
        the nodes of a level no more than that their periods come after each other, that they were read in this order
        that they bound rows from the same period on by the same K, and that they find the same rows well-formed. It
        does not matter what they count: all rows of a person are counted against K, whatever a domain's rules make of
        them. So a layer may hold releases of several counters, and first-fit (`free_layer`) puts the levels of one
        counter into layers of their own: when a node of level j comes, each lower level has a node within it, and level
        j has none.

        *What a person pays:* release i, of price c_i, costs k_i / K of that at most (`Counter`). The sum of (k_i / K)
        c_i with all k_i together at most K is at most the largest c_i. *Where persons are replaced*, release i costs at
        most max(k_i, k_i') / K of c_i. That sum is convex in the k_i and in the k_i', so it is largest where each
        person has K rows in one release: it is at most the sum of the two largest prices.

        A release that is not settled may still have to read its rows, and later than the next one. So its layer takes
        no further one until it is settled.
        Statement P4 of the guide's topic proofs.
    """

    column: str
    first: str
    rows: int
    read: str
    number: int


class LayerNode(Struct, frozen=True, kw_only=True):
    """One release of a layer. period: whose rows are counted, by `PeriodRows.name`. entry: of its reservation."""

    layer: Layer
    period: str
    entry: int
    cost: Cost


def free_layer(rows: PeriodRows, most: int, nodes: Collection[LayerNode], waiting: Collection[int]) -> Layer | None:
    """Return the first layer that a release may join; None: its rows are not bounded over a life.

    Args:
        most: K.
        nodes: of all layers.
        waiting: entries of reservations that are not settled.
    """
    if rows.first is None:
        return None
    layer = Layer(column=rows.column, first=rows.first.name, rows=most, read=rows.read, number=0)
    tried = (replace(layer, number=number) for number in count())
    return next(one for one in tried if is_free(one, rows.name, nodes, waiting))


def is_free(layer: Layer, period: str, nodes: Iterable[LayerNode], waiting: Collection[int]) -> bool:
    """Whether a release of these periods comes after all of a layer, and none of those is still open."""
    every = Period.parse(layer.first).every
    start = parse_periods(period, every)[0]
    held = [node for node in nodes if node.layer == layer]
    later = (start.index(parse_periods(node.period, every)[-1]) > 0 for node in held)
    return start.index(Period.parse(layer.first)) >= 0 and all(later) and not {one.entry for one in held} & set(waiting)


def of_layers(nodes: Collection[LayerNode], largest: int) -> Cost:
    """Return what one unit pays at most for all layers.

    Args:
        largest: how many of a layer's releases, the dearest ones, it pays for: 1, or 2 where persons are replaced.

    >>> layer = Layer(column="day", first="2026-01", rows=3, read="", number=0)
    >>> nodes = [LayerNode(layer=layer, period=f"2026-0{step}", entry=step, cost=Cost(step)) for step in (1, 2, 3)]
    >>> float(of_layers(nodes, 1).amount), float(of_layers(nodes, 2).amount)
    (3.0, 5.0)
    """
    total = NO_COST
    for layer in {node.layer for node in nodes}:
        costs = sorted((node.cost for node in nodes if node.layer == layer), key=lambda cost: cost.amount)
        total += sum(costs[-largest:], NO_COST)
    return total
