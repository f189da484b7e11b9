"""The page of a plan: what a release would promise, draw and be worth, before any data is opened."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import Fact, amount, count_words
from dpqr.report.page.charts import (
    bar_chart,
)
from dpqr.report.page.documents import claim_checks, domain_section
from dpqr.report.page.parts import (
    Checks,
    Facts,
    Items,
    Paragraph,
    Part,
    ReportPage,
    ReportTable,
    Section,
)
from dpqr.report.page.release_page import expected, lead, meaning
from dpqr.report.page.reported import ReportInput

if TYPE_CHECKING:
    pass


DRAWN = 30
"""Blocks of the chart."""
STAMP = "A PLAN: nothing was drawn, and no data was opened"


def plan_page(plan: dict[str, Any], facts: Sequence[Fact]) -> ReportPage:
    """plan: the plan document. facts: the plan in words, as the screen shows it."""
    found = ReportInput(record={"plan": plan, "unit": plan["unit"]["words"], "ledger": "none"}, blocks=(), place="")
    workload = plan["workload"]
    notes = plan.get("notes") or ()
    more = (Paragraph(text="What to know before it is approved:"), Items(lines=notes)) if notes else ()
    words = "The rest of the checklist, on algorithms and on what they stand on, comes with the release's own report."
    # What a release, a ledger and an approval name the plan by.
    proved = upward_text(Fraction(plan["proved_epsilon"]["exact"]))
    return ReportPage(
        title=f"Plan of a release of {count_words(workload['queries'], 'answer')}",
        subtitle="What it would promise, cost and be worth",
        lead=(*lead(found), ("answers", f"{workload['queries']:,}"), ("questions", f"{len(workload['blocks']):,}")),
        sections=(
            Section(
                name="promise",
                title="The promise",
                parts=(
                    Paragraph(text=plan["guarantee"]),
                    *(Paragraph(text=sentence) for sentence in meaning(found)),
                    *more,
                ),
            ),
            Section(name="plan", title="What will be drawn", parts=(Facts(lines=facts),)),
            Section(name="forecast", title="Expected errors", parts=_forecast(plan)),
            domain_section(found),
            Section(
                name="checklist",
                title="Checklist of the claim",
                parts=(
                    Checks(layer="The claim: parameters and unit", lines=tuple(claim_checks(found))),
                    Paragraph(text=words),
                ),
            ),
            Section(
                name="hashes",
                title="Hash of the plan",
                parts=(
                    Facts(
                        lines=(("SHA-256", plan["sha256"]), ("Proved epsilon", proved), ("Version", plan["version"]))
                    ),
                ),
            ),
        ),
        stamp=STAMP,
    )


def _forecast(plan: dict[str, Any]) -> Sequence[Part]:
    """The expected error of an answer, block by block."""
    errors = expected(plan)
    if not errors:
        return (Paragraph(text="This plan forecasts no error of single blocks; `dpqr plan` simulates it."),)
    pairs = [
        (each["name"], each["queries"], errors[each["name"]]) for each in plan["forecast"] if each["name"] in errors
    ]
    shown = sorted(pairs, key=lambda pair: -pair[2])[:DRAWN]

    alt = (
        f"Bars of the expected error of {count_words(len(shown), 'block')}, the largest first, on a logarithmic scale."
    )
    return (
        Paragraph(text="The mean absolute error of one answer, in records, or in the unit of a summed column."),
        bar_chart([name for name, _, _ in shown], [error for _, _, error in shown], alt=alt, salt="forecast", log=True),
        ReportTable(
            caption="Expected error of an answer, block by block",
            head=("block", "answers", "expected error"),
            rows=[(name, f"{queries:,}", amount(error)) for name, queries, error in pairs],
        ),
    )
