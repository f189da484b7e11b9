from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import QueriesDocument, read_queries

DOMAIN: dict[str, Any] = {
    "fields": [
        {"name": "region", "type": "string", "constraints": {"enum": ["N", "S", "W"]}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"null": "cell"}},
        {"name": "pay", "type": "number", "dpqr": {"edges": [0, 10, 30, 100], "null": "cell"}},
    ]
}
MIDPOINTS = (5.0, 20.0, 65.0)
PREDICATES = (
    "region = 'N'",
    "pay >= 10",
    "region = 'N' or pay >= 30",
    "not (sex = 'F' and pay < 10) and region != 'W'",
)


def read(entry: dict[str, Any]) -> QueriesDocument:
    every = {"marginal": ["region", "sex", "pay"], "name": "every column"}
    return read_queries({"queries": [entry, every]}, DOMAIN)


def counted(document: QueriesDocument) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 50, document.domain.shape)


def holds(where: str | None, region: int, sex: int, pay: int) -> bool:
    """What SQL says, fault cells (sex 2, pay 3) being neither."""
    known = sex < 2 and pay < 3
    return {
        None: True,
        PREDICATES[0]: region == 0,
        PREDICATES[1]: 1 <= pay < 3,
        PREDICATES[2]: region == 0 or pay == 2,
        PREDICATES[3]: region != 2 and (sex == 1 or 1 <= pay < 3 or (known and not (sex == 0 and pay == 0))),
    }[where]


@in_one_test("where", PREDICATES)
@pytest.mark.parametrize("by", [[], ["region"], ["sex", "region"]])
def test_sums_and_prefixes_count_the_records_that_fulfil_it(where: str, by: list[str]) -> None:
    names = ("region", "sex", "pay")
    for kind in ("sum", "prefix"):
        document = read({kind: "pay", "by": by, "where": where})
        counts, block = counted(document), document.workload.blocks[0]
        found = np.sort(block.answer(DenseHistogram(counts)) * float(block.scale))
        wanted: dict[tuple[int, ...], float] = {}
        for cell in product(*map(range, counts.shape)):
            group = tuple(cell[names.index(name)] for name in by)
            weight = counts[cell] * (holds(where, *cell) and cell[2] < 3)
            for row in range(3) if kind == "prefix" else [0]:
                value = (cell[2] <= row) if kind == "prefix" else MIDPOINTS[min(cell[2], 2)]
                wanted[(*group, row)] = wanted.get((*group, row), 0.0) + weight * value
        assert found.tolist() == sorted(wanted.values())


def test_a_marginal_with_a_predicate_is_that_predicate_by_its_columns() -> None:
    one = read({"marginal": ["region"], "where": "pay >= 10"}).workload.blocks[0]
    twin = read({"where": "pay >= 10", "by": ["region"]}).workload.blocks[0]
    counts = DenseHistogram(counted(read({"marginal": []})))
    assert (one.name, one.answer(counts).tolist()) == (twin.name, twin.answer(counts).tolist())


def test_where_beside_other_kinds_is_an_entry_of_its_own() -> None:
    with pytest.raises(DocumentError, match="'where' and 'ranges' are two entries; split them"):
        read({"ranges": "pay", "random": 3, "seed": 1, "where": "sex = 'F'"})
    with pytest.raises(DocumentError, match=r"\$\.queries\[0\]\.where.*no column 'sexx'"):
        read({"sum": "pay", "where": "sexx = 'F'"})
