"""Counters: cumulative counts over periods, planned from options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpqr.app.requests import UNPAID, PlanRequest, ReleaseRequest
from dpqr.data.period import Period
from dpqr.data.unit import Neighbours
from dpqr.errors import UsageFault
from dpqr.io.outputs.releases.read_release import ReleaseFiles, read_release
from dpqr.privacy.budget import PrivacyBudget, upward_text
from dpqr.privacy.counter import Counter, CounterTurn
from dpqr.strategies.problem import Problem

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
    first = plan.period if request.after is None else counter_of(read_release(request.after))["first"]
    return replace(request, plan=replace(plan, first=first))


def as_counter(request: PlanRequest) -> PlanRequest:
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


def _refuse_more(request: PlanRequest) -> None:
    """UsageFault where a unit may have rows in many nodes, for draws that are not answers of rows that count.

    Privacy:
        `Counter` prices a node by how far the rows that it uses move its answers. Rows that it leaves out are bounded
        in each release alone.
    """
    share = None if request.error_bars in UNPAID else request.error_bars
    asked = {"--count-dropped": request.count_dropped, "--certify": request.certify, "--error-bars": share}
    for option, value in asked.items():
        if value is not None:
            raise UsageFault(
                f"{option} {value}: a counter of persons, or under --neighbours replace, releases its counts alone; "
                "leave it out"
            )


def with_turn(problem: Problem, request: PlanRequest) -> Problem:
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
        _refuse_more(request)
    life = PrivacyBudget.parse(request.epsilon, request.delta)
    counter = Counter.of(request.cumulative, life, str(request.accountant), unit)
    turn = CounterTurn(
        counter=counter,
        first=Period.parse(request.first or rows.period.name, rows.period.every),
        period=rows.period,
    )
    first = None if unit.column is None else turn.first
    return replace(problem, unit=unit, turn=turn, period=replace(rows, since=turn.since, first=first))


def counter_notes(turn: CounterTurn | None) -> tuple[str, ...]:
    """What plan and record say of a counter."""
    if turn is None:
        return ()
    counter, tree = turn.counter, turn.counter.tree
    last, rows = turn.first.later(tree.periods - 1), f"{turn.since.name} to {turn.period.name}"
    life = f"epsilon {upward_text(counter.life.epsilon)}"
    life += f", delta {upward_text(counter.life.delta)}" if not counter.life.pure else ""
    read = turn.period.name if turn.since == turn.period else rows
    return (
        f"release {turn.number} of a counter over {tree.periods} periods, {turn.first.name} to {last.name}: it reads "
        f"the rows of {read}, and adds the counts of earlier releases",
        f"all releases of the counter together cost {_cost_words(counter, life)}",
        *([_life_words(turn)] if counter.unit.column else []),
    )


def _cost_words(counter: Counter, life: str) -> str:
    if counter.unit.column is None:
        return f"a row at most {life}: it is read by {counter.prices} of them at most, if it stays in its period"
    return f"a person at most {life}, over all periods: {_times(counter.prices)} the price of one release"


def _times(prices: int) -> str:
    return "once" if prices == 1 else f"{prices} times"


def _life_words(turn: CounterTurn) -> str:
    """What bounds a person's rows, and what that asks of the table."""
    return (
        f"of each person the first {turn.counter.unit.rows} rows from {turn.first.name} on are used, over the whole "
        "life of the counter; the number of earlier ones decides, so they must still be there, with their person and "
        "period"
    )


def counter_of(files: ReleaseFiles) -> dict[str, Any]:
    """What a release says of its counter. UsageFault where it is of none."""
    found = files.record["plan"].get("counter")
    if not isinstance(found, dict) or not isinstance(found.get("first"), str):
        raise UsageFault(f"--after {files.path}: is no release of a counter; give one that --cumulative has made")
    return found
