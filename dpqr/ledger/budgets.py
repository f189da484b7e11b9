"""Budgets of datasets: open one, look at it, walk through the ledger that holds them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, field

from dpqr.domain.periods import Every, Period
from dpqr.kernel.budget import SMALLEST_DELTA, Cost, PrivacyBudget, exact_decimal
from dpqr.kernel.currency import PAIR, Currency, currency
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.unit import Neighbours, PrivacyUnit, unit_columns
from dpqr.kernel.values import replace
from dpqr.ledger.chain import Anchor, Mark
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.chained_ledger import move as moved
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import NO_REASON, Account, BudgetTerms, DataKind, LedgerEntry, Reason
from dpqr.ledger.location import LEDGER, anchor_path, is_unanchored, ledger_path
from dpqr.ledger.periods import PeriodBudgets
from dpqr.ledger.record import account_document, entry_line, verdict_document
from dpqr.ledger.store import SqliteStore, Store
from dpqr.tables.engines.address import is_address, read_address
from dpqr.tables.policy import Policy, PolicyChange


class PeriodRequest(Struct, frozen=True, kw_only=True):
    """How a budget is divided into periods: kind, date column, epsilon of each, and the first that has one."""

    every: Every
    column: str
    epsilon: str
    first: str | None = None


class BudgetRequest(Struct, frozen=True, kw_only=True):
    """A budget for life, as its owner asks for it.

    accountant: basic, zcdp or gdp; None: zcdp where there is a delta, else basic. With a delta, basic adds up pairs of
    epsilon and delta. cap, cap_delta: epsilon and delta of the largest release. unit, per: the columns that
    name persons, or units of theirs (`PrivacyUnit`), whose budget it then is; None: of rows. policy: how the table is
    read; its count column makes it a budget of records. reason: why it is opened, and by whom.
    """

    dataset: str
    epsilon: str
    delta: str | None = None
    accountant: str | None = None
    cap: str | None = None
    cap_delta: str | None = None
    neighbours: str = Neighbours.ADD_REMOVE.value
    unit: str | tuple[str, ...] | None = None
    per: Every | None = None
    kind: str = DataKind.PRIVATE.value
    policy: Policy = field(default_factory=Policy)
    reason: Reason = NO_REASON
    periods: PeriodRequest | None = None


class PricedAccount(Struct, frozen=True, kw_only=True):
    """An account, and what its whole history costs at `delta` under every accountant: shown, never charged.

    replayed: entries that every new job replays, since the ledger's last checkpoint.
    """

    account: Account
    events: Composition
    delta: Fraction
    prices: dict[str, Fraction | None]
    replayed: int = 0

    def document(self) -> JSON:
        """Plain JSON values."""
        return account_document(self.account, self.events, self.prices, self.delta)


def configured_ledger(ledger: str | None, anchor: str | None) -> ChainedLedger:
    """The ledger that options, environment or custom name (in this order). Nothing is opened or made yet."""
    outside = anchor_path(anchor)
    return ChainedLedger(
        store=ledger_store(ledger), anchor=Anchor(path=outside) if outside else None, unanchored=is_unanchored(anchor)
    )


def ledger_store(given: str | None, environment: Mapping[str, str] = os.environ) -> Store:
    """The store that was given, else the one in DPQR_LEDGER, else the user's own file. Nothing is opened or made."""
    named, origin = (given, "--ledger") if given is not None else (environment.get(LEDGER), LEDGER)
    if named is not None and is_address(named):
        address = read_address(named, origin)
        try:
            from dpqr.ledger.postgres import PostgresStore
        except ImportError:  # psycopg is missing, or finds no libpq
            raise UsageFault(
                f"--ledger {address.text}: needs the package psycopg; install it by: pip install 'dpqr[postgres]'"
            ) from None
        return PostgresStore(address)
    return SqliteStore(ledger_path(given, environment))


def open_budget(ledger: ChainedLedger, request: BudgetRequest) -> PricedAccount:
    """Give a dataset its budget, once and for life."""
    return price_account(ledger.open(terms(request)))


def terms(request: BudgetRequest) -> BudgetTerms:
    """The terms that a request asks for. UsageFault for one that no accountant can keep."""
    budget = PrivacyBudget.parse(request.epsilon, request.delta)
    unit = PrivacyUnit(
        neighbours=Neighbours(request.neighbours),
        columns=unit_columns(request.unit),
        per=request.per,
        counted=request.policy.counts,
    )
    charged = currency(request.accountant or ("basic" if budget.pure else "zcdp"), pure=budget.pure)
    return BudgetTerms(
        dataset=request.dataset,
        budget=budget,
        accountant=charged.accountant,
        limit=charged.limit(budget),
        cap=_cap(request, budget, charged),
        neighbours=unit.neighbours,
        unit=unit.whom,
        kind=DataKind(request.kind),
        policy=request.policy,
        periods=_periods(request, budget, charged, unit),
        reason=request.reason,
    )


def restrict(ledger: ChainedLedger, dataset: str, change: PolicyChange) -> PricedAccount:
    """Change the policy of a budget, towards stricter only. UsageFault for a change that states nothing."""
    if change == PolicyChange():
        raise UsageFault("state what the policy shall be: --max-records N or --forbid-fail, for example")
    ledger.restrict(dataset, change)
    (changed,) = budgets(ledger, dataset, None)
    return changed


def budgets(ledger: ChainedLedger, dataset: str | None, delta: str | None) -> tuple[PricedAccount, ...]:
    """One dataset, or all. delta: where the history is priced; None: at the delta of each budget."""
    at, record = parse_display_delta(delta), ledger.walk()
    accounts = record.accounts if dataset is None else (record.state.account(dataset),)
    names = [account.terms.dataset for account in accounts]
    return tuple(
        replace(price_account(account, record.events(name), at, record.histories(name)), replayed=record.replayed)
        for name, account in zip(names, accounts, strict=True)
    )


def parse_display_delta(delta: str | None) -> Fraction | None:
    """Where a price is shown, from its text; None stays None. Raises: UsageFault."""
    at = None if delta is None else exact_decimal(delta, option="--delta")
    if at and not SMALLEST_DELTA <= at < 1:
        raise UsageFault(f"--delta {delta}: delta must be 0 or lie in [1e-30, 1), for example 1e-9")
    return at


def price_account(
    account: Account,
    events: Composition = (),
    delta: Fraction | None = None,
    histories: tuple[Composition, ...] | None = None,
) -> PricedAccount:
    """The account with the price of its history, those events, under every accountant.

    Args:
        histories: what one unit may have met, each by itself; the largest price counts. None: all events. Empty: no
            composition of events; then other accountants than the budget's own have no price.
    """
    from dpqr.kernel.accountants.known import available  # brings numpy, which no other use of a ledger needs

    at = account.terms.budget.delta if delta is None else delta
    met = (events,) if histories is None else histories
    prices: dict[str, Fraction | None] = {}
    for name, accountant in available().items() if met else ():
        found = [accountant.epsilon(events, at) for events in met]
        known = [price for price in found if price is not None]
        prices[name] = max(known) if len(known) == len(found) else None
    # Run by run, as it was charged.
    prices[account.terms.accountant] = account.terms.currency.epsilon(account.spent, at)
    return PricedAccount(account=account, events=events, delta=at, prices=prices)


def history(ledger: ChainedLedger, dataset: str | None) -> tuple[LedgerEntry, ...]:
    """The entries of one dataset, or all of them. UsageFault for a name without a budget."""
    record = ledger.walk()
    if dataset is None:
        return record.entries
    record.state.account(dataset)
    return tuple(entry for entry in record.entries if entry.dataset == dataset)


def export(ledger: ChainedLedger) -> Iterator[str]:
    """The whole record, one JSON line an entry, from which anybody can check the chain."""
    return map(entry_line, ledger.entries())


def verify(ledger: ChainedLedger) -> JSON:
    """Walk everything; what was found, as plain JSON values. LedgerError at the first fault."""
    return verdict_document(ledger.verify())


def move(ledger: ChainedLedger, to: str) -> Mark:
    """Carry the whole ledger on in another place; it ends where it was. The anchor goes with it."""
    return moved(ledger, ChainedLedger(store=ledger_store(to), anchor=ledger.anchor, unanchored=ledger.unanchored))


def grant(ledger: ChainedLedger, role: str) -> None:
    """Let a role of the database append what jobs append."""
    ledger.grant(role)


def revoke(ledger: ChainedLedger, role: str) -> None:
    """Take that back."""
    ledger.store.revoke(role)


def _periods(
    request: BudgetRequest, budget: PrivacyBudget, charged: Currency, unit: PrivacyUnit
) -> PeriodBudgets | None:
    """How the budget is divided. UsageFault: more for a period than for life, or rows that are replaced."""
    periods = request.periods
    if periods is None:
        return None
    if unit.neighbours is Neighbours.REPLACE:
        raise UsageFault(
            "--period: a replaced row may leave one period and enter another, and how many rows a period has is "
            "private; use --neighbours add-remove"
        )
    epsilon = PrivacyBudget.parse(periods.epsilon).epsilon
    if epsilon > budget.epsilon:
        raise UsageFault(f"--per-period {periods.epsilon}: is above the budget for life; give at most --eps")
    return PeriodBudgets(
        column=periods.column,
        every=periods.every,
        share=charged.limit(PrivacyBudget(epsilon, budget.delta)),
        first=None if periods.first is None else Period.parse(periods.first, periods.every, option="--first"),
        parallel=not unit.columns,
    )


def _cap(request: BudgetRequest, budget: PrivacyBudget, charged: Currency) -> Cost | None:
    """The most that one release may cost: of what is not stated, the whole budget's."""
    if request.cap is None and request.cap_delta is None:
        return None
    epsilon = budget.epsilon if request.cap is None else PrivacyBudget.parse(request.cap).epsilon
    if epsilon > budget.epsilon:
        raise UsageFault(
            f"--cap-eps {request.cap}: is above the whole budget's epsilon; give at most that, or leave it out"
        )
    if request.cap_delta is None:
        return charged.limit(PrivacyBudget(epsilon, budget.delta))
    if charged is not PAIR:
        raise UsageFault("--cap-delta caps what counts deltas: add --delta D --accounting basic, or leave it out")
    delta = exact_decimal(request.cap_delta, option="--cap-delta")
    if delta > budget.delta:
        raise UsageFault(
            f"--cap-delta {request.cap_delta}: is above the whole budget's delta; give at most that, or leave it out"
        )
    return Cost(epsilon, delta)
