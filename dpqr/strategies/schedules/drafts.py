"""Drafts: the parts of a plan that several schedules make alike: phases, forecasts, names, and the proved epsilon."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import of_any_blocks
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.plan import BlockForecast, Phase, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.strategy_matrices import query_variances
from dpqr.workload.workload import Measurement, home

NORMAL = math.sqrt(2 / math.pi)
"""Expected absolute value of a normal variable of deviation 1."""


def opening_phase(
    roles: Roles, unit: PrivacyUnit, blocks: tuple[Candidate, ...], price: Price | None
) -> tuple[Phase, ...]:
    """Measurements before any selection, one of each of `blocks`; none where nothing is measured first."""
    if not blocks or price is None:
        return ()
    events = Counter(roles.check.event(each, unit, price) for each in blocks)
    return (Phase(noun="opening", count=len(blocks), price=price, events=tuple(events.items()), blocks=blocks),)


def round_phases(
    roles: Roles, unit: PrivacyUnit, dearest: QueryBlock, rounds: int, prices: tuple[Price, Price], *, single: bool
) -> tuple[Phase, Phase]:
    """So many rounds, each a selection and a measurement; the worst case measures `dearest` every time.

    prices: of a selection, and of a measurement.
    """
    select, measure = prices
    chosen, measured = roles.distinguisher.event(select), of_any_blocks(roles.check.event((dearest,), unit, measure))
    return (
        Phase(noun="selection", count=rounds, price=select, events=((chosen, rounds),), single=single),
        Phase(noun="measurement", count=rounds, price=measure, events=((measured, rounds),)),
    )


def search_phases(phases: Iterable[Phase], whole: Price) -> tuple[Phase, ...]:
    """The same draws where a filter charges them: the plan states their sum, and no price of single draws."""
    return (
        *(replace(phase, events=()) for phase in phases),
        Phase(noun="search", count=1, price=whole, events=((whole.event, 1),)),
    )


def proved_epsilon(accountant: Accountant, phases: Iterable[Phase], budget: PrivacyBudget) -> Fraction:
    """What the accountant proves for a plan's events; InfeasiblePlan where its theorem does not cover them."""
    epsilon = accountant.epsilon(tuple(event for phase in phases for event in phase.events), budget.delta)
    if epsilon is None:
        raise InfeasiblePlan(f"--accountant {accountant.name} does not cover this plan's draws; choose another one")
    return epsilon


def forecast(problem: Problem, roles: Roles, block: QueryBlock, price: Price) -> BlockForecast:
    """The noise that measuring `block` at `price` would add to each of its answers, in records."""
    law = roles.check.law((block,), problem.unit, price)
    return BlockForecast(name=block.name, rows=block.rows, deviation=law.deviation * float(block.scale))


def forecasts(problem: Problem, roles: Roles, price: Price) -> tuple[BlockForecast, ...]:
    """The same of every block of the workload; marginals of columns of the same sizes have the same noise."""
    alike, found = dict[tuple[int, ...], float](), []
    for block in problem.workload.blocks:
        sizes = tuple(factor.matrix.cells for factor in block.factors)
        deviation = alike.get(sizes) if block.is_marginal else None
        if deviation is None:
            deviation = roles.check.law((block,), problem.unit, price).deviation
            alike.update({sizes: deviation} if block.is_marginal else {})
        found.append(BlockForecast(name=block.name, rows=block.rows, deviation=deviation * float(block.scale)))
    return tuple(found)


def forecast_row(problem: Problem, roles: Roles, block: QueryBlock, price: Price) -> BlockForecast:
    """The noise of one query's answer where queries are measured one by one: of the block's largest one, for a query's
    noise grows with its own coefficients."""
    return replace(forecast(problem, roles, block.largest_row, price), name=block.name, rows=block.rows)


def least_squares_forecast(
    problem: Problem, roles: Roles, price: Price, measured: tuple[QueryBlock, ...]
) -> tuple[BlockForecast, ...]:
    """The expected errors of every block's answers by least squares, in records: closed forms.

    Args:
        price: of the one measurement.
        measured: a strategy for each group of attributes, measured together.
    """
    law = roles.check.law(measured, problem.unit, price)
    by_group = {tuple(sorted(strategy.axes)): strategy for strategy in measured}
    forecasts = []
    for block in problem.workload.blocks:
        axes = home(block.axes, by_group)
        assert axes is not None, "every block has a group"
        variances = query_variances(by_group[axes], block)
        deviation, error = law.deviation * float(variances.mean()) ** 0.5, float(_mean_sizes(law, variances).mean())
        scale = float(block.scale)
        forecasts.append(
            BlockForecast(name=block.name, rows=block.rows, deviation=deviation * scale, error=error * scale)
        )
    return tuple(forecasts)


def _mean_sizes(law: NoiseLaw, variances: FloatArray) -> FloatArray:
    """Expected absolute value of sums of draws that have so many times the variance of one, shape as variances.

    A sum of many draws is nearly normal. One draw has its own law; so has, nearly, a sum of draws that are nearly all
    zero, as those of a large budget are on the grid of whole records.
    """
    normal = NORMAL * law.deviation * np.sqrt(variances)
    sizes: FloatArray = np.minimum(normal, law.mean_size * np.maximum(variances, 1.0))
    return sizes


def dearest_row(problem: Problem) -> QueryBlock:
    """The query whose measurement has the most noise at a price."""
    return max(problem.workload.blocks, key=lambda block: block.largest_coefficient).largest_row


def one_way(problem: Problem) -> tuple[Candidate, ...]:
    """All one-way marginals of the attributes that the workload looks at; the workload's own block where it is one."""
    attributes = problem.domain.attributes
    return _one_way(problem.workload.blocks, tuple((one.name, one.size) for one in attributes))


@lru_cache(maxsize=4)
def _one_way(blocks: tuple[QueryBlock, ...], columns: tuple[tuple[str, int], ...]) -> tuple[Candidate, ...]:
    """The same blocks for every plan of a workload, so that whatever is kept by block is found again.

    columns: of the domain, each a name and its cells."""
    marginals = {block.axes: block for block in blocks if block.is_marginal}
    singles = []
    for axis in sorted({axis for block in blocks for axis in block.axes}):
        name, size = columns[axis]
        own = QueryBlock(name=f"opening({name})", factors=(Factor.identity(axis, size),))
        singles.append((marginals.get((axis,), own),))
    return tuple(singles)


def strategy_name(problem: Problem, axes: Axes, what: str = "strategy") -> str:
    """A name that no query has, so that no measurement is mistaken for an answer.

    Args:
        axes: attributes that the strategy is on.
        what: first word of the name.
    """
    name = f"{what}({','.join(problem.domain.attributes[axis].name for axis in axes)})"
    query_names = {block.name for block in problem.workload.blocks}
    while name in query_names:
        name += "'"
    return name


# States that several schedules share.


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many rounds there were, and what the first one released.

    first: None before it, and where it was lost in a crash.

    >>> Progress().after(Round(choice=None, measurement=None, charges=(0,)))
    Progress(rounds=1, first=None)
    """

    rounds: int = 0
    first: Measurement | None = None

    def after(self, finished: Round) -> Progress:
        return Progress(rounds=self.rounds + 1, first=self.first if self.rounds else finished.measurement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What every round released, in order; None for one that was lost in a crash.

    >>> Released().after(Round(choice=None, measurement=None, charges=(0,))).measurements
    ()
    """

    rounds: tuple[Measurement | None, ...] = ()

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(measured for measured in self.rounds if measured is not None)

    def after(self, finished: Round) -> Self:
        return replace(self, rounds=(*self.rounds, finished.measurement))
