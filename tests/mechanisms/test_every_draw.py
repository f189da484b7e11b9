"""Every number that a mechanism releases has a draw of its own, of the law and at the rate that its event states.

The mechanism and the test draw from equal sources in the same order, so that one draw which is used twice, left out, or
made at another rate shows in some coordinate.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.brute_force_persons import crowd, person
from support.cases import in_one_test, thinned
from support.fakes import Told

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.noise.bits import uniforms_below
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.kernel.unit import Neighbours
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.prediction.learned_functions import (
    FINENESS,
    GaussianPredictions,
    GaussianWeights,
    LaplacePredictions,
    LearnerAtPoints,
    SphericalWeights,
    round_to_grid,
    step,
)
from dpqr.prediction.learners.moments import NoisyMoments
from dpqr.prediction.perturbation import SENSITIVITY, GaussianPerturbedWeights, PerturbedWeights
from dpqr.prediction.votes import ExponentialVotes, LaplaceAverages, PermuteAndFlipVotes, RandomisedVotes
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

WIDTHS = (1, 2, 5)
SEED = 11


class Pulled:
    """A learner whose function is its pull over the strength, with records that come and go."""

    tapered, opposite, curvature = False, Fraction(0), Fraction(1, 32)
    strength, tolerance = Fraction(8), Fraction(1, 2**13)

    def __init__(self, width, changes=1):
        self.width, self.units, self.changes, self.gradient = width, 1, changes, Fraction(3 * changes, 2)
        self.pulls = []

    def fit(self, counts, pull):
        self.pulls.append(pull)
        return -pull / float(self.strength)


@in_one_test("changes", [1, 2, 6])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("normal", [False, True], ids=["spherical", "normal"])
def test_a_perturbed_objective_has_a_pull_and_a_closing_draw_for_each_weight(normal, width, changes):
    learner, closing = Pulled(width, changes), Fraction(2**27)
    if normal:
        weights = GaussianPerturbedWeights(learner=learner, variance=Fraction(SENSITIVITY**2) * 3, closing=closing)
        law = RoundedGaussian(weights.variance)
    else:
        weights = PerturbedWeights(learner=learner, scale=Fraction(SENSITIVITY) * 3, closing=closing)
        law = SphericalLaplace(weights.scale, width)
    source = SeededNoise(SEED)
    drawn = law.sample(width, source) if normal else law.sample(source)
    ending = SphericalLaplace(closing, width).sample(source)
    found = weights.sample(None, SeededNoise(SEED))
    record = learner.gradient / changes if normal else learner.gradient
    pull = drawn * (float(record) / FINENESS)
    np.testing.assert_allclose(learner.pulls, [pull], rtol=1e-15)
    assert (found == round_to_grid(-pull / 8, weights.grid) + ending).all()
    assert len(set(ending.tolist())) == width
    rounding = float(record) * width**0.5 / (2 * FINENESS * 8)
    assert weights.grid * FINENESS >= 2 * (float(learner.tolerance) + rounding)
    assert weights.event.closing == weights.closing_epsilon


@in_one_test("width", WIDTHS)
def test_every_weight_prediction_and_moment_has_the_next_draw(width):
    values, variance, scale = np.linspace(-0.9, 0.9, width), Fraction(900), Fraction(2**22)
    told = Told(values)
    plain = round_to_grid(values, step(told.bound))
    for mechanism, law in (
        (GaussianWeights(learner=told, width=width, variance=variance), RoundedGaussian(variance)),
        (SphericalWeights(learner=told, width=width, scale=scale), SphericalLaplace(scale, width)),
    ):
        source = SeededNoise(SEED)
        drawn = law.sample(width, source) if isinstance(law, RoundedGaussian) else law.sample(source)
        assert (mechanism.sample(None, SeededNoise(SEED)) == plain + drawn).all()
    asked = LearnerAtPoints(learner=told, points=np.eye(width), limit=None)
    for mechanism, law in (
        (LaplacePredictions(at_points=asked, scale=Fraction(900)), DiscreteLaplace(Fraction(900))),
        (GaussianPredictions(at_points=asked, variance=variance), RoundedGaussian(variance)),
    ):
        assert (mechanism.sample(None, SeededNoise(SEED)) == plain + law.sample(width, SeededNoise(SEED))).all()
        ((_, count),) = mechanism.events
        assert count == width


class Sums:
    """Moments that are given, of one feature fewer than its square has figures."""

    def __init__(self, width):
        self.width, self.squared_sensitivity = width, 2 * 4096**4

    def sums(self, counts):
        return np.arange(self.width * (self.width + 1) // 2 + self.width)


@in_one_test("width", WIDTHS)
def test_every_moment_has_the_next_draw(width):
    moments = NoisyMoments(learner=Sums(width), variance=Fraction(2**50))
    count = width * (width + 1) // 2 + width
    drawn = RoundedGaussian(moments.variance).sample(count, SeededNoise(SEED))
    assert (moments.noisy(None, SeededNoise(SEED)) == np.arange(count) + drawn).all()


class Panel:
    """Votes that are nearly even, so that the rate of a selection shows at some of the points."""

    parts = 9

    def __init__(self, labels, touched, predictions=200):
        self.labels, self.touched, self.predictions = labels, touched, predictions

    def votes(self, counts, noise):
        return np.tile(np.arange(self.labels) + 4, (self.predictions, 1))

    def sums(self, counts, noise):
        return np.arange(self.predictions)


@pytest.mark.parametrize("touched", thinned([1, 3], 2))
@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_every_label_is_drawn_at_half_of_epsilon_a_vote(epsilon, labels, touched):
    panel = Panel(labels, touched)
    for kind, draw in ((ExponentialVotes, draw_exponential), (PermuteAndFlipVotes, draw_permute_and_flip)):
        source, votes = SeededNoise(SEED), kind(ensemble=panel, epsilon=epsilon)
        expected = [draw(row, epsilon / (2 * touched), source) for row in panel.votes(None, None)]
        assert votes.sample(None, SeededNoise(SEED)).tolist() == expected
        assert votes.events == ((type(votes.events[0][0])(epsilon=epsilon), 200),)


@in_one_test("touched", [1, 3])
def test_every_count_of_votes_and_every_sum_has_a_draw_of_its_own(touched):
    panel, scale = Panel(2, touched), Fraction(5)
    averages = LaplaceAverages(ensemble=panel, scale=scale)
    drawn = DiscreteLaplace(scale).sample(200, SeededNoise(SEED))
    assert (averages.sample(None, SeededNoise(SEED)) == np.arange(200) + drawn).all()
    source = SeededNoise(SEED)
    noisy = 5 + DiscreteLaplace(scale).sample(200, source)
    labels = (uniforms_below(9, 200, source) < np.clip(noisy, 0, 9)).astype(int)
    randomised = RandomisedVotes(ensemble=panel, scale=scale)
    assert randomised.sample(None, SeededNoise(SEED)).tolist() == labels.tolist()
    assert [(event.sensitivity, count) for event, count in randomised.events] == [(touched, 200)]
    assert [(event.sensitivity, count) for event, count in averages.events] == [(2 * FINENESS * touched, 200)]


def block(name, *rows):
    factor = Factor(axes=(0,), sizes=(len(rows[0]),), matrix=Dense(np.array(rows)))
    return QueryBlock(name=name, factors=(factor,))


ONE, STEEP = block("one", (0, 1, 0)), block("steep", (3, 0, -2))
MARGINAL = QueryBlock(name="marginal", factors=(Factor.identity(0, 3),))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(0,), sizes=(3,), matrix=Prefix(3)),))
TOGETHER = [(ONE, MARGINAL), (MARGINAL, ONE), (ONE, STEEP), (STEEP, ONE), (PREFIX, STEEP, ONE), (ONE, PREFIX, MARGINAL)]
"""The dearest block first, last and in between; what is worst for one is not always worst for another."""


@in_one_test("blocks", TOGETHER)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("relation", Neighbours, ids=lambda each: each.value)
def test_blocks_that_are_drawn_together_are_charged_for_all_of_them(relation, rows, blocks):
    """By brute force over all that one person's rows can be, beside other rows."""
    unit = person(relation, rows)
    moved, squared = 0, 0
    for databases in crowd((3,), unit):
        table = [np.concatenate([each.answer(database) for each in blocks]) for database in databases]
        pairs = product(table, table) if relation is Neighbours.REPLACE else ((table[0], other) for other in table)
        for one, two in pairs:
            moved = max(moved, int(np.abs(one - two).sum()))
            squared = max(squared, int(np.square(one - two).sum()))
    laplace = LaplaceAnswers(blocks=blocks, unit=unit, scale=Fraction(7))
    gaussian = GaussianAnswers(blocks=blocks, unit=unit, variance=Fraction(9))
    assert laplace.event.sensitivity >= moved
    assert gaussian.event.squared_sensitivity >= squared
    assert pure_epsilon(laplace.event) == Fraction(laplace.event.sensitivity, 7)
    assert concentrated_rho(gaussian.event) == Fraction(gaussian.event.squared_sensitivity, 18)
    alone = sum(each.rows for each in blocks) == 1
    assert (laplace.event.coordinates == 1) == alone


@in_one_test("blocks", TOGETHER)
def test_every_answer_of_every_block_has_the_next_draw(blocks):
    counts, unit = DenseHistogram(np.array([4, 0, 7])), person(Neighbours.ADD_REMOVE, 1)
    for mechanism in (
        LaplaceAnswers(blocks=blocks, unit=unit, scale=Fraction(50)),
        GaussianAnswers(blocks=blocks, unit=unit, variance=Fraction(900), rounded=True),
        GaussianAnswers(blocks=blocks, unit=unit, variance=Fraction(900)),
    ):
        drawn = mechanism.law.sample(sum(each.rows for each in blocks), SeededNoise(SEED))
        plain = np.concatenate([each.answer(counts) for each in blocks])
        found = np.concatenate(mechanism.sample(counts, SeededNoise(SEED)).values)
        assert (found == plain + drawn).all()
