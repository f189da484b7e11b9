"""Which plan is chosen: the schedule that suits, then the accountant and the noise of least expected error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import marginal, problem

from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.fixed_schedules import Advanced, Optimal
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.strategies.guard import Wishes
from dpqr.strategies.plan import BlockForecast, Phase, Plan
from dpqr.strategies.schedules.planner import Auto, choose_plan
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload

# The schedule that the workload names.


def prefix(axis, size=9):
    return Factor(axes=(axis,), sizes=(size,), matrix=Prefix(size))


def block(*factors):
    return QueryBlock(name=f"{[factor.axes for factor in factors]}", factors=factors)


MARGINAL = block(Factor.identity(0, 2), Factor.identity(1, 3))
PREDICATE = block(Factor(axes=(5,), sizes=(3,), matrix=Dense(np.array([[1, 0, 1]]))))


LEVEL = Factor(axes=(2,), sizes=(4,), matrix=BucketMatrix(Identity(2), np.array([0, 1, 1, 0])))


@in_one_test(
    ("blocks", "name", "rivalled"),
    [
        ((block(LEVEL, Factor.identity(0, 2)), block(Factor.identity(0, 2), Factor.identity(2, 4))), "strategy", False),
        ((block(LEVEL), MARGINAL), "strategy", False),
        ((block(LEVEL, Factor.identity(0, 2)), MARGINAL), "rounds", True),
        ((block(LEVEL), block(prefix(1))), "strategy", False),
        ((block(LEVEL), PREDICATE), "strategy", False),
        ((block(LEVEL, Factor.identity(0, 2**21)),), "rounds", True),
        ((block(prefix(0)),), "ordered", False),
        ((block(prefix(0), prefix(1)), block(prefix(2))), "ordered", False),
        ((block(prefix(0), prefix(1)), block(prefix(1), prefix(2))), "ordered", True),
        ((block(prefix(0), prefix(1)), block(Factor.identity(2, 4)), PREDICATE), "ordered", True),
        ((block(prefix(0), prefix(1), prefix(2)),), "rounds", True),
        ((MARGINAL,), "marginals", False),
        ((MARGINAL, block(prefix(2))), "rounds", True),
        ((PREDICATE, MARGINAL), "rounds", True),
        ((PREDICATE,), "rounds", True),
        ((block(),), "rounds", True),
    ],
)
def test_the_workload_names_the_schedule_and_whether_marginals_may_take_its_place(blocks, name, rivalled):
    chosen = Auto().choose(Workload(tuple(blocks)))
    assert (chosen.name, chosen.rivalled) == (name, rivalled)
    assert chosen.reason == "" or name in chosen.reason


@in_one_test(
    ("columns", "cells", "count", "name"),
    [(16, 2, 255, "rounds"), (16, 2, 256, "queries"), (16, 2, 700, "queries"), (3, 2**8, 256, "rounds")],
)
def test_many_blocks_over_few_cells_are_asked_query_by_query(columns, cells, count, name):
    row = Dense(np.eye(1, cells, dtype=np.int64))
    factors = [Factor(axes=(axis,), sizes=(cells,), matrix=row) for axis in range(columns)]
    blocks = [QueryBlock(name=str(place), factors=(factors[place % columns],)) for place in range(count)]
    chosen = Auto().choose(Workload(tuple(blocks)))
    assert (chosen.name, chosen.rivalled) == (name, True)


@in_one_test(
    ("entries", "epsilon", "schedule"),
    [
        ([{"prefix": "a", "by": ["b"]}, {"prefix": "c", "by": ["b"]}], "1", "marginals"),
        ([{"prefix": "a"}, {"prefix": "b"}], "1", "strategy"),
        ([{"where": "a >= 3"}, {"prefix": "a", "by": ["b"]}, {"sum": "b", "by": ["c"]}], "0.1", "marginals"),
        ([{"where": "a >= 3 or b >= 2"}], "1", "marginals"),
    ],
)
def test_the_least_forecast_error_decides_between_them(entries, epsilon, schedule):
    document = {"domain": {"a": 6, "b": 3, "c": 4}, "queries": entries}
    plan = plan_release(PlanRequest(queries=document, epsilon=epsilon))
    assert plan.schedule.name == schedule
    assert schedule == "strategy" or any(blocks[0].is_marginal for blocks in plan.opening), "rows need a total"


# Accountant and noise.

SHAPE = (2, 3, 4)
PAIRS = tuple(marginal(axes, SHAPE) for axes in ((0, 1), (0, 2), (1, 2)))
PROBLEM = problem(SHAPE, PAIRS)
PURE = PrivacyBudget(Fraction(1))
APPROXIMATE = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
ACCOUNTANTS = (Basic(), Advanced(), Optimal(), ZeroConcentrated())


CHECKS = (Laplace(), Gaussian())
DISTINGUISHERS = (Exponential(), PermuteAndFlip())
BASIC = ("basic", "laplace")


def wishes(accountants=ACCOUNTANTS, checks=CHECKS, distinguishers=DISTINGUISHERS):
    update = MultiplicativeWeights()
    return Wishes(accountants=accountants, checks=checks, distinguishers=distinguishers, update=update)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A schedule whose plans have the noise, or the failure, that the test tells by accountant and check."""

    noise: dict
    proved: Fraction = Fraction(1)
    distinguisher: str | None = None
    adaptive = False
    name = "told"

    def plan(self, problem, budget, roles):
        told = self.noise.get((roles.accountant.name, roles.check.name), 9.0)
        if isinstance(told, Exception):
            raise told
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            epsilon=self.proved,
            forecast=(BlockForecast(name="q", rows=1, deviation=told),),
        )


class Adaptive(Told):
    """Its prices depend on what it releases."""

    adaptive = True


def chosen(plan):
    return plan.roles.accountant.name, plan.roles.check.name


@in_one_test(
    ("budget", "told", "best"),
    [
        (APPROXIMATE, {BASIC: 3.0, ("optimal", "laplace"): 1.0, ("zcdp", "gaussian"): 2.0}, ("optimal", "laplace")),
        (APPROXIMATE, {BASIC: 3.0, ("zcdp", "gaussian"): 2.0}, ("zcdp", "gaussian")),
        (APPROXIMATE, {BASIC: 1.0}, BASIC),
        (APPROXIMATE, {}, BASIC),
        (APPROXIMATE, {BASIC: InfeasiblePlan("vacuous")}, ("advanced", "laplace")),
        (PURE, {("advanced", "laplace"): 0.0, ("zcdp", "gaussian"): 0.0}, BASIC),
    ],
)
def test_the_combination_of_least_noise_is_taken(budget, told, best):
    assert chosen(choose_plan(PROBLEM, budget, Told(noise=told), wishes())) == best


def test_a_delta_never_buys_more_noise():
    whole, pure = (choose_plan(PROBLEM, budget, Rounds(rounds=3), wishes()) for budget in (APPROXIMATE, PURE))
    assert whole.noise <= pure.noise


def test_where_no_combination_has_a_plan_the_first_says_why():
    told = Told(
        noise={(a.name, c): InfeasiblePlan(f"{a.name} {c}") for a in ACCOUNTANTS for c in ("laplace", "gaussian")}
    )
    with pytest.raises(InfeasiblePlan, match="basic laplace"):
        choose_plan(PROBLEM, APPROXIMATE, told, wishes())


def test_a_plan_that_proves_more_than_the_budget_is_no_plan():
    with pytest.raises(InfeasiblePlan, match="no accountant can prove a plan within this budget"):
        choose_plan(PROBLEM, PURE, Told(noise={}, proved=Fraction(2)), wishes())


@in_one_test(
    ("budget", "accountants", "checks", "says"),
    [
        (PURE, ACCOUNTANTS, (Gaussian(),), "--check gaussian: this noise is never pure, so it needs a delta above 0"),
        (PURE, (ZeroConcentrated(),), (Laplace(),), "the zcdp accountant needs a delta above 0"),
        (PURE, (Advanced(),), (Laplace(), Gaussian()), "the advanced accountant needs a delta above 0"),
        (APPROXIMATE, (Advanced(),), (Gaussian(),), "--accountant advanced covers pure draws only"),
        (APPROXIMATE, (Basic(),), (Gaussian(),), "--accountant basic covers pure draws only"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(budget, accountants, checks, says):
    with pytest.raises(UsageFault, match=says) as caught:
        choose_plan(PROBLEM, budget, Rounds(), wishes(accountants, checks))
    assert str(caught.value).count(";") == 1


@in_one_test(
    ("accountant", "schedule", "offered", "expected"),
    [
        (Basic(), Rounds(rounds=1), DISTINGUISHERS, "permute-and-flip"),
        (ZeroConcentrated(), Rounds(rounds=1), DISTINGUISHERS, "exponential"),
        (Basic(), Told(noise={}, distinguisher="exponential"), DISTINGUISHERS, "exponential"),
        (Basic(), Rounds(rounds=1), (Exponential(),), "exponential"),
    ],
)
def test_the_favoured_distinguisher(accountant, schedule, offered, expected):
    plan = choose_plan(PROBLEM, APPROXIMATE, schedule, wishes((accountant,), distinguishers=offered))
    assert plan.roles.distinguisher.name == expected


def test_theory_takes_the_accountant_under_which_its_bound_says_something():
    """At this n basic composition promises nothing, and zero-concentrated composition does."""
    million = problem(SHAPE, PAIRS, n=1_500_000)
    with pytest.raises(InfeasiblePlan, match="vacuous"):
        choose_plan(problem(SHAPE, PAIRS, n=1000), PURE, Theory(), wishes((Basic(),)))
    plan = choose_plan(million, APPROXIMATE, Theory(), wishes((Basic(), ZeroConcentrated())))
    pure = choose_plan(million, PURE, Theory(), wishes((Basic(),)))
    assert plan.roles.accountant.name == "zcdp"
    assert plan.problem.alpha < pure.problem.alpha


@in_one_test(("part", "name"), [("0.1", "gdp"), ("0.4", "zcdp")])
def test_noise_that_choices_pay_for_is_no_gain(part, name):
    """A tenth less variance under gdp is worth it while choices, pi / 2 times as dear there, take little."""

    @dataclass(frozen=True, kw_only=True)
    class Cut(Told):
        def plan(self, problem, budget, roles):
            parts = Fraction(part), 1 - Fraction(part)
            plan, gaussian = super().plan(problem, budget, roles), roles.accountant.name == "gdp"
            shares = [Price(**{"squared_mu" if gaussian else "rho": share}) for share in parts]
            nouns = ("selection", "measurement")
            phases = tuple(Phase(noun=noun, count=1, price=price) for noun, price in zip(nouns, shares, strict=True))
            return replace(plan, phases=phases)

    told = Cut(noise={("zcdp", "gaussian"): 1.0, ("gdp", "gaussian"): 0.95})
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, told, wishes((ZeroConcentrated(), GaussianDP()))))[0] == name


def test_theorems_for_fixed_prices_are_passed_over_and_the_refusal_says_why():
    fixed = (Advanced(), Optimal())
    assert (
        chosen(choose_plan(PROBLEM, APPROXIMATE, Adaptive(noise={}), wishes((*fixed, ZeroConcentrated()))))[0] == "zcdp"
    )
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, Told(noise={}), wishes(fixed)))[0] == "advanced"
    with pytest.raises(UsageFault, match="--schedule told sets prices by what it releases"):
        choose_plan(PROBLEM, APPROXIMATE, Adaptive(noise={}), wishes(fixed))
