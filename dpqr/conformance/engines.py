"""Engines: whether a source of rows counts an awkward table as the core does. Each fault is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from dpqr.conformance.awkward import awkward_domain, awkward_table
from dpqr.data.arrays import Axes
from dpqr.data.attribute import Rule
from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import DpqrError
from dpqr.io.engines.engine import Engine
from dpqr.io.tables.counting import Counted, Counting
from dpqr.plugins import lacking

Question = tuple[str, Counting]
Made = Callable[[Any], Engine]
"""Makes the engine of an Arrow table: loads it into the database, and names it there."""


def engine_faults(made: Made, rows: int) -> Iterator[str]:
    """One line a fault. rows: of the table; an empty one, and one of a single row, are tried too."""
    for count in (rows, 1, 0):
        table = awkward_table(count)
        try:
            engine = made(table)
            lack = lacking(Engine, engine)
            if lack is not None:
                yield f"protocol: the engine {lack}"
                return
            asked = questions() if count > 1 else few_questions()
            yield from (f"{fault} ({count} rows)" for fault in _faults(engine, table, asked))
        except Exception as error:
            yield f"errors: {type(error).__name__}: {error} ({count} rows)"


def _faults(engine: Engine, table: Any, questions: Iterable[Question]) -> Iterator[str]:
    if not isinstance(engine.name, str) or not engine.name:
        yield "name: it is no text"
    if not (engine.public is None or isinstance(engine.public, str)):
        yield "public: it is neither None nor a text"
    for words, asked in questions:
        lacking_kinds = [f"{words}: {fault}" for fault in _kinds(engine, asked)]
        yield from lacking_kinds
        if lacking_kinds:
            continue
        expected = asked.counted(_batches(table, asked))
        yield from (f"{words}: {fault}" for fault in _differences(expected, engine.count(asked), asked))


def few_questions() -> Iterator[Question]:
    """Of tables with hardly a row."""
    domain = awkward_domain()
    yield "all columns", Counting(domain=domain)
    yield "all rows of persons", Counting(domain=domain, asked=((0,),), unit=PrivacyUnit(column="who", rows=2))


def questions() -> Iterator[Question]:
    """What is asked, each with its name."""
    domain = awkward_domain()
    pairs = tuple(combinations(range(len(domain.attributes)), 2))
    yield "pairs", Counting(domain=domain, asked=pairs)
    yield "pairs again", Counting(domain=domain, asked=pairs)
    yield "all columns", Counting(domain=domain)
    yield "no column", Counting(domain=domain, asked=((),))
    yield "rows left out", Counting(domain=awkward_domain(Rule.DROP), asked=pairs)
    yield "rule fail", Counting(domain=awkward_domain(Rule.FAIL), asked=pairs)
    yield "counts", Counting(domain=domain, asked=pairs, count_column="n")
    for most in (1, 2, 30, 10**7):
        yield f"{most} of each person", Counting(domain=domain, asked=pairs, unit=PrivacyUnit(column="who", rows=most))


def _batches(table: Any, asked: Counting) -> Callable[[], list[Any]]:
    return lambda: list(table.select(list(asked.columns)).to_batches())


def _kinds(engine: Engine, asked: Counting) -> Iterator[str]:
    for name, accepts in asked.columns.items():
        if name not in engine.names:
            yield f"names: {name!r} is not among them"
        elif accepts(engine.kind(name)) is not None:
            yield f"kind: {name!r} is {engine.kind(name)}, and must hold {accepts(engine.kind(name))}"


def _differences(expected: Counted, found: Counted, asked: Counting) -> Iterator[str]:
    for part in ("read", "units", "dropped", "failed", "malformed"):
        if getattr(expected, part) != getattr(found, part):
            yield f"{part}: {getattr(found, part)} and not {getattr(expected, part)}"
    sets = asked.asked or [(axis,) for axis in range(len(asked.domain.attributes))]
    other = [axes for axes in ((), *sets) if not _same(expected.counts, found.counts, axes)]
    if other:
        names = ", ".join(asked.domain.names[axis] for axis in other[0])
        yield f"counts: other integers by ({names}), and by {len(other) - 1} of {len(sets)} other sets of columns"


def _same(expected: Counts, found: Counts, axes: Axes) -> bool:
    try:
        return bool((expected.marginal(axes) == found.marginal(axes)).all())
    except DpqrError:
        return False
