"""Reprice: the events of an old release, priced by the accountants of today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpqr.app.paying.budget import shown_delta
from dpqr.errors import DocumentError
from dpqr.io.outputs.records.document_parts import parsed_events, rational
from dpqr.io.outputs.records.plan_form import Figure
from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.records.record_form import parsed_record
from dpqr.io.outputs.releases.read_release import read_release
from dpqr.privacy.accountants.known import ACCOUNTANTS, RELEASING, available
from dpqr.privacy.events import Composition

Prices = Mapping[str, Fraction | None]
"""Epsilon by accountant; None where its theorem does not cover the events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repriced:
    """version: of dpqr, that made the release. charged: the accountant that its guarantee rests on, which stays as it
    is. before: at `delta_before`, as the record states it. now: at `delta`. unverified: why the record may have been
    changed since it was written; empty: its hashes fit."""

    version: str
    charged: str
    delta_before: Fraction
    before: Prices
    delta: Fraction
    now: Prices
    unverified: str = ""

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "version": self.version,
            "charged": self.charged,
            "not_verified": self.unverified or None,
            "stated": {"delta": rational(self.delta_before), "epsilon": _figures(self.before)},
            "now": {"delta": rational(self.delta), "epsilon": _figures(self.now)},
        }


def prices_today(events: Composition, delta: Fraction, charged: str) -> Prices:
    """Epsilon of the events under every accountant that is installed here, and under the one that was charged."""
    shown = available({name: one for name, one in RELEASING.items() if name in (*ACCOUNTANTS, charged)})
    return {name: accountant.epsilon(events, delta) for name, accountant in shown.items()}


def reprice(release: str, delta: str | None = None) -> Repriced:
    """Price the planned events of a release again. delta: where; None: at the release's own.

    Raises: UsageFault where there is no release, or no such delta; DocumentError where its record is damaged.
    """
    at, files = shown_delta(delta), read_release(release)
    record = parsed_record(files.record, str(files.path / RECORD))
    try:
        events = parsed_events(files.record["plan"]["events"])
        before = Fraction(record.spent.delta.exact)
        stated = {name: _value(figure) for name, figure in record.spent.epsilon.items()}
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise DocumentError(f"{files.path / RECORD}: states events or prices that dpqr does not know") from None
    return Repriced(
        version=record.version,
        charged=record.spent.charged,
        delta_before=before,
        before=stated,
        delta=before if at is None else at,
        now=prices_today(events, before if at is None else at, record.spent.charged),
        unverified=files.unverified,
    )


def _value(figure: Figure | None) -> Fraction | None:
    return None if figure is None else Fraction(figure.exact)


def _figures(prices: Prices) -> dict[str, Any]:
    return {name: None if price is None else rational(price) for name, price in prices.items()}
