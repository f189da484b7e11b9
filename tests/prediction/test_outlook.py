from fractions import Fraction

import pytest
from support.prediction_tables import domain

from dpqr.data.unit import PrivacyUnit
from dpqr.prediction.aggregate import Aggregate
from dpqr.prediction.bases import RidgeBase
from dpqr.prediction.features import CellFeatures
from dpqr.prediction.outlook import outlook
from dpqr.prediction.planner import Wanted, least_spread
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.target import Target
from dpqr.privacy.accountants.known import ACCOUNTANTS
from dpqr.privacy.budget import PrivacyBudget

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
    return Wanted(problem=problem, budget=budget, recipe=recipe, accountants=accountants)


def looked(given):
    plan = least_spread(given)
    return plan, outlook(plan, given)


@pytest.mark.parametrize("points", [1, 7, 300])
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_the_plans_own_accountant_buys_what_was_planned_and_no_other_more(points, delta):
    plan, seen = looked(wanted(points, delta))
    assert seen.bought[plan.accountant.name] == points == max(seen.bought.values())
    assert set(seen.bought) == ({"basic"} if delta == "0" else {"basic", "advanced", "optimal", "zcdp"})


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_from_the_count_on_that_is_told_a_function_has_less_noise(delta):
    _, seen = looked(wanted(2, delta))
    function = least_spread(wanted(None, delta)).spread
    assert least_spread(wanted(seen.function_from, delta)).spread > function
    assert least_spread(wanted(seen.function_from - 1, delta)).spread <= function


def test_an_ensemble_has_no_function_and_no_theory():
    recipe = Aggregate(features=FEATURES, base=RidgeBase())
    _, seen = looked(wanted(50, "1/1000000", recipe))
    assert seen.bought["zcdp"] == 50
    assert (seen.function_from, seen.theory) == (None, None)


def test_a_number_of_records_that_is_bought_leaves_room_for_its_price():
    _, seen = looked(wanted(9, records=None))
    assert seen.bought == {"basic": 9}
    assert seen.theory is None
