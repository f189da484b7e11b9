"""The chapters of a release's answers: every block as a chart, and what was forecast beside what came."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.construction.answers.intervals import BASES
from dpqr.report.digits import answer_texts, lower_texts, upper_texts
from dpqr.report.page.block_charts import block_chart, never_measured
from dpqr.report.page.drawing import FAINT, FILL, drawn, figures, panel
from dpqr.report.page.parts import Card, Cards, Chart, Items, Part, Section, Table, Words
from dpqr.report.page.reported import Reported
from dpqr.report.wording import amount, counted, optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARTS, LINES, MOST, LEAST = 150, 2400, 40, 6
"""Blocks that are drawn, lines of all their tables together, and the most and the fewest of one table."""
NORMAL = math.sqrt(math.pi / 2)
"""Root mean square over mean absolute value, of a normal error."""
FAR = 1.5
"""Forecast over result, or result over forecast, from which on a block is named."""


def answers_section(found: Reported) -> Section:
    """Every block in workload order; where there are more than a page can hold, the others by name."""
    shown, rest = found.blocks[:CHARTS], found.blocks[CHARTS:]
    lines = max(min(LINES // max(len(shown), 1), MOST), LEAST)
    cards = [_card(block, f"block {number}", lines, found.bounds.get(block.name)) for number, block in enumerate(shown)]
    parts: list[Part] = [Items(lines=tuple(_legend(found))), Cards(cards=cards)]
    if rest:
        parts.append(_rest(rest))
    return Section(name="answers", title="The answers", parts=parts)


def _legend(found: Reported) -> Iterator[str]:
    alone = sum(int(never_measured(block).sum()) for block in found.blocks)
    whole = sum(block.rows for block in found.blocks)
    yield (
        f"{whole - alone:,} of {counted(whole, 'answer')} were measured at least once. Hatched: {alone:,} that never "
        "were; they come from the model alone."
    )
    if words := (found.record.get("error_bars") or {}).get("words"):
        if words not in str(found.record.get("certainty")):
            yield str(words)
    elif any(block.estimated for block in found.blocks):
        yield (
            "Errors of estimates are themselves estimated, from refits with new noise: the root mean square error of "
            "the estimate, in records. They were not measured on the table."
        )
    elif not all(block.certain for block in found.blocks):
        yield "Some answers have no error: this release was made without estimated errors."
    yield (
        "Orange lines and pale bands are 95% intervals, each for one answer alone: of a hundred, about five miss. "
        "Intervals of measured answers are proved over the noise; those of estimates are estimated."
    )
    if found.bounds:
        confidence = found.record["bounds"]["confidence"]
        yield (
            f"Proved bounds were bought: with probability {confidence:g} over the noise, the L1 errors of all blocks "
            "are within them at once. An L1 error is the sum of a block's absolute errors."
        )
    yield "Heat maps: the stronger the colour, the more records (by its square root, so that small cells show)."
    if not found.stated("certainty"):
        return
    yield str(found.record["certainty"])


def _card(block: AnsweredBlock, salt: str, lines: int, bound: float | None) -> Card:
    words = _words(block) + ("" if bound is None else f"; L1 error proved to be at most {math.ceil(bound):,}")
    return Card(title=block.name, words=words, chart=block_chart(block, salt), table=_table(block, lines))


def _words(block: AnsweredBlock) -> str:
    alone = int(never_measured(block).sum())
    how = "measured" if not alone else "never measured" if alone == block.rows else f"{alone:,} never measured"
    error, what = typical(block), "noise" if np.isnan(block.error).all() else "error"
    return f"{counted(block.rows, 'answer')}, {how}" + ("" if np.isnan(error) else f"; typical {what} {amount(error)}")


def typical(block: AnsweredBlock) -> float:
    """Root mean square of the errors of a block's estimates, or of its noise, in records; NaN where none is known."""
    known = block.precision[~np.isnan(block.precision)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def _table(block: AnsweredBlock, lines: int) -> Table:
    """The largest answers, in the block's order."""
    rows = np.sort(np.argsort(-block.estimate, kind="stable")[:lines])
    shown = block.chosen(rows)
    cells = zip(
        answer_texts(shown.estimate, shown.precision),
        map(optional, shown.error.tolist()),
        answer_texts(shown.measured, shown.deviation),
        lower_texts(shown.lower, shown.spread),
        upper_texts(shown.upper, shown.spread),
        ("" if place < 0 else BASES[place] for place in shown.basis.tolist()),
        strict=True,
    )
    part = (
        f"The {lines} largest of {block.rows:,} answers; all are in the answers file" if block.rows > lines else "All"
    )
    return Table(
        caption=f"{part}: {block.name}",
        head=(*(column.name for column in block.columns), "estimate", "error", "measured", "lower", "upper", "basis"),
        rows=[(*shown.cells(row), *each) for row, each in enumerate(cells)],
        texts=len(block.columns),
    )


def _rest(blocks: Sequence[AnsweredBlock]) -> Table:
    return Table(
        caption=f"{counted(len(blocks), 'more block')}, without charts",
        head=("block", "answers", "never measured", "typical error"),
        rows=[
            (block.name, f"{block.rows:,}", f"{int(never_measured(block).sum()):,}", optional(typical(block)))
            for block in blocks
        ],
    )


def forecast_section(found: Reported) -> Section:
    """The plan's expected error of each block beside what the release says of it."""
    errors = expected(found.plan)
    noise = {each["name"]: float(each["noise_deviation"]) for each in found.plan.get("forecast") or ()}
    forecast = {name: error * NORMAL for name, error in errors.items()} or noise
    known = ((block.name, forecast.get(block.name), typical(block)) for block in found.blocks)
    pairs = [(name, planned, came) for name, planned, came in known if planned is not None and not np.isnan(came)]
    if not pairs:
        words = "The record holds no forecast, or no errors to set beside it."
        return Section(name="forecast", title="Forecast and result", parts=(Words(text=words),))
    basis = "its mean absolute error times 1.25, as for normal errors" if errors else "the noise of one measurement"
    parts = (Words(text=_compared(pairs, basis)), _scatter(pairs), _pairs(pairs))
    return Section(name="forecast", title="Forecast and result", parts=parts)


def expected(plan: dict[str, Any]) -> dict[str, float]:
    """The mean absolute error that a plan forecasts for an answer of each block, by name; empty: it forecasts none."""
    simulated = {each["name"]: float(each["error"]["mean"]) for each in (plan.get("expected") or {}).get("blocks", ())}
    closed = {each["name"]: each.get("error") for each in plan.get("forecast") or ()}
    return simulated or {name: float(error) for name, error in closed.items() if error is not None}


Pair = tuple[str, float, float]


def _compared(pairs: list[Pair], basis: str) -> str:
    far = [name for name, planned, came in pairs if not 1 / FAR <= came / max(planned, 1e-12) <= FAR]
    whole = (
        f"Before any data was opened, the plan said how large a typical error would be ({basis}). Beside it stands the "
        "error that the release states: measured noise, or an estimate from refits. Both are root mean squares."
    )
    if not far:
        return f"{whole} All of {counted(len(pairs), 'block')} came within a factor {FAR:g} of their forecast."
    return f"{whole} {len(far)} of {counted(len(pairs), 'block')} came further than a factor {FAR:g} from it."


def _scatter(pairs: list[Pair]) -> Chart:
    planned, came = (np.maximum([pair[place] for pair in pairs], 1e-3) for place in (1, 2))
    low, high = min(planned.min(), came.min()) / 1.5, max(planned.max(), came.max()) * 1.5

    def draw(figure: Figure) -> None:
        axes = panel(figure, 54, 8, 272, 170)
        axes.plot((low, high), (low, high), color=FAINT, linewidth=1)
        axes.plot(planned, came, "o", color=FILL, markersize=4.5, alpha=0.75)
        axes.set_xlabel("forecast, in records")
        axes.set_ylabel("result, in records")
        figures(axes, "x", log=True)
        figures(axes, "y", log=True)
        axes.set(xlim=(low, high), ylim=(low, high))

    alt = f"Forecast against resulting error of {counted(len(pairs), 'block')}. Table below."
    return drawn(draw, height=216, alt=alt, salt="forecast")


def _pairs(pairs: list[Pair]) -> Table:
    return Table(
        caption="Typical error of an answer, in records: as planned, and as released",
        head=("block", "forecast", "result", "result / forecast"),
        rows=[
            (name, amount(planned), amount(came), f"{came / max(planned, 1e-12):.2f}") for name, planned, came in pairs
        ],
    )
