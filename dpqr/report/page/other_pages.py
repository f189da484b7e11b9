"""The page of a plan: what a release would promise, draw and be worth, before any data is opened."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import Fact, amount, count_words, optional
from dpqr.releases.answers.answered import Trend
from dpqr.releases.forecast_error import PlanForecast
from dpqr.report.charts import HIGH, LOW
from dpqr.report.forecast import MEASURE, basis, nine_of_ten
from dpqr.report.page.charts import (
    CURVES,
    FILL,
    LINES,
    PALE,
    SECOND,
    WIDTH,
    bar_chart,
    draw_chart,
    figures,
    label,
    panel,
)
from dpqr.report.page.documents import claim_checks, domain_section
from dpqr.report.page.parts import (
    Card,
    Cards,
    Chart,
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
from dpqr.report.release import LEGEND, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DRAWN = 30
"""Blocks of the chart."""
STAMP = "A PLAN: nothing was drawn, and no data was opened"


def plan_page(plan: dict[str, Any], facts: Sequence[Fact]) -> ReportPage:
    """plan: the plan document. facts: the plan in words, as the screen shows it."""
    found = ReportInput(record={"plan": plan, "unit": plan["unit"]["words"], "ledger": "none"}, blocks=(), place="")
    workload = plan["workload"]
    return ReportPage(
        title=f"Plan of a release of {count_words(workload['queries'], 'answer')}",
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


def _promise(plan: dict[str, Any], found: ReportInput) -> Sequence[Part]:
    notes = plan.get("notes") or ()
    more = (Paragraph(text="What to know before it is approved:"), Items(lines=notes)) if notes else ()
    return (Paragraph(text=plan["guarantee"]), *(Paragraph(text=sentence) for sentence in meaning(found)), *more)


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


def _checklist(found: ReportInput) -> Sequence[Part]:
    words = "The rest of the checklist, on algorithms and on what they stand on, comes with the release's own report."
    return Checks(layer="The claim: parameters and unit", lines=tuple(claim_checks(found))), Paragraph(text=words)


def _hash(plan: dict[str, Any]) -> Sequence[Part]:
    """What a release, a ledger and an approval name the plan by."""
    proved = upward_text(Fraction(plan["proved_epsilon"]["exact"]))
    return (Facts(lines=(("SHA-256", plan["sha256"]), ("Proved epsilon", proved), ("Version", plan["version"]))),)


# The page of forecasts by epsilon: what each epsilon would be worth, before any data is opened.

CURVE_STAMP = "A FORECAST: nothing was drawn from any private data"


def curve_page(found: Sequence[PlanForecast], notes: Sequence[str]) -> ReportPage:
    """found: forecasts of one workload, epsilons ascending. notes: what they rest on."""
    first = found[0]
    answers = sum(block.answers for block in first.blocks)
    rests = (Paragraph(text=f"Basis: {basis(first)}."), Items(lines=notes))
    return ReportPage(
        title=f"Expected errors of a release of {count_words(answers, 'answer')}",
        subtitle=f"At {count_words(len(found), 'epsilon')}, before any data is opened",
        lead=(("answers", f"{answers:,}"), ("questions", f"{len(first.blocks):,}")),
        sections=(
            Section(name="curve", title="Error by epsilon", parts=(_curve(found), _means(found))),
            Section(
                name="blocks", title="Every question", parts=(Paragraph(text=f"Figures: {MEASURE}."), _blocks(found))
            ),
            Section(name="basis", title="What the forecast rests on", parts=rests),
        ),
        stamp=CURVE_STAMP,
    )


def _curve(found: Sequence[PlanForecast]) -> Chart:
    """The mean, and the band of nine releases in ten."""
    epsilons, means = [float(one.epsilon) for one in found], [one.error.mean for one in found]
    ends = (0, -1)

    def draw(figure: Figure) -> None:
        axes = panel(figure, 66, 4, WIDTH - 82, 180)
        low, high = ([one.error.at_most(end) for one in found] for end in (LOW, HIGH))
        axes.fill_between(epsilons, low, high, color=PALE)
        axes.plot(epsilons, means, color=FILL, marker="o")
        figures(axes, "x", log=True)
        figures(axes, "y", log=True)
        axes.set_xticks([epsilons[end] for end in ends], [upward_text(found[end].epsilon) for end in ends])
        axes.set_yticks([means[end] for end in ends], [amount(means[end]) for end in ends])
        axes.set(xlabel="epsilon", ylabel="mean error, records")

    words = "; ".join(f"epsilon {upward_text(one.epsilon)}: {amount(one.error.mean)}" for one in found)
    what = "Mean error of the questions, in records, by epsilon; the band holds 9 of 10 releases"
    return draw_chart(draw, height=230, alt=f"{what}; both axes are logarithmic. {words}.", salt="curve")


def _means(found: Sequence[PlanForecast]) -> ReportTable:
    rows = [
        (
            upward_text(one.epsilon),
            one.schedule,
            amount(one.error.mean),
            nine_of_ten(one.error),
            f"{one.over_n.mean:.3g}",
        )
        for one in found
    ]
    head = ("epsilon", "schedule", "mean of the questions", "in 9 of 10 releases", "L1 / n")
    return ReportTable(caption="Expected error by epsilon", head=head, rows=rows, texts=2)


def _blocks(found: Sequence[PlanForecast]) -> ReportTable:
    """Every block's expected error at each epsilon, in workload order."""
    head = ("block", "answers", *(f"eps {upward_text(one.epsilon)}" for one in found))
    rows = [
        (blocks[0].name, f"{blocks[0].answers:,}", *(amount(block.error.mean) for block in blocks))
        for blocks in zip(*(one.blocks for one in found), strict=True)
    ]
    return ReportTable(caption="Expected error of an answer, block by block", head=head, rows=rows)


# The page of a series: each query from point to point, with its errors.

TICKS = 6


def series_page(names: Sequence[str], trends: Sequence[Trend], notes: Sequence[str]) -> ReportPage:
    """notes: what a reader must know of single points."""
    cards = [_card(names, trend, place) for place, trend in enumerate(trends)]
    return ReportPage(
        title=f"{count_words(len(names), 'release')} of the same queries",
        subtitle=f"{names[0]} to {names[-1]}",
        lead=(("points", f"{len(names):,}"), ("queries", f"{len(trends):,}")),
        sections=(
            Section(name="trends", title="Every query from point to point", parts=(Cards(cards=cards),)),
            Section(name="reading", title="How to read the figures", parts=(Items(lines=(*LEGEND, *notes)),)),
        ),
    )


def _card(names: Sequence[str], trend: Trend, place: int) -> Card:
    part = f", the {CURVES} largest are drawn" if trend.rows > CURVES else ""
    return Card(
        title=trend.name,
        words=f"{count_words(trend.rows, 'answer')}{part}; the bands are 95% intervals",
        chart=_chart(names, trend, f"series {place}"),
        table=_table(names, trend),
    )


def _chart(names: Sequence[str], trend: Trend, salt: str) -> Chart:
    """A line for each of the answers that are largest at the last point."""
    shown = np.argsort(-trend.points[-1].estimate, kind="stable")[:CURVES].tolist()
    places = np.arange(len(names))
    lower, upper, values = (
        np.stack([getattr(point, name) for point in trend.points]) for name in ("lower", "upper", "estimate")
    )

    def draw(figure: Figure) -> None:
        axes = panel(figure, 56, 4, WIDTH - 72, 150)
        for line, row in zip(LINES, shown, strict=False):
            axes.fill_between(places, lower[:, row], upper[:, row], color=PALE)
            color = FILL if line == LINES[0] else SECOND
            axes.plot(places, values[:, row], line, color=color, label=label(title(trend.points[0], row) or trend.name))
        figures(axes, "y")
        step = -(-len(names) // TICKS)
        axes.set_xticks(places[::step], [label(name, 10) for name in names[::step]])
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=1)

    words = "; ".join(
        f"{title(trend.points[0], row) or trend.name}: {amount(values[0, row])} to {amount(values[-1, row])}"
        for row in shown
    )
    alt = f"Estimates of {trend.name} from {names[0]} to {names[-1]}. {words}."
    return draw_chart(draw, height=190 + 14 * len(shown), alt=alt, salt=salt)


def _table(names: Sequence[str], trend: Trend) -> ReportTable:
    rows = [
        (
            title(trend.points[0], row),
            name,
            amount(point.estimate[row]),
            *map(optional, (point.precision[row], trend.change[place, row], trend.change_error[place, row])),
        )
        for row in range(trend.rows)
        for place, (name, point) in enumerate(zip(names, trend.points, strict=True))
    ]
    head = ("cells", "point", "estimate", "error", "change", "error of the change")
    return ReportTable(caption=trend.name, head=head, rows=rows, texts=2)
