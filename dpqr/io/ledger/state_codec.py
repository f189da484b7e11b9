"""The state of all budgets as the text that a checkpoint stores, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.account_state import AccountState, OpenRun
from dpqr.io.ledger.entry_codec import (
    canonical,
    entry_document,
    layer_document,
    read_entry,
    read_layer,
    read_terms,
    terms_document,
)
from dpqr.io.ledger.event_codec import decode_events, decode_sum, encode_events, sum_document
from dpqr.privacy.budget import NO_COST
from dpqr.privacy.currency import Currency
from dpqr.privacy.events import Composition
from dpqr.privacy.layers import LayerNode
from dpqr.privacy.periods import WHOLE, Spending

FORMAT = "dpqr state/1"
_FAULTS = (ArithmeticError, ValueError, KeyError, TypeError, AttributeError, RecursionError, DpqrError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a checkpoint stores: number of entries, whether an anchor is kept, every dataset's account by name."""

    length: int
    anchored: bool
    accounts: Mapping[str, AccountState]


def encode_state(state: Checkpoint) -> str:
    """The one text of a state. Sums are written in base 16, which no limit on digits ends."""
    datasets = [_account_document(held) for held in state.accounts.values()]
    return canonical({"dpqr": FORMAT, "entries": state.length, "anchored": state.anchored, "datasets": datasets})


def decode_state(text: str) -> Checkpoint:
    """The inverse. LedgerError for any text that `encode_state` of this version does not write."""
    try:
        document = json.loads(text)
        accounts = [_account_state(part) for part in document["datasets"]]
        state = Checkpoint(
            length=document["entries"],
            anchored=document["anchored"],
            accounts={held.terms.dataset: held for held in accounts},
        )
        if encode_state(state) != text:
            raise ValueError("not the text of a state")
    except _FAULTS:
        raise LedgerError(
            "the ledger was edited or is damaged: its state cannot be read; restore it from a backup"
        ) from None
    return state


def _account_document(held: AccountState) -> dict[str, Any]:
    return {
        "dataset": held.terms.dataset,
        "terms": terms_document(held.terms),
        "spent": sum_document(held.spent.get(WHOLE, NO_COST)),
        **_periods_document(held.spent),
        **({"layers": [_node_document(node) for node in held.nodes]} if held.nodes else {}),
        "reservations": held.reservations,
        "runs": [_run_document(run) for run in held.runs.values()],
        **({"approvals": [list(each) for each in held.approvals]} if held.approvals else {}),
    }


def _periods_document(spent: Spending) -> dict[str, Any]:
    """Left out of the state of a dataset without periods, as in earlier versions."""
    periods = {name: sum_document(cost) for name, cost in spent.items() if name != WHOLE}
    return {"periods": periods} if periods else {}


def _node_document(node: LayerNode) -> dict[str, Any]:
    return {
        "layer": layer_document(node.layer),
        "period": node.period,
        "entry": node.entry,
        "cost": sum_document(node.cost),
    }


def _node(document: dict[str, Any]) -> LayerNode:
    layer = read_layer(document["layer"])
    if layer is None:
        raise ValueError("a node of no layer")
    return LayerNode(layer=layer, period=document["period"], entry=document["entry"], cost=decode_sum(document["cost"]))


def _account_state(document: dict[str, Any]) -> AccountState:
    terms = read_terms(document["dataset"], document["terms"])
    runs = [_run(part, terms.currency) for part in document["runs"]]
    return AccountState(
        terms=terms,
        spent={WHOLE: decode_sum(document["spent"])}
        | {name: decode_sum(cost) for name, cost in document.get("periods", {}).items()},
        nodes=tuple(_node(part) for part in document.get("layers", [])),
        reservations=document["reservations"],
        runs={run.paid.number: run for run in runs},
        approvals=[(plan, by) for plan, by in document.get("approvals", [])],
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
