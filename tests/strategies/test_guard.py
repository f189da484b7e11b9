"""An adaptive schedule gets a filter or nothing."""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import FilterAccountant, PlanFilter, SumFilter
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent
from dpqr.strategies.guard import make_filter, unfit

BUDGET = PrivacyBudget.parse("1", "1e-6")
DRAW = ExponentialEvent(epsilon=Fraction(1, 100))


@dataclass(frozen=True, kw_only=True)
class Annealed:
    """A schedule that only says whether its prices depend on what was released."""

    adaptive: bool
    name: str = "annealed"
    distinguisher: str | None = None


def plan(accountant, *, adaptive):
    roles, schedule = SimpleNamespace(accountant=accountant), Annealed(adaptive=adaptive)
    return SimpleNamespace(roles=roles, schedule=schedule, budget=BUDGET, events=((DRAW, 3),))


@in_one_test("name", ["basic", "advanced", "optimal", "zcdp", "gdp"])
def test_a_fixed_schedule_is_guarded_by_its_plan(name):
    guard = make_filter(plan(ACCOUNTANTS[name], adaptive=False))
    assert isinstance(guard, SumFilter if isinstance(ACCOUNTANTS[name], FilterAccountant) else PlanFilter)
    assert unfit(ACCOUNTANTS[name], Annealed(adaptive=False)) is None


@in_one_test("name", ["basic", "zcdp", "gdp"])
def test_a_filter_charges_an_adaptive_schedule_beyond_its_plan(name):
    guard = make_filter(plan(ACCOUNTANTS[name], adaptive=True))
    assert [guard.charge(DRAW) for _ in range(20)] == list(range(20))


@in_one_test("name", ["advanced", "optimal", "pld"])
def test_every_other_theorem_is_refused_by_its_type(name):
    with pytest.raises(
        BudgetRefused, match=f"--accountant {name} does not cover; choose --accountant basic, zcdp or gdp"
    ):
        make_filter(plan(ACCOUNTANTS[name], adaptive=True))
