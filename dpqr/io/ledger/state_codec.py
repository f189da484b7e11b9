"""All standings of a ledger as canonical JSON and back: what is left to know of the entries before a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.cost_codec import read_sum, sum_document
from dpqr.io.ledger.entry_codec import canonical, entry_document, read_entry, read_terms, terms_document
from dpqr.io.ledger.event_codec import decode_events, encode_events
from dpqr.io.ledger.open_run import OpenRun
from dpqr.io.ledger.standing import Standing
from dpqr.privacy.currency import Currency
from dpqr.privacy.events import Composition

FORMAT = "dpqr state/1"
_FAULTS = (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError, DpqrError)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A ledger after its first `length` entries: whether an anchor is kept, and every dataset by name."""

    length: int
    anchored: bool
    standings: Mapping[str, Standing]


def encode_state(state: State) -> str:
    """The one text of a state. Sums are written in base 16, which no limit on digits ends."""
    datasets = [_standing_document(standing) for standing in state.standings.values()]
    return canonical({"dpqr": FORMAT, "entries": state.length, "anchored": state.anchored, "datasets": datasets})


def decode_state(text: str) -> State:
    """The inverse. LedgerError for any text that `encode_state` of this version does not write."""
    try:
        document = json.loads(text)
        standings = [_standing(part) for part in document["datasets"]]
        state = State(
            length=document["entries"],
            anchored=document["anchored"],
            standings={standing.terms.dataset: standing for standing in standings},
        )
        if encode_state(state) != text:
            raise ValueError("not the text of a state")
    except _FAULTS:
        raise LedgerError(
            "the ledger was edited or is damaged: its state cannot be read; restore it from a backup"
        ) from None
    return state


def _standing_document(standing: Standing) -> dict[str, Any]:
    return {
        "dataset": standing.terms.dataset,
        "terms": terms_document(standing.terms),
        "spent": sum_document(standing.spent),
        "reservations": standing.reservations,
        "runs": [_run_document(run) for run in standing.runs.values()],
    }


def _standing(document: dict[str, Any]) -> Standing:
    terms = read_terms(document["dataset"], document["terms"])
    runs = [_run(part, terms.currency) for part in document["runs"]]
    return Standing(
        terms=terms,
        spent=read_sum(document["spent"]),
        reservations=document["reservations"],
        runs={run.paid.number: run for run in runs},
    )


def _run_document(run: OpenRun) -> dict[str, Any]:
    return {
        "paid": entry_document(run.paid),
        "seal": run.paid.hash,
        "drawn": encode_events(_drawn(run)),
        "last": encode_events(() if run.last is None else ((run.last, 1),)),
        "recorded": run.recorded,
        "transcript": run.transcript,
    }


def _run(document: dict[str, Any], currency: Currency) -> OpenRun:
    run = OpenRun.of(read_entry(document["paid"], document["seal"]), currency)
    for event, count in decode_events(document["drawn"]):
        for _ in range(count):
            run.charge(event)
    last = decode_events(document["last"])
    run.last = last[0][0] if last else None
    run.recorded, run.transcript = document["recorded"], document["transcript"]
    return run


def _drawn(run: OpenRun) -> Composition:
    """The draws that were begun. In a currency of whole runs their order matters to the run's own filter."""
    if run.paid.pricing is None:
        return run.events
    return tuple((event, len(list(same))) for event, same in groupby(run.draws))
