"""Entries, terms and policies as canonical JSON and back. The text is what is hashed, so an entry has exactly one."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args, get_type_hints

from dpqr.domain.periods import EVERY, Period
from dpqr.kernel.budget import Cost, Pricing, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError
from dpqr.kernel.events import Composition, Draw, LeftOutEvent, PrivacyEvent
from dpqr.kernel.unit import Neighbours
from dpqr.ledger.ledger import BudgetTerms, DataKind, LedgerEntry, Reason
from dpqr.ledger.periods import ALL_PERIODS, Layer, PeriodBudgets
from dpqr.tables.policy import Policy, Source


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


def encode_entry(entry: LedgerEntry) -> str:
    """Canonical JSON: keys sorted, no blanks, ASCII. Everything but the hash, which is of this text."""
    return canonical(entry_document(entry))


def entry_document(entry: LedgerEntry) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {"entry": entry.kind, "number": entry.number, "time": entry.time, **_content(entry)}


def decode_entry(text: str, digest: str) -> LedgerEntry:
    """The entry of a link in a sound chain. LedgerError where the text is not one that `encode_entry` writes.

    A text that holds more than that is found by encoding the entry again (`dpqr.ledger.record.require_proofs`).
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


def _content(entry: LedgerEntry) -> dict[str, Any]:
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


def terms_document(terms: BudgetTerms | None) -> dict[str, Any]:
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


def read_entry(document: dict[str, Any], digest: str) -> LedgerEntry:
    """The inverse of `entry_document`. Raises: ValueError, KeyError, TypeError or DpqrError, for `decode_entry`."""
    kind, number = document["entry"], document["number"]
    if not isinstance(number, int) or not isinstance(document["time"], str):
        raise ValueError("no number or no time")
    same = {"kind": kind, "number": number, "time": document["time"], "hash": digest}
    if kind == "open":
        return LedgerEntry(**same, note=_text(document["ledger"]), anchored=document["anchored"] is True)
    if kind == "anchor":
        return LedgerEntry(**same)
    if kind == "checkpoint":
        return LedgerEntry(**same, state=_text(document["state"]))
    if kind in ("move", "arrive"):
        return LedgerEntry(**same, note=_text(document["place"]))
    if kind == "reject":
        return LedgerEntry(**same, rejected=tuple(_number(each, number) for each in document["rejects"]))
    dataset = _text(document["dataset"])
    if kind == "init":
        return LedgerEntry(**same, dataset=dataset, terms=read_terms(dataset, document))
    if kind == "policy":
        return LedgerEntry(**same, dataset=dataset, policy=decode_policy(document["policy"]))
    if kind == "approve":
        return LedgerEntry(**same, dataset=dataset, plan=_text(document["plan"]), reason=_read_reason(document))
    if kind in ("draw", "record"):
        events = decode_events(document["events"]) if kind == "draw" else ()
        transcript = _text(document["transcript"])
        return LedgerEntry(**same, dataset=dataset, events=events, run=document["run"], transcript=transcript)
    return LedgerEntry(
        **same,
        dataset=dataset,
        cost=decode_cost(document["cost"]),
        events=decode_events(document["events"]),
        pricing=_read_pricing(document),
        settles=document["settles"] if kind == "settle" else None,
        note=_text(document["note"]),
        reason=_read_reason(document),
        plan=_text(document.get("plan", "")),
        period=_text(document.get("period", ALL_PERIODS)),
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


def read_terms(dataset: str, document: dict[str, Any]) -> BudgetTerms:
    """The inverse of `terms_document`."""
    cap, stated = document["cap"], "policy" in document
    return BudgetTerms(
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


# Events and costs as plain JSON values and back, without loss: parameters and amounts are exact text.

LONGEST = 1000
"""Digits of a numerator or denominator. More would make every later use of the ledger slow."""
CACHED = 4096
"""Most ledgers hold the same few events over and over."""

UNSTATED = "_unstated"
"""The field of an event that says what an older version's text lacks."""

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")
_EXACT = re.compile(rf"[0-9]{{1,{LONGEST}}}(/[1-9][0-9]{{0,{LONGEST - 1}}})?")


def exact_text(value: Fraction) -> str:
    """ "3" or "1/10". BudgetRefused beyond LONGEST digits."""
    if max(value.numerator, value.denominator) >= 10**LONGEST:
        raise BudgetRefused(
            f"the exact cost takes more than {LONGEST} digits to write down; "
            "give epsilon and delta with fewer digits, or plan fewer different draws"
        )
    return str(value)


@lru_cache(maxsize=CACHED)
def parse_exact(text: object) -> Fraction:
    """The inverse of `exact_text`. ValueError for anything that it does not write."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError("not an exact figure")
    value = Fraction(text)
    if str(value) != text:
        raise ValueError("not in lowest terms")
    return value


def encode_events(events: Composition) -> list[dict[str, Any]]:
    """Plain JSON values, from which `decode_events` makes the same events."""
    return [{**_plain(event), "count": count} for event, count in events]


def decode_events(parts: Any) -> Composition:
    """Raises: ValueError, KeyError or TypeError for what `encode_events` of this or an older version did not write."""
    return tuple((_event(part), _count(part["count"])) for part in parts)


def _plain(event: PrivacyEvent) -> dict[str, Any]:
    if isinstance(event, LeftOutEvent):
        return {"kind": _kind(LeftOutEvent), "event": _plain(event.event)}
    return {"kind": _kind(type(event)), **_parameters(event)}


def _event(part: dict[str, Any]) -> PrivacyEvent:
    stated = _without_count(part)
    if part["kind"] != _kind(LeftOutEvent):
        return _decode(stated)
    if {name for name, _ in stated} != {"kind", "event"}:
        raise ValueError("an unknown parameter")
    return LeftOutEvent(event=_decode(tuple(part["event"].items())))


def _parameters(event: Draw) -> dict[str, str]:
    unstated = getattr(event, UNSTATED, ())
    stated = {
        field.name: getattr(event, field.name) for field in fields(event) if field.name not in (UNSTATED, *unstated)
    }
    return {name: exact_text(Fraction(value)) for name, value in stated.items() if value is not None}


@lru_cache(maxsize=CACHED)
def _decode(items: tuple[tuple[str, object], ...]) -> Draw:
    part = dict(items)
    made = _KINDS[part["kind"]]
    hints = get_type_hints(made)
    parameters = [field for field in fields(made) if field.name != UNSTATED]
    known = [field.name for field in parameters if field.name in part or _required(field)]
    if set(part) != {*known, "kind"}:
        raise ValueError("an unknown parameter")
    lacking = {UNSTATED: frozenset(field.name for field in parameters) - {*known}} if UNSTATED in hints else {}
    event: Draw = made(**{name: _read(hints[name], part[name]) for name in known}, **lacking)
    return event


def _read(kind: object, text: object) -> int | Fraction:
    value = parse_exact(text)
    if kind is Fraction:
        return value
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind not in (int, int | None) or value.denominator != 1:
        raise ValueError("not a whole number")
    return value.numerator


def _without_count(part: dict[str, Any]) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in part.items() if name != "count")


def _required(field: Field[Any]) -> bool:
    """A parameter that came with a later version has a default, and older entries do not state it."""
    return field.default is MISSING and field.default_factory is MISSING


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("not a count")
    return value


def _kind(made: type) -> str:
    return _WORD_START.sub("-", made.__name__).lower().removesuffix("-event")


_KINDS: dict[object, Any] = {_kind(made): made for made in get_args(Draw)}


def cost_document(cost: Cost) -> str | list[str]:
    """ "1/2", or ["1/2", "1/1000000"] with a delta. BudgetRefused for more digits than a ledger keeps."""
    amount = exact_text(cost.amount)
    return [amount, exact_text(cost.delta)] if cost.delta else amount


def decode_cost(document: object) -> Cost:
    """The inverse. ValueError for anything that it does not write."""
    if not isinstance(document, list):
        return Cost(parse_exact(document))
    amount, delta = map(parse_exact, document)
    if not delta:
        raise ValueError("a delta of nothing is not written")
    return Cost(amount, delta)


def sum_document(cost: Cost) -> list[str]:
    """A sum of costs in base 16, which no limit on digits ends: numerator and denominator, of the delta too if any."""
    figures = (cost.amount, cost.delta) if cost.delta else (cost.amount,)
    return [f"{part:x}" for figure in figures for part in (figure.numerator, figure.denominator)]


def decode_sum(document: list[str]) -> Cost:
    """The inverse. Raises: ValueError, TypeError or ZeroDivisionError for anything else."""
    parts = [int(part, 16) for part in document]
    return Cost(*(Fraction(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)))
