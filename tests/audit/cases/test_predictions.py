"""What the audit attacks of predictions; and that it refutes what the sources print."""

from fractions import Fraction

import numpy as np
import pytest
from support.breaches import RUNS, breach
from support.cases import in_one_test

from dpqr.audit.case import exact_share
from dpqr.audit.cases.predictions import (
    POINTS,
    UNITS,
    SingleDraw,
    flips_case,
    function_case,
    gaussian_objective_case,
    hinge,
    moments_case,
    predict_cases,
    prediction_case,
    pure_function_case,
    randomised_case,
    votes_case,
)
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.prediction.learned_functions import PREDICTION, LaplacePredictions, LearnerAtPoints, round_to_grid, step

CASES = {case.name: case for case in predict_cases()}
RELATION = Neighbours.ADD_REMOVE.value


@in_one_test("case", CASES.values())
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    moved = (two - one)[two != one].tolist()
    assert sorted(moved) == ([-1, 1] if case.name.endswith("replace") else [1])


@in_one_test("relation", UNITS)
def test_the_learners_bound_is_nearly_reached_by_the_pair(relation):
    learner = hinge(UNITS[relation])
    one, two = (learner.fit(database) for database in prediction_case(relation, UNITS[relation]).pair)
    assert 0.95 * float(learner.bound) <= np.linalg.norm(one - two) <= float(learner.bound)


class Halved:
    """A learner that says half its bound: the scale kappa^2 C_L / (lambda gamma m eps) that is printed."""

    def __init__(self, learner):
        self.bound, self.fit = learner.bound / 2, learner.fit


@pytest.mark.slow
def test_the_printed_scale_of_convex_risk_minimisation_is_refuted():
    unit = UNITS[RELATION]
    case, learner = prediction_case(RELATION, unit), hinge(unit)
    asked = LearnerAtPoints(learner=Halved(learner), points=case.trial.batch.at_points.points, limit=None)
    assert breach(case, SingleDraw(batch=LaplacePredictions(at_points=asked, scale=Fraction(PREDICTION))))


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


@pytest.mark.slow
def test_one_scalar_of_noise_for_a_whole_function_is_refuted():
    case = function_case(RELATION, UNITS[RELATION])
    trial = SingleDraw(
        batch=OneScalar(case.trial.batch), view=np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]), delta=Fraction(1, 100)
    )
    assert breach(case, trial)


# What the audit attacks of perturbed objectives and noisy moments; and that narrower noise is refuted.

LEARNED_RELATION = Neighbours.ADD_REMOVE.value


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "reached"), [("add-remove", 0.85), ("replace", 0.45)])
def test_the_noisy_moments_come_near_their_claim_by_their_exact_law(relation, reached):
    """Two thirds of the stated variance would be a breach where a record comes; so would a half be where one is
    replaced by one of the other class."""
    case = moments_case(relation, UNITS[relation])
    for sums, law in zip(case.pair, case.laws, strict=True):
        assert case.trial.batch.moments.learner.sums(sums).tolist() == [one.answer for one in law]
    assert reached < exact_share(*case.laws, case.claim) <= 1
    wrong = [tuple(replace(one, variance=one.variance * (reached - 0.05)) for one in law) for law in case.laws]
    assert exact_share(*wrong, case.claim) > 1


@pytest.mark.slow
def test_a_normal_pull_of_half_its_deviation_is_refuted():
    case = gaussian_objective_case(LEARNED_RELATION, UNITS[LEARNED_RELATION])
    assert not breach(case, case.trial)
    batch = case.trial.batch

    class Half:
        events = batch.events
        sample = replace(batch.weights, variance=batch.weights.variance / 4).sample

    assert breach(case, replace(case.trial, batch=Half()), 2 * RUNS)


# What the audit attacks of votes; and that it refutes what the sources print.

RELATIONS = [each.value for each in Neighbours]
VOTES_RELATION = Neighbours.ADD_REMOVE.value


class WholeEpsilon:
    """Votes with the weight exp(eps c) that is printed."""

    def __init__(self, votes):
        self.events, self.ensemble, self.epsilon = votes.events, votes.ensemble, votes.epsilon

    def sample(self, value, noise):
        votes = self.ensemble.votes(value, noise)
        return np.array([draw_exponential(row, self.epsilon, noise) for row in votes])


@in_one_test("relation", RELATIONS)
def test_permute_and_flip_of_votes_uses_all_of_its_epsilon_and_is_no_bounded_range_draw(relation):
    """By its exact law: the second label's ratio is exp(2), the first one's at most 1 / (2 - exp(-2))."""
    case = flips_case(relation)
    one, two = (law.log_probabilities(np.array([0, 1])) for (law,) in case.laws)
    epsilon = float(case.trial.batch.epsilon)
    assert two - one == pytest.approx([-np.log(2 - np.exp(-epsilon)), epsilon])
    assert np.ptp(two - one) > epsilon


class Forgetful:
    """Permute-and-flip of votes whose 2 is forgotten: a vote moves one label up and another down."""

    def __init__(self, votes):
        self.events, self.ensemble, self.rate = votes.events, votes.ensemble, votes.epsilon

    def sample(self, value, noise):
        votes = self.ensemble.votes(value, noise)
        return np.array([draw_permute_and_flip(row, self.rate, noise) for row in votes])


@pytest.mark.slow
def test_permute_and_flip_of_votes_without_its_2_is_refuted():
    case = flips_case(VOTES_RELATION)
    assert breach(case, SingleDraw(batch=Forgetful(case.trial.batch)), 2 * RUNS, laws=case.laws)


@pytest.mark.slow
def test_the_printed_soft_majority_is_refuted():
    case = votes_case(VOTES_RELATION)
    assert breach(case, SingleDraw(batch=WholeEpsilon(case.trial.batch)), 2 * RUNS)


class HalfSensitivity:
    """Randomised votes that take one vote for half of one."""

    def __init__(self, votes):
        self.events, self.sample = votes.events, replace(votes, scale=votes.scale / 2).sample


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_randomised_votes_with_half_their_sensitivity_are_refuted(relation):
    case = randomised_case(relation)
    assert breach(case, SingleDraw(batch=HalfSensitivity(case.trial.batch)), laws=case.laws)
