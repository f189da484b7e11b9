"""Theory: the source's loop on single queries, as printed, with its constants from the accountant.

Source: Dwork and Roth 2014, section 5.2, Theorem 5.6, with the loop's U at level alpha / 2. Theorem 5.7's closed form
for alpha is not used: substituting eps0 = eps / (2 T) gives 32 T(...) and not its 8 T(...), and T depends on alpha, so
alpha is found as a fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.data.unit import Neighbours
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import of_any_blocks
from dpqr.privacy.price import Price
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.strategies.schedules.rounds import forecast, proved
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

GRID = 10**6
"""Smallest feasible alphas are found to the millionth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theory:
    """At most T0 = floor(T(alpha / 2)) rounds of one query each, with a stop test at 3 alpha / 4.

    variant: whose constants the update rule uses (Level). The guarantee is that of the whole
    schedule, wherever it stops.
    Guarantee: with probability 1 - beta the largest error over the workload is at most alpha n records.
    """

    variant: Variant = "printed"

    @property
    def name(self) -> str:
        return "theory"

    @property
    def distinguisher(self) -> str | None:
        return "exponential"

    @property
    def adaptive(self) -> bool:
        return False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        n = _declared(problem)
        candidates = QueryCandidates(blocks=problem.workload.blocks)
        _require_fractions(problem)
        case = _Case(
            problem=problem,
            budget=budget,
            roles=roles,
            variant=self.variant,
            n=n,
            candidates=candidates,
            rows=_unlike_rows(problem),
        )
        alpha = case.chosen()
        rounds = case.rounds(alpha)
        select, measure = case.prices(rounds)
        widest = max(problem.workload.blocks, key=lambda block: block.largest_coefficient)
        events = (
            (roles.distinguisher.event(select), rounds),
            (of_any_blocks(roles.check.event((widest.row(0),), problem.unit, measure)), rounds),
        )
        return Plan(
            problem=replace(problem, alpha=alpha, level=Level(value=alpha / 2, variant=self.variant)),
            budget=budget,
            roles=roles,
            schedule=self,
            rounds=rounds,
            select=select,
            measure=measure,
            single=True,
            threshold=Fraction(3, 4) * alpha * n,
            events=events,
            epsilon=proved(roles.accountant, events, budget),
            forecast=tuple(forecast(problem, roles, block.row(0), measure) for block in problem.workload.blocks),
            notes=_notes(problem, alpha),
        )

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        if transcript.stopped or len(transcript.rounds) >= plan.rounds or plan.measure is None:
            return None
        candidates = QueryCandidates(blocks=plan.problem.workload.blocks)
        return Step(candidates=candidates, select=plan.select, measure=plan.measure, threshold=plan.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One planning question: which alpha is feasible? rows: one query for every noise that a check may draw."""

    problem: Problem
    budget: PrivacyBudget
    roles: Roles
    variant: Variant
    n: int
    candidates: QueryCandidates
    rows: tuple[QueryBlock, ...]

    def rounds(self, alpha: Fraction) -> int:
        """T0 = floor(T(alpha / 2)), at least one."""
        bound = self.roles.update.mistakes(self.problem, Level(value=alpha / 2, variant=self.variant))
        if bound is None:
            raise InfeasiblePlan(
                f"--update {self.roles.update.name} has no proved mistake bound, which --schedule theory is built on; "
                "use --schedule rounds"
            )
        return max(bound, 1)

    def prices(self, rounds: int) -> tuple[Price, Price]:
        """Equal eps0 for selection and check, as printed: under rho that is 1/8 against 1/2, shares of 1 to 4."""
        measured = Fraction(4) if self.roles.accountant.concentrated else Fraction(1)
        selection = Portion(share=Fraction(1), count=rounds, event=self.roles.distinguisher.event)
        portions = [selection, Portion(share=measured, count=rounds)]
        select, measure = self.roles.accountant.cut(self.budget, portions)
        return select, measure

    def needed(self, alpha: Fraction) -> float:
        """The accuracy that T0(alpha) rounds can promise: 8 times the larger of noise tail and selection shortfall.

        The hypothesis' answers are rounded before they are compared: for the check to the query's own grid, whose
        half step joins the noise tail, and for the scores to the common grid, which moves two scores by half a step
        each. So a stop means error <= 3/4 + 1/8 + 1/8, and an update a true gap of at least 5 alpha / 8, as printed.
        """
        rounds = self.rounds(alpha)
        select, measure = self.prices(rounds)
        gamma = self.problem.beta / (2 * rounds)
        unit, grid = self.problem.unit, self.candidates.grid
        shortfall = self.roles.distinguisher.shortfall(
            len(self.candidates), self.candidates.sensitivity(unit), select, gamma
        )
        tails = [
            (self.roles.check.law((row,), unit, measure).tail(float(gamma)) + 0.5) * float(row.scale)
            for row in self.rows
        ]
        return 8 * max((shortfall + 1) * float(grid), *tails) / self.n

    def feasible(self, alpha: Fraction) -> bool:
        """Not where the promise is worse than alpha, nor where so many rounds need more noise than a sampler offers."""
        try:
            return self.needed(alpha) <= alpha
        except InfeasiblePlan:
            return False

    def chosen(self) -> Fraction:
        """The declared alpha if it is feasible, otherwise the smallest feasible one of the grid."""
        declared = self.problem.alpha
        self.rounds(declared or Fraction(1, 2))  # a rule without a bound is refused here, with that reason
        if declared is not None and self.feasible(declared):
            return declared
        smallest = self._smallest()
        if declared is None:
            return smallest
        raise InfeasiblePlan(
            f"--alpha {float(declared):g}: this budget, workload and n promise no better than "
            f"alpha = {float(smallest):.4g}; leave --alpha out to take that"
        )

    def _smallest(self) -> Fraction:
        """Bisection: `needed` falls as alpha grows, since T0 does."""
        low, high = 0, GRID
        if not self.feasible(Fraction(GRID - 1, GRID)):
            raise InfeasiblePlan(
                "the bound of --schedule theory is vacuous here (alpha >= 1: n is too small for this budget and "
                "workload); use --schedule rounds"
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.feasible(Fraction(middle, GRID)) else (middle, high)
        return Fraction(high, GRID)


def _unlike_rows(problem: Problem) -> tuple[QueryBlock, ...]:
    """A first row of the blocks for every sensitivity and grid: thousands of blocks have the same noise."""
    found: dict[tuple[int, Fraction], QueryBlock] = {}
    for block in problem.workload.blocks:
        row = block.row(0)
        found.setdefault((sensitivity((row,), Norm.LARGEST, problem.unit), row.scale), row)
    return tuple(found.values())


def _declared(problem: Problem) -> int:
    if problem.n is None:
        raise InfeasiblePlan(
            "--schedule theory asks queries as fractions of n, and n is private here: "
            "give --neighbours replace --n N (public n), or --n N0 (a declared n0) under add-remove"
        )
    return problem.n


def _require_fractions(problem: Problem) -> None:
    """The source's queries map a record to [0, 1]."""
    for block in problem.workload.blocks:
        negative = any(factor.matrix.smallest < 0 for factor in block.factors)
        if negative or block.largest_coefficient * block.scale > 1:
            raise InfeasiblePlan(
                f"query {block.name!r} has coefficients outside [0, 1], which --schedule theory needs; "
                "leave it out or use --schedule rounds"
            )


def _notes(problem: Problem, alpha: Fraction) -> tuple[str, ...]:
    """What the guarantee rests on besides the privacy analysis."""
    if problem.unit.neighbours is Neighbours.REPLACE:
        return ()
    slack = float(alpha / 8)
    return (
        f"the accuracy promise holds if the real number of records lies within {slack:.2g} n0 of the declared n0; "
        "privacy does not depend on it",
    )
