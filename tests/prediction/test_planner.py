"""Which accountant and noise a prediction plan takes, and what it costs."""

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe

TABLE = domain(30, 2)
NUMBER = Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))
BUDGET = PrivacyBudget.parse("1", "1e-6")
OFFERED = [one for name, one in PREDICTING.items() if name != "pld"]


def wanted(points=None, records=1000, tuning=None, accountants=OFFERED, budget=BUDGET, method="output"):
    problem = PredictionProblem(
        domain=TABLE,
        target=Target(attribute=TABLE.attributes[1], axis=1, positive=1),
        unit=PrivacyUnit(),
        records=records,
        points=points,
    )
    recipe = StableRecipe(name="logistic", features=CellFeatures(domain=domain(30)), tuning=tuning, method=method)
    return PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=accountants)


def test_a_function_gets_the_noise_of_the_analytic_mechanism():
    plan = least_spread(wanted())
    assert plan.accountant.name == "analytic"
    assert plan.spread == pytest.approx(4.2247, abs=1e-3)
    assert [type(event) for event, _ in plan.events] == [RoundedGaussianEvent]
    zcdp = least_spread(replace(wanted(), accountants=[PREDICTING["zcdp"]]))
    assert zcdp.spread == pytest.approx(4.5309, abs=1e-3)
    assert [type(event) for event, _ in zcdp.events] == [RoundedGaussianEvent]


@pytest.mark.parametrize("points", [None, 1, 40])
@pytest.mark.parametrize(("records", "tuning"), [(1000, None), (None, None), (1000, Fraction(1, 5))])
def test_plans_of_the_analytic_accountant_stay_within_the_budget(points, records, tuning):
    plan = least_spread(wanted(points, records, tuning, [PREDICTING["analytic"]]))
    assert Fraction(999999, 10**6) < plan.epsilon <= 1
    before = {DiscreteLaplaceEvent} if records is None else {ExponentialEvent} if tuning else set()
    assert {type(event) for event, _ in plan.events[:-1]} == before
    guard = plan.accountant.guard(BUDGET, plan.events)
    for event, count in plan.events:
        for _ in range(count):
            guard.charge(event)


@pytest.mark.parametrize("records", [1000, None])
def test_a_perturbed_objective_is_taken_where_its_noise_is_forecast_to_be_least(records):
    """At delta 0 always; it buys no count of records and costs the whole budget."""
    plan = least_spread(wanted(records=records, budget=PrivacyBudget.parse("1"), method=None))
    assert (plan.noise, plan.epsilon, plan.counting) == ("objective", 1, None)
    assert plan.direct().event == plan.events[0][0]
    forced = least_spread(wanted(records=records, budget=BUDGET, method="objective"))
    assert (forced.noise, forced.accountant.name) == ("gaussian-objective", "analytic")
    assert forced.direct().event == forced.events[0][0]
    forced.accountant.guard(BUDGET, forced.events).charge(forced.events[0][0])
    with pytest.raises(BudgetRefused, match="asks rho"):
        forced.accountant.guard(BUDGET, forced.events).charge(replace(forced.events[0][0], changes=2))
    assert least_spread(wanted(points=3, budget=BUDGET, method=None)).noise == "laplace"
    tuned = least_spread(wanted(tuning=Fraction(1, 5), budget=PrivacyBudget.parse("1"), method=None))
    assert tuned.noise == "spherical"


def test_without_extended_precision_no_objective_is_perturbed(monkeypatch):
    monkeypatch.setattr("dpqr.prediction.recipes.EXTENDED", False)
    assert least_spread(wanted(method=None)).noise == "gaussian"
    with pytest.raises(InfeasiblePlan, match="floating-point"):
        least_spread(wanted(method="objective"))


def test_a_perturbed_objective_goes_with_no_other_choice_of_lambda():
    for points, tuning in ((3, None), (None, Fraction(1, 5))):
        with pytest.raises(UsageFault, match="--method objective"):
            least_spread(wanted(points=points, tuning=tuning, method="objective"))


def test_without_a_delta_no_normal_noise_is_drawn():
    plan = least_spread(wanted(budget=PrivacyBudget.parse("1")))
    assert (plan.accountant.name, plan.noise) == ("basic", "spherical")


@dataclass(frozen=True)
class Dear(Basic):
    """An accountant whose prices add up to more than the budget."""

    def epsilon(self, events, delta):
        return super().epsilon(events, delta) * 2


def test_no_plan_above_the_budget_is_taken():
    pure = replace(wanted(points=3, budget=PrivacyBudget.parse("1")), accountants=[Dear()])
    with pytest.raises(InfeasiblePlan, match="no accountant can prove"):
        least_spread(pure)
    assert least_spread(replace(pure, accountants=[Dear(), PREDICTING["basic"]])).epsilon == 1


@pytest.mark.parametrize("points", [None, 1, 40])
@pytest.mark.parametrize("records", [1000, None])
@pytest.mark.parametrize("tuning", [None, Fraction(1, 5)])
def test_under_basic_composition_all_draws_together_spend_the_budget_exactly(points, records, tuning):
    """A twentieth for a count, of the rest a fifth for lambda, and of what is left the same for every point."""
    plan = least_spread(wanted(points, records, tuning, [PREDICTING["basic"]], PrivacyBudget.parse("1")))
    left = Fraction(1)
    if records is None:
        assert plan.counting.pure == Fraction(1, 20)
        left -= plan.counting.pure
    if tuning:
        assert plan.tuning.bounded_range == left / 5
        left -= left / 5
    assert plan.price.pure == left / (points or 1)
    assert plan.epsilon == 1
    assert sum(count for _, count in plan.events) == (points or 1) + (records is None) + bool(tuning)


@dataclass(frozen=True)
class Silent(Basic):
    """An accountant whose theorem does not cover the draws."""

    def epsilon(self, events, delta):
        return None


def test_draws_that_a_theorem_does_not_cover_are_not_free():
    pure = replace(wanted(points=3, budget=PrivacyBudget.parse("1")), accountants=[Silent()])
    with pytest.raises(InfeasiblePlan, match="no accountant can prove"):
        least_spread(pure)
    assert least_spread(replace(pure, accountants=[Silent(), PREDICTING["basic"]])).epsilon == 1


def test_every_release_of_a_stream_is_charged_for_every_point():
    problem = replace(wanted(points=7).problem, unit=PrivacyUnit(neighbours=Neighbours.REPLACE))
    target = Target(attribute=NUMBER, axis=1)
    problem = replace(problem, domain=Domain((TABLE.attributes[0], NUMBER)), target=target)
    recipe = StableRecipe(name="online", features=CellFeatures(domain=domain(30)), releases=3)
    given = PlannerInput(
        problem=problem, budget=PrivacyBudget.parse("1"), recipe=recipe, accountants=[PREDICTING["basic"]]
    )
    plan = least_spread(given)
    assert [count for _, count in plan.events] == [21]
    assert plan.price.pure == Fraction(1, 21)
