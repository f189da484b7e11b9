"""The page of a release: its chapters in their order, and those about promise, budget and price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpqr.kernel.budget import downward_text, upward_text
from dpqr.kernel.wording import DIGITS, Fact, amount, count_words, optional, plain
from dpqr.releases.answers.answered import AnsweredBlock
from dpqr.releases.answers.errors import BASES
from dpqr.report.answers import NUMBERS, answer_texts, figure_texts, figures_legend, lower_texts, upper_texts
from dpqr.report.page.charts import (
    FAINT,
    FILL,
    bar_chart,
    block_chart,
    budget_chart,
    draw_chart,
    figures,
    never_measured,
    panel,
)
from dpqr.report.page.documents import (
    checklist_section,
    claim_checks,
    domain_section,
    request_notes,
    synthetic_section,
    verify_section,
)
from dpqr.report.page.parts import (
    NOT_STATED,
    Card,
    Cards,
    Checks,
    Facts,
    Items,
    Paragraph,
    Part,
    ReportInput,
    ReportPage,
    ReportTable,
    Section,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HUGE = 1_000_000
STRONG = 3
"""Epsilons up to which the factor, at most 20, is said to protect."""
REHEARSAL = "REHEARSAL: no table was opened; the answers describe nobody"
NOT_VERIFIED = "NOT VERIFIED: record and files may have been changed since the release was made"
NOT_PRIVATE = "NOT PRIVATE: the noise came from a repeatable test source"


def release_page(found: ReportInput) -> ReportPage:
    """The nine chapters, and that of figures where there are some."""
    queries, paid = sum(block.rows for block in found.blocks), _dataset(found)
    # Promise, unit, who, when, why.
    parts: list[Part] = [Paragraph(text=str(found.record.get("guarantee") or NOT_STATED))]
    if found.unverified:
        parts.append(Paragraph(text=f"Not verified: {found.unverified}", strong=True))
    if found.stated("warning"):
        parts.append(Paragraph(text=f"Warning: {found.record['warning']}", strong=True))
    parts += [Paragraph(text=sentence) for sentence in meaning(found)]
    circumstances = (
        ("Protected unit", found.stated("unit") or NOT_STATED),
        ("Published by", found.stated("publisher") or NOT_STATED),
        ("Asked for by", found.stated("by") or NOT_STATED),
        ("Approved by", found.stated("approved_by") or NOT_STATED),
        ("Purpose", found.stated("purpose") or NOT_STATED),
        ("Date", found.stated("date") or NOT_STATED),
        ("Table", paid or "has no name: no ledger was used"),
        ("Made by", f"dpqr {found.stated('version') or '(version unknown)'}"),
    )
    parts.append(Facts(lines=circumstances))
    if notes := [note for note in found.record.get("trust") or () if note not in request_notes(found)]:
        parts += [Paragraph(text="What a reader must know before relying on the figures:"), Items(lines=notes)]
    stamp = "" if found.record.get("private", True) else NOT_PRIVATE
    if found.unverified:
        stamp = NOT_VERIFIED
    if found.record.get("rehearsal"):
        stamp = REHEARSAL
    return ReportPage(
        title=f"A private release of {count_words(queries, 'answer')}" + (f" about {paid}" if paid else ""),
        subtitle=found.stated("purpose") or "What it promises, costs and says, and how far that can be trusted",
        lead=(*lead(found), ("answers", f"{queries:,}"), ("questions", f"{len(found.blocks):,}")),
        sections=(
            Section(name="promise", title="The promise", parts=parts),
            budget_section(found),
            price_section(found),
            *((figures_section(found),) if found.figures else ()),
            answers_section(found),
            forecast_section(found),
            synthetic_section(found),
            domain_section(found),
            checklist_section(found),
            verify_section(found),
        ),
        stamp=stamp,
    )


def _dataset(found: ReportInput) -> str | None:
    paid = found.record.get("ledger")
    return str(paid["dataset"]) if isinstance(paid, dict) else None


def lead(found: ReportInput) -> Iterator[Fact]:
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


def meaning(found: ReportInput) -> Iterator[str]:
    """The promise in plain words."""
    budget, unit = found.plan.get("budget"), found.stated("unit")
    if budget is None or unit is None:
        return
    epsilon, delta = (Fraction(budget[name]["exact"]) for name in ("epsilon", "delta"))
    # e to the epsilon, rounded up.
    factor = "perhaps more than a million"
    if epsilon < math.log(HUGE):
        factor = f"at most {float(upward_text(Fraction(math.exp(float(epsilon)) * (1 + 1e-12)), DIGITS)):,.10g}"
    # What such a factor keeps from a reader.
    if epsilon > STRONG:
        worth = (
            "A factor of this size promises little by itself: a reader who knows much may become sure whether one of "
            "those protected was in the table."
        )
    else:
        worth = (
            "By no more than this factor can the odds of any guess about one of those protected change for a reader, "
            "whatever else he knows or computes."
        )
    more = f", plus a probability of at most {upward_text(delta)}" if delta else ""
    yield (
        f"In plain words: take two tables that differ by {unit}. Whatever was published here, it was {factor} times "
        f"as likely with the one table as with the other{more}. {worth}"
    )
    yield (
        "It does not promise that nothing can be learnt. What holds for many people is meant to be seen, and it is "
        "seen whether or not any one of them is in the table."
    )


def budget_section(found: ReportInput) -> Section:
    """This release, earlier ones, what is left."""
    spending = found.spending
    parts: tuple[Part, ...]
    if spending is not None:
        chart = budget_chart(spending)
        account, rows = spending.account, []
        currency = account.terms.currency
        this = next((charge.number for charge in spending.charges if charge.own), -1)
        for charge in spending.charges:
            which = "an earlier one" if charge.number < this else "this release" if charge.own else "a later one"
            rows.append((f"{charge.number}", charge.date, which, currency.figures(charge.cost, upward_text)))
        rows.append(("", "", "left", currency.figures(account.left, downward_text)))
        limit = currency.words(account.terms.limit, downward_text)
        fits = f"the largest request that still fits is {account.request}" if account.request else "nothing more fits"
        others = count_words(len(spending.charges) - 1, "other release")
        parts = (
            *((chart,) if chart else ()),
            ReportTable(
                caption=f"What the budget of {account.terms.dataset!r} has paid for; for life: {limit}",
                head=("entry", "date", "release", f"cost in {currency.name}"),
                rows=rows,
                texts=3,
            ),
            Paragraph(
                text=f"The budget has paid for this and {others}; {fits}. The budget's promise covers all of them "
                "together, however they were chosen."
            ),
        )
    elif _dataset(found) is None:
        parts = (
            Paragraph(
                text="No ledger was used. The promise covers this release alone: the costs of several releases of one "
                "table add up, and nobody has added them.",
                strong=True,
            ),
        )
    else:
        entry = found.record["ledger"]["entry"]
        parts = (
            Paragraph(
                text=f"The budget of {_dataset(found)!r} paid for this release (entry {entry} of the ledger). That "
                "budget covers all releases that it pays for together. This page was made without the ledger; "
                "dpqr report --ledger FILE shows earlier releases and what is left."
            ),
        )
    return Section(name="budget", title="The budget", parts=parts)


def price_section(found: ReportInput) -> Section:
    """Phases and accountants."""
    spent = found.record.get("spent")
    parts: list[Part] = []
    if spent:
        charged = spent["charged"]
        rows = [(phase, _epsilon(prices.get(charged))) for phase, prices in spent["phases"].items()]
        delta = upward_text(Fraction(spent["delta"]["exact"]))
        parts += [
            ReportTable(
                caption=f"Each phase by itself, as epsilon by {charged}; only basic's figures add up to the whole",
                head=("phase", "epsilon"),
                rows=[*rows, ("whole release", _epsilon(spent["epsilon"].get(charged)))],
            ),
            ReportTable(
                caption=f"The whole release under every accountant, as epsilon at delta {delta}",
                head=("accountant", "epsilon", ""),
                rows=[
                    (name, _epsilon(figure), "charged" if name == spent["charged"] else "shown only")
                    for name, figure in spent["epsilon"].items()
                ],
            ),
            Paragraph(
                text=f"Charged by {spent['charged']}: {spent['why']}. The other accountants are shown for comparison."
            ),
        ]
    if events := found.record.get("events"):
        # Equal draws are one line.
        lines = []
        for event in events:
            bare = event.get("event", event)
            stated = [f"{name} {value}" for name, value in bare.items() if name not in ("kind", "count", "event")]
            kind = f"{event['kind']}: {bare['kind']}" if bare is not event else event["kind"]
            lines.append((kind, ", ".join(stated), f"{event['count']:,}"))
        caption, head = "Every draw that was charged, as accountants price it", ("draw", "parameters", "times")
        parts.append(ReportTable(caption=caption, head=head, rows=lines, texts=2))
    parts = parts or [Paragraph(text="The record says nothing of phases and prices.")]
    return Section(name="price", title="What was drawn, and what it cost", parts=parts)


def _epsilon(figure: dict[str, Any] | None) -> str:
    return "not covered" if figure is None else upward_text(Fraction(figure["exact"]), DIGITS)


# The chapters of a release's answers: every block as a chart, and what was forecast beside what came.

CHARTS, LINES, MOST, LEAST = 150, 2400, 40, 6
"""Blocks that are drawn, lines of all their tables together, and the most and the fewest of one table."""
NORMAL = math.sqrt(math.pi / 2)
"""Root mean square over mean absolute value, of a normal error."""
FAR = 1.5
"""Forecast over result, or result over forecast, from which on a block is named."""


def answers_section(found: ReportInput) -> Section:
    """Every block in workload order; where there are more than a page can hold, the others by name."""
    shown, rest = found.blocks[:CHARTS], found.blocks[CHARTS:]
    lines = max(min(LINES // max(len(shown), 1), MOST), LEAST)
    cards = [_card(block, f"block {number}", lines, found.bounds.get(block.name)) for number, block in enumerate(shown)]
    parts: list[Part] = [Items(lines=tuple(_legend(found))), Cards(cards=cards)]
    if rest:
        parts.append(
            ReportTable(
                caption=f"{count_words(len(rest), 'more block')}, without charts",
                head=("block", "answers", "never measured", "typical error"),
                rows=[
                    (block.name, f"{block.rows:,}", f"{int(never_measured(block).sum()):,}", optional(typical(block)))
                    for block in rest
                ],
            )
        )
    return Section(name="answers", title="The answers", parts=parts)


def _legend(found: ReportInput) -> Iterator[str]:
    alone = sum(int(never_measured(block).sum()) for block in found.blocks)
    whole = sum(block.rows for block in found.blocks)
    yield (
        f"{whole - alone:,} of {count_words(whole, 'answer')} were measured at least once. Hatched: {alone:,} that "
        "never were; they come from the model alone."
    )
    if words := (found.record.get("error_bars") or {}).get("words"):
        if words not in str(found.record.get("certainty")):
            yield str(words)
    elif any(block.estimated for block in found.blocks):
        yield (
            "Errors of estimates are themselves estimated, from refits with new noise: the root mean square error of "
            "the estimate, in records. They were not measured on the table."
        )
    elif not all(block.certain for block in found.blocks):
        yield "Some answers have no error: this release was made without estimated errors."
    yield (
        "Orange lines and pale bands are 95% intervals, each for one answer alone: of a hundred, about five miss. "
        "Intervals of measured answers are proved over the noise; those of estimates are estimated."
    )
    if found.bounds:
        confidence = found.record["bounds"]["confidence"]
        yield (
            f"Proved bounds were bought: with probability {confidence:g} over the noise, the L1 errors of all blocks "
            "are within them at once. An L1 error is the sum of a block's absolute errors."
        )
    yield "Heat maps: the stronger the colour, the more records (by its square root, so that small cells show)."
    if not found.stated("certainty"):
        return
    yield str(found.record["certainty"])


def _card(block: AnsweredBlock, salt: str, lines: int, bound: float | None) -> Card:
    alone = int(never_measured(block).sum())
    how = "measured" if not alone else "never measured" if alone == block.rows else f"{alone:,} never measured"
    error, what = typical(block), "noise" if np.isnan(block.error).all() else "error"
    words = (
        f"{count_words(block.rows, 'answer')}, {how}"
        + ("" if np.isnan(error) else f"; typical {what} {amount(error)}")
        + ("" if bound is None else f"; L1 error proved to be at most {math.ceil(bound):,}")
    )
    # The largest answers, in the block's order.
    rows = np.sort(np.argsort(-block.estimate, kind="stable")[:lines])
    shown = block.chosen(rows)
    cells = zip(
        answer_texts(shown.estimate, shown.precision),
        map(optional, shown.error.tolist()),
        answer_texts(shown.measured, shown.deviation),
        lower_texts(shown.lower, shown.spread),
        upper_texts(shown.upper, shown.spread),
        ("" if place < 0 else BASES[place] for place in shown.basis.tolist()),
        strict=True,
    )
    part = (
        f"The {lines} largest of {block.rows:,} answers; all are in the answers file" if block.rows > lines else "All"
    )
    return Card(
        title=block.name,
        words=words,
        chart=block_chart(block, salt),
        table=ReportTable(
            caption=f"{part}: {block.name}",
            head=(
                *(column.name for column in block.columns),
                "estimate",
                "error",
                "measured",
                "lower",
                "upper",
                "basis",
            ),
            rows=[(*shown.cells(row), *each) for row, each in enumerate(cells)],
            texts=len(block.columns),
        ),
    )


def typical(block: AnsweredBlock) -> float:
    """Root mean square of the errors of a block's estimates, or of its noise, in records; NaN where none is known."""
    known = block.precision[~np.isnan(block.precision)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def forecast_section(found: ReportInput) -> Section:
    """The plan's expected error of each block beside what the release says of it."""
    errors = expected(found.plan)
    noise = {each["name"]: float(each["noise_deviation"]) for each in found.plan.get("forecast") or ()}
    forecast = {name: error * NORMAL for name, error in errors.items()} or noise
    known = ((block.name, forecast.get(block.name), typical(block)) for block in found.blocks)
    pairs = [(name, planned, came) for name, planned, came in known if planned is not None and not np.isnan(came)]
    if not pairs:
        words = "The record holds no forecast, or no errors to set beside it."
        return Section(name="forecast", title="Forecast and result", parts=(Paragraph(text=words),))
    basis = "its mean absolute error times 1.25, as for normal errors" if errors else "the noise of one measurement"
    planned, came = (np.maximum([pair[place] for pair in pairs], 1e-3) for place in (1, 2))
    low, high = min(planned.min(), came.min()) / 1.5, max(planned.max(), came.max()) * 1.5

    def draw(figure: Figure) -> None:
        axes = panel(figure, 54, 8, 272, 170)
        axes.plot((low, high), (low, high), color=FAINT, linewidth=1)
        axes.plot(planned, came, "o", color=FILL, markersize=4.5, alpha=0.75)
        axes.set_xlabel("forecast, in records")
        axes.set_ylabel("result, in records")
        figures(axes, "x", log=True)
        figures(axes, "y", log=True)
        axes.set(xlim=(low, high), ylim=(low, high))

    blocks = count_words(len(pairs), "block")
    whole = (
        f"Before any data was opened, the plan said how large a typical error would be ({basis}). Beside it stands the "
        "error that the release states: measured noise, or an estimate from refits. Both are root mean squares."
    )
    near = f"All of {blocks} came within a factor {FAR:g} of their forecast."
    if far := sum(not 1 / FAR <= result / max(plan, 1e-12) <= FAR for _, plan, result in pairs):
        near = f"{far} of {blocks} came further than a factor {FAR:g} from it."
    alt = f"Forecast against resulting error of {count_words(len(pairs), 'block')}. Table below."
    parts = (
        Paragraph(text=f"{whole} {near}"),
        draw_chart(draw, height=216, alt=alt, salt="forecast"),
        ReportTable(
            caption="Typical error of an answer, in records: as planned, and as released",
            head=("block", "forecast", "result", "result / forecast"),
            rows=[
                (name, amount(planned), amount(came), f"{came / max(planned, 1e-12):.2f}")
                for name, planned, came in pairs
            ],
        ),
    )
    return Section(name="forecast", title="Forecast and result", parts=parts)


def expected(plan: dict[str, Any]) -> dict[str, float]:
    """The mean absolute error that a plan forecasts for an answer of each block, by name; empty: it forecasts none."""
    simulated = {each["name"]: float(each["error"]["mean"]) for each in (plan.get("expected") or {}).get("blocks", ())}
    closed = {each["name"]: each.get("error") for each in plan.get("forecast") or ()}
    return simulated or {name: float(error) for name, error in closed.items() if error is not None}


# The chapter of figures: means, medians, ratios and the like with their intervals.

FIGURE_LINES = 1000
"""Rows of all tables together; the others are counted."""


def figures_section(found: ReportInput) -> Section:
    """A table for each figure; their rows as `dpqr show` has them."""
    parts: list[Part] = [
        Items(lines=("Computed from the answers below, at no further cost.", *figures_legend(found.figures)))
    ]
    shown = found.figures[:FIGURE_LINES]
    for name in dict.fromkeys(one["figure"] for one in shown):
        own = [one for one in shown if one["figure"] == name]
        rows = [row[1:] for row in figure_texts(own)]
        parts.append(ReportTable(caption=plain(name), head=("cells", *NUMBERS, "basis", "flag"), rows=rows))
    if rest := len(found.figures) - len(shown):
        parts.append(Items(lines=(f"{count_words(rest, 'row')} more stand in the file of figures.",)))
    return Section(name="figures", title="Figures", parts=tuple(parts))


# The page of a plan: what a release would promise, draw and be worth, before any data is opened.

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
