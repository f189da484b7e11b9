"""What a plan draws is what it is charged for: every mechanism's events are the planned ones."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS, PREDICTING
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.currency import EPSILON, RHO, SQUARED_MU
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, RoundedGaussianEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import PointsForm, ProcessForm, VotesForm, make_selection
from dpqr.prediction.learners.features import CellFeatures, Kernel
from dpqr.prediction.plan import ProcessPlan, usable
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target
from dpqr.prediction.recipes import StableRecipe

FEATURES = CellFeatures(domain=domain(3))
LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))))
LOGISTIC = StableRecipe(name="logistic", features=FEATURES, method="output")
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)


def planned(recipe, *, table=LABELS, points=7, delta="0", unit=None, records=100):
    positive = 1 if table is LABELS else None
    problem = PredictionProblem(
        domain=table,
        target=Target(attribute=table.attributes[1], axis=1, positive=positive),
        unit=unit or PrivacyUnit(),
        records=records,
        points=points,
    )
    accountants = [Basic()] if delta == "0" else [ACCOUNTANTS["zcdp"]]
    budget = PrivacyBudget(epsilon=Fraction(2), delta=Fraction(delta))
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=accountants))


def aggregate(**given):
    return Aggregate(features=FEATURES, base=RidgeBase(), **given)


@in_one_test("delta", ["0", "1/1000000"])
def test_a_stable_learners_draws(delta):
    plan = planned(LOGISTIC, delta=delta)
    assert plan.predictions(plan.learner(100), np.zeros((7, 1), dtype=int)).events == plan.events
    function = planned(LOGISTIC, points=None, delta=delta)
    assert ((function.weights(function.learner(100)).event, 1),) == function.events


@in_one_test("delta", ["0", "1/1000000"])
def test_an_exact_kernels_draws(delta):
    wide = domain(30, 40, 50)
    table = Domain((*wide.attributes, NUMBERS.attributes[1]))
    kernel = Kernel(name="gaussian")
    recipe = StableRecipe(name="least-squares", features=kernel.of(wide), kernel=kernel)
    problem = PredictionProblem(
        domain=table, target=Target(attribute=table.attributes[3], axis=3), unit=REPLACED, records=100, points=7
    )
    accountant = Basic() if delta == "0" else ACCOUNTANTS["zcdp"]
    budget = PrivacyBudget(epsilon=Fraction(2), delta=Fraction(delta))
    wanted = PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[accountant])
    plan = least_spread(wanted)
    codes = np.zeros((7, 3), dtype=int)
    if delta == "0":
        assert plan.predictions(plan.learner(100), codes).events == plan.events
        return
    assert plan.form == ProcessForm(points=7)
    assert isinstance(plan, ProcessPlan)
    assert least_spread(replace(wanted, separate=True)).form == PointsForm(count=7)
    _, mechanism = plan.process(plan.learner(100), codes)
    assert ((mechanism.event, 1),) == plan.events


@in_one_test(
    ("recipe", "table"), [(aggregate(), LABELS), (aggregate(vote="randomised"), LABELS), (aggregate(), NUMBERS)]
)
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_an_ensembles_draws(recipe, table, delta):
    plan = planned(recipe, table=table, delta=delta)
    assert plan.votes(np.zeros((7, FEATURES.width))).events == plan.events


class Panel:
    """An ensemble, some of whose parts one unit changes."""

    parts, predictions, touched = 5, 7, 3


PRICES = [Price(epsilon=Fraction(1, 2)), Price(rho=Fraction(1, 8)), Price(squared_mu=Fraction(1, 4))]


@in_one_test("price", PRICES)
@pytest.mark.parametrize("noise", ["exponential", "permute-and-flip"])
def test_a_label_is_selected_by_the_named_mechanism_for_no_more_than_its_price(noise, price):
    """Of bounded range the exponential mechanism alone is; in rho and mu^2 the other one has half of its epsilon."""
    drawn = make_selection(Panel(), price, noise)
    ((event, count),) = drawn.events
    assert (type(event).__name__, count) == (KINDS[noise], 7)
    assert event == VotesForm(count=7, noises=(noise,)).event(price, noise)
    assert drawn.rate == event.epsilon / 6
    spent = {"epsilon": EPSILON, "rho": RHO, "squared_mu": SQUARED_MU}[price.currency].sums.loss(event)
    assert Fraction(999, 1000) * price.figure <= spent <= price.figure


KINDS = {"exponential": "ExponentialEvent", "permute-and-flip": "PermuteAndFlipEvent"}


@in_one_test("delta", ["0", "1/1000000"])
def test_numbers_are_clipped_to_their_bounds_and_scores_are_not(delta):
    squares = StableRecipe(name="least-squares", features=FEATURES, method="output")
    for recipe, table, limit in ((squares, NUMBERS, 1), (LOGISTIC, LABELS, None)):
        plan = planned(recipe, table=table, delta=delta)
        asked = plan.predictions(plan.learner(100), np.zeros((7, 1), dtype=int)).at_points
        assert (asked.limit, asked.count) == (limit, 7)
        assert plan.predictions(plan.learner(1), np.zeros((7, 1), dtype=int)).at_points.bound <= (2 if limit else 10**9)


@in_one_test("delta", ["0", "1/1000000"])
def test_what_is_bought_first(delta):
    """A count of records, a choice of lambda, then the form's own draws; together they spend the budget."""
    plan = planned(replace(LOGISTIC, tuning=Fraction(1, 5)), delta=delta, records=None)
    count, choice, drawn = plan.events
    assert count == (plan.counter.event, 1)
    assert (choice,) == plan.tuner(100).events
    assert drawn[1] == 7
    assert Fraction(99, 100) * 2 < plan.epsilon <= 2
    if delta == "0":
        spent = [Fraction(1, 20), Fraction(1, 5) * Fraction(19, 20), Fraction(4, 5) * Fraction(19, 20)]
        assert [plan.counting.pure, plan.tuning.bounded_range, 7 * plan.price.pure] == [2 * share for share in spent]


def test_every_release_of_a_stream_is_paid():
    recipe = StableRecipe(name="online", features=FEATURES, releases=3)
    plan = planned(recipe, table=NUMBERS, unit=REPLACED)
    assert [count for _, count in plan.events] == [21]
    assert 21 * plan.price.pure == 2


# Which accountant and noise a prediction plan takes, and what it costs.

TABLE = domain(30, 2)
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


@in_one_test("points", [None, 1, 40])
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


@in_one_test("records", [1000, None])
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


@in_one_test("points", [None, 1, 40])
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
class Broken(Basic):
    """An accountant whose prices add up to more than the budget, or whose theorem does not cover the draws."""

    times: int | None

    def epsilon(self, events, delta):
        return None if self.times is None else super().epsilon(events, delta) * self.times


@in_one_test("times", [2, None])
def test_no_plan_above_the_budget_is_taken_and_draws_that_a_theorem_does_not_cover_are_not_free(times):
    pure = replace(wanted(points=3, budget=PrivacyBudget.parse("1")), accountants=[Broken(times=times)])
    with pytest.raises(InfeasiblePlan, match="no accountant can prove"):
        least_spread(pure)
    assert least_spread(replace(pure, accountants=[Broken(times=times), PREDICTING["basic"]])).epsilon == 1


def test_a_bought_number_of_records_is_brought_within_bounds():
    asked = (-5, 0, 1, 12, 2**28, 2**28 + 1, 2**60)
    assert [usable(records) for records in asked] == [1, 1, 1, 12, 2**28, 2**28, 2**28]
