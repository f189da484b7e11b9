"""Sentences: what a release promises, in the words that its record and its receipt share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpqr.domain.attribute import Attribute, Bins, Rule
from dpqr.domain.domain import Domain, may_drop_rows, possible_faults
from dpqr.kernel.budget import PrivacyBudget, downward_text, upward_text
from dpqr.kernel.unit import PrivacyUnit, whose
from dpqr.kernel.wording import Fact, count_words, plain
from dpqr.releases.answers.errors import ErrorBars
from dpqr.releases.answers.noisy import LEVEL
from dpqr.releases.result import FinishedRun
from dpqr.strategies.plan import Phase, Plan

FEW, DOUBT = 1 / 20, 1 / 100
"""Part of the records that may be left out without a warning; and how often noise may show as many, either way."""

NO_LEDGER = "It covers this run alone: no ledger was used, and the costs of several releases of one table add up."

GIVEN_BACK = "the rest is back in the budget, and the guarantee stays that of the whole plan"

INTERVALS = (
    f"Where basis is measured, lower and upper enclose the true answer with probability at least {float(LEVEL):g} over "
    "the noise of this run, each single pair. Where it is estimate, they are the estimate and 1.96 of its estimated "
    "errors to either side, which no theorem covers. They do not hold jointly: of many intervals some will miss."
)
CERTIFIED = (
    "Where basis is certified, lower and upper are the estimate and the certificate's bound to either side, and hold "
    "jointly, with the certificate's probability."
)

SESSION = "interactive"
"""The schedule of a session, whose questions people chose one at a time."""
COMPARED = (
    "Where basis is compared, lower and upper are the estimate and what a comparison with a noisy threshold has "
    "bounded, to either side; those of one epoch hold jointly, with probability 0.95."
)

SOURCES = {
    "bought": "rest on noisy L1 errors that were bought too",
    "rule of thumb": "rest on a rule of thumb from the last selections too",
    "refits alone": "may be larger, for nothing measured shows them",
}
"""What the errors of unmeasured blocks rest on beside refits."""

KNOWN = "The errors of the estimates are their distances from what was measured with hardly any noise, or that noise."


WHOLE_SCHEDULE_NOTE = "the guarantee is that of the whole schedule; a ledger gives back at most what was not drawn"
"""What an early end does, with and without a ledger: a refund lowers what a budget has used, and no release's claim."""


class PricedProblem(Protocol):
    """Whom a run protects, and the domain that it is made over."""

    @property
    def unit(self) -> PrivacyUnit: ...
    @property
    def domain(self) -> Domain: ...


class PricedPlan(Protocol):
    """The plan of a release or of predictions, as far as its price goes."""

    @property
    def budget(self) -> PrivacyBudget: ...
    @property
    def problem(self) -> PricedProblem: ...


def guarantee(plan: PricedPlan) -> str:
    """The privacy statement of a run of `plan`: definition, parameters, unit, and what its domain has cost where that
    was learned. Privacy: public facts only."""
    return f"{budget_words(plan.budget)}, for {plan.problem.unit.words}{_domain_words(plan)}."


def whole_budget(plan: PricedPlan) -> PrivacyBudget | None:
    """Of a run over a domain that was learned for the same units: what both cost together. None for any other domain.

    Privacy: basic composition; the run depends on what was learned through the released domain alone.
    """
    learned = plan.problem.domain.learned
    if learned is None or learned.unit != plan.problem.unit.whom:
        return None
    return PrivacyBudget(plan.budget.epsilon + learned.budget.epsilon, plan.budget.delta + learned.budget.delta)


def whole_price_facts(plan: PricedPlan) -> Iterator[Fact]:
    """What the run and its learned domain cost together, where they add up."""
    learned, whole = plan.problem.domain.learned, whole_budget(plan)
    if learned and whole:
        paid = f", paid {learned.paid_words}" if learned.entries else ""
        what = plain(learned.words + paid)
        yield "In all", f"{cost_words(whole)}: {cost_words(learned.budget)} of it to learn {what}"


def _domain_words(plan: PricedPlan) -> str:
    """What a learned domain has cost, beside the run, and which entries of a ledger paid that; empty for one that is
    public knowledge."""
    learned, whole = plan.problem.domain.learned, whole_budget(plan)
    if learned is None:
        return ""
    what = "its domain" if learned.columns else "the number of rows of each person"
    entries = f" (paid {learned.paid_words})" if learned.entries else ""
    paid = f"{what} was learned{entries}, with {cost_words(learned.budget)}"
    return f"; {paid} more: {cost_words(whole)} in all" if whole else f"; {paid} for {learned.unit}, which adds to that"


def cost_words(budget: PrivacyBudget) -> str:
    """Epsilon and delta, rounded up."""
    delta = "" if budget.pure else f" and delta {upward_text(budget.delta)}"
    return f"epsilon {upward_text(budget.epsilon)}{delta}"


def budget_words(budget: PrivacyBudget) -> str:
    """Epsilon and delta as a claim; both figures are exact, or rounded up."""
    epsilon = upward_text(budget.epsilon)
    if budget.pure:
        return f"Differentially private with epsilon = {epsilon} (pure: delta = 0)"
    return f"Differentially private with epsilon = {epsilon} and delta = {upward_text(budget.delta)}"


HUGE = 1_000_000


def odds_words(epsilon: Fraction, delta: Fraction) -> str:
    """What a release can do to the odds of a guess about one of those protected.

    Theorem. Under pure differential privacy the odds change by at most e^eps (Bayes). Under (eps, delta): let B
    hold the outcomes that are more than e^(2 eps) times as likely with them as without. P(B) <= e^eps Q(B) + delta
    < e^-eps P(B) + delta, so P(B) < delta / (1 - e^-eps); outside of B the odds change by at most e^(2 eps).
    """
    power = float(epsilon) * (2 if delta else 1)
    odds = "a million or more" if power >= math.log(HUGE) else f"at most {_factor(power)}"
    doubt = Fraction(float(delta) / -math.expm1(-float(epsilon)) * (1 + 1e-12))
    rare = f", except with a probability of at most {upward_text(doubt, 2)}" if doubt else ""
    return f"a guess that stood 1 to 99 stands {odds} to 99 afterwards, whatever else a reader knows or computes{rare}"


def likely_words(epsilon: Fraction) -> str:
    """How many times as likely with one of those protected as without: e^eps, rounded up."""
    if epsilon >= math.log(HUGE):
        return "perhaps more than a million"
    return f"at most {_factor(float(epsilon))}"


def _factor(power: float) -> str:
    return f"{float(upward_text(Fraction(math.exp(power) * (1 + 1e-12)), 4)):,.10g}"


def dropped_words(unit: PrivacyUnit) -> str:
    """What a noisy count of the records that were left out counts."""
    if not unit.columns:
        return "the records that the domain's rules left out"
    most = "1 row" if unit.rows == 1 else f"{unit.rows} rows"
    return f"the rows that the domain's rules or the bound left out, at most {most} of each {unit.noun} counted"


def used_words(unit: PrivacyUnit, domain: Domain) -> str:
    """Which rows answers are of; empty where all of them are used, as they are."""
    clipped = any(Rule.CLIP in attribute.rules.values() for attribute in domain.attributes)
    if not (unit.columns or clipped or may_drop_rows(domain)):
        return ""
    bound = f" (at most {unit.rows} of each {plain(whose(unit.columns, unit.per))})" if unit.columns else ""
    return f"of the rows used{bound}"


def share_words(release: FinishedRun) -> str | None:
    """What share of the rows a release for persons has used, as released counts say it, or how to learn it; None where
    a row is the unit, or where counts chose the bound and a note says it.

    Privacy:
        Post-processing of released counts. Where none was bought the sentence is the same for every table.
    """
    unit, found, learned = release.plan.problem.unit, release.dropped, release.plan.problem.domain.learned
    if not unit.columns or (learned is not None and learned.rows is not None):
        return None
    if found is None:
        return SHARE_UNKNOWN
    used, left = max(float(release.hypothesis.total), 0.0), max(found.estimate, 0)
    if used + left <= found.measurement.law.tail(DOUBT):
        return "what share of the rows was used, noise hides"
    most = "1 left-out row" if unit.rows == 1 else f"{unit.rows} left-out rows"
    return f"at most about {used / (used + left):.0%} of the rows; at most {most} of each {unit.noun} are counted"


SHARE_UNKNOWN = (
    "what share of the rows was used is not known; a release with --count-dropped 0.05 counts the others, with noise, "
    "for a twentieth of its budget"
)


def parallel_words(unit: PrivacyUnit) -> str:
    """Why the count adds nothing to what the run costs; empty where it has a price of its own."""
    return "; free, for a record is either kept or left out, and the larger price covers both" if unit.apart else ""


def errors_words(phase: Phase) -> str:
    """What the draws after the loop are of."""
    drawn = "noisy L1 errors" if phase.count == 1 else f"{phase.count} draws of noisy L1 errors"
    if phase.noun == "errors":
        return f"{drawn} of the blocks that were left unmeasured, after the last refit, for error bars"
    return f"{drawn} of all blocks, after the last refit, for bounds that are proved, and error bars"


WARNING = "warning: "
"""How a note begins that is one."""
CHECK = "check the formats and labels of the domain file"
"""For the maker of a release, beside a warning: on the terminal, and not on a page."""


def left_out_warning(release: FinishedRun) -> str | None:
    """That hardly any rows were used, many were left out, or hardly any value of a column was read, where a released or
    a public count says so; where none does, that a figure says nothing; else None.

    Left out: the noisy count is above FEW of the noisy total, and above what noise alone makes of 0 in all but one of
    200 runs (half of the tail of DOUBT: one side). Hardly any used: the noisy total is no larger than noise alone makes
    of an empty table as often; of a declared number, with that noise added, less than half.

    Privacy:
        Post-processing of released counts; declared counts and the domain are public.
    """
    found, problem = release.dropped, release.plan.problem
    rows = not problem.unit.columns
    bound = f"the domain's rules or the bound on each {problem.unit.noun}"
    what, by = ("records", "the domain's rules") if rows else ("rows", bound)
    if found is not None:
        total = max(float(release.hypothesis.total), 0.0) + found.estimate
        if found.estimate > FEW * total and found.estimate > found.measurement.law.tail(DOUBT):
            return (
                f"about {found.estimate:,} of {total:,.0f} {what} were left out by {by} (+-{found.deviation:.3g}, the "
                f"noise of that count){_suspect(problem.domain) if 2 * found.estimate > total else ''}"
            )
    # Every marginal that was measured adds up to a noisy total; the one of least noise is taken.
    history = release.transcript.measurements
    totals = [
        (measured.law.deviation * math.sqrt(block.rows), float(values.sum()), block.rows, number)
        for number, measured in enumerate(history)
        for block, values in zip(measured.blocks, measured.values, strict=True)
        if block.is_marginal and block.scale == 1
    ]
    if release.rehearsal:
        return None
    if unread := _hardly_read(release):
        return unread
    # Figures of which noise may be all there is of their denominators, in every group.
    empty = (each.figure.name for each in release.figures if each.small.size and each.small.all())
    name = next(empty, None)
    nothing = name and (
        f"{plain(name)!r} says nothing in any group: the records that it divides by are no more than noise; the "
        "table is too small for the budget, or the values of its column are not written as the domain file says"
    )
    if not (problem.unit.drops or problem.unit.columns):
        return nothing
    if nobody := _hardly_anybody(release):
        return nobody
    if not totals:
        return nothing
    noise, used, cells, number = min(totals)
    most = history[number].law.tail(DOUBT) * math.sqrt(cells)
    known = problem.persons or problem.declared or problem.n or problem.most
    if (used > most) if known is None else (used + most > known / 2):
        return nothing
    cause = f"the table is too small for the budget, or {by} left out nearly all"
    cause = cause if known is None else f"{known:,} were declared, so {by} left out most, or that number is wrong"
    return (
        f"hardly any {what} were used, or none: about {max(used, 0):,.0f} (+-{noise:.3g}, the "
        f"noise of that count); {cause}"
        f"{_suspect(problem.domain)}"
    )


def _hardly_read(release: FinishedRun) -> str | None:
    """That a measured table has hardly any row with a value of one of its columns: its cells of values that fit nowhere
    hold more than noise alone makes of 0 in any of these tables, as seldom as for rows above, and those of values no
    more than noise. Of learned labels: that more rows have none of them than have one, beyond noise."""
    domain, tables = release.plan.problem.domain, []
    for measured in release.transcript.measurements:
        for block, values in zip(measured.blocks, measured.values, strict=True):
            if not block.is_marginal or block.scale != 1 or not block.axes:
                continue
            table = np.asarray(values).reshape([domain.attributes[axis].size for axis in block.axes])
            for place, attribute in enumerate(domain.attributes[axis] for axis in block.axes):
                unread = [attribute.own_cell(fault) for fault in attribute.own_cells if fault in UNREAD]
                if unread:
                    by_cell = np.moveaxis(table, place, 0).reshape(attribute.size, -1)
                    tables.append((measured.law, attribute, by_cell[unread], by_cell[: attribute.axis.size]))
    learned = domain.learned.columns if domain.learned else ()
    for law, attribute, misfits, proper in tables:
        read, lost, most = float(proper.sum()), float(misfits.sum()), law.tail(DOUBT / len(tables))
        if attribute.name in learned:
            if lost - read > most * math.sqrt(misfits.size + proper.size):
                return (
                    f"about {lost:,.0f} of {lost + read:,.0f} rows have a value of column {plain(attribute.name)!r} "
                    f"that was not learned (+-{law.deviation * math.sqrt(misfits.size):.3g}, the noise of that count; "
                    f"labels learned: {proper.shape[0]:,}): too few have the same; learn for more of the budget, or "
                    "state the labels"
                )
        elif read <= law.tail(DOUBT) * math.sqrt(proper.size) and lost > most * math.sqrt(misfits.size):
            return (
                f"hardly any value of column {plain(attribute.name)!r} was read, or none: about {max(read, 0.0):,.0f} "
                f"(+-{law.deviation * math.sqrt(proper.size):.3g}, the noise of that count), beside {lost:,.0f} that "
                f"fit nowhere; its {_expected_words(attribute)}"
            )
    return None


def _hardly_anybody(release: FinishedRun) -> str | None:
    """That a table of persons adds up to no more than noise alone makes of an empty one, as for rows above; or that
    their number, where it is declared, is less than half of that by the table of all of them."""
    if release.persons is None:
        return None
    drawn, declared = release.persons.measurement, release.plan.problem.persons
    for block, values in zip(drawn.blocks, drawn.values, strict=True):
        if block.sums_totals or block.where:  # nobody need fulfil a condition
            continue
        spread = float(block.scale) * math.sqrt(block.rows)
        most, used = drawn.law.tail(DOUBT) * spread, float(values.sum()) * float(block.scale)
        known = declared if not block.axes else None
        if used <= most or (known is not None and used + most <= known / 2):
            return (
                f"hardly any persons were counted, or none: about {max(used, 0):,.0f} in {block.name!r} "
                f"(+-{drawn.law.deviation * spread:.3g}, the noise of that count)"
                f"{'' if known is None else f'; {known:,} were declared'}; the table is too small for the budget, or "
                f"the domain's rules left out nearly all{_suspect(release.plan.problem.domain)}"
            )
    return None


def _suspect(domain: Domain) -> str:
    """The column that a wrong format would most probably have lost: dates before numbers, numbers before labels."""
    dropping = [
        each for each in domain.attributes if any(each.rule(fault) is Rule.DROP for fault in possible_faults(each.axis))
    ]
    if not dropping:
        return ""
    first, *others = sorted(dropping, key=lambda each: list(KINDS).index(_kind(each)))
    more = f", or {', '.join(repr(plain(each.name)) for each in others[:4])}" if others else ""
    more += " and others" if others[4:] else ""
    return f"; the most probable cause is column {plain(first.name)!r}, whose {_expected_words(first)}{more}"


KINDS = {"datetime": "times", "date": "dates", "number": "numbers", "labels": "labels"}
UNREAD = ("unparsable", "outside")
"""Faults of values that are there and fit nowhere."""


def _kind(attribute: Attribute) -> str:
    return attribute.axis.kind if isinstance(attribute.axis, Bins) else "labels"


def _expected_words(attribute: Attribute) -> str:
    """How a column's values are expected to be written."""
    kind = _kind(attribute)
    if kind == "labels":
        titles = [repr(plain(title)) for title in attribute.axis.titles()[:3]]
        return f"labels are expected, such as {', '.join(titles)}"
    form = f" in the form {attribute.spelling.pattern or 'of ISO 8601'}" if kind in ("datetime", "date") else ""
    return f"{KINDS[kind]} are expected{form}"


def choice_words(plan: Plan) -> str:
    """Why this accountant charges the run; "asked for" where it is the user who says so."""
    if plan.schedule.name == SESSION:
        return "its sum holds however questions follow from answers"
    if "accountant" in plan.named_roles:
        named = not plan.budget.pure and plan.roles.accountant.name in ("basic", "zcdp", "gdp")
        return f"asked for by --accountant{' or by the budget' if named else ''}"
    if plan.budget.pure:
        return "the one theorem that holds without a delta"
    given = " and ".join(f"--{role}" for role in sorted(plan.named_roles))
    allowed = f"of those that go with {given}" if given else "of those allowed"
    return f"{allowed}, the one whose plan is expected to err least"


def ledger_words(release: FinishedRun) -> str:
    """Which releases of the table are covered together."""
    paid = release.paid
    if release.rehearsal:
        return FREE
    if paid is None:
        return NO_LEDGER
    return (
        f"The budget of dataset {paid.dataset!r} paid for it (entry {paid.number} of the ledger); that budget covers "
        "all releases that it pays for together."
    )


FREE = "A rehearsal costs nothing; the prices below are those of the release."


UNPROTECTED = "NOT PRIVATE: the noise came from a repeatable test source and protects nobody."


MADE_UP = "the figures are of made-up rows, and describe nobody"
"""Of a rehearsal, where its receipt is not shown."""


def rehearsal_words(rows: int, released: str) -> str:
    """What stands in the place of a guarantee. released: what the run ended with, in the plural."""
    drawn = f"{rows:,} rows were drawn from the public domain, and no table was opened"
    return f"REHEARSAL: {drawn}; the {released} describe nobody."


def release_guarantee(release: FinishedRun) -> str:
    """The same for a finished release; a rehearsal, and one that was drawn from a test source, claims nothing."""
    if release.rehearsed is not None:
        return rehearsal_words(release.rehearsed, "answers")
    if not release.private:
        return UNPROTECTED
    return guarantee(release.plan)


def certainty(release: FinishedRun) -> str:
    """What is proved of the errors over the workload: certificate and bounds, or why there are none."""
    certificate, bounds, sentences = release.certificate, release.bounds, []
    # Figures are rounded up, and probabilities down: no more is promised than was planned.
    if certificate is not None:
        sentences.append(
            f"Certificate: with probability at least {_confidence(certificate.confidence)}, over the noise of this "
            f"run, none of the {release.plan.problem.workload.rows:,} estimates is off by more than "
            f"{_records(certificate.records)} records{_share(certificate.fraction)}."
        )
    if bounds is not None:
        sentences.append(
            f"Certificate: with probability at least {_confidence(bounds.confidence)}, over the noise of this run, the "
            f"mean L1 error of the {len(bounds.blocks):,} blocks is at most {_records(bounds.mean)} records"
            f"{_share(bounds.fraction)}, and that of each of them at most its own bound in release.json, all at once."
        )
    elif release.plan.phase("bounds"):
        sentences.append("The bounds that --certify bought were lost in a crash.")
    if sentences:
        return " ".join(sentences)
    if release.plan.schedule.name == SESSION:
        return "No certificate: people chose the questions one at a time; each interval says what it rests on."
    if release.plan.stop is None:
        return (
            "No certificate: this schedule has no stop test, so no bound on the error of all answers was bought. "
            f"{bars_words(release.bars)}"
        )
    return (
        "No certificate: the loop ended without meeting its stop test, so no bound on the error of all answers was "
        f"bought. {bars_words(release.bars)}"
    )


def interval_words(release: FinishedRun) -> str:
    """What the intervals of a release promise."""
    if release.plan.schedule.name == SESSION:
        return f"{INTERVALS} {COMPARED}"
    return INTERVALS if release.certificate is None else f"{INTERVALS} {CERTIFIED}"


def bars_words(bars: ErrorBars) -> str:
    """What the errors of the estimates are, and what they rest on."""
    if bars.missing is not None:
        return f"The errors of the estimates are not known: {bars.missing}."
    if not bars.refits and bars.known:
        return KNOWN
    if not bars.refits:
        return "Noise deviation and interval speak of the measured value beside them."
    sentence = f"The errors of the estimates are estimated from {count_words(bars.refits, 'refit')} with new noise"
    left = len(bars.factors)
    blocks = f"; those of {left:,} unmeasured {'block' if left == 1 else 'blocks'} {SOURCES[bars.source]}"
    return f"{sentence}{blocks if left else ''}."


def _share(fraction: float | None) -> str:
    return "" if fraction is None else f" ({upward_text(Fraction(fraction), 4)} of the declared n)"


def _records(bound: float) -> str:
    return f"{math.ceil(bound):,}" if bound >= 1000 else upward_text(Fraction(bound), 6)


def _confidence(probability: float) -> str:
    return downward_text(Fraction(str(min(probability, math.nextafter(1, 0)))), 9)


# Sentences for readers: what was done, and what it means for the figures. Subject, verb, number with its unit.
#
# Privacy: they follow from the plan, from released draws and from how many of these were chosen; all of it is public.

WHY: tuple[tuple[str, str], ...] = (
    (r"all columns together are measured", "one measurement of all columns leaves less noise than several would"),
    (
        r"all blocks (?:are|were) measured once: at ([\d,]+)",
        "for about {0} records choosing was forecast to leave a larger error",
    ),
    (
        r"all blocks are measured",
        "a choice would have passed over few of them, and would have cost a part of the budget",
    ),
    (r"all pairs of columns below the blocks (?:are|were)", "pairs of columns have far less noise than larger tables"),
    (r"one-way marginals alone (?:are|were)", "noise would have hidden what several columns show together"),
    (r"one table of all columns was", "one measurement of all columns leaves less noise than several would"),
    (r"every block looks at one column", "no question needs two columns at once, so there was nothing to choose"),
)
"""Notes of a plan by how they begin, and the reason that they give a reader why no measurement was chosen."""
MIDPOINTS: tuple[tuple[str, str], ...] = (
    (
        r"(.+): counts each record with its bin's midpoint: an error of at most (\S+) a record within the bounds",
        "{0}: each value counts as the middle of its interval, at most {1} away; the figure may have as large an "
        "error in addition to the noise.",
    ),
    (
        r"(.+): counts each row with its bin's midpoint: an error of at most (\S+) for each row of a person's total",
        "{0}: each row's value counts as the middle of its interval, at most {1} away; a person's total may be off by "
        "as much for each of their rows, in addition to the noise.",
    ),
)
"""Notes of bins that count as their midpoints, and what a reader gets instead."""

SAID: tuple[tuple[str, str], ...] = (
    *MIDPOINTS,
    (
        r"a noisy count of the records \((\S+) of the budget\).*",
        "A noisy count of the records took {0} of the budget; all answers agree with it.",
    ),
    (
        r"the (\S+) blocks that the search had not measured had an error of about (.+) \(L1 over n\).*: (.+)",
        "A noisy check of the {0} tables that no round had chosen found an error of about {1} in each, summed over its "
        "cells, as a part of the records: {2}.",
    ),
    (
        r".+: one-way marginals leave about (.+) \(L1 over n\) in pairs of columns.*",
        "A noisy sum over all pairs of columns, which decided what was measured, found them about {0} away from "
        "independence, as a part of the records.",
    ),
    (
        r"estimates are the weighted mean of several models of the noisy answers: (.+); the weights are.*",
        "Estimates are the weighted mean of several models of what was measured: {0}. The weights are those that best "
        "predicted noisy answers that no model had seen.",
    ),
    (
        r"in parts: (\S+) of the budget for the columns that queries join, by marginals; (\S+) for (.+), which no .+",
        "{0} of the budget was for the columns that questions join, {1} for {2}, which no question joins with others.",
    ),
    (
        r"strategy for (.+?): .+, expected error (\S+) a query.*",
        "What was to be measured of {0} was chosen for the questions about it: an error of about {1} was expected in "
        "each answer.",
    ),
    (
        r"(?:a noisy count of all records, .+; )?noisy counts of boxes of cells, for .+",
        "A noisy first look decided whether neighbouring cells are counted together.",
    ),
    (
        r"(.+): (?:after|without) .+ looks? at boxes, buckets are expected to leave (.+) the strategy's error: the "
        r"strategy was measured.*",
        "{0}: cells were not counted together, which was expected to leave {1} the error; its measured answers are "
        "unbiased.",
    ),
    (
        r"(.+): (?:after|without) .+ looks? at boxes, buckets are .+: cells were merged into (\S+) buckets; expected "
        r"error (\S+) a query, .+ \(of the strategy: (\S+)\); answers are biased by what an even spread hides",
        "{0}: neighbouring cells were counted together, in {1} groups; an error of about {2} is expected in each "
        "answer, not {3}. Within a group records count as evenly spread, which biases answers where they are not.",
    ),
    (
        r"(.+?): (.+): the strategy was measured, and its answers are unbiased",
        "{0}: cells were not counted together ({1}); its measured answers are unbiased.",
    ),
    (
        r"columns that stand apart are independent of all others in the model: .+",
        "Columns that no question joins with others count as independent of them, and their counts were made to add "
        "up: estimates about them may be biased.",
    ),
    (r"(?:--schedule auto|no errors of unmeasured blocks|one-way marginals (?:come|were measured) first).*", ""),
)
"""Notes of a plan that speak to its maker, and what a reader gets instead; nothing: the first sentence says it."""

PLANNED: tuple[tuple[str, str], ...] = (
    *MIDPOINTS,
    (
        r"a noisy count of the records \((\S+) of the budget\) decides what is measured: (.+); the answers' total .*",
        "A noisy count of the records comes first, for {0} of the budget. It decides what is measured: {1}.",
    ),
    (
        r"one-way marginals come first; then choices .*",
        "A search measures each column first. Each round then chooses, up to noise, a block that its model explains "
        "worst, and measures it. Where a noisy error of the columns in pairs favours it, all blocks are measured "
        "without a choice.",
    ),
)
"""Notes of a plan, and what whoever plans gets instead."""


def planner_note(note: str) -> str:
    """A note of a plan before it runs, by the catalogue; one that it does not know stands as it is."""
    for pattern, text in PLANNED:
        if found := re.fullmatch(pattern, note):
            return text.format(*found.groups())
    return note


def release_notes(release: FinishedRun) -> Iterator[str]:
    """What a reader must know of a finished release, warnings left out."""
    chosen = [finished.choice is not None for finished in release.transcript.rounds]
    about_rows = sum(
        answers.block.most_cells is None for answers in release.answers
    )  # persons are counted beside the loop
    persons = bool(release.plan.persons)
    yield from reader_notes(release.trust, chosen, about_rows, release.plan.schedule.name, persons=persons)


def reader_notes(
    trust: Sequence[str], chosen: Sequence[bool], questions: int, schedule: str, *, persons: bool = False
) -> Iterator[str]:
    """What a reader must know of how the figures came about.

    Args:
        trust: all notes of the release; its warnings stand elsewhere. chosen: of each measurement, whether the run has
            chosen it among others. questions: number of blocks of rows. schedule: its name. persons: whether persons
            are counted beside rows.
    """
    # Each note by the catalogue; one that it does not know stands as it is.
    reasons: list[str] = []
    said: list[str] = []
    for note in trust:
        for pattern, text in WHY + SAID:
            if found := re.match(pattern, note):
                (reasons if (pattern, text) in WHY else said).append(text.format(*found.groups()))
                break
        else:
            said += [] if note.startswith(WARNING) else [note]
    rounds, words = sum(chosen), f"{count_words(questions, 'question')}{' about rows' if persons else ''}"
    if rounds:
        before = list(chosen).index(True)
        after = len(chosen) - before - rounds
        first = f"{count_words(before, 'measurement')} came first. Then the" if before else "The"
        last = f" {count_words(after, 'more measurement')} followed." if after else ""
        yield (
            f"{first} Iterative Construction ran {count_words(rounds, 'round')}: each chose what lay furthest from its "
            f"model, up to noise, and measured it.{last} The answers to {words} follow from the model."
        )
    elif chosen and schedule != SESSION:
        why = min(reasons, key=len) if reasons else "its plan had fixed what is measured"
        made = f"{count_words(len(chosen), 'measurement')}, {'which was' if len(chosen) == 1 else 'each'} made once"
        yield (
            f"The answers to {words} rest on {made}. None was chosen by what another one showed, so the Iterative "
            f"Construction ran no round: {why}."
        )
    yield from filter(None, said)


def rows_used(
    whose: str | None, rows: int, dropping: Sequence[str], clipping: Sequence[str], *, counted: bool = True
) -> str:
    """What answers are of, where they may not be of all rows; empty: of all. counted: whether a released count says
    how many others there are."""
    sentences = [f"At most {count_words(rows, 'row')} of each {whose} are used."] if whose else []
    if whose and not counted:
        sentences.append("What share of all rows that is, is not known: nobody paid for a count of the others.")
    if dropping:
        sentences.append(f"Rows are left out whose value of {_listed(dropping, 'or')} is none that the domain allows.")
    if clipping:
        sentences.append(f"Values of {_listed(clipping, 'and')} beyond the bounds count as the nearest bound.")
    return " ".join(sentences)


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
