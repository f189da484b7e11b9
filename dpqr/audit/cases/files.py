"""Whole releases, from a table's file to the published files; every byte of these is part of the outcome."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Claim, Numbers, Outcomes, PublicOutcome
from dpqr.audit.law import Laws
from dpqr.kernel.noise.source import NoiseSource
from dpqr.releases.any_release import release
from dpqr.releases.files.formats import TableFormat, write_table
from dpqr.releases.files.read_release import file_text
from dpqr.releases.files.tidy import Column, Texts, Tidy
from dpqr.releases.loop import SILENT
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource

RUNS = 120
"""Runs of a short audit: enough for an event that separates neighbours nearly always."""
WIDEST = 2_000
"""Parts of numbers (`_digits`) of one file that are looked at: twice what the cases below publish."""
NUMBER = re.compile(r"(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?")
"""A longer exponent is none: digits of a hash, which are looked at as a number of their own."""
DIGITS = 18

Row = tuple[str, ...]
HEADER = ("person", "sex", "age")
DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 9},
            "dpqr": {"width": 5, "otherwise": "drop"},
        },
    ],
}


class FileCase(Struct, frozen=True, kw_only=True):
    """One attack on `dpqr release` as a user has it. Fields and methods as `Case`.

    Attributes:
        tables: the header and rows of two neighbouring tables.
        given: options of the release.
        claim: what its user reads.
        choice: share of the budget for the rows of each person, which are chosen.
    """

    name: str
    what: str
    tables: tuple[tuple[Row, ...], tuple[Row, ...]]
    queries: Mapping[str, object]
    given: Mapping[str, Any]
    output: Mapping[str, Any]
    claim: Claim
    form: TableFormat = "csv"
    choice: str | None = None
    work: int = 10
    brief: int | None = RUNS
    laws: tuple[Laws, Laws] | None = None

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` releases of one of the two tables, by files."""
        with tempfile.TemporaryDirectory() as made:
            desk = Path(made)
            table, queries = desk / f"table.{self.form}", desk / "queries.json"
            header, *rows = self.tables[side]
            columns = {name: tuple(row[place] for row in rows) for place, name in enumerate(header)}
            write_table(Tidy(len(rows), {name: _column(cells) for name, cells in columns.items()}), table, self.form)
            queries.write_text(json.dumps(self.queries))
            out, found = desk / "out", []
            request = PlanRequest(queries=str(queries), **self.given)
            output = OutputRequest(directory=str(out), **self.output)
            source = TableSource(paths=(str(table),))
            run = ReleaseRequest(source=source, plan=request, output=output, learn_max_rows=self.choice)
            for _ in range(runs):
                release(run, SILENT, noise=noise)
                found.append(files_outcome(out))
                shutil.rmtree(out)
            return Outcomes.of(found)


def _column(cells: tuple[str, ...]) -> Column:
    if all(cell.isdigit() for cell in cells):
        return np.array(cells, dtype=np.int64)
    return Texts(np.arange(len(cells)), cells)


def files_outcome(directory: Path) -> PublicOutcome:
    """All that the files of a release tell: names, sizes, every number to its last digit, and the text around them."""
    rest, numbers = sha256(), []
    for path in sorted(directory.rglob("*")):
        text = file_text(path)
        found = [_digits(match) for match in NUMBER.finditer(text)]
        rest.update(f"{path.name}\n{NUMBER.sub('#', text)}".encode())
        flat = [part for each in found for part in each]
        numbers += [path.stat().st_size, len(found), *flat[:WIDEST], *(0,) * (WIDEST - len(flat))]
    return (int.from_bytes(rest.digest()[:7], "big"),), (), tuple(numbers)


def _digits(match: re.Match[str]) -> Numbers:
    """A number as whole part, digits after the point, three at a time, and exponent: nothing hides in the last ones."""
    whole, after, exponent = match.groups()
    digits = (after or "").ljust(DIGITS, "0")
    threes = tuple(int(digits[start : start + 3]) for start in range(0, DIGITS, 3))
    return int(whole[:DIGITS]), *threes, int(exponent or 0)


def file_cases() -> Iterator[FileCase]:
    """From CSV and Parquet, with rules, persons and both relations, to every form of answers and synthetic rows."""
    rows = (*(("a", "F", "3"),) * 7, *(("b", "M", "8"),) * 5)
    marginals = {"domain": DOMAIN, "queries": [{"marginal": ["sex", "age"]}, {"prefix": "age"}]}
    yield FileCase(
        name="file-csv-row",
        what="a release from CSV with synthetic rows, one row more",
        tables=((HEADER, *rows), (HEADER, *rows, ("c", "F", "3"))),
        queries=marginals,
        given={"epsilon": "0.5"},
        output={"synthetic": "rows"},
        claim=Claim(epsilon=Fraction(1, 2)),
    )
    yield FileCase(
        name="file-csv-left-out",
        what="a release from CSV, one row more that a rule leaves out",
        tables=((HEADER, *rows), (HEADER, *rows, ("c", "other", "3"))),
        queries=marginals,
        given={"epsilon": "0.5"},
        output={"format": "json"},
        claim=Claim(epsilon=Fraction(1, 2)),
    )
    yield FileCase(
        name="file-parquet-person",
        what="a release from Parquet, one person more with forty rows",
        tables=((HEADER, *rows), (HEADER, *rows, *(("c", "F", "3"),) * 40)),
        queries=marginals,
        given={"epsilon": "0.5", "unit": "person", "max_rows": 1},
        output={"format": "parquet"},
        claim=Claim(epsilon=Fraction(1, 2)),
        form="parquet",
    )
    yield FileCase(
        name="file-csv-replace",
        what="a release from CSV with a delta, one row replaced",
        tables=((HEADER, *rows, ("c", "M", "8")), (HEADER, *rows, ("c", "F", "3"))),
        queries=marginals,
        given={"epsilon": "1", "delta": "0.01", "neighbours": "replace", "n": len(rows) + 1},
        output={"format": "csv"},
        claim=Claim(epsilon=Fraction(1), delta=Fraction(1, 100)),
    )
    yield FileCase(
        name="file-csv-rows-chosen",
        what="a release from CSV that chooses the rows of each person, one person more with forty rows",
        tables=((HEADER, *rows), (HEADER, *rows, *(("c", "F", "3"),) * 40)),
        queries=marginals,
        given={"epsilon": "0.5", "unit": "person", "max_rows": 2},
        output={"format": "csv"},
        claim=Claim(epsilon=Fraction(1, 2)),
        choice="0.5",
    )
