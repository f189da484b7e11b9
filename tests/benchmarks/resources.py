"""The forecast of time and files beside what was used, over made-up jobs: a line a job, then the ratios' percentiles.

python tests/benchmarks/resources.py [--jobs 60] [--seed 1]

Constants (`dpqr.releases.forecast.resources.TUNING`) were set by hand on the jobs of seed 301; seed 302 reports.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from dpqr.kernel.errors import DpqrError
from dpqr.releases.forecast.resources import TUNING
from dpqr.releases.loop import SILENT
from dpqr.releases.release import dry_run, release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource

KINDS = ("ones", "pairs", "threes", "prefix", "boxes")
SCHEDULES = ("auto", "auto", "auto", "rounds", "strategy", "queries")


def queries(kind, domain, random):
    names = list(domain)
    if kind == "prefix":
        return [{"prefix": names[0]}]
    if kind == "boxes":
        pairs = [random.choice(names, 2, replace=False) for _ in range(random.integers(20, 1500))]
        texts = [" and ".join(f"{one} <= {random.integers(domain[one])}" for one in pair) for pair in pairs]
        return [{"name": f"box {number}", "where": text} for number, text in enumerate(texts)]
    ways = 1 + ("ones", "pairs", "threes").index(kind)
    return [{"marginals": [list(some) for some in combinations(names[: 40 // ways], ways)]}]


def job(random, folder):
    """Documents, a table of correlated columns and a request."""
    kind, columns, top = random.choice(KINDS), int(random.integers(3, 30)), int(random.choice([4, 10, 40, 100, 400]))
    sizes = random.integers(8, 2000, 1) if kind == "prefix" else random.integers(2, top + 1, columns)
    domain = {f"c{place}": int(size) for place, size in enumerate(sizes)}
    rows = int(random.choice([2_000, 20_000, 100_000]))
    common = random.normal(size=(rows, 1))
    uniform = 1 / (1 + np.exp(-common * random.normal(size=len(sizes)) - random.normal(size=(rows, len(sizes)))))
    pd.DataFrame((uniform * sizes).astype(int), columns=list(domain)).to_csv(folder / "t.csv", index=False)
    (folder / "q.json").write_text(json.dumps({"domain": domain, "queries": queries(kind, domain, random)}))
    plan = PlanRequest(
        queries=str(folder / "q.json"),
        epsilon=str(random.choice(["0.1", "1", "10"])),
        delta=random.choice([None, "1e-9"]),
        schedule=str(random.choice(SCHEDULES)),
    )
    return kind, rows, plan


def measured(kind, rows, plan, folder):
    """Forecast and used: seconds of a processor (the start is taken as forecast), bytes of files."""
    output = OutputRequest(directory=str(folder / "out"))
    asked = ReleaseRequest(source=TableSource(paths=(str(folder / "t.csv"),)), plan=plan, output=output)
    made, taken = dry_run(asked)
    began = time.process_time()
    release(asked, SILENT)
    used = TUNING.start + time.process_time() - began
    written = sum(file.stat().st_size for file in (folder / "out").iterdir())
    forecast = taken.seconds + taken.reading * rows / 10**6
    words = f"{kind:7} {made.schedule.name:10} {len(made.problem.workload.blocks):5} blocks {made.rounds:3} rounds"
    print(f"{words}  {forecast:6.2f} s, used {used:6.2f}  {taken.files / 1e6:8.2f} MB, used {written / 1e6:8.2f}")
    return forecast / used, taken.files / written


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random, ratios = np.random.default_rng(given.seed), []
    while len(ratios) < given.jobs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                ratios.append(measured(*job(random, Path(folder)), Path(folder)))
            except DpqrError as refusal:
                print(f"no plan: {str(refusal)[:80]}")
    for what, half in (("set on", slice(0, None, 2)), ("reported on", slice(1, None, 2))):
        for name, found in zip(("seconds", "files"), np.array(ratios[half]).T, strict=True):
            least, median, most = np.percentile(found, [0, 50, 100])
            within = np.mean((found > 0.5) & (found < 2.0))
            ends = f"{least:.2f} at least, {median:.2f} median, {most:.2f} at most"
            print(f"{what:12} {name:8} forecast / used: {ends}; {within:.0%} within a factor of 2")


if __name__ == "__main__":
    main()
