"""Baselines: one-way marginals alone, a total alone, and plain noise on every block, for the problem of a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.values import replace
from dpqr.releases.forecast.simulation import reaches
from dpqr.releases.requests import PlanRequest
from dpqr.releases.roles import allowed_strategies
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import Progress, one_way, opening_phase, proved_epsilon
from dpqr.strategies.schedules.planner import choose_plan
from dpqr.strategies.transcript import Round, Step
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """Measurements of fixed blocks and nothing else. shares: relative, of each; None: equal ones."""

    blocks: tuple[Candidate, ...]
    shares: Callable[[Roles], list[float]] | None = None

    name = "alone"
    distinguisher = None
    adaptive = False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        shares = self.shares(roles) if self.shares else [1.0] * len(self.blocks)
        portions = [Portion(share=Fraction(share).limit_denominator(10**6), count=1) for share in shares]
        prices = roles.cut(budget, portions)
        phases: tuple[Phase, ...] = ()
        known = []
        for candidate, price in zip(self.blocks, prices, strict=True):
            phases += opening_phase(roles, problem.unit, (candidate,), price)
            law = roles.check.law(candidate, problem.unit, price)
            (block,) = candidate
            size = law.mean_size * float(block.scale)
            known.append(BlockForecast(name=block.name, rows=block.rows, deviation=law.deviation, error=size))
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=tuple(known),
        )

    def start(self, plan: Plan) -> Progress:
        return Progress()

    def next(self, plan: Plan, state: Progress) -> Step | None:
        if state.rounds == len(self.blocks):
            return None
        price = plan.phases[state.rounds].price
        last = state.rounds == len(self.blocks) - 1
        return Step(candidates=self.blocks[state.rounds], select=None, measure=price, refit=last)

    def after(self, state: Progress, finished: Round) -> Progress:
        return state.after(finished)


def one_way_alone(plan: Plan) -> Plan:
    return _planned(plan, Alone(blocks=one_way(plan.problem)))


def uniform(plan: Plan) -> Plan:
    return _planned(plan, Alone(blocks=((QueryBlock(name="total alone"),),)))


def plain(plan: Plan, records: int) -> float:
    """Expected error of each block measured once, in the shares of least sum: mean over the blocks of L1 / n."""
    problem, blocks = plan.problem, plan.problem.workload.blocks
    most = reaches(plan)

    def shares(roles: Roles) -> list[float]:
        """In rho a share x leaves x^-1/2 of the noise, in epsilon x^-1."""
        power = 1 / (1 + (0.5 if roles.accountant.concentrated else 1.0))
        price = roles.cut(plan.budget, [Portion(share=Fraction(1), count=len(blocks))])[0]
        laws = (roles.check.law((block,), problem.unit, price) for block in blocks)
        costs = [
            law.deviation * block.rows * float(block.scale) / reach
            for law, block, reach in zip(laws, blocks, most, strict=True)
        ]
        return [(cost / max(costs)) ** power for cost in costs]

    found = _planned(plan, Alone(blocks=tuple((block,) for block in blocks), shares=shares))
    errors = [known.error * known.rows / reach for known, reach in zip(found.forecast, most, strict=True)]
    return float(sum(errors) / len(errors) / records)


def _planned(plan: Plan, schedule: Alone) -> Plan:
    """With the built-in filters, whichever has less noise."""
    wishes = allowed_strategies(PlanRequest(schedule="rounds"))
    filters = [one for one in wishes.accountants if one.name in ("basic", "zcdp")]
    return choose_plan(plan.problem, plan.budget, schedule, replace(wishes, accountants=filters))
