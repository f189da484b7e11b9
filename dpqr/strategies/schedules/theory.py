"""Theory: the source's loop on single queries as one fixed plan, with its constants from the accountant.

References:
    Dwork and Roth 2014, section 5.2, Theorem 5.6; as printed, the loop's U is at level alpha / 2. Theorem 5.7's closed
    form for alpha is not used: substituting eps0 = eps / (2 T) gives 32 T(...) and not its 8 T(...), and T depends on
    alpha, so alpha is found as a fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Plan, Promise, Roles, StopTest
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.strategies.schedules.drafts import (
    Progress,
    dearest_row,
    forecast_row,
    opening_phase,
    proved_epsilon,
    round_phases,
)
from dpqr.strategies.transcript import Round, Step
from dpqr.strategies.updates.interface import HeuristicBound
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Theory:
    """At most T0 = floor(T(a)) rounds of one query each, with a stop test at 3 alpha / 4.

    variant: whose constants the update rule uses (Level). a = alpha / 2 as printed; `sharp` takes the whole gap of an
    update, a = 5 alpha / 8 (`level_share`). The guarantee is that of the whole
    schedule, wherever it stops.
    Guarantee: with probability 1 - beta the largest error over the workload is at most alpha n records. n is the public
    number of records, or the declared n0.

    **Where rules may leave rows out under `replace`**, the number k of the others is private, and n is the declared
    number of all rows: k <= n. A count v0 of the kept records is bought first, at the price of one measurement, and the
    loop runs on counts against m = min(max(v0, 1), n): scores |f(x) - m f(D)|, whose sensitivity is that of f(x) for m
    is released; stop test |v - m f(D)| < 3 alpha n / 4; answers m f(D).
    *Proof.* With probability 1 - beta all of these hold (a union over the count and two draws for each of T0 rounds, at
    beta / (2 T0 + 1) each): each measurement's noise is at most alpha n / 8; so is each selection's shortfall; and
    |m - k| <= alpha n / 8, for clipping moves v0 towards k, or by less than 1 <= alpha n / 8 where k = 0. (1) A stop
    means a largest error of at most (3/4 + 1/8 + 1/8) alpha n. (2) A round without a stop has, for the selected f,
    |f(x) - m f(D)| >= 5 alpha n / 8 with the sign that v shows. With p = x / k (k = 0 cannot occur: f(x) = 0 and
    m f(D) <= alpha n / 8) this gives k |f(p) - f(D)| >= 5 alpha n / 8 - |m - k| f(D) >= alpha n / 2 with the same sign,
    so |f(p) - f(D)| >= (alpha / 2) (n / k) >= alpha / 2: U at level alpha / 2 makes an update of its sequence. Rules
    read of v the sign of v / m - f(D) alone, so v is as good as a fair answer, and there are at most T(alpha / 2) such
    rounds. (3) After T0 = floor(T(alpha / 2)) updates no query has |f(p) - f(D)| >= alpha / 2 any more, or a further
    update were possible; so errors are at most k alpha / 2 + |m - k| <= (1/2 + 1/8) alpha n. Every step leaves all of
    alpha n / 8 to the count, so the level 5 alpha / 8 would not do here.
    A perceptron's f(D) may lie outside [0, 1]. Beyond 1 + alpha / 2 or below -alpha / 2 the gap in (2) is clear.
    Between 0 and -alpha / 2, |m - k| |f(D)| is at most alpha n / 8, as above. Between 1 and 1 + alpha / 2, and for
    d = m - k > 0 (else nothing is lost), the gap is k (f(D) - f(p)) >= 5 alpha n / 8 - d f(D), and that is at least
    alpha (n - d) / 2 >= alpha k / 2, for d (f(D) - alpha / 2) <= d <= alpha n / 8.

    Privacy:
        The count of the kept records is one more draw among the planned ones.

    >>> Theory(variant="sharp").distinguisher
    'exponential'
    """

    variant: Variant = "printed"

    name: ClassVar[str] = "theory"
    distinguisher: ClassVar[str | None] = "exponential"
    adaptive: ClassVar[bool] = False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        n = _declared(problem)
        require_fractions(problem)
        case = Feasibility.of(problem, budget, roles, variant=self.variant, n=n)
        alpha = case.chosen()
        rounds = case.rounds(alpha)
        select, measure = case.prices(rounds)
        counted = ((TOTAL,),) if problem.n is None else ()
        phases = (
            *opening_phase(roles, problem.unit, counted, measure),
            *round_phases(roles, problem.unit, dearest_row(problem), rounds, (select, measure), single=True),
        )
        return Plan(
            problem=replace(problem, alpha=alpha, level=case.level(alpha)),
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            stop=StopTest(threshold=Fraction(3, 4) * alpha * n, promise=case.promise(alpha)),
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=tuple(forecast_row(problem, roles, block, measure) for block in problem.workload.blocks),
            notes=case.cautions(alpha) or _notes(problem, alpha),
        )

    def start(self, plan: Plan) -> Progress:
        return Progress()

    def next(self, plan: Plan, state: Progress) -> Step | None:
        opening, measure = plan.phase("opening"), plan.price("measurement")
        if opening and not state.rounds:
            return Step(candidates=opening.blocks[0], select=None, measure=opening.price, refit=False)
        records = _counted(plan, state)
        if opening and records is None:
            return None
        if state.rounds >= len(plan.opening) + plan.rounds or measure is None:
            return None
        return Step(
            candidates=QueryCandidates(blocks=plan.problem.workload.blocks),
            select=plan.price("selection"),
            measure=measure,
            threshold=plan.stop.threshold if plan.stop else None,
            records=records,
        )

    def after(self, state: Progress, finished: Round) -> Progress:
        return state.after(finished)


def _counted(plan: Plan, state: Progress) -> int | None:
    """m, from the count of the kept records; None where none was planned, or where it was lost in a crash: without it
    there is nothing to scale answers to."""
    counted = state.first if plan.opening else None
    return None if counted is None else min(max(int(counted.values[0][0]), 1), _declared(plan.problem))


def _declared(problem: Problem) -> int:
    """The number that alpha is a fraction of."""
    declared = problem.n or problem.most
    if declared is None:
        raise InfeasiblePlan(
            "--schedule theory asks queries as fractions of n, and n is private here: "
            "give --neighbours replace --n N (public n), or --n N0 (a declared n0) under add-remove"
        )
    return declared


def _notes(problem: Problem, alpha: Fraction) -> tuple[str, ...]:
    """What the guarantee rests on besides the privacy analysis."""
    if problem.n is None:
        return (
            "the number of records that the domain's rules keep is private: it is measured first, for the price of one "
            f"more measurement; alpha is a fraction of the declared {problem.most:,} rows, those left out included",
        )
    if problem.unit.neighbours is Neighbours.REPLACE:
        return ()
    slack = float(alpha / 8)
    return (
        f"the accuracy promise holds if the real number of records lies within {slack:.2g} n0 of the declared n0; "
        "privacy does not depend on it",
    )


# Feasible alphas: the accuracy that `theory` can promise for a budget, a workload and a number of records.


# The theorem sets all else.

ALPHA_GRID = 10**6
"""Smallest feasible alphas are found to one part in so many."""

LARGEST = Fraction(ALPHA_GRID - 1, ALPHA_GRID)
"""The largest alpha that is tried."""


def level_share(problem: Problem, variant: Variant) -> Fraction:
    """a / alpha: 1/2 as printed; in the sharp variant 5/8, the whole gap of an update, where the number of records that
    answers are scaled to is the table's. A declared or a bought one takes up to alpha / 8 of that gap."""
    known = problem.n is not None and problem.unit.rows_public
    return Fraction(5, 8) if variant == "sharp" and known else Fraction(1, 2)


class Feasibility(Struct, frozen=True, kw_only=True):
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
            rule = self.roles.update
            level = self.level(alpha)
            bound = rule.expected_mistakes(self.problem, level) if isinstance(rule, HeuristicBound) else None
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

    def level(self, alpha: Fraction) -> Level:
        return Level(value=alpha * level_share(self.problem, self.variant), variant=self.variant)

    def prices(self, rounds: int) -> tuple[Price, Price]:
        """Equal eps0 for selection and check, as printed: under rho that is 1/8 against 1/2, shares of 1 to 4. A count
        of the records costs what a check does."""
        measured = Fraction(4) if self.roles.accountant.concentrated else Fraction(1)
        selection = Portion(share=Fraction(1), count=rounds, event=self.roles.distinguisher.event)
        portions = [selection, Portion(share=measured, count=rounds + (self.problem.n is None))]
        select, measure = self.roles.cut(self.budget, portions)
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
        low, high = 0, ALPHA_GRID
        if not self._searched(LARGEST):
            raise self._none()
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._searched(Fraction(middle, ALPHA_GRID)) else (middle, high)
        return Fraction(high, ALPHA_GRID)

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


# Tails: how far the two draws of a round may be off, and which of the workload's queries are measured together.

TOTAL = QueryBlock(name="number of records")
"""Bought first where it is private; see `Theory`."""


class Tails(Struct, frozen=True, kw_only=True, eq=False):
    """candidates: what a round selects from. measured: one block for every noise that a check may draw: of thousands of
    blocks most have the same."""

    roles: Roles
    unit: PrivacyUnit
    candidates: QueryCandidates
    measured: tuple[QueryBlock, ...]

    @classmethod
    def of(cls, roles: Roles, unit: PrivacyUnit, candidates: QueryCandidates, *, counted: bool) -> Tails:
        """counted: whether the number of records is measured too."""
        offered = (block if block.name in candidates.whole else block.largest_row for block in candidates.blocks)
        return cls(roles=roles, unit=unit, candidates=candidates, measured=_unlike(offered, unit, counted=counted))

    def shortfall(self, select: Price, gamma: Fraction) -> float:
        """What a selection's query has less error than the worst one, in records, but with probability gamma.

        The hypothesis' answers are rounded to the common grid before they are compared, which moves two scores by half
        a step each.
        """
        moved, grid = self.candidates.sensitivity(self.unit), self.candidates.grid
        short = self.roles.distinguisher.shortfall(len(self.candidates), moved, select, gamma)
        return (short + 1) * float(grid)

    def noise(self, measure: Price, gamma: Fraction) -> float:
        """What any answer of a measurement is off by, in records, but with probability gamma for all of its answers
        together; with half a step of the query's grid, to which the hypothesis' answer is rounded."""
        return max(answers_tail(self.roles, self.unit, block, measure, gamma) for block in self.measured)


def answers_tail(roles: Roles, unit: PrivacyUnit, block: QueryBlock, measure: Price, gamma: Fraction) -> float:
    """The same of one block's answers."""
    law = roles.check.law((block,), unit, measure)
    return (law.tail(float(gamma / block.rows)) + 0.5) * float(block.scale)


def require_fractions(problem: Problem) -> None:
    """The source's queries map a record to [0, 1]."""
    for block in problem.workload.blocks:
        negative = any(factor.matrix.smallest < 0 for factor in block.factors)
        if negative or block.largest_coefficient * block.scale > 1:
            raise InfeasiblePlan(
                f"query {block.name!r} has coefficients outside [0, 1], which --schedule theory needs; "
                "leave it out or use --schedule rounds"
            )


def measured_whole(blocks: Sequence[QueryBlock], unit: PrivacyUnit) -> frozenset[str]:
    """Names of the blocks whose answers move at most twice as far as one of their queries: marginals, above all."""
    return frozenset(
        block.name
        for block in blocks
        if block.rows > 1 and _moved(block, unit) <= 2 * max(1, _moved(block.largest_row, unit))
    )


def _moved(block: QueryBlock, unit: PrivacyUnit) -> int:
    return sensitivity((block,), Norm.L1, unit)


def _unlike(offered: Iterable[QueryBlock], unit: PrivacyUnit, *, counted: bool) -> tuple[QueryBlock, ...]:
    """One for every sensitivity and grid, of most answers. A row of a block that is smaller than its largest has less
    noise."""
    found: dict[tuple[int, int, Fraction], QueryBlock] = {}
    for block in (*((TOTAL,) if counted else ()), *offered):
        key = (_moved(block, unit), sensitivity((block,), Norm.L2_SQUARED, unit), block.scale)
        known = found.get(key)
        if known is None or known.rows < block.rows:
            found[key] = block
    return tuple(found.values())
