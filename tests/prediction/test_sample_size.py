"""Sample sizes: the lower bound against the source's and against the best there is, and what a plan says of it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import UNITS, domain

from dpqr.domain.attribute import Attribute, Bins, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target, without
from dpqr.prediction.rates import least_records, rule_dimension, sample_size
from dpqr.prediction.recipes import StableRecipe


@pytest.mark.parametrize("error", [0.01, 0.1, 0.2, 0.3, 0.45])
@pytest.mark.parametrize("dimension", [2, 3, 30, 1000])
def test_it_is_never_below_the_sources_bound(error, dimension):
    """n >= d / (32 alpha epsilon)."""
    for epsilon in (0.01, 1.0, 3.0):
        assert least_records(error, dimension, epsilon) >= dimension / (32 * error * epsilon)


@pytest.mark.parametrize(("error", "epsilon"), [(0.05, 0.5), (0.2, 1.0), (0.3, 0.2), (0.45, 1.0)])
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


TABLE = domain(3, 4, 2)
TARGET = Target(attribute=TABLE.attributes[2], axis=2, positive=1)


def planned(recipe, relation=Neighbours.ADD_REMOVE, records=100, epsilon="1"):
    problem = PredictionProblem(domain=TABLE, target=TARGET, unit=UNITS[relation], records=records, points=10)
    budget = PrivacyBudget.parse(epsilon)
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))


def ensemble(**given):
    return Aggregate(features=CellFeatures(domain=without(TABLE, TARGET)), base=RidgeBase(), **given)


@pytest.mark.parametrize(("relation", "flips"), [(Neighbours.ADD_REMOVE, 2), (Neighbours.REPLACE, 1)])
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
    features = CellFeatures(domain=without(TABLE, TARGET))
    assert sample_size(planned(StableRecipe(name="logistic", features=features))) is None
