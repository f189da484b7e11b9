"""Feasible alphas: the accuracy that `theory` can promise for a budget, a workload and a number of records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.errors import InfeasiblePlan
from dpqr.plugins import is_builtin
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Promise, Roles
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.strategies.schedules.theory.tails import Tails
from dpqr.strategies.updates.interface import HeuristicBound


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The theorem sets all else."""

    grid: int = 10**6  # smallest feasible alphas are found to one part in so many


TUNING = Tuning()

LARGEST = Fraction(TUNING.grid - 1, TUNING.grid)
"""The largest alpha that is tried."""


def level_share(problem: Problem, variant: Variant) -> Fraction:
    """a / alpha: 1/2 as printed; in the sharp variant 5/8, the whole gap of an update, where the number of records that
    answers are scaled to is the table's. A declared or a bought one takes up to alpha / 8 of that gap."""
    known = problem.n is not None and problem.unit.rows_public
    return Fraction(5, 8) if variant == "sharp" and known else Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """One planning question: which alpha is feasible?

    n: what alpha is a fraction of. tails: of single queries. Where the number of records is bought (problem.n is None),
    its count is one of them.
    """

    problem: Problem
    budget: PrivacyBudget
    roles: Roles
    variant: Variant
    n: int
    tails: Tails

    @classmethod
    def of(cls, problem: Problem, budget: PrivacyBudget, roles: Roles, *, variant: Variant, n: int) -> Feasibility:
        return cls(
            problem=problem,
            budget=budget,
            roles=roles,
            variant=variant,
            n=n,
            tails=Tails.of(
                roles, problem.unit, QueryCandidates(blocks=problem.workload.blocks), counted=problem.n is None
            ),
        )

    def rounds(self, alpha: Fraction) -> int:
        """T0 = floor(T(a)), at least one: proved, or else the rule's heuristic figure."""
        bound = self._proved(alpha)
        if bound is None:
            bound = self._expected(alpha)
        if bound is None:
            raise self._unbounded(alpha)
        return max(bound, 1)

    def promise(self, alpha: Fraction) -> Promise:
        """What stands behind T0(alpha)."""
        if self._proved(alpha) is None:
            return "heuristic"
        return "proved" if is_builtin(self.roles.update) else "stated"

    def cautions(self, alpha: Fraction) -> tuple[str, ...]:
        """Why a heuristic alpha is no promise."""
        rule = self.roles.update
        if self.promise(alpha) != "heuristic" or not isinstance(rule, HeuristicBound):
            return ()
        return (rule.caution(self.problem, self.level(alpha)),)

    def _proved(self, alpha: Fraction) -> int | None:
        return self.roles.update.mistakes(self.problem, self.level(alpha))

    def _expected(self, alpha: Fraction) -> int | None:
        rule = self.roles.update
        return rule.expected_mistakes(self.problem, self.level(alpha)) if isinstance(rule, HeuristicBound) else None

    def level(self, alpha: Fraction) -> Level:
        return Level(value=alpha * level_share(self.problem, self.variant), variant=self.variant)

    def prices(self, rounds: int) -> tuple[Price, Price]:
        """Equal eps0 for selection and check, as printed: under rho that is 1/8 against 1/2, shares of 1 to 4. A count
        of the records costs what a check does."""
        measured = Fraction(4) if self.roles.accountant.concentrated else Fraction(1)
        selection = Portion(share=Fraction(1), count=rounds, event=self.roles.distinguisher.event)
        portions = [selection, Portion(share=measured, count=rounds + (self.problem.n is None))]
        select, measure = self.roles.accountant.cut(self.budget, portions)
        return select, measure

    def needed(self, alpha: Fraction) -> float:
        """The accuracy that T0(alpha) rounds can promise: 8 times the larger of noise tail and selection shortfall.

        So a stop means error <= 3/4 + 1/8 + 1/8, and an update a true gap of at least 5 alpha / 8, as printed. The
        count of the records, where it is bought, is off by its tail, or by 1 where it is clipped to 1.
        """
        rounds, bought = self.rounds(alpha), self.problem.n is None
        select, measure = self.prices(rounds)
        gamma = self.problem.beta / (2 * rounds + bought)
        return 8 * max(self.tails.shortfall(select, gamma), float(bought), self.tails.noise(measure, gamma)) / self.n

    def feasible(self, alpha: Fraction) -> bool:
        """Not where the promise is worse than alpha, nor where so many rounds need more noise than a sampler offers."""
        try:
            return self.needed(alpha) <= alpha
        except InfeasiblePlan:
            return False

    def chosen(self) -> Fraction:
        """The declared alpha if it is feasible, otherwise the smallest feasible one of the grid that is proved.

        A heuristic alpha is never chosen: a user who wants one states it.
        """
        declared = self.problem.alpha
        self.rounds(declared or LARGEST)  # a rule without a bound is refused here, with that reason
        if declared is not None and self.feasible(declared):
            return declared
        smallest = self._smallest()
        if declared is None:
            return smallest
        raise InfeasiblePlan(
            f"--alpha {float(declared):g}: this budget, workload and n promise no better than "
            f"alpha = {float(smallest):.4g}; leave --alpha out to take that"
        )

    def _searched(self, alpha: Fraction) -> bool:
        return self._proved(alpha) is not None and self.feasible(alpha)

    def _smallest(self) -> Fraction:
        """Bisection: `needed` falls as alpha grows, since T0 does, and what is proved at a level is at larger ones."""
        low, high = 0, TUNING.grid
        if not self._searched(LARGEST):
            raise self._none()
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._searched(Fraction(middle, TUNING.grid)) else (middle, high)
        return Fraction(high, TUNING.grid)

    def _unbounded(self, alpha: Fraction) -> InfeasiblePlan:
        """Why there is no number of rounds for an alpha."""
        rule = self.roles.update.name
        if self._proved(LARGEST) is None:
            return InfeasiblePlan(
                f"--update {rule} has no proved mistake bound, which --schedule theory is built on; "
                "use --schedule rounds"
            )
        return InfeasiblePlan(
            f"--alpha {float(alpha):g}: --update {rule} has no proved mistake bound for so small an alpha here; "
            "leave --alpha out to take the smallest that is promised"
        )

    def _none(self) -> InfeasiblePlan:
        """Why no alpha is proved."""
        if self._proved(LARGEST) is None:
            return InfeasiblePlan(
                f"--update {self.roles.update.name} proves no alpha here: the domain or the workload is too large for "
                "it; use --update multiplicative-weights, or state --alpha for a heuristic one"
            )
        return InfeasiblePlan(
            "the bound of --schedule theory is vacuous here (alpha >= 1: n is too small for this budget and "
            "workload); use --schedule rounds"
        )
