"""What a plan draws is what it is charged for: every mechanism's events are the planned ones."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import domain

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.currency import EPSILON, RHO, SQUARED_MU
from dpqr.kernel.unit import Neighbours, PrivacyUnit
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


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_a_stable_learners_draws(delta):
    plan = planned(LOGISTIC, delta=delta)
    assert plan.predictions(plan.learner(100), np.zeros((7, 1), dtype=int)).events == plan.events
    function = planned(LOGISTIC, points=None, delta=delta)
    assert ((function.weights(function.learner(100)).event, 1),) == function.events


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
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


@pytest.mark.parametrize(
    ("recipe", "table"),
    [(aggregate(), LABELS), (aggregate(vote="randomised"), LABELS), (aggregate(), NUMBERS)],
    ids=["labels", "coins", "numbers"],
)
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_an_ensembles_draws(recipe, table, delta):
    plan = planned(recipe, table=table, delta=delta)
    assert plan.votes(np.zeros((7, FEATURES.width))).events == plan.events


class Panel:
    """An ensemble, some of whose parts one unit changes."""

    parts, predictions, touched = 5, 7, 3


PRICES = [Price(epsilon=Fraction(1, 2)), Price(rho=Fraction(1, 8)), Price(squared_mu=Fraction(1, 4))]


@pytest.mark.parametrize("price", PRICES, ids=lambda price: price.currency)
@pytest.mark.parametrize("noise", ["exponential", "permute-and-flip"])
def test_a_label_is_selected_by_the_named_mechanism_for_no_more_than_its_price(noise, price):
    """Of bounded range the exponential mechanism alone is; in rho and mu^2 the other one has half of its epsilon."""
    drawn = make_selection(Panel(), price, noise)
    ((event, count),) = drawn.events
    assert (type(event).__name__, count) == (KINDS[noise], 7)
    assert event == VotesForm(count=7, noises=(noise,)).event(price, noise)
    assert drawn.rate == event.epsilon / 6
    spent = {"epsilon": EPSILON, "rho": RHO, "squared_mu": SQUARED_MU}[price.currency].cost(event)
    assert Fraction(999, 1000) * price.figure <= spent <= price.figure


KINDS = {"exponential": "ExponentialEvent", "permute-and-flip": "PermuteAndFlipEvent"}


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_numbers_are_clipped_to_their_bounds_and_scores_are_not(delta):
    squares = StableRecipe(name="least-squares", features=FEATURES, method="output")
    for recipe, table, limit in ((squares, NUMBERS, 1), (LOGISTIC, LABELS, None)):
        plan = planned(recipe, table=table, delta=delta)
        asked = plan.predictions(plan.learner(100), np.zeros((7, 1), dtype=int)).asked
        assert (asked.limit, asked.count) == (limit, 7)
        assert plan.predictions(plan.learner(1), np.zeros((7, 1), dtype=int)).asked.bound <= (2 if limit else 10**9)


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
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


def test_a_bought_number_of_records_is_brought_within_bounds():
    assert [usable(records) for records in (-5, 0, 1, 12, 2**28, 2**28 + 1, 2**60)] == [
        1,
        1,
        1,
        12,
        2**28,
        2**28,
        2**28,
    ]
