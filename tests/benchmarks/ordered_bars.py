"""Error bars of ordered columns, where cells may be merged into buckets: how often intervals hold, by kind of query.

python tests/benchmarks/ordered_bars.py [--half report] [--schedules ordered parts] [--runs 5] [--asked prefixes ranges]

Asked: all prefixes, 50 random ranges and single cells of one wide column (`mixed.py`); for `parts` pairs of small
columns beside them. One line a cell and schedule: coverage of the intervals that rest on estimates, as the mean over
queries and runs; in brackets the mean error bar over the root mean square error. Releases whose answers are all
measured are counted as `unbiased` and left out. Constants were looked at on the half `set` alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "marginals"))

from mixed import made, others

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.answers.errors import ESTIMATE
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.strategies.guard import make_filter

SMALL = (3, 4, 2)
KINDS = ("normal", "steps", "spikes", "even", "zipf", "exponential")
SETTINGS = {
    "set": ((512, 1_000, "1"), (1024, 500, "10"), (2048, 30_000, "0.1"), (256, 100, "1")),
    "report": ((700, 1_000, "10"), (700, 2_000, "1"), (1500, 20_000, "0.1"), (4096, 5_000, "1"), (300, 300, "1")),
}
"""Cells, records, epsilon."""
ASKED: dict[str, dict[str, object]] = {
    "prefixes": {"prefix": "x"},
    "ranges": {"ranges": "x", "random": 50, "seed": 1},
    "cells": {"marginals": [["x"]]},
}


def released(
    sizes: dict[str, int], codes: np.ndarray, schedule: str, epsilon: str, delta: str, asked: list[str]
) -> tuple[FinishedRun, SparseHistogram]:
    """A release of the wide column's queries, and for `parts` of pairs of the others."""
    queries = [*(ASKED[kind] for kind in asked), *(others([*sizes][1:]) if schedule != "ordered" else [])]
    document = {"domain": sizes, "queries": queries}
    plan = plan_release(PlanRequest(queries=document, domain=None, epsilon=epsilon, delta=delta, schedule=schedule))
    names = plan.problem.domain.names
    table = codes[:, [list(sizes).index(name) for name in names]]
    counts = SparseHistogram(plan.problem.domain.shape, table, np.ones(len(table), dtype=np.int64))
    draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=SystemNoise())
    return assemble(plan, iterative_construction(draws, plan, SILENT), {}, private=True), counts


def kind_of(name: str) -> str:
    return "prefixes" if name.startswith("prefix") else "ranges" if name.startswith("range") else "cells"


Bars = dict[str, list[np.ndarray]]
"""By the kind of query, of every answer: whether its interval holds, its error bar, its error."""


def looked_at(release: FinishedRun, counts: SparseHistogram, found: Bars) -> None:
    """Add the answers about the wide column whose intervals are estimated."""
    names = release.plan.problem.domain.names
    for answers in release.answers:
        if [names[axis] for axis in answers.block.axes] != ["x"]:
            continue
        truth = answers.block.answer(counts) * float(answers.block.scale)
        intervals = answers.intervals
        own = (intervals.basis == ESTIMATE) & ~np.isnan(answers.error)
        holds = (intervals.lower <= truth + 1e-6) & (truth <= intervals.upper + 1e-6)
        rows = np.stack([holds.astype(float), answers.error, answers.estimate - truth])[:, own]
        found[kind_of(answers.block.name)].append(rows)


def line(found: Bars) -> str:
    shown = []
    for kind in found:
        holds, error, off = np.concatenate(found[kind], axis=1) if found[kind] else np.zeros((3, 0))
        if not len(off):
            shown.append(f"{kind} unbiased")
            continue
        width = np.sqrt(np.mean(error**2)) / max(float(np.sqrt(np.mean(off**2))), 1e-9)
        shown.append(f"{kind} {holds.mean():.3f} ({width:.2f})")
    return ", ".join(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=SETTINGS, default="set")
    parser.add_argument("--schedules", nargs="+", choices=("ordered", "parts"), default=["ordered", "parts"])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--asked", nargs="+", choices=ASKED, default=list(ASKED))
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    for schedule in given.schedules:
        whole: Bars = defaultdict(list)
        for kind in given.kinds:
            for cells, records, epsilon in SETTINGS[given.half]:
                found: Bars = defaultdict(list)
                for run in range(given.runs):
                    sizes, codes = made(kind, cells, records, SMALL, run)
                    looked_at(*released(sizes, codes, schedule, epsilon, given.delta, given.asked), found)
                print(f"{schedule} | {kind} {cells:,}, {records:,} records, eps {epsilon} | {line(found)}", flush=True)
                for name, parts in found.items():
                    whole[name] += parts
        print(f"{schedule} | all | {line(whole)}", flush=True)


if __name__ == "__main__":
    main()
