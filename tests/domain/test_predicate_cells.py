import re
from fractions import Fraction
from itertools import pairwise, product

import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule
from dpqr.domain.columns import whole_bins
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.predicate_cells import edges_around, remedy, side, single, true_cells
from dpqr.domain.predicates import ColumnComparison, parse
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json", "$.queries[0].where")


def cells(text: str, domain: Domain) -> list[int]:
    node = parse(text, PLACE)
    assert isinstance(node, ColumnComparison)
    mask = true_cells(node, domain.attributes[domain.axis(node.column)], PLACE)
    return [index for index, held in enumerate(mask) if held]


@in_one_test(
    ("text", "expected"),
    [
        ("age >= 7", [7, 8, 9]),
        ("age > 7", [8, 9]),
        ("age < 2", [0, 1]),
        ("age <= 2", [0, 1, 2]),
        ("age < 2.5", [0, 1, 2]),
        ("age = 4", [4]),
        ("age > 100", []),
        ("age < 1e3", [*range(10)]),
        ("hours < 20", [0]),
        ("hours <= 39", [0, 1]),
        ("hours >= 40", [2]),
        ("hours <= 60", [0, 1, 2]),
        ("income >= 1500", [1]),
        ("income <= 4000", [0, 1]),
        ("sex = 'M'", [1]),
        ("rich = true", [1]),
        ("day >= '2024-04-01'", [1, 2, 3]),
        ("day <= '2024-03-31'", [0]),
    ],
)
def test_decidable_comparisons(text: str, expected: list[int], survey: Domain) -> None:
    assert cells(text, survey) == expected


@in_one_test(
    ("text", "expected"),
    [
        (
            "hours < 30",
            "30 cuts through the bin [20, 40) of column 'hours'; with < or >= the nearest edges are 20 and 40",
        ),
        (
            "hours <= 40",
            "40 cuts through the bin [40, 60] of column 'hours'; with <= or > the nearest edges are 39 and 60",
        ),
        (
            "income <= 1500",
            "cuts through the bin [1500, 4000] of column 'income'; the nearest edges are 1500 (with < or >=) and 4000",
        ),
        ("income = 1500", "1500 shares the bin [1500, 4000] of column 'income' with other values"),
        ("age = 10", "no cell of column 'age' holds 10; its cells cover [0, 9]"),
        ("age = 2.5", "no cell of column 'age' holds 2.5"),
        ("day < '2024-04-02'", "the nearest edges are 2024-04-01 and 2024-07-01"),
        ("day = '2024-04-31'", "'2024-04-31' is on no calendar"),
        ("day > 3", "column 'day' holds a date; compare it with one in quotes"),
        ("age > '3'", "column 'age' holds numbers; compare it with a number, without quotes"),
        ("age = true", "column 'age' holds numbers"),
        ("sex = 'm'", "column 'sex' has no label 'm'"),
        ("`home region` = 'nroth'", "did you mean 'north'?"),
        ("sex < 'M'", "column 'sex' holds labels, which have no order; use =, != or in"),
        ("rich = 'yes'", "column 'rich' has no label 'yes'; known: 'false', 'true'"),
        ("age < 1e99999", "a number of more than 60 digits"),
    ],
)
def test_undecidable_comparisons_are_refused(text: str, expected: str, survey: Domain) -> None:
    with pytest.raises(DocumentError) as caught:
        cells(text, survey)
    assert expected in str(caught.value)
    assert str(caught.value).startswith("q.json: $.queries[0].where: ")


def test_labels_of_whole_numbers_are_compared_with_numbers_or_text() -> None:
    domain = read_domain({"fields": [{"name": "code", "type": "integer", "constraints": {"enum": [7, 3, -2]}}]})
    assert cells("code = 3", domain) == cells("code = '3'", domain) == [1]
    assert cells("code = -2", domain) == [2]


def test_codes_are_compared_like_numbers() -> None:
    domain = read_domain({"k": 5})
    assert cells("k >= 3", domain) == [3, 4]
    assert cells("k = 0", domain) == [0]


def test_ordered_categories_are_compared_by_their_order() -> None:
    levels = Labels(("low", "mid", "high"), ordered=True)
    domain = Domain((Attribute(name="level", axis=levels, rules={"null": Rule.CELL}),))
    found = {operator: cells(f"level {operator} 'mid'", domain) for operator in ("<", "<=", "=", ">=", ">")}
    assert found == {"<": [0], "<=": [0, 1], "=": [1], ">=": [1, 2], ">": [2]}
    with pytest.raises(DocumentError, match="no label 'hihg'; did you mean 'high'"):
        cells("level > 'hihg'", domain)


# Thresholds are decided against sampled values of every bin, on all small bins.

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


@in_one_test("bins", ALL)
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


@in_one_test("bins", ALL)
def test_the_remedy_names_thresholds_that_cut_nothing(bins: Bins) -> None:
    for strict, cell in product((True, False), range(bins.size)):
        text = remedy(bins, cell, strict=strict)
        edges = edges_around(bins, cell, strict=strict)
        words = re.findall("< or >=|<= or >", text)
        assert all(edge in text for edge in edges)
        for edge, word in zip(edges, words if len(words) == 2 else 2 * words, strict=True):
            assert not side(bins, Fraction(edge), strict=word == "< or >=").cut


@in_one_test("bins", ALL)
def test_a_single_value_has_a_bin_of_its_own(bins: Bins) -> None:
    held = samples(bins)
    for value in HALVES:
        alone = [index for index, values in enumerate(held) if set(values) == {value}]
        assert single(bins, value) == (alone[0] if alone else None)
