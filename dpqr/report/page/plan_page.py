"""The page of a plan: what a release would promise, draw and be worth, before any data is opened."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpqr.privacy.budget import upward_text
from dpqr.report.page.answers_section import expected
from dpqr.report.page.checklist import claim_checks
from dpqr.report.page.document_sections import domain_section
from dpqr.report.page.drawing import named_bars
from dpqr.report.page.parts import Checks, Facts, Items, Page, Part, Section, Table, Words
from dpqr.report.page.release_page import lead, meaning
from dpqr.report.page.reported import Reported
from dpqr.report.wording import Fact, amount, counted

DRAWN = 30
"""Blocks of the chart."""
STAMP = "A PLAN: nothing was drawn, and no data was opened"


def plan_page(plan: dict[str, Any], facts: Sequence[Fact]) -> Page:
    """plan: the plan document. facts: the plan in words, as the screen shows it."""
    found = Reported(record={"plan": plan, "unit": plan["unit"]["words"], "ledger": "none"}, blocks=(), place="")
    workload = plan["workload"]
    return Page(
        title=f"Plan of a release of {counted(workload['queries'], 'answer')}",
        subtitle="What it would promise, cost and be worth",
        lead=(*lead(found), ("answers", f"{workload['queries']:,}"), ("questions", f"{len(workload['blocks']):,}")),
        sections=(
            Section(name="promise", title="The promise", parts=_promise(plan, found)),
            Section(name="plan", title="What will be drawn", parts=(Facts(lines=facts),)),
            Section(name="forecast", title="Expected errors", parts=_forecast(plan)),
            domain_section(found),
            Section(name="checklist", title="Checklist of the claim", parts=_checklist(found)),
            Section(name="hashes", title="Hash of the plan", parts=_hash(plan)),
        ),
        stamp=STAMP,
    )


def _promise(plan: dict[str, Any], found: Reported) -> Sequence[Part]:
    notes = plan.get("notes") or ()
    more = (Words(text="What to know before it is approved:"), Items(lines=notes)) if notes else ()
    return (Words(text=plan["guarantee"]), *(Words(text=sentence) for sentence in meaning(found)), *more)


def _forecast(plan: dict[str, Any]) -> Sequence[Part]:
    """The expected error of an answer, block by block."""
    errors = expected(plan)
    if not errors:
        return (Words(text="This plan forecasts no error of single blocks; `dpqr plan` simulates it."),)
    pairs = [
        (each["name"], each["queries"], errors[each["name"]]) for each in plan["forecast"] if each["name"] in errors
    ]
    shown = sorted(pairs, key=lambda pair: -pair[2])[:DRAWN]

    alt = f"Bars of the expected error of {counted(len(shown), 'block')}, the largest first, on a logarithmic scale."
    return (
        Words(text="The mean absolute error of one answer, in records, or in the unit of a summed column."),
        named_bars(
            [name for name, _, _ in shown], [error for _, _, error in shown], alt=alt, salt="forecast", log=True
        ),
        Table(
            caption="Expected error of an answer, block by block",
            head=("block", "answers", "expected error"),
            rows=[(name, f"{queries:,}", amount(error)) for name, queries, error in pairs],
        ),
    )


def _checklist(found: Reported) -> Sequence[Part]:
    words = "The rest of the checklist, on algorithms and on what they stand on, comes with the release's own report."
    return Checks(layer="The claim: parameters and unit", lines=tuple(claim_checks(found))), Words(text=words)


def _hash(plan: dict[str, Any]) -> Sequence[Part]:
    """What a release, a ledger and an approval name the plan by."""
    proved = upward_text(Fraction(plan["proved_epsilon"]["exact"]))
    return (Facts(lines=(("SHA-256", plan["sha256"]), ("Proved epsilon", proved), ("Version", plan["version"]))),)
