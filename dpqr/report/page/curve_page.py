"""The page of forecasts by epsilon: what each epsilon would be worth, before any data is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpqr.construction.forecasts.forecast import Forecast
from dpqr.privacy.budget import upward_text
from dpqr.report.charts.forecast_plot import HIGH, LOW
from dpqr.report.forecast_view import MEASURE, basis, nine_of_ten
from dpqr.report.page.drawing import FILL, PALE, WIDTH, drawn, figures, panel
from dpqr.report.page.parts import Chart, Items, Page, Section, Table, Words
from dpqr.report.wording import amount, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAMP = "A FORECAST: nothing was drawn from any private data"


def curve_page(found: Sequence[Forecast], notes: Sequence[str]) -> Page:
    """found: forecasts of one workload, epsilons ascending. notes: what they rest on."""
    first = found[0]
    answers = sum(block.answers for block in first.blocks)
    rests = (Words(text=f"Basis: {basis(first)}."), Items(lines=notes))
    return Page(
        title=f"Expected errors of a release of {counted(answers, 'answer')}",
        subtitle=f"At {counted(len(found), 'epsilon')}, before any data is opened",
        lead=(("answers", f"{answers:,}"), ("questions", f"{len(first.blocks):,}")),
        sections=(
            Section(name="curve", title="Error by epsilon", parts=(_curve(found), _means(found))),
            Section(name="blocks", title="Every question", parts=(Words(text=f"Figures: {MEASURE}."), _blocks(found))),
            Section(name="basis", title="What the forecast rests on", parts=rests),
        ),
        stamp=STAMP,
    )


def _curve(found: Sequence[Forecast]) -> Chart:
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
    return drawn(draw, height=230, alt=f"{what}; both axes are logarithmic. {words}.", salt="curve")


def _means(found: Sequence[Forecast]) -> Table:
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
    return Table(caption="Expected error by epsilon", head=head, rows=rows, texts=2)


def _blocks(found: Sequence[Forecast]) -> Table:
    """Every block's expected error at each epsilon, in workload order."""
    head = ("block", "answers", *(f"eps {upward_text(one.epsilon)}" for one in found))
    rows = [
        (blocks[0].name, f"{blocks[0].answers:,}", *(amount(block.error.mean) for block in blocks))
        for blocks in zip(*(one.blocks for one in found), strict=True)
    ]
    return Table(caption="Expected error of an answer, block by block", head=head, rows=rows)
