"""Overlaps of intervals with groups, against the matrix written out."""

import numpy as np
import pytest

from dpqr.workload.ranges import Overlaps

RNG = np.random.default_rng(5)
ENDS = np.sort(RNG.integers(0, 40, (200, 2)), axis=1)
STARTS, STOPS = ENDS[:, 0], ENDS[:, 1]
WEIGHTS = RNG.integers(1, 5, 200).astype(float)
EDGES = {
    "single cells": np.arange(41),
    "one group": np.array([0, 40]),
    "groups": np.array([0, 1, 7, 8, 20, 40]),
    "not all cells": np.array([5, 9, 30]),
}
every_edges = pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES.keys())


def written(edges):
    overlap = np.minimum(STOPS[:, None], edges[1:]) - np.maximum(STARTS[:, None], edges[:-1])
    return np.maximum(overlap, 0).astype(float)


@every_edges
def test_products_are_those_of_the_matrix(edges):
    """All are integers below 2^53, so there is no rounding."""
    overlaps, table = Overlaps.of(STARTS, STOPS, edges), written(edges)
    steps = RNG.integers(-3, 4, (len(edges) - 1, 3)).astype(float)
    np.testing.assert_array_equal(overlaps.dot(steps), table @ steps)
    np.testing.assert_array_equal(overlaps.sums(WEIGHTS), WEIGHTS @ table)
    np.testing.assert_array_equal(overlaps.gram(WEIGHTS), table.T @ (WEIGHTS[:, None] * table))


def test_no_interval_shares_nothing():
    overlaps = Overlaps.of(np.zeros(0, int), np.zeros(0, int), np.array([0, 3, 4]))
    assert overlaps.dot(np.ones((2, 1))).shape == (0, 1)
    assert not overlaps.gram(np.zeros(0)).any()


def test_memory_grows_with_rows_plus_groups():
    edges = np.arange(0, 10**6 + 1, 10)
    overlaps = Overlaps.of(np.arange(1000), np.arange(1000) + 500_000, edges)
    assert (overlaps.dot(np.ones((len(edges) - 1, 1))) == 500_000).all()
