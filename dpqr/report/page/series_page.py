"""The page of a series: each query from point to point, with its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpqr.construction.answers.series import Trend
from dpqr.report.page.block_charts import CURVES, LINES
from dpqr.report.page.drawing import FILL, PALE, SECOND, WIDTH, drawn, figures, label, panel
from dpqr.report.page.parts import Card, Cards, Chart, Items, Page, Section, Table
from dpqr.report.series_view import LEGEND, title
from dpqr.report.wording import amount, counted, optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = 6


def series_page(names: Sequence[str], trends: Sequence[Trend], notes: Sequence[str]) -> Page:
    """notes: what a reader must know of single points."""
    cards = [_card(names, trend, place) for place, trend in enumerate(trends)]
    return Page(
        title=f"{counted(len(names), 'release')} of the same queries",
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
        words=f"{counted(trend.rows, 'answer')}{part}; the bands are 95% intervals",
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
    return drawn(draw, height=190 + 14 * len(shown), alt=alt, salt=salt)


def _table(names: Sequence[str], trend: Trend) -> Table:
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
    return Table(caption=trend.name, head=head, rows=rows, texts=2)
