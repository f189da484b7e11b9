"""Certificate: a bound on the largest error over the whole workload, from what the stop test released anyway."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.construction.loop import Outcome
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import gap
from dpqr.strategies.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """With probability `confidence` no answer of the workload errs by more than `records`.

    fraction: the same divided by the declared n, of which rules may have left some out. It speaks of the hypothesis
    that was selected against.
    """

    records: float
    fraction: float | None
    confidence: float


def certify(plan: Plan, outcome: Outcome) -> Certificate | None:
    """The bound of a loop that ended by its stop test; None otherwise.

    max error <= |v - g| + tail + s / 2 + F + h. g is the hypothesis' answer on the query's own grid of step s, tail
    the check's at beta / (2 T0), F the distinguisher's at gamma = beta / (2 T0), and h the step of the grid on which
    scores are compared (two of them are off by half a step). T0 is the *planned* number of rounds: the noise chooses
    the stopping round, so the tails are union-bounded over all rounds; tails of the last round alone are false.
    Nothing else enters: D may be any function of what was released before its round, by any update rule, with or
    without a mistake bound, and scaled to any total, measured ones included. T0 may be any number that was fixed before
    the run. So the bound is proved where alpha is a heuristic one, too.

    Privacy:
        Post-processing of released values.
    """
    problem, select = plan.problem, plan.price("selection")
    if not outcome.transcript.stopped or select is None:
        return None
    last = outcome.transcript.measurements[-1]
    gamma = problem.beta / (2 * plan.rounds)
    candidates, declared = QueryCandidates(blocks=problem.workload.blocks), problem.n or problem.most
    shortfall = plan.roles.distinguisher.shortfall(len(candidates), candidates.sensitivity(problem.unit), select, gamma)
    tail = (last.law.tail(float(gamma)) + 0.5) * float(last.blocks[0].scale)
    records = float(gap(last, outcome.hypothesis)) + tail + (shortfall + 1) * float(candidates.grid)
    return Certificate(
        records=records,
        fraction=records / declared if declared else None,
        confidence=float(1 - Fraction(problem.beta)),
    )
