"""The receipt of a release: what it promises, what each draw cost, what a reader must know. ASCII but for names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import groupby

from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.pld import PrivacyLossDistribution
from dpqr.kernel.accountants.sums import ZeroConcentrated
from dpqr.kernel.budget import Price, upward_text
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.wording import (
    DIGITS,
    Fact,
    amount,
    bytes_words,
    count_words,
    figures_words,
    plain,
    price_words,
    prices_words,
    seconds_words,
)
from dpqr.ledger.ledger import Reason
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import (
    CHECK,
    GIVEN_BACK,
    WARNING,
    WHOLE_SCHEDULE_NOTE,
    certainty,
    choice_words,
    dropped_words,
    errors_words,
    guarantee,
    ledger_words,
    left_out_warning,
    parallel_words,
    planner_note,
    release_guarantee,
    release_notes,
    whole_price_facts,
)
from dpqr.strategies.plan import BlockForecast, Phase, Plan
from dpqr.strategies.schedules.by_count import actual_plan


def receipt(release: FinishedRun) -> tuple[Fact, ...]:
    """The full receipt, as release.json keeps it and `dpqr show` prints it."""
    warned = (("Warning", note.removeprefix(WARNING)) for note in release.trust if note.startswith(WARNING))
    notes = (("Note", sentence) for sentence in release_notes(release))
    return (*_promise(release), *warned, *_draws(release), *_total(release), ("Accuracy", certainty(release)), *notes)


def _promise(release: FinishedRun) -> Iterator[Fact]:
    """First of all what may have gone wrong."""
    warning = left_out_warning(release)
    if warning:
        yield "Warning", f"{warning}; {CHECK}"
    if release.private and release.rehearsed is None:
        yield from whole_price_facts(release.plan)
    yield "Guarantee", release_guarantee(release)
    if release.private:
        yield "", ledger_words(release)
    if release.planned:
        yield "Plan", plan_words(release)


def _persons_words(plan: Plan) -> str:
    """The tables of persons, what each counts, and the noise of one draw."""
    tables = []
    for block, one in zip(plan.persons, plan.person_forecast, strict=True):
        cells, unit = count_words(block.most_cells or 1, "cell"), "in its sums" if block.sums_totals else "persons"
        tables.append(f"{block.name} (each in {cells} at most): +-{amount(one.deviation)} {unit}")
    return f"{'; '.join(tables)} (noise, standard deviation)"


def plan_words(release: FinishedRun) -> str:
    """The hash of the plan, and who approved it."""
    approver = release.reason.approved_by
    return plain(release.planned + (f", approved by {approver}" if approver else ""))


def _draws(release: FinishedRun) -> Iterator[Fact]:
    """The price of every planned draw; the guarantee is that of all, wherever the loop ended."""
    plan = release.plan
    done = len(release.transcript.rounds) - len(plan.opening)
    for phases in group_alike_phases(plan):
        phase = phases[0]
        match phase.noun:
            case "left out" if release.dropped:
                count, noise = amount(release.dropped.estimate), amount(release.dropped.deviation)
                unit, price = plan.problem.unit, price_words(phase.price)
                yield "Left out", f"{count} +-{noise} (noise): {dropped_words(unit)}; {price}{parallel_words(unit)}"
            case "persons":
                yield "Persons", f"{_persons_words(plan)}; {price_words(phase.price)}"
            case "opening":
                yield "Opening", _cost(plan, phases, "measurement")
            case "selection" | "measurement" if not plan.named("search"):
                yield phase.noun.capitalize(), _cost(plan, phases, "draw")
            case "search" if phase is plan.named("search")[-1]:
                yield _searched(release)
            case "questions":
                questions, surprises = count_words(len(release.answers), "question"), len(release.transcript.rounds)
                set_aside = f"{price_words(phase.price)} was set aside for thresholds and surprises"
                yield "Asked", f"{questions}; {count_words(surprises, 'surprise')}; {set_aside}"
            case "errors" | "bounds":
                yield "Errors", f"{errors_words(phase)}: {_bought(release, phase)}"
    if plan.stop:
        yield "Stop test", "costs nothing of its own: it compares what the measurements released"
    if done < plan.rounds and not plan.named("search"):
        ended = "by its stop test" if release.transcript.stopped else "early"
        yield "", f"the loop ended {ended} after {count_words(done, 'round')}; {WHOLE_SCHEDULE_NOTE}"


def _searched(release: FinishedRun) -> Fact:
    """What was drawn after the opening, and all that the filter allowed for it."""
    plan = release.plan
    rounds = release.transcript.rounds[len(plan.opening) :]
    draws = [phase for phase in plan.phases if phase.noun in ("stage", "selection", "measurement")]
    search, counted_first = plan.named("search"), plan.roles.accountant.name == ByCount.name
    prices = [search[0].price] if counted_first else [phase.price for phase in draws for _ in range(phase.count)]
    whole = price_words(reduce(Price.plus, prices))
    if plan.named("stage"):
        return "Later", f"{count_words(len(rounds), 'measurement')}, together {whole}"
    chosen = sum(finished.choice is not None for finished in rounds)
    words = f"{count_words(chosen, 'choice')} and {count_words(len(rounds), 'measurement')}"
    return "Search", f"{words}, at prices that followed what was released, together at most {whole}"


def _bought(release: FinishedRun, phase: Phase) -> str:
    """What was drawn for it, and at what price."""
    price = actual_plan(release.plan, release.transcript).price(phase.noun) or phase.price
    found, each = release.errors, "each " if phase.count > 1 else ""
    if found is None:
        return f"none was drawn; set aside were {each}{price_words(price)}"
    groups, blocks = found.sums.errors.groups, found.sums.errors.blocks
    shared = "" if len(groups) == len(blocks) else f" in {count_words(len(groups), 'group')}"
    return f"{count_words(len(blocks), 'block')}{shared}, {each}{price_words(price)}"


def _cost(plan: Plan, phases: Sequence[Phase], noun: str) -> str:
    """Each draw's price, and their sum where the accountant adds prices up."""
    count, prices = sum(phase.count for phase in phases), [phase.price for phase in phases]
    each = f"{count_words(count, noun)}, {prices_words(count, prices)}"
    if count == 1 or not (prices[0].epsilon is None or plan.roles.accountant.name == "basic"):
        return each
    whole = reduce(Price.plus, (phase.price.times(Fraction(phase.count)) for phase in phases))
    return f"{each}, together {price_words(whole)}"


def _total(release: FinishedRun) -> Iterator[Fact]:
    """Epsilon at the plan's delta under every accountant; the guarantee is the budget, under the one charged."""
    charged, own = release.plan.roles.accountant.name, "reserved" if release.charged else "charged"
    name = "Total"
    for accountant, spent in release.spent.items():
        figure = "does not cover this run" if spent is None else f"eps {upward_text(spent, DIGITS)}"
        # What the phases cost by themselves; nothing for a single one.
        prices = {phase: costs.get(accountant) for phase, costs in release.costs.items()}
        known = [f"{phase} {upward_text(price, DIGITS)}" for phase, price in prices.items() if price is not None]
        apart = f" [{', '.join(known)}]" if len(prices) > 1 and known else ""
        yield name, f"{accountant}: {figure}{f' ({own})' if accountant == charged else ''}{apart}"
        name = ""
    if len(release.costs) > 1:
        free = release.plan.named("left out") and release.plan.problem.unit.apart
        beside = "; left out is covered by the larger price of all others" if free else ""
        yield "", f"figures in brackets: each phase by itself; only those of basic add up to the total{beside}"
    shown = f"by {charged}: {choice_words(release.plan)}; the others are shown for comparison"
    if release.charged:
        yield "Charged", f"{release.charged}, for the draws that were made; {GIVEN_BACK}"
    yield "" if release.charged else "Charged", shown


# The plan as text: what a run will do, cost and be worth, before any data is opened.

COMPARED_ACCOUNTANTS = (ZeroConcentrated(), PrivacyLossDistribution())
"""Accountants whose prices a plan under Gaussian DP shows too."""


def plan_facts(plan: Plan, taken: Resources | None = None) -> tuple[Fact, ...]:
    """The whole plan, for `--dry-run`. Public facts only; ASCII but for names that documents bring.

    taken: the forecast of time and memory; None: that of a run without files.
    """
    taken = taken or Resources.of(plan)
    reading = f"and {seconds_words(taken.reading)} for each million rows of the table"
    time = f"about {seconds_words(taken.seconds)} of one processor, {reading}"
    files = "" if taken.files is None else f"; files of about {bytes_words(taken.files)}, synthetic rows not counted"
    takes = (("Time", time), ("Memory", f"about {bytes_words(taken.memory)}{files}"))
    question = (*_question(plan), *_worth(plan), _universe(plan))
    return (*question, *_planned_draws(plan), *_means(plan), *takes, *_notes(plan))


def approved_facts(plan: Plan, sha256: str, dataset: str, reason: Reason) -> tuple[Fact, ...]:
    """What was approved: whose budget pays once, for what, and by which plan."""
    forecast = [line for line in _worth(plan) if line[0]]
    approved = ("Approved", plain(f"one release of {dataset!r} by this plan, {reason.words}"))
    means = (
        "Schedule",
        f"{plan.schedule.name}, {plan.roles.check.name} noise, charged by {plan.roles.accountant.name}",
    )
    return (*_question(plan), *forecast, _universe(plan), means, *_notes(plan), ("Plan", sha256), approved)


def approved_learning_facts(
    columns: Sequence[str], lines: Sequence[str], sha256: str, dataset: str, reason: Reason
) -> tuple[Fact, ...]:
    """The same of a run that learns labels or bounds of columns, or the rows of each person. lines: its plan."""
    price, *means = map(plain, lines)
    learned = plain(", ".join(columns)) or "the rows of each person"
    approved = ("Approved", plain(f"one run of {dataset!r} that learns by this plan, {reason.words}"))
    facts = [("Learned", learned), ("Price", price), *(("Note", line) for line in means)]
    return (*facts, ("Plan", sha256), approved)


def _question(plan: Plan) -> Iterator[Fact]:
    problem = plan.problem
    yield from whole_price_facts(plan)
    yield "Guarantee", guarantee(plan)
    yield (
        "Workload",
        f"{count_words(problem.workload.rows, 'query')} in {count_words(len(problem.workload.blocks), 'block')}",
    )
    if named := figures_words([figure.name for figure in problem.workload.figures]):
        yield "Figures", named
    if problem.n is not None:
        yield "Records", f"{problem.n:,}, as declared"
    elif problem.most is not None and problem.persons is None:
        yield "Records", f"{problem.most:,}, as declared, those included that the domain's rules leave out"
    if problem.persons is not None:
        yield "Persons", f"{problem.persons:,}, as declared"


def _universe(plan: Plan) -> Fact:
    domain = plan.problem.domain
    return "Universe", f"{count_words(domain.size, 'cell')} in {count_words(len(domain.attributes), 'column')}"


def group_alike_phases(plan: Plan) -> Iterator[tuple[Phase, ...]]:
    """The phases, of which measurements before any selection that follow one another differ in price alone."""
    for noun, found in groupby(plan.phases, key=lambda phase: phase.noun):
        phases = tuple(found)
        yield from (phases,) if noun == "opening" else ((phase,) for phase in phases)


def _planned_draws(plan: Plan) -> Iterator[Fact]:
    """What is drawn, how often, and the price of each draw: a line a phase, and one for both draws of a round."""
    yield "Schedule", plan.schedule.name
    for phases in group_alike_phases(plan):
        phase = phases[0]
        match phase.noun:
            case "left out":
                unit, price = plan.problem.unit, price_words(phase.price)
                yield "Left out", f"a noisy count of {dropped_words(unit)}, {price}{parallel_words(unit)}"
            case "persons":
                yield "Persons", f"{_persons_words(plan)}; {price_words(phase.price)}"
            case "opening":
                nothing = "" if plan.named("stage") else "for the whole workload, nothing is selected"
                covered = "before any selection" if plan.rounds else nothing
                count, own = sum(phase.count for phase in phases), [phase.price for phase in phases]
                number = f"{count_words(count, 'measurement')} {covered}".rstrip()
                yield "First", f"{number}, {prices_words(count, own)}"
            case "questions":
                yield "Questions", f"one at a time; all surprises together {price_words(phase.price)}"
            case "measurement" if plan.rounds:
                yield ("Then" if plan.opening else "Rounds"), _round(plan, plan.named("selection")[0], phase)
    if stages := plan.named("stage"):
        prices = [phase.price for phase in stages for _ in range(phase.count)]
        most = f"up to {count_words(len(prices), 'measurement')}, each decided by what was released before"
        yield "Then", f"{most}; together {price_words(reduce(Price.plus, prices))}"
    for phase in (*plan.named("errors"), *plan.named("bounds")):
        each = "each " if phase.count > 1 else ""
        yield "Errors", f"{errors_words(phase)}, {each}{price_words(phase.price)}"
    if plan.stop and plan.stop.stages:
        # What is likely and what is certain; certain figures are rounded up.
        first, last = (f"{float(alpha):.3g}" for alpha in (plan.stop.stages[0], plan.stop.stages[-1]))
        number = count_words(len(plan.stop.stages), "stage")
        beta = upward_text(plan.problem.beta, DIGITS)
        yield "Stages", f"alpha falls from {first} to {last} of the records in {number} at most"
        yield "", "a noisy answer within 3/4 alpha n ends a stage, with a certificate; the best one is released"
        yield "Accuracy", f"certificates hold all at once, except with probability beta = {beta}"
        if plan.stop.certain is None:
            yield "", "certain beforehand: no alpha below 1"
        else:
            stated = ", if the rule's stated mistake bound holds" if plan.stop.promise == "stated" else ""
            yield "", f"certain beforehand, on every table: alpha = {upward_text(plan.stop.certain, DIGITS)}{stated}"
        if plan.stop.paper is not None:
            likely = f"about {float(plan.stop.paper):.2g}, what {plan.rounds:,} rounds reach"
            yield "", f"likely: {likely}; `dpqr plan` simulates it"
    elif plan.stop and plan.stop.threshold is not None and plan.problem.alpha is not None:
        # The theory's promise; alpha and beta are rounded up.
        alpha, beta = (upward_text(figure, DIGITS) for figure in (plan.problem.alpha, plan.problem.beta))
        near = amount(float(plan.stop.threshold))
        yield "Stop test", f"a noisy answer within {near} records (3/4 alpha n) ends the loop"
        if plan.stop.promise != "heuristic":
            held = ", if the rule's stated mistake bound holds" if plan.stop.promise == "stated" else ""
            kept = f"except with probability beta no answer is off by more than alpha n{held}"
        else:
            kept = "a heuristic aim for the largest error, alpha n: no proof stands behind the number of rounds"
        yield "Accuracy", f"alpha = {alpha} of the records, beta = {beta}: {kept}"
        yield "", f"T0 = {plan.rounds:,} rounds at most, all of them in the guarantee wherever the loop stops"


def _round(plan: Plan, selection: Phase, measurement: Phase) -> str:
    leading = next((event for event, _ in selection.events), None)
    chosen = _alone(
        selection.price, leading.epsilon if isinstance(leading, ExponentialEvent | PermuteAndFlipEvent) else None
    )
    measured = _alone(measurement.price, measurement.price.pure if plan.roles.check.pure else None)
    prices = (
        f"choosing costs {price_words(selection.price)}{chosen}, measuring {price_words(measurement.price)}{measured}"
    )
    each = "in the one round" if plan.rounds == 1 else f"each of {plan.rounds:,} rounds"
    return f"{f'worst-case plan: {each}' if plan.schedule.adaptive else each}: {prices}"


def _alone(price: Price, epsilon: Fraction | None) -> str:
    """The epsilon of one draw by itself, for a price that is counted in rho or mu^2."""
    return "" if price.epsilon is not None or epsilon is None else f" (eps {upward_text(epsilon, DIGITS)} by itself)"


def _worth(plan: Plan) -> Iterator[Fact]:
    """The error of all answers, where it has a closed form; then the noise of measured ones."""
    if not plan.forecast:
        return
    from dpqr.releases.forecast.simulation import closed_mean

    if (error := closed_mean(plan)) is not None:
        yield (
            "Error",
            f"{amount(error)} on average: mean of the queries' mean absolute errors, in records (closed form)",
        )
    else:
        yield "Error", "depends on the table: the forecast of `dpqr plan` says it, question by question"
    ranked = sorted(plan.forecast, key=lambda block: block.deviation)
    narrowest, widest = ranked[0], ranked[-1]
    plan_words = "worst-case plan: " if plan.named("search") else ""
    typical = f"{plan_words}typically {amount(plan.typical_noise)} on a measured answer"
    yield "Noise", f"{typical} (standard deviation, in records)"
    if widest.deviation > narrowest.deviation:
        yield "", f"widest {_block(widest)}, narrowest {_block(narrowest)}; a sum's is in its column's unit"


def _block(block: BlockForecast) -> str:
    figure = block.deviation if block.deviation < 10**DIGITS else float(f"{block.deviation:.{DIGITS}g}")
    return f"{amount(figure)} in {plain(block.name)!r}"


def _means(plan: Plan) -> Iterator[Fact]:
    roles = plan.roles
    yield "Accountant", f"{roles.accountant.name}: {choice_words(plan)}"
    # The first paragraph of a strategy's own description.
    if theorem := " ".join((inspect.getdoc(type(roles.accountant)) or "").split("\n\n", 1)[0].split()):
        yield "", theorem
    proved = upward_text(plan.epsilon, DIGITS)
    yield "", f"it proves eps {proved} for this plan, within the budget's eps {upward_text(plan.budget.epsilon)}"
    if roles.accountant.name == "gdp":
        beside = ((one.name, one.epsilon(plan.events, plan.budget.delta)) for one in COMPARED_ACCOUNTANTS)
        words = (f"eps {upward_text(found, DIGITS)} by {name}" for name, found in beside if found)
        yield "", f"the same draws cost {', '.join(words)}"
    yield "Strategies", f"{roles.distinguisher.name} selection, {roles.check.name} noise, {roles.update.name} update"


def _notes(plan: Plan) -> Iterator[Fact]:
    for note in plan.notes:
        yield "Note", plain(planner_note(note))
