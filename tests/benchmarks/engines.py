"""Engines: CPU seconds to count all pairs of the ten columns of `counting.py` in Spark, by rows.

python tests/benchmarks/engines.py [--rows 1000000 4000000] [--master 'local[2]'] [--split 128m] [--folder DIR]

Processor seconds are those of this process, of the Java machine and of its Python workers together, the start of the
session apart. `--split`: bytes of a partition; a row group is never cut. Also shown: sums that reach the driver. The
slope between the sizes is what a row costs (topic `scale`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.counting import SIZES, make
from benchmarks.counting import asked as question

from dpqr.domain.domain_file import read_domain
from dpqr.tables.counting import Counting
from dpqr.tables.engines import spark as spark_session
from dpqr.tables.engines import spark as spark_table
from dpqr.tables.engines.spark import SparkTable


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 4 * 10**6])
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--split", default="128m")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"}
    settings |= {"spark.sql.files.maxPartitionBytes": given.split}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session = SparkSession.builder.master(given.master).config(map=settings).getOrCreate()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(spark_session.BATCH))
    with tempfile.TemporaryDirectory() as made:
        for rows in given.rows:
            count(session, (given.folder or Path(made)) / str(rows), rows)
    session.stop()


def count(session, folder: Path, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "t.parquet").exists():
        make(folder, rows)
    domain = read_domain(question("pairs")["domain"])
    asked = Counting(domain=domain, column_sets=tuple(combinations(range(len(SIZES)), 2)))
    reached, original = [], spark_table.add_counts

    def watched(values, asked):
        reached.append((len(values), sum(map(len, values))))
        return original(values, asked)

    spark_table.add_counts = watched
    began, wall = seconds(os.getpid()), time.perf_counter()
    found = SparkTable(frame=session.read.parquet(f"file:{folder}/t.parquet")).count(asked)
    used, wall = seconds(os.getpid()) - began, time.perf_counter() - wall
    spark_table.add_counts = original
    assert found.read == rows
    print(f"{rows:,} rows: {used:.1f} CPU s, {wall:.1f} s; driver {reached[0][0]:,} sums, {reached[0][1]:,} bytes")


def seconds(pid: int) -> float:
    """Processor seconds of a process and of all below it, those included that have ended."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parts = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], times[int(entry.name)] = int(parts[1]), sum(map(int, parts[11:15]))
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(times[each] for each in below) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
