"""The page of a release: answers first, how sure they are, what an officer asks; and the page of a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.kernel.budget import downward_text, upward_text
from dpqr.kernel.unit import whose
from dpqr.kernel.wording import DIGITS, Fact, amount, count_words, optional, plain
from dpqr.releases.answers.answered import AnsweredBlock
from dpqr.releases.answers.errors import BASES, CERTIFIED, COMPARED
from dpqr.releases.files.tidy import Row
from dpqr.releases.record.parts import periods_read
from dpqr.releases.sentences import CHECK, WARNING, likely_words, odds_words, reader_notes, rows_used
from dpqr.report.answers import (
    SAID,
    answer_texts,
    bin_words,
    figure_precision,
    figure_texts,
    figures_legend,
    interval_words,
    lower_texts,
    readable,
    upper_texts,
)
from dpqr.report.page.charts import block_chart, budget_chart, interval_chart, never_measured
from dpqr.report.page.documents import (
    checklist_section,
    claim_checks,
    domain_section,
    request_notes,
    synthetic_section,
    verify_section,
)
from dpqr.report.page.parts import (
    NOT_STATED,
    Card,
    Cards,
    Checks,
    Facts,
    Items,
    Paragraph,
    Part,
    ReportInput,
    ReportPage,
    ReportTable,
    Section,
    protected_unit,
)

LEARNT = (
    "What holds for many people can be learnt, and so can what it says about those who are like them: that is what the "
    "figures are for."
)
STRONG = 3
"""Epsilons up to which the odds are said to protect."""
REHEARSAL = "REHEARSAL: no table was opened; the answers describe nobody"
NOT_VERIFIED = "NOT VERIFIED: record and files may have been changed since the release was made"
NOT_PRIVATE = "NOT PRIVATE: the noise came from a repeatable test source"


def release_page(found: ReportInput) -> ReportPage:
    """First the answers; then how sure they are; then what an officer asks; draws, documents and hashes are folded."""
    title = f"Private answers to {count_words(len(found.blocks), 'question')}"
    if paid := dataset_of(found):
        title += f" about {paid}"
    if periods := periods_read(found.plan):
        title += f", rows of {periods}"
    return ReportPage(
        title=title,
        subtitle=found.stated("purpose") or "",
        promise=tuple(meaning(found)),
        warnings=tuple(warnings_of(found)),
        lead=(*lead(found), ("answers", f"{sum(block.rows for block in found.blocks):,}")),
        picture=budget_chart(found.spending) if found.spending else None,
        sections=(
            answers_section(found),
            certainty_section(found),
            promise_section(found),
            checklist_section(found),
            budget_section(found),
            *((synthetic_section(found),) if isinstance(found.record.get("synthetic"), dict) else ()),
            domain_section(found),
            price_section(found),
            verify_section(found),
        ),
        stamp=stamp_of(found),
    )


def warnings_of(found: ReportInput) -> Iterator[str]:
    """What a reader must not miss; advice for the maker left out."""
    if found.unverified:
        yield f"Not verified: {found.unverified}"
    if warning := found.stated("warning"):
        yield f"Warning: {warning.partition(f'; {CHECK}')[0]}"
    for note in found.record.get("trust") or ():
        if note.startswith(WARNING):
            yield f"Warning: {note.removeprefix(WARNING)}"


def stamp_of(found: ReportInput) -> str:
    """What a release must not be taken for; empty: nothing."""
    if found.record.get("rehearsal"):
        return REHEARSAL
    if found.unverified:
        return NOT_VERIFIED
    return "" if found.record.get("private", True) else NOT_PRIVATE


def dataset_of(found: ReportInput) -> str | None:
    """The dataset whose budget paid; None: no ledger was used."""
    paid = found.record.get("ledger")
    return str(paid["dataset"]) if isinstance(paid, dict) else None


def asked_in_all(plan: Mapping[str, Any]) -> tuple[int, int]:
    """How many answers a plan gives, and to how many questions, tables of persons among them."""
    workload, persons = plan["workload"], plan.get("person_tables") or ()
    answers = workload["queries"] + sum(table["queries"] for table in persons)
    return answers, len(workload["blocks"]) + len(persons)


def lead(found: ReportInput) -> Iterator[Fact]:
    """What is protected, and how well."""
    if found.price is not None:
        yield from zip(("epsilon", "delta"), map(upward_text, found.price), strict=True)
    yield "protects", f"each {protected_unit(found.plan).named}"
    if date := found.stated("date"):
        yield "date", date[:10]


def meaning(found: ReportInput) -> Iterator[str]:
    """The promise in two plain sentences."""
    if found.price is None:
        return
    (epsilon, delta), unit = found.price, protected_unit(found.plan)
    whom = f"{unit.named} with all their rows" if unit.columns else unit.named
    more = f", plus a probability of at most {upward_text(delta)}" if delta else ""
    yield (
        f"Each {whom} is protected: whatever was published here, it was {likely_words(epsilon)} times as likely with "
        f"them in the table as without{more}. What holds for many is meant to be seen, whether or not any one of them "
        "is there."
    )


def guess_words(epsilon: Fraction, delta: Fraction) -> str:
    """What a release does to the odds of a guess, and whether they protect."""
    weak = (
        " Odds of this size promise little by themselves: a reader who knows much may become sure whether one of "
        "those protected was in the table."
    )
    odds = odds_words(epsilon, delta)
    return f"Of an attacker's guess about one of those protected: {odds}.{weak if epsilon > STRONG else ''}"


def promise_section(found: ReportInput) -> Section:
    """What could be learnt of one of those protected: the guarantee, and what it does to a guess."""
    parts: list[Part] = [Paragraph(text=str(found.record.get("guarantee") or NOT_STATED))]
    if found.price is not None:
        parts += [Paragraph(text=guess_words(*found.price)), Paragraph(text=LEARNT)]
    return Section(name="promise", title="What could be learnt about one of them", parts=parts)


def together_words(found: ReportInput) -> str:
    """Which releases of the table the promise covers together."""
    if found.spending is not None:
        others = count_words(sum(not charge.own for charge in found.spending.charges), "other run")
        return (
            f"The budget has paid for this and {others}. Its promise covers all of them together, however they were "
            "chosen."
        )
    if dataset_of(found) is None:
        return (
            "No ledger was used. The promise covers this release alone: the costs of several releases of one table add "
            "up, and nobody has added them."
        )
    entry = found.record["ledger"]["entry"]
    return (
        f"The budget of {dataset_of(found)!r} paid for this release (entry {entry} of the ledger). That budget covers "
        "all releases that it pays for together."
    )


def budget_section(found: ReportInput) -> Section:
    """This release, earlier ones, what is left."""
    spending = found.spending
    parts: tuple[Part, ...]
    if spending is not None:
        account, rows = spending.account, []
        currency = account.terms.currency
        this = max((charge.number for charge in spending.charges if charge.own), default=-1)
        for charge in spending.charges:
            own = "this release" if charge.number == this else "its domain, learned"
            which = own if charge.own else "an earlier one" if charge.number < this else "a later one"
            rows.append((f"{charge.number}", charge.date, which, currency.figures(charge.cost, upward_text)))
        rows.append(("", "", "left", currency.figures(account.left, downward_text)))
        limit = currency.words(account.terms.limit, downward_text)
        parts = (
            ReportTable(
                caption=f"What the budget of {account.terms.dataset!r} has paid for; for life: {limit}",
                head=("entry", "date", "release", f"cost in {currency.name}"),
                rows=rows,
                texts=3,
            ),
            Paragraph(text=together_words(found)),
        )
    else:
        parts = (Paragraph(text=together_words(found), strong=dataset_of(found) is None),)
    return Section(name="budget", title="The budget", parts=parts)


def price_section(found: ReportInput) -> Section:
    """Phases, accountants and draws; and blocks without a chart."""
    spent = found.record.get("spent")
    parts: list[Part] = []
    if spent:
        charged = spent["charged"]
        rows = [(phase, _epsilon(prices.get(charged))) for phase, prices in (spent.get("phases") or {}).items()]
        delta = upward_text(Fraction(spent["delta"]["exact"]))
        covered = [(name, figure) for name, figure in spent["epsilon"].items() if figure is not None]
        parts += [
            ReportTable(
                caption=f"Each phase by itself, as epsilon by {charged}; only basic's figures add up to the whole",
                head=("phase", "epsilon"),
                rows=[*rows, ("whole release", _epsilon(spent["epsilon"].get(charged)))],
            ),
            ReportTable(
                caption=f"The whole release under every accountant, as epsilon at delta {delta}",
                head=("accountant", "epsilon", ""),
                rows=[
                    (name, _epsilon(figure), "charged" if name == charged else "shown only") for name, figure in covered
                ],
            ),
            *([Paragraph(text=f"Charged by {charged}: {spent['why']}.")] if "why" in spent else ()),
        ]
    if events := found.record.get("events"):
        # Equal draws are one line; fractions are written as decimals, and the record holds them exactly.
        lines = []
        for event in events:
            bare = event.get("event", event)
            stated = [f"{name} {_decimal(value)}" for name, value in bare.items() if name not in EVENT]
            kind = f"{event['kind']}: {bare['kind']}" if bare is not event else event["kind"]
            lines.append((kind, ", ".join(stated), f"{event['count']:,}"))
        caption, head = "Every draw that was charged, as accountants price it", ("draw", "parameters", "times")
        parts.append(ReportTable(caption=caption, head=head, rows=lines, texts=2))
    if behind := [block for block in found.blocks if _resting(found, block)]:
        parts.append(_listed("Sums and counts that figures rest on, each error in its own unit", behind))
    parts = parts or [Paragraph(text="The record says nothing of phases and prices.")]
    return Section(name="price", title="What was drawn, and what it cost", parts=parts, folded=True)


EVENT = ("kind", "count", "event")


def _decimal(value: object) -> str:
    """A parameter of a draw, to six digits."""
    text = str(value)
    return f"{float(Fraction(text)):.6g}" if re.fullmatch(r"\d+/\d+", text) else text


def _epsilon(figure: dict[str, Any] | None) -> str:
    return "not covered" if figure is None else upward_text(Fraction(figure["exact"]), DIGITS)


# The chapter of answers: every question in the order of the queries file, in its own unit.

CHARTS, LINES, MOST, LEAST = 150, 2400, 40, 6
"""Questions that are drawn, lines of all their tables together, and the most and the fewest of one table."""
FIGURE_LINES = 40
"""Rows of a figure that are drawn; the others stand in the file of figures."""
NORMAL = math.sqrt(math.pi / 2)
"""Root mean square over mean absolute value, of a normal error."""
FAR = 1.5
"""Forecast over result, or result over forecast, from which on a block is named."""
ENDS = {"mean": "mean of", "median": "median of", "quantile": "values of", "variance": "variance of", "ratio": "ratio"}
"""What a figure's axis shows, by the kind of its entry."""


def answers_section(found: ReportInput) -> Section:
    """A card for every figure, and for every block that no figure rests on; what a page cannot hold by name."""
    entries = [each for each in (found.document("queries") or {}).get("queries") or () if isinstance(each, dict)]
    figures: dict[str, list[Row]] = {}
    for row in found.figures:
        figures.setdefault(row["figure"], []).append(row)
    whole = _numbers(found)
    # Each figure stands where the first block does that it rests on.
    blocks: dict[str, AnsweredBlock | None] = {}
    for block in found.blocks:
        figure = _resting(found, block)
        blocks.setdefault(figure or block.name, None if figure else block)
    blocks |= dict.fromkeys(name for name in figures if name not in blocks)
    shown = dict(list(blocks.items())[:CHARTS])
    lines = max(min(LINES // max(len(shown), 1), MOST), LEAST)
    persons = {table["name"]: table for table in found.plan.get("person_tables") or ()}
    cards = [
        figure_card(_in_words(figures[name], whole), _described(found, name), f"figure {number}")
        if block is None
        else _card(
            readable(block, whole), f"block {number}", lines, found.bounds.get(name), _unit(name, entries, persons)
        )
        for number, (name, block) in enumerate(shown.items())
    ]
    used = rows_words(found)
    parts: list[Part] = [Paragraph(text=used)] if used else []
    parts.append(Cards(cards=cards))
    if rest := [block for block in list(blocks.values())[CHARTS:] if block]:
        parts.append(_listed(f"{count_words(len(rest), 'more block')}, without charts", rest))
    return Section(name="answers", title=f"Answers{', of the rows used' if used else ''}", parts=parts)


def _numbers(found: ReportInput) -> dict[str, bool]:
    """The columns of numbers by the domain file, and whether these are whole."""
    fields = found.domain.get("fields") or ()
    kinds = {str(each.get("name")): each.get("type") for each in fields if isinstance(each, dict)}
    return {name: kind == "integer" for name, kind in kinds.items() if kind in ("integer", "number")}


def _in_words(rows: Sequence[Row], whole: Mapping[str, bool]) -> list[Row]:
    """Rows of a figure with the bins of their groups in words."""
    return [
        {
            key: bin_words(cell, whole[key]) if key in whole and isinstance(cell, str) else cell
            for key, cell in row.items()
        }
        for row in rows
    ]


def _resting(found: ReportInput, block: AnsweredBlock) -> str | None:
    """The figure that a block was asked for; None for one that answers by itself."""
    names = dict.fromkeys(row["figure"] for row in found.figures)
    return next((name for name in names if block.name == name or block.name.startswith(f"{name}: ")), None)


def _listed(caption: str, blocks: Sequence[AnsweredBlock]) -> ReportTable:
    """Blocks without charts: all of their answers stand in the answers file."""
    rows = [
        (block.name, f"{block.rows:,}", f"{int(never_measured(block).sum()):,}", optional(typical(block)))
        for block in blocks
    ]
    return ReportTable(caption=caption, head=("block", "answers", "never measured", "typical error"), rows=rows)


def rows_words(found: ReportInput) -> str:
    """What the answers are of, from the unit and the rules of the domain file."""
    unit, fields = protected_unit(found.plan), found.domain.get("fields") or ()
    rules = {str(each.get("name")): each.get("dpqr") or {} for each in fields if isinstance(each, dict)}
    queried = {name for block in (found.plan.get("workload") or {}).get("blocks") or () for name in block["columns"]}
    dropping, clipping = (
        [name for name, own in rules.items() if name in queried and rule in own.values()] for rule in ("drop", "clip")
    )
    key = whose(unit.columns, unit.per) if unit.columns else None
    learned = found.domain.get("learned") or {}
    counted = bool(found.record.get("dropped")) or bool(learned.get("rows"))
    return rows_used(key, unit.rows, dropping, clipping, counted=counted)


def _unit(name: str, entries: Sequence[Row], persons: Mapping[str, Row]) -> str:
    """What a block's answers count. persons: the tables of persons, by name."""
    if name in persons:
        total = persons[name].get("total")
        return "persons" if total is None or "bins" in total else f"total of {total['column']}"
    for entry in entries:
        column = entry.get("sum")
        if column and (entry.get("name") == name or name.startswith(f"sum({column})")):
            return f"sum of {column}"
        if "coefficients" in entry and entry.get("name") == name:
            return "weighted records"
    return "records"


def _described(found: ReportInput, name: str) -> dict[str, str]:
    """What the domain file says of the columns that a figure's name holds, by column."""
    fields = found.domain.get("fields") or ()
    known = {str(each["name"]): str(each["description"]) for each in fields if each.get("description")}
    return {column: text for column, text in known.items() if re.search(rf"\b{re.escape(column)}\b", name)}


def certainty_section(found: ReportInput) -> Section:
    """How the figures came about, what their intervals promise, and whether they came as forecast."""
    lines = (*_legend(found), *notes_of(found))
    return Section(
        name="certainty", title="How sure the figures are", parts=(Items(lines=lines), *_forecast_parts(found))
    )


def notes_of(found: ReportInput) -> Iterator[str]:
    """What a reader must know of how the figures came about."""
    workload = found.plan.get("workload") or {"blocks": ()}
    chosen = [each.get("choice") is not None for each in found.record.get("transcript") or ()]
    own = request_notes(found)
    trust = [note for note in found.record.get("trust") or () if note not in own]
    schedule = str((found.plan.get("schedule") or {}).get("name"))
    persons = bool(found.plan.get("person_tables"))
    yield from reader_notes(trust, chosen, len(workload["blocks"]), schedule, persons=persons)


def _legend(found: ReportInput) -> Iterator[str]:
    whole = sum(block.rows for block in found.blocks)
    alone = sum(int(never_measured(block).sum()) for block in found.blocks)
    proved = {
        place: sum(int((never_measured(block) & (block.basis == place)).sum()) for block in found.blocks)
        for place in (CERTIFIED, COMPARED)
    }
    inferred = alone - sum(proved.values())
    if whole > sum(proved.values()) or found.figures:
        yield (
            "Orange lines and pale bands are 95% intervals, each for one figure alone: of a hundred, about five miss. "
            "Two figures whose intervals do not overlap differ, unless one misses; where they overlap, nothing is "
            "decided."
        )
    measured = f"{whole - alone:,} of {count_words(whole, 'answer')} were measured at least once; their intervals are"
    never = f" Hatched: {inferred:,} that never were; they come from the model, and their intervals are estimated."
    if inferred or whole > alone:
        yield f"{measured} proved over the noise.{never if inferred else ''}"
    if certified := proved[CERTIFIED]:
        yield (
            f"{certified:,} were never measured: they come from the model, and their intervals are proved, for all "
            "answers together, by the certificate."
        )
    if compared := proved[COMPARED]:
        yield (
            f"{compared:,} were free: the model answered, for the true answer was found near it. Their intervals are "
            "proved over the noise of that comparison."
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
    if found.bounds:
        confidence = found.record["bounds"]["confidence"]
        yield (
            f"Proved bounds were bought: with probability {confidence:g} over the noise, the L1 errors of all blocks "
            "are within them at once. An L1 error is the sum of a block's absolute errors."
        )
    if found.stated("certainty"):
        yield str(found.record["certainty"])


def figure_card(rows: Sequence[Row], described: Mapping[str, str], salt: str) -> Card:
    """Means, medians, ratios and the like: a dot and its interval for every group, in the figure's own unit."""
    name, kind = plain(rows[0]["figure"]), rows[0]["kind"]
    columns = re.match(r"\w+\(([^()]*)\)", name)
    axis = "share of the records" if kind == "proportion" else "records" if kind == "top" else name
    if columns and kind in ENDS:
        axis = f"{ENDS[kind]} {columns[1]}"
    axis += "".join(f" ({text})" for column, text in described.items() if re.search(rf"\b{re.escape(column)}\b", axis))
    texts = figure_texts(rows)
    estimate, error, lower, upper = (
        np.array([row[key] for row in rows[:FIGURE_LINES]], dtype=float)
        for key in ("estimate", "error", "lower", "upper")
    )
    # Groups by their values alone, as the answers of a block.
    named = "|".join(re.escape(plain(key)) for key in rows[0] if key not in SAID)
    names = [re.sub(f"(^|, )({named})=", r"\1", row[1]) or "all" for row in texts]
    unsaid = [f"{column}: {text}" for column, text in described.items() if text not in axis]
    return Card(
        title=name,
        words="; ".join((f"{kind}, computed from the released answers at no cost", *unsaid)),
        chart=interval_chart(
            names[:FIGURE_LINES],
            estimate,
            lower,
            upper,
            figure_precision(error, lower, upper),
            axis=axis,
            zero=kind == "top",
            salt=salt,
        ),
        table=_figures_table(
            f"{name}; {figures_legend(rows)[0]}",
            "group",
            [
                (group, row[2], interval_words(row[4], row[5]), row[3], "; ".join(filter(None, row[6:])))
                for group, row in zip(names, texts, strict=True)
            ],
        ),
    )


def _figures_table(caption: str, cells: str, rows: Sequence[Sequence[str]]) -> ReportTable:
    """Estimates with intervals, errors and basis, which stands in the caption where it is the same for all."""
    bases, head = {row[4] for row in rows}, (cells, "estimate", "95% interval", "error", "basis")
    if len(bases) > 1:
        return ReportTable(caption=caption, head=head, rows=rows)
    said = "".join(f"; basis of all: {basis}" for basis in bases if basis)
    return ReportTable(caption=f"{caption}{said}", head=head[:4], rows=[row[:4] for row in rows])


def _card(block: AnsweredBlock, salt: str, lines: int, bound: float | None, unit: str) -> Card:
    alone = int(never_measured(block).sum())
    free = block.rows and (block.basis == COMPARED).all()
    inferred = "free: found near the model" if free else "estimated from other measurements"
    how = "measured" if not alone else inferred if alone == block.rows else f"{alone:,} {inferred}"
    error, what = typical(block), "noise" if np.isnan(block.error).all() else "error"
    words = (
        f"{count_words(block.rows, 'answer')}, {how}"
        + ("" if np.isnan(error) else f"; typical {what} {amount(error)}")
        + ("" if bound is None else f"; L1 error proved to be at most {math.ceil(bound):,}")
    )
    # The largest answers, in the block's order.
    rows = np.sort(np.argsort(-block.estimate, kind="stable")[:lines])
    shown = block.chosen(rows)
    spans = [
        interval_words(*ends)
        for ends in zip(lower_texts(shown.lower, shown.spread), upper_texts(shown.upper, shown.spread), strict=True)
    ]
    estimates = answer_texts(shown.estimate, shown.precision)
    bases = ["" if place < 0 else BASES[place] for place in shown.basis.tolist()]
    figures = zip(estimates, spans, map(optional, shown.error.tolist()), bases, strict=True)
    if block.rows == 1 and not block.columns:
        return Card(title=block.name, words=words, number=estimates[0], unit=unit, interval=spans[0])
    part = f"The {lines} largest of {block.rows:,} answers" if block.rows > lines else "All answers"
    return Card(
        title=block.name,
        words=words,
        chart=block_chart(block, salt, unit),
        table=_figures_table(
            f"{part}, in {unit}: {block.name}",
            ", ".join(column.name for column in block.columns),
            [(", ".join(shown.cells(row)), *each) for row, each in enumerate(figures)],
        ),
    )


def typical(block: AnsweredBlock) -> float:
    """Root mean square of the errors of a block's estimates, or of its noise, in records; NaN where none is known."""
    known = block.precision[~np.isnan(block.precision)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def _forecast_parts(found: ReportInput) -> Sequence[Part]:
    """The plan's expected error of each block beside what the release says of it."""
    errors = expected(found.plan)
    noise = {each["name"]: float(each["noise_deviation"]) for each in found.plan.get("forecast") or ()}
    forecast = {name: error * NORMAL for name, error in errors.items()} or noise
    known = ((block.name, forecast.get(block.name), typical(block)) for block in found.blocks)
    pairs = [(name, planned, came) for name, planned, came in known if planned is not None and not np.isnan(came)]
    if not pairs:
        return ()
    basis = "its mean absolute error times 1.25, as for normal errors" if errors else "the noise of one measurement"
    blocks = count_words(len(pairs), "block")
    whole = (
        f"Before any data was opened, the plan said how large a typical error would be ({basis}). Beside it stands the "
        "error that the release states: measured noise, or an estimate from refits. Both are root mean squares."
    )
    near = f"All of {blocks} came within a factor {FAR:g} of their forecast."
    if far := sum(not 1 / FAR <= result / max(plan, 1e-12) <= FAR for _, plan, result in pairs):
        near = f"{far} of {blocks} came further than a factor {FAR:g} from it."
    return (
        Paragraph(text=f"{whole} {near}"),
        ReportTable(
            caption="Typical error of an answer, in the unit of its block: as planned, and as released",
            head=("block", "forecast", "result", "result / forecast"),
            rows=[
                (name, amount(planned), amount(came), f"{came / max(planned, 1e-12):.2f}")
                for name, planned, came in pairs
            ],
        ),
    )


def expected(plan: dict[str, Any]) -> dict[str, float]:
    """The mean absolute error that a plan forecasts for an answer of each block, by name; empty: it forecasts none."""
    simulated = {each["name"]: float(each["error"]["mean"]) for each in (plan.get("expected") or {}).get("blocks", ())}
    closed = {each["name"]: each.get("error") for each in plan.get("forecast") or ()}
    return simulated or {name: float(error) for name, error in closed.items() if error is not None}


# The page of a plan: what a release would promise, draw and be worth, before any data is opened.

STAMP = "A PLAN: nothing was drawn, and no data was opened"


def plan_page(plan: dict[str, Any], facts: Sequence[Fact]) -> ReportPage:
    """plan: the plan document. facts: the plan in words, as the screen shows it."""
    found = ReportInput(record={"plan": plan, "unit": plan["unit"]["words"], "ledger": "none"}, blocks=(), place="")
    answers, questions = asked_in_all(plan)
    notes = plan.get("notes") or ()
    more = (Paragraph(text="What to know before it is approved:"), Items(lines=notes)) if notes else ()
    words = "The rest of the checklist, on algorithms and on what they stand on, comes with the release's own report."
    # What a release, a ledger and an approval name the plan by.
    proved = upward_text(Fraction(plan["proved_epsilon"]["exact"]))
    return ReportPage(
        title=f"Plan of a release of {count_words(answers, 'answer')}",
        subtitle="What it would promise, cost and be worth",
        promise=tuple(meaning(found)),
        lead=(*lead(found), ("answers", f"{answers:,}"), ("questions", f"{questions:,}")),
        sections=(
            Section(
                name="promise",
                title="The promise",
                parts=(
                    Paragraph(text=plan["guarantee"]),
                    *more,
                ),
            ),
            Section(name="plan", title="What will be drawn", parts=(Facts(lines=facts),)),
            Section(name="forecast", title="Expected errors", parts=_forecast(plan)),
            domain_section(found),
            Section(
                name="checklist",
                title="Checklist of the claim",
                parts=(
                    Checks(layer="The claim: parameters and unit", lines=tuple(claim_checks(found))),
                    Paragraph(text=words),
                ),
            ),
            Section(
                name="hashes",
                title="Hash of the plan",
                parts=(
                    Facts(
                        lines=(("SHA-256", plan["sha256"]), ("Proved epsilon", proved), ("Version", plan["version"]))
                    ),
                ),
            ),
        ),
        stamp=STAMP,
    )


def _forecast(plan: dict[str, Any]) -> Sequence[Part]:
    """The expected error of an answer, block by block."""
    errors = expected(plan)
    if not errors:
        return (Paragraph(text="This plan forecasts no error of single blocks; `dpqr plan` simulates it."),)
    pairs = [
        (each["name"], each["queries"], errors[each["name"]]) for each in plan["forecast"] if each["name"] in errors
    ]
    return (
        Paragraph(text="The mean absolute error of one answer, in records, or in the unit of a summed column."),
        ReportTable(
            caption="Expected error of an answer, block by block",
            head=("block", "answers", "expected error"),
            rows=[(name, f"{queries:,}", amount(error)) for name, queries, error in pairs],
        ),
    )
