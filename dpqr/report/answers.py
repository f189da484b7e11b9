"""Answers as tables: those of one block, or of a whole release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.values import replace
from dpqr.kernel.wording import count_words, plain
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock
from dpqr.releases.answers.errors import BASES, CERTIFIED, COMPARED, ESTIMATE, MEASURED, NO_BASIS

GAP = 2
"""Blanks between two columns."""
WIDEST = 1000
"""A screen on which everything fits."""
LONGEST_WORD = 24
"""Columns of text that a cell keeps for its longest word, so that none is broken."""
UNKNOWN = "no error is known: these answers come from the model alone"
LEGENDS = {
    MEASURED: "noise: deviation of what was measured; lower, upper: 95% interval, one by one",
    ESTIMATE: "where no noise is shown, lower and upper are +-1.96 errors, an estimated 95% interval",
    COMPARED: "compared: the estimate was found this close to the true answer by a noisy comparison",
    CERTIFIED: "certified: no estimate is off by more than the certificate's bound, all at once",
}
"""By what intervals rest on."""
ERROR = "error: estimated root mean square error of the estimate"
FIGURES = ("estimate", "error", "measured", "noise", "lower", "upper", "basis")
SPARED = ("noise", "measured", "basis", "error")
"""Figures that a narrow screen does without, the least needed one first."""


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
    rows = [(plain(block.name), title(block, row), *figures) for block in blocks for row, figures in _figured(block)]
    held = [place for place, figure in enumerate(FIGURES) if figure != "error" or any(row[2 + place] for row in rows)]

    def made(_: bool, spared: Sequence[str]) -> Table:
        table, shown = plain_table(), [place for place in held if FIGURES[place] not in spared]
        add_texts(table, "query", (row[0] for row in rows))
        add_texts(table, "cells", (row[1] for row in rows))
        for place in shown:
            _add_figure(table, FIGURES[place])
        for query, cells, *figures in rows:
            table.add_row(*map(Text, (query, cells, *(figures[place] for place in shown))))
        return table

    return FittedTable(made, [each for each in SPARED if FIGURES.index(each) in held])


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
    return Text(f"{plain(block.name)}: {count_words(block.rows, 'answer')}", style="bold")


def block_table(block: AnsweredBlock) -> RenderableType:
    """The answers of one block. Figures that no answer has are left out."""
    figures = [row for _, row in _figured(block)]
    # What all intervals rest on stands in the legend; of the other columns one that says nothing is left out.
    held = [
        place
        for place, name in enumerate(FIGURES)
        if (len({row[place] for row in figures}) > 1 if name == "basis" else any(row[place] for row in figures))
    ]

    def made(apart: bool, spared: Sequence[str]) -> Table:
        table, cells = plain_table(), CellColumns(block, apart)
        shown = [place for place in held if FIGURES[place] not in spared]
        cells.add(table)
        for place in shown:
            _add_figure(table, FIGURES[place])
        for row, texts in enumerate(figures):
            table.add_row(*cells.row(row), *(Text(texts[place]) for place in shown))
        return table

    return FittedTable(made, [each for each in SPARED if FIGURES.index(each) in held])


class CellColumns(Struct, frozen=True, eq=False):
    """The names of a block's answers in a table: a column for each of the block's columns, or all in one."""

    block: AnsweredBlock
    apart: bool

    def add(self, table: Table) -> None:
        if not self.apart:
            add_texts(table, "cells", (title(self.block, row) for row in range(self.block.rows)))
            return
        for column in self.block.columns:
            add_texts(table, plain(column.name), {plain(column.texts[place]) for place in column.places.tolist()})

    def row(self, row: int) -> list[Text]:
        return [Text(plain(text)) for text in self.block.cells(row)] if self.apart else [Text(title(self.block, row))]


class FittedTable(Struct, frozen=True, eq=False):
    """A table that fits the screen: one that names cells in columns of their own, else in one that wraps, else without
    the columns that are needed least, and with a line that names them.

    made: the table with cells apart or not, and without some columns. spared: these, the least needed one first.
    Where not even the others fit, it is wider than the screen: a column that is cut off is not missed by its reader.
    """

    made: Callable[[bool, Sequence[str]], Table]
    spared: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for apart, count in [(True, 0), *((False, count) for count in range(len(self.spared) + 1))]:
            table = self.made(apart, self.spared[:count])
            narrowest = Measurement.get(console, options.update(width=WIDEST), table).minimum
            if narrowest <= options.max_width:
                break
        width = max(options.max_width, narrowest)
        if not any(column.ratio for column in table.columns):
            narrow_columns(table, width)
        yield from console.render(table, options.update(width=width))
        if count:
            missing = ", ".join(self.spared[:count])
            yield Text(f"no room for: {missing}; --json has all", style="dim")


def narrow_columns(table: Table, width: int) -> None:
    """Take what is too wide from columns of texts, the widest first, down to the longest word of each: rich would take
    more from the widest one, and the table would end wider than the screen."""
    texts = ((column, max(cell_len(str(cell)) for cell in (column.header, *column.cells))) for column in table.columns)
    widest = sorted(texts, key=lambda pair: -pair[1])
    excess = sum(wide for _, wide in widest) + GAP * (len(widest) - 1) - width
    for column, wide in widest:
        if excess > 0 and column.min_width is not None:
            column.width = max(column.min_width, wide - excess)
            excess -= wide - column.width


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


def _sizes(errors: FloatArray) -> list[str]:
    return [f"+-{error}" if error else "" for error in error_texts(errors)]


def readable(block: AnsweredBlock, whole: Mapping[str, bool] | None = None) -> AnsweredBlock:
    """The same with cells as people write them: bins of dates by their names.

    whole: columns whose bins of numbers are put in words too, and whether these are whole numbers; None: none.
    """
    columns = []
    for column in block.columns:
        texts = tuple(map(cell_words, column.texts))
        if whole and column.name in whole:
            texts = tuple(bin_words(text, whole[column.name]) for text in texts)
        columns.append(replace(column, texts=texts))
    return replace(block, columns=tuple(columns))


BIN = re.compile(r"([\[(])(-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)([\])])")
GROUPED = 10_000
"""Numbers from which on thousands are parted: years are not."""


def bin_words(text: str, whole: bool) -> str:
    """A bin of numbers as people write it; another cell as it is. whole: of whole numbers.

    >>> bin_words("[18, 28)", True), bin_words("[0, 10000)", False), bin_words("(null)", True)
    ('18 to 27', '0 to under 10,000', '(null)')
    """
    found = BIN.fullmatch(text)
    if found is None:
        return text
    low, high = (Fraction(found[place]) for place in (2, 3))
    if whole:
        first = ceil(low) if found[1] == "[" else floor(low) + 1
        last = floor(high) if found[4] == "]" else ceil(high) - 1
        return _grouped(str(first)) if first == last else f"{_grouped(str(first))} to {_grouped(str(last))}"
    above, under = ("" if found[1] == "[" else "above "), ("" if found[4] == "]" else "under ")
    return f"{above}{_grouped(found[2])} to {under}{_grouped(found[3])}"


def _grouped(number: str) -> str:
    """A number as it is written, thousands parted from GROUPED on."""
    return f"{int(number):,}" if "." not in number and abs(int(number)) >= GROUPED else number


BIN_OF_DATES = re.compile(r"\[(\d{4}-\d\d-\d\d\S*), (\d{4}-\d\d-\d\d\S*)([])])")


def cell_words(text: str) -> str:
    """A cell as people write it: "Jan 2024", "Q1 2024", "2024", "3 Jan 2024" or "1 Jan to 14 Jan 2024" for dates.

    >>> cell_words("[2024-01-01, 2024-02-01)"), cell_words("[2024-10-01T00:00:00, 2024-12-31T23:59:59]")
    ('Jan 2024', 'Q4 2024')
    """
    found = BIN_OF_DATES.fullmatch(text)
    if found is None:
        return text
    start, stop = datetime.fromisoformat(found[1]), datetime.fromisoformat(found[2])
    last = stop if found[3] == "]" else stop - timedelta(microseconds=1)
    if start.time() != time() or (found[3] == ")" and stop.time() != time()):
        return text
    # The day after the last one: a month, a quarter or a year ends there.
    after = last.date() + timedelta(days=1)
    months = 12 * (after.year - start.year) + after.month - start.month
    if start.day == after.day == 1 and months == 1:
        return f"{start:%b %Y}"
    if start.day == after.day == 1 and months == 3 and start.month % 3 == 1:
        return f"Q{(start.month + 2) // 3} {start.year}"
    if start.day == after.day == 1 and months == 12 and start.month == 1:
        return str(start.year)
    same = "" if start.year == last.year else f" {start.year}"
    first = f"{start.day} {start:%b}{same} to " if start.date() != last.date() else ""
    return f"{first}{last.day} {last:%b %Y}"


def title(block: AnsweredBlock, row: int) -> str:
    """Which cells a row is about: "sex=F, age=[20, 30), <= 30"; nothing where the query's name says it all."""
    pairs = zip(block.columns, block.cells(row), strict=True)
    return plain(", ".join(text if column.name == DETAIL else f"{column.name}={text}" for column, text in pairs))


# Figures and views on a screen.

NUMBERS = ("estimate", "error", "lower", "upper")
SAID = ("figure", "kind", "detail", *NUMBERS, "basis", "flag")
"""Columns that are no cells of groups."""
LEGEND = "lower, upper: 95% interval, one by one; by whole bins for quantiles"
FLAGS = {
    "small denominator": "small denominator: the interval is all that a table can give",
    "sure": "sure: all intervals together place the cell among the largest",
}


def figure_texts(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the table of figures: name, cells, NUMBERS, basis and flag."""
    found: list[tuple[str, ...]] = []
    for name in dict.fromkeys(one["figure"] for one in records):
        own = [one for one in records if one["figure"] == name]
        # Estimate, error, lower and upper with the digits of their errors, figure by figure.
        values = {key: np.array([one[key] for one in own], dtype=float) for key in NUMBERS}
        digits = figure_precision(values["error"], values["lower"], values["upper"])
        columns = (
            answer_texts(values["estimate"], digits),
            _sizes(np.where(values["error"] > 0, values["error"], np.nan)),  # a quantile of one whole number shows none
            lower_texts(values["lower"], digits),
            upper_texts(values["upper"], digits),
        )
        for one, *numbers in zip(own, *columns, strict=True):
            detail = "" if one["kind"] == "median" else plain(one["detail"] or "")
            cells = ", ".join(filter(None, (_cells(one, SAID), detail)))
            found.append((plain(name), cells, *numbers, one["basis"] or "", one["flag"] or ""))
    return found


def figure_precision(error: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The error of each figure; where none is known, a quarter of its interval."""
    return np.where(np.isnan(error), (upper - lower) / 4, error)


def figures_legend(records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What their columns mean, and the flags that occur."""
    shown = {one["flag"] for one in records}
    return (LEGEND, *(words for flag, words in FLAGS.items() if flag in shown))


def figures_view(records: Sequence[dict[str, Any]]) -> RenderableType:
    """Rows of the table of figures, as text for people."""
    rows = figure_texts(records)
    names, title = ["figure", "cells", *NUMBERS, "basis", "flag"], []
    held = [
        place for place, name in enumerate(names) if name not in ("cells", "flag") or any(row[place] for row in rows)
    ]
    if len({row[0] for row in rows}) == 1 and 1 in held:
        # One figure is named once, above its table; so is its one column of groups.
        title, held = [Text(rows[0][0], style="bold")], held[1:]
        groups = {tuple(name for name in one if name not in SAID and one[name] is not None) for one in records}
        if len(groups) == 1 and len(columns := groups.pop()) == 1:
            names[1] = plain(columns[0])
            rows = [(row[0], row[1].removeprefix(f"{names[1]}="), *row[2:]) for row in rows]

    def made(_: bool, spared: Sequence[str]) -> Table:
        table, shown = plain_table(), [place for place in held if names[place] not in spared]
        for place in shown:
            if names[place] in NUMBERS:
                table.add_column(names[place], justify="right", no_wrap=True)
            else:
                add_texts(table, names[place], (row[place] for row in rows))
        for row in rows:
            table.add_row(*(Text(row[place]) for place in shown))
        return table

    table = FittedTable(made, ("basis", "error", *(name for name in ("flag",) if names.index(name) in held)))
    return Group(*title, table, *(Text(line, style="dim") for line in figures_legend(records)))


def views_view(records: Sequence[dict[str, Any]], bias: Sequence[str], base: int) -> RenderableType:
    """Rows of the table of views."""
    table = plain_table()
    said = ("query", "answer", "integer", "rounded", "mark")
    rows = [(plain(one["query"]), _cells(one, said)) for one in records]
    add_texts(table, "query", (row[0] for row in rows))
    add_texts(table, "cells", (row[1] for row in rows))
    for name in ("integer", f"by {base}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("mark")
    for row, one in zip(rows, records, strict=True):
        table.add_row(*map(Text, (*row, f"{one['integer']:,}", f"{one['rounded']:,}", one["mark"] or "")))
    legend = [*bias, "unsure: the error of the answer is above a third of it"]
    return Group(table, *(Text(line, style="dim") for line in legend))


def _cells(one: dict[str, Any], said: Sequence[str]) -> str:
    return plain(
        ", ".join(f"{name}={cell_words(text)}" for name, text in one.items() if name not in said and text is not None)
    )


# Digits: answers rounded for people. A figure has as many as its error leaves it; files keep full precision.

OF_ERROR, WITHOUT_ERROR = 2, 4
"""Significant digits of an error, and of a figure that has none."""
MOST_DECIMALS = 3


def answer_texts(values: FloatArray, errors: FloatArray) -> list[str]:
    """Each value of a block, rounded to the second significant digit of its error (a standard deviation).

    Without an error to four significant digits, with no more decimals than the largest value needs. NaN is "".
    """
    largest = max((abs(value) for value in values.tolist() if isfinite(value)), default=0.0)
    most = max(_place(largest, WITHOUT_ERROR, MOST_DECIMALS), 0)
    pairs = zip(values.tolist(), errors.tolist(), strict=True)
    return _trimmed([_text(v, _decimals(e) if e > 0 else _place(v, WITHOUT_ERROR, most)) for v, e in pairs])


def error_texts(errors: FloatArray) -> list[str]:
    """Each error to two significant digits."""
    return [_text(error, _decimals(error)) for error in errors.tolist()]


def lower_texts(bounds: FloatArray, errors: FloatArray) -> list[str]:
    """Lower ends of intervals, with the digits of their errors, moved down."""
    return _bound_texts(bounds, errors, floor)


def upper_texts(bounds: FloatArray, errors: FloatArray) -> list[str]:
    """Upper ends, moved up."""
    return _bound_texts(bounds, errors, ceil)


def interval_words(lower: str, upper: str) -> str:
    """An interval by the texts of its ends; one without an upper end says so."""
    return f"{lower} to {upper}" if lower and upper else f"{lower} or more" if lower else ""


def _bound_texts(bounds: FloatArray, errors: FloatArray, outward: Callable[[float], int]) -> list[str]:
    pairs = zip(bounds.tolist(), errors.tolist(), strict=True)
    places = ((bound, _decimals(error) if bound else 0) for bound, error in pairs)
    return _trimmed(
        ["" if bound != bound else _text(outward(bound * 10.0**place) / 10.0**place, place) for bound, place in places]
    )


def _decimals(error: float) -> int:
    return _place(error, OF_ERROR, MOST_DECIMALS)


def _place(value: float, digits: int, most: int) -> int:
    """The decimal place of the last of so many significant digits, at most `most`; negative: before the point."""
    return min(digits - 1 - floor(log10(abs(value))), most) if value and isfinite(value) else most


def _text(value: float, place: int) -> str:
    if value != value:
        return ""
    return f"{round(value, place) + 0.0:,.{max(place, 0)}f}"


def _trimmed(texts: list[str]) -> list[str]:
    """Without the zeros behind the point that none of them needs: counts are whole."""
    if not all("." in text for text in texts if text not in ("", "0")):
        return texts
    parts = [text.partition(".") for text in texts]
    needed = max((len(decimals.rstrip("0")) for _, _, decimals in parts), default=0)
    return ["".join((whole, point, decimals[:needed])).rstrip(".") for whole, point, decimals in parts]
