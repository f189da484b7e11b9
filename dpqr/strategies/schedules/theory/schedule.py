"""Theory: the source's loop on single queries as one fixed plan, with its constants from the accountant.

References:
    Dwork and Roth 2014, section 5.2, Theorem 5.6; as printed, the loop's U is at level alpha / 2. Theorem 5.7's closed
    form for alpha is not used: substituting eps0 = eps / (2 T) gives 32 T(...) and not its 8 T(...), and T depends on
    alpha, so alpha is found as a fixed point (`theory.feasibility`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from dpqr.data.unit import Neighbours
from dpqr.errors import InfeasiblePlan
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.plan import Plan, Roles, StopTest
from dpqr.strategies.problem import Problem, Variant
from dpqr.strategies.schedules.drafts import dearest_row, forecast_row, opening_phase, proved, round_phases
from dpqr.strategies.schedules.states import Progress
from dpqr.strategies.schedules.theory.feasibility import Feasibility
from dpqr.strategies.schedules.theory.tails import TOTAL, require_fractions
from dpqr.strategies.transcript import Round, Step


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
            epsilon=proved(roles.accountant, phases, budget),
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
