"""Heat maps: the answers of a pair of columns as a table whose cells are shaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from dpqr.construction.answers.answered import AnsweredBlock, CellColumn
from dpqr.errors import UsageFault
from dpqr.report.answers_view import GAP, LONGEST_WORD, longest_word, more_words, plain_table
from dpqr.report.digits import answer_texts
from dpqr.report.wording import plain

SHADES, ASCII_SHADES = " ░▒▓█", " .:+#"
LABEL, TITLE = 20, 8
"""Columns of text of names, of a line and of a column, that are not wrapped."""
LEGEND = "shaded: from nothing to the largest estimate of the block"


def heat_map_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of a block: its last column across, the one before it down, a map for every combination
    of the others. Raises: UsageFault where it has one column or none."""
    if len(block.columns) < 2:
        raise UsageFault(f"--as heatmap: {block.name!r} is not about a pair of columns; --as bars shows it")
    shown = block.first(rows)
    texts = answer_texts(shown.estimate, shown.precision)
    most = max(float(shown.estimate.max(initial=0.0)), np.finfo(np.float64).tiny)
    levels = np.clip(shown.estimate / most * len(SHADES), 0, len(SHADES) - 1).astype(int).tolist()
    maps = [_Map(shown, title, places, texts, levels) for title, places in _maps(shown)]
    return Group(*maps, *more_words(block.rows - rows), Text(LEGEND, style="dim"))


def _maps(block: AnsweredBlock) -> Iterator[tuple[str, list[int]]]:
    """For each map what its leading columns are, and its rows."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in range(block.rows):
        found.setdefault(block.cells(row)[:-2], []).append(row)
    names = [column.name for column in block.columns[:-2]]
    for cells, rows in found.items():
        yield ", ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True)), rows


@dataclass(frozen=True, slots=True, eq=False)
class _Map:
    """One map. Where the screen is too narrow for all columns, the others follow below."""

    block: AnsweredBlock
    title: str
    rows: list[int]
    texts: list[str]
    levels: list[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        down, across = self.block.columns[-2:]
        cells = {(down.places[row], across.places[row]): row for row in self.rows}
        label, taken = _label(down), list(dict.fromkeys(across.places[self.rows].tolist()))
        room, shades = options.max_width - label, ASCII_SHADES if options.ascii_only else SHADES
        if self.title:
            yield Text(f"\n{plain(self.title)}", style="bold")
        while taken:
            count = max(_fitting([self._width(place) for place in taken], room), 1)
            yield self._table(label, taken[:count], cells, shades)
            taken = taken[count:]

    def _width(self, place: int) -> int:
        across = self.block.columns[-1]
        figures = (self.texts[row] for row in self.rows if across.places[row] == place)
        title = plain(across.texts[place])
        return max(longest_word(title), min(cell_len(title), TITLE), *(len(text) + 3 for text in figures))

    def _table(self, label: int, taken: list[int], cells: dict[tuple[int, int], int], shades: str) -> Table:
        table, (down, across) = plain_table(), self.block.columns[-2:]
        table.add_column(Text(plain(down.name)), overflow="fold", width=label)
        for place in taken:
            table.add_column(Text(plain(across.texts[place]), justify="right"), width=self._width(place))
        for line in dict.fromkeys(down.places[self.rows].tolist()):
            figures = (self._cell(cells.get((line, place)), self._width(place) - 3, shades) for place in taken)
            table.add_row(Text(plain(down.texts[line])), *figures)
        return table

    def _cell(self, row: int | None, width: int, shades: str) -> Text:
        """A figure, on the right of so many columns of text, and its shade."""
        if row is None:
            return Text()
        return Text.assemble(f"{self.texts[row]:>{width}} ", (shades[self.levels[row]] * 2, "cyan"))


def _label(down: CellColumn) -> int:
    """Columns of text for the names of the lines: short ones stand on one line, words are never broken."""
    shown = [plain(text) for text in (down.name, *down.texts)]
    return min(max(*map(longest_word, shown), min(max(map(cell_len, shown)), LABEL)), LONGEST_WORD)


def _fitting(widths: list[int], room: int) -> int:
    """How many of the first columns fit."""
    return int((np.cumsum([GAP + width for width in widths]) <= room).sum())
