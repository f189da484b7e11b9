import numpy as np
import pytest
from support.small_universes import dense

from dpqr.hypotheses.polytope import PolytopeSample


@pytest.fixture
def simplex():
    return PolytopeSample.simplex((3,), 9.0, count=4000, steps=40, seed=2)


def test_the_simplex_is_uniform(simplex):
    """A cell's share of a uniform distribution on three cells has mean 1/3, and exceeds 1/2 with probability 1/4."""
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


def test_answers_are_medians_in_records(simplex):
    block = dense([[1, 0, 0], [1, 1, 1]], (3,))
    assert simplex.answer(block)[0] == pytest.approx(9 * np.median(simplex.points[:, 0]))
    assert simplex.answer(block)[1] == pytest.approx(9)


def test_a_cut_repeats_and_leaves_its_origin_alone(simplex):
    before = simplex.points.copy()
    first, second = (simplex.cut(np.array([[0.0, 1.0, 0.0]]), np.array([0.3])) for _ in range(2))
    assert np.array_equal(first.points, second.points)
    assert np.array_equal(simplex.points, before)
