"""The maximum-entropy fit, against its optimality conditions and a general minimiser."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from support.cases import in_one_test, slow_but
from support.rounding_error import summed
from support.small_universes import dense, marginal, measured

from dpqr.models.fit.evidence import gather
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit

SHAPE = (2, 3, 4)
SHARP = MaximumEntropyFit(tolerance=1e-6, steps=3000)


def fit(blocks, values, deviation, total, rule=SHARP, warm=None, shape=SHAPE):
    return rule.run(gather([measured(blocks, values, deviation)], shape), shape, total, warm or {}).weights()


def test_it_is_the_minimum_of_the_stated_objective():
    """Six cells, three signed queries: an independent solver on the primal finds nothing lower."""
    rng = np.random.default_rng(0)
    rows, total, deviation = rng.integers(-2, 4, (3, 6)), 50.0, 4.0
    values = rng.integers(0, 100, 3)

    def primal(p):
        p = np.maximum(p, 1e-300)
        return ((total * rows @ p - values) ** 2).sum() / (2 * deviation * total) + (p * np.log(6 * p)).sum()

    found = fit([dense(rows, (6,))], [values], deviation, total, shape=(6,))
    bounds, whole = [(0, 1)] * 6, {"type": "eq", "fun": lambda p: p.sum() - 1}
    best = minimize(primal, np.full(6, 1 / 6), bounds=bounds, constraints=whole, tol=1e-12)
    assert primal(found) <= best.fun + 1e-9
    assert np.abs(found - best.x).max() < 1e-4


@in_one_test(("block", "strength"), [(dense([[1, 0], [0, 1]], (2,)), 1.0), (marginal((0,), (2,)), 0.1)])
def test_what_a_potential_of_one_costs(block, strength):
    """Two cells, answers 95 and 5 of 100, deviation 5: residual = 5 strength eta, and the log-odds are 2 eta."""
    found = fit([block], [[95, 5]], 5.0, 100.0, shape=(2,))
    eta = np.log(found[0] / found[1]) / 2
    assert 95 - 100 * found[0] == pytest.approx(5 * strength * eta, abs=1e-3)


def test_single_attributes_give_their_product_and_nothing_the_uniform_distribution():
    assert np.allclose(MaximumEntropyFit().run((), SHAPE, 5.0, {}).weights(), 1 / 24)
    a, b = np.array([900, 100]), np.array([500, 300, 200])
    found = fit([marginal((0,), SHAPE), marginal((1,), SHAPE)], [a, b], 0.1, 1000.0)
    product = np.einsum("i,j,k->ijk", a / 1000, b / 1000, np.full(4, 1 / 4))
    assert np.abs(found - product).max() < 1e-4


def test_exact_marginals_come_back():
    rng = np.random.default_rng(3)
    counts = rng.multinomial(10**6, rng.dirichlet(np.ones(24))).reshape(SHAPE)
    axes = list(combinations(range(3), 2))
    values = [counts.sum(axis=tuple(i for i in range(3) if i not in group)).reshape(-1) for group in axes]
    found = fit([marginal(group, SHAPE) for group in axes], values, 0.1, 1e6) * 1e6
    for group, value in zip(axes, values, strict=True):
        answers = found.sum(axis=tuple(i for i in range(3) if i not in group)).reshape(-1)
        assert np.abs(answers - value).max() < 20


def test_the_tolerance_is_in_deviations_of_the_answers():
    """The default fit is the exact fit to answers moved by its gradient, which is within the tolerance."""
    rng = np.random.default_rng(5)
    blocks = [marginal(group, SHAPE) for group in combinations(range(3), 2)]
    values = [rng.integers(0, 200, block.rows) for block in blocks]
    loose, exact = (fit(blocks, values, 20.0, 900.0, rule) for rule in (MaximumEntropyFit(), SHARP))
    assert 0 < np.abs(loose - exact).max() * 900 < 20 * 0.1 * 9


def test_a_warm_start_ends_where_a_cold_one_does_and_sooner():
    rng = np.random.default_rng(6)
    blocks = [marginal(group, SHAPE) for group in combinations(range(3), 2)]
    evidence = gather([measured(blocks, [rng.integers(0, 99, b.rows) for b in blocks], 2.0)], SHAPE)
    cold = SHARP.run(evidence, SHAPE, 600.0, {})
    still = MaximumEntropyFit(tolerance=1e-4, steps=0).run(evidence, SHAPE, 600.0, cold.potentials)
    assert np.abs(still.weights() - cold.weights()).max() < 1e-6
    flat = MaximumEntropyFit(tolerance=1e-4, steps=0).run(evidence, SHAPE, 600.0, {})
    assert np.abs(flat.weights() - 1 / 24).max() < summed(24)


def test_tables_that_share_attributes_take_few_steps():
    """Ten overlapping pairs that disagree about single attributes by a little noise: by the diagonal alone, 30 steps
    leave 600 records in wrong cells; 200 are needed."""
    rng = np.random.default_rng(9)
    shape, total = (3, 4, 5, 6, 7), 50_000
    counts = rng.multinomial(total, rng.dirichlet(np.full(2520, 0.1))).reshape(shape)
    groups = list(combinations(range(5), 2))
    sums = [counts.sum(axis=tuple(i for i in range(5) if i not in group)).reshape(-1) for group in groups]
    blocks, noisy = [marginal(group, shape) for group in groups], [np.rint(s + rng.normal(0, 5, s.size)) for s in sums]
    cut, exact = (
        fit(blocks, noisy, 5.0, total, MaximumEntropyFit(tolerance=1e-3, steps=n), shape=shape) for n in (30, 3000)
    )
    assert np.abs(cut - exact).sum() * total < 1


def test_what_a_table_shows_counts_however_many_cells_other_columns_have():
    """A copy leans less in its large cells, beside a column of 2 values and beside one of 7,000."""
    copy = np.rint(20_000 * (0.7 * np.eye(10) / 10 + 0.3 / 100))

    def answers(size):
        shape = (10, 10, size)
        blocks, values = [marginal(group, shape) for group in ((0, 1), (2,))], [copy.reshape(-1), np.full(size, 2)]
        evidence = gather([measured(blocks, values, 20.0)], shape)
        return MaximumEntropyFit(tolerance=1e-4).run(evidence, shape, 20_000.0, {}).marginal((0, 1))

    assert np.allclose(answers(2), answers(7000), atol=1e-6)


WEIRD = {
    "all negative": [[-50, -70], [-9, -9, -9], [-1] * 6],
    "zeros": [[0, 0], [0, 0, 0], [0] * 6],
    "contradictory": [[10**6, 0], [0, 5, 0], [0, 0, 0, 10**6, -(10**6), 0]],
    "enormous": [[2**61, -(2**61)], [2**61] * 3, [-(2**61)] * 6],
    "one huge cell": [[1, 1], [1, 1, 1], [0, 2**50, 0, 0, 0, 0]],
}


@pytest.mark.parametrize("values", WEIRD.values(), ids=WEIRD.keys())
@pytest.mark.parametrize(("deviation", "total"), slow_but({0}, [(0.0, 1.0), (30.0, 1e3), (0.0, 1e12), (1e9, 1e12)]))
def test_no_answers_whatever_break_it(values, deviation, total):
    blocks = [marginal((0,), SHAPE), marginal((1,), SHAPE), marginal((0, 1), SHAPE)]
    found = fit(blocks, values, deviation, total, MaximumEntropyFit())
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_it_beats_the_noise_it_is_given():
    """Correlated data under much noise: less than 0.7 of the clipped answers' error over all pairs of attributes.

    With the noise understated or overstated nine times it is worse: the strength is about right, not only present.
    """
    rng = np.random.default_rng(8)
    shape, axes, total = (8, 9, 10, 6), list(combinations(range(4), 2)), 20_000
    parts = [rng.dirichlet(np.full(size, 0.4), size=6) for size in shape]
    cells = np.einsum("h,ha,hb,hc,hd->abcd", rng.dirichlet(np.full(6, 0.5)), *parts)
    counts = rng.multinomial(total, cells.reshape(-1)).reshape(shape)
    truths = [counts.sum(axis=tuple(i for i in range(4) if i not in group)).reshape(-1) for group in axes]
    noisy = [np.rint(truth + rng.laplace(0, 200, truth.size)) for truth in truths]

    def error(deviation):
        shares = fit([marginal(g, shape) for g in axes], noisy, deviation, total, MaximumEntropyFit(), shape=shape)
        answers = [total * shares.sum(axis=tuple(i for i in range(4) if i not in group)).reshape(-1) for group in axes]
        return sum(np.abs(a - b).sum() for a, b in zip(answers, truths, strict=True))

    raw = sum(np.abs(np.maximum(a, 0) - b).sum() for a, b in zip(noisy, truths, strict=True))
    stated = error(200 * 2**0.5)
    assert stated < 0.7 * raw
    assert stated < 0.9 * min(error(200 * 2**0.5 / 9), error(200 * 2**0.5 * 9))


@in_one_test("deviations", [(1.05, 0.95), (2.0, 0.7)])
def test_less_noise_in_one_table_of_all_columns_is_less_error(deviations):
    """A chain of four columns, each a copy of seven tenths of the one before: the pairs count at every deviation."""
    rng = np.random.default_rng(3)
    shape, columns = (9,) * 4, [rng.integers(0, 9, 4_000)]
    for _ in shape[1:]:
        columns.append(np.where(rng.random(4_000) < 0.7, columns[-1], rng.integers(0, 9, 4_000)))
    truth = np.bincount(np.ravel_multi_index(columns, shape), minlength=9**4).astype(np.float64)
    table, noise = [marginal(range(4), shape)], rng.laplace(0, 0.5**0.5, truth.size)

    def error(deviation):
        answers = [truth + deviation * noise]
        found = fit(table, answers, deviation, 4_000.0, MaximumEntropyFit(), shape=shape).reshape(-1) * 4_000
        return np.abs(found - truth).sum()

    more, less = map(error, deviations)
    assert less < more


def test_a_table_that_shares_no_column_with_others_is_fitted_as_if_it_were_alone():
    """In closed form. Columns that nothing joins are independent."""
    shape, rng = (3, 4, 2, 5, 3, 2), np.random.default_rng(7)
    blocks = [marginal(axes, shape) for axes in ((3, 0), (3,), (1, 2), (2, 4), (5,))]
    values = [np.rint(900.0 / block.rows + 9.0 * rng.normal(size=block.rows)) for block in blocks]
    whole = fit(blocks, values, 9.0, 900.0, shape=shape)
    alone = fit(blocks[:2], values[:2], 9.0, 900.0, shape=shape)
    assert whole.sum(axis=(1, 2, 4, 5)) == pytest.approx(alone.sum(axis=(1, 2, 4, 5)), abs=1e-7)
    first, rest = whole.sum(axis=(1, 2, 4, 5)), whole.sum(axis=(0, 3))
    product = first[:, None, None, :, None, None] * rest[None, :, :, None, :, :]
    assert whole == pytest.approx(product, abs=1e-9)
