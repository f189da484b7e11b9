"""Processor time of a job whose strategies are tuned, and of one that finds them in the cache.

python tests/benchmarks/tuning.py

Plan and release under `auto` (two records a cell, epsilon 0.1), without reading a table; the cache is a directory of
its own. cold, warm: seconds of processor time.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
from dense import planned, square

from dpqr.io.tuning_cache import cached_tunings
from dpqr.strategies.designs import bucket_design, kronecker

CASES = [
    ((1024,), "prefix"),
    ((1024,), "rand2000"),
    ((4096,), "prefix"),
    ((4096,), "rand2000"),
    ((64, 64), "rect2000"),
    ((256, 256), "rect2000"),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DPQR_CACHE"] = folder
        job((64,), "prefix")  # imports
        for sizes, workload in CASES:
            (cold, _), (warm, taken) = job(sizes, workload), job(sizes, workload)
            print(f"{'x'.join(map(str, sizes)):>8} {workload:>8}  cold {cold:.2f}  warm {warm:.2f}  {taken} found")


def job(sizes: tuple[int, ...], workload: str) -> tuple[float, int]:
    """Seconds, and the strategies that were found tuned, as in a new process."""
    for kept in (kronecker.designs, bucket_design.equal_buckets, bucket_design.partition_design):
        kept.cache_clear()
    started = time.process_time()
    with cached_tunings() as found:
        square(planned(sizes, workload, "0.1", "auto"), np.full(sizes, 2))
    return time.process_time() - started, found.taken


if __name__ == "__main__":
    main()
