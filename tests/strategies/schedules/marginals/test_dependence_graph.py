"""What measured pairs carry of their noise into others."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.strategies.schedules.marginals.errors import Gap
from dpqr.strategies.schedules.marginals.search import DependenceGraph
from dpqr.workload.block import Factor, QueryBlock


def gap(*axes: int, off: float, error: float = 0.1, cells: int = 10) -> Gap:
    """Of a block that was off by so much, measured without noise in the way."""
    block = QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, cells) for axis in axes))
    noise = 0.8 * error
    return Gap(block=block, moved=(off**2 + noise**2) ** 0.5, error=error, passed=1.0, chance=0.0)


STRONGEST = 1.8
"""The gap between two columns of ten even values that name each other."""


def test_without_a_path_nothing_is_carried() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=1.0), gap(2, 3, off=1.0)])
    assert graph.propagated_error((0, 2)) == 0.0
    assert graph.propagated_error((4, 5)) == 0.0
    assert DependenceGraph().propagated_error((0, 1)) == 0.0


def test_a_measured_pair_carries_its_own_error() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=0.3)])
    assert graph.propagated_error((0, 1)) == pytest.approx(0.1**2)
    assert graph.propagated_error((1, 0)) == graph.propagated_error((0, 1))


def test_columns_that_name_each_other_carry_all_of_both_errors() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=STRONGEST, error=0.1), gap(1, 2, off=STRONGEST, error=0.2)])
    assert graph.propagated_error((0, 2)) == pytest.approx(0.1**2 + 0.2**2)


def test_a_weak_link_carries_its_own_error_over_a_strong_one_and_hardly_any_of_the_other() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=STRONGEST, error=0.1), gap(1, 2, off=0.18, error=0.3)])
    assert graph.propagated_error((0, 2)) == pytest.approx((0.1 * 0.1) ** 2 + 0.3**2)


def test_the_strongest_path_counts() -> None:
    weak = [gap(0, 3, off=0.2, error=0.5), gap(3, 2, off=0.2, error=0.5)]
    strong = [gap(0, 1, off=STRONGEST), gap(1, 2, off=STRONGEST)]
    assert DependenceGraph().joined([*weak, *strong]).propagated_error((0, 2)) == pytest.approx(2 * 0.1**2)


def test_a_pair_that_was_not_off_at_all_carries_on_its_own_error_alone() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=STRONGEST, error=0.3), gap(1, 2, off=0.0, error=0.1)])
    assert graph.propagated_error((0, 2)) == pytest.approx(0.1**2, rel=0.01)


def test_wider_blocks_carry_what_their_pairs_carry_and_are_no_links() -> None:
    graph = DependenceGraph().joined([gap(0, 1, off=0.3), gap(1, 2, off=0.0), gap(3, 4, 5, off=1.0)])
    assert graph.propagated_error((0, 1, 2)) == pytest.approx((2 + (0.3 / 1.8) ** 2) * 0.1**2, rel=0.01)
    assert graph.propagated_error((3, 4)) == 0.0


def test_a_pair_measured_again_is_replaced_and_other_links_stay_as_they_were() -> None:
    first = DependenceGraph().joined([gap(0, 1, off=0.3)])
    second = first.joined([gap(1, 0, off=0.3, error=0.02)])
    assert second.propagated_error((0, 1)) == pytest.approx(0.02**2)
    assert first.propagated_error((0, 1)) == pytest.approx(0.1**2)


def test_noise_in_a_pair_shrinks_on_its_way_as_forecast() -> None:
    """Column c copies 70 % of b: even values, ten of each."""
    random, copied = np.random.default_rng(4), 0.7
    told = copied * np.eye(10) + (1 - copied) / 10
    noise = random.normal(0.0, 1.0, (10, 10))
    noise -= noise.mean(axis=1, keepdims=True)
    shrunk = np.abs(noise @ told).sum() / np.abs(noise).sum()
    off = float(np.abs(told / 10 - 1 / 100).sum())
    graph = DependenceGraph().joined([gap(0, 1, off=STRONGEST), gap(1, 2, off=off, error=0.0)])
    assert graph.propagated_error((0, 2)) ** 0.5 / 0.1 == pytest.approx(shrunk, rel=0.01)
