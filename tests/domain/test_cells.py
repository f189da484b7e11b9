import pytest

from dpqr.domain.attribute import Attribute, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.predicate_cells import true_cells
from dpqr.domain.predicates import ColumnComparison, parse
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json", "$.queries[0].where")


def cells(text: str, domain: Domain) -> list[int]:
    node = parse(text, PLACE)
    assert isinstance(node, ColumnComparison)
    mask = true_cells(node, domain.attributes[domain.axis(node.column)], PLACE)
    return [index for index, held in enumerate(mask) if held]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
