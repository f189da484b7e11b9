"""Marginals: one table of all columns where it is small; else one-way marginals, a search for the blocks that they do
not tell, and a last, exact measurement of these."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import forecast, one_way, proved, search_phases
from dpqr.strategies.schedules.levels import joint
from dpqr.strategies.schedules.marginals_states import MarginalsState, Opening
from dpqr.strategies.schedules.reopening import OPENING, whole_of
from dpqr.strategies.schedules.stand_ins import with_stand_ins
from dpqr.strategies.schedules.whole_table import loss, measured_once, whole_table
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Round

SELECTION = Fraction(1, 10)
"""Share of a round's budget that its selection is forecast to take."""

SEARCH = (
    "one-way marginals come first; then choices look for blocks that are further off than noise would leave them; "
    "rounds and prices follow what was released, within the budget, and the last measurements spend it"
)

LARGEST_TABLE = 2**22
"""Cells of the one table of all columns, at most (32 MiB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """For workloads of marginals, and of blocks that they tell: see `with_stand_ins`.

    table: cells of the one table of all columns, at most; 0: there is always a search.

    **Privacy.** Neighbours: those of the problem's unit. Every draw is a selection among blocks or a noisy answer to
    one, each with its own proof and price. Which draws are made, at what prices and how many, is a function of the
    plan and of what was released before, never of the table; the prices are shares of the budget in the accountant's
    currency, and its filter stops what would go beyond it: adaptive composition with prices chosen on the way (Rogers,
    Roth, Ullman and Vadhan 2016 for epsilon; Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu 2023 for rho).
    The plan states the sum alone, so no other theorem counts on single draws.
    """

    table: int = LARGEST_TABLE

    @property
    def name(self) -> str:
        return "marginals"

    @property
    def distinguisher(self) -> str | None:
        return None

    @property
    def adaptive(self) -> bool:
        return True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        searching = self._searching(problem, budget, roles)
        table = whole_table(problem)
        if table.cells > self.table:
            return searching
        whole = measured_once(table, self, problem, budget, roles)
        return whole if loss(whole) <= loss(searching) else searching

    def _searching(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """On paper two rounds a column; in the run as many as what they show is worth, at prices that follow it.

        So the plan states the sum that the filter allows: no other theorem, and no ledger, may count on single draws.
        """
        opening = one_way(problem)
        rounds = max(1, min(2 * len(opening), len(joint(with_stand_ins(problem, roles.check)))))
        rest = (1 - OPENING) / rounds
        cut = roles.accountant.cut(
            budget,
            [
                Portion(share=OPENING / len(opening), count=len(opening)),
                Portion(share=rest * SELECTION, count=rounds, event=roles.distinguisher.event),
                Portion(share=rest * (1 - SELECTION), count=rounds),
            ],
        )
        draws = (
            Phase(noun="opening", count=len(opening), price=cut[0], blocks=opening),
            Phase(noun="selection", count=rounds, price=cut[1]),
            Phase(noun="measurement", count=rounds, price=cut[2]),
        )
        phases = search_phases(draws, whole_of(cut[0], OPENING / len(opening)))
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved(roles.accountant, phases, budget),
            forecast=tuple(forecast(problem, roles, block, cut[2]) for block in problem.workload.blocks),
            notes=(SEARCH,),
        )

    def start(self, plan: Plan) -> MarginalsState:
        return Opening(plan=plan)

    def next(self, plan: Plan, state: MarginalsState) -> Step | None:
        return state.step()

    def after(self, state: MarginalsState, finished: Round) -> MarginalsState:
        return state.after(finished)
