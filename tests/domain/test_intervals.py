"""Thresholds are decided against sampled values of every bin, on all small bins."""

import re
from fractions import Fraction
from itertools import pairwise, product

import pytest

from dpqr.domain.attribute import Bins
from dpqr.domain.columns import whole_bins
from dpqr.domain.predicate_cells import edges_around, remedy, side, single

HALVES = [Fraction(k, 2) for k in range(-3, 16)]


def samples(bins: Bins) -> list[list[Fraction]]:
    """Values of each bin: all whole ones, or the edges that belong and a fine grid between."""
    held: list[list[Fraction]] = []
    for index, (low, high) in enumerate(pairwise(bins.edges)):
        grid = [low + (high - low) * Fraction(k, 12) for k in range(13)]
        if bins.integral:
            grid = [Fraction(value) for value in range(int(low) - 2, int(high) + 3) if low <= value <= high]
        owns_low = bins.closed == "left" or index == 0
        owns_high = bins.closed == "right" or index == bins.size - 1
        held.append([v for v in grid if (v > low or owns_low) and (v < high or owns_high)])
    return held


ALL = [
    Bins(tuple(map(Fraction, edges)), closed=closed, integral=integral)  # type: ignore[arg-type]
    for edges in ([0, 6], [0, 3, 6], [0, 1, 2, 6], [1, 5, 6])
    for closed, integral in product(("left", "right"), (False, True))
] + [whole_bins(range(7)), whole_bins([0, 2, 3, 6])]


@pytest.mark.parametrize("bins", ALL)
@pytest.mark.parametrize("strict", [True, False])
def test_a_threshold_is_decided_as_the_values_of_the_bins_say(bins: Bins, strict: bool) -> None:
    held = samples(bins)
    for threshold in HALVES:
        below = [[value < threshold if strict else value <= threshold for value in values] for values in held]
        wholly = sum(all(answers) for answers in below)
        mixed = [index for index, answers in enumerate(below) if any(answers) and not all(answers)]
        found = side(bins, threshold, strict=strict)
        assert found.below == wholly
        assert found.cut == bool(mixed), (threshold, bins)
        assert not mixed or mixed == [found.below]


@pytest.mark.parametrize("bins", ALL)
def test_the_remedy_names_thresholds_that_cut_nothing(bins: Bins) -> None:
    for strict, cell in product((True, False), range(bins.size)):
        text = remedy(bins, cell, strict=strict)
        edges = edges_around(bins, cell, strict=strict)
        words = re.findall("< or >=|<= or >", text)
        assert all(edge in text for edge in edges)
        for edge, word in zip(edges, words if len(words) == 2 else 2 * words, strict=True):
            assert not side(bins, Fraction(edge), strict=word == "< or >=").cut


@pytest.mark.parametrize("bins", ALL)
def test_a_single_value_has_a_bin_of_its_own(bins: Bins) -> None:
    held = samples(bins)
    for value in HALVES:
        alone = [index for index, values in enumerate(held) if set(values) == {value}]
        assert single(bins, value) == (alone[0] if alone else None)
