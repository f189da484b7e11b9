"""Strategy: measures, once and with the whole budget, what answers the workload best by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.strategies.designs.kronecker import Design, designs, expected_error
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import (
    Progress,
    least_squares_forecast,
    opening_phase,
    proved_epsilon,
    strategy_name,
)
from dpqr.strategies.transcript import Round, Step
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import on_single_axes, scale_strategy
from dpqr.workload.workload import by_home


class StrategyTuning(Struct, frozen=True, kw_only=True):
    """One constant a line, with what it sets. The command that set them was not kept."""

    group_cells: int = 2**22  # cells of the attributes that are measured together (32 MB an array)
    shares: int = 16  # smallest integer that brings groups to their shares of the noise: each is right within 3%


TUNING = StrategyTuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One measurement of a strategy of small sensitivity, from which least squares estimates every query without bias.

    The attributes of each block form a group (one within another joins it). For every group the strategy of least
    expected error is chosen among identity, hierarchy and p-Identity, one an attribute, combined as a Kronecker
    product; all of it follows from the workload and the noise law, so the choice costs nothing. Groups are measured
    together, multiplied by integers that share the noise out best.

    References:
        The matrix mechanism (Li, Miklau, Hay, McGregor and Rastogi 2015) and HDMM (McKenna, Miklau, Hay and
        Machanavajjhala 2018); every matrix is integer before sensitivity and inverse are derived from it.
    """

    name: ClassVar[str] = "strategy"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """One measurement of the strategies of all groups.

        Raises:
            InfeasiblePlan: a query spans columns in one predicate, or a group has too many cells.
        """
        groups = _groups(problem)
        (price,) = roles.cut(budget, [Portion(share=Fraction(1), count=1)])
        chosen = [_Choice.of(problem, roles, price, axes, blocks) for axes, blocks in groups.items()]
        measured = _shared(chosen, problem, _norm(roles))
        phases = opening_phase(roles, problem.unit, (measured,), price)
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=least_squares_forecast(problem, roles, price, measured),
            notes=tuple(choice.sentence(problem, among=len(chosen)) for choice in chosen),
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return plan.asked_columns

    def start(self, plan: Plan) -> Progress:
        return Progress()

    def next(self, plan: Plan, state: Progress) -> Step | None:
        measured = plan.phase("opening")
        if state.rounds or measured is None:
            return None
        return Step(candidates=measured.blocks[0], select=None, measure=measured.price)

    def after(self, state: Progress, finished: Round) -> Progress:
        return state.after(finished)


class _Choice(Struct, frozen=True, kw_only=True, eq=False):
    """The design chosen for one group, and what the others would have come to.

    errors: expected root mean square error by kinds, in records, if the group were measured alone.
    """

    axes: Axes
    design: Design
    errors: dict[tuple[str, ...], float]

    @classmethod
    def of(cls, problem: Problem, roles: Roles, price: Price, axes: Axes, blocks: tuple[QueryBlock, ...]) -> _Choice:
        sizes = tuple(problem.domain.shape[axis] for axis in axes)
        offered = designs(strategy_name(problem, axes), axes, sizes, blocks, _norm(roles))
        costs, errors = {}, {}
        rows = sum(block.rows for block in blocks)
        for design in offered:
            noise = roles.check.law((design.strategy,), problem.unit, price).deviation
            costs[design.kinds] = design.error * noise**2
            errors[design.kinds] = float(np.sqrt(expected_error(design.strategy, blocks) * noise**2 / rows))
        best = min(offered, key=lambda design: costs[design.kinds])
        return cls(axes=axes, design=best, errors=errors)

    def sentence(self, problem: Problem, among: int) -> str:
        """Which strategy, and why: for the plan. among: groups that share the budget."""
        names = [problem.domain.attributes[axis].name for axis in self.axes]
        own = self.errors[self.design.kinds]
        others = ", ".join(f"{error:.4g} by {_words(kinds)}" for kinds, error in self.errors.items() if error > own)
        chosen = _words(self.design.kinds)
        columns = ", ".join(names) or "the total"
        against = f" (against {others})" if others else ""
        alone = " were it measured alone" if among > 1 else ""
        return f"strategy for {columns}: {chosen}, expected error {own:.4g} a query{alone}{against}"


def _words(kinds: tuple[str, ...]) -> str:
    return " x ".join(kinds) if len(set(kinds)) > 1 else (kinds or ("the count",))[0]


def _norm(roles: Roles) -> Norm:
    """What the check's noise is scaled to."""
    return Norm.L1 if roles.check.pure else Norm.L2_SQUARED


def _groups(problem: Problem) -> dict[Axes, tuple[QueryBlock, ...]]:
    """The blocks by their group; refused where a factor holds several columns, or a group too many cells."""
    blocks = problem.workload.blocks
    for block in blocks:
        if not on_single_axes(block):
            raise InfeasiblePlan(
                f"query {block.name!r} puts several columns into one predicate, which --schedule strategy cannot take "
                "apart; leave it out or use --schedule rounds"
            )
    groups = by_home(blocks)
    for axes in groups:
        cells = int(np.prod([problem.domain.shape[axis] for axis in axes], dtype=object))
        if cells > TUNING.group_cells:
            names = ", ".join(problem.domain.attributes[axis].name for axis in axes)
            raise InfeasiblePlan(
                f"the columns {names} have {cells:,} cells together, and --schedule strategy estimates at most "
                f"{TUNING.group_cells:,}; merge bins, or use --schedule rounds"
            )
    return groups


def _shared(chosen: Sequence[_Choice], problem: Problem, norm: Norm) -> tuple[QueryBlock, ...]:
    """The strategies, each times an integer, so that together they leave the least error.

    With noise in proportion to the sum of s_g = k_g d_g (d_g the sensitivity of group g) and group g's error to
    e_g / k_g^2, (sum s)^2 sum e_g d_g^2 / s_g^2 is least at s_g in proportion to (e_g d_g^2)^(1/3) (Hoelder). In
    squared L2, v_g = k_g^2 d_g: sum v times sum e_g d_g / v_g is least at v_g in proportion to (e_g d_g)^(1/2).
    """
    strategies = [choice.design.strategy for choice in chosen]
    if len(strategies) == 1:
        return tuple(strategies)
    moves = np.array([float(max(sensitivity((one,), norm, problem.unit), 1)) for one in strategies])
    errors = np.array([choice.design.error for choice in chosen])
    shares = np.cbrt(errors * moves**2) if norm is Norm.L1 else np.sqrt(errors * moves)
    factors = shares / moves if norm is Norm.L1 else np.sqrt(shares / moves)
    whole = np.rint(TUNING.shares * factors / factors.min()).astype(int)
    whole //= int(np.gcd.reduce(whole))
    return tuple(scale_strategy(one, int(factor)) for one, factor in zip(strategies, whole, strict=True))
