"""Tables that are neighbours, the documents that go with them, and the command lines."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pyarrow as pa
from hostile.oracles.attempt import PAYER, Attempt, Step, Table
from pyarrow import parquet
from support.refusal_form import asking, domain

HEAD = "sex,age,income,count,who,buys,note"
ROWS = 40
LARGEST = 390
"""Of the incomes: 0, 10, 20, ..."""
PERSONS = ("--unit", "who", "--max-rows", "1")
OF_PERSONS = ("--eps", "100", "--unit", "who")
DROPPING = domain(income={"dpqr": {"edges": [0, 100, 200, 400], "outside": "drop", "otherwise": "drop"}})
ASKED = asking({"marginal": ["sex", "age"]}, {"prefix": "income"}, domain=DROPPING)
BUYS = {"name": "buys", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}}
SHOP = {"fields": [*DROPPING["fields"][:2], BUYS]}
POINTS = "sex,age\nF,31\nM,64\n"
FILES = {"q.json": ASKED, "d.json": SHOP, "points.csv": POINTS}


def cells(number: int) -> dict[str, Any]:
    """The cells of row `number`."""
    return {
        "sex": "FM"[number % 2],
        "age": 7 * number % 100,
        "income": 10 * number,
        "count": number % 3 + 1,
        "who": f"p{number // 2}",
        "buys": ("no", "yes")[number // 3 % 2],
        "note": "x",
    }


def row(number: int, **changes: Any) -> str:
    """Row `number` of a CSV table, with some cells changed."""
    return ",".join(str(each) for each in {**cells(number), **changes}.values())


def lines(count: int = ROWS) -> list[str]:
    return [row(number) for number in range(count)]


def text(*rows: str | bytes, head: str = HEAD) -> bytes:
    """A CSV file."""
    return b"".join(each.encode() + b"\n" if isinstance(each, str) else each + b"\n" for each in (head, *rows))


def csv(*rows: str | bytes, name: str = "t.csv", head: str = HEAD) -> Table:
    """A CSV table, packed where its name says so."""
    content = text(*rows, head=head)
    return Table(name=name, content=gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


def usual(count: int = ROWS, *more: str | bytes, name: str = "t.csv") -> Table:
    """The first `count` rows and some more."""
    return csv(*lines(count), *more, name=name)


def columns(count: int = ROWS, /, **changes: Any) -> dict[str, Any]:
    """The columns of the first rows. changes: of the same names, or more."""
    texts, whole = pa.string(), pa.int64()
    kinds = {"sex": texts, "age": whole, "income": pa.float64(), "count": whole, "who": texts, "buys": texts}
    found = [cells(number) for number in range(count)]
    return {**{name: pa.array([each[name] for each in found], kind) for name, kind in kinds.items()}, **changes}


def packed(count: int = ROWS, /, *, form: dict[str, Any] | None = None, **changes: Any) -> Table:
    """A Parquet file. form: options of its writer."""
    return parquet_file(columns(count, **changes), **(form or {}))


def parquet_file(made: dict[str, Any], **form: Any) -> Table:
    """A Parquet file of these columns."""
    file = io.BytesIO()
    parquet.write_table(pa.table(made), file, **form)
    return Table(name="t.parquet", content=file.getvalue())


def release(*options: str, queries: str = "q.json", eps: str = "0.001", payer: tuple[str, ...] = PAYER) -> Step:
    return ("release", "DATA", "--queries", queries, "--eps", eps, *payer, *options)


def unpaid(*options: str, **more: Any) -> Step:
    """A release without a ledger."""
    return release(*options, payer=(), **more)


def predict(*options: str, target: str = "buys", eps: str = "0.001", payer: tuple[str, ...] = PAYER) -> Step:
    points = () if "--release" in options else ("--points", "points.csv")
    return ("predict", "DATA", "--target", target, "--domain", "d.json", "--eps", eps, *points, *payer, *options)


def failing(column: str, fault: str, rest: Any = DROPPING, **changes: Any) -> dict[str, Any]:
    """The domain `rest` with the rule `fail` for a fault of a column. changes: keys of the column's `dpqr` block."""
    fields = [dict(each) for each in rest["fields"]]
    found = next(each for each in fields if each["name"] == column)
    found["dpqr"] = {**found["dpqr"], fault: "fail", **changes}
    return {**rest, "fields": fields}


def over(found: dict[str, Any]) -> dict[str, Any]:
    """The queries over another domain."""
    return {**ASKED, "domain": found}


def attempt(name: str, learns: str, tables: tuple[Table, ...], *steps: Step, **more: Any) -> Attempt:
    """An attempt with the usual documents, and some more. files: more documents, or others of the same names."""
    return Attempt(
        name=name, learns=learns, tables=tables, steps=steps, **{**more, "files": {**FILES, **more.get("files", {})}}
    )
