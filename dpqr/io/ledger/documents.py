"""Accounts, entries and verdicts as plain JSON values. Rationals are exact text with a rounded decimal beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpqr.io.ledger.entry_codec import canonical, encode_entry, periods_document, policy_document
from dpqr.io.ledger.entry_codec import entry_document as plain_entry
from dpqr.io.ledger.event_codec import LONGEST, encode_events
from dpqr.io.ledger.record import Record
from dpqr.privacy.budget import NO_COST, Cost, downward_text, upward_text
from dpqr.privacy.events import Composition
from dpqr.privacy.ledger import Account, Entry
from dpqr.privacy.pair_currency import PAIR
from dpqr.privacy.periods import WHOLE

Prices = Mapping[str, Fraction | None]
Figure = dict[str, str | None]


def account_document(account: Account, events: Composition, prices: Prices, delta: Fraction) -> dict[str, Any]:
    """Terms, what is spent and left, and the epsilon of all `events` at `delta` under every accountant."""
    terms = account.terms
    figures = _pair if terms.currency is PAIR else _one
    return {
        "dataset": terms.dataset,
        "kind": terms.kind.value,
        "neighbours": terms.neighbours.value,
        "unit": terms.unit,
        "purpose": terms.reason.purpose,
        "by": terms.reason.by,
        "budget": {"epsilon": _up(terms.budget.epsilon), "delta": _up(terms.budget.delta)},
        "accountant": terms.accountant,
        "currency": terms.currency.name,
        "policy": policy_document(terms.policy),
        "limit": figures(terms.limit, _down),
        "cap": None if terms.cap is None else figures(terms.cap, _down),
        "spent": figures(account.spent, _up),
        "unsettled": {"reservations": account.unsettled, "cost": figures(account.pending, _up)},
        "left": figures(account.left, _down),
        "largest": {**figures(account.largest, _down), "options": account.request},
        "reservations": account.reservations,
        **_periods(account, figures),
        "prices": {
            "delta": _up(delta),
            "epsilon": {name: None if price is None else _up(price) for name, price in prices.items()},
        },
        "events": encode_events(events),
    }


def _periods(account: Account, figures: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The periods' budgets, and what each has spent; nothing of a dataset that has none."""
    periods = account.terms.periods
    if periods is None:
        return {}
    spent = {name: figures(cost, _up) for name, cost in account.periods.items() if name != WHOLE}
    whole = figures(account.periods.get(WHOLE, NO_COST), _up)
    return {
        "periods": {**periods_document(periods), "share": figures(periods.share, _down), "spent": spent, "all": whole}
    }


def entry_document(entry: Entry) -> dict[str, Any]:
    """The entry as it is hashed, and its seal."""
    return {**plain_entry(entry), "seal": entry.hash}


def entry_line(entry: Entry) -> str:
    """One line of an export: {"entry": ..., "seal": ...}.

    The seal is the SHA-256 of the seal before it, a line feed, and the canonical text of `entry`. Of an entry that was
    rejected, and is none, the line holds the stored text itself: {"text": ..., "seal": ...}.
    """
    if entry.kind == "void":
        return f'{{"text":{canonical(entry.text)},"seal":{canonical(entry.hash)}}}'
    return f'{{"entry":{encode_entry(entry)},"seal":{canonical(entry.hash)}}}'


def verdict_document(verified: Record) -> dict[str, Any]:
    """How far the ledger has come, and how far the anchor knows.

    unproved: reservations whose price was not derived again, for their accountant is not installed here. rejected:
    entries of jobs that broke the rules, as the owner has found (`dpqr budget reject`).
    """
    anchored = verified.anchored
    return {
        "sound": True,
        "entries": verified.mark.entries,
        "seal": verified.mark.seal,
        "datasets": [account.terms.dataset for account in verified.accounts],
        "unproved": list(verified.unproved),
        "rejected": sorted(verified.chain.rejected),
        "anchor": None if anchored is None else {"entries": anchored.entries, "seal": anchored.seal},
    }


def _one(cost: Cost, figure: Callable[[Fraction], Figure]) -> dict[str, Any]:
    return {**figure(cost.amount)}


def _pair(cost: Cost, figure: Callable[[Fraction], Figure]) -> dict[str, Any]:
    return {"epsilon": figure(cost.amount), "delta": figure(cost.delta)}


def _up(value: Fraction) -> Figure:
    return {"exact": _exact(value), "decimal": upward_text(value)}


def _down(value: Fraction) -> Figure:
    return {"exact": _exact(value), "decimal": downward_text(value)}


def _exact(value: Fraction) -> str | None:
    """Sums of very many different prices may take more digits than anybody reads."""
    return str(value) if max(value.numerator, value.denominator) < 10**LONGEST else None
