"""A kept release on a screen: its receipt and what it answers; and one block in the form that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.privacy.budget import downward_text, upward_text
from dpqr.report.answers_view import add_texts, block_view, heading, plain_table
from dpqr.report.charts.bars import bars_view
from dpqr.report.charts.curve import curve_view
from dpqr.report.charts.heat_map import heat_map_view
from dpqr.report.figures_view import figures_view
from dpqr.report.wording import Fact, facts, plain

Form = Literal["table", "bars", "heatmap", "curve"]
FORMS: dict[Form, Callable[[AnsweredBlock, int], RenderableType]] = {
    "table": block_view,
    "bars": bars_view,
    "heatmap": heat_map_view,
    "curve": curve_view,
}

FIGURES = 20
"""Rows of figures that are shown beside the receipt."""
NAME = 52
"""Columns of text in which a name is shown whole, so that it can be copied."""
Asked = tuple[str, int, Sequence[str]]
"""A block: its name, its number of answers, and the columns that it asks about."""


def kept_view(
    receipt: Sequence[Fact], asked: Sequence[Asked], figures: Sequence[dict[str, Any]] = ()
) -> RenderableType:
    """The whole receipt, the queries by name, and the first figures."""
    if not asked:
        return facts(receipt)
    table = plain_table()
    longest = max(len(plain(name)) for name, _, _ in asked)
    table.add_column("query", min_width=min(longest, NAME), overflow="fold")
    table.add_column("answers", justify="right", no_wrap=True)
    add_texts(table, "columns", (plain(name) for _, _, columns in asked for name in columns))
    for name, rows, columns in asked:
        table.add_row(Text(plain(name)), Text(f"{rows:,}"), Text(plain(", ".join(columns))))
    parts: list[RenderableType] = [facts(receipt), Text(""), table]
    if figures:
        parts += [Text(""), figures_view(figures[:FIGURES])]
    if len(figures) > FIGURES:
        parts += [Text(f"... and {len(figures) - FIGURES:,} more; --query NAME shows all of one")]
    return Group(*parts)


def shown_view(block: AnsweredBlock, form: Form, rows: int, bound: tuple[float, float] | None = None) -> RenderableType:
    """One block of answers. bound: on its L1 error, in records, and its probability; None: there is none. Raises:
    UsageFault where this form cannot show it."""
    return Group(heading(block), *_bound_words(bound), FORMS[form](block, rows))


def _bound_words(bound: tuple[float, float] | None) -> list[Text]:
    if bound is None:
        return []
    records, confidence = bound
    most, probability = upward_text(Fraction(records), 4), downward_text(Fraction(str(confidence)), 9)
    return [Text(f"L1 error of all its estimates: at most {most}, with probability at least {probability}")]
