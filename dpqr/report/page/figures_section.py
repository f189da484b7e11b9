"""The chapter of figures: means, medians, ratios and the like with their intervals."""

from __future__ import annotations

from dpqr.report.figures_view import NUMBERS, figure_texts, legend
from dpqr.report.page.parts import Items, Part, Section, Table
from dpqr.report.page.reported import Reported
from dpqr.report.wording import counted, plain

LINES = 1000
"""Rows of all tables together; the others are counted."""


def figures_section(found: Reported) -> Section:
    """A table for each figure; their rows as `dpqr show` has them."""
    parts: list[Part] = [Items(lines=("Computed from the answers below, at no further cost.", *legend(found.figures)))]
    shown = found.figures[:LINES]
    for name in dict.fromkeys(one["figure"] for one in shown):
        own = [one for one in shown if one["figure"] == name]
        rows = [row[1:] for row in figure_texts(own)]
        parts.append(Table(caption=plain(name), head=("cells", *NUMBERS, "basis", "flag"), rows=rows))
    if rest := len(found.figures) - len(shown):
        parts.append(Items(lines=(f"{counted(rest, 'row')} more stand in the file of figures.",)))
    return Section(name="figures", title="Figures", parts=tuple(parts))
