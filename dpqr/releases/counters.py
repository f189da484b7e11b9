"""Counters: cumulative counts over periods, planned from options."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dpqr.domain.domain import Domain
from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import PrivacyBudget, upward_text
from dpqr.kernel.currency import PAIR
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import RELEASED, BudgetTerms, LedgerEntry
from dpqr.releases.answers.answered import Earlier
from dpqr.releases.record.parts import written
from dpqr.releases.record.plan_document import CounterPart
from dpqr.releases.requests import WITHOUT_BUDGET, LedgerRequest, PlanRequest, ReleaseRequest
from dpqr.strategies.counter import Counter, CounterStep
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.tables.source import TableSource

if TYPE_CHECKING:
    from dpqr.ledger.record import Record
    from dpqr.releases.files.read_release import ReleaseFiles

SCHEDULE = "strategy"
"""Its answers are unbiased and their errors known, so that both add up."""


def with_first(request: ReleaseRequest) -> ReleaseRequest:
    """The request with the first period of its counter: that of the release before, or else its own.

    Raises:
        UsageFault: --after without --cumulative, or a release of no counter.
    """
    plan = request.plan
    if plan.cumulative is None:
        if request.after is not None:
            raise UsageFault("--after names the release before of a counter; add --cumulative PERIODS")
        return request
    if plan.first is not None:
        return request
    if request.after is None:
        return replace(request, plan=replace(plan, first=plan.period))
    from dpqr.releases.files.read_release import read_release

    return replace(request, plan=replace(plan, first=counter_of(read_release(request.after))["first"]))


def with_counter_strategies(request: PlanRequest) -> PlanRequest:
    """The request with the strategies of a counter. UsageFault for others, and for a counter without a period."""
    if request.cumulative is None:
        return request
    if request.period is None:
        raise UsageFault("--cumulative counts up to and including a period; add --period, for example 2026-03")
    if request.schedule not in ("auto", SCHEDULE):
        raise UsageFault(
            f"--schedule {request.schedule}: a counter adds up answers, which only those of --schedule {SCHEDULE} "
            "allow; leave it out"
        )
    if request.n is not None:
        raise UsageFault("--cumulative: how many rows have come so far is private and cannot be stated; leave --n out")
    pure = PrivacyBudget.parse(request.epsilon, request.delta).pure
    return replace(request, schedule=SCHEDULE, accountant=request.accountant or ("basic" if pure else "zcdp"))


def with_counter_step(problem: Problem, request: PlanRequest) -> Problem:
    """The problem with what this release is of its counter, and so with the rows that it reads.

    Raises:
        UsageFault: a period that is none of the counter's, or more than counts where a unit may be in many nodes.
    """
    if request.cumulative is None or problem.period is None:
        return problem
    unit, rows = problem.unit, problem.period
    if unit.neighbours is Neighbours.REPLACE:
        unit = replace(unit, drops=True)  # a replaced row may come from, or go to, a period that is not read
    if not unit.apart:
        # Privacy: `Counter` prices a node by how far the rows that it uses move its answers, so where a unit may have
        # rows in many nodes nothing else is drawn. Rows that a node leaves out are bounded in each release alone.
        share = None if request.error_bars in WITHOUT_BUDGET else request.error_bars
        options = {"--count-dropped": request.count_dropped, "--certify": request.certify, "--error-bars": share}
        for option, value in options.items():
            if value is not None:
                raise UsageFault(
                    f"{option} {value}: a counter of persons, or under --neighbours replace, releases its counts "
                    "alone; leave it out"
                )
    life = PrivacyBudget.parse(request.epsilon, request.delta)
    counter = Counter.of(request.cumulative, life, str(request.accountant), unit)
    turn = CounterStep(
        counter=counter,
        first=Period.parse(request.first or rows.period.name, rows.period.every),
        period=rows.period,
    )
    first = None if not unit.columns else turn.first
    return replace(problem, unit=unit, turn=turn, period=replace(rows, since=turn.since, first=first))


def counter_notes(turn: CounterStep | None) -> tuple[str, ...]:
    """What plan and record say of a counter."""
    if turn is None:
        return ()
    counter, tree = turn.counter, turn.counter.tree
    last, rows = turn.first.later(tree.periods - 1), f"{turn.since.name} to {turn.period.name}"
    life = f"epsilon {upward_text(counter.life.epsilon)}"
    life += f", delta {upward_text(counter.life.delta)}" if not counter.life.pure else ""
    read = turn.period.name if turn.since == turn.period else rows
    # What bounds a person's rows, and what that asks of the table.
    noun, most = counter.unit.noun, counter.unit.rows
    bounded = (
        f"of each {noun} the first {most} rows from {turn.first.name} on are used, over the whole life of the counter; "
        f"the number of earlier ones decides, so they must still be there, with their {noun} and period"
    )
    if not counter.unit.columns:
        cost = f"a row at most {life}: it is read by {counter.prices} of them at most, if it stays in its period"
    else:
        times = "once" if counter.prices == 1 else f"{counter.prices} times"
        cost = f"a {noun} at most {life}, over all periods: {times} the price of one release"
    return (
        f"release {turn.number} of a counter over {tree.periods} periods, {turn.first.name} to {last.name}: it reads "
        f"the rows of {read}, and adds the counts of earlier releases",
        f"all releases of the counter together cost {cost}",
        *([bounded] if counter.unit.columns else []),
    )


def counter_of(files: ReleaseFiles) -> dict[str, Any]:
    """What a release says of its counter. UsageFault where it is of none."""
    found = files.record["plan"].get("counter")
    if not isinstance(found, dict) or not isinstance(found.get("first"), str):
        raise UsageFault(f"--after {files.path}: is no release of a counter; give one that --cumulative has made")
    return found


# Releases of one period: whose rows they read, and what their plans say of it.


def period_rows(request: PlanRequest, domain: Domain) -> PeriodRows | None:
    """Whose rows a release reads; None: all rows.

    Raises:
        UsageFault: no period of the domain's kind, or one in the future; a number of records beside it, or replaced
            rows.
        DocumentError: the domain declares no date column, or known totals, which are of all rows.

    Privacy:
        A function of the request and the calendar: no date of the table is asked whether a period has come or has rows.
    """
    if request.period is None:
        return None
    if domain.period is None:
        raise DocumentError(
            f"--period {request.period}: the domain file does not say which period a row is in\n"
            'name a column of dates at its top level, for example "period": {"column": "admitted", "every": "month"}'
        )
    if Neighbours(request.neighbours) is Neighbours.REPLACE and request.cumulative is None:
        raise UsageFault(
            "--period: a replaced row may leave one period and enter another, and how many rows a period has is "
            "private; use --neighbours add-remove"
        )
    if request.n is not None:
        raise UsageFault("--period: how many rows a period has is private, so --n cannot state it; leave --n out")
    if domain.facts.totals or domain.facts.least or domain.facts.most is not None:
        raise DocumentError(
            '--period: the domain\'s known totals count all rows, not those of a period; leave "totals" out of the '
            "domain file"
        )
    period = Period.parse(request.period, domain.period.every)
    if period.start > datetime.now(UTC).date():
        raise UsageFault(f"--period {period.name}: begins on {period.start}, which is to come; release an earlier one")
    return PeriodRows(column=domain.period.column, period=period)


def require_files(source: TableSource, period: PeriodRows | None) -> None:
    """UsageFault for a table that an engine counts: it cannot be asked for one period."""
    if period is not None and source.engine is not None:
        raise UsageFault(
            f"--period: {source.engine.name} counts its table by itself and cannot be asked for one period yet; give "
            "files or a table in memory"
        )


def period_note(period: PeriodRows, unit: PrivacyUnit) -> str:
    """What a plan says of it, whoever pays."""
    if not unit.columns:
        return f"{period.words}; each row is in one period"
    return f"{period.words}; a {unit.noun} may have rows in many periods"


# Earlier counts: what the release before of a counter hands on, which its caller has verified.


def earlier_counts(request: ReleaseRequest, plan: Plan) -> Earlier | None:
    """What the release before hands on; None: there is none.

    Raises:
        UsageFault: there is no directory for the files that the next release needs, or --after is missing or of
            another period.
        DocumentError: --after is of another counter, or of other queries.
    """
    turn = plan.problem.turn
    if turn is None:
        return None
    if request.output.directory is None:
        raise UsageFault("--cumulative: the next release adds to the files of this one; add --out DIR")
    if turn.before is None:
        return None
    if request.after is None:
        raise UsageFault(f"--cumulative: {turn.period.name} goes on from {turn.before.name}; add --after its release")
    from dpqr.releases.files.answer_tables import handed_on
    from dpqr.releases.files.read_release import read_release

    files = read_release(request.after)
    # They must be of the same counter, one period earlier, and of the same questions.
    theirs, mine = counter_of(files), written(CounterPart.of(turn))
    if theirs.get("number") != turn.number - 1:
        raise UsageFault(
            f"--after {files.path}: is release {theirs.get('number')} of its counter, and {turn.period.name} is "
            f"release {turn.number}; give the release of {turn.number - 1}"
        )
    other = next((name for name in mine if name != "number" and theirs.get(name) != mine[name]), None)
    unit, accountant = files.record["plan"]["unit"], files.record["plan"]["accountant"]
    if other is None and (unit["words"], accountant) != (plan.problem.unit.words, plan.roles.accountant.name):
        other = "unit or accountant"
    if other is not None:
        raise DocumentError(f"--after {files.path}: is of another counter ({other} differs); begin one, or go on alike")
    files.require_same(plan.problem.workload, plan.problem.domain)
    if bool(files.record.get("rehearsal")) != request.rehearse:
        raise DocumentError(f"--after {request.after}: a rehearsal goes on from a rehearsal, and a release from one")
    counts = handed_on(files, turn.counter.tree, turn.number - 1)
    sha256 = str(files.record["sha256"])
    return Earlier(counts=counts, period=turn.before.name, sha256=sha256)


# Which periods pay for a release, as a budget's owner has fixed it, and which earlier release it corrects.


def paid_notes(payer: LedgerRequest | None, period: PeriodRows | None, before: str | None = None) -> Iterator[str]:
    """What the budget's owner has fixed: which periods pay; and which earlier release this one corrects.

    Args:
        before: the seal of a reservation; what was released after it is passed by. None: everything counts.
    """
    if payer is None:
        return
    from dpqr.ledger.budgets import configured_ledger

    record = configured_ledger(payer.ledger, payer.anchor).walk()
    terms = record.state.account(payer.dataset).terms
    if terms.periods is not None or period is not None:
        yield _paid_by(terms, period)
    corrected = period and _corrected(record, payer.dataset, period, before)
    if corrected:
        yield (
            f"corrects: entry {corrected.number} of the ledger (seal {corrected.hash[:16]}), a release of "
            f"{corrected.period}; this is a new release of it, and paid anew"
        )


def _paid_by(terms: BudgetTerms, period: PeriodRows | None) -> str:
    if period is not None and period.first is not None:
        # Of a counter that bounds each person's rows over its life.
        budget = f"the budget of {period.each}" if terms.periods else "the whole budget"
        if terms.currency is PAIR:
            return f"paid from {budget}: its currency, epsilon and delta, charges each release of a counter in full"
        once = "if each release is made once"
        return f"paid from {budget}: over its life a counter costs a person one price a level, {once}"
    if terms.periods is None:
        return "paid from the whole budget, which is not divided into periods: releases of different periods add up"
    each = f"every {terms.periods.every}"
    if period is None:
        return f"it reads the rows of all periods, so the budget of {each} pays for it"
    if terms.periods.parallel:
        return f"paid from the budget of {period.each}; parallel over periods: a row pays in its own alone"
    return f"paid from the budget of {period.each}; a person's periods add up within the budget for life"


def _corrected(record: Record, dataset: str, period: PeriodRows, before: str | None) -> LedgerEntry | None:
    """The reservation of the newest finished release of a period."""
    finished = {entry.settles for entry in record.entries if entry.kind == "settle" and entry.note == RELEASED}
    found = None
    for entry in record.entries:
        if entry.hash == before:
            break
        if (entry.dataset, entry.period) == (dataset, period.name) and entry.number in finished:
            found = entry
    return found
