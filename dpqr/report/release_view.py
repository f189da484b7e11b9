"""A finished release on a screen: promise and price, warnings, a digest of the answers, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import join, quote

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.construction.answers.answered import AnsweredBlock, answered
from dpqr.construction.release import Release
from dpqr.construction.sentences import certainty, dropped_warning, dropped_words, release_guarantee
from dpqr.privacy.budget import upward_text
from dpqr.report.charts.bars import bars_view
from dpqr.report.receipt import plan_words
from dpqr.report.wording import DIGITS, Fact, amount, counted, facts

BARS, NOTES = 6, 3
"""Answers and notes that a digest has room for on a screen of 24 lines."""
MARGIN = len("Guarantee")
COMMAND = 80 - MARGIN - 2
"""Columns of text that a command may take: a broken one cannot be copied."""
WARNING = "warning: "


def release_view(
    release: Release, place: str | None, files: Sequence[str], ledger: Sequence[str] = ()
) -> RenderableType:
    """What a person sees of a release at its end.

    place: the directory that it went to; None: nothing is kept. files: what lies there.
    ledger: the options that named the ledger on the command line, which the next command needs too.
    """
    blank, block = Text(""), _largest(release)
    return Group(
        facts([*_promise(release), *_warnings(release, place)], MARGIN),
        blank,
        *_digest(release, block),
        blank,
        facts(_next(release, block, place, files, ledger), MARGIN),
    )


def _promise(release: Release) -> Iterator[Fact]:
    """Whom it protects, and what it cost."""
    yield "Guarantee", release_guarantee(release)
    charged, paid = release.plan.roles.accountant.name, release.paid
    spent = release.spent.get(charged)
    price = f"eps {upward_text(spent, DIGITS)} by {charged}" if spent is not None else f"charged by {charged}"
    if paid is not None:
        yield "Price", f"{price}, paid by the budget of {paid.dataset!r} (entry {paid.number})"
    elif release.private:
        yield "Price", f"{price}; no ledger: several releases of a table add up"
    if release.planned and (release.reason.approved_by or (release.plan.inputs and release.plan.inputs.locked)):
        yield "Plan", plan_words(release)


def _warnings(release: Release, place: str | None) -> Iterator[Fact]:
    """First what may have gone wrong, then what has to be taken on trust; a receipt that is kept holds all of it."""
    warning = dropped_warning(release)
    if warning:
        yield "Warning", warning
    elif release.dropped:
        count, noise = amount(release.dropped.estimate), amount(release.dropped.deviation)
        yield "Left out", f"{count} +-{noise} (noise): {dropped_words(release.plan.problem.unit)}"
    for sentence in release.trust:
        if sentence.startswith(WARNING):
            yield "Warning", sentence.removeprefix(WARNING)
    if release.plan.stop or release.bounds:
        yield "Accuracy", certainty(release)
    notes = [sentence for sentence in release.trust if not sentence.startswith(WARNING)]
    shown = NOTES if place else len(notes)
    yield from (("Note", sentence) for sentence in notes[:shown])
    if notes[shown:]:
        yield "", f"{counted(len(notes) - shown, 'more note')}: dpqr show {quote(place or '')}"


def _largest(release: Release) -> AnsweredBlock:
    return answered(max(release.answers, key=lambda answers: answers.block.rows), release.plan.problem.domain)


def _digest(release: Release, block: AnsweredBlock) -> Sequence[RenderableType]:
    """The largest answers of the largest block."""
    shown = block.chosen(np.argsort(-block.estimate, kind="stable")[:BARS]) if block.rows > BARS else block
    return facts([("Answers", _heading(release, block))], MARGIN), bars_view(shown, shown.rows)


def _heading(release: Release, block: AnsweredBlock) -> str:
    workload = release.plan.problem.workload
    whole = f"{workload.rows:,} in {counted(len(workload.blocks), 'block')}"
    part = f"{BARS} largest of {block.rows:,}" if block.rows > BARS else f"all {block.rows}"
    return f"{whole}; the {part} in {block.name!r}:"


def _next(
    release: Release, block: AnsweredBlock, place: str | None, files: Sequence[str], ledger: Sequence[str]
) -> Iterator[Fact]:
    if place is None:
        yield "Kept", "nothing but this screen; --out DIR keeps answers, record and receipt"
        return
    show = f"dpqr show {quote(place)}"
    one = f"{show} --query {quote(block.name)}"
    form = f"{one} --as {'heatmap' if len(block.columns) > 1 else 'bars'}"
    yield "Files", f"{place}: {', '.join(files)}"
    yield "Next", f"{show}  (the full receipt, and all queries by name)"
    yield "", form if len(form) <= COMMAND else one
    if release.paid is not None:
        yield "", join(["dpqr", "budget", "show", release.paid.dataset, *ledger])
