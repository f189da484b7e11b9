"""Events and costs as plain JSON values and back, without loss: parameters and amounts are exact text."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args, get_type_hints

from dpqr.errors import BudgetRefused
from dpqr.privacy.budget import Cost
from dpqr.privacy.events import Composition, Draw, LeftOutEvent, PrivacyEvent

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
