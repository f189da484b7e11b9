"""The loop: Dwork and Roth 2014, section 5.2, "The Iterative Construction", as re-derived for blocks.

Read it beside the book's page:

    D <- U(null)
    repeat at most T times:
        f <- Distinguisher(x, D)              `choose`, a private selection
        v <- f(x) + noise                     `check.mechanism`, a private measurement
        if |v - f(D)| < 3 alpha / 4: stop     `check.satisfied`, on released values
        D <- U(D, f, v)                       `update`, post-processing
    release D
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from dpqr.data.counts import Counts
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.gate import measure
from dpqr.privacy.sealed import Private
from dpqr.strategies.candidates import Candidate
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The loop's access to the private counts: a sealed value, and what every draw needs."""

    data: Private[Counts]
    accountant: PrivacyFilter
    noise: NoiseSource

    def choose(self, plan: Plan, step: Step, hypothesis: Hypothesis) -> tuple[Candidate, int | None, tuple[int, ...]]:
        """The candidate to measure, its index, and the charge; a single candidate costs nothing."""
        if isinstance(step.candidates, tuple) or step.select is None:
            return step.only, None, ()
        scores = step.candidates.scores(hypothesis)
        mechanism = plan.roles.distinguisher.mechanism(scores, plan.problem.unit, step.select)
        drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)
        return step.candidates[drawn.value], drawn.value, (drawn.charge,)


def iterative_construction(draws: Draws, plan: Plan, observer: Observer) -> Outcome:
    """Run the plan to its end and return the last hypothesis with everything that was released on the way.

    Privacy: the private counts are reached through `measure` only, and every draw is charged before it is made; at
    most the plan's events are ever charged. All else is post-processing of released values.
    """
    problem, roles = plan.problem, plan.roles
    hypothesis: Any = roles.update.start(problem)
    transcript = Transcript()
    while step := plan.schedule.next(plan, transcript):
        chosen, index, paid = draws.choose(plan, step, hypothesis)
        mechanism = roles.check.mechanism(chosen, problem.unit, step.measure)
        measured = measure(draws.data, mechanism, accountant=draws.accountant, noise=draws.noise)
        stopped = step.threshold is not None and roles.check.satisfied(measured.value, hypothesis, step.threshold)
        transcript.add(
            Round(choice=index, measurement=measured.value, charges=(*paid, measured.charge), stopped=stopped)
        )
        observer.finished(len(transcript.rounds), len(plan.opening) + plan.rounds)
        if stopped:
            break
        if not step.mend:
            continue
        updated = roles.update.update(problem, hypothesis, transcript.measurements)
        if updated is None:
            return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)
        hypothesis = updated
    return Outcome(hypothesis=hypothesis, transcript=transcript)
