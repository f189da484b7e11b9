"""Two releases or plans side by side, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.report.answers_view import plain_table
from dpqr.report.wording import optional, plain

MEANING = (
    "noise: deviation of a planned measurement; error: stated error of the estimates; apart: how far A and B differ; "
    "ratio: that over what both errors explain, about 1 for two releases of one table; off: mean error on the proxy. "
    "Root mean squares over a block's answers, in records"
)
Row = tuple[str, int, Sequence[float]]
"""A block: its name, its number of answers, and its figures; NaN: none."""


def compared_view(
    facts: tuple[Mapping[str, str], Mapping[str, str]],
    figures: Sequence[str],
    rows: Sequence[Row],
    alone: Sequence[Sequence[str]],
) -> RenderableType:
    """What was asked of both, then their shared blocks with the figures of these names, then the names of others."""
    table = plain_table()
    for heading in ("", "A", "B"):
        table.add_column(heading, overflow="fold")
    for name in facts[0]:
        one, other = (plain(side[name]) for side in facts)
        table.add_row(Text(name), Text(one), Text("same" if one == other else other))
    others = zip("AB", alone, strict=True)
    lines = [Text(f"only {name}: {plain(', '.join(blocks))}") for name, blocks in others if blocks]
    if not rows:
        return Group(table, Text(""), Text("they share no block of queries"), *lines)
    return Group(table, Text(""), _blocks(figures, rows), Text(MEANING), *lines)


def _blocks(names: Sequence[str], rows: Sequence[Row]) -> RenderableType:
    """Columns that hold anything."""
    held = [place for place in range(len(names)) if any(row[2][place] == row[2][place] for row in rows)]
    table = plain_table()
    table.add_column("query", overflow="fold")
    table.add_column("answers", justify="right", no_wrap=True)
    for place in held:
        table.add_column(names[place], justify="right", no_wrap=True)
    for name, queries, figures in rows:
        table.add_row(Text(plain(name)), Text(f"{queries:,}"), *(Text(optional(figures[place])) for place in held))
    return table
