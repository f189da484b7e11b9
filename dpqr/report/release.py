"""A finished release on a screen: promise and price, warnings, a digest of the answers, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from shlex import join, quote
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpqr.kernel.budget import downward_text, upward_text
from dpqr.kernel.values import replace
from dpqr.kernel.wording import DIGITS, Fact, amount, count_words, plain
from dpqr.releases.answers.answered import AnsweredBlock, Trend, answered_block
from dpqr.releases.answers.errors import FACTOR
from dpqr.releases.files.release_files import figures_table
from dpqr.releases.receipt import plan_words
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import (
    CHECK,
    WARNING,
    certainty,
    dropped_words,
    left_out_warning,
    release_guarantee,
    release_notes,
    share_words,
    used_words,
)
from dpqr.report.answers import (
    FittedTable,
    add_texts,
    answer_texts,
    block_view,
    error_texts,
    figures_view,
    heading,
    interval_words,
    lower_texts,
    more_words,
    plain_table,
    readable,
    title,
    upper_texts,
)
from dpqr.report.charts import Curve, Drawing, bars_view, curve_view, heat_map_view
from dpqr.report.html import facts

TOTALS, BARS, NOTES = 2, 5, 1
"""Single answers, answers of a block, and notes that a digest has room for on a screen of 24 lines."""
HASHED = re.compile(r"[0-9a-f]{64}\.\w+")
"""Files of the release that hold what the queries file names, under their hash."""
MARGIN = len("Guarantee")
COMMAND = 80 - MARGIN - 2
"""Columns of text that a command may take: a broken one cannot be copied."""


def release_view(
    release: FinishedRun, place: str | None, files: Sequence[str], ledger: Sequence[str] = ()
) -> RenderableType:
    """What a person sees of a release at its end.

    place: the directory that it went to; None: nothing is kept. files: what lies there.
    ledger: the options that named the ledger on the command line, which the next command needs too.
    """
    plan, paid = release.plan, release.paid
    # What may have gone wrong; whom it protects, and what it cost.
    warning = left_out_warning(release)
    promise = [("Warning", f"{warning}; {CHECK}")] if warning else []
    promise.append(("Guarantee", release_guarantee(release)))
    charged = plan.roles.accountant.name
    spent = release.spent.get(charged)
    price = f"eps {upward_text(spent, DIGITS)} by {charged}" if spent is not None else f"charged by {charged}"
    if paid is not None:
        promise.append(("Price", f"{price}, paid by the budget of {paid.dataset!r} (entry {paid.number})"))
    elif release.private:
        promise.append(("Price", f"{price}; no ledger: several releases of a table add up"))
    if release.planned and (release.reason.approved_by or (plan.inputs and plan.inputs.locked)):
        promise.append(("Plan", plan_words(release)))
    if release.dropped and not warning:
        count, noise = amount(release.dropped.estimate), amount(release.dropped.deviation)
        promise.append(("Left out", f"{count} +-{noise} (noise): {dropped_words(plan.problem.unit)}"))
    if share := share_words(release):
        promise.append(("Used", share))
    workload = plan.problem.workload
    used = f", {found}" if (found := used_words(plan.problem.unit, plan.problem.domain)) else ""
    rows = workload.rows + sum(block.rows for block in plan.persons)
    whole = f"{rows:,} to {count_words(len(workload.blocks) + len(plan.persons), 'question')}{used}"
    answers, block = first_answers(release)
    # What a person can do next.
    if place is None:
        following = [("Kept", "nothing but this screen; --out DIR keeps answers, record and receipt")]
    else:
        show = f"dpqr show {quote(place)}"
        one = f"{show} --query {quote(block.name)}"
        form = f"{one} --as {'heatmap' if len(block.columns) > 1 else 'bars'}"
        named = [name for name in files if not HASHED.fullmatch(name)]
        named += [f"{count_words(len(files) - len(named), 'file')} of the queries"] if files[len(named) :] else []
        following = [("Files", f"{place}: {', '.join(named)}")]
        following.append(("Next", f"{show}  (the full receipt, and all queries by name)"))
        following.append(("", form if len(form) <= COMMAND else one))
        if paid is not None:
            following.append(("", join(["dpqr", "budget", "show", paid.dataset, *ledger])))
    return Group(
        facts([*promise, *_warnings(release, place)], MARGIN),
        Text(""),
        facts([("Answers", whole)], MARGIN),
        *answers,
        Text(""),
        facts(following, MARGIN),
    )


def first_answers(release: FinishedRun) -> tuple[list[RenderableType], AnsweredBlock]:
    """The first answers in the order of the questions: single ones, the first figure, and the first block with the
    largest of its answers; and that block. What a figure rests on comes last.
    """
    workload, domain = release.plan.problem.workload, release.plan.problem.domain
    behind = {name for figure in workload.figures for name in figure.blocks}
    own = [each for each in release.answers if each.block.name not in behind] or list(release.answers)
    single = [answered_block(each, domain) for each in own if each.block.rows == 1][:TOTALS]
    lines: list[Fact] = []
    for block in single:
        (estimate,) = answer_texts(block.estimate, block.precision)
        (lower,), (upper,) = lower_texts(block.lower, block.spread), upper_texts(block.upper, block.spread)
        certain = f" (95% interval {interval_words(lower, upper)})" if lower else ""
        lines.append(("", f"{block.name}: {estimate}{certain}"))
    parts: list[RenderableType] = [facts(lines, MARGIN)] if lines else []
    if release.figures:
        rows = figures_table(release).records()
        first = [row for row in rows if row["figure"] == rows[0]["figure"]]
        parts += [Text(""), figures_view(first[:BARS]), *more_words(len(first[BARS:]))]
    several = next((each for each in own if each.block.rows > 1), None)
    block = readable(answered_block(several or own[0], domain))
    if several is not None:
        shown = block.chosen(np.argsort(-block.estimate, kind="stable")[:BARS]) if block.rows > BARS else block
        part = f"the {BARS} largest of {block.rows:,}" if block.rows > BARS else f"all {block.rows}"
        parts += [Text(f"{plain(block.name)}: {part}", style="bold"), bars_view(shown, shown.rows)]
    return parts, block


def _warnings(release: FinishedRun, place: str | None) -> Iterator[Fact]:
    """What has to be taken on trust; a receipt that is kept holds all of it."""
    for sentence in release.trust:
        if sentence.startswith(WARNING):
            yield "Warning", sentence.removeprefix(WARNING)
    if release.plan.stop or release.bounds:
        yield "Accuracy", certainty(release)
    notes = list(release_notes(release))
    shown = NOTES if place else len(notes)
    yield from (("Note", sentence) for sentence in notes[:shown])
    if notes[shown:]:
        yield "", f"{count_words(len(notes) - shown, 'more note')}: dpqr show {quote(place or '')}"


# A kept release on a screen: its receipt and what it answers; and one block in the form that is asked for.

Form = Literal["table", "bars", "heatmap", "curve"]
FORMS: dict[Form, Callable[[AnsweredBlock, int], RenderableType]] = {
    "table": block_view,
    "bars": bars_view,
    "heatmap": heat_map_view,
    "curve": curve_view,
}

PROMISE = ("Not verified", "Warning", "In all", "Guarantee")
"""Facts of a receipt that are read before the answers."""
FIGURES = 20
"""Rows of figures that are shown beside the receipt."""
NAME = 52
"""Columns of text in which a name is shown whole, so that it can be copied."""
QueryRow = tuple[str, int, Sequence[str]]
"""A block: its name, its number of answers, and the columns that it asks about."""


def stored_run_view(
    receipt: Sequence[Fact], queries: Sequence[QueryRow], figures: Sequence[dict[str, object]] = ()
) -> RenderableType:
    """The promise, the queries by name, the first figures, and then the rest of the receipt: draws, prices, notes."""
    if not queries:
        return facts(receipt)
    promise: list[Fact] = []
    rest: list[Fact] = []
    part = promise
    for fact in receipt:
        if fact[0]:  # a fact without a name continues the one before
            part = promise if fact[0] in PROMISE else rest
        part.append(fact)
    longest = max(len(plain(name)) for name, _, _ in queries)

    def made(_: bool, spared: Sequence[str]) -> Table:
        table = plain_table()
        table.add_column("query", min_width=min(longest, NAME), overflow="fold")
        table.add_column("answers", justify="right", no_wrap=True)
        if not spared:
            add_texts(table, "columns", (plain(name) for _, _, columns in queries for name in columns))
        for name, rows, columns in queries:
            texts = Text(plain(name)), Text(f"{rows:,}"), Text(plain(", ".join(columns)))
            table.add_row(*texts[: 2 if spared else 3])
        return table

    parts: list[RenderableType] = [facts(promise, MARGIN), Text(""), FittedTable(made, ("columns",))]
    if figures:
        parts += [Text(""), figures_view(figures[:FIGURES])]
    if len(figures) > FIGURES:
        parts += [Text(f"... and {len(figures) - FIGURES:,} more; --query NAME shows all of one")]
    if rest:
        parts += [Text(""), facts(rest, MARGIN)]
    return Group(*parts)


def stored_block_view(
    block: AnsweredBlock, form: Form, rows: int, bound: tuple[float, float] | None = None
) -> RenderableType:
    """One block of answers. bound: on its L1 error, in records, and its probability; None: there is none. Raises:
    UsageFault where this form cannot show it."""
    proved = []
    if bound is not None:
        most, probability = upward_text(Fraction(bound[0]), 4), downward_text(Fraction(str(bound[1])), 9)
        proved = [Text(f"L1 error of all its estimates: at most {most}, with probability at least {probability}")]
    return Group(heading(block), *proved, FORMS[form](readable(block), rows))


# Series on a screen: each answer from point to point, as a table or as curves.

SeriesForm = Literal["table", "curve"]
MARK = "*"
LEGEND = (
    f"change: from the point before, with the errors of both; {MARK}: more than {FACTOR} of its errors",
    "error: standard error of the estimate",
)
WITHOUT_ERROR = "without an error: only the interval (--out) says how far the estimate may be off"


def series_view(names: Sequence[str], trends: Sequence[Trend], form: SeriesForm = "table") -> RenderableType:
    """Every answer of every block at all points."""
    parts: list[RenderableType] = []
    for each in trends:
        # Cells as people write them.
        trend = replace(each, points=tuple(map(readable, each.points)))
        parts += [heading(trend.points[0]), (_table if form == "table" else _curves)(names, trend), Text("")]
    legend: tuple[str, ...] = LEGEND if form == "table" else ("shaded: 95% interval of each point, where there is one",)
    if form == "table" and any(np.isnan(point.precision).any() for each in trends for point in each.points):
        legend += (WITHOUT_ERROR,)
    return Group(*parts, *(Text(line, style="dim") for line in legend))


def _table(names: Sequence[str], trend: Trend) -> Table:
    table = plain_table()
    if trend.points[0].columns:
        add_texts(table, "cells", (title(trend.points[0], row) for row in range(trend.rows)))
    add_texts(table, "point", map(plain, names))
    for name in ("estimate", "error", "change", "+-", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for row in range(trend.rows):
        # The figures of one answer, point by point.
        values, errors = (
            np.array([getattr(one, name)[row] for one in trend.points]) for name in ("estimate", "precision")
        )
        change, unsure = trend.change[:, row], trend.change_error[:, row]
        marks = [MARK if abs(moved) > FACTOR * error else "" for moved, error in zip(change, unsure, strict=True)]
        texts = (answer_texts(values, errors), error_texts(errors), answer_texts(change, unsure), error_texts(unsure))
        for place, cells in enumerate(list(zip(*texts, marks, strict=True))):
            about = [title(trend.points[0], row) if place == 0 else ""] if trend.points[0].columns else []
            table.add_row(*map(Text, (*about, plain(names[place]), *cells)))
    return table


def _curves(names: Sequence[str], trend: Trend) -> RenderableType:
    curves = [
        Curve(
            title=title(trend.points[0], row),
            names=tuple(names),
            values=np.array([point.estimate[row] for point in trend.points]),
            lower=np.array([point.lower[row] for point in trend.points]),
            upper=np.array([point.upper[row] for point in trend.points]),
        )
        for row in range(trend.rows)
    ]
    high = max((curve.top for curve in curves), default=0.0) or 1.0
    return Group(*(Drawing(curve=curve, high=high) for curve in curves))
