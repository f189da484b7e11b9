"""Multiplicative weights: steps, replay, room and memory."""

import tracemalloc
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours
from dpqr.models import junction_tree
from dpqr.models.factored import FactoredDistribution
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.problem import Footprint, Level
from dpqr.strategies.updates import multiplicative_weights
from dpqr.strategies.updates.interface import (
    DENSE_LIMIT,
    SingleQuery,
    any_block,
    dense_footprint,
    exponential_step,
    floor_of_log,
    no_bound,
    on_domain,
    uniform_start,
)
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix

SHAPE = (2, 3)
RULE = MultiplicativeWeights()
PLAIN = MultiplicativeWeights(replay=False)


@in_one_test(("variant", "eta"), [("printed", 0.05), ("sharp", 0.4)])
@pytest.mark.parametrize("value", [0, 400])
def test_one_step_as_the_source_has_it(variant, eta, value):
    facts = problem(SHAPE, n=100, level="1/10", variant=variant, neighbours=Neighbours.REPLACE)
    block = dense([0, 1, 2, 4, 0, 4], SHAPE, scale=Fraction(1, 4))
    state = RULE.start(facts)
    expected = np.full(6, 1 / 6)
    for answer in (value, value, 2 * value):
        state = RULE.update(facts, state, [measured([block], [[answer]])])
        f = np.array([0, 1, 2, 4, 0, 4]) / 4
        expected = expected * np.exp((-eta if value == 0 else eta) * f)
        expected /= expected.sum()
    assert np.allclose(state.probabilities.reshape(-1), expected)
    assert state.total == 100


def test_no_weight_is_lost_for_good():
    """Hundreds of steps down underflow every float; the same steps up bring the cell back."""
    facts = problem((2,), n=100, level="1/4", variant="sharp", neighbours=Neighbours.REPLACE)
    down, up = measured([dense([1, 0], (2,))], [[-10]]), measured([dense([1, 0], (2,))], [[999]])
    state = RULE.start(facts)
    for history in [[down]] * 800 + [[up]] * 800:
        state = RULE.update(facts, state, history)
    assert np.allclose(state.probabilities, 0.5)


def test_mistake_bounds_of_the_oracle():
    facts = problem((64,))
    assert RULE.mistakes(facts, Level(value=Fraction(1, 40))) == 26_616
    assert RULE.mistakes(facts, Level(value=Fraction(1, 40), variant="sharp")) == 3_327
    assert RULE.mistakes(problem((1,)), Level(value=Fraction(1, 40))) == 0


@in_one_test("rule", [RULE, PLAIN])
def test_the_total_is_measured_under_add_remove_public_under_replace_and_never_negative(rule):
    history = [measured([marginal((0,), SHAPE)], [[30, 70]], 0.1)]
    private, public = problem(SHAPE), problem(SHAPE, n=500, neighbours=Neighbours.REPLACE)
    assert (rule.start(private).total, rule.start(public).total) == (0, 500)
    assert not rule.start(private).answer(marginal((0,), SHAPE)).any()
    assert rule.update(private, rule.start(private), history).total == pytest.approx(100)
    assert rule.update(public, rule.start(public), history).total == 500
    bare = rule.update(private, rule.start(private), [measured([QueryBlock(name="total")], [[42]])])
    assert bare.total == pytest.approx(42)
    assert np.allclose(bare.probabilities, 1 / 6)
    state = rule.update(private, rule.start(private), [measured([marginal((0,), SHAPE)], [[-30, -70]], 50.0)])
    assert state.total == 0
    assert state.weights().min() == 0 == state.weights().max()
    assert state.probabilities.sum() == pytest.approx(1)
    assert state.rows(10, 1).shape == (10, 2)


def test_replay_reads_all_of_the_history():
    facts = problem(SHAPE)
    first, second = (
        measured([marginal((0,), SHAPE)], [[900, 100]]),
        measured([marginal((1,), SHAPE)], [[100, 200, 700]]),
    )
    state = RULE.update(facts, RULE.start(facts), [first, second])
    assert state.answer(marginal((0,), SHAPE)) == pytest.approx([900, 100], abs=5)
    assert state.answer(marginal((1,), SHAPE)) == pytest.approx([100, 200, 700], abs=5)


def test_one_mwem_step_a_block():
    """D_i <- D_i exp(f(i) (v - f(D)) / (2n)) for the cells of a marginal, all at once."""
    facts = problem(SHAPE, n=60, neighbours=Neighbours.REPLACE)
    state = PLAIN.update(facts, PLAIN.start(facts), [measured([marginal((1,), SHAPE)], [[50, 10, 0]])])
    expected = np.exp(np.array([30, -10, -20]) / 120)
    assert np.allclose(state.probabilities, np.tile(expected / expected.sum() / 2, (2, 1)))


def test_overlapping_rows_share_the_step():
    facts = problem((4,), n=40, neighbours=Neighbours.REPLACE)
    block = dense([[1, 1, 0, 0], [1, 0, 1, 0], [2, 0, 0, 0]], (4,))
    state = PLAIN.update(facts, PLAIN.start(facts), [measured([block], [[40, 40, 80]])])
    odds = np.log(state.probabilities[0] / state.probabilities[3])
    assert odds == pytest.approx((20 + 20 + 2 * 60) / (2 * 40 * 4 * 2))


LARGE = (40, 50, 60, 70)
PAIRS = tuple(combinations(range(4), 2))


def noisy_pairs(seed, shape, pairs, total=20_000):
    """Noisy pairs of a table whose attributes all depend on one hidden one."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, total)
    records = [(hidden * size // 4 + rng.integers(0, size // 2, total)) % size for size in shape]
    history = []
    for pair in pairs:
        counts = np.zeros([shape[axis] for axis in pair], dtype=np.int64)
        np.add.at(counts, tuple(records[axis] for axis in pair), 1)
        noise = np.rint(rng.laplace(0, 8, counts.size)).astype(np.int64)
        history.append(measured([marginal(pair, shape)], [counts.reshape(-1) + noise], 8 * 2**0.5))
    return history


def test_large_domains_are_factored_and_small_ones_listed():
    assert isinstance(RULE.start(problem(LARGE)), FactoredDistribution)
    assert isinstance(RULE.start(problem(SHAPE)), DenseDistribution)
    assert isinstance(PLAIN.start(problem(LARGE)), DenseDistribution)
    assert isinstance(RULE.start(problem((10,) * 100)), FactoredDistribution)


@in_one_test("pairs", [PAIRS[:3], ((0, 1), (1, 2), (2, 3)), ((0, 1), (2, 3), (1, 3)), ((0, 1), (1, 2), (2, 3), (0, 3))])
def test_a_tree_and_one_clique_of_all_come_to_the_same_fit(pairs, monkeypatch):
    """Same objective, same lambda, two trees: marginals on and across the cliques agree."""
    shape = (8, 9, 10, 12)
    history = noisy_pairs(1, shape, pairs)
    rule = MultiplicativeWeights(fit=MaximumEntropyFit(tolerance=1e-4, steps=4000))
    facts = problem(shape)
    monkeypatch.setattr(multiplicative_weights, "MOST_LISTED", 0)
    whole = rule.update(facts, rule.start(facts), history)
    monkeypatch.setattr(junction_tree, "SMALL", 0)
    junction_tree._cheapest.cache_clear()
    tree = rule.update(facts, rule.start(facts), history)
    junction_tree._cheapest.cache_clear()
    assert len(tree.tree.cliques) > len(whole.tree.cliques)
    for axes in (*PAIRS, (3, 0, 1)):
        assert np.abs(tree.marginal(axes) - whole.marginal(axes)).max() < 0.05
    assert tree.total == whole.total


@in_one_test(
    ("shape", "pairs"), [(LARGE, ((0, 1), (1, 2), (2, 3))), ((8, 9, 10, 12), ((0, 1), (1, 2), (0, 2), (0, 1)))]
)
def test_rounds_end_where_one_fit_of_everything_does(shape, pairs):
    facts = problem(shape)
    history = noisy_pairs(2, shape, pairs)
    state = RULE.start(facts)
    for end in range(1, len(history) + 1):
        state = RULE.update(facts, state, history[:end])
    whole = RULE.update(facts, RULE.start(facts), history)
    for pair in PAIRS:
        assert np.abs(state.marginal(pair) - whole.marginal(pair)).sum() < 0.01 * 20_000


def test_what_the_model_has_no_room_for_is_refined_by_itself():
    facts = problem(LARGE, [marginal(pair, LARGE) for pair in PAIRS])
    small = MultiplicativeWeights(model_size=8 * 14_000)
    chain, closing = [marginal(pair, LARGE) for pair in ((0, 1), (1, 2))], [marginal((0, 2), LARGE)]
    assert small.fits(facts, chain[:1], chain[1:])
    assert not small.fits(facts, chain, closing)
    assert RULE.fits(facts, chain, closing)
    assert MultiplicativeWeights(replay=False).fits(facts, chain, closing)
    history = noisy_pairs(3, LARGE, ((0, 1), (1, 2), (0, 2)))
    found = small.update(facts, small.start(facts), history)
    cliques = {clique.axes for clique in found.model.tree.cliques}
    assert (3,) in cliques
    left = {seen.axes for seen in found.tables.left}
    assert cliques | left == {(0, 1), (1, 2), (0, 2), (3,)}
    assert len(left) == 1
    assert found.tables.inside == cliques - {(3,)}


def test_one_table_of_all_columns_is_the_model_however_large_it_is():
    """Rows are drawn from it: of a model of single columns they would be independent."""
    shape, axes = (40, 60, 70), (2, 0, 1)
    facts = problem(shape, [marginal(pair, shape) for pair in ((0, 1), (1, 2))])
    assert not RULE.fits(facts, [], [marginal(axes, shape)])
    copies = np.zeros(shape, dtype=np.int64)
    copies[(np.arange(40),) * 3] = 100
    table = measured([marginal(axes, shape)], [copies.transpose(axes).reshape(-1)], 0.01)
    found = RULE.update(facts, RULE.start(facts), [table])
    assert np.abs(found.marginal((0, 1, 2)) - copies).max() < 0.1
    assert found.marginal((1, 0)).sum() == pytest.approx(found.total) == pytest.approx(copies.sum())
    rows = found.rows(400, seed=1)
    assert (rows[:, 0] == rows[:, 1]).mean() > 0.99
    beside = [table, measured([marginal((0,), shape)], [copies.sum(axis=(1, 2))], 0.01)]
    assert np.abs(RULE.update(facts, found, beside).marginal((0, 1)) - copies.sum(axis=2)).max() < 0.1


def test_the_widest_block_of_the_workload_always_fits():
    facts = problem(LARGE, [marginal((1, 2, 3), LARGE)])
    tiny = MultiplicativeWeights(model_size=1)
    assert tiny.fits(facts, [], [marginal((1, 2, 3), LARGE)])


@pytest.mark.slow
def test_many_attributes_and_more_pairs_than_any_tree_holds():
    shape = (10,) * 60
    pairs = [(a, b) for a in range(0, 60, 4) for b in range(a + 1, 60, 5)][:90]
    facts = problem(shape, [marginal(pair, shape) for pair in pairs])
    rule = MultiplicativeWeights(model_size=2**18, fit=MaximumEntropyFit(tolerance=1.0, steps=30))
    state = rule.update(facts, rule.start(facts), noisy_pairs(4, shape, pairs, total=2000))
    assert 8 * state.model.tree.cells <= 2**18
    assert sum(clique.parent is not None for clique in state.model.tree.cliques) > 30
    assert state.marginal((0, 59)).sum() == pytest.approx(state.total)


WIDE = problem((3, 3, 3), [marginal((0, 1), (3, 3, 3))])


@in_one_test(
    ("action", "says"),
    [
        (lambda: PLAIN.update(problem(LARGE), RULE.start(problem(LARGE)), ()), "cell by cell"),
        (lambda: MultiplicativeWeights(replay=False, cells=5).start(problem(SHAPE)), "6 cells.*at most 5.*merge bins"),
        (lambda: MultiplicativeWeights(cells=8).start(WIDE), "9 cells together, .* keeps at most 8 cell by cell"),
    ],
)
def test_what_cannot_run_is_refused_with_the_remedy(action, says):
    with pytest.raises(InfeasiblePlan, match=says):
        action()
    assert PLAIN.footprint(problem(SHAPE)).refusal is None is MultiplicativeWeights(cells=9).footprint(WIDE).refusal
    assert PLAIN.footprint(problem((2**12, 2**12, 2**12))).refusal is not None


def test_the_footprint_covers_a_fit():
    shape = (30, 40, 50)
    blocks = [marginal(axes, shape) for axes in ((0, 1), (1, 2), (0, 2))]
    facts = problem(shape, blocks)
    history = [measured(blocks, [np.arange(block.rows) % 7 for block in blocks], 5.0)]
    tracemalloc.start()
    RULE.update(facts, RULE.start(facts), history)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < RULE.footprint(facts).bytes < 4 * peak


# One normalised query, and exact mistake bounds.

QUERY_SHAPE = (2, 3, 2)


def test_reads_the_newest_answer_as_a_fraction():
    block = dense([0, 1, 2, 3, 4, 4], QUERY_SHAPE, (1, 2), scale=Fraction(1, 4))
    history = [measured([marginal((0,), QUERY_SHAPE)], [[1, 2]]), measured([block], [[30]])]
    query = SingleQuery.newest(problem(QUERY_SHAPE, n=100), history)
    assert query.value == pytest.approx(0.075)
    assert np.allclose(query.coefficients + np.zeros(QUERY_SHAPE), np.array([[0, 1], [2, 3], [4, 4]]) / 4)
    tensor = np.arange(4).reshape(2, 2)
    assert np.array_equal(on_domain(tensor, (2, 0), 3), tensor.T[:, None, :])
    assert on_domain(np.array(5), (), 3).shape == (1, 1, 1)


def test_it_takes_one_query_only_and_a_public_number_of_records():
    with pytest.raises(InfeasiblePlan, match="one query a round"):
        SingleQuery.newest(problem(QUERY_SHAPE, n=5), [measured([marginal((0,), QUERY_SHAPE)], [[1, 2]])])
    with pytest.raises(InfeasiblePlan, match="--n"):
        SingleQuery.newest(problem(QUERY_SHAPE), [measured([dense([1, 0], QUERY_SHAPE, (0,))], [[1]])])


@in_one_test("size", [2, 3, 8, 64, 13440, 10**30])
@pytest.mark.parametrize("factor", [Fraction(1, 7), Fraction(4), Fraction(4 * 40**2), Fraction(10**25, 3)])
def test_agrees_with_many_digits(size, factor):
    with mpmath.workdps(120):
        assert floor_of_log(size, factor) == int(mpmath.floor(mpmath.log(size) * factor.numerator / factor.denominator))


def test_a_product_within_rounding_of_an_integer_is_decided():
    """factor = 5/log(2) to 45 digits, rounded down and up: a double, and 40 digits, cannot tell them apart."""
    with mpmath.workdps(80):
        whole = int(mpmath.floor(5 / mpmath.log(2) * mpmath.mpf(10) ** 45))
    assert floor_of_log(2, Fraction(whole, 10**45)) == 4
    assert floor_of_log(2, Fraction(whole + 1, 10**45)) == 5
    assert floor_of_log(1, Fraction(10**9)) == 0


# Dense members: what a third party's rule may take as its own methods.

BLOCK = QueryBlock(name="a", factors=(Factor.identity(1, 3),))
UPWARD = QueryBlock(name="up", factors=(Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),))


class Rule:
    """Methods as the guide's rule takes them."""

    start, footprint, mistakes, fits = uniform_start, dense_footprint, no_bound, any_block


def test_they_are_methods():
    rule = Rule()
    for n, total in ((None, 0.0), (12, 12.0)):
        first = rule.start(problem((2, 3), n=n))
        assert first.total == total
        assert np.array_equal(first.probabilities, np.full((2, 3), 1 / 6))
    assert rule.mistakes(problem((2, 3)), Level(value=Fraction(1, 10))) is None
    assert rule.fits(problem((2, 3)), (), (BLOCK,)) is True
    assert rule.footprint(problem((2, 3))) == Footprint(bytes=4 * 8 * 6)
    assert rule.footprint(problem((DENSE_LIMIT,))).refusal is None
    says = f"the domain has {2 * DENSE_LIMIT} cells, and this update rule keeps at most {DENSE_LIMIT}"
    assert rule.footprint(problem((DENSE_LIMIT, 2))).refusal.startswith(says)


@in_one_test(("block", "weights"), [(BLOCK, [1, 2, 4]), (UPWARD, [8, 8, 4])])
def test_a_step_multiplies_each_cell_by_the_exponential_of_its_queries(block, weights):
    start = DenseDistribution.uniform((2, 3), 30.0)
    found = exponential_step(start, block, np.log(2.0) * np.arange(3))
    shares = np.array(weights) / (2 * sum(weights))
    assert np.allclose(found.probabilities, [shares, shares], rtol=1e-13, atol=0)
    assert found.total == 30.0
    assert not found.probabilities.flags.writeable


def test_a_cell_that_is_as_good_as_empty_comes_back():
    start = DenseDistribution.uniform((1, 3), 9.0)
    gone = exponential_step(start, BLOCK, np.array([0.0, -5_000.0, 0.0]))
    assert gone.probabilities[0, 1] == 0.0
    back = exponential_step(gone, BLOCK, np.array([0.0, 5_000.0, 0.0]))
    assert np.allclose(back.probabilities, 1 / 3, rtol=1e-12, atol=0)
