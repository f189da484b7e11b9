"""The hidden Markov smoother, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test, thinned

from dpqr.models.fit.buckets import (
    IMBALANCES,
    LONGEST,
    PRIOR,
    BoxCounts,
    BucketCounts,
    HiddenMarkovSmoother,
    Imbalances,
    _forward,
    _posterior,
    draws_of,
    likely_records,
    shrunk,
    uneven_cells,
)
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit
from dpqr.workload.partition import Bisection

CELLS, RECORDS = 80, 50_000
HILL = np.exp(-0.5 * ((np.arange(CELLS) - 30) / 15) ** 2)
HILL *= RECORDS / HILL.sum()
NOISE = 200.0


def noisy(counts, seed, deviation=NOISE):
    return counts + np.random.default_rng(seed).normal(0, deviation, counts.size)


def wrong(values, counts):
    return np.abs(values - counts).sum() / counts.sum()


def test_neighbours_that_hold_alike_lower_the_error():
    for seed in range(3):
        seen = noisy(HILL, seed)
        found = HiddenMarkovSmoother().run(seen, NOISE)
        assert wrong(found.values, HILL) < 0.75 * wrong(seen, HILL)
        assert 0.2 * NOISE < found.deviation < 0.7 * NOISE


def test_cells_in_no_order_are_left_alone():
    """The same counts in another order: nothing is claimed, though the learnt law of levels is the same."""
    for seed in range(3):
        shuffled = np.random.default_rng(100 + seed).permutation(HILL)
        assert HiddenMarkovSmoother().run(noisy(shuffled, seed), NOISE) is None


def test_a_count_far_beyond_its_noise_stays_as_measured_in_any_unit():
    seen = noisy(HILL, 2)
    seen[0] = 30_000.0
    found, other = HiddenMarkovSmoother().run(seen, NOISE), HiddenMarkovSmoother().run(seen / 1000, NOISE / 1000)
    assert found.values[0] == 30_000.0
    assert found.values[1] < 500.0
    assert np.allclose(found.values, 1000 * other.values)
    assert found.deviation == pytest.approx(1000 * other.deviation)


@in_one_test(
    "counts",
    [np.full(7, 300.0), np.full(LONGEST + 1, 300.0), np.full(20, 1e6), np.full(20, -1e6), np.zeros(20)],
)
def test_where_there_is_nothing_to_say_it_says_nothing_or_what_is_finite(counts):
    found = HiddenMarkovSmoother().run(counts, NOISE)
    assert found is None or np.isfinite(found.values).all()


def test_the_sums_are_those_over_all_ways_through_the_levels():
    """Five cells of three levels, the third one exact: 81 ways, one by one."""
    rng = np.random.default_rng(0)
    fits, law = rng.random((5, 3)) + 0.1, np.array([0.5, 0.3, 0.2])
    moves = rng.dirichlet(np.ones(3), size=(2, 3))
    exact = np.array([False, False, True, False, False])
    forward, likely = _forward(fits, exact, law, moves)
    for step in range(2):
        odds, total = np.zeros((5, 3)), 0.0
        for way in product(range(3), repeat=4):
            a, b, d, e = way
            weight = law[a] * moves[step][a, b] * law[d] * moves[step][d, e]
            weight *= fits[0, a] * fits[1, b] * fits[3, d] * fits[4, e]
            total += weight
            for cell, level in zip((0, 1, 3, 4), way, strict=True):
                odds[cell, level] += weight
        assert likely[step] == pytest.approx(np.log(total))
        found = _posterior(forward[:, step], fits, exact, moves[step])
        assert np.allclose(found[~exact], odds[~exact] / total)


def test_the_fit_shrinks_single_attributes_towards_their_neighbours():
    seen = LinearMeasurement(key=(0,), axes=(0,), values=noisy(HILL, 3), deviation=NOISE)
    fitted = [
        MaximumEntropyFit(smoother=smoother).run([seen], (CELLS,), RECORDS, {}).weights() * RECORDS
        for smoother in (HiddenMarkovSmoother(), HiddenMarkovSmoother(steps=(30.0,)))
    ]
    assert wrong(fitted[0], HILL) < 0.8 * wrong(fitted[1], HILL)


# How unlike halves of boxes are: learned from noise-free and noisy differences.

BLANK = Imbalances(weights=PRIOR)


@pytest.mark.parametrize("records", [1e6, 1e8, 1e9, 6e10])
def test_of_very_many_records_counts_move_by_no_more_than_their_noise(records):
    """Their noise is lost beside them in double precision: the posterior mean has no figure of it, nor an inverse."""
    drawn, cells, variance = np.random.default_rng(0), 12, 8.0
    for _ in range(20):
        counts = np.rint(drawn.laplace(0, 2, cells))
        counts[drawn.integers(cells)] += records
        found = shrunk((3, 4), np.arange(cells), counts, variance * np.eye(cells))
        assert np.abs(found - counts).max() <= 10 * variance**0.5


def test_even_halves_are_learned_to_be_alike_and_uneven_ones_not() -> None:
    counts, noise = np.full(64, 1e4), np.full(64, 100.0)
    rng = np.random.default_rng(1)
    alike = BLANK.learned(rng.normal(0, 1e2, 64), counts, noise)
    unlike = BLANK.learned(rng.normal(0, 5e3, 64), counts, noise)
    mean = [float(one.weights @ IMBALANCES) for one in (alike, BLANK, unlike)]
    assert mean[0] < 0.01 < mean[1] < 0.15 < mean[2]
    np.testing.assert_allclose([alike.weights.sum(), unlike.weights.sum()], 1)


def test_the_level_below_is_nearly_as_this_one() -> None:
    below = BLANK.learned(np.zeros(64), np.full(64, 1e7), np.ones(64)).below()
    assert below.weights.sum() == pytest.approx(1)
    assert below.weights[:2].sum() > 0.8
    assert below.weights.min() > 0


def test_differences_are_shrunk_by_their_noise_and_are_at_most_the_count() -> None:
    counts = np.full(3, 1000.0)
    found = BLANK.posterior(np.full(3, 200.0), counts, np.array([1e-6, 1e4, np.inf]))
    np.testing.assert_allclose(found.means[[0, 2]], [200, 0], rtol=1e-6, atol=1e-9)
    assert 50 < found.means[1] < 200
    variances = found.systematic + found.sampled
    assert variances[0] < 1e-3 < variances[1] < variances[2]
    counts = np.array([0.0, 3.0])
    found = BLANK.posterior(np.zeros(2), counts, np.full(2, np.inf))
    assert (found.means**2 + found.systematic + found.sampled <= counts**2).all()


def test_draws_have_the_moments_of_the_posterior() -> None:
    many = 20_000
    rng = np.random.default_rng(2)
    uniforms, normals = rng.random(many), rng.normal(size=many)
    for noise in (1e-6, 1e4, np.inf):
        unlike, counts, variances = np.full(many, 200.0), np.full(many, 1000.0), np.full(many, noise)
        found = BLANK.drawn(unlike, counts, variances, uniforms, normals)
        known = BLANK.posterior(unlike, counts, variances)
        deviation = float(np.sqrt(known.systematic + known.sampled)[0])
        assert found.mean() == pytest.approx(known.means[0], abs=0.1 * deviation + 1e-3)
        assert found.std() == pytest.approx(deviation, rel=0.05, abs=1e-3)


# Shrinkage of bucket counts: less error where neighbours are alike, hardly any change where they are not.

QUARTERS = np.repeat(np.arange(16), 4)


def shrinkage_noisy(truth, deviation, seed=1):
    return truth + np.random.default_rng(seed).normal(0, deviation, len(truth))


def error(found, truth):
    return float(((found - truth) ** 2).mean())


def test_counts_that_noise_alone_tells_apart_come_together() -> None:
    truth = np.full(16, 50.0)
    counts = shrinkage_noisy(truth, 20.0)
    found = shrunk((64,), QUARTERS, counts, np.eye(16) * 400.0)
    assert error(found, truth) < 0.5 * error(counts, truth)
    assert found.sum() == pytest.approx(counts.sum(), rel=1e-3)


def test_counts_far_apart_stay_and_without_noise_all_do() -> None:
    truth = np.where(np.arange(16) % 3, 0.0, 5000.0)
    counts = shrinkage_noisy(truth, 20.0)
    found = shrunk((64,), QUARTERS, counts, np.eye(16) * 400.0)
    assert error(found, truth) < 1.05 * error(counts, truth)
    counts = np.random.default_rng(2).poisson(100, 16).astype(float)
    np.testing.assert_allclose(shrunk((64,), QUARTERS, counts, np.eye(16) * 1e-9), counts, rtol=1e-6)


@in_one_test("shape", [(5,), (3, 7)])
def test_boxes_that_padding_leaves_without_cells_are_minded(shape) -> None:
    buckets = np.unique(Bisection(shape).places(2), return_inverse=True)[1]
    size = buckets.max() + 1
    counts = np.bincount(buckets) * 10.0
    np.testing.assert_allclose(shrunk(shape, buckets, counts, np.eye(size) * 100.0), counts, rtol=1e-6)


def test_one_bucket_is_left_as_it_was_and_a_negative_total_makes_no_negative_variance() -> None:
    np.testing.assert_array_equal(shrunk((4,), np.zeros(4, dtype=int), np.array([7.0]), np.eye(1)), [7.0])
    found = shrunk((64,), QUARTERS, shrinkage_noisy(np.zeros(16), 20.0) - 30.0, np.eye(16) * 400.0)
    assert np.isfinite(found).all()


# How many records a noisy count leaves likely.


@pytest.mark.parametrize("noise", thinned([0.5, 14.0, 1e6], 3))
def test_likely_records_are_those_of_bayes_rule_where_every_order_of_magnitude_is_alike_likely(noise) -> None:
    """Against a sum over whole numbers of noises; a count far above its noise is taken as it is."""
    means = []
    for counted in (-40, -3, 0, 1, 3, 5.9):
        sizes, weights = likely_records(counted * noise, noise)
        assert weights.sum() == pytest.approx(1)
        fine = np.geomspace(1.0, sizes[-1], 200_001)
        logs = -((fine / noise - counted) ** 2) / 2
        exact = np.exp(logs - logs.max())
        means.append(float(weights @ sizes))
        assert means[-1] == pytest.approx(float(exact @ fine / exact.sum()), rel=0.02)
    assert means == sorted(means)
    assert likely_records(7.0 * noise, noise)[0].tolist() == [max(7.0 * noise, 1.0)]
    assert likely_records(0.0, 0.0)[0].tolist() == [1.0]


# Tables behind buckets: what was counted stays, and cells within a bucket are as uneven as the counts make likely.

WIDTH = 64
BUCKETS = np.repeat(np.arange(4), 16)
EVEN = np.full(WIDTH, 1000.0)


def counted(counts: np.ndarray, noise: float) -> BoxCounts:
    levels = counts.size.bit_length() - 1
    return BoxCounts(
        bisection=Bisection((WIDTH,)),
        counts=counts,
        variances=np.full(levels, noise**2),
        total=float(counts.sum()),
        deviation=noise,
    )


def bucket_counts(cells: np.ndarray, noise: float = 1e-3) -> BucketCounts:
    sums = np.bincount(BUCKETS, weights=cells)
    return BucketCounts(places=BUCKETS, counts=sums, covariance=noise**2 * np.eye(len(sums)))


def drawn(known: BoxCounts | None, cells: np.ndarray = EVEN, draws: int = 8, noise: float = 1e-3) -> np.ndarray:
    buckets = bucket_counts(cells, noise)
    return np.stack([uneven((WIDTH,), buckets, known, seed) for seed in range(draws)])


def uneven(shape: tuple[int, ...], buckets: BucketCounts, known: BoxCounts | None, seed: int) -> np.ndarray:
    rng, draws = np.random.default_rng(seed), draws_of(shape)
    return uneven_cells(shape, buckets, known, rng.random(draws), rng.normal(size=draws))


@pytest.mark.parametrize("known", thinned([None, counted(EVEN, 10.0), counted(EVEN.reshape(8, 8).sum(axis=1), 1e4)], 3))
def test_whole_records_add_up_to_what_each_bucket_holds(known) -> None:
    found = drawn(known, np.repeat([0.0, 0.0, 1000.0, 7.0], 16))
    assert (found >= 0).all()
    assert (found == np.round(found)).all()
    sums = found.reshape(-1, 4, 16).sum(axis=2)
    assert (sums == [0.0, 0.0, 16_000.0, 112.0]).all()


def test_sure_counts_come_back() -> None:
    """Sampling of whole records apart, cells are where noiseless counts have seen them."""
    counts = EVEN.copy()
    counts[16:32] = np.where(np.arange(16) == 5, 16_000.0, 0.0)
    found = drawn(counted(counts, 1e-3))
    np.testing.assert_allclose(found.mean(axis=0), counts, atol=1.0)


@pytest.mark.slow
def test_cells_are_the_more_uneven_the_less_is_known_of_them_and_the_more_uneven_the_boxes_above() -> None:
    sure, noisy, blind = (float(drawn(known).std()) for known in (counted(EVEN, 1.0), counted(EVEN, 500.0), None))
    assert sure < 10.0 < noisy < blind
    heaped = np.where(np.arange(16) % 2 == 0, 8000.0, 0.0)
    even = np.full(16, 4000.0)
    smooth, rough = (float(drawn(counted(counts, 10.0)).std()) for counts in (even, heaped))
    assert rough > 3 * smooth


def test_noisy_buckets_hold_what_their_noise_allows() -> None:
    cells = np.repeat([1000.0, 1100.0, 200.0, 900.0], 16)
    sums = drawn(None, cells, noise=300.0).reshape(-1, 4, 16).sum(axis=2)
    assert (sums.sum(axis=1) == 51_200.0).all()
    assert (sums.std(axis=0) > 30.0).all()
    assert (sums.std(axis=0) < 600.0).all()


def test_two_axes() -> None:
    buckets = Bisection((4, 8)).places(2)
    known = BucketCounts(places=buckets, counts=np.full(4, 800.0), covariance=1e-6 * np.eye(4))
    found = uneven((4, 8), known, None, 5)
    assert (np.bincount(buckets, weights=found.reshape(-1)) == 800.0).all()
    assert found.std() > 10.0
