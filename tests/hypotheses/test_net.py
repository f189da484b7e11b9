from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.hypotheses.net import Net, coefficients_on, every_database, rounding_size
from dpqr.workload.block import QueryBlock


@pytest.mark.parametrize(("size", "cells"), [(1, 1), (3, 1), (1, 4), (4, 3), (5, 5)])
def test_every_database_is_listed_once(size, cells):
    members = every_database(size, cells)
    assert members.shape == (cells, comb(size + cells - 1, size))
    assert {tuple(column) for column in members.T.tolist()} == {
        counts for counts in product(range(size + 1), repeat=cells) if sum(counts) == size
    }


def test_sizes_of_the_issue_s_toys():
    """|X| = 8: level 0.1 (alpha 0.2) has 1,184,040 members; level 0.15 (alpha 0.3) has 116,280."""
    assert comb(rounding_size(8, Fraction(1, 10)) + 7, 7) == 1_184_040
    assert comb(rounding_size(8, Fraction(3, 20)) + 7, 7) == 116_280


@pytest.mark.parametrize(("cells", "level"), [(2, Fraction(1, 5)), (3, Fraction(1, 6)), (4, Fraction(1, 4))])
def test_rounding_size_is_enough(cells, level):
    """Every distribution of a fine grid has a member within the level for all queries (half the L1 distance)."""
    size = rounding_size(cells, level)
    members = every_database(size, cells).T.astype(np.int64)
    fine = every_database(12, cells).T.astype(np.int64)
    distance = np.abs(12 * members[None] - size * fine[:, None]).sum(axis=2).min(axis=1)
    assert distance.max() < 2 * level * 12 * size


@pytest.mark.parametrize("size", [2, 3, 5])
def test_one_record_less_is_too_few_for_an_even_universe(size):
    """The distribution whose remainders are all one half is |X|/(4m) away from every database of m records."""
    level = Fraction(4, 4 * size)
    assert rounding_size(4, level) == size + 1
    halves = np.array([1 + 2 * size - 4, 1, 1, 1])  # in units of 1 / (2 m)
    members = every_database(size, 4).T.astype(np.int64)
    assert np.abs(2 * members - halves).sum(axis=1).min() == 2 * level * 2 * size


def test_the_answer_is_the_lower_median_scaled():
    net = Net(members=every_database(3, 2), size=3, total=30.0, shape=(2,))
    assert net.answer(dense([[1, 0], [0, 2], [-1, 0]], (2,))).tolist() == [10, 20, -20]


def test_at_least_half_are_on_either_side_of_the_median():
    net = Net(members=every_database(4, 4), size=4, total=4.0, shape=(2, 2))
    for kept in (net, net.only(np.arange(35) % 3 > 0), net.only(np.arange(35) == 7)):
        for block in (marginal((1, 0), (2, 2)), dense([[3, -1, 2, 0]], (2, 2))):
            for row, median in zip(coefficients_on(block, (2, 2)), kept.medians(block), strict=True):
                answers = kept.member_answers(row)
                assert answers.tolist() == (row @ kept.members.astype(np.int64)).tolist()
                assert 2 * (answers >= median).sum() >= answers.size <= 2 * (answers <= median).sum()


def test_large_coefficients_do_not_overflow():
    net = Net(members=every_database(100, 2), size=100, total=100.0, shape=(2,))
    row = np.array([10**6, -(10**6)])
    assert net.member_answers(row).max() == 10**8


def test_coefficients_follow_the_order_of_the_domain():
    block = marginal((2, 0), (2, 3, 2))
    tensor = np.arange(12).reshape(2, 3, 2)
    assert (coefficients_on(block, (2, 3, 2)) @ tensor.reshape(-1)).tolist() == tensor.sum(axis=1).T.reshape(
        -1
    ).tolist()
    assert coefficients_on(QueryBlock(name="total"), (2, 2)).tolist() == [[1, 1, 1, 1]]
