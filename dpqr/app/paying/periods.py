"""Which periods pay for a release, as a budget's owner has fixed it, and which earlier release it corrects."""

from __future__ import annotations

from collections.abc import Iterator

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.requests import LedgerRequest
from dpqr.data.period import PeriodRows
from dpqr.io.ledger.record import Record
from dpqr.privacy.ledger import RELEASED, Entry, Terms
from dpqr.privacy.pair_currency import PAIR


def paid_notes(payer: LedgerRequest | None, period: PeriodRows | None, before: str | None = None) -> Iterator[str]:
    """What the budget's owner has fixed: which periods pay; and which earlier release this one corrects.

    Args:
        before: the seal of a reservation; what was released after it is passed by. None: everything counts.
    """
    if payer is None:
        return
    record = configured_ledger(payer.ledger, payer.anchor).walk()
    terms = record.state.account(payer.dataset).terms
    if terms.periods is not None or period is not None:
        yield _paid_by(terms, period)
    corrected = period and _corrected(record, payer.dataset, period, before)
    if corrected:
        yield (
            f"corrects: entry {corrected.number} of the ledger (seal {corrected.hash[:16]}), a release of "
            f"{corrected.period}; this is a new release of it, and paid anew"
        )


def _paid_by(terms: Terms, period: PeriodRows | None) -> str:
    if period is not None and period.first is not None:
        return _paid_by_layer(terms, period)
    if terms.periods is None:
        return "paid from the whole budget, which is not divided into periods: releases of different periods add up"
    each = f"every {terms.periods.every}"
    if period is None:
        return f"it reads the rows of all periods, so the budget of {each} pays for it"
    if terms.periods.parallel:
        return f"paid from the budget of {period.each}; parallel over periods: a row pays in its own alone"
    return f"paid from the budget of {period.each}; a person's periods add up within the budget for life"


def _paid_by_layer(terms: Terms, period: PeriodRows) -> str:
    """Of a counter that bounds each person's rows over its life."""
    budget = f"the budget of {period.each}" if terms.periods else "the whole budget"
    if terms.currency is PAIR:
        return f"paid from {budget}: its currency, epsilon and delta, charges each release of a counter in full"
    return f"paid from {budget}: over its life a counter costs a person one price a level, if each release is made once"


def _corrected(record: Record, dataset: str, period: PeriodRows, before: str | None) -> Entry | None:
    """The reservation of the newest finished release of a period."""
    finished = {entry.settles for entry in record.entries if entry.kind == "settle" and entry.note == RELEASED}
    found = None
    for entry in record.entries:
        if entry.hash == before:
            break
        if (entry.dataset, entry.period) == (dataset, period.name) and entry.number in finished:
            found = entry
    return found
