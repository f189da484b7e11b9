"""Counting: a whole release beside DuckDB's GROUP BY of the same sets of columns.

python tests/benchmarks/counting.py [--rows 1000000 10000000] [--what pairs joint ...] [--folder DIR]

| what | release | beside it |
|---|---|---|
| pairs | all 45 pairs of ten columns of a Parquet file | DuckDB, GROUPING SETS |
| threads | the same by two threads (`--workers 2`) | the same |
| duckdb | the same, with DuckDB as the source (`duckdb:FILE.parquet`) | the same |
| joint | the full contingency table of four label columns | DuckDB, GROUP BY |
| wide | all 91 pairs of 14 columns | nothing |
| persons | the 45 pairs, two rows of each person, who has five; DuckDB as the source | nothing |
| parts | none: processor nanoseconds a row to decode, code and count the pairs, median of ten pieces | nothing |

The table has five label columns in dictionary form, four of whole numbers and one of dates, and four more of labels. It
is made up in `--folder`, or a temporary directory, 30 bytes a row, and removed; what lies there already is used and
kept. Each program runs in a process of its own; dpqr has its bytecode, as if installed (a first run writes it);
DuckDB codes the columns by SQL, has two threads and 2 GB. Shown are wall and processor seconds and the peak of memory.
Bars: at 10^8 rows at most 400 MB, a quarter of DuckDB's processor seconds and less than its wall time; linear from 10^6
rows on; `wide` at 10^7 rows below 300 MB; `joint` at most 1.3 of DuckDB's seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

LABELS = {
    "sex": ["female", "male"],
    "region": [f"region-{place:02}" for place in range(20)],
    "education": [f"level-{place}" for place in range(16)],
    "marital": [f"state-{place}" for place in range(7)],
    "occupation": [f"occupation-{place}" for place in range(15)],
}
SIZES = {name: len(labels) for name, labels in LABELS.items()} | {
    "age": 100,
    "income": 20,
    "hours": 10,
    "children": 10,
    "born": 100,
}
MORE = {f"trait{place}": [f"value-{value}" for value in range(6)] for place in range(4)}
JOINT = ("sex", "region", "education", "marital")
SQL = {"income": "income // 500", "hours": "hours // 10", "born": "year(born) - 1920"}
PIECE = 10**6
WHAT = ("pairs", "threads", "duckdb", "joint", "wide", "persons", "parts")


def make(folder: Path, rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    chance = np.random.default_rng(7)
    writer = None
    for start in range(0, rows, PIECE):
        count = min(PIECE, rows - start)
        common, own = chance.random(count, dtype=np.float32), lambda: chance.random(count, dtype=np.float32)  # noqa: B023
        columns = {
            name: pa.DictionaryArray.from_arrays(
                pa.array(((own() * 0.7 + common * 0.3) * len(labels)).astype(np.int32)), pa.array(labels)
            )
            for name, labels in (LABELS | MORE).items()
        }
        columns["age"] = pa.array((50 * (common + own())).astype(np.int32).clip(0, 99))
        columns["income"] = pa.array((10_000 * common * own()).astype(np.int32).clip(0, 9999))
        columns["hours"] = pa.array((100 * own()).astype(np.int32).clip(0, 99))
        columns["children"] = pa.array((10 * own()).astype(np.int32).clip(0, 9))
        days = (np.datetime64("1920-01-01") + (common * 36_500).astype("timedelta64[D]")).astype("datetime64[D]")
        columns["born"] = pa.array(days)
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(folder / "t.parquet", table.schema)
        writer.write_table(table, row_group_size=PIECE)
    if writer:
        writer.close()


def fields() -> dict[str, dict[str, Any]]:
    whole = {"age": {}, "income": {"width": 500}, "hours": {"width": 10}, "children": {}}
    most = {"age": 99, "income": 9999, "hours": 99, "children": 9}
    found: dict[str, dict[str, Any]] = {
        name: {"type": "string", "constraints": {"enum": labels}} for name, labels in (LABELS | MORE).items()
    }
    for name, bins in whole.items():
        found[name] = {"type": "integer", "constraints": {"minimum": 0, "maximum": most[name]}, "dpqr": bins}
    years = {"minimum": "1920-01-01", "maximum": "2019-12-31"}
    return found | {"born": {"type": "date", "constraints": years, "dpqr": {"every": "year"}}}


def asked(what: str) -> dict[str, Any]:
    names = {"joint": JOINT, "wide": (*SIZES, *MORE)}.get(what, tuple(SIZES))
    known = fields()
    ways = len(JOINT) if what == "joint" else 2
    return {
        "domain": {"fields": [{"name": name} | known[name] for name in names]},
        "queries": [{"marginals": {"ways": ways}}],
    }


def by_dpqr(folder: Path, what: str) -> None:
    import dpqr
    from dpqr.tables.engines.address import EngineAddress
    from dpqr.tables.engines.known import engine_of

    table = folder / "t.parquet"
    source: Any = f"duckdb:{table}" if what == "duckdb" else table
    more: dict[str, Any] = {"workers": 2} if what == "threads" else {}
    if what == "persons":
        rows, more = int(folder.name.partition("-")[2]), {"unit": "who", "max_rows": 2}
        query = f"SELECT *, row_number() OVER () * 48271 % {rows // 5} AS who FROM source"
        source = engine_of(EngineAddress(scheme="duckdb", place=str(table), query=query, registered=True))
    dpqr.release(source, queries=asked(what), eps="1", delta="1e-9", out=folder / "out", if_exists="replace", **more)


def by_duckdb(folder: Path, what: str) -> None:
    import duckdb

    connection = duckdb.connect()
    for setting in ("threads=2", "memory_limit='2GB'", "preserve_insertion_order=false"):
        connection.execute(f"set {setting}")
    names = JOINT if what == "joint" else tuple(SIZES)
    coded = [
        f"(list_position({LABELS[name]!r}, {name}::VARCHAR) - 1)::UTINYINT AS {name}"
        if name in LABELS
        else f"({SQL.get(name, name)})::UTINYINT AS {name}"
        for name in names
    ]
    sets = [names] if what == "joint" else combinations(names, 2)
    grouped = ", ".join(f"({', '.join(columns)})" for columns in sets)
    source = f"SELECT {', '.join(coded)} FROM read_parquet('{folder / 't.parquet'}')"
    query = f"SELECT {', '.join(names)}, count(*) AS n FROM ({source}) GROUP BY GROUPING SETS ({grouped})"
    connection.execute(query).fetchnumpy()


PROGRAMS = {"dpqr": by_dpqr, "DuckDB": by_duckdb}


def alone(program: str, folder: Path, what: str) -> None:
    began, wall = time.process_time(), time.perf_counter()
    PROGRAMS[program](folder, what)
    seconds, wall = time.process_time() - began, time.perf_counter() - wall
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(facts["VmHWM"].split()[0]) / 2**10
    print(json.dumps({"seconds": seconds, "wall": wall, "peak": peak}))


def agree(folder: Path) -> bool:
    """Whether our exact counts of one pair are those of Arrow and numpy."""
    from pyarrow import compute, parquet

    from dpqr.domain.domain_file import read_domain
    from dpqr.kernel.sealed import SealKey
    from dpqr.tables.limits import Limits
    from dpqr.tables.load import load_table
    from dpqr.tables.source import TableSource

    domain = read_domain(asked("pairs")["domain"])
    pairs = list(combinations(range(len(SIZES)), 2))
    path = str(folder / "t.parquet")
    counts = load_table(TableSource(paths=(path,)), domain, Limits(), column_sets=pairs).counts._unseal(SealKey())
    table = parquet.read_table(path, columns=["age", "children"])
    flat = compute.add(compute.multiply(table["age"], 10), table["children"]).to_numpy()
    expected = np.bincount(flat, minlength=1000).reshape(100, 10)
    places = [list(SIZES).index(name) for name in ("age", "children")]
    return bool((counts.marginal(tuple(places)) == expected).all())


def parts(folder: Path) -> str:
    """Nanoseconds a row of each part of counting, by the median row group."""
    from pyarrow import parquet

    from dpqr.domain.domain_file import read_domain
    from dpqr.tables.counting import Counting
    from dpqr.tables.limits import Limits
    from dpqr.tables.tallies import tally

    domain = read_domain(asked("pairs")["domain"])
    pairs, rows = list(combinations(range(len(SIZES)), 2)), Counting(domain=domain).encoder
    cells = tally(domain.shape, Limits().cells, pairs)
    file = parquet.ParquetFile(folder / "t.parquet", read_dictionary=list(LABELS))
    found = np.zeros((min(10, file.num_row_groups), 3))
    for place, spent in enumerate(found):
        clock = [time.process_time()]
        batches = file.iter_batches(Limits().batch_rows, row_groups=[place], columns=list(SIZES), use_threads=False)
        for batch in batches:
            clock.append(time.process_time())
            coded = rows.encode(batch)
            clock.append(time.process_time())
            cells.add(coded.codes, coded.rows, None)
            clock.append(time.process_time())
        spent += np.diff(clock).reshape(-1, 3).sum(axis=0) / file.metadata.row_group(place).num_rows * 1e9
    middle = found[found.sum(axis=1).argsort()[len(found) // 2]]
    return ", ".join(f"{name} {each:.0f} ns" for name, each in zip(("decode", "code", "count"), middle, strict=True))


def installed() -> dict[str, str]:
    """The environment, in which modules keep their bytecode, as those of an installed package do."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def compare(folder: Path, rows: int, chosen: list[str]) -> None:
    kept = (folder / "t.parquet").exists()
    if not kept:
        make(folder, rows)
    for what in chosen:
        if what == "parts":
            print(f"{rows:>11,} {what:8} {parts(folder)}", flush=True)
            continue
        for program in ("dpqr",) if what in ("wide", "persons") else PROGRAMS:
            command = [sys.executable, __file__, "--alone", program, str(folder), what]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=installed())
            found = json.loads(done.stdout.splitlines()[-1])
            figures = f"{found['wall']:8.1f} {found['seconds']:8.1f} {found['peak']:8.0f}"
            print(f"{rows:>11,} {what:8} {program:8} {figures}", flush=True)
    if "pairs" in chosen:
        print(f"{rows:>11,} exact counts agree: {agree(folder)}", flush=True)
    if not kept:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[10**6, 10**7])
    parser.add_argument("--what", nargs="*", default=["pairs"], choices=WHAT)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--make", action="store_true", help="Make the tables, and leave them there.")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        program, folder, what = given.alone
        alone(program, Path(folder), what)
        return
    if not given.make:
        print(f"{'rows':>11} {'what':8} {'program':8} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}")
    for rows in given.rows:
        folder = Path(given.folder) / f"counting-{rows}"
        folder.mkdir(exist_ok=True)
        if given.make:
            make(folder, rows)
        else:
            compare(folder, rows, given.what)


if __name__ == "__main__":
    main()
