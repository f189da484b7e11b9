"""The loop: Dwork and Roth 2014, section 5.2, "The Iterative Construction", as re-derived for blocks.

Read it beside the book's page:

    D <- U(null)
    repeat at most T times:
        f <- Distinguisher(x, D)              `draws.choose`, a private selection
        v <- f(x) + noise                     `draws.measure`, a private measurement
        if |v - f(D)| < 3 alpha / 4: stop     `check.satisfied`, on released values
        D <- U(D, f, v)                       `updated`, post-processing
    release D                             with noisy errors of its answers, where the plan buys them

In stages (`theory.anytime`) a stop certifies D and ends the stage: the loop goes on from that D, at a smaller alpha, as
long as the budget lasts. Before each round U takes all answers that contradict D, furthest first (`updated_in_stage`).
The D of the best certificate is released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from dpqr.construction.block_errors import BlockErrors, measured_errors, observed_errors
from dpqr.construction.certificate import certified_bound
from dpqr.construction.consistent import Answers, furthest, updated_in_stage
from dpqr.construction.draws import Draws
from dpqr.construction.soundness import started, updated
from dpqr.hypotheses.hypothesis import Clippable, Hypothesis
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Round, Step, Transcript


class Observer(Protocol):
    """Notified of every finished round, for progress displays.

    A round's number is public only as far as the plan and the paid stop test make it so.
    """

    def finished(self, rounds: int, planned: int) -> None: ...

    def certified(self, stage: int, records: float) -> None:
        """The stop test was met for the so-many-th time, from 1: no answer is off by more than so many records."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the loop ended. exhausted: the update rule had no further hypothesis; the last one is kept. errors: what
    was drawn after it of the errors of the released answers; None: nothing.

    >>> import numpy as np
    >>> from dpqr.hypotheses.dense import DenseDistribution
    >>> outcome = Outcome(hypothesis=DenseDistribution.uniform((2,), 10.0), transcript=Transcript(), exhausted=True)
    >>> outcome.transcript.rounds
    []
    """

    hypothesis: Hypothesis
    transcript: Transcript
    exhausted: bool = False
    errors: BlockErrors | None = None


def iterative_construction(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """Run the plan to its end and return the last hypothesis with everything that was released on the way.

    Privacy:
        The private counts are reached through `draws` only, and every draw is charged before it is made; at most the
        plan's events are ever charged. All else is post-processing of released values.
    """
    ended = (_in_stages if plan.stop and plan.stop.stages else _loop)(draws, plan, observer)
    return replace(ended, errors=measured_errors(draws, plan, released(plan, ended), ended.transcript))


def released(plan: Plan, outcome: Outcome) -> Hypothesis:
    """The last hypothesis, its answers moved to what its total of records could give. Where that total is not known to
    be the table's, moving could take an answer away from the truth: what a certificate speaks of stays as it is."""
    ended = outcome.hypothesis
    certified = outcome.transcript.bounds and not plan.problem.unit.rows_public
    return ended.clipped() if isinstance(ended, Clippable) and not certified else ended


def _loop(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """Rounds until the schedule, the stop test or the update rule ends them."""
    schedule, problem, rule = plan.schedule, plan.problem, plan.roles.update
    hypothesis: Any = started(rule, problem)
    state, transcript = schedule.start(plan), Transcript()
    while step := schedule.next(plan, state):
        if step.records is not None and problem.n is None:
            problem = replace(problem, n=step.records)
            hypothesis = started(rule, problem)
        finished = _round(draws, plan, step, hypothesis)
        transcript.add(finished)
        state = schedule.after(state, finished)
        observer.finished(len(transcript.rounds), len(plan.opening) + plan.rounds)
        if finished.stopped:
            break
        refitted = updated(rule, problem, hypothesis, transcript) if step.refit else hypothesis
        if refitted is None:
            return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)
        hypothesis = refitted
    return Outcome(hypothesis=hypothesis, transcript=transcript)


def _in_stages(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """The same in stages: a stop certifies D, and the next stage goes on from it."""
    schedule, problem, rule = plan.schedule, plan.problem, plan.roles.update
    hypothesis: Any = started(rule, problem)
    state, transcript = schedule.start(plan), Transcript()
    answers, certified = Answers(), None
    while step := schedule.next(plan, state):
        if step.records is not None and problem.n is None:
            problem = replace(problem, n=step.records, level=step.stage.finest if step.stage else problem.level)
            hypothesis = started(rule, problem)
        finished = _round(draws, plan, step, hypothesis)
        transcript.add(finished)
        state = schedule.after(state, finished)
        observer.finished(len(transcript.rounds), len(plan.opening) + plan.rounds)
        if finished.bound is not None:
            observer.certified(len(transcript.bounds), finished.bound)
            certified = hypothesis if finished.bound == min(transcript.bounds) else certified
        answers = answers.after(finished, step.stage)
        following = schedule.next(plan, state)
        if following and following.stage:
            refitted = updated_in_stage(rule, problem, hypothesis, transcript, answers, following.stage)
            if refitted is None:
                return Outcome(hypothesis=certified or hypothesis, transcript=transcript, exhausted=True)
            hypothesis = refitted
    return Outcome(hypothesis=certified or hypothesis, transcript=transcript)


def _round(draws: Draws, plan: Plan, step: Step, hypothesis: Hypothesis) -> Round:
    """Choose f, measure v, and test |v - f(D)| < 3 alpha / 4; what a crash has lost stays paid, and ends the round."""
    if step.errors:
        return observed_errors(draws, plan, step, hypothesis)
    choice = draws.choose(plan, step, hypothesis)
    if choice.candidate is None:
        return Round(choice=None, measurement=None, charges=choice.charges)
    drawn = draws.measure(plan, choice.candidate, step.measure)
    charges = (*choice.charges, drawn.charge)
    if drawn.value is None:
        return Round(choice=choice.index, measurement=None, charges=charges)
    tested = furthest(drawn.value, hypothesis) if step.stage else drawn.value
    stopped = step.threshold is not None and plan.roles.check.satisfied(tested, hypothesis, step.threshold)
    expected = tuple(hypothesis.answer(block) for block in choice.candidate) if step.compare else ()
    return Round(
        choice=choice.index,
        measurement=drawn.value,
        charges=charges,
        stopped=stopped,
        bound=certified_bound(plan, step, tested, drawn.value.blocks[0].rows, hypothesis) if stopped else None,
        expected=expected,
    )
