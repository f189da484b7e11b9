"""Entries, terms and policies as canonical JSON and back. The text is what is hashed, so an entry has exactly one.

Every record is stated once, as the parts of its text (`RecordFormat`), from which it is written and read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from msgspec import Struct

from dpqr.domain.periods import EVERY, Period
from dpqr.kernel.budget import Cost, Pricing, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError
from dpqr.kernel.events import Composition, Draw, LeftOutEvent, PrivacyEvent
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import field_names
from dpqr.ledger.ledger import BudgetTerms, DataKind, LedgerEntry, Reason
from dpqr.ledger.periods import ALL_PERIODS, Layer, PeriodBudgets
from dpqr.tables.policy import Policy, Source

JSON = dict[str, Any]
"""A JSON object."""
Recorded = TypeVar("Recorded")
FORMAT = "dpqr ledger/1"
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError, DpqrError)
_ALWAYS = object()


def canonical(document: Any) -> str:
    """The one JSON text of a document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class RecordPart(Struct, frozen=True):
    """A part of a record's text.

    Attributes:
        write: from the record to the part, JSON values by key.
        read: from the text, as JSON values by key, to attributes of the record. Raises: ValueError, KeyError,
            TypeError or DpqrError.
    """

    write: Callable[[Any], JSON]
    read: Callable[[JSON], JSON]


class RecordFormat(Struct, Generic[Recorded], frozen=True):
    """How a record is written and read: every part of its text, stated once.

    Attributes:
        made: the record's class.
        parts: of its text.
    """

    made: Callable[..., Recorded]
    parts: tuple[RecordPart, ...]

    def write(self, record: Recorded) -> JSON:
        """Plain JSON values."""
        return {key: value for part in self.parts for key, value in part.write(record).items()}

    def read(self, document: JSON, **known: Any) -> Recorded:
        """The inverse. known: attributes that are not in the text. Raises: as `RecordPart.read`."""
        return self.made(**known, **{name: value for part in self.parts for name, value in part.read(document).items()})


def attribute(
    name: str,
    write: Callable[[Any], Any] = lambda value: value,
    read: Callable[[Any], Any] = lambda value: value,
    *,
    key: str = "",
    unset: object = _ALWAYS,
) -> RecordPart:
    """The part that holds one attribute.

    Args:
        name: of the attribute.
        write: from its value to plain JSON values.
        read: the inverse.
        key: its name in the text; empty: the attribute's own.
        unset: the value that is left out of the text: the attribute came with a later version, and the texts of older
            entries are sealed. Without it the attribute is always written.
    """
    named = key or name

    def written(record: Any) -> JSON:
        value = getattr(record, name)
        return {} if value == unset else {named: write(value)}

    def attributes(document: JSON) -> JSON:
        stated = document[named] if unset is _ALWAYS else document.get(named, unset)
        return {name: stated if stated == unset else read(stated)}

    return RecordPart(written, attributes)


def text_part(name: str, *, key: str = "", unset: object = _ALWAYS) -> RecordPart:
    """The part that holds one attribute, a text."""
    return attribute(name, read=_text, key=key, unset=unset)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _whole(value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"not a whole number from {least} on")
    return value


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _stated(value: object) -> str:
    if not _text(value):
        raise ValueError("an empty text")
    return _text(value)


def _earlier(value: object, number: int) -> int:
    """The number of an entry before this one."""
    if _whole(value, 1) >= number:
        raise ValueError("not the number of an earlier entry")
    return _whole(value, 1)


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


def encode_events(events: Composition) -> list[JSON]:
    """Plain JSON values, from which `decode_events` makes the same events."""
    return [{**_plain(event), "count": count} for event, count in events]


def _plain(event: PrivacyEvent) -> JSON:
    if isinstance(event, LeftOutEvent):
        return {"kind": _kind(LeftOutEvent), "event": _plain(event.event)}
    lacking = (UNSTATED, *getattr(event, UNSTATED, ()))
    stated = {name: getattr(event, name) for name in field_names(event) if name not in lacking}
    parameters = {name: exact_text(Fraction(value)) for name, value in stated.items() if value is not None}
    return {"kind": _kind(type(event)), **parameters}


def decode_events(parts: Any) -> Composition:
    """Raises: ValueError, KeyError or TypeError for what `encode_events` of this or an older version did not write."""
    events: list[tuple[PrivacyEvent, int]] = []
    for part in parts:
        stated = tuple((name, value) for name, value in part.items() if name != "count")
        if part["kind"] != _kind(LeftOutEvent):
            event: PrivacyEvent = _decode(stated)
        elif {name for name, _ in stated} == {"kind", "event"}:
            event = LeftOutEvent(event=_decode(tuple(part["event"].items())))
        else:
            raise ValueError("an unknown parameter")
        events.append((event, _whole(part["count"], 0)))
    return tuple(events)


@lru_cache(maxsize=CACHED)
def _decode(items: tuple[tuple[str, object], ...]) -> Draw:
    part = dict(items)
    made = _KINDS[part["kind"]]
    hints = get_type_hints(made)
    parameters = [each for each in signature(made).parameters.values() if each.name != UNSTATED]
    # A parameter that came with a later version has a default, and older entries do not state it.
    known = [each.name for each in parameters if each.name in part or each.default is Parameter.empty]
    if set(part) != {*known, "kind"}:
        raise ValueError("an unknown parameter")
    lacking = {UNSTATED: frozenset(each.name for each in parameters) - {*known}} if UNSTATED in hints else {}
    event: Draw = made(**{name: _parameter(hints[name], part[name]) for name in known}, **lacking)
    return event


def _parameter(kind: object, text: object) -> int | Fraction:
    value = parse_exact(text)
    if kind is Fraction:
        return value
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind not in (int, int | None) or value.denominator != 1:
        raise ValueError("not a whole number")
    return value.numerator


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


# Records within entries. What came with a later version is left out where it is unset, for older texts are sealed.

REASON_FORMAT = RecordFormat(Reason, tuple(text_part(name, unset="") for name in ("purpose", "by", "approved_by")))

PRICING_FORMAT = RecordFormat(
    Pricing,
    (
        text_part("accountant"),
        attribute("delta", exact_text, parse_exact),
    ),
)

SOURCE_FORMAT = RecordFormat(
    Source,
    (
        attribute("address", read=_stated),
        text_part("query", unset=""),
    ),
)

POLICY_FORMAT = RecordFormat(
    Policy,
    (
        attribute("records"),
        attribute("bytes"),
        attribute("memory"),
        attribute("delimiter", read=_optional(_text)),
        attribute("encoding", read=_text, unset=None),
        attribute("counts", read=_optional(_text)),
        attribute("fail", read=_flag),
        attribute("approval", read=_flag, unset=False),
        attribute("learning", read=_flag, unset=False),
        attribute("source", SOURCE_FORMAT.write, SOURCE_FORMAT.read, unset=None),
    ),
)

PERIODS_FORMAT = RecordFormat(
    PeriodBudgets,
    (
        text_part("column"),
        attribute("every", read=lambda value: EVERY[EVERY.index(value)]),
        attribute("share", cost_document, decode_cost),
        RecordPart(
            lambda periods: {"first": periods.first and periods.first.name},  # null: any period has a budget
            lambda text: {
                "first": None if text["first"] is None else Period.parse(text["first"], text["every"]),
            },
        ),
        attribute("parallel", read=_flag),
    ),
)

LAYER_FORMAT = RecordFormat(
    Layer,
    (
        text_part("column"),
        attribute("first", read=lambda value: Period.parse(_text(value)).name),
        attribute("rows", read=lambda value: _whole(value, 1)),
        text_part("read"),
        attribute("number", read=lambda value: _whole(value, 0)),
    ),
)

_REASON_PART = RecordPart(
    lambda record: REASON_FORMAT.write(record.reason), lambda text: {"reason": REASON_FORMAT.read(text)}
)

TERMS_FORMAT = RecordFormat(
    BudgetTerms,
    (
        RecordPart(
            lambda terms: {"epsilon": exact_text(terms.budget.epsilon), "delta": exact_text(terms.budget.delta)},
            lambda text: {"budget": PrivacyBudget(parse_exact(text["epsilon"]), parse_exact(text["delta"]))},
        ),
        text_part("accountant"),
        attribute("limit", cost_document, decode_cost),
        attribute("cap", _optional(cost_document), _optional(decode_cost)),
        attribute("neighbours", lambda neighbours: neighbours.value, Neighbours),
        text_part("unit"),
        attribute("kind", lambda kind: kind.value, DataKind),
        RecordPart(
            lambda terms: {"policy": POLICY_FORMAT.write(terms.policy)} if terms.policy_stated else {},
            lambda text: {"policy": decode_policy(text["policy"])} if "policy" in text else {"policy_stated": False},
        ),
        attribute("periods", PERIODS_FORMAT.write, PERIODS_FORMAT.read, unset=None),
        _REASON_PART,
    ),
)
"""Without the dataset's name, which stands beside the terms."""


def decode_policy(document: JSON) -> Policy:
    """Raises: ValueError, KeyError, TypeError or DpqrError for anything but the text of a policy."""
    policy = POLICY_FORMAT.read(document)
    if POLICY_FORMAT.write(policy) != document:
        raise ValueError("not the text of a policy")
    return policy


# Entries: what each kind holds beside its number and time.

_DATASET = text_part("dataset")
_EVENTS = attribute("events", encode_events, decode_events)
_PLACE = text_part("note", key="place")
_RUN = (_DATASET, attribute("run"), text_part("transcript"))
_CHARGED = (_DATASET, attribute("cost", cost_document, decode_cost), _EVENTS, text_part("note"))

ENTRY_FORMATS: Mapping[str, RecordFormat[LedgerEntry]] = {
    kind: RecordFormat(
        LedgerEntry,
        (
            text_part("kind", key="entry"),
            attribute("number", read=lambda value: _whole(value, 0)),
            text_part("time"),
            *parts,
        ),
    )
    for kind, parts in {
        "open": (
            RecordPart(lambda _: {"format": FORMAT}, lambda _: {}),
            text_part("note", key="ledger"),
            attribute("anchored", read=_flag),
        ),
        "anchor": (),
        "checkpoint": (text_part("state"),),
        "move": (_PLACE,),
        "arrive": (_PLACE,),
        "init": (
            _DATASET,
            RecordPart(
                lambda entry: TERMS_FORMAT.write(entry.terms),
                lambda text: {"terms": TERMS_FORMAT.read(text, dataset=text["dataset"])},
            ),
        ),
        "policy": (_DATASET, attribute("policy", POLICY_FORMAT.write, decode_policy)),
        "approve": (_DATASET, text_part("plan"), _REASON_PART),
        "reserve": (
            *_CHARGED,
            RecordPart(
                lambda entry: PRICING_FORMAT.write(entry.pricing) if entry.pricing else {},
                lambda text: {"pricing": PRICING_FORMAT.read(text)} if "accountant" in text else {},
            ),
            text_part("plan", unset=""),
            text_part("period", unset=ALL_PERIODS),
            attribute("layer", LAYER_FORMAT.write, LAYER_FORMAT.read, unset=None),
            _REASON_PART,
        ),
        "draw": (*_RUN, _EVENTS),
        "record": _RUN,
        "settle": (*_CHARGED, attribute("settles"), text_part("drawn", unset="")),
        "reject": (
            RecordPart(
                lambda entry: {"rejects": list(entry.rejected)},
                lambda text: {"rejected": tuple(_earlier(each, text["number"]) for each in text["rejects"])},
            ),
        ),
        "void": (text_part("text"),),  # never stored: what is shown of an entry that the rules refuse
    }.items()
}
"""By kind."""


def encode_entry(entry: LedgerEntry) -> str:
    """Canonical JSON: keys sorted, no blanks, ASCII. Everything but the hash, which is of this text."""
    return canonical(entry_document(entry))


def entry_document(entry: LedgerEntry) -> JSON:
    """The same as plain JSON values."""
    return ENTRY_FORMATS[entry.kind].write(entry)


def read_entry(document: JSON, digest: str) -> LedgerEntry:
    """The inverse of `entry_document`. Raises: ValueError, KeyError, TypeError or DpqrError, for `decode_entry`."""
    return ENTRY_FORMATS[document["entry"]].read(document, hash=digest)


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
