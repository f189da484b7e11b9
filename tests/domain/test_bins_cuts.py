"""Which values each bin holds is found by trying values, not by repeating the formula."""

from fractions import Fraction
from typing import Any

import pytest

from dpqr.domain.attribute import Bins
from dpqr.domain.columns import code_bins, whole_bins
from dpqr.domain.domain_file import read_domain


def bins_of(kind: str, low: Any = None, high: Any = None, **cut: Any) -> Bins:
    constraints = {} if low is None else {"minimum": low, "maximum": high}
    domain = read_domain({"fields": [{"name": "a", "type": kind, "constraints": constraints, "dpqr": cut}]})
    axis = domain.attributes[0].axis
    assert isinstance(axis, Bins)
    return axis


def members(bins: Bins, values: range) -> list[list[int]]:
    """Whole values of each bin, by the meaning of edges and closed sides alone."""
    held: list[list[int]] = [[] for _ in range(bins.size)]
    for value in values:
        for index, (low, high) in enumerate(zip(bins.edges[:-1], bins.edges[1:], strict=True)):
            above = value > low or (value == low and (bins.closed == "left" or index == 0))
            below = value < high or (value == high and (bins.closed == "right" or index == bins.size - 1))
            if above and below:
                held[index].append(value)
    return held


def test_whole_numbers_without_bins_have_one_bin_a_value() -> None:
    bins = bins_of("integer", -2, 3)
    assert members(bins, range(-9, 9)) == [[-2], [-1], [0], [1], [2], [3]]
    assert bins.titles() == ("-2", "-1", "0", "1", "2", "3")


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(("high", "width"), [(9, 2), (9, 5), (10, 4), (7, 8), (3, 100), (5, 1)])
def test_a_width_counts_whole_values_and_the_last_bin_has_the_rest(high: int, width: int, closed: str) -> None:
    held = members(bins_of("integer", 0, high, width=width, closed=closed), range(-3, 200))
    assert [value for part in held for value in part] == [*range(high + 1)]
    assert all(len(part) == width for part in held[:-1])
    assert 1 <= len(held[-1]) <= width


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 11])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_count_of_bins_cuts_whole_values_evenly(count: int, closed: str) -> None:
    held = members(bins_of("integer", 0, 10, bins=count, closed=closed), range(-3, 20))
    assert [value for part in held for value in part] == [*range(11)]
    assert {len(part) for part in held} <= {11 // count, -(-11 // count)}


def test_bins_of_ten_hold_the_tens() -> None:
    assert bins_of("integer", 0, 99, bins=10).titles()[:2] == ("[0, 10)", "[10, 20)")
    assert bins_of("integer", 0, 99, width=10).titles()[-1] == "[90, 99]"
    assert bins_of("integer", 0, 100, bins=10, closed="right").titles()[0] == "[0, 11)"


def test_numbers_are_cut_in_exact_fractions() -> None:
    assert bins_of("number", 0, 1, bins=3).edges == (0, Fraction(1, 3), Fraction(2, 3), 1)
    assert bins_of("number", 0, 1, width=0.1).edges == tuple(Fraction(k, 10) for k in range(11))
    assert bins_of("number", 0, 1, width=0.4).edges == (0, Fraction(2, 5), Fraction(4, 5), 1)
    assert bins_of("number", -1, 1, width=5, closed="right") == Bins((Fraction(-1), Fraction(1)), closed="right")


def test_edges_are_taken_as_they_are() -> None:
    bins = bins_of("integer", edges=[0, 18, 65, 120])
    assert bins.integral
    assert bins.titles() == ("[0, 18)", "[18, 65)", "[65, 120]")
    assert bins_of("number", 0, 2, edges=[0, 1, 2]).edges == (0, 1, 2)


def test_whole_bins_hold_runs_of_whole_values() -> None:
    assert members(whole_bins([0, 3, 4, 9]), range(-2, 12)) == [[0, 1, 2], [3], [4, 5, 6, 7, 8]]
    assert whole_bins([0, 3, 4, 9]).titles() == ("[0, 3)", "3", "[4, 8]")
    assert code_bins(3).titles() == ("0", "1", "2")
