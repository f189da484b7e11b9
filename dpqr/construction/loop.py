"""The loop: Dwork and Roth 2014, section 5.2, "The Iterative Construction", as re-derived for blocks.

Read it beside the book's page:

    D <- U(null)
    repeat at most T times:
        f <- Distinguisher(x, D)              `draws.choose`, a private selection
        v <- f(x) + noise                     `draws.measure`, a private measurement
        if |v - f(D)| < 3 alpha / 4: stop     `check.satisfied`, on released values
        D <- U(D, f, v)                       `updated`, post-processing
    release D
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from dpqr.construction.draws import Draws
from dpqr.construction.soundness import started, updated
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.strategies.plan import Plan
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Round, Transcript


class Observer(Protocol):
    """Told of every finished round, for progress displays. A round's number is public only as far as the plan and the
    paid stop test make it so."""

    def finished(self, rounds: int, planned: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the loop ended. `gap_hypothesis` is the D that the last selection was made against."""

    hypothesis: Hypothesis
    transcript: Transcript
    exhausted: bool = False


def iterative_construction(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """Run the plan to its end and return the last hypothesis with everything that was released on the way.

    Privacy: the private counts are reached through `draws` only, and every draw is charged before it is made; at most
    the plan's events are ever charged. All else is post-processing of released values.
    """
    problem, rule = plan.problem, plan.roles.update
    hypothesis: Any = started(rule, problem)
    transcript = Transcript()
    while step := plan.schedule.next(plan, transcript):
        if step.records is not None and problem.n is None:
            problem = replace(problem, n=step.records)
            hypothesis = started(rule, problem)
        finished = _round(draws, plan, step, hypothesis)
        transcript.add(finished)
        observer.finished(len(transcript.rounds), len(plan.opening) + plan.rounds)
        if finished.stopped:
            break
        if not (step.mend and transcript.measurements and (finished.measurement or rule.cumulative)):
            continue
        refitted = updated(rule, problem, hypothesis, transcript.measurements)
        if refitted is None:
            return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)
        hypothesis = refitted
    return Outcome(hypothesis=hypothesis, transcript=transcript)


def _round(draws: Draws, plan: Plan, step: Step, hypothesis: Hypothesis) -> Round:
    """Choose, measure and test; a round that lost a draw in a crash is left out, and stays paid."""
    choice = draws.choose(plan, step, hypothesis)
    measured = draws.measure(plan, choice.candidate, step.measure) if choice else None
    if choice is None:
        return Round(choice=None, measurement=None, charges=())
    if measured is None:
        return Round(choice=choice.index, measurement=None, charges=choice.charges)
    met = step.threshold is not None and plan.roles.check.satisfied(measured.value, hypothesis, step.threshold)
    paid = (*choice.charges, measured.charge)
    told = tuple(hypothesis.answer(block) for block in choice.candidate) if step.compare else ()
    return Round(choice=choice.index, measurement=measured.value, charges=paid, stopped=met, expected=told)
