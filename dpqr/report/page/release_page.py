"""The page of a release: its chapters in their order, and those about promise, budget and price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpqr.privacy.budget import Cost, downward_text, upward_text
from dpqr.privacy.currency import Currency
from dpqr.report.page.answers_section import answers_section, forecast_section
from dpqr.report.page.budget_chart import budget_chart
from dpqr.report.page.checklist import checklist_section
from dpqr.report.page.document_sections import (
    domain_section,
    request_notes,
    synthetic_section,
    verify_section,
)
from dpqr.report.page.figures_section import figures_section
from dpqr.report.page.parts import Facts, Items, Page, Part, Section, Table, Words
from dpqr.report.page.reported import UNKNOWN, Reported, Spending
from dpqr.report.wording import DIGITS, Fact, counted

HUGE = 1_000_000
STRONG = 3
"""Epsilons up to which the factor, at most 20, is said to protect."""
REHEARSAL = "REHEARSAL: no table was opened; the answers describe nobody"
NOT_VERIFIED = "NOT VERIFIED: record and files may have been changed since the release was made"
NOT_PRIVATE = "NOT PRIVATE: the noise came from a repeatable test source"


def release_page(found: Reported) -> Page:
    """The nine chapters, and that of figures where there are some."""
    queries, paid = sum(block.rows for block in found.blocks), _dataset(found)
    return Page(
        title=f"A private release of {counted(queries, 'answer')}" + (f" about {paid}" if paid else ""),
        subtitle=found.stated("purpose") or "What it promises, costs and says, and how far that can be trusted",
        lead=(*lead(found), ("answers", f"{queries:,}"), ("questions", f"{len(found.blocks):,}")),
        sections=(
            _promise(found),
            _budget(found),
            _price(found),
            *((figures_section(found),) if found.figures else ()),
            answers_section(found),
            forecast_section(found),
            synthetic_section(found),
            domain_section(found),
            checklist_section(found),
            verify_section(found),
        ),
        stamp=_stamp(found),
    )


def _stamp(found: Reported) -> str:
    if found.record.get("rehearsal"):
        return REHEARSAL
    if found.unverified:
        return NOT_VERIFIED
    return "" if found.record.get("private", True) else NOT_PRIVATE


def _dataset(found: Reported) -> str | None:
    paid = found.record.get("ledger")
    return str(paid["dataset"]) if isinstance(paid, dict) else None


def lead(found: Reported) -> Iterator[Fact]:
    """What is protected, and how well."""
    budget = found.plan.get("budget")
    if budget:
        yield "epsilon", upward_text(Fraction(budget["epsilon"]["exact"]))
        yield "delta", upward_text(Fraction(budget["delta"]["exact"]))
    unit = found.plan.get("unit") or {}
    column = unit.get("column")
    yield "protects", f"each {column}" if column else "each row"
    if date := found.stated("date"):
        yield "date", date[:10]


def _promise(found: Reported) -> Section:
    """Promise, unit, who, when, why."""
    parts: list[Part] = [Words(text=str(found.record.get("guarantee") or UNKNOWN))]
    if found.unverified:
        parts.append(Words(text=f"Not verified: {found.unverified}", strong=True))
    if found.stated("warning"):
        parts.append(Words(text=f"Warning: {found.record['warning']}", strong=True))
    parts += [Words(text=sentence) for sentence in meaning(found)]
    parts.append(Facts(lines=tuple(_circumstances(found))))
    if notes := [note for note in found.record.get("trust") or () if note not in request_notes(found)]:
        parts += [Words(text="What a reader must know before relying on the figures:"), Items(lines=notes)]
    return Section(name="promise", title="The promise", parts=parts)


def meaning(found: Reported) -> Iterator[str]:
    """The promise in plain words."""
    budget, unit = found.plan.get("budget"), found.stated("unit")
    if budget is None or unit is None:
        return
    epsilon, delta = (Fraction(budget[name]["exact"]) for name in ("epsilon", "delta"))
    factor = _factor(epsilon)
    more = f", plus a probability of at most {upward_text(delta)}" if delta else ""
    yield (
        f"In plain words: take two tables that differ by {unit}. Whatever was published here, it was {factor} times "
        f"as likely with the one table as with the other{more}. {_worth(epsilon)}"
    )
    yield (
        "It does not promise that nothing can be learnt. What holds for many people is meant to be seen, and it is "
        "seen whether or not any one of them is in the table."
    )


def _worth(epsilon: Fraction) -> str:
    """What such a factor keeps from a reader."""
    if epsilon > STRONG:
        return (
            "A factor of this size promises little by itself: a reader who knows much may become sure whether one of "
            "those protected was in the table."
        )
    return (
        "By no more than this factor can the odds of any guess about one of those protected change for a reader, "
        "whatever else he knows or computes."
    )


def _factor(epsilon: Fraction) -> str:
    """e to the epsilon, rounded up."""
    if epsilon >= math.log(HUGE):
        return "perhaps more than a million"
    return f"at most {float(upward_text(Fraction(math.exp(float(epsilon)) * (1 + 1e-12)), DIGITS)):,.10g}"


def _circumstances(found: Reported) -> Iterator[Fact]:
    yield "Protected unit", found.stated("unit") or UNKNOWN
    yield "Published by", found.stated("publisher") or UNKNOWN
    yield "Asked for by", found.stated("by") or UNKNOWN
    yield "Approved by", found.stated("approved_by") or UNKNOWN
    yield "Purpose", found.stated("purpose") or UNKNOWN
    yield "Date", found.stated("date") or UNKNOWN
    yield "Table", _dataset(found) or "has no name: no ledger was used"
    yield "Made by", f"dpqr {found.stated('version') or '(version unknown)'}"


def _budget(found: Reported) -> Section:
    """This release, earlier ones, what is left."""
    spending = found.spending
    parts: tuple[Part, ...]
    if spending is not None:
        chart = budget_chart(spending)
        parts = (*((chart,) if chart else ()), _charges(spending), Words(text=_left(spending)))
    elif _dataset(found) is None:
        parts = (
            Words(
                text="No ledger was used. The promise covers this release alone: the costs of several releases of one "
                "table add up, and nobody has added them.",
                strong=True,
            ),
        )
    else:
        entry = found.record["ledger"]["entry"]
        parts = (
            Words(
                text=f"The budget of {_dataset(found)!r} paid for this release (entry {entry} of the ledger). That "
                "budget covers all releases that it pays for together. This page was made without the ledger; "
                "dpqr report --ledger FILE shows earlier releases and what is left."
            ),
        )
    return Section(name="budget", title="The budget", parts=parts)


def _charges(spending: Spending) -> Table:
    currency = spending.account.terms.currency
    rows = [
        (
            f"{charge.number}",
            charge.date,
            "this release" if charge.own else _when(spending, charge.number),
            _figures(currency, charge.cost),
        )
        for charge in spending.charges
    ]
    rows.append(("", "", "left", currency.figures(spending.account.left, downward_text)))
    limit = currency.words(spending.account.terms.limit, downward_text)
    return Table(
        caption=f"What the budget of {spending.account.terms.dataset!r} has paid for; for life: {limit}",
        head=("entry", "date", "release", f"cost in {currency.name}"),
        rows=rows,
        texts=3,
    )


def _figures(currency: Currency, cost: Cost) -> str:
    return currency.figures(cost, upward_text)


def _when(spending: Spending, number: int) -> str:
    own = next((charge.number for charge in spending.charges if charge.own), number)
    return "an earlier one" if number < own else "a later one"


def _left(spending: Spending) -> str:
    account = spending.account
    request = f"the largest request that still fits is {account.request}" if account.request else "nothing more fits"
    earlier = len(spending.charges) - 1
    return (
        f"The budget has paid for this and {counted(earlier, 'other release')}; {request}. The budget's promise covers "
        "all of them together, however they were chosen."
    )


def _price(found: Reported) -> Section:
    """Phases and accountants."""
    spent = found.record.get("spent")
    parts: list[Part] = []
    if spent:
        parts += [_phases(spent), _accountants(spent), Words(text=_choice(spent))]
    if events := found.record.get("events"):
        parts.append(_events(events))
    parts = parts or [Words(text="The record says nothing of phases and prices.")]
    return Section(name="price", title="What was drawn, and what it cost", parts=parts)


def _epsilon(figure: dict[str, Any] | None) -> str:
    return "not covered" if figure is None else upward_text(Fraction(figure["exact"]), DIGITS)


def _phases(spent: dict[str, Any]) -> Table:
    charged = spent["charged"]
    rows = [(phase, _epsilon(prices.get(charged))) for phase, prices in spent["phases"].items()]
    return Table(
        caption=f"Each phase by itself, as epsilon by {charged}; only basic's figures add up to the whole",
        head=("phase", "epsilon"),
        rows=[*rows, ("whole release", _epsilon(spent["epsilon"].get(charged)))],
    )


def _accountants(spent: dict[str, Any]) -> Table:
    delta = upward_text(Fraction(spent["delta"]["exact"]))
    return Table(
        caption=f"The whole release under every accountant, as epsilon at delta {delta}",
        head=("accountant", "epsilon", ""),
        rows=[
            (name, _epsilon(figure), "charged" if name == spent["charged"] else "shown only")
            for name, figure in spent["epsilon"].items()
        ],
    )


def _choice(spent: dict[str, Any]) -> str:
    return f"Charged by {spent['charged']}: {spent['why']}. The other accountants are shown for comparison."


def _events(events: list[dict[str, Any]]) -> Table:
    """Equal draws are one line."""
    rows = []
    for event in events:
        bare = event.get("event", event)
        stated = [f"{name} {value}" for name, value in bare.items() if name not in ("kind", "count", "event")]
        kind = f"{event['kind']}: {bare['kind']}" if bare is not event else event["kind"]
        rows.append((kind, ", ".join(stated), f"{event['count']:,}"))
    return Table(
        caption="Every draw that was charged, as accountants price it",
        head=("draw", "parameters", "times"),
        rows=rows,
        texts=2,
    )
