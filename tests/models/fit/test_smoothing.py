"""The hidden Markov smoother, against enumeration."""

from itertools import product

import numpy as np
import pytest

from dpqr.models.fit.buckets import LONGEST, HiddenMarkovSmoother, _forward, _posterior
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit

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


def test_the_unit_is_no_matter():
    seen = noisy(HILL, 1)
    one, other = HiddenMarkovSmoother().run(seen, NOISE), HiddenMarkovSmoother().run(seen / 1000, NOISE / 1000)
    assert np.allclose(one.values, 1000 * other.values)
    assert one.deviation == pytest.approx(1000 * other.deviation)


def test_a_count_far_beyond_its_noise_stays_as_measured():
    seen = noisy(HILL, 2)
    seen[0] = 30_000.0
    found = HiddenMarkovSmoother().run(seen, NOISE)
    assert found.values[0] == 30_000.0
    assert found.values[1] < 500.0


@pytest.mark.parametrize(
    "counts",
    [np.full(7, 300.0), np.full(LONGEST + 1, 300.0), np.full(20, 1e6), np.full(20, -1e6), np.zeros(20)],
    ids=["short", "long", "exact", "negative", "nothing"],
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
