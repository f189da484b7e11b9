"""Queries: a number of rounds of one query each, the practical form of the source's loop, without its stop test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpqr.data.unit import PrivacyUnit
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import dearest_row, forecast_row, opening_phase, proved, round_phases
from dpqr.strategies.schedules.states import Progress
from dpqr.strategies.transcript import Round, Step
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/replay.py`; figures: tests/benchmarks/RESULTS.md."""

    opening: Fraction = Fraction(1, 10)  # share of the budget of the noisy total
    selection: Fraction = Fraction(1, 2)  # part of a round's share that its selection gets
    signals: tuple[float, ...] = (1.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7)  # n times epsilon
    rounds: tuple[int, ...] = (2, 4, 8, 12, 60, 80, 140)  # T at these signals; between them linear in logarithms


TUNING = Tuning()
FEWEST, MOST = min(TUNING.rounds), max(TUNING.rounds)


SLACK = 1 - Fraction(1, 2**40)
"""Prices of another number of rounds than planned are lower by it, for each is rounded down by itself."""

TOTAL = QueryBlock(name="opening(total)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """T rounds: the distinguisher picks the one query that the hypothesis answers worst, and that alone is measured.

    rounds: T; None takes it from `TUNING` by epsilon and the number of records: the public or declared one, else a
    noisy total that is bought first. Prices then depend on that total, so a filter must charge the run; together the
    rounds cost the same whatever their number.
    A query may be picked again: that is a further measurement of it.

    References:
        MWEM (Hardt, Ligett and McSherry 2012), with replay of all measurements by the update rule.
    """

    rounds: int | None = None

    name: ClassVar[str] = "queries"
    distinguisher: ClassVar[str | None] = None

    @property
    def adaptive(self) -> bool:
        return self.rounds is None

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """A noisy total where n is private, then T rounds.

        Raises:
            InfeasiblePlan: no accountant covers it.
        """
        opening = () if _counted(problem) else ((TOTAL,),)
        rounds = self._rounds(problem, budget, roles)
        prices = roles.accountant.cut(budget, _portions(len(opening), rounds, roles))
        select, measure = prices[-2:]
        unit, dearest = problem.unit, dearest_row(problem)
        phases = (
            *opening_phase(roles, unit, opening, prices[0]),
            *round_phases(roles, unit, dearest, rounds, (select, measure), single=True),
        )
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved(roles.accountant, phases, budget),
            forecast=tuple(forecast_row(problem, roles, block, measure) for block in problem.workload.blocks),
            notes=self._notes(problem, rounds),
        )

    def _rounds(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> int:
        """T; where it follows from a noisy total, the one whose events cost most in epsilon and in rho alike."""
        if self.rounds is not None:
            return self.rounds
        if problem.n is not None:
            return default_rounds(problem.n, budget.epsilon)
        return MOST if roles.accountant.concentrated else FEWEST

    def _notes(self, problem: Problem, rounds: int) -> tuple[str, ...]:
        if self.rounds is not None or problem.n is not None:
            return ()
        return (
            f"a noisy total tells how many rounds there are, from {FEWEST} to {MOST}; together they cost the same, and "
            f"the prices here are those of {rounds}",
        )

    def start(self, plan: Plan) -> Progress:
        return Progress()

    def next(self, plan: Plan, state: Progress) -> Step | None:
        done, opening = state.rounds, plan.phase("opening")
        if opening and done < opening.count:
            return Step(candidates=opening.blocks[done], select=None, measure=opening.price)
        rounds, planned = self._rounds_after(plan, state), (plan.price("selection"), plan.price("measurement"))
        if done >= len(plan.opening) + rounds:
            return None
        candidates = _candidates(plan.problem.workload.blocks, plan.problem.unit)
        select, measure = (_spread(price, plan.rounds, rounds) for price in planned if price)
        return Step(candidates=candidates, select=select, measure=measure)

    def after(self, state: Progress, finished: Round) -> Progress:
        return state.after(finished)

    def _rounds_after(self, plan: Plan, state: Progress) -> int:
        """T; by the released total where that was bought for it. The fewest where that total was lost in a crash."""
        if self.rounds is not None or plan.problem.n is not None:
            return plan.rounds
        total = int(state.first.values[0][0]) if state.first is not None else 0
        return default_rounds(max(total, 0), plan.budget.epsilon)


def default_rounds(records: int, epsilon: Fraction) -> int:
    """T by `TUNING.rounds`, for a public or released number of records."""
    signal = max(float(records * epsilon), min(TUNING.signals))
    logarithm = np.interp(math.log(signal), np.log(TUNING.signals), np.log(TUNING.rounds))
    return round(math.exp(float(logarithm)))


@lru_cache(maxsize=2)
def _candidates(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> QueryCandidates:
    """Kept from round to round: a workload may have a hundred thousand blocks."""
    return QueryCandidates(blocks=blocks, unit=unit)


def _counted(problem: Problem) -> bool:
    """Whether the number of records is public; a declared one under add-remove is a guess that steers T alone."""
    return problem.n is not None and problem.unit.rows_public


def _portions(openings: int, rounds: int, roles: Roles) -> list[Portion]:
    """Shares of one draw each. A homogeneous theorem allows equal draws only."""
    rest = (1 - openings * TUNING.opening) / rounds
    selection, measurement = rest * TUNING.selection, rest * (1 - TUNING.selection)
    first = TUNING.opening
    if roles.accountant.homogeneous:
        first = selection = measurement = Fraction(1)
    adaptive = [
        Portion(share=selection, count=rounds, event=roles.distinguisher.event),
        Portion(share=measurement, count=rounds),
    ]
    return [Portion(share=first, count=1)] * openings + adaptive


def _spread(price: Price, planned: int, rounds: int) -> Price:
    """The price of one draw where the planned draws' sum is spread over another number of them."""
    if rounds == planned:
        return price
    return price.times(Fraction(planned, rounds) * SLACK)
