"""Nodes of a counter: what they hold, and which of them add up."""

import pytest

from dpqr.domain.periods import MOST_PERIODS, PeriodTree
from dpqr.kernel.errors import UsageFault

TREES = [PeriodTree(periods=periods, base=base) for periods in (1, 2, 7, 24, 64) for base in (2, 3, 5, 65)]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_paths_hold_every_period_once(tree):
    for period in range(1, tree.periods + 1):
        held = [one for node in tree.path(period) for one in tree.span(node)]
        assert held == list(range(1, period + 1))


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_period_lies_in_one_node_a_level(tree):
    """Levels are told apart by their widths; the bound is attained."""
    spans = [tree.span(node) for node in range(1, tree.periods + 1)]
    held = [[len(span) for span in spans if period in span] for period in range(1, tree.periods + 1)]
    assert all(len(set(widths)) == len(widths) for widths in held)
    assert max(map(len, held)) == tree.levels


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_path_without_its_last_node_is_the_path_of_an_earlier_period(tree):
    for period in range(1, tree.periods + 1):
        before = period - len(tree.span(period))
        assert tree.path(period)[:-1] == (tree.path(before) if before else ())


def test_the_binary_tree_has_the_levels_of_the_literature():
    for periods in range(1, 70):
        tree = PeriodTree(periods=periods)
        assert tree.levels == periods.bit_length()
        assert max(len(tree.path(period)) for period in range(1, periods + 1)) <= tree.levels


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("periods", [1, 4, 24, 64])
def test_the_best_tree_is_no_worse_than_the_binary_one_and_the_plain_sum(periods, power):
    def square(tree):
        return tree.levels**power * sum(len(tree.path(period)) for period in range(1, periods + 1))

    others = (PeriodTree(periods=periods), PeriodTree(periods=periods, base=periods + 1))
    assert square(PeriodTree.best(periods, power)) <= min(map(square, others))


@pytest.mark.parametrize("given", [{"periods": 0}, {"periods": MOST_PERIODS + 1}, {"periods": 3, "base": 1}])
def test_refusals(given):
    with pytest.raises(UsageFault):
        PeriodTree(**given)


@pytest.mark.parametrize("period", [0, 4])
def test_other_periods_are_refused(period):
    with pytest.raises(UsageFault):
        PeriodTree(periods=3).path(period)
