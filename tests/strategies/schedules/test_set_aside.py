"""A part of the budget that is set aside: what the schedule does with the rest, and what the part buys."""

from fractions import Fraction

import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Phase, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.parts import reserve_share, with_phases
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload

BUDGET = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
SHARE = Fraction(1, 20)
BLOCKS = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 3),)) for axis in range(4))
PROBLEM = Problem(
    domain=Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(3)) for axis in range(4))),
    workload=Workload(BLOCKS),
    unit=PrivacyUnit(),
)


def roles(accountant):
    return Roles(
        distinguisher=Exponential(),
        check=Laplace(),
        update=MultiplicativeWeights(),
        accountant=ACCOUNTANTS[accountant],
    )


def figure(price):
    return price.epsilon if price.rho is None else price.rho


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
@pytest.mark.parametrize("schedule", [Rounds(rounds=2), Marginals(table=0)], ids=["rounds", "search"])
def test_the_part_is_that_share_of_all(accountant, schedule) -> None:
    given = roles(accountant)
    plan, price = reserve_share(schedule, PROBLEM, BUDGET, given, SHARE, "--option")
    rest = sum(figure(phase.price) * phase.count for phase in plan.phases if phase.noun != "search")
    assert figure(price) == SHARE * (rest + figure(price))
    assert plan.roles == given


def test_an_accountant_for_equal_draws_is_refused_by_name() -> None:
    with pytest.raises(InfeasiblePlan, match="the optimal accountant covers equal draws only, and --option buys"):
        reserve_share(Rounds(rounds=2), PROBLEM, BUDGET, roles("optimal"), SHARE, "--option")


def test_more_phases_are_proved_anew() -> None:
    plan, price = reserve_share(Rounds(rounds=2), PROBLEM, BUDGET, roles("basic"), SHARE, "--option")
    assert plan.epsilon == 1 - SHARE
    bought = Phase(noun="errors", count=1, price=price, events=plan.events[:1])
    assert with_phases(plan, (*plan.phases, bought)).events == (*plan.events, *plan.events[:1])
    assert with_phases(plan, plan.phases).epsilon == 1 - SHARE
