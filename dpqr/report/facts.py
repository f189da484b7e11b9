"""Facts: lines of "what: how much", the form of plans and receipts. ASCII only, so that every terminal can show it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from dpqr.report.wording import plain

Fact = tuple[str, str]


def facts(lines: Iterable[Fact]) -> Table:
    """A renderable with one line a fact; long texts wrap within their own column. An empty name continues the last.

    Whatever a terminal would obey is shown escaped, whoever wrote it.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(Text(plain(name)), Text(plain(text)))
    return grid
