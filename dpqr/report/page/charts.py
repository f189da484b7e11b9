"""Charts of a page: dots, bars, curves and heat maps, each in its own unit; what was never measured is hatched."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.budget import downward_text, upward_text
from dpqr.kernel.wording import amount, count_words, plain
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock
from dpqr.report.answers import answer_texts, interval_words, lower_texts, upper_texts
from dpqr.report.page.parts import Chart, Spending, require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BARS, LONG_BARS, CURVES, ACROSS_TICKS = 14, 8, 4, 20
"""The most bars of a chart, beside their names and below long ones, and curves of one; and names below a heat map."""
DOWN, ACROSS = 20, 24
"""Letters of a name beside a heat map, and below it."""
LINES = ("-", "--", "-.", ":")
BEGIN = re.compile(r"(-?[\d,.]+) to .*")
"""A bin of numbers in words, and where it begins."""
Flags = NDArray[np.bool_]


def block_chart(block: AnsweredBlock, salt: str, unit: str = "records") -> Chart:
    """The chart that suits the block. salt: as of `draw_chart`. unit: of the answers."""
    if is_prefix(block):
        return _curves(block, salt, unit)
    if is_grid(block):
        return _heat_map(block, salt, unit)
    if len(block.columns) == 1 and block.columns[0].ordered and block.rows > BARS:
        # Cells for null and the like have no place on the line: their answers stand above it.
        column = block.columns[0]
        apart = column.places >= len(column.texts) - column.own
        others = block.chosen(np.flatnonzero(apart))
        beside = [f"{_name(others, row)} {amount(float(others.estimate[row]))}" for row in range(others.rows)]
        return _curves(block.chosen(np.flatnonzero(~apart)), salt, "; ".join([unit, *beside]))
    # Of a long block the largest answers.
    largest = np.argsort(-block.estimate, kind="stable")[:BARS]
    most = BARS if all(len(_name(block, row)) <= BESIDE for row in largest) else LONG_BARS
    shown = block.chosen(largest[:most]) if block.rows > most else block
    part = f"the {most} largest of {block.rows:,}" if block.rows > most else ""
    return interval_chart(
        [_name(shown, row) for row in range(shown.rows)],
        shown.estimate,
        shown.lower,
        shown.upper,
        shown.precision,
        axis=f"{unit}: {part}" if part else unit,
        zero=True,
        alone=never_measured(shown),
        alt=f"Bars of {f'{part} answers' if part else count_words(block.rows, 'answer')}, in {unit}: {_seen(block)}",
        salt=salt,
    )


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
    part = "all answers were" if alone == block.rows else f"{count_words(alone, 'answer')} of {block.rows:,} were"
    return f"{words}." + (f" Hatched: {part} never measured." if alone else "")


def interval_chart(
    names: Sequence[str],
    estimate: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    precision: FloatArray,
    *,
    axis: str,
    zero: bool,
    salt: str,
    alone: Flags | None = None,
    alt: str = "",
) -> Chart:
    """A dot and its 95% interval a line, with the figure beside it; bars from nothing where `zero`.

    Long names stand above their lines. An end far beyond all estimates is cut: its figure says where it lies.

    Args:
        lower, upper: NaN for none. precision: the error of each, for the digits of its figure.
        axis: what the figures are, with their unit.
        alone: which rest on the model alone; None: none.
    """
    count, alone = len(names), np.zeros(len(names), dtype=np.bool_) if alone is None else alone
    longest = max(map(len, names), default=0)
    above = longest > BESIDE
    pitch, left = (32, 8) if above else (BAR + 2, 8 + 5.6 * longest)
    texts = answer_texts(estimate, precision)
    ends = zip(lower_texts(lower, precision), upper_texts(upper, precision), strict=True)
    spans = [interval_words(*each) for each in ends]
    said = [f"{text} ({span})" if span else text for text, span in zip(texts, spans, strict=True)]
    said = said if max(map(len, said), default=0) <= 28 else texts
    right = 8 + 5.2 * max(map(len, said), default=0)
    # The scale holds every estimate, and of each interval what lies within reach of them.
    known, wide = estimate[np.isfinite(estimate)], (upper - lower)[np.isfinite(upper - lower)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    reach = max(high - low, 2 * float(np.sort(wide)[(wide.size - 1) // 4]) if wide.size else 0.0) or abs(high) or 1.0
    inside = [end for end in (*lower.tolist(), *upper.tolist()) if low - reach <= end <= high + reach]
    low, high = min([low, *inside]), max([high, *inside])
    room = 0.04 * ((high - low) or abs(high) or 1.0)
    low, high = (low if zero and low == 0.0 else low - room), high + room
    if not alt:
        alt = f"Dots and 95% intervals of {count_words(count, 'figure')}, {axis}: "
        alt += "; ".join(f"{name} {text}" for name, text in zip(names, said, strict=True))

    def draw(figure: Figure) -> None:
        axes = panel(figure, left, 4, WIDTH - left - right, pitch * count + 2)
        axes.set(xlim=(low, high), ylim=(count - 0.5, -0.5))
        places = np.arange(count) + (0.2 if above else 0.0)
        if zero:
            styles: tuple[dict[str, Any], ...] = ({"facecolor": FILL}, {"facecolor": "none", "hatch": HATCH})
            for which, style in zip((~alone, alone), styles, strict=True):
                if which.any():
                    axes.barh(places[which], estimate[which], 9 / pitch, edgecolor=FILL, linewidth=0.8, **style)
        starts = np.clip(np.where(np.isnan(lower), estimate, lower), low, high)
        stops = np.clip(np.where(np.isnan(upper), np.where(np.isnan(lower), estimate, high), upper), low, high)
        axes.hlines(places, starts, stops, color=SECOND, linewidth=2.2)
        if not zero:
            axes.plot(estimate, places, "o", color=FILL, markersize=5)
        elif low < 0:
            axes.axvline(0, color=FAINT, linewidth=0.8)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(np.arange(count), [""] * count if above else list(map(plain, names)))
        for row, name in enumerate(names):
            if above:
                place = axes.get_yaxis_transform()
                axes.text(0.0, row - 0.22, label(name, 2 * BESIDE + 16), transform=place, va="center")
            axes.annotate(
                said[row],
                (1.0, float(places[row])),
                xycoords=("axes fraction", "data"),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                annotation_clip=False,
            )
        # As many as have room beside each other.
        wide = 5.6 * max(map(len, texts), default=0) + 10
        figures(axes, "x", most=min(max(int((WIDTH - left - right) / wide), 1), 3))
        figure.text(0.5, 4 / (pitch * count + 46), label(axis, 60), ha="center", fontsize=9)

    return draw_chart(draw, height=pitch * count + 46, alt=alt, salt=salt)


def _curves(block: AnsweredBlock, salt: str, unit: str) -> Chart:
    """Steps over the last column, one curve for every combination of the others; of many those that end highest."""
    # The rows of each combination of all columns but the last.
    found: dict[tuple[str, ...], list[int]] = {}
    for row in range(block.rows):
        found.setdefault(block.cells(row)[:-1], []).append(row)
    groups = [np.array(rows, dtype=np.int64) for rows in found.values()]
    kept = sorted(groups, key=lambda group: -float(block.estimate[group[-1]]))[:CURVES]
    part = f": the {CURVES} curves that end highest of {len(groups):,}" if len(groups) > CURVES else ""

    names = [block.columns[-1].texts[place] for place in block.columns[-1].places[kept[0]]]
    # A bin of numbers is named by where it begins; names turn where they would meet.
    chosen = _ticks(len(names), 5)
    words = [label(BEGIN.sub(r"\1", names[tick]), 14) for tick in chosen]
    wide = 208 if len(groups) > 1 else 276
    aslant = 5.8 * max(map(len, words)) + 6 > wide / len(chosen)
    height = 196 if aslant else 176

    def draw(figure: Figure) -> None:
        axes = panel(figure, 48, 20, wide, 130)
        figure.text(0.02, 1 - 9 / height, label(f"{unit}{part}", 60), fontsize=9, va="center")
        for rows, line in zip(kept, LINES, strict=False):
            shown = block.chosen(rows)
            places, alone = np.arange(shown.rows), never_measured(shown)
            axes.fill_between(places, shown.lower, shown.upper, step="mid", color=PALE, linewidth=0)
            axes.step(places, shown.estimate, where="mid", color=FILL, linewidth=1.4, linestyle=line)
            if alone.any():
                hatched: dict[str, Any] = {"facecolor": "none", "hatch": HATCH, "edgecolor": FILL, "linewidth": 0}
                axes.fill_between(places, 0, shown.estimate, where=alone, step="mid", **hatched)
        axes.set_xticks(chosen, words, rotation=20 if aslant else 0, ha="right" if aslant else "center")
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(bottom=min(0.0, float(block.estimate.min())))
        figures(axes, "y")
        if len(groups) > 1:
            # The name of each curve where it ends, moved down from that of a higher one where both would meet.
            ends = [block.chosen(rows[-1:]) for rows in kept]
            low, high = axes.get_ylim()
            place, last = np.inf, axes.get_xlim()[1]
            for end in ends:
                place = min(float(end.estimate[0]), place - (high - low) / 11)
                name = label(", ".join(end.cells(0)[:-1]), 12)
                axes.annotate(
                    name, (last, place), xytext=(5, 0), textcoords="offset points", va="center", annotation_clip=False
                )

    kind = "Cumulative curves" if is_prefix(block) else "Steps"
    return draw_chart(
        draw,
        height=height,
        alt=f"{kind} of {count_words(block.rows, 'answer')}, in {unit}{part}; {_seen(block)}",
        salt=salt,
    )


def _heat_map(block: AnsweredBlock, salt: str, unit: str) -> Chart:
    """Estimates on a scale of colours; the longer column down, with all names that fit."""
    grid = _Grid.of(block)
    tall = min(max(16 * len(grid.down), 90), 420)
    across, down = _ticks(len(grid.across), ACROSS_TICKS), _ticks(len(grid.down), tall // 10)
    left = 10 + 5.6 * min(max(len(grid.down[tick]) for tick in down), DOWN)
    longest = min(max(len(grid.across[tick]) for tick in across), ACROSS)
    # Names stand upright below a wide column, and aslant below a narrow one.
    upright = 5.8 * longest + 6 <= (WIDTH - left - 8) / len(across)
    below = 16 if upright else 8 + 4.7 * longest
    most = float(np.nanmax(block.estimate, initial=0.0))

    def draw(figure: Figure) -> None:
        axes = panel(figure, left, 34, WIDTH - left - 8, tall)
        alone = never_measured(block)[grid.order]
        lines, columns = alone.shape
        colors = shades(block.estimate[grid.order], most)
        axes.imshow(colors, interpolation="none", aspect="auto", extent=(0, columns, lines, 0))
        if alone.all():
            runs = [(0, lines, [(0, columns)])]
        else:
            runs = [(line, 1, _runs(alone[line])) for line in range(lines) if alone[line].any()]
        for line, height, found in runs:
            axes.broken_barh(found, (line, height), facecolor="none", hatch=HATCH, edgecolor=FAINT, linewidth=0)
        for spine in axes.spines.values():
            spine.set_visible(True)
        names = [label(grid.across[tick], ACROSS) for tick in across]
        side, turned = ("center", 0) if upright else ("right", 60)
        axes.set_xticks(across + 0.5, names, rotation=turned, ha=side, rotation_mode="default" if upright else "anchor")
        axes.set_yticks(down + 0.5, [label(grid.down[tick], DOWN) for tick in down])
        axes.tick_params(left=False, bottom=False)
        # The scale of colours: nothing, a quarter and all of the largest estimate, by its square root.
        scale = panel(figure, left, 4, 120, 8)
        scale.imshow(shades(np.linspace(0, 1, 60)[None, :] ** 2, 1.0), aspect="auto", extent=(0, 1, 0, 1))
        scale.set_xticks([0, 0.5, 1], ["0", amount(most / 4), f"{amount(most)} {unit}"], fontsize=9)
        scale.set_yticks([])

    skipped = len(grid.down) > len(down) or len(grid.across) > len(across)
    more = " Not every name has room: the answers file has all." if skipped else ""
    alt = f"Heat map of {len(grid.down)} by {len(grid.across)} cells, in {unit}: {_seen(block)}{more}"
    return draw_chart(draw, height=tall + 40 + below, alt=alt, salt=salt)


class _Grid(Struct, frozen=True, kw_only=True, eq=False):
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
        if len(names[0]) < len(names[1]):
            return cls(down=names[1], across=names[0], order=order.T)
        return cls(down=names[0], across=names[1], order=order)


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Where cells in a row are set: each run's start and length."""
    found = []
    for value, run in groupby(range(len(flags)), key=lambda place: bool(flags[place])):
        places = list(run)
        if value:
            found.append((places[0], len(places)))
    return found


def _ticks(count: int, most: int) -> IntArray:
    """Places of at most so many names, all equally far apart, from the first one on."""
    return np.arange(0, count, -(-count // most), dtype=np.int64)


# Drawings: matplotlib's SVG made fit to stand in a page: small, without foreign addresses, in the page's colours.

WIDTH = 340.0
"""Of every drawing, in points of the screen: a phone shows it as it is."""
INK, FAINT, FILL, SECOND, PALE = "#010101", "#020202", "#030303", "#040404", "#050505"
"""Names of colours, by which the style sheet replaces them: text, lines, what is shown, what is beside it, bands."""
VARIABLES = {INK: "ink", FAINT: "faint", FILL: "fill", SECOND: "second", PALE: "pale"}
SHADE = (0x2B, 0x6C, 0xB0)
"""Of heat maps. Cells are more or less opaque, so that they stand on white and on black."""
LEVELS = 15
"""Of opacity, above none: a cell takes half a byte."""
HATCH = "////"
LONGEST, BESIDE, BAR = 18, 21, 16
"""Letters of a name that is shortened, and of one beside its bar; and the height of a bar with its room."""
_SETTINGS: dict[str, object] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 2,
    "ytick.major.size": 2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.7,
}
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?=[^<>]*>)")
"""A coordinate: within a tag, for texts keep their digits."""
_PICTURE = re.compile(r"(?<=base64,)[A-Za-z0-9+/=\s]+")
_DROPPED = (
    (re.compile(r"^.*?(?=<svg)", re.S), ""),
    (re.compile(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", re.S), ""),
    (re.compile(r' id="(?![hmp][0-9a-f]{10}")[^"]*"'), ""),
    (re.compile(r' xmlns(:xlink)?="[^"]*"| version="1.1"| (width|height)="[\d.]+pt"'), ""),
    (re.compile(r"xlink:"), ""),
    (re.compile(r" font-family: [^;\"]*;?"), ""),
    (re.compile(r' transform="rotate\(-0 [^"]*\)"'), ""),
    (re.compile(r"\s*\n\s*"), " "),
    (re.compile(r"> <"), "><"),
    (re.compile(r"<defs></defs>|<g></g>"), ""),
)


def draw_chart(draw: Callable[[Figure], None], *, height: float, alt: str, salt: str) -> Chart:
    """A chart of the page's width.

    Args:
        draw: fills the figure.
        height: in the same unit as `WIDTH`.
        alt: what a reader who does not see it is told.
        salt: differs between the charts of a page, whose definitions would take each other's names otherwise.

    Raises:
        UsageFault: the extra is not installed.
    """
    require_extra()
    import matplotlib
    from matplotlib.figure import Figure

    settings = cast(Any, {**_SETTINGS, "svg.hashsalt": salt})
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that matplotlib's own font lacks: the reader's has them
        figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor="none")
        draw(figure)
        for axes in figure.axes:
            axes.set_facecolor("none")
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    svg = written.getvalue()
    for pattern, put in _DROPPED:
        svg = pattern.sub(put, svg)
    svg = _PICTURE.sub(_packed, svg)
    svg = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), svg)
    svg = svg.replace(f"; fill: {INK}", "").replace("font-size: 10px; ", "")  # the style sheet says so of all texts
    for color, name in VARIABLES.items():
        svg = svg.replace(color, f"var(--{name})")
    return Chart(svg=svg.strip(), alt=plain(alt))


def panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place that is measured in points from the upper left corner."""
    whole = figure.get_figheight() * 72
    return figure.add_axes((left / WIDTH, 1 - (top + height) / whole, width / WIDTH, height / whole))


def figures(axes: Axes, along: Literal["x", "y"], most: int = 4) -> None:
    """Figures on an axis as all others of the page are written, and lines at them."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(most))
    axis.set_major_formatter(FuncFormatter(lambda value, _: amount(value)))
    axes.grid(visible=True, axis=along, color=FAINT, linewidth=0.3)
    axes.set_axisbelow(True)


def label(text: str, longest: int = LONGEST) -> str:
    """A name as a chart has room for it."""
    shown = plain(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def shades(values: FloatArray, most: float) -> Any:
    """Colours of a heat map, shape (*values.shape, 4): opacity is the root of the share of `most`, in few levels."""
    shares = np.sqrt(np.clip(np.nan_to_num(values) / (most or 1.0), 0.0, 1.0))
    found = np.zeros((*values.shape, 4), dtype=np.uint8)
    found[..., :3] = SHADE
    found[..., 3] = np.round(np.round(shares * LEVELS) / LEVELS * 255)
    return found


def _packed(found: re.Match[str]) -> str:
    """A picture that `shades` has coloured, in half a byte a cell instead of four."""
    from PIL import Image

    written = io.BytesIO()
    opacity = np.asarray(Image.open(io.BytesIO(base64.b64decode(found[0]))))[..., 3]
    picture = Image.fromarray(np.round(opacity / 255 * LEVELS).astype(np.uint8), mode="P")
    picture.putpalette(SHADE * (LEVELS + 1))
    opacities = bytes(round(level / LEVELS * 255) for level in range(LEVELS + 1))
    picture.save(written, format="png", bits=4, optimize=True, transparency=opacities)
    return base64.b64encode(written.getvalue()).decode()


# The budget bar: earlier releases, this one, later ones, and what is left.


def budget_chart(spending: Spending) -> Chart | None:
    """One bar as long as the budget; None for a budget that counts two figures, which no bar adds up."""
    account = spending.account
    limit = float(account.terms.limit.amount)
    if account.terms.limit.delta or not limit:
        return None
    own = [float(charge.cost.amount) for charge in spending.charges if charge.own]
    others = float(account.spent.amount) - sum(own)
    shares = (("other releases", others / limit, PALE), ("this release", sum(own) / limit, FILL))
    free = float(account.left.amount) / limit

    def draw(figure: Figure) -> None:
        axes = panel(figure, 6, 6, 328, 26)
        start = 0.0
        for _, share, color in shares:
            axes.barh(0, share, left=start, color=color, height=1)
            start += share
        axes.barh(0, free, left=start, facecolor="none", edgecolor=FAINT, height=1, linewidth=1)
        axes.set_xlim(0, 1)
        axes.set_axis_off()
        words = (*shares, ("left", free, "none"))
        for place, (name, share, color) in enumerate(words):
            figure.text(
                6 / 340 + place * 0.35,
                0.13,
                "■" if color != "none" else "□",
                color=SECOND if color == "none" else color,
                fontsize=11,
            )
            figure.text(18 / 340 + place * 0.35, 0.13, f"{name} {share:.1%}", fontsize=9)

    currency = account.terms.currency
    spent, left = currency.words(account.spent, upward_text), currency.words(account.left, downward_text)
    alt = (
        f"Budget bar: this release took {sum(own) / limit:.1%}, others {others / limit:.1%}; spent {spent}, left {left}"
    )
    return draw_chart(draw, height=58, alt=alt, salt="budget")
