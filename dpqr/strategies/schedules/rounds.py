"""Rounds: a fixed number of block rounds after a first, non-adaptive measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.candidates import LARGEST_PENALTY, BlockCandidates, Candidate, QueryCandidates
from dpqr.strategies.plan import BlockForecast, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import (
    Progress,
    Released,
    dearest_row,
    forecast,
    forecast_row,
    one_way,
    opening_phase,
    proved_epsilon,
    round_phases,
)
from dpqr.strategies.schedules.marginals.candidate_blocks import with_surrogates
from dpqr.strategies.schedules.marginals.forecast import summed_noise
from dpqr.strategies.transcript import Round, Step
from dpqr.workload.block import QueryBlock

# Set by `python tests/benchmarks/marginals -- --schedule rounds`; figures: tests/benchmarks/RESULTS.md.

OPENING_SHARE = Fraction(1, 5)
"""Share of the budget for the opening."""
SELECTION_PART = Fraction(1, 5)
"""Part of a round's share that its selection gets."""
ROUNDS_AT_ONE = 22
"""T at epsilon 1."""
NOISE_PENALTY = 0.2
"""Penalty of a block's score, as a part of its noise."""


SIGNED = (
    "warning: under rounds the perceptron keeps no memory of earlier measurements, and its answers may be off by more "
    "than all records; take --update multiplicative-weights, or --schedule theory, whose bound covers the perceptron"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """T rounds; each selects the block that the hypothesis answers worst, and measures it.

    rounds: T; None: `default_rounds` sets it from epsilon and the workload. opening: whether all one-way marginals are
    measured first.
    A block is replaced by the marginal of its columns where that answers it with less noise (`with_surrogates`).
    A workload of at most T blocks is measured completely, without a selection, if the hypothesis has room for it.

    >>> Rounds(rounds=12).adaptive
    False
    """

    rounds: int | None = None
    opening: bool = True

    name: ClassVar[str] = "rounds"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """Shares: an opening (if any), then per round a selection and a measurement; see `_portions`."""
        blocks = _offered(problem, roles)
        rounds = self.rounds or default_rounds(budget.epsilon)
        whole = rounds >= len(blocks) and roles.update.fits(problem, (), blocks)
        if whole:
            # Every block by itself, so that one of large sensitivity does not spoil the others' noise.
            total = () if any(block.is_marginal for block in blocks) else _total(problem)
            opening, rounds = (*total, *((block,) for block in blocks)), 0
        else:
            opening = one_way(problem) if self.opening else _total(problem)
        prices = roles.cut(budget, _portions(len(opening), rounds, roles))
        phases = opening_phase(roles, problem.unit, opening, prices[0])
        if rounds:
            select, measure = prices[-2:]
            dearest = max(blocks, key=lambda block: roles.check.law((block,), problem.unit, measure).deviation)
            phases += round_phases(roles, problem.unit, dearest, rounds, (select, measure), single=False)
        paid = phases[-1].price
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=_forecasts(problem, roles, blocks, paid),
            notes=(SIGNED,) if roles.update.name == "perceptron" else (),
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return plan.asked_columns

    def start(self, plan: Plan) -> Offering:
        return Offering(blocks=_offered(plan.problem, plan.roles))

    def next(self, plan: Plan, state: Offering) -> Step | None:
        done, opening = len(state.rounds), plan.phase("opening")
        if opening and done < opening.count:
            last = done == opening.count - 1
            refit = last or not plan.roles.update.cumulative
            return Step(candidates=opening.blocks[done], select=None, measure=opening.price, refit=refit)
        select, measure = plan.price("selection"), plan.price("measurement")
        if done >= len(plan.opening) + plan.rounds or measure is None:
            return None
        return Step(candidates=_unmeasured(plan, state, measure), select=select, measure=measure)

    def after(self, state: Offering, finished: Round) -> Offering:
        return state.after(finished)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering(Released):
    """With the blocks that may be measured.

    >>> Offering(blocks=()).rounds
    ()
    """

    blocks: tuple[QueryBlock, ...]


def default_rounds(epsilon: Fraction) -> int:
    """T grows with the budget: more rounds spread it thinner, which a small one cannot bear."""
    return max(3, math.ceil(ROUNDS_AT_ONE * math.pow(epsilon, 0.65)))


def _portions(openings: int, rounds: int, roles: Roles) -> list[Portion]:
    """Shares of one draw each. A homogeneous theorem allows equal draws only."""
    first = (OPENING_SHARE if rounds else Fraction(1)) / max(openings, 1)
    rest = 1 - OPENING_SHARE if openings else Fraction(1)
    per_round = rest / max(rounds, 1)
    selection, measurement = per_round * SELECTION_PART, per_round * (1 - SELECTION_PART)
    if roles.accountant.homogeneous:
        first = selection = measurement = Fraction(1)
    opening = [Portion(share=first, count=openings)] if openings else []
    adaptive = [
        Portion(share=selection, count=rounds, event=roles.distinguisher.event),
        Portion(share=measurement, count=rounds),
    ]
    return opening + (adaptive if rounds else [])


def _total(problem: Problem) -> tuple[Candidate, ...]:
    """The number of records, where it is private and no marginal among the measured blocks estimates it."""
    return () if problem.n is not None else ((QueryBlock(name="opening(total)"),),)


def _offered(problem: Problem, roles: Roles) -> tuple[QueryBlock, ...]:
    """What may be measured."""
    return with_surrogates(problem, roles.check).workload.blocks


def _forecasts(
    problem: Problem, roles: Roles, offered: tuple[QueryBlock, ...], price: Price
) -> tuple[BlockForecast, ...]:
    """Noise of every block's answers, in records: from its own measurement, or from the marginal in its place."""
    names = {block.name for block in offered}
    tables = {frozenset(block.axes): block for block in offered if block.is_marginal}
    found = []
    for block in problem.workload.blocks:
        if block.name in names:
            found.append(forecast(problem, roles, block, price))
        else:
            table = tables[frozenset(block.axes)]
            noise = summed_noise(table, block, roles.check.law((table,), problem.unit, price).deviation) / block.rows
            deviation = noise * max(block.largest_coefficient, 1) * float(block.scale)
            found.append(BlockForecast(name=block.name, rows=block.rows, deviation=deviation))
    return tuple(found)


def _unmeasured(plan: Plan, state: Offering, price: Price) -> BlockCandidates:
    """A block that was measured, or that the hypothesis has no room for, is left out of later draws.

    Public rules, and no draw is repeated. Where nothing is left, what was measured may be chosen again. A block must be
    worth its noise: its score is lowered by NOISE_PENALTY times the deviations of all its answers, in its grid.
    """
    measured = [block for measurement in state.measurements for block in measurement.blocks]
    names = {block.name for block in measured}
    blocks, fits = state.blocks, plan.roles.update.fits
    left = tuple(one for one in blocks if one.name not in names and fits(plan.problem, measured, (one,)))
    again = tuple(one for one in blocks if one.name in names)
    offered = left or again or blocks
    law, unit = plan.roles.check.law, plan.problem.unit
    noise = (law((block,), unit, price).deviation * block.rows for block in offered)
    penalties = tuple(round(min(NOISE_PENALTY * each, LARGEST_PENALTY)) for each in noise)
    return BlockCandidates(blocks=offered, unit=unit, penalties=penalties)


# Queries: a number of rounds of one query each, the practical form of the source's loop, without its stop test.


# Set by `python tests/benchmarks/replay.py`; figures: tests/benchmarks/RESULTS.md.

TOTAL_SHARE = Fraction(1, 10)
"""Share of the budget of the noisy total."""
QUERY_SELECTION_PART = Fraction(1, 2)
"""Part of a round's share that its selection gets."""
SIGNALS: tuple[float, ...] = (1.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7)
"""n times epsilon, in ascending order."""
ROUNDS_AT_SIGNALS: tuple[int, ...] = (2, 4, 8, 12, 60, 80, 140)
"""T at these signals; between them linear in logarithms."""
FEWEST, MOST = min(ROUNDS_AT_SIGNALS), max(ROUNDS_AT_SIGNALS)


SLACK = 1 - Fraction(1, 2**40)
"""Prices of another number of rounds than planned are lower by it, for each is rounded down by itself."""

TOTAL = QueryBlock(name="opening(total)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """T rounds: the distinguisher picks the one query that the hypothesis answers worst, and that alone is measured.

    rounds: T; None takes it from `ROUNDS_AT_SIGNALS` by epsilon and the number of records: the public or declared one,
    else a noisy total that is bought first. Prices then depend on that total, so a filter must charge the run; together
    the rounds cost the same whatever their number.
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
        # A public number of records needs no total; a declared one under add-remove is a guess that steers T alone.
        opening = () if problem.n is not None and problem.unit.rows_public else ((TOTAL,),)
        notes: tuple[str, ...] = ()
        if self.rounds is not None:
            rounds = self.rounds
        elif problem.n is not None:
            rounds = default_query_rounds(problem.n, budget.epsilon)
        else:
            # T follows from the total; planned is the one whose events cost most in epsilon and in rho alike.
            rounds = MOST if roles.accountant.concentrated else FEWEST
            notes = (
                f"a noisy total tells how many rounds there are, from {FEWEST} to {MOST}; together they cost the same, "
                f"and the prices here are those of {rounds}",
            )
        prices = roles.cut(budget, _query_portions(len(opening), rounds, roles))
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
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=tuple(forecast_row(problem, roles, block, measure) for block in problem.workload.blocks),
            notes=notes,
        )

    def start(self, plan: Plan) -> Progress:
        return Progress()

    def next(self, plan: Plan, state: Progress) -> Step | None:
        done, opening = state.rounds, plan.phase("opening")
        if opening and done < opening.count:
            return Step(candidates=opening.blocks[done], select=None, measure=opening.price)
        rounds, planned = plan.rounds, (plan.price("selection"), plan.price("measurement"))
        if self.rounds is None and plan.problem.n is None:
            # By the total that was bought for it; the fewest where that was lost in a crash.
            total = int(state.first.values[0][0]) if state.first is not None else 0
            rounds = default_query_rounds(max(total, 0), plan.budget.epsilon)
        if done >= len(plan.opening) + rounds:
            return None
        candidates = _candidates(plan.problem.workload.blocks, plan.problem.unit)
        select, measure = (_spread(price, plan.rounds, rounds) for price in planned if price)
        return Step(candidates=candidates, select=select, measure=measure)

    def after(self, state: Progress, finished: Round) -> Progress:
        return state.after(finished)


def default_query_rounds(records: int, epsilon: Fraction) -> int:
    """T by `ROUNDS_AT_SIGNALS`, for a public or released number of records."""
    signal = max(float(records * epsilon), min(SIGNALS))
    logarithm = np.interp(math.log(signal), np.log(SIGNALS), np.log(ROUNDS_AT_SIGNALS))
    return round(math.exp(float(logarithm)))


@lru_cache(maxsize=2)
def _candidates(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> QueryCandidates:
    """Kept from round to round: a workload may have a hundred thousand blocks."""
    return QueryCandidates(blocks=blocks, unit=unit)


def _query_portions(openings: int, rounds: int, roles: Roles) -> list[Portion]:
    """Shares of one draw each. A homogeneous theorem allows equal draws only."""
    rest = (1 - openings * TOTAL_SHARE) / rounds
    selection, measurement = rest * QUERY_SELECTION_PART, rest * (1 - QUERY_SELECTION_PART)
    first = TOTAL_SHARE
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
