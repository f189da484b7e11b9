"""The plan of least expected error: what is compared, what is refused, and that nothing valid is passed over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from support.small_universes import marginal, problem

from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.fixed_schedules import Advanced, Optimal
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
from dpqr.strategies.plan import BlockForecast, Phase, Plan
from dpqr.strategies.schedules.planner import Wishes, choose_plan
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights

SHAPE = (2, 3, 4)
PAIRS = tuple(marginal(axes, SHAPE) for axes in ((0, 1), (0, 2), (1, 2)))
PROBLEM = problem(SHAPE, PAIRS)
PURE = PrivacyBudget(Fraction(1))
APPROXIMATE = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
ACCOUNTANTS = (Basic(), Advanced(), Optimal(), ZeroConcentrated())


CHECKS = (Laplace(), Gaussian())
DISTINGUISHERS = (Exponential(), PermuteAndFlip())


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


def chosen(plan):
    return plan.roles.accountant.name, plan.roles.check.name


def test_the_least_noise_wins():
    told = Told(noise={("basic", "laplace"): 3.0, ("optimal", "laplace"): 1.0, ("zcdp", "gaussian"): 2.0})
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, told, wishes())) == ("optimal", "laplace")
    told = Told(noise={("basic", "laplace"): 3.0, ("zcdp", "gaussian"): 2.0})
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, told, wishes())) == ("zcdp", "gaussian")


def test_a_pure_plan_is_taken_under_a_delta_where_it_buys_less_noise():
    told = Told(noise={("basic", "laplace"): 1.0})
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, told, wishes())) == ("basic", "laplace")
    whole = choose_plan(PROBLEM, APPROXIMATE, Rounds(rounds=3), wishes())
    pure = choose_plan(PROBLEM, PURE, Rounds(rounds=3), wishes())
    assert whole.noise <= pure.noise


def test_ties_go_to_the_earlier_one():
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, Told(noise={}), wishes())) == ("basic", "laplace")


def test_without_delta_only_basic_composition_is_planned():
    told = Told(noise={("advanced", "laplace"): 0.0, ("zcdp", "gaussian"): 0.0})
    assert chosen(choose_plan(PROBLEM, PURE, told, wishes())) == ("basic", "laplace")


def test_a_combination_without_a_plan_does_not_spoil_the_others():
    told = Told(noise={("basic", "laplace"): InfeasiblePlan("vacuous")})
    assert chosen(choose_plan(PROBLEM, APPROXIMATE, told, wishes())) == ("advanced", "laplace")


def test_where_no_combination_has_a_plan_the_first_says_why():
    told = Told(
        noise={(a.name, c): InfeasiblePlan(f"{a.name} {c}") for a in ACCOUNTANTS for c in ("laplace", "gaussian")}
    )
    with pytest.raises(InfeasiblePlan, match="basic laplace"):
        choose_plan(PROBLEM, APPROXIMATE, told, wishes())


def test_a_plan_that_proves_more_than_the_budget_is_no_plan():
    with pytest.raises(InfeasiblePlan, match="no accountant can prove a plan within this budget"):
        choose_plan(PROBLEM, PURE, Told(noise={}, proved=Fraction(2)), wishes())


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("accountant", "schedule", "expected"),
    [
        (Basic(), Rounds(rounds=1), "permute-and-flip"),
        (ZeroConcentrated(), Rounds(rounds=1), "exponential"),
        (Basic(), Told(noise={}, distinguisher="exponential"), "exponential"),
    ],
)
def test_the_favoured_distinguisher(accountant, schedule, expected):
    plan = choose_plan(PROBLEM, APPROXIMATE, schedule, wishes((accountant,)))
    assert plan.roles.distinguisher.name == expected


def test_the_users_distinguisher_is_taken_whatever_is_favoured():
    plan = choose_plan(PROBLEM, APPROXIMATE, Rounds(rounds=1), wishes((Basic(),), distinguishers=(Exponential(),)))
    assert plan.roles.distinguisher.name == "exponential"


def test_theory_takes_the_accountant_under_which_its_bound_says_something():
    """At this n basic composition promises nothing, and zero-concentrated composition does."""
    million = problem(SHAPE, PAIRS, n=1_500_000)
    with pytest.raises(InfeasiblePlan, match="vacuous"):
        choose_plan(problem(SHAPE, PAIRS, n=1000), PURE, Theory(), wishes((Basic(),)))
    plan = choose_plan(million, APPROXIMATE, Theory(), wishes((Basic(), ZeroConcentrated())))
    pure = choose_plan(million, PURE, Theory(), wishes((Basic(),)))
    assert plan.roles.accountant.name == "zcdp"
    assert plan.problem.alpha < pure.problem.alpha


def test_the_same_wishes_give_the_same_plan():
    plans = [choose_plan(PROBLEM, APPROXIMATE, Rounds(rounds=2), wishes()) for _ in range(2)]
    assert plans[0].events == plans[1].events
    assert chosen(plans[0]) == chosen(plans[1])


@pytest.mark.parametrize(("part", "name"), [("0.1", "gdp"), ("0.4", "zcdp")])
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
