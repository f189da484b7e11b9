"""Budgets and their history as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.kernel.budget import Cost, downward_text, upward_text
from dpqr.kernel.currency import RHO, Currency, PairCurrency
from dpqr.kernel.values import replace
from dpqr.kernel.wording import Fact, count_words, plain
from dpqr.ledger.ledger import Account, LedgerEntry
from dpqr.report.answers import plain_table
from dpqr.report.html import facts
from dpqr.tables.policy import OWNER_VOUCHES, Policy

DIGITS = 6


def account_view(account: Account, prices: Mapping[str, Fraction | None], delta: Fraction) -> RenderableType:
    """Terms, what is spent and left, and what the history costs under every accountant."""
    return facts(_account_facts(account, prices, delta))


def _account_facts(account: Account, prices: Mapping[str, Fraction | None], delta: Fraction) -> Iterator[Fact]:
    terms = account.terms
    unit, budget = terms.currency.name, f"eps {downward_text(terms.budget.epsilon)}"
    if not terms.budget.pure:
        budget = f"({budget}, delta {downward_text(terms.budget.delta)})"
    limit = f", which is {terms.currency.words(terms.limit, downward_text)}" if terms.currency is RHO else ""
    yield "Dataset", f"{terms.dataset} ({terms.kind.value})"
    yield "Budget", f"{budget} for life{limit}; charged by {terms.accountant}, in {unit}"
    yield "Protects", terms.unit
    if terms.reason.words:
        yield "Opened", plain(f"for {terms.reason.words}" if terms.reason.purpose else terms.reason.words)
    if terms.cap is not None:
        yield "Cap", f"{terms.currency.words(terms.cap, downward_text)} for one release"
    yield "Policy", policy_words(replace(terms.policy, source=None))
    if terms.policy.learning and not isinstance(terms.currency, PairCurrency):
        yield "", f"bounds alone: labels have no price in {unit}; a budget of --accounting basic with a delta pays them"
    if terms.policy.source is not None:
        yield "Source", plain(terms.policy.source.words)
        yield "", OWNER_VOUCHES
    if terms.periods is not None:
        # What each may spend, and how they come together.
        first = "" if terms.periods.first is None else f" from {terms.periods.first.name} on"
        joined = (
            "a row pays in its own alone"
            if terms.periods.parallel
            else "a person's periods add up within the budget for life"
        )
        share = terms.currency.words(terms.periods.share, downward_text)
        yield (
            "Periods",
            plain(f"{share} for each {terms.periods.every} by column {terms.periods.column!r}{first}; {joined}"),
        )
    # What is spent, by period too, and what is left.
    currency = terms.currency
    yield "Spent", f"{currency.words(account.spent, upward_text)} in {count_words(account.reservations, 'reservation')}"
    spent = [
        f"{name or 'every period'} {currency.figures(cost, upward_text)}"
        for name, cost in sorted(account.periods.items())
        if cost
    ]
    if spent:
        yield "", f"by period: {', '.join(spent)}"
    if account.unsettled:
        waiting = count_words(account.unsettled, "reservation")
        pending = currency.figures(account.pending, upward_text)
        yield "", f"{pending} of it in {waiting} without a settlement, spent in full"
    largest = f"the largest request that fits is {account.request}" if account.request else "nothing more fits"
    yield "Left", f"{currency.words(account.left, downward_text)}; {largest}"
    # The whole history by every theorem; only the ledger's own is charged.
    name = "History"
    for accountant, price in prices.items():
        figure = f"eps {upward_text(price, DIGITS)}" if price is not None else "no finite eps"
        own = " (charged)" if accountant == terms.accountant else ", shown only"
        yield name, f"{accountant}: {figure} at delta {upward_text(delta)}{own}"
        name = ""
    if prices.keys() == {terms.accountant}:
        alone = "not shown; of a counter a person pays one release a level, which they do not add up"
        yield name, f"other accountants: {alone}"


def accounts_view(views: Iterable[RenderableType]) -> RenderableType:
    """Several of them, with a blank line between."""
    spaced = [part for view in views for part in (Text(""), view)]
    return Group(*(spaced[1:] or [Text("no dataset has a budget yet; open one with dpqr budget init")]))


def history_view(entries: Iterable[LedgerEntry]) -> RenderableType:
    """One line an entry that changes a budget: not the single draws of runs, which cost nothing beyond their
    reservation, and not the checkpoints."""
    table = plain_table()
    table.add_column("number", justify="right", no_wrap=True)
    for name in ("time", "entry", "dataset"):
        table.add_column(name, no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    currencies: dict[str, Currency] = {}
    reserved: dict[int | None, Cost] = {}
    for entry in (one for one in entries if one.kind not in {"draw", "record", "checkpoint"}):
        if entry.terms is not None:
            currencies[entry.dataset] = entry.terms.currency
        if entry.kind == "reserve":
            reserved[entry.number] = entry.cost
        # What a reservation sets aside; of a settlement what the run cost in the end, where that is another sum.
        currency, cost = currencies.get(entry.dataset), ""
        if currency is not None and entry.kind in {"reserve", "settle"}:
            settled = entry.cost == reserved.get(entry.settles)
            cost = "as reserved" if settled else currency.words(entry.cost, upward_text)
        reason = entry.terms.reason if entry.terms is not None else entry.reason
        plan = f"plan {entry.plan[:12]}" if entry.plan else ""
        period = f"rows of {entry.period}" if entry.period else ""
        note = plain("; ".join(filter(None, (period, reason.words, entry.note, plan))))
        if entry.settles is not None:
            note = f"settles {entry.settles}: {note}"
        if entry.policy is not None:
            note = policy_words(entry.policy)
        if entry.kind == "void":
            note = "breaks the rules, and counts for nothing"
        if entry.kind == "reject":
            note = f"rejects {', '.join(map(str, entry.rejected))}"
        table.add_row(*map(Text, (str(entry.number), plain(entry.time), entry.kind, plain(entry.dataset), cost, note)))
    return table


def policy_words(policy: Policy) -> str:
    """What every run keeps to."""
    limits = [f"{option[2:]} {value}" for option, value, _ in policy.stated if isinstance(value, int)]
    parts = limits or ["built-in limits"]
    parts += [] if policy.delimiter is None else [f"delimiter {policy.delimiter!r}"]
    parts += [] if policy.encoding is None else [f"encoding {policy.encoding}"]
    parts.append("no count column" if policy.counts is None else f"counts in column {policy.counts!r}")
    parts.append("a rule `fail` may occur" if policy.fail else "no rule `fail`")
    parts += ["approved plans only"] if policy.approval else []
    parts += ["labels and bounds may be learned"] if policy.learning else []
    return plain(", ".join([*parts, *([f"source {policy.source.words}"] if policy.source else [])]))


# An old release's price, and that of today, side by side.

PRICE_DIGITS = 6
Prices = Mapping[str, Fraction | None]


def repriced_view(
    version: str,
    charged: str,
    before: Prices,
    now: Prices,
    deltas: tuple[Fraction, Fraction],
    unverified: str = "",
) -> RenderableType:
    """A line an accountant.

    Args:
        version: of dpqr, that made the release.
        charged: the accountant of its guarantee.
        before, now: epsilon by accountant; None where its theorem does not cover the events.
        deltas: of the two.
        unverified: why the record may have been changed; empty: its hashes fit.
    """
    table = plain_table()
    table.add_column("accountant", no_wrap=True)
    for heading, delta in zip((f"dpqr {plain(version)}", "today"), deltas, strict=True):
        table.add_column(f"{heading}, delta {upward_text(delta)}", justify="right", no_wrap=True)
    for name in dict.fromkeys((*before, *now)):
        own = " (charged)" if name == charged else ""
        table.add_row(Text(plain(name) + own), Text(_figure(before, name)), Text(_figure(now, name)))
    said = "The guarantee stays what the release states. What is shown here is neither spent nor given back."
    doubt = [Text(f"Not verified: {plain(unverified)}")] if unverified else []
    return Group(*doubt, table, Text(said))


def _figure(prices: Prices, name: str) -> str:
    price = prices.get(name)
    if price is None:
        return "not covered" if name in prices else "not known"
    return f"eps {upward_text(price, PRICE_DIGITS)}"


# Sessions as text: answers to questions, and how a session of questions or of predictions stands.


def answer_lines(found: Iterable[Any]) -> Iterator[str]:
    """One line a query: what was asked, the estimate, its interval, and whether it was free."""
    for each in found:
        answer = each.answer
        low, high = ("?" if end is None else f"{end:,.0f}" for end in (answer.low, answer.high))
        paid = "free" if answer.free else "paid"
        detail = f" {each.detail}" if each.detail else ""
        yield f"{each.query}{detail}: {answer.estimate:,.0f}  [{low}, {high}]  {paid}"


def status_lines(found: Any) -> Iterator[str]:
    """What was paid, what was asked, and what is left."""
    left = found.paid_surprises - found.surprises if found.checked else 0
    yield f"Session    {found.name}, paid from the budget of {found.dataset!r}"
    yield f"Guarantee  {found.guarantee}"
    yield f"Asked      {count_words(found.questions, 'question')}, {found.free:,} of them free"
    if found.used:
        yield f"Answers    {found.used}"
    yield f"Surprises  {found.surprises:,} of {found.paid_surprises:,} are spent, {left:,} left"
    yield (
        f"Free       an answer is free where it is found within {found.margin:,} records, and lies within "
        f"{found.reach:,} with probability 0.95"
    )
    if not found.checked:
        yield "Note       all thresholds are spent or lost: further answers are not compared with the table"


def prediction_status_lines(found: Any) -> Iterator[str]:
    """How a session of predictions stands: what was paid, and what is left."""
    yield f"Session    {found.name}, paid from the budget of {found.dataset!r}"
    yield f"Guarantee  {found.guarantee}"
    yield f"Points     {found.left:,} of the {found.points:,} that were paid for are left"
    yield from (f"{name:<11}{text}" for name, text in found.facts)
