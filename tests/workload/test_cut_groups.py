"""One level by hand; whole trees are in test_tree."""

import numpy as np
import pytest

from dpqr.workload.cut_groups import CutGroups


@pytest.mark.parametrize(
    ("start", "stop", "whole", "cut"),
    [(0, 4, 2, 0), (0, 5, 3, 0), (1, 4, 1, 1), (1, 3, 0, 2), (0, 1, 0, 1), (2, 3, 0, 1), (3, 5, 1, 1), (2, 2, 0, 0)],
)
def test_pairs_over_five_cells(start: int, stop: int, whole: int, cut: int) -> None:
    """Cells of weight 1 under pairs of weight 1, the last pair a lone cell: T = 1 + 1 1^T on a pair, so a whole pair
    has the form 2 - 4/3 and one of its cells 1 - 1/3; the lone cell 1 - 1/2."""
    after, before = np.ones(5), np.array([2.0, 2.0, 1.0])
    ends = CutGroups(np.array([start]), np.array([stop]), 5)
    ends.widen(after, 1, 2, before, 1.0)
    pairs = np.array([2 / 3, 2 / 3, 1 / 2])
    reached = range(-(-start // 2), -(-start // 2) + whole)
    assert ends.total(pairs, 2)[0] == pytest.approx(sum(pairs[group] for group in reached) + cut * 2 / 3)
