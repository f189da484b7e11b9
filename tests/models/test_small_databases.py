from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.models.small_databases import Net, PolytopeSample, coefficients_on, every_database, rounding_size
from dpqr.workload.block import QueryBlock


@in_one_test(("size", "cells"), [(1, 1), (3, 1), (1, 4), (4, 3), (5, 5)])
def test_every_database_is_listed_once(size, cells):
    members = every_database(size, cells)
    assert members.shape == (cells, comb(size + cells - 1, size))
    assert {tuple(column) for column in members.T.tolist()} == {
        counts for counts in product(range(size + 1), repeat=cells) if sum(counts) == size
    }


@in_one_test(("cells", "level"), [(2, Fraction(1, 5)), (3, Fraction(1, 6)), (4, Fraction(1, 4))])
def test_rounding_size_is_enough(cells, level):
    """Every distribution of a fine grid has a member within the level for all queries (half the L1 distance)."""
    size = rounding_size(cells, level)
    members = every_database(size, cells).T.astype(np.int64)
    fine = every_database(12, cells).T.astype(np.int64)
    distance = np.abs(12 * members[None] - size * fine[:, None]).sum(axis=2).min(axis=1)
    assert distance.max() < 2 * level * 12 * size


@in_one_test("size", [2, 3, 5])
def test_one_record_less_is_too_few_for_an_even_universe(size):
    """The distribution whose remainders are all one half is |X|/(4m) away from every database of m records."""
    level = Fraction(4, 4 * size)
    assert rounding_size(4, level) == size + 1
    halves = np.array([1 + 2 * size - 4, 1, 1, 1])  # in units of 1 / (2 m)
    members = every_database(size, 4).T.astype(np.int64)
    assert np.abs(2 * members - halves).sum(axis=1).min() == 2 * level * 2 * size


def test_at_least_half_are_on_either_side_of_the_median():
    net = Net(members=every_database(4, 4), size=4, total=4.0, shape=(2, 2))
    for kept in (net, net.only(np.arange(35) % 3 > 0), net.only(np.arange(35) == 7)):
        for block in (marginal((1, 0), (2, 2)), dense([[3, -1, 2, 0]], (2, 2))):
            for row, median in zip(coefficients_on(block, (2, 2)), kept.medians(block), strict=True):
                answers = kept.member_answers(row)
                assert answers.tolist() == (row @ kept.members.astype(np.int64)).tolist()
                assert 2 * (answers >= median).sum() >= answers.size <= 2 * (answers <= median).sum()
    small = Net(members=every_database(3, 2), size=3, total=30.0, shape=(2,))
    assert small.answer(dense([[1, 0], [0, 2], [-1, 0]], (2,))).tolist() == [10, 20, -20], "the lower median, scaled"
    large = Net(members=every_database(100, 2), size=100, total=100.0, shape=(2,))
    assert large.member_answers(np.array([10**6, -(10**6)])).max() == 10**8


def test_coefficients_follow_the_order_of_the_domain():
    block = marginal((2, 0), (2, 3, 2))
    tensor = np.arange(12).reshape(2, 3, 2)
    expected = tensor.sum(axis=1).T.reshape(-1)
    assert (coefficients_on(block, (2, 3, 2)) @ tensor.reshape(-1)).tolist() == expected.tolist()
    assert coefficients_on(QueryBlock(name="total"), (2, 2)).tolist() == [[1, 1, 1, 1]]


@pytest.fixture
def simplex():
    return PolytopeSample.simplex((3,), 9.0, count=4000, steps=40, seed=2)


def test_the_simplex_is_uniform_and_answers_are_medians_in_records(simplex):
    """A cell's share of a uniform distribution on three cells has mean 1/3, and exceeds 1/2 with probability 1/4."""
    answers = simplex.answer(dense([[1, 0, 0], [1, 1, 1]], (3,)))
    assert answers == pytest.approx([9 * np.median(simplex.points[:, 0]), 9])
    assert np.allclose(simplex.points.sum(axis=1), 1)
    assert np.abs(simplex.points.mean(axis=0) - 1 / 3).max() < 6 * (1 / 18 / 4000) ** 0.5
    assert np.abs((simplex.points > 0.5).mean(axis=0) - 0.25).max() < 6 * (3 / 16 / 4000) ** 0.5


def test_the_walk_is_uniform_on_what_a_cut_leaves(simplex):
    """p0 <= 1/2 leaves three quarters: of them one third has p1 > 1/2, and the mean of p0 is 2/9."""
    cut = simplex.cut(np.array([[1.0, 0.0, 0.0]]), np.array([0.5]))
    assert cut.points[:, 0].max() <= 0.5 + 1e-12
    assert abs((cut.points[:, 1] > 0.5).mean() - 1 / 3) < 6 * (2 / 9 / 4000) ** 0.5
    assert abs(cut.points[:, 0].mean() - 2 / 9) < 6 * 0.15 / 4000**0.5


def test_the_walk_forgets_where_it_began():
    """A slice that no point lies in yet: the linear program finds one point, the walk fills the slice from it."""
    sample = PolytopeSample.simplex((3,), 1.0, count=30, steps=100, seed=1)
    slab = sample.cut(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), np.array([0.95, -0.9]))
    share = slab.points[:, 1] / (1 - slab.points[:, 0])
    assert (sample.points[:, 0] < 0.9).all()
    assert slab.points[:, 0].min() >= 0.9 - 1e-12
    assert abs(share.mean() - 0.5) < 6 * (1 / 12 / 30) ** 0.5
    assert share.std() > 0.15


def test_an_empty_polytope_is_none(simplex):
    assert simplex.cut(np.array([[1.0, 1.0, 1.0]]), np.array([0.9])) is None
    half = simplex.cut(np.array([[1.0, 0.0, 0.0]]), np.array([0.4]))
    assert half.cut(np.array([[-1.0, 0.0, 0.0]]), np.array([-0.5])) is None


def test_a_cut_repeats_and_leaves_its_origin_alone(simplex):
    before = simplex.points.copy()
    first, second = (simplex.cut(np.array([[0.0, 1.0, 0.0]]), np.array([0.3])) for _ in range(2))
    assert np.array_equal(first.points, second.points)
    assert np.array_equal(simplex.points, before)
