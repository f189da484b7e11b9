"""Fixtures of all rooms: a desk to run commands at, small releases and pages, tables, codebooks, documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.values import replace
from dpqr.report.page.parts import Preview
from dpqr.report.reports import release_html
from dpqr.tables.codebooks.known import read_codebook
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.queries_file import QueriesDocument, read_queries
from support.command_desk import QUERIES, TABLE, Desk
from support.handmade_release import make_plan, make_release
from support.pages import made, spending
from support.verified_release import make


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A directory with table.csv and q.json, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE, q__json=QUERIES)
    return made


@pytest.fixture
def frame(desk):
    """The same table in memory."""
    return pd.read_csv(desk.path / "table.csv", keep_default_na=False, dtype=object)


@pytest.fixture(scope="session")
def paid_release(tmp_path_factory):
    """A request that verifies a release that a ledger paid for. Whoever changes its files puts them back."""
    return make(tmp_path_factory.mktemp("paid"))


@pytest.fixture(scope="session")
def free_release(tmp_path_factory):
    """The same of a release that no ledger paid for."""
    return make(tmp_path_factory.mktemp("free"), paid=False)


@pytest.fixture
def plan():
    return make_plan()


@pytest.fixture
def release():
    return make_release()


@pytest.fixture(scope="session")
def found():
    whole = made(date="2026-11-22T10:00:00Z", publisher="City of X", synthetic={"rows": 3, "form": "rows", "seed": 7})
    erring = tuple(replace(block, error=np.full(block.rows, 2.5)) for block in whole.blocks)
    preview = Preview(columns=("sex", "age"), rows=(("F", "[0, 20)"), ("M", "[20, 40)")))
    hashes = {"answers.csv": "a" * 64, "release.json": "b" * 64}
    return replace(whole, blocks=erring, preview=preview, spending=spending(), hashes=hashes)


@pytest.fixture(scope="session")
def page(found):
    return release_html(found)


Load = Callable[..., np.ndarray]


@pytest.fixture
def load() -> Load:
    """Every cell's count, shape = domain shape; `source` holds TableSource's other fields, the rest is Limits."""

    def counts(domain: Domain, *paths: Any, source: dict[str, Any] | None = None, **limits: int) -> np.ndarray:
        table = TableSource(paths=tuple(str(path) for path in paths), **(source or {}))
        histogram = load_table(table, domain, Limits(**limits)).counts._unseal(SealKey())
        return histogram.marginal(tuple(range(len(domain.shape))))

    return counts


@pytest.fixture
def given(tmp_path):
    """Write a codebook and read it back."""

    def read(content, name="book", **more):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_codebook(str(path), **more)

    return read


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
