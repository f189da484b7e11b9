import math
from itertools import combinations

import pytest

from dpqr.errors import DocumentError
from dpqr.workload.matrix import Identity


def test_a_marginal_keeps_the_order_of_its_columns(ask) -> None:
    document = ask({"marginal": ["sex", "age"]})
    (block,) = document.workload.blocks
    assert block.name == "marginal(sex,age)"
    assert document.domain.names == ("age", "sex")
    assert block.axes == (1, 0)
    assert all(isinstance(factor.matrix, Identity) for factor in block.factors)
    assert block.rows == 4 * 11


def test_no_columns_ask_for_the_total(ask, database) -> None:
    document = ask({"marginal": []}, {"marginal": ["sex"]})
    total = document.workload.blocks[0]
    assert total.name == "total"
    data = database(document.domain)
    assert total.answer(data.histogram).tolist() == [data.total(lambda cell: 1)]


def test_all_marginals_of_some_columns(ask) -> None:
    document = ask({"marginals": {"ways": 2, "columns": ["sex", "age", "rich"]}})
    assert [block.name for block in document.workload.blocks] == [
        "marginal(sex,age)",
        "marginal(sex,rich)",
        "marginal(age,rich)",
    ]


@pytest.mark.parametrize("ways", [1, 3, 7])
def test_all_marginals_of_all_columns(ways: int, ask, survey) -> None:
    document = ask({"marginals": {"ways": ways}})
    assert len(document.workload.blocks) == math.comb(7, ways)
    assert {block.axes for block in document.workload.blocks} == set(combinations(range(7), ways))


def test_listed_marginals(ask) -> None:
    document = ask({"marginals": [["sex"], ["age", "sex"], []], "name": "ours", "weight": 2})
    assert [block.name for block in document.workload.blocks] == [
        "ours marginal(sex)",
        "ours marginal(age,sex)",
        "ours total",
    ]
    assert {block.weight for block in document.workload.blocks} == {2}


def test_too_many_marginals_are_refused_before_they_are_made(ask) -> None:
    sizes = {f"c{index}": 2 for index in range(60)}
    with pytest.raises(DocumentError, match=r"\$\.queries\[0\]\.marginals\.ways: makes 118264581564861424 marginals"):
        ask({"marginals": {"ways": 30}}, domain=sizes)
