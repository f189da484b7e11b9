"""One selection from very many conjunctions: all of them scored, against searched by bounds, side by side.

python tests/benchmarks/selection.py [--queries 100000 1000000 4000000] [--eps 0.001 0.1 1 10] [--attributes 16]
    [--size 2] [--rounds 20] [--records 1000000]

Each line is a release by `--schedule queries` on a made-up table; at six of its rounds the same selection is made
either way, with either distinguisher, three times: median processor milliseconds over all, the hypothesis' answers
included. "scored" is how many queries the search worked out, "sums" how many sums of cells its closer bounds took
beside the first ones, "index" the seconds of processor time that sorting the queries takes, once a run. (These counts
depend on the counts of records: only a benchmark on made-up data may tell them.)
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from replay import conjunctions, table

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.mechanisms.box_scores import BoxSearch
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies import candidates
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan

KINDS = {"exponential": ExponentialChoice, "permute-and-flip": PermuteAndFlipChoice}
LINEAR, SEARCHED = 2**62, 0
MOMENTS, REPEATS = 6, 3


@dataclass
class Recorder:
    """An update rule that keeps every hypothesis."""

    rule: Any
    hypotheses: list[Any] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)

    def update(self, *given: Any) -> Any:
        self.hypotheses.append(self.rule.update(*given))
        return self.hypotheses[-1]


class Tally:
    """Counts what a search does."""

    def __init__(self) -> None:
        self.scored = self.sums = 0
        values, started = BoxSearch._values, BoxSearch._work

        def counted(search: BoxSearch, family: int, places: np.ndarray) -> np.ndarray:
            self.scored += len(places)
            return values(search, family, places)

        def worked(search: BoxSearch, pieces: Any, ids: np.ndarray) -> int:
            work = started(search, pieces, ids)
            self.sums += work
            return work

        BoxSearch._values, BoxSearch._work = counted, worked


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, nargs="+", default=[10**5, 10**6, 4 * 10**6])
    parser.add_argument("--eps", nargs="+", default=["0.001", "0.1", "1", "10"])
    for name, value in {"attributes": 16, "size": 2, "rounds": 20, "records": 10**6}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    shape = [given.size] * given.attributes
    made = table(shape)
    counts = np.random.default_rng(0).poisson(made * (given.records / made.sum())).astype(np.int64)
    tally = Tally()
    print(f"|X| {counts.size:,}; milliseconds of processor time: all scored, searched; then what the search did")
    for queries in given.queries:
        for eps in given.eps:
            with tempfile.TemporaryDirectory() as folder:
                told(*released(Path(folder), shape, queries, eps, given.rounds, counts), eps, counts, tally)


def released(
    folder: Path, shape: list[int], queries: int, eps: str, rounds: int, counts: np.ndarray
) -> tuple[Plan, list[Any]]:
    """The plan, and what the hypothesis was in every round."""
    entries = conjunctions(folder, shape, queries)
    file = folder / "q.json"
    file.write_text(json.dumps({"domain": {f"a{i}": size for i, size in enumerate(shape)}, "queries": entries}))
    plan = plan_release(PlanRequest(queries=str(file), epsilon=eps, schedule="queries", rounds=rounds))
    recorder = Recorder(plan.roles.update)
    plan = replace(plan, roles=replace(plan.roles, update=recorder))
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=make_filter(plan), noise=SystemNoise())
    iterative_construction(draws, plan, SILENT)
    return plan, recorder.hypotheses


def told(plan: Plan, hypotheses: list[Any], eps: str, counts: np.ndarray, tally: Tally) -> None:
    blocks, unit = plan.problem.workload.blocks, plan.problem.unit
    listed, histogram = QueryCandidates(blocks=blocks, unit=unit), DenseHistogram(counts)
    picked = [hypotheses[place] for place in np.linspace(0, len(hypotheses) - 1, MOMENTS).astype(int)]
    times: dict[tuple[str, int], list[float]] = {}
    figures: dict[str, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
    for way in (LINEAR, SEARCHED):
        candidates.FEWEST_SEARCHED = way
        candidates._index.cache_clear()
        began = time.process_time()
        candidates._index(blocks)
        index = time.process_time() - began
        for kind, hypothesis in [(kind, one) for kind in KINDS for one in picked for _ in range(REPEATS + (way > 0))]:
            tally.scored = tally.sums = 0
            fresh = replace(hypothesis, _cache={}, _sums={})
            began = time.process_time()
            choice = KINDS[kind](scores=listed.scores(fresh), unit=unit, epsilon=Fraction(plan.price("selection").pure))
            choice.sample(histogram, SystemNoise())
            times.setdefault((kind, way), []).append(1e3 * (time.process_time() - began))
            figures[kind].append((tally.scored, tally.sums))
    for kind in KINDS:
        linear, searched = (float(np.median(times[kind, way])) for way in (LINEAR, SEARCHED))
        scored, sums = np.median(figures[kind][-len(times[kind, SEARCHED]) :], axis=0).astype(int)
        case = f"|Q| {len(listed):>9,}  eps {eps:>6}  {kind:16}"
        taken = f"{linear:7.1f}  {searched:6.1f}  ({linear / searched:5.1f} x)"
        print(f"{case}  {taken}  scored {scored:>7,}  sums {sums:>9,}  index {index:.2f} s", flush=True)


if __name__ == "__main__":
    main()
