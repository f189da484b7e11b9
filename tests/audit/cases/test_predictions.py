"""What the audit attacks of predictions; and that it refutes what the sources print."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.breaches import RUNS, breach

from dpqr.audit.cases.predictions import (
    POINTS,
    UNITS,
    SingleDraw,
    function_case,
    hinge,
    predict_cases,
    prediction_case,
    pure_function_case,
)
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learned_functions import PREDICTION, LaplacePredictions, LearnerAtPoints, round_to_grid, step

CASES = {case.name: case for case in predict_cases()}
RELATION = Neighbours.ADD_REMOVE.value


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    moved = (two - one)[two != one].tolist()
    assert sorted(moved) == ([-1, 1] if case.name.endswith("replace") else [1])


@pytest.mark.parametrize("relation", UNITS)
def test_the_learners_bound_is_nearly_reached_by_the_pair(relation):
    learner = hinge(UNITS[relation])
    one, two = (learner.fit(database) for database in prediction_case(relation, UNITS[relation]).pair)
    assert 0.95 * float(learner.bound) <= np.linalg.norm(one - two) <= float(learner.bound)


class Halved:
    """A learner that says half its bound: the scale kappa^2 C_L / (lambda gamma m eps) that is printed."""

    def __init__(self, learner):
        self.bound, self.fit = learner.bound / 2, learner.fit


def test_the_printed_scale_of_convex_risk_minimisation_is_refuted():
    unit = UNITS[RELATION]
    case, learner = prediction_case(RELATION, unit), hinge(unit)
    asked = LearnerAtPoints(learner=Halved(learner), points=case.trial.batch.asked.points, limit=None)
    assert breach(case, SingleDraw(batch=LaplacePredictions(asked=asked, scale=Fraction(PREDICTION))))


class OneScalar:
    """A function with one draw of noise added to all its values, as the sources print."""

    def __init__(self, batch):
        self.events, self.weights = batch.events, batch.weights

    def sample(self, value, noise):
        learner = self.weights.learner
        values = POINTS @ round_to_grid(learner.fit(value), step(learner.bound))
        return np.rint(values).astype(np.int64) + self.weights.law.sample(1, noise)


@pytest.mark.slow
def test_pure_noise_at_half_its_sensitivity_is_refuted():
    """Laplace noise in every coordinate by the L2 bound, without the factor sqrt(width)."""
    case = pure_function_case(RELATION, UNITS[RELATION])
    assert not breach(case, case.trial, 5 * RUNS)
    batch = case.trial.batch

    class Half:
        events = batch.events
        sample = replace(batch.weights, scale=batch.weights.scale / 2).sample

    assert breach(case, replace(case.trial, batch=Half()), 5 * RUNS)


def test_one_scalar_of_noise_for_a_whole_function_is_refuted():
    case = function_case(RELATION, UNITS[RELATION])
    trial = SingleDraw(
        batch=OneScalar(case.trial.batch), view=np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]), delta=Fraction(1, 100)
    )
    assert breach(case, trial)
