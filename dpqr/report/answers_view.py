"""Answers as tables: those of one block, or of a whole release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock
from dpqr.construction.answers.intervals import BASES, CERTIFIED, COMPARED, ESTIMATE, MEASURED, NO_BASIS
from dpqr.data.arrays import FloatArray
from dpqr.report.digits import answer_texts, error_texts, lower_texts, upper_texts
from dpqr.report.wording import counted, plain

GAP = 2
"""Blanks between two columns."""
NARROW, WIDEST = 12, 1000
"""The fewest columns of text for cells that share a column; a screen on which everything fits."""
LONGEST_WORD = 24
"""Columns of text that a cell keeps for its longest word, so that none is broken."""
UNKNOWN = "no error is known: these answers come from the model alone"
LEGENDS = {
    MEASURED: "noise: deviation of what was measured; lower, upper: 95% interval, one by one",
    ESTIMATE: "lower, upper beside no noise: +-1.96 errors, an estimated 95% interval",
    COMPARED: "compared: the estimate was found this close to the true answer by a noisy comparison",
    CERTIFIED: "certified: no estimate is off by more than the certificate's bound, all at once",
}
"""By what intervals rest on."""
ERROR = "error: estimated root mean square error of the estimate"
FIGURES = ("estimate", "error", "measured", "noise", "lower", "upper", "basis")


def plain_table(expand: bool = False) -> Table:
    """A table without lines, as all of dpqr."""
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", expand=expand)


def add_texts(table: Table, name: str, texts: Iterable[str]) -> None:
    """A column of texts that wrap between words. name, texts: as they are shown."""
    longest = max(map(longest_word, (name, *texts)))
    table.add_column(Text(name), overflow="fold", min_width=min(longest, LONGEST_WORD))


def longest_word(text: str) -> int:
    """Columns of text that the longest word takes."""
    return max(map(cell_len, text.split()), default=1)


def answers_view(blocks: Iterable[AnsweredBlock]) -> RenderableType:
    """All answers of some blocks as one table."""
    rows = [(plain(block.name), _about(block, row), *figures) for block in blocks for row, figures in _figured(block)]
    table = plain_table()
    add_texts(table, "query", (row[0] for row in rows))
    add_texts(table, "cells", (row[1] for row in rows))
    held = [place for place, figure in enumerate(FIGURES) if figure != "error" or any(row[2 + place] for row in rows)]
    for place in held:
        _add_figure(table, FIGURES[place])
    for query, cells, *figures in rows:
        table.add_row(*map(Text, (query, cells, *(figures[place] for place in held))))
    return table


def blocks_view(blocks: Iterable[AnsweredBlock]) -> RenderableType:
    """The same for a terminal: a table for each block, which has more room without the names."""
    held = tuple(blocks)
    parts = [(heading(block), block_table(block), Text("")) for block in held]
    return Group(*(part for each in parts for part in each), *legend(held))


def block_view(block: AnsweredBlock, rows: int) -> RenderableType:
    """The first `rows` answers of one block as a table, and how to get the others."""
    shown = block.first(rows)
    return Group(block_table(shown), *more_words(block.rows - rows), *legend([shown]))


def legend(blocks: Sequence[AnsweredBlock]) -> list[Text]:
    """What the figures of these blocks mean, and what their intervals rest on."""
    bases = {place for block in blocks for place in np.unique(block.basis).tolist()}
    lines = [words for basis, words in LEGENDS.items() if basis in bases]
    if any(block.erring for block in blocks):
        lines.append(ERROR)
    return [Text(line, style="dim") for line in lines or [UNKNOWN]]


def heading(block: AnsweredBlock) -> Text:
    """A block's name, and how many answers it has."""
    return Text(f"{plain(block.name)}: {counted(block.rows, 'answer')}", style="bold")


def block_table(block: AnsweredBlock) -> RenderableType:
    """The answers of one block. Figures that no answer has are left out."""
    figures = [row for _, row in _figured(block)]
    held = [place for place in range(len(FIGURES)) if _telling([row[place] for row in figures], FIGURES[place])]

    def made(cells: Cells) -> Table:
        table = plain_table()
        cells.add(table)
        for place in held:
            _add_figure(table, FIGURES[place])
        for row, texts in enumerate(figures):
            table.add_row(*cells.row(row), *(Text(texts[place]) for place in held))
        return table

    return Fitted(block, made)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The names of a block's answers in a table: a column for each of the block's columns, or all in one."""

    block: AnsweredBlock
    apart: bool

    def add(self, table: Table) -> None:
        if not self.apart:
            table.add_column("cells", overflow="fold", min_width=NARROW)
            return
        for column in self.block.columns:
            add_texts(table, plain(column.name), {plain(column.texts[place]) for place in column.places.tolist()})

    def row(self, row: int) -> list[Text]:
        return [Text(plain(text)) for text in self.block.cells(row)] if self.apart else [Text(_about(self.block, row))]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A table of answers that names cells in columns of their own where the screen has room, else in one that wraps.

    Where not even the figures fit, it is wider than the screen: a column that is cut off is not missed by its reader.
    """

    block: AnsweredBlock
    made: Callable[[Cells], Table]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table, wide = (self.made(Cells(self.block, apart=apart)) for apart in (False, True))
        narrowest, apart = (self._least(console, options, each) for each in (table, wide))
        chosen = wide if apart <= options.max_width else table
        yield from console.render(chosen, options.update(width=max(options.max_width, narrowest)))

    @staticmethod
    def _least(console: Console, options: ConsoleOptions, table: Table) -> int:
        return Measurement.get(console, options.update(width=WIDEST), table).minimum


def more_words(left: int) -> list[Text]:
    """That there is more, and how to get it."""
    return [Text(f"... and {left:,} more {'answer' if left == 1 else 'answers'}; --rows N")] if left > 0 else []


def _figured(block: AnsweredBlock) -> Iterable[tuple[int, tuple[str, ...]]]:
    """Every row with its figures; noise: the standard deviation of what was measured."""
    columns = (
        answer_texts(block.estimate, block.precision),
        _sizes(block.error) if block.erring else [""] * block.rows,
        answer_texts(block.measured, block.deviation),
        _sizes(block.deviation),
        lower_texts(block.lower, block.spread),
        upper_texts(block.upper, block.spread),
        ("" if place == NO_BASIS else BASES[place] for place in block.basis.tolist()),
    )
    return enumerate(zip(*columns, strict=True))


def _add_figure(table: Table, figure: str) -> None:
    table.add_column(figure, justify="left" if figure == "basis" else "right", no_wrap=True)


def _telling(texts: list[str], figure: str) -> bool:
    """Whether a column says something; what all intervals rest on stands in the legend."""
    return len(set(texts)) > 1 if figure == "basis" else any(texts)


def _sizes(errors: FloatArray) -> list[str]:
    return [f"+-{error}" if error else "" for error in error_texts(errors)]


def _about(block: AnsweredBlock, row: int) -> str:
    """Which cells a row is about: "sex=F, age=[20, 30), <= 30"; nothing where the query's name says it all."""
    pairs = zip(block.columns, block.cells(row), strict=True)
    return plain(", ".join(text if column.name == DETAIL else f"{column.name}={text}" for column, text in pairs))
