"""PostgreSQL: rows that the core codes, as an engine's table is counted today, beside GROUP BY of their raw values.

python tests/benchmarks/postgres_groups.py [--rows 1000000]

The table is that of `counting.py`, in a server of its own. Asked are all pairs of its ten columns, which are counted in
groups of columns, and the joint table of four label columns. GROUP BY would send each distinct row of a group with its
count, which the core's encoders would code. Shown are wall seconds, processor seconds of this process and of the
server, and what crosses the wire.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.counting import JOINT, SIZES, asked, make
from support.postgres_server import running

from dpqr.domain.domain_file import read_domain
from dpqr.domain.histogram import passes
from dpqr.tables.counting import Counting
from dpqr.tables.engines.known import engine_at


def load(connection: Any, rows: int) -> None:
    from pyarrow import csv, parquet

    with TemporaryDirectory() as folder:
        make(Path(folder), rows)
        table = parquet.read_table(Path(folder) / "t.parquet", columns=list(SIZES))
    kinds = [{"int32": "integer", "date32[day]": "date"}.get(str(each), "text") for each in table.schema.types]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(SIZES, kinds, strict=True))
    connection.execute(f"CREATE TABLE people ({columns})")
    text = io.BytesIO()
    csv.write_csv(table, text, csv.WriteOptions(include_header=False))
    with connection.cursor() as cursor, cursor.copy("COPY people FROM STDIN (FORMAT csv)") as copied:
        copied.write(text.getvalue())
    connection.execute("VACUUM ANALYZE people")


def received(connection: Any, statements: Iterable[str]) -> str:
    lines = size = 0
    for statement in statements:
        with connection.cursor() as cursor, cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv)") as rows:
            for row in rows:
                lines, size = lines + 1, size + len(row)
    return f"{lines:>10,} lines {size / 1e6:8.1f} MB"


def grouped(names: Iterable[str]) -> str:
    columns = ", ".join(names)
    return f"SELECT {columns}, count(*) FROM people GROUP BY {columns}"


def seconds_of(process: int) -> float:
    """Processor seconds, its ended helpers included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def show(what: str, address: str, work: Callable[[Any], str]) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET work_mem = '256MB'")
        wall, own = time.perf_counter(), time.process_time()
        found = work(connection)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        print(f"{what:34} {wall:7.1f} {own:7.1f} {seconds_of(connection.info.backend_pid):7.1f}  {found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**6)
    rows = parser.parse_args().rows
    print(f"{'':34} {'wall s':>7} {'own s':>7} {'server':>7}")
    with running() as server:
        import psycopg

        address = f"postgresql://owner@{str(server.folder).replace('/', '%2F')}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            load(connection, rows)
        for what, names in (("pairs", tuple(SIZES)), ("joint", JOINT)):
            domain = read_domain(asked(what)["domain"])
            sets = tuple(combinations(range(len(names)), 2)) if what == "pairs" else (tuple(range(len(names))),)
            question = Counting(domain=domain, asked=sets)
            engine: Any = engine_at((f"{address}?table=people",))
            show(f"{what}: counted today", address, lambda _: f"{engine.count(question).read:>10,} rows")  # noqa: B023
            show(f"{what}: COPY", address, lambda to: received(to, [f"SELECT {', '.join(names)} FROM people"]))  # noqa: B023
            groups = [sorted(union) for union, _ in passes(domain.shape, sets)]
            statements = [grouped(names[axis] for axis in group) for group in groups]
            show(f"{what}: {len(groups)} GROUP BY", address, lambda to: received(to, statements))  # noqa: B023


if __name__ == "__main__":
    main()
