"""Charts of the answers of one block: bars, curves or heat maps with errors; what was never measured is hatched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpqr.construction.answers.answered import DETAIL, AnsweredBlock
from dpqr.data.arrays import IntArray
from dpqr.report.page.drawing import (
    BAR,
    BESIDE,
    FAINT,
    FILL,
    HATCH,
    PALE,
    SECOND,
    drawn,
    figures,
    label,
    panel,
    shades,
)
from dpqr.report.page.parts import Chart
from dpqr.report.wording import amount, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS, CURVES, TICKS = 14, 4, 16
"""The most bars and curves of a chart, and names along an axis of a heat map."""
DOWN, ACROSS = 14, 24
"""Letters of a name beside a heat map, and below it."""
LINES = ("-", "--", "-.", ":")
Flags = NDArray[np.bool_]


def block_chart(block: AnsweredBlock, salt: str) -> Chart:
    """The chart that suits the block. salt: as of `drawn`."""
    if not block.rows:
        return _bars(block, salt)
    if is_prefix(block):
        return _curves(block, salt)
    if is_grid(block):
        return _heat_map(block, salt)
    if len(block.columns) == 1 and block.columns[0].ordered and block.rows > BARS:
        return _curves(block, salt)
    return _bars(block, salt)


def is_prefix(block: AnsweredBlock) -> bool:
    """Whether the answers are cumulative."""
    last = block.columns[-1] if block.columns else None
    return last is not None and last.name == DETAIL and all(text.startswith("<") for text in last.texts)


def is_grid(block: AnsweredBlock) -> bool:
    """Whether the answers are all cells of a pair of columns."""
    if len(block.columns) != 2 or block.columns[1].name == DETAIL:
        return False
    down, across = (len(np.unique(column.places)) for column in block.columns)
    return down * across == block.rows and min(down, across) > 1


def never_measured(block: AnsweredBlock) -> Flags:
    """Which answers rest on the model alone."""
    return np.isnan(block.measured)


def _name(block: AnsweredBlock, row: int) -> str:
    return ", ".join(block.cells(row)) or "all"


def _seen(block: AnsweredBlock) -> str:
    """What every alternative text says of a block's figures."""
    if not block.rows:
        return "no answers."
    top = int(block.estimate.argmax())
    words = f"largest estimate {amount(float(block.estimate[top]))} ({_name(block, top)})"
    if not np.isnan(block.error).all():
        least, most = float(np.nanmin(block.error)), float(np.nanmax(block.error))
        words += f"; error {amount(least)}" + (f" to {amount(most)}" if most > least else "")
    alone = int(never_measured(block).sum())
    part = "all answers were" if alone == block.rows else f"{counted(alone, 'answer')} of {block.rows:,} were"
    return f"{words}." + (f" Hatched: {part} never measured." if alone else "")


def _bars(block: AnsweredBlock, salt: str) -> Chart:
    """Of a long block the largest answers. Long names stand above their bars."""
    shown = block.chosen(np.argsort(-block.estimate, kind="stable")[:BARS]) if block.rows > BARS else block
    what = f"the {BARS} largest of {block.rows:,} answers" if block.rows > BARS else counted(block.rows, "answer")
    names = [_name(shown, row) for row in range(shown.rows)]
    above = max(map(len, names), default=0) > BESIDE
    pitch, left = (30, 8) if above else (BAR, 128)

    def draw(figure: Figure) -> None:
        axes = panel(figure, left, 4, 328 - left, pitch * shown.rows + 4)
        axes.set_ylim(shown.rows - 0.5, -0.5)
        _lengths(axes, shown, thickness=9 / pitch, drop=0.22 if above else 0.0)
        axes.set_yticks(np.arange(shown.rows), [""] * shown.rows if above else [label(name, BESIDE) for name in names])
        for row, name in enumerate(names if above else ()):
            place = axes.get_yaxis_transform()
            axes.text(0.0, row - 0.24, label(name, 2 * BESIDE + 8), transform=place, va="center")
        figures(axes, "x")

    height = pitch * max(shown.rows, 1) + 28
    return drawn(draw, height=height, alt=f"Bars of {what}: {_seen(block)}", salt=salt)


def _lengths(axes: Axes, shown: AnsweredBlock, *, thickness: float, drop: float) -> None:
    """Bars and their intervals."""
    places, alone = np.arange(shown.rows) + drop, never_measured(shown)
    styles: tuple[dict[str, Any], ...] = ({"facecolor": FILL}, {"facecolor": "none", "hatch": HATCH})
    for which, style in zip((~alone, alone), styles, strict=True):
        if which.any():
            axes.barh(places[which], shown.estimate[which], thickness, edgecolor=FILL, linewidth=0.8, **style)
    known = ~np.isnan(shown.lower)
    axes.hlines(places[known], shown.lower[known], shown.upper[known], color=SECOND, linewidth=2.2)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    axes.tick_params(axis="y", length=0)


def _curves(block: AnsweredBlock, salt: str) -> Chart:
    """Steps over the last column, one curve for every combination of the others; of many those that end highest."""
    groups = _groups(block)
    kept = sorted(groups, key=lambda group: -float(block.estimate[group[-1]]))[:CURVES]

    names = [block.columns[-1].texts[place] for place in block.columns[-1].places[kept[0]]]

    def draw(figure: Figure) -> None:
        axes = panel(figure, 48, 8, 208 if len(groups) > 1 else 276, 130)
        for rows, line in zip(kept, LINES, strict=False):
            _steps(axes, block.chosen(rows), line)
        chosen = _ticks(len(names), 5)
        axes.set_xticks(chosen, [label(names[tick], 14) for tick in chosen], rotation=20, ha="right")
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(bottom=min(0.0, float(block.estimate.min())))
        figures(axes, "y")
        if len(groups) > 1:
            _ends(axes, [block.chosen(rows[-1:]) for rows in kept])

    kind = "Cumulative curves" if is_prefix(block) else "Steps"
    left = f" {len(groups) - CURVES} of {len(groups)} curves are left out." if len(groups) > CURVES else ""
    return drawn(draw, height=184, alt=f"{kind} of {counted(block.rows, 'answer')}: {_seen(block)}{left}", salt=salt)


def _groups(block: AnsweredBlock) -> list[IntArray]:
    """The rows of each combination of all columns but the last."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in range(block.rows):
        found.setdefault(block.cells(row)[:-1], []).append(row)
    return [np.array(rows, dtype=np.int64) for rows in found.values()]


def _steps(axes: Axes, shown: AnsweredBlock, line: str) -> None:
    places, alone = np.arange(shown.rows), never_measured(shown)
    axes.fill_between(places, shown.lower, shown.upper, step="mid", color=PALE, linewidth=0)
    axes.step(places, shown.estimate, where="mid", color=FILL, linewidth=1.4, linestyle=line)
    if alone.any():
        hatched: dict[str, Any] = {"facecolor": "none", "hatch": HATCH, "edgecolor": FILL, "linewidth": 0}
        axes.fill_between(places, 0, shown.estimate, where=alone, step="mid", **hatched)


def _ends(axes: Axes, ends: list[AnsweredBlock]) -> None:
    """The name of each curve where it ends, moved down from that of a higher one where both would meet."""
    low, high = axes.get_ylim()
    place, last = np.inf, axes.get_xlim()[1]
    for end in ends:
        place = min(float(end.estimate[0]), place - (high - low) / 11)
        name = label(", ".join(end.cells(0)[:-1]), 12)
        axes.annotate(
            name, (last, place), xytext=(5, 0), textcoords="offset points", va="center", annotation_clip=False
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grid:
    """A block as a matrix. down, across: names of its lines and columns."""

    down: tuple[str, ...]
    across: tuple[str, ...]
    order: IntArray

    @classmethod
    def of(cls, block: AnsweredBlock) -> _Grid:
        lines, columns = (np.unique(column.places, return_inverse=True) for column in block.columns)
        order = np.empty((len(lines[0]), len(columns[0])), dtype=np.int64)
        order[lines[1], columns[1]] = np.arange(block.rows)
        names = [
            tuple(column.texts[place] for place in found[0])
            for column, found in zip(block.columns, (lines, columns), strict=True)
        ]
        return cls(down=names[0], across=names[1], order=order)


def _heat_map(block: AnsweredBlock, salt: str) -> Chart:
    """Estimates beside their errors."""
    grid = _Grid.of(block)
    tall = min(max(13 * len(grid.down), 90), 170)
    maps = [("estimate", block.estimate)]
    if not np.isnan(block.error).all():
        maps.append(("error", block.error))

    low = 10 + 5 * min(max(len(grid.across[tick]) for tick in _ticks(len(grid.across), TICKS // 2)), ACROSS)

    def draw(figure: Figure) -> None:
        left, gap = 84, 12
        wide = (330 - left - gap * (len(maps) - 1)) / len(maps)
        for number, (name, values) in enumerate(maps):
            axes = panel(figure, left + number * (wide + gap), 18, wide, tall)
            most = float(np.nanmax(values, initial=0.0))
            axes.set_title(f"{name}, up to {amount(most)}", loc="left", fontsize=9, pad=4)
            _cells(axes, shades(values[grid.order], most), never_measured(block)[grid.order])
            _names(axes, grid, lines=not number)

    alt = f"Heat map of {len(grid.down)} by {len(grid.across)} cells, estimates beside errors: {_seen(block)}"
    return drawn(draw, height=tall + 22 + low, alt=alt, salt=salt)


def _cells(axes: Axes, colors: IntArray, alone: Flags) -> None:
    lines, columns = alone.shape
    axes.imshow(colors, interpolation="none", aspect="auto", extent=(0, columns, lines, 0))
    if alone.all():
        runs = [(0, lines, [(0, columns)])]
    else:
        runs = [(line, 1, _runs(alone[line])) for line in range(lines) if alone[line].any()]
    for line, height, found in runs:
        axes.broken_barh(found, (line, height), facecolor="none", hatch=HATCH, edgecolor=FAINT, linewidth=0)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Where cells in a row are set: each run's start and length."""
    found = []
    for value, run in groupby(range(len(flags)), key=lambda place: bool(flags[place])):
        places = list(run)
        if value:
            found.append((places[0], len(places)))
    return found


def _names(axes: Axes, grid: _Grid, *, lines: bool) -> None:
    """As many names as fit. lines: those of the lines are written, too."""
    across, down = _ticks(len(grid.across), TICKS // 2), _ticks(len(grid.down), TICKS)
    axes.set_xticks(
        across + 0.5,
        [label(grid.across[tick], ACROSS) for tick in across],
        rotation=60,
        ha="right",
        rotation_mode="anchor",
    )
    axes.set_yticks(down + 0.5 if lines else (), [label(grid.down[tick], DOWN) for tick in down] if lines else ())
    axes.tick_params(left=False, bottom=False)


def _ticks(count: int, most: int) -> IntArray:
    """Places of at most so many names, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
