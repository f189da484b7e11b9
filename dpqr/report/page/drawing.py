"""Drawings: matplotlib's SVG made fit to stand in a page: small, without foreign addresses, in the page's colours."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.report.page.parts import Chart
from dpqr.report.page.render import require_extra
from dpqr.report.wording import amount, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
_SETTINGS: dict[str, Any] = {
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
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
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


def drawn(draw: Callable[[Figure], None], *, height: float, alt: str, salt: str) -> Chart:
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
    return Chart(svg=_fitted(written.getvalue()), alt=plain(alt))


def panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place that is measured in points from the upper left corner."""
    whole = figure.get_figheight() * 72
    return figure.add_axes((left / WIDTH, 1 - (top + height) / whole, width / WIDTH, height / whole))


def figures(axes: Axes, along: Literal["x", "y"], *, log: bool = False) -> None:
    """Figures on an axis as all others of the page are written, and lines at them."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axis = axes.xaxis if along == "x" else axes.yaxis
    if log:
        axes.set(**{f"{along}scale": "log"})
    else:
        axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda value, _: amount(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, axis=along, color=FAINT, linewidth=0.3)
    axes.set_axisbelow(True)


def named_bars(names: Sequence[str], values: Sequence[float], *, alt: str, salt: str, log: bool = False) -> Chart:
    """A bar for every name, from the top."""
    places = np.arange(len(names))

    def draw(figure: Figure) -> None:
        axes = panel(figure, 130, 4, 196, BAR * len(names) + 4)
        axes.barh(places, values, 0.6, color=FILL)
        axes.set_yticks(places, [label(name, BESIDE) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        figures(axes, "x", log=log)

    return drawn(draw, height=BAR * max(len(names), 1) + 28, alt=alt, salt=salt)


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


def _fitted(svg: str) -> str:
    for pattern, put in _DROPPED:
        svg = pattern.sub(put, svg)
    svg = _PICTURE.sub(_packed, svg)
    svg = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), svg)
    svg = svg.replace(f"; fill: {INK}", "").replace("font-size: 10px; ", "")  # the style sheet says so of all texts
    for color, name in VARIABLES.items():
        svg = svg.replace(color, f"var(--{name})")
    return svg.strip()
