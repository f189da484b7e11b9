"""Ordered: the strategy where records are many, buckets of neighbouring cells where they are few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import islice
from typing import ClassVar

from dpqr.data.arrays import Axes
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import least_squares_forecast, proved, search_phases
from dpqr.strategies.schedules.ordered.sequence import RECORDS, MeasurementStep, groups, measurement_sequence
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.strategies.schedules.ordered.two_stage import TwoStagePartition, unit_error
from dpqr.strategies.schedules.states import Released
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Workload, by_home


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Paid counts of the records decide: one, and further ones while it is not sure. Few: noisy counts of ever smaller
    boxes of cells choose buckets, for which a strategy is measured with what is left. Many: a first look at boxes
    decides whether to do the same, or to measure one strategy for all cells with the rest.

    Groups of attributes that no query joins have the budget cut among them, and each decides for itself; groups of too
    few or too many cells are measured as by `Strategy`. Queries ask by single columns. Where n is public no count is
    bought. The steps themselves: `measurement_sequence`.

    Privacy:
        Neighbours: those of the problem's unit. One to three counts and up to three draws a group, each a noisy answer
        to integer blocks (LaplaceAnswers, GaussianAnswers): the number of records; a first look, a small tree of counts
        of boxes; such a tree again; a strategy over the buckets or over all cells. What is drawn, how deep, at which
        share of the group's budget, and whether the price of a draw that is left out goes to the last one, is a
        function of public facts and of what the draws before released; so is the choice of buckets, which is
        post-processing and free (Dwork and Roth 2014, Proposition 2.1):
        every box that is counted gets noise, the smallest ones too. The last draw's sensitivity is that of the integer
        matrix over the buckets: a record lies in one bucket, so the columns over cells are those over buckets, repeated
        (Merged). A further count takes its share from every price of the groups that wait for it, so given any outcome
        of the earlier draws all prices together are within the budget: adaptive composition (Dwork, Rothblum and Vadhan
        2010), for prices that depend on releases that of a filter (Rogers, Roth, Ullman and Vadhan 2016). So the plan
        states the sum that a filter allows, and no price of single draws.

    >>> Ordered().adaptive
    True
    """

    name: ClassVar[str] = "ordered"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """A count of the records where n is private, then up to three draws a group.

        Raises:
            InfeasiblePlan: `Strategy` has no plan either.
        """
        direct = Strategy().plan(problem, budget, roles)
        counted = problem.n is None
        prices = roles.accountant.cut(budget, _portions(counted, _shares(problem, roles)))
        first = Phase(noun="opening", count=1, price=prices[0], blocks=((RECORDS,),))
        stages = (Phase(noun="stage", count=1, price=price) for price in (prices[1:] if counted else prices))
        phases = search_phases((first, *stages) if counted else stages, reduce(Price.plus, prices))
        staged = replace(direct, schedule=self, phases=phases, epsilon=proved(roles.accountant, phases, budget))
        refusals = {part.unsuited for part in groups(staged)}
        if None not in refusals:
            return replace(direct, notes=(*direct.notes, f"no buckets: {'; '.join(sorted(map(str, refusals)))}"))
        return replace(staged, forecast=_forecast(staged), notes=(*direct.notes, _announced(staged)))

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return plan.asked_columns

    def start(self, plan: Plan) -> Released:
        return Released()

    def next(self, plan: Plan, state: Released) -> Step | None:
        """The count; then the strategy, or the boxes and the buckets that these suggest."""
        one = next(islice(measurement_sequence(plan, state.rounds), len(state.rounds), None), None)
        return None if one is None else one.step

    def after(self, state: Released, finished: Round) -> Released:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was chosen, and why: from public and released figures."""
        if not plan.named("stage"):
            return ()
        released = [finished.measurement for finished in transcript.rounds]
        steps = zip(transcript.rounds, measurement_sequence(plan, released), strict=False)
        return tuple(sentence for finished, one in steps for sentence in _reasons(one, finished))


def _reasons(one: MeasurementStep, finished: Round) -> tuple[str, ...]:
    """Why the step was chosen; of one that decides, and was lost, what that leaves."""
    if finished.measurement is not None or not one.why:
        return one.why
    return (f"{one.step.only[0].name}: drawn, and lost in a crash; answers rest on earlier counts, if there are any",)


def _shares(problem: Problem, roles: Roles) -> list[Fraction]:
    """Of the budget, by groups of attributes: what would leave the least error if strategies were measured for all.

    Noise of a group goes with 1 / eps_g^2 (Laplace) or 1 / rho_g (Gaussian), so errors e_g at unit noise are least
    together at shares in proportion to e_g^(1/3) or e_g^(1/2) (Hoelder).
    """
    norm = Norm.L1 if roles.check.pure else Norm.L2_SQUARED
    groups = by_home(problem.workload.blocks).items()
    partitions = [TwoStagePartition(problem=problem, roles=roles, axes=axes, blocks=blocks) for axes, blocks in groups]
    power = 1 / 3 if norm is Norm.L1 else 1 / 2
    weights = [min(unit_error(one, norm) for one in each.offered) ** power for each in partitions]
    grains = [max(1, round(TUNING.grain * weight / sum(weights))) for weight in weights]
    return [Fraction(grain, sum(grains)) for grain in grains]


def _portions(counted: bool, shares: list[Fraction]) -> list[Portion]:
    """The count's, and every group's three."""
    first = [TUNING.count] if counted else []
    rest = 1 - sum(first) - TUNING.first_look
    each = (TUNING.first_look, rest * TUNING.boxes, rest * (1 - TUNING.boxes))
    return [Portion(share=share, count=1) for share in (*first, *(one * own for own in shares for one in each))]


def _forecast(plan: Plan) -> tuple[BlockForecast, ...]:
    """Of every block's answers if the strategy is measured, in the workload's order; errors where it surely is."""
    found = {}
    for part in groups(plan):
        asked = replace(plan.problem, workload=Workload(part.two_stage.blocks))
        price = part.whole if part.unsuited else part.look.plus(part.last)
        for known in least_squares_forecast(asked, plan.roles, price, (part.two_stage.direct(price).strategy,)):
            found[known.name] = known if part.unsuited else replace(known, error=None)
    return tuple(found[block.name] for block in plan.problem.workload.blocks)


def _announced(plan: Plan) -> str:
    """What the plan knows of the choice."""
    suited = [part for part in groups(plan) if not part.unsuited]
    limits = ", ".join(f"{part.limit:,.0f} ({part.columns})" for part in suited)
    share = f"a noisy count of all records ({float(TUNING.count):.1%} of the budget; more while it is not sure) decides"
    who = share if plan.opening else f"the declared {plan.problem.n:,} records decide"
    return (
        f"{who}: below {limits}, {float(TUNING.boxes):.0%} of what is left buys counts of boxes of cells, "
        "neighbours that these do not tell apart are merged, and the rest measures a strategy for the buckets; from "
        f"there on, a first look at boxes, for {float(TUNING.first_look):.0%} of the budget, decides whether to do the "
        "same or to measure the strategy, with the error that is forecast"
    )
