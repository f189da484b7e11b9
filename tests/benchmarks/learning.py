"""Learned bounds and labels: their errors over the best fixed ones, beside other libraries, and what they cost.

python tests/benchmarks/learning.py bounds [--rows 100000] [--runs 60] [--eps 0.1] [--columns reporting fresh setting]
python tests/benchmarks/learning.py beside [--peer PYTHON]
python tests/benchmarks/learning.py table [--rows 10000000] [--persons 1000000] [--labels 100000]

bounds: made-up columns. A mean is the sum of values clipped to the bounds, with discrete Laplace noise of epsilon, over
the rows; its error is the root of bias squared plus noise variance, where what is lost on either side is added up.
Quantiles (.1, .25, .5, .75, .9) are interpolated in ten bins with noise of epsilon; their error is the mean distance in
ranks. Learned bounds cost a further epsilon; their bins are cut at these quantiles, too, as a release cuts them that
asks them (asked), or are the ten tenths alone (tenths). The best fixed bounds are
the pair of edges of least error, of a grid sixteen times as fine as doublings, which nobody could know. Shown are the
median and the ninth decile over the runs, over the best. Bar: 1.3. What is set in `mechanisms/learning.py` was set on
the columns `setting`; those of `fresh` were made up after it was.

beside: recall of labels of 2, 5, 10 and 50 persons at epsilon 1 and delta 1e-6, one label a person, and the noise of a
table of 100 cells with K = 4. --peer: a Python that has `opendp` and `pipeline-dp`, which are skipped where they are
absent. Persons: each counts in at most 4 cells once. Rows: each has at most 4, anywhere.

table: CPU seconds and peak memory of `dpqr domain --learn` of a column of texts, of a release of its marginal with the
learned labels, and of one with all labels listed; a Parquet file in a temporary folder. Bars: the first two together at
most twice the last, 1 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpqr.kernel.accountants.analytic import largest_squared_mu
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import NoiseSource, SeededNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.learning import LearnedCells, geometric_grid, grid_counts
from dpqr.mechanisms.noisy_answers import GaussianAnswers
from dpqr.releases.learned.learning import DOUBLINGS
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

Columns = dict[str, np.ndarray]
QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
BINS = 10
SIZES, LABELS, TABLES = (2, 5, 10, 50), 100_000, 50


def reporting(rows: int, draw: np.random.Generator) -> Columns:
    """Ten columns, of typical and of awkward kinds."""
    return {
        "age": np.floor(draw.beta(2, 3, rows) * 100),
        "income": np.exp(draw.normal(10, 0.6, rows)),
        "wealth": np.exp(draw.normal(10, 1.5, rows)),
        "duration": draw.exponential(90, rows),
        "visits": draw.poisson(2, rows).astype(float),
        "temperature": draw.normal(-5, 10, rows),
        "balance": draw.standard_t(3, rows) * 1000,
        "pareto": draw.pareto(1.5, rows) * 10,
        "constant": np.full(rows, 37.0),
        "share": draw.integers(0, 101, rows).astype(float),
    }


def fresh(rows: int, draw: np.random.Generator) -> Columns:
    """Ten columns that nothing was set on."""
    return {
        "rent": draw.gamma(6, 140, rows),
        "claims": np.where(draw.random(rows) < 0.85, 0.0, np.exp(draw.normal(7.5, 1.2, rows))),
        "turnover": np.exp(draw.normal(9, 2, rows)),
        "distance": draw.pareto(1.8, rows) * 40,
        "children": np.minimum(draw.geometric(0.45, rows) - 1, 12).astype(float),
        "score": np.floor(draw.normal(500, 100, rows)).clip(200, 800),
        "loss": -draw.exponential(2500, rows),
        "change": draw.standard_t(2.5, rows) * 20,
        "two groups": np.where(draw.random(rows) < 0.9, draw.normal(30, 5, rows), draw.normal(3000, 300, rows)),
        "few": np.floor(np.exp(draw.normal(3, 1, rows))),
    }


def setting(rows: int, draw: np.random.Generator) -> Columns:
    """The columns on which the grid's steps and the price of a cell were chosen."""
    tails = {f"pareto {tail}": draw.pareto(tail, rows) * 20 for tail in (1.1, 1.4, 2.0, 3.0)}
    return tails | {
        "weibull": draw.weibull(0.7, rows) * 300,
        "gamma": draw.gamma(2, 500, rows),
        "lognormal": np.exp(draw.normal(7, 1, rows)),
        "laplace": draw.laplace(3, 40, rows),
        "mostly 0": np.where(draw.random(rows) < 0.9, 0, np.exp(draw.normal(8, 1, rows))),
        "negative": draw.uniform(-400, -100, rows),
        "narrow": draw.normal(1000, 10, rows),
        "geometric": draw.geometric(0.3, rows).astype(float),
        "two values": draw.integers(0, 2, rows).astype(float),
        "student 2": draw.standard_t(2, rows) * 100 + 50,
    }


COLUMNS: dict[str, Callable[[int, np.random.Generator], Columns]] = {
    "reporting": reporting,
    "fresh": fresh,
    "setting": setting,
}


class Column:
    """A column, its grids, and the errors of figures with given bounds."""

    def __init__(self, values: np.ndarray, epsilon: Fraction) -> None:
        self.values, self.epsilon = np.sort(values), float(epsilon)
        self.whole = bool((values == np.floor(values)).all())
        self.sums = np.concatenate([[0.0], np.cumsum(self.values)])
        self.grid = geometric_grid(Fraction(1), DOUBLINGS, whole=self.whole)
        self.draw = grid_counts(0, len(self.grid) - 1, epsilon, PrivacyUnit())
        self.counts = np.histogram(values, list(map(float, self.grid)))[0]

    def learn(self, noise: NoiseSource) -> LearnedCells:
        counts = self.counts + self.draw.law.sample(len(self.counts), noise)
        return LearnedCells(edges=self.grid, counts=counts, scale=float(self.draw.scale), whole=self.whole)

    def fixed(self) -> np.ndarray:
        """Bounds to choose from with hindsight."""
        fine = np.array([2.0**power * (1 + part / 16) for power in range(-4, DOUBLINGS) for part in range(16)])
        edges = np.concatenate([-fine[::-1], [0.0], fine])
        low, high = min(0.0, 1.2 * self.values[0]) - 1, max(0.0, 1.2 * self.values[-1]) + 1
        edges = edges[(edges >= low) & (edges <= high)]
        return np.unique(np.ceil(edges)) if self.whole else edges

    def mean_errors(self, low: Any, high: Any) -> Any:
        left, right = np.searchsorted(self.values, low), np.searchsorted(self.values, high)
        lost = low * left - self.sums[left] + self.sums[-1] - self.sums[right] - high * (len(self.values) - right)
        noise = math.sqrt(2) / self.epsilon * np.maximum(np.abs(low), np.abs(high))
        return np.hypot(lost, noise) / len(self.values)

    def best_mean(self) -> float:
        edges = self.fixed()
        return min(float(self.mean_errors(low, edges[place + 1 :]).min()) for place, low in enumerate(edges[:-1]))

    def quantile_error(self, edges: np.ndarray, noise: np.random.Generator | None) -> float:
        """Of bins between these edges, the outermost of which hold what lies beyond."""
        ends = edges + np.where(np.arange(len(edges)) == len(edges) - 1, self.whole, 0)
        inner = np.searchsorted(self.values, ends[1:-1])
        counts = np.diff(np.concatenate([[0], inner, [len(self.values)]])).astype(float)
        if noise is not None:
            counts += noise.laplace(scale=1 / self.epsilon, size=len(counts))
        reached = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0))]))
        found = np.interp(QUANTILES * reached[-1], reached, ends)
        found = np.floor(found) if self.whole else found
        below = np.searchsorted(self.values, found) / len(self.values)
        upto = np.searchsorted(self.values, found, side="right") / len(self.values)
        return float(np.maximum(0, np.maximum(below - QUANTILES, QUANTILES - upto)).mean())

    def equal_bins(self, low: float, high: float) -> np.ndarray:
        bins = min(BINS, int(high - low) + 1) if self.whole else BINS
        edges = np.linspace(low, high, bins + 1)
        return np.unique(np.ceil(edges)) if self.whole else edges

    def best_quantiles(self) -> float:
        """With equal bins, noise aside; bounds every quarter of a doubling, for time."""
        edges = self.fixed()
        edges = np.unique(np.concatenate([edges[::4], edges[-1:]]))
        inside = edges[(edges >= self.values[0] - abs(self.values[0])) & (edges <= 2 * np.quantile(self.values, 0.99))]
        edges = edges if len(inside) < 2 else inside
        pairs = [(low, high) for place, low in enumerate(edges) for high in edges[place + 1 :]]
        return min(self.quantile_error(self.equal_bins(low, high), None) for low, high in pairs)


def bounds(options: argparse.Namespace) -> None:
    epsilon = Fraction(str(options.eps))
    for kind in options.columns:
        print(
            f"\n{kind:<14} {'mean: best':>10} {'median':>7} {'9th':>6}   "
            f"{'rank: best':>10} {'asked':>8} {'9th':>8} {'tenths':>8}"
        )
        ratios = []
        noise, drawn = SeededNoise(options.seed), np.random.default_rng(options.seed)
        for name, values in COLUMNS[kind](options.rows, np.random.default_rng(options.seed)).items():
            column = Column(values, epsilon)
            best, best_rank, means = column.best_mean(), column.best_quantiles(), list[float]()
            ranks: dict[str, list[float]] = {"asked": [], "tenths": []}
            for _ in range(options.runs):
                cells = column.learn(noise)
                low, high = map(float, cells.bounds())
                means.append(float(column.mean_errors(low, high)) / best)
                high = max(high, low + (1 if column.whole else 1e-9))
                tenths = cells.cuts([Fraction(part, BINS) for part in range(1, BINS)])
                asked = cells.cuts([Fraction(str(part)) for part in QUANTILES])
                for how, cuts in (("asked", {*column.equal_bins(low, high), *asked}), ("tenths", {*tenths})):
                    inner = sorted(cut for cut in map(float, cuts) if low < cut < high)
                    ranks[how].append(column.quantile_error(np.array([low, *inner, high]), drawn))
            ratios.append(float(np.median(means)))
            print(
                f"{name:<14} {best:>10.4g} {ratios[-1]:>7.2f} {np.quantile(means, 0.9):>6.2f}   "
                f"{best_rank:>10.4f} {np.median(ranks['asked']):>8.4f} {np.quantile(ranks['asked'], 0.9):>8.4f} "
                f"{np.median(ranks['tenths']):>8.4f}",
                flush=True,
            )
        print(f"{'geometric mean':<25} {math.exp(float(np.mean(np.log(ratios)))):>7.2f}, largest {max(ratios):.2f}")


def beside(options: argparse.Namespace) -> None:
    budget = PrivacyBudget.parse("1", "1e-6")
    law = KeepingLaw(budget.epsilon, budget.delta)
    draws = SeededNoise(options.seed)
    recall = {str(size): float(law.sample(np.full(LABELS, size), draws).mean()) for size in SIZES}
    unit = PrivacyUnit(columns=("person",), rows=4)
    cells = (Factor.identity(0, 100),)
    deviations = {}
    for what, block in (
        ("persons", QueryBlock(name="persons", factors=cells, most_cells=4)),
        ("rows", QueryBlock(name="rows", factors=cells)),
    ):
        variance = sensitivity((block,), Norm.L2_SQUARED, unit) / largest_squared_mu(budget)
        deviations[what] = GaussianAnswers(blocks=(block,), unit=unit, variance=variance, rounded=True).law.deviation
    found: dict[str, Any] = {"optimal law": {"recall": {str(size): float(law.probability(size)) for size in SIZES}}}
    found["dpqr"] = {"recall": recall} | deviations
    script = [str(Path(__file__).with_name("learning_peer.py")), "1", "1e-6", "4", str(TABLES), str(LABELS)]
    peer = [options.peer or sys.executable, *script, ",".join(map(str, SIZES))]
    found |= json.loads(subprocess.run(peer, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    print(f"{'':<12} " + " ".join(f"{f'{size} persons':>11}" for size in SIZES) + f" {'persons':>10} {'rows':>10}")
    for name, each in found.items():
        if each is None:
            print(f"{name:<12} SKIPPED: not installed in {peer[0]}; --peer names a Python that has it")
            continue
        print(
            f"{name:<12} "
            + " ".join(f"{each['recall'][str(size)]:>11.5f}" for size in SIZES)
            + "".join(f" {each[what]:>10.2f}" for what in ("persons", "rows") if what in each)
        )


def table(options: argparse.Namespace) -> None:
    draw = np.random.default_rng(options.seed)
    names = pa.array([f"diagnosis {number:06d}" for number in range(options.labels)])
    with TemporaryDirectory() as name:
        folder = Path(name)
        schema = pa.schema([("person", pa.int64()), ("diagnosis", pa.string())])
        with pq.ParquetWriter(folder / "t.parquet", schema) as writer:
            for start in range(0, options.rows, 10**6):
                size = min(10**6, options.rows - start)
                # Half of the rows have common labels, half any.
                common = np.minimum(draw.pareto(1.0, size) * 20, options.labels - 1).astype(np.int64)
                chosen = np.where(draw.random(size) < 0.5, common, draw.integers(0, options.labels, size))
                people = draw.integers(0, options.persons, size)
                writer.write_table(pa.table({"person": people, "diagnosis": names.take(pa.array(chosen))}, schema))
        listed = {"name": "diagnosis", "type": "string", "constraints": {"enum": names.to_pylist()}}
        (folder / "listed.json").write_text(json.dumps({"fields": [listed]}))
        (folder / "q.json").write_text(json.dumps({"queries": [{"marginals": [["diagnosis"]]}]}))
        paid = ["--eps", "1", "--delta", "1e-6", "--unit", "person", "--max-rows", "10"]
        learn = ["domain", "t.parquet", "--learn", "diagnosis", "--max-labels", "3", *paid, "--out", "learned.json"]
        learning = measured("labels learned", learn, folder)
        release = ["release", "t.parquet", "--queries", "q.json", *paid]
        after = measured(
            "release with learned labels", [*release, "--domain", "learned.json", "--out", "after"], folder
        )
        before = measured(
            f"release with {options.labels:,} listed labels",
            [*release, "--domain", "listed.json", "--out", "before"],
            folder,
        )
        print(f"learned over listed: {(learning + after) / before:.2f} (bar 2)")


def measured(what: str, arguments: list[str], folder: Path) -> float:
    """Run a command of dpqr in a process of its own, and print what it took; CPU seconds."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        os.execv(sys.executable, [sys.executable, "-m", "dpqr", *arguments])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{what}: dpqr ended with status {status}")
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{what:<36} {cpu:6.1f} s CPU, peak {usage.ru_maxrss / 1024:6.0f} MB", flush=True)
    return cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["bounds", "beside", "table"])
    parser.add_argument("--rows", type=int)
    for option, default in (("--runs", 60), ("--seed", 1), ("--persons", 10**6), ("--labels", 10**5)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=["reporting", "fresh"])
    parser.add_argument("--peer", metavar="PYTHON")
    options = parser.parse_args()
    options.rows = options.rows or {"bounds": 10**5, "beside": 0, "table": 10**7}[options.what]
    {"bounds": bounds, "beside": beside, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
