"""Entries, terms and policies as canonical JSON and back. The text is what is hashed, so an entry has exactly one."""

from __future__ import annotations

import json
from typing import Any

from dpqr.data.period import EVERY, Period
from dpqr.data.unit import Neighbours
from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.event_codec import cost_document, decode_cost, decode_events, encode_events, exact_text, parse_exact
from dpqr.privacy.budget import Pricing, PrivacyBudget
from dpqr.privacy.layers import Layer
from dpqr.privacy.ledger import DataKind, Entry, Terms
from dpqr.privacy.periods import WHOLE, PeriodBudgets
from dpqr.privacy.policy import Policy, Source
from dpqr.privacy.reason import Reason


def policy_document(policy: Policy | None) -> dict[str, Any]:
    """Every field, null where nothing is stated. ValueError for no policy.

    What came with a later version is left out where it is not stated, for older texts are sealed.
    """
    if policy is None:
        raise ValueError("an entry of a policy states it")
    return {
        "records": policy.records,
        "bytes": policy.bytes,
        "memory": policy.memory,
        "delimiter": policy.delimiter,
        "counts": policy.counts,
        "fail": policy.fail,
        **({} if policy.encoding is None else {"encoding": policy.encoding}),
        **({"approval": True} if policy.approval else {}),
        **({} if policy.source is None else {"source": _source_document(policy.source)}),
    }


def _source_document(source: Source) -> dict[str, str]:
    return {"address": source.address, **({"query": source.query} if source.query else {})}


def _read_source(document: dict[str, Any] | None) -> Source | None:
    if document is None:
        return None
    if not document["address"]:
        raise ValueError("no source")
    return Source(address=_text(document["address"]), query=_text(document.get("query", "")))


def decode_policy(document: dict[str, Any]) -> Policy:
    """The inverse. Raises: ValueError, KeyError, TypeError or DpqrError."""
    texts = [document["delimiter"], document["counts"], document.get("encoding")]
    if not isinstance(document["fail"], bool) or not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError("no policy")
    policy = Policy(
        records=document["records"],
        bytes=document["bytes"],
        memory=document["memory"],
        delimiter=document["delimiter"],
        encoding=document.get("encoding"),
        counts=document["counts"],
        fail=document["fail"],
        approval=document.get("approval", False),
        source=_read_source(document.get("source")),
    )
    if policy_document(policy) != document:
        raise ValueError("not the text of a policy")
    return policy


FORMAT = "dpqr ledger/1"
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError, DpqrError)


def encode_entry(entry: Entry) -> str:
    """Canonical JSON: keys sorted, no blanks, ASCII. Everything but the hash, which is of this text."""
    return canonical(entry_document(entry))


def entry_document(entry: Entry) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {"entry": entry.kind, "number": entry.number, "time": entry.time, **_content(entry)}


def decode_entry(text: str, digest: str) -> Entry:
    """The entry of a link in a sound chain. LedgerError where the text is not one that `encode_entry` writes.

    A text that holds more than that is found by encoding the entry again (`dpqr.io.ledger.record.require_proofs`).
    """
    try:
        return read_entry(json.loads(text), digest)
    except _FAULTS:
        raise LedgerError(
            "the ledger holds an entry that this version of dpqr cannot read; it is damaged, or from a newer version"
        ) from None


def canonical(document: Any) -> str:
    """The one JSON text of a document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _content(entry: Entry) -> dict[str, Any]:
    if entry.kind == "open":
        return {"format": FORMAT, "ledger": entry.note, "anchored": entry.anchored}
    if entry.kind == "anchor":
        return {}
    if entry.kind == "checkpoint":
        return {"state": entry.state}
    if entry.kind in ("move", "arrive"):
        return {"place": entry.note}
    if entry.kind == "reject":
        return {"rejects": list(entry.rejected)}
    if entry.kind == "void":
        return {"text": entry.text}
    if entry.kind == "init":
        return {"dataset": entry.dataset, **terms_document(entry.terms)}
    if entry.kind == "policy":
        return {"dataset": entry.dataset, "policy": policy_document(entry.policy)}
    if entry.kind == "approve":
        return {"dataset": entry.dataset, "plan": entry.plan, **_reason_document(entry.reason)}
    if entry.kind in ("draw", "record"):
        begun = {"events": encode_events(entry.events)} if entry.kind == "draw" else {}
        return {"dataset": entry.dataset, "run": entry.run, "transcript": entry.transcript, **begun}
    content = {
        "dataset": entry.dataset,
        "cost": cost_document(entry.cost),
        "events": encode_events(entry.events),
        "note": entry.note,
    }
    if entry.kind == "settle":
        return {**content, "settles": entry.settles, **({"drawn": entry.drawn} if entry.drawn else {})}
    priced = {} if entry.pricing is None else _pricing_document(entry.pricing)
    planned = {"plan": entry.plan} if entry.plan else {}
    period = {"period": entry.period} if entry.period else {}
    layer = {"layer": layer_document(entry.layer)} if entry.layer else {}
    return {**content, **priced, **planned, **period, **layer, **_reason_document(entry.reason)}


def layer_document(layer: Layer) -> dict[str, Any]:
    """Every field."""
    return {
        "column": layer.column,
        "first": layer.first,
        "rows": layer.rows,
        "read": layer.read,
        "number": layer.number,
    }


def read_layer(document: dict[str, Any] | None) -> Layer | None:
    """The inverse. Raises: ValueError, KeyError, TypeError or DpqrError."""
    if document is None:
        return None
    rows, number = document["rows"], document["number"]
    if not isinstance(rows, int) or not isinstance(number, int) or rows < 1 or number < 0:
        raise ValueError("no layer")
    first = Period.parse(_text(document["first"])).name
    column, read = _text(document["column"]), _text(document["read"])
    return Layer(column=column, first=first, rows=rows, read=read, number=number)


def _reason_document(reason: Reason) -> dict[str, str]:
    """What is stated: older entries, whose text is sealed, have none."""
    stated = {"purpose": reason.purpose, "by": reason.by, "approved_by": reason.approved_by}
    return {name: text for name, text in stated.items() if text}


def _read_reason(document: dict[str, Any]) -> Reason:
    return Reason(**{name: _text(document.get(name, "")) for name in ("purpose", "by", "approved_by")})


def _pricing_document(pricing: Pricing) -> dict[str, str]:
    return {"accountant": pricing.accountant, "delta": exact_text(pricing.delta)}


def _read_pricing(document: dict[str, Any]) -> Pricing | None:
    if document["entry"] != "reserve" or "accountant" not in document:
        return None
    return Pricing(accountant=_text(document["accountant"]), delta=parse_exact(document["delta"]))


def terms_document(terms: Terms | None) -> dict[str, Any]:
    """Terms as plain JSON values, without the dataset's name.

    What came with a later version is left out of older terms, whose text is sealed.
    """
    if terms is None:
        raise ValueError("an init entry states its terms")
    return {
        "epsilon": exact_text(terms.budget.epsilon),
        "delta": exact_text(terms.budget.delta),
        "accountant": terms.accountant,
        "limit": cost_document(terms.limit),
        "cap": None if terms.cap is None else cost_document(terms.cap),
        "neighbours": terms.neighbours.value,
        "unit": terms.unit,
        "kind": terms.kind.value,
        **({"policy": policy_document(terms.policy)} if terms.policy_stated else {}),
        **({} if terms.periods is None else {"periods": periods_document(terms.periods)}),
        **_reason_document(terms.reason),
    }


def read_entry(document: dict[str, Any], digest: str) -> Entry:
    """The inverse of `entry_document`. Raises: ValueError, KeyError, TypeError or DpqrError, for `decode_entry`."""
    kind, number = document["entry"], document["number"]
    if not isinstance(number, int) or not isinstance(document["time"], str):
        raise ValueError("no number or no time")
    same = {"kind": kind, "number": number, "time": document["time"], "hash": digest}
    if kind == "open":
        return Entry(**same, note=_text(document["ledger"]), anchored=document["anchored"] is True)
    if kind == "anchor":
        return Entry(**same)
    if kind == "checkpoint":
        return Entry(**same, state=_text(document["state"]))
    if kind in ("move", "arrive"):
        return Entry(**same, note=_text(document["place"]))
    if kind == "reject":
        return Entry(**same, rejected=tuple(_number(each, number) for each in document["rejects"]))
    dataset = _text(document["dataset"])
    if kind == "init":
        return Entry(**same, dataset=dataset, terms=read_terms(dataset, document))
    if kind == "policy":
        return Entry(**same, dataset=dataset, policy=decode_policy(document["policy"]))
    if kind == "approve":
        return Entry(**same, dataset=dataset, plan=_text(document["plan"]), reason=_read_reason(document))
    if kind in ("draw", "record"):
        events = decode_events(document["events"]) if kind == "draw" else ()
        transcript = _text(document["transcript"])
        return Entry(**same, dataset=dataset, events=events, run=document["run"], transcript=transcript)
    return Entry(
        **same,
        dataset=dataset,
        cost=decode_cost(document["cost"]),
        events=decode_events(document["events"]),
        pricing=_read_pricing(document),
        settles=document["settles"] if kind == "settle" else None,
        note=_text(document["note"]),
        reason=_read_reason(document),
        plan=_text(document.get("plan", "")),
        period=_text(document.get("period", WHOLE)),
        layer=read_layer(document.get("layer")),
        drawn=_text(document.get("drawn", "")),
    )


def periods_document(periods: PeriodBudgets) -> dict[str, Any]:
    """first: null where any period has a budget."""
    return {
        "column": periods.column,
        "every": periods.every,
        "share": cost_document(periods.share),
        "first": periods.first and periods.first.name,
        "parallel": periods.parallel,
    }


def _read_periods(document: dict[str, Any] | None) -> PeriodBudgets | None:
    if document is None:
        return None
    every, first = document["every"], document["first"]
    if every not in EVERY or not isinstance(document["parallel"], bool):
        raise ValueError("no periods")
    return PeriodBudgets(
        column=_text(document["column"]),
        every=every,
        share=decode_cost(document["share"]),
        first=None if first is None else Period.parse(first, every),
        parallel=document["parallel"],
    )


def read_terms(dataset: str, document: dict[str, Any]) -> Terms:
    """The inverse of `terms_document`."""
    cap, stated = document["cap"], "policy" in document
    return Terms(
        dataset=dataset,
        budget=PrivacyBudget(parse_exact(document["epsilon"]), parse_exact(document["delta"])),
        accountant=_text(document["accountant"]),
        limit=decode_cost(document["limit"]),
        cap=None if cap is None else decode_cost(cap),
        neighbours=Neighbours(document["neighbours"]),
        unit=_text(document["unit"]),
        kind=DataKind(document["kind"]),
        policy=decode_policy(document["policy"]) if stated else Policy(),
        policy_stated=stated,
        periods=_read_periods(document.get("periods")),
        reason=_read_reason(document),
    )


def _number(value: object, before: int) -> int:
    """The number of an earlier entry."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < before:
        raise ValueError("not the number of an earlier entry")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value
