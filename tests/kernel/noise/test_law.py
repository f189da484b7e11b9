from math import log

import pytest

from dpqr.kernel.noise.law import chernoff


@pytest.mark.parametrize(("draws", "beta"), [(1, 0.05), (10, 1e-9), (10**9, 1e-3)])
def test_finds_the_best_point_of_a_normal_sum(draws, beta):
    """log E exp(t X) = t^2 / 2 has the bound sqrt(2 draws log(1 / beta)) at its best t."""
    best = (2 * draws * log(1 / beta)) ** 0.5
    found = chernoff(lambda point: point * point / 2, 100.0, draws, beta)
    assert best <= found <= best * (1 + 1e-5)


def test_finds_the_best_point_of_an_exponential_sum():
    """E exp(t X) = 1 / (1 - t): for one draw the bound is 1 + log(1 / beta) + log(b) at its fixed point."""
    found = chernoff(lambda point: -log(1 - point), 1.0, 1, 1e-6)
    grid = min((-log(1 - t / 10**4) - log(1e-6)) / (t / 10**4) for t in range(1, 10**4))
    assert found == pytest.approx(grid, rel=1e-5)


def test_the_margin_for_the_arithmetic_is_added_to_the_best_bound():
    best = (2 * 10 * log(1e9)) ** 0.5
    assert chernoff(lambda point: point * point / 2, 100.0, 10, 1e-9) >= best * (1 + 2.0**-20) * (1 - 2.0**-40)
