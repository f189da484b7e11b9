"""The receipt of a release: what it promises, what each draw cost, what a reader must know. ASCII but for names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce

from dpqr.construction.release import Release
from dpqr.construction.sentences import (
    WHOLE,
    certainty,
    choice_words,
    dropped_warning,
    dropped_words,
    errors_words,
    ledger_words,
    parallel_words,
    release_guarantee,
)
from dpqr.privacy.accountants.by_count import ByCount
from dpqr.privacy.budget import Price, upward_text
from dpqr.report.plan_view import drawn_alike
from dpqr.report.wording import DIGITS, Fact, amount, counted, plain, price_words, prices_words
from dpqr.strategies.plan import Phase, Plan
from dpqr.strategies.schedules.by_count import followed


def receipt(release: Release) -> tuple[Fact, ...]:
    """The full receipt, as release.json keeps it and `dpqr show` prints it."""
    trust = (("Note", sentence) for sentence in release.trust)
    return (*_promise(release), *_draws(release), *_total(release), ("Accuracy", certainty(release)), *trust)


def _promise(release: Release) -> Iterator[Fact]:
    """First of all what may have gone wrong."""
    warning = dropped_warning(release)
    if warning:
        yield "Warning", warning
    yield "Guarantee", release_guarantee(release)
    if release.private:
        yield "", ledger_words(release)
    if release.planned:
        yield "Plan", plan_words(release)


def plan_words(release: Release) -> str:
    """The hash of the plan, and who approved it."""
    approver = release.reason.approved_by
    return plain(release.planned + (f", approved by {approver}" if approver else ""))


def _draws(release: Release) -> Iterator[Fact]:
    """The price of every planned draw; the guarantee is that of all, wherever the loop ended."""
    plan = release.plan
    done = len(release.transcript.rounds) - len(plan.opening)
    for phases in drawn_alike(plan):
        phase = phases[0]
        match phase.noun:
            case "left out" if release.dropped:
                count, noise = amount(release.dropped.estimate), amount(release.dropped.deviation)
                unit, price = plan.problem.unit, price_words(phase.price)
                yield "Left out", f"{count} +-{noise} (noise): {dropped_words(unit)}; {price}{parallel_words(unit)}"
            case "opening":
                yield "Opening", _cost(plan, phases, "measurement")
            case "selection" | "measurement" if not plan.named("search"):
                yield phase.noun.capitalize(), _cost(plan, phases, "draw")
            case "search" if phase is plan.named("search")[-1]:
                yield _searched(release)
            case "questions":
                asked, surprises = counted(len(release.answers), "question"), len(release.transcript.rounds)
                set_aside = f"{price_words(phase.price)} was set aside for thresholds and surprises"
                yield "Asked", f"{asked}; {counted(surprises, 'surprise')}; {set_aside}"
            case "errors" | "bounds":
                yield "Errors", f"{errors_words(phase)}: {_bought(release, phase)}"
    if plan.stop:
        yield "Stop test", "costs nothing of its own: it compares what the measurements released"
    if done < plan.rounds and not plan.named("search"):
        ended = "by its stop test" if release.transcript.stopped else "early"
        yield "", f"the loop ended {ended} after {counted(done, 'round')}; {WHOLE}"


def _searched(release: Release) -> Fact:
    """What was drawn after the opening, and all that the filter allowed for it."""
    plan = release.plan
    rounds = release.transcript.rounds[len(plan.opening) :]
    draws = [phase for phase in plan.phases if phase.noun in ("stage", "selection", "measurement")]
    search, counted_first = plan.named("search"), plan.roles.accountant.name == ByCount.name
    prices = [search[0].price] if counted_first else [phase.price for phase in draws for _ in range(phase.count)]
    whole = price_words(reduce(Price.plus, prices))
    if plan.named("stage"):
        return "Later", f"{counted(len(rounds), 'measurement')}, together {whole}"
    chosen = sum(finished.choice is not None for finished in rounds)
    words = f"{counted(chosen, 'choice')} and {counted(len(rounds), 'measurement')}"
    return "Search", f"{words}, at prices that followed what was released, together at most {whole}"


def _bought(release: Release, phase: Phase) -> str:
    """What was drawn for it, and at what price."""
    price = followed(release.plan, release.transcript).price(phase.noun) or phase.price
    found, each = release.errors, "each " if phase.count > 1 else ""
    if found is None:
        return f"none was drawn; set aside were {each}{price_words(price)}"
    groups, blocks = found.sums.errors.groups, found.sums.errors.blocks
    shared = "" if len(groups) == len(blocks) else f" in {counted(len(groups), 'group')}"
    return f"{counted(len(blocks), 'block')}{shared}, {each}{price_words(price)}"


def _cost(plan: Plan, phases: Sequence[Phase], noun: str) -> str:
    """Each draw's price, and their sum where the accountant adds prices up."""
    count, prices = sum(phase.count for phase in phases), [phase.price for phase in phases]
    each = f"{counted(count, noun)}, {prices_words(count, prices)}"
    if count == 1 or not (prices[0].epsilon is None or plan.roles.accountant.name == "basic"):
        return each
    whole = reduce(Price.plus, (phase.price.times(Fraction(phase.count)) for phase in phases))
    return f"{each}, together {price_words(whole)}"


def _total(release: Release) -> Iterator[Fact]:
    """Epsilon at the plan's delta under every accountant; the guarantee is the budget, under the one charged."""
    charged, own = release.plan.roles.accountant.name, "reserved" if release.charged else "charged"
    name = "Total"
    for accountant, spent in release.spent.items():
        figure = "does not cover this run" if spent is None else f"eps {upward_text(spent, DIGITS)}"
        yield name, f"{accountant}: {figure}{f' ({own})' if accountant == charged else ''}{_apart(release, accountant)}"
        name = ""
    if len(release.costs) > 1:
        free = release.plan.named("left out") and release.plan.problem.unit.apart
        beside = "; left out is covered by the larger price of all others" if free else ""
        yield "", f"figures in brackets: each phase by itself; only those of basic add up to the total{beside}"
    shown = f"by {charged}: {choice_words(release.plan)}; the others are shown for comparison"
    if release.charged:
        rest = "the rest is back in the budget, and the guarantee stays that of the whole plan"
        yield "Charged", f"{release.charged}, for the draws that were made; {rest}"
    yield "" if release.charged else "Charged", shown


def _apart(release: Release, accountant: str) -> str:
    """What the phases cost by themselves: " [selection 0.1, measurement 0.2]"; nothing for a single one."""
    prices = {phase: costs.get(accountant) for phase, costs in release.costs.items()}
    known = [f"{phase} {upward_text(price, DIGITS)}" for phase, price in prices.items() if price is not None]
    return f" [{', '.join(known)}]" if len(prices) > 1 and known else ""
