"""An adaptive schedule gets a filter or nothing."""

from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpqr.kernel.accountants.accountant import FilterAccountant, PlanFilter, SumFilter
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter, unfit
from dpqr.strategies.schedules.planner import Wishes, choose_plan

BUDGET = PrivacyBudget.parse("1", "1e-6")
DRAW = ExponentialEvent(epsilon=Fraction(1, 100))


@dataclass(frozen=True, kw_only=True)
class Annealed:
    """A schedule that only says whether its prices depend on what was released."""

    adaptive: bool
    name: str = "annealed"
    distinguisher: str | None = None

    def plan(self, problem, budget, roles):
        return SimpleNamespace(
            roles=roles,
            schedule=self,
            budget=budget,
            events=((DRAW, 3),),
            epsilon=Fraction(1),
            noise=1.0,
            expected=None,
        )


def plan(accountant, *, adaptive):
    return Annealed(adaptive=adaptive).plan(None, BUDGET, SimpleNamespace(accountant=accountant))


def wishes(*names):
    return Wishes(
        accountants=[ACCOUNTANTS[name] for name in names],
        distinguishers=[Exponential()],
        checks=[Laplace()],
        update=None,
    )


@pytest.mark.parametrize("name", ["basic", "advanced", "optimal", "zcdp", "gdp"])
def test_a_fixed_schedule_is_guarded_by_its_plan(name):
    guard = make_filter(plan(ACCOUNTANTS[name], adaptive=False))
    assert isinstance(guard, SumFilter if isinstance(ACCOUNTANTS[name], FilterAccountant) else PlanFilter)
    assert unfit(ACCOUNTANTS[name], Annealed(adaptive=False)) is None


@pytest.mark.parametrize("name", ["basic", "zcdp", "gdp"])
def test_a_filter_charges_an_adaptive_schedule_beyond_its_plan(name):
    guard = make_filter(plan(ACCOUNTANTS[name], adaptive=True))
    assert [guard.charge(DRAW) for _ in range(20)] == list(range(20))


@pytest.mark.parametrize("name", ["advanced", "optimal", "pld"])
def test_every_other_theorem_is_refused_by_its_type(name):
    with pytest.raises(
        BudgetRefused, match=f"--accountant {name} does not cover; choose --accountant basic, zcdp or gdp"
    ):
        make_filter(plan(ACCOUNTANTS[name], adaptive=True))


def test_the_choice_passes_over_them_and_says_why_nothing_is_left():
    found = choose_plan(None, BUDGET, Annealed(adaptive=True), wishes("advanced", "optimal", "zcdp"))
    assert found.roles.accountant.name == "zcdp"
    fixed = choose_plan(None, BUDGET, replace(Annealed(adaptive=True), adaptive=False), wishes("advanced", "optimal"))
    assert fixed.roles.accountant.name == "advanced"
    with pytest.raises(UsageFault, match="--schedule annealed sets prices by what it releases"):
        choose_plan(None, BUDGET, Annealed(adaptive=True), wishes("advanced", "optimal"))
