"""Plots of forecasts: error against epsilon, both logarithmic, in the terminal and as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from xml.sax.saxutils import escape

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from dpqr.construction.forecasts.forecast import Expected, Forecast
from dpqr.privacy.budget import upward_text

LINES, NARROWEST, WIDEST, MARGIN = 9, 20, 64, 9
"""Lines of a plot in the terminal, its fewest and most columns, and those of its labels."""
TITLE = "forecast error: mean L1 / n of the queries, by epsilon"
LOW, HIGH = Fraction(5, 100), Fraction(95, 100)
TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A logarithmic scale from `low` at 0 to `high` at 1."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Scale:
        return cls(low=math.log(max(min(values), TINY)), high=math.log(max(*values, TINY)))

    def at(self, value: float) -> float:
        """Between 0 and 1; in the middle of a scale without length."""
        span = self.high - self.low
        return (math.log(max(value, TINY)) - self.low) / span if span > 0 else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksPlot:
    """A mark a forecast, for the terminal; ASCII."""

    found: tuple[Forecast, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(min(options.max_width - MARGIN - 2, WIDEST), NARROWEST)
        epsilons, errors = [float(one.epsilon) for one in self.found], [one.over_n.mean for one in self.found]
        across, up = Scale.of(epsilons), Scale.of(errors)
        canvas, names = [[" "] * width for _ in range(LINES)], ""
        for one, epsilon, error in zip(self.found, epsilons, errors, strict=True):
            column = round(across.at(epsilon) * (width - 1))
            canvas[round((1 - up.at(error)) * (LINES - 1))][column] = "*"
            if not names or column > len(names):
                names = f"{names:<{column}}{upward_text(one.epsilon)}"
        yield Text(TITLE, style="bold")
        for number, line in enumerate(canvas):
            mark = {0: f"{max(errors):.3g}", LINES - 1: f"{min(errors):.3g}"}.get(number, "")
            yield Text.assemble(f"{mark:>{MARGIN}} |", ("".join(line).rstrip(), "cyan"))
        yield Text(f"{'':>{MARGIN}} +{'-' * width}")
        yield Text(f"{'':>{MARGIN}}  {names}")


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 80, 30, 50, 50
INK, LINE, BAND = "#222222", "#1b6ca8", "#cfe2f3"


def forecast_svg(found: Sequence[Forecast]) -> str:
    """The same with a band that nine of ten releases are forecast to lie in: one SVG file without references."""
    epsilons = [float(one.epsilon) for one in found]
    ends = [end for one in found for end in _band(one.over_n)]
    across, up = Scale.of(epsilons), Scale.of([end for end in ends if end > 0] or [1.0])

    def point(epsilon: float, error: float) -> str:
        x = LEFT + across.at(epsilon) * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{HEIGHT - BOTTOM - up.at(error) * (HEIGHT - TOP - BOTTOM):.1f}"

    lower, upper = ([_band(one.over_n)[end] for one in found] for end in (0, 1))
    outline = [*zip(epsilons, upper, strict=True), *reversed(list(zip(epsilons, lower, strict=True)))]
    middle = [point(float(one.epsilon), one.over_n.mean) for one in found]
    words = "; ".join(f"epsilon {upward_text(one.epsilon)}: {one.over_n.mean:.3g}" for one in found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="{escape(TITLE)}">',
        f"<title>{escape(TITLE)}</title><desc>{escape(words)}</desc>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<polygon points="{" ".join(point(*each) for each in outline)}" fill="{BAND}" stroke="{BAND}"/>',
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        *(f'<circle cx="{x}" cy="{y}" r="4" fill="{LINE}"/>' for x, y in (each.split(",") for each in middle)),
        *_words(found, middle),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _band(error: Expected) -> tuple[float, float]:
    return error.at_most(LOW), error.at_most(HIGH)


def _words(found: Sequence[Forecast], places: Sequence[str]) -> Iterator[str]:
    """Title, axes and figures."""
    yield _text(LEFT, 24, TITLE, "start")
    yield _text(LEFT, 42, "band: 9 of 10 releases; both axes logarithmic; estimated", "start")
    base = HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="{INK}"/>'
    yield _text(WIDTH / 2, HEIGHT - 10, "epsilon", "middle")
    for one, place in zip(found, places, strict=True):
        x, y = map(float, place.split(","))
        yield _text(x, base + 18, upward_text(one.epsilon), "middle")
        yield _text(LEFT - 8, y + 4, f"{one.over_n.mean:.3g}", "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}">{escape(words)}</text>'
