"""A domain with every kind of column, a writer of queries files over it, and a database that counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.workload.queries_file import QueriesDocument, read_queries

SURVEY: dict[str, Any] = {
    "fields": [
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 9},
            "dpqr": {"null": "cell", "outside": "clip"},
        },
        {"name": "hours", "type": "integer", "dpqr": {"edges": [0, 20, 40, 60], "outside": "cell"}},
        {
            "name": "income",
            "type": "number",
            "constraints": {"minimum": -1000, "maximum": 4000},
            "dpqr": {"width": 2500, "null": "cell"},
        },
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M", "X"]}, "dpqr": {"null": "cell"}},
        {"name": "home region", "type": "string", "constraints": {"enum": ["north", "it's south"]}},
        {
            "name": "day",
            "type": "date",
            "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"},
            "dpqr": {"every": "quarter"},
        },
        {"name": "rich", "type": "boolean"},
    ]
}


Record = dict[str, tuple[int, str]]
"""Code and title of a cell by its column."""


@pytest.fixture
def survey_document() -> dict[str, Any]:
    return SURVEY


@pytest.fixture
def survey() -> Domain:
    return read_domain(SURVEY)


Asked = Callable[..., QueriesDocument]


@pytest.fixture
def ask(tmp_path: Path) -> Asked:
    """Write a queries file with these entries and read it back."""

    def asked(*entries: dict[str, Any], domain: Any = SURVEY, strict: bool = False) -> QueriesDocument:
        path = tmp_path / "queries.json"
        path.write_text(json.dumps({"dpqr": "queries/1", "domain": domain, "queries": entries}), encoding="utf-8")
        return read_queries(path, strict=strict)

    return asked


class Database:
    """Counts of every cell; each cell is seen as {column: (code, title)}."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        counts = np.random.default_rng(3).integers(0, 50, size=domain.shape)
        self.histogram = DenseHistogram(counts)

    def records(self) -> Iterator[tuple[Record, int]]:
        titles = [attribute.titles() for attribute in self.domain.attributes]
        for codes in product(*map(range, self.domain.shape)):
            cell = {
                attribute.name: (code, title[code])
                for attribute, code, title in zip(self.domain.attributes, codes, titles, strict=True)
            }
            yield cell, int(self.histogram.counts[codes])

    def total(self, weigh: Callable[[Record], int | bool]) -> int:
        return sum(count * int(weigh(cell)) for cell, count in self.records())


@pytest.fixture
def database() -> Callable[[Domain], Database]:
    return Database
