"""Votes: rates and events from the ensemble, and randomised votes' law by enumeration, what it promises, and that the
sampler has this law.
"""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from scipy.stats import binomtest
from support.cases import in_one_test
from support.prediction_tables import counts, domain, examples

from dpqr.audit.law import Flips, Selection
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.learned_functions import FINENESS
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import Logistic
from dpqr.prediction.learners.stable import LipschitzLearner
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import FACTORS, MOST_PARTS, USUAL, Candidate, TuningVotes, tuning_parts
from dpqr.prediction.votes import ExponentialVotes, LaplaceAverages, PermuteAndFlipVotes, RandomisedVotes

NOISE = SeededNoise(3)
TRIALS = 20_000
UNLIKELY = 1e-9
REACH = 400
"""Noise further out has a probability below 1e-17 at every scale here."""


class Panel:
    parts, touched, predictions = 5, 1, 2

    def votes(self, counts, noise):
        return np.array([[5, 0, 0], [0, 0, 5]])

    def sums(self, counts, noise):
        return np.array([5, -5]) * FINENESS


@in_one_test(("kind", "event"), [(ExponentialVotes, ExponentialEvent), (PermuteAndFlipVotes, PermuteAndFlipEvent)])
def test_votes_follow_half_the_epsilon_and_have_an_event_of_their_own(kind, event):
    votes = kind(ensemble=Panel(), epsilon=Fraction(40))
    assert votes.rate == 20
    assert votes.events == ((event(epsilon=Fraction(40)), 2),)
    assert votes.sample(None, NOISE).tolist() == [0, 2]


@in_one_test("votes", [(3, 2), (5, 0), (4, 3, 3), (2, 2, 1), (6, 1, 1, 1), (4, 4, 4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_permute_and_flip_never_errs_more_than_the_exponential_mechanism(votes, epsilon):
    """By the exact laws: Pr[a label t votes below the best, or further] for every t; and half its coin's heads."""
    scores = np.array(votes, dtype=float)
    flips, selection = (
        np.exp(law(scores=scores, rate=epsilon / 2).log_probabilities(np.arange(len(votes))))
        for law in (Flips, Selection)
    )
    below = scores.max() - scores
    for t in below[below > 0]:
        assert flips[below >= t].sum() <= selection[below >= t].sum() * (1 + 1e-12)
    wrong = below > 0
    assert (flips[wrong] <= np.exp(-epsilon * below[wrong] / 2) / 2 * (1 + 1e-12)).all()


def test_averages_move_by_one_members_range():
    averages = LaplaceAverages(ensemble=Panel(), scale=Fraction(2))
    ((event, count),) = averages.events
    assert (event.sensitivity, count) == (2 * FINENESS, 2)
    assert averages.sample(None, NOISE) / FINENESS == pytest.approx([5, -5], abs=1e-3)


class Shared(Panel):
    """An ensemble in which one unit is in several parts."""

    touched = 3


def test_a_unit_in_several_parts_moves_that_many_votes_and_members():
    """Votes for one label rise by 3 while those for another fall by 3; a sum moves by 3 ranges [-1, 1]."""
    votes = ExponentialVotes(ensemble=Shared(), epsilon=Fraction(12))
    assert votes.rate == PermuteAndFlipVotes(ensemble=Shared(), epsilon=Fraction(12)).rate == 2
    one, two = (float(votes.rate) * np.array(each) for each in ([3, 100], [0, 103]))
    laws = [logits - np.logaddexp.reduce(logits) for logits in (one, two)]
    assert np.abs(laws[0] - laws[1]).max() == pytest.approx(float(votes.epsilon))
    averages = LaplaceAverages(ensemble=Shared(), scale=Fraction(2))
    ((event, count),) = averages.events
    assert (event.sensitivity, event.scale, count) == (2 * 3 * FINENESS, 2, 2)


def test_every_average_has_the_next_draw_of_the_stated_law():
    averages = LaplaceAverages(ensemble=Panel(), scale=Fraction(900))
    added = averages.sample(None, SeededNoise(7)) - np.array([5, -5]) * FINENESS
    np.testing.assert_array_equal(added, DiscreteLaplace(Fraction(900)).sample(2, SeededNoise(7)))


class Voters:
    """Parts of which `ones` vote for the second label, at every one of many points."""

    def __init__(self, parts, ones, predictions=TRIALS, touched=1):
        self.parts, self.ones, self.predictions, self.touched = parts, ones, predictions, touched

    def votes(self, counts, noise):
        return np.tile([self.parts - self.ones, self.ones], (self.predictions, 1))


def second(parts, ones, scale):
    """Pr[second label], summed over the noise."""
    q = exp(-1 / float(scale))
    law = [(1 - q) / (1 + q) * q ** abs(k) for k in range(-REACH, REACH + 1)]
    return sum(p * min(max(ones + k, 0), parts) / parts for k, p in zip(range(-REACH, REACH + 1), law, strict=True))


def drawn(parts, ones, scale):
    labels = RandomisedVotes(ensemble=Voters(parts, ones), scale=scale).sample(None, SeededNoise(7))
    assert set(labels.tolist()) <= {0, 1}
    return int(labels.sum())


SMALL = [(parts, scale) for parts in (1, 2, 3, 5) for scale in (Fraction(1, 2), Fraction(3), Fraction(9))]


@in_one_test(("parts", "scale"), SMALL)
def test_no_vote_that_changes_moves_a_label_by_more_than_epsilon_and_the_first_one_by_all_of_it(parts, scale):
    likely = [second(parts, ones, scale) for ones in range(parts + 1)]
    for law in (likely, [1 - p for p in likely]):
        ratios = [max(one / two, two / one) for one, two in pairwise(law)]
        assert max(ratios) <= exp(1 / scale) * (1 + 1e-9)
        assert max(ratios) == pytest.approx(exp(1 / scale))


@in_one_test(("parts", "scale"), SMALL)
def test_labels_err_no_more_than_the_noise_allows_above_the_share_of_members(parts, scale):
    for ones in range(parts + 1):
        assert abs(second(parts, ones, scale) - ones / parts) <= scale / parts


@in_one_test("scale", [Fraction(1, 2), Fraction(2), Fraction(5)])
@pytest.mark.parametrize(("parts", "ones"), [(1, 0), (2, 1), (3, 0), (5, 4), (7, 2)])
def test_the_sampler_has_this_law(parts, ones, scale):
    assert binomtest(drawn(parts, ones, scale), TRIALS, second(parts, ones, scale)).pvalue > UNLIKELY


def test_a_threshold_at_one_half_is_told_from_the_coin():
    """The control: three of four votes, cut at 1/2, would give the second label nearly always."""
    scale = Fraction(1, 2)
    q = exp(-2)
    cut = 1 - q / (1 + q)  # Pr[3 + noise > 2] = Pr[noise >= 0]
    found = drawn(4, 3, scale)
    assert binomtest(found, TRIALS, second(4, 3, scale)).pvalue > UNLIKELY > binomtest(found, TRIALS, cut).pvalue


@in_one_test("ones", range(4))
def test_with_next_to_no_noise_the_coin_is_the_share_of_votes(ones):
    found = drawn(3, ones, Fraction(1, 100))
    if ones in (0, 3):
        assert found == TRIALS * ones // 3
    assert binomtest(found, TRIALS, ones / 3).pvalue > UNLIKELY


def test_every_point_is_charged_what_its_count_costs():
    votes = RandomisedVotes(ensemble=Voters(5, 2, predictions=6, touched=3), scale=Fraction(4))
    assert votes.events == ((DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(4), coordinates=1), 6),)
    with pytest.raises(InfeasiblePlan):
        RandomisedVotes(ensemble=Voters(5, 2), scale=Fraction(0))


# The private choice of lambda.

VECTORS = [[1.0, 0.0], [0.96, 0.28], [-1.0, 0.0], [-0.96, 0.28]]
"""The first of each two learn, the others test."""
PARTS = 3
TUNING_NOISE = SeededNoise(0)


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
    votes = voters(candidate("1/100", 50.0), candidate("1/100", 0.01)).votes(table(*SEPARABLE), TUNING_NOISE)
    assert votes.tolist() == [[0, PARTS]]


def test_more_regularisation_loses_where_it_hides_the_function():
    votes = voters(candidate("1/100", 0.1), candidate("50", 0.1)).votes(table(*SEPARABLE), TUNING_NOISE)
    assert votes.tolist() == [[PARTS, 0]]


def test_a_part_that_cannot_learn_votes_for_the_usual_lambda():
    five = [candidate("1/100", 1.0)] * len(FACTORS)
    assert voters(*five).votes(table((0, 1, 0)), TUNING_NOISE)[0, USUAL] == PARTS
    assert FACTORS[USUAL] == 1


def test_one_record_moves_one_vote():
    five = [candidate(penalty, 0.3) for penalty in ("1/1000", "1/100", "1/10", "1", "10")]
    drawn = np.random.default_rng(4)
    for _ in range(8):
        rows = [(int(drawn.integers(4)), int(drawn.integers(2)), int(drawn.integers(PARTS))) for _ in range(30)]
        one, two = (voters(*five).votes(table(*each), TUNING_NOISE) for each in (rows, [*rows, (0, 0, 1)]))
        assert np.abs(one - two).sum() in (0, 2)


@in_one_test(("epsilon", "parts"), [("100", 8), ("1", 13), ("1/10000", MOST_PARTS)])
def test_the_number_of_parts_is_public(epsilon, parts):
    assert tuning_parts(Fraction(epsilon)) == parts
