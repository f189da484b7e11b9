"""Outlook: what else a budget would buy, and the rates of the sources."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import UNITS, domain

from dpqr.domain.attribute import Attribute, Bins, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target, without
from dpqr.prediction.rates import least_records, plan_alternatives, rule_dimension, sample_size, theory
from dpqr.prediction.recipes import Stability, StableRecipe

FEATURES = CellFeatures(domain=domain(3))
TABLE = domain(3, 2)
LOGISTIC = StableRecipe(name="logistic", features=FEATURES)


def wanted(points, delta="0", recipe=LOGISTIC, records=1000):
    problem = PredictionProblem(
        domain=TABLE,
        target=Target(attribute=TABLE.attributes[1], axis=1, positive=1),
        unit=PrivacyUnit(),
        records=records,
        points=points,
    )
    accountants = [ACCOUNTANTS[name] for name in ("basic", "advanced", "optimal", "zcdp")]
    budget = PrivacyBudget(epsilon=Fraction(1), delta=Fraction(delta))
    return PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=accountants)


def looked(given):
    plan = least_spread(given)
    return plan, plan_alternatives(plan, given)


@pytest.mark.parametrize("points", thinned([1, 7, 300], 3))
@pytest.mark.parametrize("delta", thinned(["0", "1/1000000"], 2))
def test_the_plans_own_accountant_buys_what_was_planned_and_no_other_more(points, delta):
    plan, seen = looked(wanted(points, delta))
    assert seen.bought[plan.accountant.name] == points == max(seen.bought.values())
    assert set(seen.bought) == ({"basic"} if delta == "0" else {"basic", "advanced", "optimal", "zcdp"})


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_from_the_reported_count_on_a_function_has_less_noise(delta):
    output = StableRecipe(name="logistic", features=FEATURES, method="output")
    _, seen = looked(wanted(2, delta, output))
    function = least_spread(wanted(None, delta, output)).spread
    assert least_spread(wanted(seen.function_from, delta, output)).spread > function
    assert least_spread(wanted(seen.function_from - 1, delta, output)).spread <= function


@pytest.mark.slow
def test_an_ensemble_has_no_function_and_no_theory():
    recipe = Aggregate(features=FEATURES, base=RidgeBase())
    _, seen = looked(wanted(50, "1/1000000", recipe))
    assert seen.bought["zcdp"] == 50
    assert (seen.function_from, seen.theory) == (None, None)


def test_a_number_of_records_that_is_bought_leaves_room_for_its_price():
    _, seen = looked(wanted(9, records=None))
    assert seen.bought == {"basic": 9}
    assert seen.theory is None


def rates(name, smoothness):
    return theory(StableRecipe(name=name, features=CellFeatures(domain=domain(2)), smoothness=smoothness), 10**6)


@in_one_test(
    ("name", "smoothness", "penalty", "risk", "epsilon"),
    [
        # Nie and Wang 2017, JAMP: r = 1/2 is where both minima turn over
        ("least-squares", "1/2", 1 / 2, 1 / 2, 1 / 3),
        ("least-squares", "1/4", 4 / 7, 2 / 7, 2 / 9),
        ("least-squares", "3", 1 / 2, 1 / 2, 1 / 3),
        # J. Inequal. Appl., Theorem 4
        ("quantile", "1/2", 1 / 2, 1 / 4, 1 / 4),
        ("logistic", "1/2", 1 / 2, 1 / 8, 1 / 4),
        ("svm", "3/4", 2 / 5, 3 / 10, 3 / 10),  # a hinge function's sign errs no more than its loss exceeds
        # theta = 3/4: lambda_t = t^-1/4; noise of (n^-(3 theta - 1) / 2 / eps)^2
        ("online", "1/2", 1 / 4, 1 / 4, 1 / 2),
        ("online", "5", 1 / 4, 1 / 2, 3 / 8),
    ],
)
def test_the_sources_exponents(name, smoothness, penalty, risk, epsilon):
    found = rates(name, Fraction(smoothness))
    assert (found.penalty, found.risk, found.epsilon) == pytest.approx((penalty, risk, epsilon))
    assert found.power(found.penalty) == pytest.approx(10 ** (-6 * penalty))
    assert not found.assumed


def test_a_decay_of_the_eigenvalues_has_exponents_of_its_own():
    """1 / (2 r + 1 / p), as without noise, up to where the noise is more: 2 / (2 r + 2)."""
    features, found = CellFeatures(domain=domain(2)), []
    for decay in (Fraction(3, 2), Fraction(4)):
        stability = Stability(decay=decay)
        given = {"features": features, "smoothness": Fraction(1, 2), "stability": stability}
        found.append(theory(StableRecipe(name="least-squares", **given), 10**6))
    assert [(each.penalty, each.risk) for each in found] == [
        pytest.approx((3 / 5, 3 / 5)),
        pytest.approx((2 / 3, 2 / 3)),
    ]
    assert [each.epsilon for each in found] == pytest.approx([1 / 10, 0], abs=1e-12)


def test_a_smoothness_that_nobody_states_is_assumed():
    assert rates("svm", None).assumed
    assert rates("svm", None).smoothness == Fraction(1, 2)


# Sample sizes: the lower bound against the source's and against the best there is, and what a plan says of it.


@in_one_test("error", [0.01, 0.1, 0.2, 0.3, 0.45])
@pytest.mark.parametrize("dimension", [2, 3, 30, 1000])
def test_it_is_never_below_the_sources_bound(error, dimension):
    """n >= d / (32 alpha epsilon)."""
    for epsilon in (0.01, 1.0, 3.0):
        assert least_records(error, dimension, epsilon) >= dimension / (32 * error * epsilon)


@in_one_test(("error", "epsilon"), [(0.05, 0.5), (0.2, 1.0), (0.3, 0.2), (0.45, 1.0)])
def test_with_one_record_fewer_the_hard_rules_cost_more_than_the_error(error, epsilon):
    """Over all masses 1 - p of one point: p / (1 + exp(epsilon n p / (d - 1))), and all points alike."""
    dimension = 12
    records = least_records(error, dimension, epsilon) - 1
    masses = np.linspace(1e-3, 1, 2000)
    rare = masses / (1 + np.exp(epsilon * records * masses / (dimension - 1)))
    alike = 1 / (1 + math.exp(epsilon * records / dimension))
    assert max(rare.max(), alike) > error


def test_randomised_response_is_what_flipped_labels_leave():
    """k flips are e^(epsilon k) for the two labels' laws: no pair of laws has a smaller mean error."""
    for flips in (0, 1, 3):
        ratio = math.exp(0.7 * flips)
        right = np.linspace(0, 1, 10001)
        other = np.maximum(right / ratio, 1 - ratio * (1 - right))
        assert ((1 - right + other) / 2).min() == pytest.approx(1 / (1 + ratio), abs=1e-4)


def test_the_dimension_is_the_rank_of_all_rows_features():
    axes = [Bins(edges=tuple(map(Fraction, edges))) for edges in ((0, 1, 3, 4), (0, 9))]
    numbers = [Attribute(name=f"n{place}", axis=axis) for place, axis in enumerate(axes)]
    cells = Domain((*domain(3, 2).attributes, *numbers, Attribute(name="one", axis=Codes(1))))
    codes = np.stack(np.unravel_index(np.arange(math.prod(cells.shape)), cells.shape), axis=1)
    assert rule_dimension(cells) == np.linalg.matrix_rank(CellFeatures(domain=cells).of(codes))


DOMAIN_OF_LABELS = domain(3, 4, 2)
TARGET = Target(attribute=DOMAIN_OF_LABELS.attributes[2], axis=2, positive=1)


def planned(recipe, relation=Neighbours.ADD_REMOVE, records=100, epsilon="1"):
    problem = PredictionProblem(
        domain=DOMAIN_OF_LABELS, target=TARGET, unit=UNITS[relation], records=records, points=10
    )
    budget = PrivacyBudget.parse(epsilon)
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))


def ensemble(**given):
    return Aggregate(features=CellFeatures(domain=without(DOMAIN_OF_LABELS, TARGET)), base=RidgeBase(), **given)


@in_one_test(("relation", "flips"), [(Neighbours.ADD_REMOVE, 2), (Neighbours.REPLACE, 1)])
def test_a_plans_figures(relation, flips):
    """Ten labels at 0.1 each, d = 1 + 2 + 3; a label that is flipped goes and comes under add-remove."""
    found = sample_size(planned(ensemble(error=Fraction(1, 10)), relation))
    assert found.dimension == 6
    assert found.error == pytest.approx(0.1, rel=0.01)
    assert found.least == math.ceil(0.27846 * 5 / (found.error * flips * 0.1))
    assert found.few == (found.least > 100)
    assert found.each == pytest.approx(100 / 180)


def test_too_few_parts_promise_nothing_and_other_plans_have_no_figures():
    assert sample_size(planned(ensemble(parts=3))).least == 0
    assert sample_size(planned(ensemble(vote="randomised"), records=None)).each is None
    features = CellFeatures(domain=without(DOMAIN_OF_LABELS, TARGET))
    assert sample_size(planned(StableRecipe(name="logistic", features=features))) is None
