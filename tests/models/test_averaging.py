"""Averaging: noise is split without bias, shares are the best of all, and the model that predicts is trusted."""

import weakref
from itertools import combinations

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import marginal, measured, problem

from dpqr.domain.domain import PublicFacts, Region
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.values import replace
from dpqr.models import averaging
from dpqr.models.averaging import Averaging, HeldOutAnswers, split_noise
from dpqr.models.compound import ModelAverage
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.latent_classes import LatentClasses, LatentClassFit
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.workload import Workload

RULE = MultiplicativeWeights()


def test_the_parts_of_split_noise_are_uncorrelated():
    """y + a z and y - z / a: whatever a, (first + a^2 second) / (1 + a^2) is y, and the covariance is s^2 - s^2."""
    values = np.arange(40_000.0)
    seen = LinearMeasurement(key=0, axes=(0,), values=values, deviation=3.0)
    for part in (0.5, 1.0, 2.0):
        (first,), (second,) = split_noise((seen,), part, 11)
        np.testing.assert_allclose((first.values + part**2 * second.values) / (1 + part**2), values)
        added, taken = first.values - values, second.values - values
        # Public noise of 40,000 draws: mean squares within 5 deviations, sqrt(2 / 40,000) of themselves each.
        np.testing.assert_allclose((added**2).mean() + 9.0, first.deviation**2, rtol=5 * (2 / 40_000) ** 0.5)
        np.testing.assert_allclose((taken**2).mean() + 9.0, second.deviation**2, rtol=5 * (2 / 40_000) ** 0.5)
        np.testing.assert_allclose((added * taken).mean(), -9.0, rtol=5 * (2 / 40_000) ** 0.5)


@in_one_test("seed", range(5))
def test_shares_are_the_nearest_weighted_mean(seed):
    """Against all shares of three models on a grid."""
    generator = np.random.default_rng(seed)
    values, columns = generator.standard_normal(30), generator.standard_normal((3, 30))
    gaps = columns - values
    held = HeldOutAnswers(evidence=(), values=values, gaps=[*gaps], products=gaps @ gaps.T)
    loss, shares = held.best()
    grid = [(one, other, 20 - one - other) for one in range(21) for other in range(21 - one)]
    each = [float(((np.array(own) / 20 @ gaps) ** 2).sum()) for own in grid]
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0.0).all()
    assert loss <= min(each) * (1 + 1e-6)


def fitted(counts, pairs, deviation, seed, **facts):
    """The fit of noisy pairs by itself, and averaged."""
    shape, table, noise = counts.shape, DenseHistogram(counts), np.random.default_rng(seed)
    blocks = [marginal(pair, shape) for pair in pairs]
    given = replace(problem(shape, n=int(counts.sum())), workload=Workload(tuple(blocks)), **facts)
    history = [
        measured([block], [np.rint(block.answer(table) + deviation * noise.standard_normal(block.rows))], deviation)
        for block in blocks
    ]
    last = RULE.update(given, RULE.start(given), history)
    return given, history, last, RULE.averaged(given, last, history), blocks


def error(model, blocks, counts):
    table = DenseHistogram(counts)
    return sum(float(np.abs(model.answer(block) - block.answer(table)).sum()) for block in blocks)


PAIRS = tuple(combinations(range(4), 2))


@pytest.mark.slow
def test_independent_columns_are_answered_as_independent():
    """Pairs full of noise of columns that nothing joins: the fit is near independence, and one class nearer."""
    shape = (6, 5, 7, 4)
    counts = np.full(shape, 1)
    exact, alone, mean, noise = DenseHistogram(counts), [], [], []
    for seed in range(5):
        _, history, last, average, blocks = fitted(counts, PAIRS, 12.0, seed)
        alone.append(error(last, blocks, counts))
        mean.append(error(average, blocks, counts))
        pairs = [(one.blocks[0], one.values[0]) for one in history if len(one.blocks[0].axes) == 2]
        noise.append(sum(float(np.abs(values - block.answer(exact)).sum()) for block, values in pairs))
    # 119 of the 179 noisy cells are interactions. Without them .35 would remain, the sums of single columns merged.
    assert np.mean(alone) < 0.5 * np.mean(noise)
    assert np.mean(mean) < np.mean(alone)


def test_what_classes_cannot_follow_is_left_to_the_tree():
    """Each column decides the next one, almost without noise: few classes cannot say that."""
    counts = np.zeros((30, 30, 30), dtype=np.int64)
    places = np.arange(30)
    counts[places, places, places] = 1000 + 10 * places
    _, _, alone, mean, blocks = fitted(counts, ((0, 1), (1, 2)), 2.0, 1)
    assert error(mean, blocks, counts) <= 1.001 * error(alone, blocks, counts)


def test_classes_that_are_far_from_the_tree_at_first_are_doubled_while_they_come_nearer():
    """Six columns follow one of sixteen values: four classes gain nothing beside a tree that blurs it a little.

    The values have unlike shares, so that arithmetic does not decide which of them a split takes apart first.
    """
    shape, shares = (16,) * 6, 1.2 ** np.arange(16)
    shares /= shares.sum()

    def following(blur):
        law = (1.0 - blur) * np.eye(16) + blur * shares[:, None]
        return LatentClasses(shares=shares, laws=(law,) * 6, total=12_000.0)

    exact, tree, noise = following(0.02), following(0.15), np.random.default_rng(5)
    pairs = list(combinations(range(6), 2))
    measured = tuple(
        LinearMeasurement(
            key=pair, axes=pair, values=exact.marginal(pair) + 4.0 * noise.standard_normal((16, 16)), deviation=4.0
        )
        for pair in pairs
    )
    given = Averaging(fit=lambda seen: tree, whole=tuple, shape=shape, total=12_000.0, joined=pairs, seed=1)
    mean = given.average(tree, measured)
    assert isinstance(mean, ModelAverage)
    assert max(len(one.shares) for one in mean.classes) >= 16

    def distance(model):
        return sum(float(np.abs(model.marginal(pair) - exact.marginal(pair)).sum()) for pair in pairs)

    assert distance(mean) < 0.5 * distance(tree)


def test_classes_of_a_slight_share_are_not_fitted_again(monkeypatch):
    """Their share goes to the others, and the tree's stays."""
    counts = np.random.default_rng(3).poisson(2.0, (5, 5, 5, 5))
    shares = np.array([0.5, 0.03125, 0.34375, 0.125])
    weighed = Averaging._weighed
    monkeypatch.setattr(Averaging, "_weighed", lambda *given: ((*weighed(*given)[0],)[:3], shares))
    mean = fitted(counts, PAIRS, 20.0, 2)[3]
    assert [len(one.shares) for one in mean.classes] == [2, 4]
    assert mean.shares.tolist() == [0.5, 0.375, 0.125]


def test_an_average_is_repeated_and_made_again_from_other_answers():
    counts = np.random.default_rng(3).poisson(2.0, (5, 5, 5, 5))
    given, history, last, mean, blocks = fitted(counts, PAIRS, 20.0, 2)
    assert isinstance(mean, ModelAverage)
    again = RULE.averaged(given, last, history)
    assert all((mean.answer(block) == again.answer(block)).all() for block in blocks)
    assert mean.shares.sum() == pytest.approx(1.0)
    # The same answers: a fit that starts where it ended stays there, as far as its steps settle.
    other = RULE.averaged(given, last, history, like=mean)
    assert (other.shares == mean.shares).all()
    assert error(other, blocks, counts) == pytest.approx(error(mean, blocks, counts), rel=0.05)
    # Like a fit without classes: without them.
    assert RULE.averaged(given, last, history, like=last) is last


def test_a_fit_with_impossible_cells_is_released_as_it_is():
    """Latent classes put records everywhere."""
    counts = np.random.default_rng(3).poisson(20.0, (4, 4, 4))
    counts[0, 0] = 0
    region = Region(text="never", axes=(0, 1), cells=np.pad(np.ones((1, 1), dtype=bool), (0, 3)))
    domain = replace(problem(counts.shape).domain, facts=PublicFacts(impossible=(region,)))
    _, _, alone, mean, _ = fitted(counts, ((0, 1), (1, 2)), 20.0, 2, domain=domain)
    assert mean is alone
    assert mean.marginal((0, 1))[0, 0] == 0.0


def test_a_table_that_would_take_too_long_is_left_to_the_tree(monkeypatch):
    counts = np.random.default_rng(3).poisson(2.0, (5, 5, 5, 5))
    given, history, last, mean, _ = fitted(counts, PAIRS, 20.0, 2)
    assert isinstance(mean, ModelAverage)
    # Six tables of 25 cells, each measured and asked for: 300 cells, times at least 4 classes.
    monkeypatch.setattr(averaging, "TUNING", replace(averaging.TUNING, work=1199))
    assert RULE.averaged(given, last, history) is last
    monkeypatch.setattr(averaging, "TUNING", replace(averaging.TUNING, work=1200))
    assert RULE.averaged(given, last, history) is not last


def test_classes_are_doubled_for_fits_alone_and_what_is_held_out_is_gone_before_the_last_ones(monkeypatch):
    """On wide tables a split costs a tenth of a fit, and what is held out several times what is released."""
    steps, held = [], []

    def watched(kind, name, step):
        real = getattr(kind, name)

        def watching(self, *given):
            steps.append(step)
            if step == "add":
                held.append(weakref.ref(self.evidence[0].values))
            elif step == "fit" and held and all(one() is None for one in held):
                steps.append("free")
            return real(self, *given)

        monkeypatch.setattr(kind, name, watching)

    watched(HeldOutAnswers, "add", "add")
    watched(LatentClassFit, "fitted", "fit")
    watched(LatentClassFit, "split", "split")
    _, _, _, mean, _ = fitted(np.random.default_rng(3).poisson(2.0, (5, 5, 5, 5)), PAIRS, 20.0, 2)
    tried = steps.count("add") - 1
    assert tried >= 3
    assert steps == ["add", "fit", "add", *(tried - 1) * ["split", "fit", "add"], *len(mean.classes) * ["fit", "free"]]


def test_rows_come_from_every_model_by_its_share():
    tree = DenseDistribution(probabilities=np.array([[0.5, 0.0], [0.0, 0.5]]), total=40.0)
    other = LatentClasses(shares=np.ones(1), laws=(np.array([[0.0], [1.0]]),) * 2, total=40.0)
    mean = ModelAverage(tree=tree, classes=(other,), shares=np.array([0.75, 0.25]))
    codes = mean.rows(40, seed=1)
    assert np.bincount(codes[:, 0] * 2 + codes[:, 1], minlength=4).tolist() == [15, 0, 0, 25]
    np.testing.assert_allclose(mean.weights(), [[15.0, 0.0], [0.0, 25.0]])
    np.testing.assert_allclose(mean.marginal((1,)), [15.0, 25.0])
    assert mean.rows(0, seed=1).shape == (0, 2)
    assert codes.dtype == np.uint8
    assert "of the noisy answers: the maximum-entropy fit 0.75, independence 0.25; the weights" in mean.words
