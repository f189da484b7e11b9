"""What the audit attacks of votes; and that it refutes what the sources print."""

from dataclasses import replace

import numpy as np
import pytest
from support.breaches import RUNS, breach

from dpqr.audit.cases.predictions import SingleDraw, flips_case, randomised_case, vote_cases, votes_case
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.unit import Neighbours

CASES = {case.name: case for case in vote_cases()}
RELATIONS = [each.value for each in Neighbours]
RELATION = Neighbours.ADD_REMOVE.value


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_record_comes_or_takes_the_place_of_another(case):
    one, two = (database.counts for database in case.pair)
    moved = (two - one)[two != one].tolist()
    assert sorted(moved) == ([-1, 1] if case.name.endswith("replace") else [1])


class WholeEpsilon:
    """Votes with the weight exp(eps c) that is printed."""

    def __init__(self, votes):
        self.events, self.ensemble, self.epsilon = votes.events, votes.ensemble, votes.epsilon

    def sample(self, value, noise):
        votes = self.ensemble.votes(value, noise)
        return np.array([draw_exponential(row, self.epsilon, noise) for row in votes])


@pytest.mark.parametrize("relation", RELATIONS)
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
    case = flips_case(RELATION)
    assert breach(case, SingleDraw(batch=Forgetful(case.trial.batch)), 2 * RUNS, laws=case.laws)


@pytest.mark.slow
def test_the_printed_soft_majority_is_refuted():
    case = votes_case(RELATION)
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
