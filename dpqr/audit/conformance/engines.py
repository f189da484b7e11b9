"""Engines: whether a source of rows counts an awkward table as the core does. Each fault is one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dpqr.domain.attribute import FAULTS, Attribute, Bins, Codes, Fault, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Counts, PersonTable
from dpqr.kernel.arrays import Axes
from dpqr.kernel.errors import DpqrError
from dpqr.kernel.plugins import lacking
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting, TableCounts
from dpqr.tables.engines.engine import Engine

Question = tuple[str, Counting]
Made = Callable[[object], Engine]
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
            countings = questions() if count > 1 else few_questions()
            yield from (f"{fault} ({count} rows)" for fault in _faults(engine, table, countings))
        except Exception as error:
            yield f"errors: {type(error).__name__}: {error} ({count} rows)"


def _faults(engine: Engine, table: Any, questions: Iterable[Question]) -> Iterator[str]:
    if not isinstance(engine.name, str) or not engine.name:
        yield "name: it is no text"
    if not (engine.public is None or isinstance(engine.public, str)):
        yield "public: it is neither None nor a text"
    for words, counting in questions:
        sound = True
        for name, accepts in counting.columns.items():
            if name not in engine.names:
                yield f"{words}: names: {name!r} is not among them"
                sound = False
            elif accepts(engine.kind(name)) is not None:
                yield f"{words}: kind: {name!r} is {engine.kind(name)}, and must hold {accepts(engine.kind(name))}"
                sound = False
        if not sound:
            continue
        expected = counting.counted(partial(list, table.select(list(counting.columns)).to_batches()))
        yield from (f"{words}: {fault}" for fault in _differences(expected, engine.count(counting), counting))


def few_questions() -> Iterator[Question]:
    """Of tables with hardly a row."""
    domain = awkward_domain()
    yield "all columns", Counting(domain=domain)
    yield (
        "all rows of persons",
        Counting(domain=domain, column_sets=((0,),), unit=PrivacyUnit(columns=("who",), rows=2)),
    )


def questions() -> Iterator[Question]:
    """What is asked, each with its name."""
    domain = awkward_domain()
    pairs = tuple(combinations(range(len(domain.attributes)), 2))
    yield "pairs", Counting(domain=domain, column_sets=pairs)
    yield "pairs again", Counting(domain=domain, column_sets=pairs)
    yield "all columns", Counting(domain=domain)
    yield "no column", Counting(domain=domain, column_sets=((),))
    yield "rows left out", Counting(domain=awkward_domain(Rule.DROP), column_sets=pairs)
    yield "rule fail", Counting(domain=awkward_domain(Rule.FAIL), column_sets=pairs)
    yield "counts", Counting(domain=domain, column_sets=pairs, count_column="n")
    people = tuple(PersonTable(axes, most) for axes in pairs[:2] for most in (1, 3))
    for most in (1, 2, 30, 10**7):
        unit = PrivacyUnit(columns=("who",), rows=most)
        yield f"{most} of each person", Counting(domain=domain, column_sets=pairs, persons=people, unit=unit)
    for unit in (
        PrivacyUnit(columns=("who",), rows=30, cell_rows=2),
        PrivacyUnit(columns=("who", "whole"), rows=2),
        PrivacyUnit(columns=("who", "day"), per="month", rows=2),
    ):
        yield unit.words, Counting(domain=domain, column_sets=pairs, persons=people, unit=unit)


def _differences(expected: TableCounts, found: TableCounts, counting: Counting) -> Iterator[str]:
    for part in ("read", "units", "dropped", "failed", "malformed"):
        if getattr(expected, part) != getattr(found, part):
            yield f"{part}: {getattr(found, part)} and not {getattr(expected, part)}"
    sets = counting.column_sets or [(axis,) for axis in range(len(counting.domain.attributes))]
    other = [axes for axes in ((), *sets) if not _same(expected.counts, found.counts, axes)]
    if other:
        names = ", ".join(counting.domain.names[axis] for axis in other[0])
        yield f"counts: other integers by ({names}), and by {len(other) - 1} of {len(sets)} other sets of columns"
    if not (
        len(expected.persons) == len(found.persons)
        and all((one == other).all() for one, other in zip(expected.persons, found.persons, strict=True))
    ):
        yield "persons: other integers"


def _same(expected: Counts, found: Counts, axes: Axes) -> bool:
    try:
        return bool((expected.marginal(axes) == found.marginal(axes)).all())
    except DpqrError:
        return False


# An awkward table: made-up rows with what databases hold in different ways, and the domain that codes it.
#
# Every column runs through its own short list, at a stride of its own, so that each cell meets many others. The row
# number alone decides a cell.

_NFC, _NFD = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
_BELOW_ONE = math.nextafter(1.0, 0.0)
_WEST = timezone(timedelta(hours=-9, minutes=-30))

CELLS: dict[str, tuple[str, list[Any]]] = {
    "name": (
        "string",
        [_NFC, _NFD, "Stra\N{LATIN SMALL LETTER SHARP S}e", "STRASSE", " a", "a", "A", None, "", "NULL"],
    ),
    "answer": ("string", ["true", "TRUE", "False", None, "yes", "\N{KELVIN SIGN}", "k"]),
    "flag": ("bool", [True, None, False]),
    "whole": ("int64", [0, -1, 9, 10, 2**31, -(2**63), 2**63 - 1, None, 5, 10**15 + 1, 20]),
    "code": ("int32", [0, 4, 5, -1, None, 2, 2**31 - 1]),
    "real": (
        "float64",
        [0.0, -0.0, 0.1, 0.1 + 0.2, 1.0, _BELOW_ONE, math.nan, math.inf, -math.inf, 5e-324, 1e308, None, -5e-324],
    ),
    "single": ("float32", [0.1, 0.2, 1.0, math.nan, None, -0.0, 16777216.0]),
    "money": (
        "decimal",
        [Decimal(text) for text in ("0.0999", "0.1000", "0.1001", "-0.0001", "99999999999999.9999", "0.3", "0")]
        + [None],
    ),
    "day": (
        "date32",
        [date(2000, 2, 29), date(1999, 12, 31), date(2000, 3, 1), None, date(1, 1, 1), date(9999, 12, 31)],
    ),
    "moment": (
        "timestamp",
        [
            datetime(2000, 1, 1),
            datetime(1999, 12, 31, 23, 59, 59, 999999),
            datetime(2000, 1, 1, 12, 0, 0, 1),
            None,
            datetime(1969, 12, 31, 23, 59, 59, 999999),
        ],
    ),
    "instant": (
        "zoned",
        [
            datetime(2020, 3, 29, 1, tzinfo=UTC),
            datetime(2020, 3, 28, 16, tzinfo=_WEST),
            datetime(2020, 3, 29, 0, 59, 59, 999999, tzinfo=UTC),
            None,
            datetime(2020, 10, 25, 1, 30, tzinfo=UTC),
        ],
    ),
    "written": (
        "string",
        [
            "2016-12-31T23:59:59",
            "2016-12-31T23:59:60",
            "2017-01-01T01:00:00+02:00",
            "2017-01-01",
            "2017-02-29",
            "",
            None,
            "1e3",
            " 2017-01-01 ",
            "\N{ARABIC-INDIC DIGIT TWO}017-01-01",
        ],
    ),
}
"""The twelve columns that are counted: the kind of each, and its cells."""
PERSONS: dict[str, tuple[str, list[Any]]] = {
    "who": (
        "string",
        ["7", "07", " 7", "", None, "ann", "\N{LATIN SMALL LETTER E WITH ACUTE}va", "e\N{COMBINING ACUTE ACCENT}va"],
    ),
    "n": ("int64", [1, 0, 3, None, -1, 2**40, 2]),
}
"""Whose row it is, and how many records it stands for."""


def _bins(edges: Sequence[object], **how: Any) -> Bins:
    return Bins(tuple(Fraction(str(edge)) for edge in edges), **how)


def _moments(*marks: datetime) -> Bins:
    edges = [(mark - datetime(1970, 1, 1)) // timedelta(microseconds=1) for mark in marks]
    return _bins(edges, kind="datetime")


def awkward_domain(rule: Rule = Rule.CELL) -> Domain:
    """The domain of the twelve columns. rule: of what does not fit; clip is beside it where numbers are outside."""
    axes: dict[str, Labels | Codes | Bins] = {
        "name": Labels((_NFC, _NFD, CELLS["name"][1][2], "a")),
        "answer": Labels(("true", "false", "k"), folded=True),
        "flag": Labels(("true", "false")),
        "whole": _bins((0, 10, 20), integral=True),
        "code": Codes(5),
        "real": _bins((0, "0.1", "0.3", 1)),
        "single": _bins((0, "0.1", "0.2", 1), closed="right"),
        "money": _bins((0, "0.1", "0.3"), closed="right"),
        "day": _bins(
            [(day - date(1970, 1, 1)).days for day in (date(1999, 12, 31), date(2000, 3, 1), date(2001, 1, 1))],
            kind="date",
        ),
        "moment": _moments(datetime(1970, 1, 1), datetime(2000, 1, 1), datetime(2001, 1, 1)),
        "instant": _moments(datetime(2020, 1, 1), datetime(2020, 3, 29, 1), datetime(2021, 1, 1)),
        "written": _moments(datetime(2016, 1, 1), datetime(2017, 1, 1), datetime(2018, 1, 1)),
    }
    rules: dict[Fault, Rule] = dict.fromkeys(FAULTS, rule)
    clipped: dict[Fault, Rule] = rules | {"outside": Rule.CLIP, "infinite": Rule.DROP}
    return Domain(
        tuple(
            Attribute(name=name, axis=axis, rules=clipped if name in ("whole", "real", "day") else rules)
            for name, axis in axes.items()
        )
    )


def awkward_table(rows: int) -> Any:
    """An Arrow table of the twelve columns; of whose row it is ("who"), and how many records it stands for ("n")."""
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "int32": pa.int32(),
        "float64": pa.float64(),
        "float32": pa.float32(),
        "decimal": pa.decimal128(18, 4),
        "date32": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "zoned": pa.timestamp("us", tz="UTC"),
    }
    place = np.arange(rows)
    columns = {}
    for axis, (name, (kind, cells)) in enumerate((CELLS | PERSONS).items()):
        at = (place * (axis + 1) + place // (7 + 2 * axis)) % len(cells)
        columns[name] = pa.array(cells, type=kinds[kind]).take(pa.array(at))
    return pa.table(columns)
