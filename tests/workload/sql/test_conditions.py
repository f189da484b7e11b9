"""Conditions count what DuckDB counts, nulls included: random ones, and the branches of CASE."""

import math
import random
from itertools import product

import duckdb
import numpy as np
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import DocumentError
from dpqr.workload.sql.conditions import Text, all_of, any_of
from dpqr.workload.sql.reading import read_sql

CELL = {"null": "cell", "otherwise": "drop"}
DOMAIN = {
    "fields": [
        {"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "dpqr": {"width": 1, **CELL}},
        {"name": "b", "type": "string", "constraints": {"enum": ["x", "y"]}, "dpqr": CELL},
        {"name": "c", "type": "boolean", "dpqr": CELL},
        {"name": "d", "type": "integer", "constraints": {"minimum": 0, "maximum": 1}, "dpqr": {"width": 1}},
    ]
}
CELLS = list(product([0, 1, 2, 3, None], ["x", "y", None], [False, True, None], [0, 1]))
LEAVES = [
    *(
        "a < 2",
        "a >= 1",
        "a > 1",
        "a <= 2",
        "a = 3",
        "2 > a",
        "a BETWEEN 1 AND 2",
        "a NOT BETWEEN 1 AND 2",
        "a IN (0, 3)",
        "a IS NULL",
    ),
    *("b = 'x'", "b <> 'y'", "b NOT IN ('x')", "b IS NOT NULL"),
    *("c", "NOT c", "c IS TRUE", "c IS NOT FALSE", "c = FALSE"),
    "d = 1",
]


@pytest.fixture(scope="module")
def table():
    """Every combination of values, each a different number of times: who counts other cells counts another number."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE data (a INT, b VARCHAR, c BOOLEAN, d INT, times BIGINT)")
    rows = [[*cell, 2**n % 9973] for n, cell in enumerate(CELLS)]
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?)", rows)
    return connection


def counted(sql):
    """Answers of the translated entries on the same records, by name."""
    document = read_sql({"sql": sql}, DOMAIN)
    whole = np.array([2**n % 9973 for n in range(len(CELLS))], dtype=np.int64).reshape(5, 3, 3, 2)
    axes = tuple("abcd".index(name) for name in document.domain.names)
    histogram = DenseHistogram(whole.sum(axis=tuple({0, 1, 2, 3} - set(axes))))
    return {block.name: block.answer(histogram) for block in document.workload.blocks}


def condition(draw, depth):
    if depth == 0 or draw.random() < 0.3:
        return draw.choice(LEAVES[: -1 if depth else None])
    parts = [condition(draw, depth - 1) for _ in range(2)]
    return draw.choice(["({} AND {})", "({} OR {})", "NOT ({} AND {})", "NOT ({} OR {})"]).format(*parts)


@pytest.mark.parametrize("seed", range(12))
def test_random_conditions_count_what_duckdb_counts(table, seed):
    text = condition(random.Random(seed), 3)
    ((expected,),) = table.execute(f"SELECT SUM(times) FROM data WHERE {text}").fetchall()
    if expected is None:
        with pytest.raises(DocumentError, match="is true for no cell"):
            counted(f"SELECT COUNT(*) FROM data WHERE {text}")
        return
    (found,) = counted(f"SELECT COUNT(*) FROM data WHERE {text}").values()
    assert found.tolist() == [expected]


@pytest.mark.parametrize("seed", range(8))
def test_branches_of_case_count_what_duckdb_counts(table, seed):
    draw = random.Random(100 + seed)
    whens = " ".join(f"WHEN {condition(draw, 1)} THEN 'branch {n}'" for n in range(3))
    case = f"CASE {whens} ELSE 'rest' END"
    rows = table.execute(f"SELECT {case} g, SUM(times) FROM data WHERE a IS NOT NULL OR d = 0 GROUP BY g").fetchall()
    found = counted(f"SELECT {case} g, COUNT(*) n FROM data WHERE a IS NOT NULL OR d = 0 GROUP BY g")
    assert {name: int(count[0]) for name, count in found.items() if count[0]} == {f"n {g}": n for g, n in rows}


@pytest.mark.parametrize("text", LEAVES)
def test_each_comparison_counts_what_duckdb_counts(table, text):
    for asked in (text, f"NOT {text}"):
        ((expected,),) = table.execute(f"SELECT SUM(times) FROM data WHERE {asked}").fetchall()
        (found,) = counted(f"SELECT COUNT(*) FROM data WHERE {asked}").values()
        assert found.tolist() == [expected], asked


def test_branches_hold_every_cell_once_those_of_faults_too():
    fields = [field | {"dpqr": {**field["dpqr"], "otherwise": "cell"}} for field in DOMAIN["fields"]]
    day = {"name": "e", "type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-02-29"}}
    days = day | {"dpqr": {"every": "month", "otherwise": "cell", "null": "drop"}}
    case = "CASE WHEN a < 2 AND b = 'x' THEN 'one' WHEN NOT c OR e < '2024-02-01' THEN 'two' ELSE 'rest' END"
    asked = {"sql": f"SELECT {case} g, COUNT(*) n FROM data GROUP BY g"}
    for domain in ({"fields": [*fields, days]}, read_sql(asked, {"fields": [*fields, days]}).domain):
        document = read_sql(asked, domain)
        histogram = DenseHistogram(np.ones(document.domain.shape, dtype=np.int64))
        counts = [int(block.answer(histogram)[0]) for block in document.workload.blocks]
        assert len(counts) == 3
        assert sum(counts) == math.prod(document.domain.shape)


@pytest.mark.parametrize(
    ("sql", "ours", "theirs"),
    [
        (
            "SELECT b, COUNT(*) FILTER (WHERE NOT a < 2 OR c) AS n FROM data WHERE d = 1 GROUP BY b",
            "COUNT(*)",
            "SUM(times)",
        ),
        ("SELECT b, SUM(a * LEAST(d, 1)) AS n FROM data WHERE NOT c GROUP BY b", "SUM(", "SUM(times * "),
    ],
    ids=["counts", "weighted sums"],
)
def test_groups_are_duckdbs(table, sql, ours, theirs):
    rows = dict(table.execute(sql.replace(ours, theirs)).fetchall())
    assert counted(sql)["n"].tolist() == [rows["x"], rows["y"], rows[None]]


def test_parts_are_held_together_as_they_bind():
    either = any_of(Text("a = 1"), Text("b = 2"))
    assert all_of(either, None, Text("c = 3")).text == "(a = 1 or b = 2) and c = 3"
    assert all_of(None) is None
