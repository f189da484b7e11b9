"""The label of a release: one card for whoever meets its figures, as text, as a drawing and as a page."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from html import escape
from typing import Literal

import msgspec
from msgspec import Struct

from dpqr.kernel.budget import PrivacyBudget, downward_text, upward_text
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import named_unit
from dpqr.kernel.wording import Fact, count_words, plain
from dpqr.ledger.codec import JSON
from dpqr.published.show import StoredRun, show
from dpqr.releases.record.parts import MODEL_FORMAT, PREDICTION_FORMAT, BudgetPart, whole_price
from dpqr.report.page.parts import NOT_STATED, Facts, ReportInput, ReportPage, Section, Spending, html
from dpqr.report.page.release_page import (
    LEARNT,
    asked_in_all,
    dataset_of,
    guess_words,
    meaning,
    notes_of,
    rows_words,
    stamp_of,
    together_words,
    warnings_of,
)
from dpqr.report.reports import read_spending

LabelForm = Literal["text", "svg", "html"]
FORMS: tuple[LabelForm, ...] = ("text", "svg", "html")
UNCOUNTED = "not known from the release alone; --ledger FILE counts them, and shows what is left"
"""Of a release that a ledger paid for, where none is named."""
PREDICTED = ("Target", "Learner", "Release", "Noise", "Note", "Warning")
"""Lines of the receipt of predictions that say what these are and how sure."""


class LabelCard(Struct, frozen=True, kw_only=True):
    """What a label says.

    Attributes:
        title: of the card.
        lines: what: how much. An empty name continues the last.
        stamp: what the release must not be taken for; empty: nothing.
        warnings: what a reader must not miss.
        paid: whether a ledger paid for it.
    """

    title: str
    lines: Sequence[Fact]
    stamp: str = ""
    warnings: Sequence[str] = ()
    paid: bool = False

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All of it as lines of a text."""
        first = (("Stamp", self.stamp),) if self.stamp else ()
        return (("Label", self.title), *first, *(("", text) for text in self.warnings), *self.lines)


def read_label(place: str, ledger: str | None = None, anchor: str | None = None) -> LabelCard:
    """The label of a release, or of predictions or a model, by any of its files.

    ledger, anchor: of the budget that paid; None: no ledger is opened.

    Raises: UsageFault where there is no release, or the ledger did not pay for it; DocumentError where it is damaged.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    if anchor is not None and ledger is None:
        raise UsageFault("--anchor is about a ledger; add --ledger FILE, or leave it out")
    run = show(place)
    spending = read_spending(run.record, place, ledger, anchor) if ledger else None
    try:
        return label_card(run, place, spending)
    except (UsageFault, msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise DocumentError(f"{place}: states figures that dpqr cannot read; restore it, or release again") from None


def label_card(run: StoredRun, place: str, spending: Spending | None = None) -> LabelCard:
    """The label of a release, of predictions or of a model; older records may lack parts.

    spending: of the budget that paid; None: no ledger is known.
    """
    found = ReportInput(
        record=_of_one_form(run.record), blocks=(), place=place, spending=spending, unverified=run.unverified
    )
    paid = dataset_of(found)
    return LabelCard(
        title="Privacy label" + (f" of a release about {paid}" if paid else ""),
        lines=tuple(_lines(found, run.receipt)),
        stamp=stamp_of(found),
        warnings=tuple(warnings_of(found)),
        paid=paid is not None,
    )


def _of_one_form(record: JSON) -> JSON:
    """The record with the unit where a release states it; records of predictions state its words alone."""
    plan = dict(record.get("plan") or {})
    if record.get("dpqr") not in (PREDICTION_FORMAT, MODEL_FORMAT) or not isinstance(plan.get("unit"), str):
        return record
    columns, per = named_unit(plan["unit"])
    named = {"column": next(iter(columns), None)} if len(columns) < 2 else {"columns": columns}
    unit = {"words": plan["unit"], **named, "per": per}
    return {**record, "unit": plan["unit"], "trust": plan.get("notes"), "plan": plan | {"unit": unit}}


def _lines(found: ReportInput, receipt: Sequence[Fact]) -> Iterator[Fact]:
    """Whom it is about and for, the promise, the budget, and what the figures are good for."""
    for name, text in (("Purpose", found.stated("purpose")), ("Published by", found.stated("publisher"))):
        if text:
            yield name, text
    real = found.record.get("private", True) and not found.record.get("rehearsal")
    if not real:
        # Neither protects anybody, so that figures of a promise would mislead.
        yield "Promise", str(found.record.get("guarantee") or NOT_STATED)
    else:
        yield "Protects", found.stated("unit") or NOT_STATED
        stated = msgspec.convert(whole_price(found.plan), BudgetPart)
        budget = PrivacyBudget(Fraction(stated.epsilon.exact), Fraction(stated.delta.exact))
        yield "Epsilon", upward_text(budget.epsilon)
        yield "Delta", upward_text(budget.delta)
        if "whole" in found.plan:
            yield (
                "",
                "with what was learned first: labels or bounds of columns, or how many rows of each person are used",
            )
        yield from (("Promise", text) for text in meaning(found))
        yield "Odds", guess_words(budget.epsilon, budget.delta)
        yield from _budget_lines(found)
    # What the figures are, and what they may be used for.
    learnt = found.record.get("dpqr") in (PREDICTION_FORMAT, MODEL_FORMAT)
    if learnt:
        yield "Use", LEARNT
        yield from ((name, text) for name, text in receipt if name in PREDICTED)
    else:
        if "queries" in (found.plan.get("workload") or {}):
            answers, questions = asked_in_all(found.plan)
            yield "Figures", f"{count_words(answers, 'answer')} to {count_words(questions, 'question')}"
        yield "Use", LEARNT
        yield from (("", text) for text in (rows_words(found), *notes_of(found), found.stated("certainty")) if text)
    made = f"dpqr {found.stated('version')}" if found.stated("version") else NOT_STATED
    yield "Made", " by ".join(filter(None, ((found.stated("date") or "")[:10], made)))


def _budget_lines(found: ReportInput) -> Iterator[Fact]:
    """What was used of the budget for life, and by how many releases, where the ledger is known."""
    yield "Budget", together_words(found)
    if found.spending is not None:
        account = found.spending.account
        currency = account.terms.currency
        spent, limit = currency.words(account.spent, upward_text), currency.words(account.terms.limit, downward_text)
        left = currency.words(account.left, downward_text)
        yield "Used", f"{spent} of {limit} for life; {left} left"
        learned = sum(charge.own for charge in found.spending.charges) - 1
        of_them = f", {learned} of them to learn for this one" if learned > 0 else ""
        yield "Paid runs", f"{len(found.spending.charges):,} so far{of_them}"
    elif dataset_of(found) is not None:
        yield "Paid runs", UNCOUNTED


def label_html(card: LabelCard) -> str:
    """A page that stands by itself. UsageFault where the extra is not installed."""
    return html(
        ReportPage(
            title=card.title,
            subtitle="",
            lead=(),
            stamp=card.stamp,
            warnings=card.warnings,
            sections=(
                Section(
                    name="label",
                    title="What it promises, and what its figures are for",
                    parts=(Facts(lines=card.lines),),
                ),
            ),
        )
    )


# The drawing: text alone, in lines that are broken here, for SVG breaks none.

WIDTH, PAD, LINE, SIZE = 560, 20, 19, 14
"""Of the card, of its margin, from line to line, and of letters, in points."""
NAMES = 104
"""Points for the names of lines."""
LARGE = ("Epsilon", "Delta")
"""Lines that are set in large letters."""
LETTER = 0.56
"""Mean width of a letter over its size, rounded up: text that is broken by it stays on the card."""
STYLE = (
    ".card{fill:#fff;stroke:#1a202c}text{fill:#1a202c;font-family:system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Noto Sans',sans-serif}.rule{stroke:#d5dbe3}.warn{fill:#8a1c1c}"
    "@media (prefers-color-scheme:dark){.card{fill:#14181e;stroke:#e8ecf1}text{fill:#e8ecf1}.rule{stroke:#38424f}"
    ".warn{fill:#ff9d9d}}@media print{.card{fill:#fff;stroke:#000}text{fill:#000}}"
)


def label_svg(card: LabelCard) -> str:
    """A drawing that stands by itself: no script, font or address outside of it. Whatever it shows is escaped."""
    drawn: list[str] = []
    top = PAD + 22

    def put(text: str, x: float, size: int, more: str = "") -> None:
        drawn.append(f'<text x="{x:g}" y="{top:g}" font-size="{size}"{more}>{escape(text)}</text>')

    for line in _broken(card.title, WIDTH - 2 * PAD, 20):
        put(line, PAD, 20, ' font-weight="700"')
        top += 25
    for text in filter(None, (card.stamp, *card.warnings)):
        for line in _broken(text, WIDTH - 2 * PAD, SIZE):
            put(line, PAD, SIZE, ' class="warn" font-weight="700"')
            top += LINE
    for name, text in card.lines:
        size = 24 if name in LARGE and len(text) < 12 else SIZE
        if name:
            drawn.append(f'<line class="rule" x1="{PAD}" x2="{WIDTH - PAD}" y1="{top - 12:g}" y2="{top - 12:g}"/>')
            top += size - 8
            put(name, PAD, SIZE, ' font-weight="700"')
        for line in _broken(text, WIDTH - 2 * PAD - NAMES, size):
            put(line, PAD + NAMES, size)
            top += LINE if size == SIZE else size
    height = top
    said = " ".join(f"{name}: {text}" if name else text for name, text in card.facts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" lang="en" '
        f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}">'
        f'<title id="title">{escape(plain(card.title))}</title><desc id="desc">{escape(plain(said))}</desc>'
        f"<style>{STYLE}</style>"
        f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2:g}" rx="6" stroke-width="2"/>'
        f"{''.join(drawn)}</svg>\n"
    )


def _broken(text: str, width: float, size: float) -> list[str]:
    """A text in lines that are no wider, by a letter's mean width; letters of double width count twice."""
    shown = plain(text)
    wide = any(unicodedata.east_asian_width(sign) in "WF" for sign in shown)
    return textwrap.wrap(shown, max(int(width / (size * LETTER * (2 if wide else 1))), 8)) or [""]
