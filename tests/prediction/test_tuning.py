"""The private choice of lambda."""

from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import counts, domain, examples

from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import Logistic
from dpqr.prediction.learners.stable import LipschitzLearner
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import FACTORS, MOST_PARTS, USUAL, Candidate, TuningVotes, tuning_parts

VECTORS = [[1.0, 0.0], [0.96, 0.28], [-1.0, 0.0], [-0.96, 0.28]]
"""The first of each two learn, the others test."""
PARTS = 3
NOISE = SeededNoise(0)


def candidate(penalty, deviation):
    def learner(records):
        scale = LossScale(unit=PrivacyUnit(), records=max(1, records))
        given = examples(VECTORS, [-1.0, 1.0])
        return LipschitzLearner(examples=given, loss=Logistic(), penalty=Fraction(penalty), scale=scale)

    return Candidate(learner=learner, deviation=deviation)


def voters(*candidates):
    recipe = StableRecipe(name="logistic", features=CellFeatures(domain=domain(4)))
    return TuningVotes(candidates=candidates, parts=PARTS, wrong=recipe.wrong)


def table(*rows):
    return counts(np.array(rows, dtype=int).reshape(len(rows), 3), (1000, 1000, PARTS))


SEPARABLE = [(vector, int(vector < 2), part) for vector in range(4) for part in range(PARTS)] * 5


def test_every_part_votes_once_and_noise_that_hides_everything_loses():
    votes = voters(candidate("1/100", 50.0), candidate("1/100", 0.01)).votes(table(*SEPARABLE), NOISE)
    assert votes.tolist() == [[0, PARTS]]


def test_more_regularisation_loses_where_it_hides_the_function():
    votes = voters(candidate("1/100", 0.1), candidate("50", 0.1)).votes(table(*SEPARABLE), NOISE)
    assert votes.tolist() == [[PARTS, 0]]


def test_a_part_that_cannot_learn_votes_for_the_usual_lambda():
    five = [candidate("1/100", 1.0)] * len(FACTORS)
    assert voters(*five).votes(table((0, 1, 0)), NOISE)[0, USUAL] == PARTS
    assert FACTORS[USUAL] == 1


def test_one_record_moves_one_vote():
    five = [candidate(penalty, 0.3) for penalty in ("1/1000", "1/100", "1/10", "1", "10")]
    drawn = np.random.default_rng(4)
    for _ in range(20):
        rows = [(int(drawn.integers(4)), int(drawn.integers(2)), int(drawn.integers(PARTS))) for _ in range(30)]
        one, two = (voters(*five).votes(table(*each), NOISE) for each in (rows, [*rows, (0, 0, 1)]))
        assert np.abs(one - two).sum() in (0, 2)


@pytest.mark.parametrize(("epsilon", "parts"), [("100", 8), ("1", 13), ("1/10000", MOST_PARTS)])
def test_the_number_of_parts_is_public(epsilon, parts):
    assert tuning_parts(Fraction(epsilon)) == parts
