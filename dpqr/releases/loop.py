"""The loop: Dwork and Roth 2014, section 5.2, "The Iterative Construction", as re-derived for blocks.

Read it beside the book's page:

    D <- U(null)                              `start_rule`
    repeat at most T times:                   `schedule.next`
        f <- Distinguisher(x, D)              `draws.choose`, a private selection
        v <- f(x) + noise                     `draws.measure`, a private measurement
        if |v - f(D)| < 3 alpha / 4: stop     `check.satisfied`, on released values
        D <- U(D, f, v)                       `apply_rule`, post-processing
    release D                             averaged with other models (`averaged`), post-processing; with noisy errors
                                          of its answers, where the plan buys them

The schedule `theory` can also run in stages of falling alpha (`theory.anytime`). There a stop certifies D and ends the
stage, not the loop: the next stage starts from that D, as long as the budget lasts. Before each round U is applied to
every earlier answer that contradicts D, the largest contradiction first (`updated_in_stage`). The D with the smallest
certified bound is released.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Clippable, Hypothesis
from dpqr.releases.consistent import Answers, apply_rule, averaged, furthest, start_rule, updated_in_stage
from dpqr.releases.draws import Draws
from dpqr.releases.error_bounds import BlockErrors, certified_bound, measured_errors, observed_errors
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Round, Step, Transcript


class Observer(Protocol):
    """Notified of every finished round, for progress displays.

    The number of rounds may be shown: it follows from the plan and from released values alone.
    """

    def finished(self, rounds: int, planned: int) -> None: ...

    def certified(self, stage: int, records: float) -> None:
        """A stage, counted from 1, ended with a certificate: every answer's error is at most `records`."""
        ...


class _Silent:
    def read(self, percent: int) -> None: ...

    def finished(self, rounds: int, planned: int) -> None: ...

    def certified(self, stage: int, records: float) -> None: ...


SILENT = _Silent()
"""The observer that shows nothing, of a loop and of all that is around one."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What the loop ended with.

    hypothesis: the last one; of a loop in stages the one with the smallest certified bound. exhausted: whether the loop
    ended because no hypothesis agrees with all answers. errors: noisy errors of the released answers, measured after
    the loop; None: the plan buys none.
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
        Statement P42 of the guide's topic proofs.
    """
    ended = (_in_stages if plan.stop and plan.stop.stages else _loop)(draws, plan, observer)
    return replace(ended, errors=measured_errors(draws, plan, released_hypothesis(plan, ended), ended.transcript))


def released_hypothesis(plan: Plan, outcome: Outcome) -> Hypothesis:
    """The hypothesis whose answers are released: the last one, with answers clipped to the range that its number of
    records allows.

    A certified hypothesis is not clipped where the number of records is private: its own number may be wrong, and
    clipping could then move an answer away from the truth, beyond the certified bound.
    """
    ended = outcome.hypothesis
    certified = outcome.transcript.bounds and not plan.problem.unit.rows_public
    return ended.clipped() if isinstance(ended, Clippable) and not certified else ended


def _loop(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """The book's loop, until the schedule, the stop test or the update rule ends it."""
    schedule, problem, rule = plan.schedule, plan.problem, plan.roles.update
    hypothesis: Any = start_rule(rule, problem)
    state, transcript = schedule.start(plan), Transcript()
    while step := schedule.next(plan, state):
        if step.records is not None and problem.n is None:  # the noisy number of records was just released
            problem = replace(problem, n=step.records)
            hypothesis = start_rule(rule, problem)
        finished = _round(draws, plan, step, hypothesis)
        transcript.add(finished)
        state = schedule.after(state, finished)
        observer.finished(len(transcript.rounds), len(plan.opening) + plan.rounds)
        if finished.stopped:
            break
        refitted = apply_rule(rule, problem, hypothesis, transcript) if step.refit else hypothesis
        if refitted is None:
            return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)
        hypothesis = refitted
    return Outcome(hypothesis=averaged(rule, problem, hypothesis, transcript.measurements), transcript=transcript)


def _in_stages(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """The loop in stages: a stop certifies D, and the next stage starts from it."""
    schedule, problem, rule = plan.schedule, plan.problem, plan.roles.update
    hypothesis: Any = start_rule(rule, problem)
    state, transcript = schedule.start(plan), Transcript()
    answers, certified = Answers(), None
    while step := schedule.next(plan, state):
        if step.records is not None and problem.n is None:
            problem = replace(problem, n=step.records, level=step.stage.finest if step.stage else problem.level)
            hypothesis = start_rule(rule, problem)
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
    """Choose f, measure v, and test |v - f(D)| < 3 alpha / 4. A draw that was lost in a crash ends the round early; it
    stays paid."""
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
