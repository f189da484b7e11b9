"""Predicates against SQLite, an independent engine with the same syntax and the same three values."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from dpqr.domain.attribute import Bins
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.predicate_cells import evaluate
from dpqr.domain.predicates import parse
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json")
DOMAIN = read_domain(
    {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}, "dpqr": {"null": "cell"}},
            {"name": "or der", "type": "integer", "dpqr": {"edges": [0, 2, 5], "null": "cell"}},
            {"name": "sex", "type": "string", "constraints": {"enum": ["F", "it's M"]}, "dpqr": {"null": "cell"}},
        ]
    }
)
ATOMS = [
    *(f"age {operator} {value}" for operator in ("=", "!=", "<", "<=", ">", ">=") for value in (0, 2, 4)),
    *(f'"or der" {operator}' for operator in ("< 2", "<= 1", "> 1", ">= 2", "<= 9", "between 0 and 1")),
    *("sex = 'F'", "sex != 'F'", "sex in ('it''s M')", "sex not in ('F', 'it''s M')"),
    *("age between 1 and 3", "age not between 2 and 2", "age in (0, 3)", "age not in (1)"),
    *("sex is null", "age is not null", '"or der" is null'),
]


def values(domain: Domain, axis: int) -> list[tuple[int, object]]:
    """Every value that a cell can hold, with its cell; None in the null cell."""
    attribute = domain.attributes[axis]
    if isinstance(attribute.axis, Bins):
        bounds = [attribute.axis.bounds(cell) for cell in range(attribute.axis.size)]
        held = [(cell, v) for cell, (low, high) in enumerate(bounds) for v in range(int(low), int(high) + 1)]
    else:
        held = [*enumerate(attribute.axis.titles())]
    return [*held, (attribute.axis.size, None)]


@pytest.fixture(scope="module")
def engine() -> Iterator[sqlite3.Connection]:
    """One record for every combination of values, with the number of its cell."""
    connection = sqlite3.connect(":memory:")
    connection.execute('create table t (age, "or der", sex, cell)')
    rows = []
    for combination in product(*(values(DOMAIN, axis) for axis in range(3))):
        cell = int(np.ravel_multi_index([code for code, _ in combination], DOMAIN.shape))
        rows.append((*(value for _, value in combination), cell))
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    yield connection
    connection.close()


def agrees(text: str, engine: sqlite3.Connection) -> None:
    mask = np.broadcast_to(evaluate(parse(text, PLACE), DOMAIN, (0, 1, 2), PLACE).true, DOMAIN.shape).reshape(-1)
    for cell, held in engine.execute(f"select cell, ({text}) is true from t"):
        assert bool(held) == bool(mask[cell]), (text, cell)


@pytest.mark.parametrize("text", ATOMS)
def test_single_comparisons_and_their_negations(text: str, engine: sqlite3.Connection) -> None:
    agrees(text, engine)
    agrees(f"not ({text})", engine)


def test_random_predicates(engine: sqlite3.Connection) -> None:
    chance = random.Random(7)

    def predicate(depth: int) -> str:
        if depth == 0:
            return chance.choice(ATOMS)
        kind = chance.choice(("and", "or", "not"))
        if kind == "not":
            return f"not {predicate(0)}" if chance.random() < 0.5 else f"not ({predicate(depth - 1)})"
        left, right = predicate(depth - 1), predicate(chance.randrange(depth))
        return f"({left}) {kind} {right}" if chance.random() < 0.5 else f"{right} {kind} {left}"

    for _ in range(200):
        agrees(predicate(3), engine)


def test_own_cells_are_neither_equal_nor_unequal() -> None:
    for text in ("sex = 'F'", "sex != 'F'", "not sex = 'F'", "sex = 'F' or not sex = 'F'"):
        truth = evaluate(parse(text, PLACE), DOMAIN, (2,), PLACE)
        assert not truth.true[2]
        assert not truth.false[2]


def test_an_own_cell_that_was_not_declared_cannot_be_asked_for() -> None:
    with pytest.raises(DocumentError, match="column 'sex' has no cell for outside \\(its rule is drop\\)"):
        evaluate(parse("sex is outside", PLACE), DOMAIN, (2,), PLACE)
