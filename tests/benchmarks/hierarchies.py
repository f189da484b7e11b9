"""Counts at every level of a hierarchy, crossed with sex: a whole command-line release against its true counts.

    python tests/benchmarks/hierarchies.py [even uneven deep] [--leaves 100000] [--rows 1000000] [--eps 1] [--answers]
    python tests/benchmarks/hierarchies.py even --leaves 97336 --weights 1 1 1 0.0265
    python tests/benchmarks/hierarchies.py [even uneven deep] [--leaves 100000] --least

even: three levels above the leaves, all of about the same branching, one node at the top. uneven: the same numbers of
nodes, leaves and nodes to parents at random. deep: every node of eleven levels above has two or three children. Leaves'
shares of the records are lognormal. error: mean absolute error of a level's answers, in records. independent: of every
level measured by itself at an equal share of the budget, in closed form. whole: of `--views`, whole counts that add up.
--answers: all answers weigh the same, on whichever level; by default levels above the lowest do. --weights: of the
levels, the highest first, beside what the default split cares for them.
Last line: CPU seconds and peak memory of the run, files among them.

--least: without a run, the least that the largest ratio of a level can be, over all weights of levels, with least
squares over all of them: of expected root mean square errors to those of independent levels with an equal split. Where
all nodes of a level have equally many children, also what no Gaussian noise on any linear queries, with any unbiased
linear estimate from them, can go below at the same rho.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scale import timed
from scipy.optimize import minimize

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.workload.trees import NestedTree, Nesting

DEPTHS = {"even": 3, "uneven": 3, "deep": 11}


def tree(case: str, leaves: int, random: np.random.Generator) -> Nesting:
    """From one node at the top down to the leaves."""
    depth = DEPTHS[case]
    counts = [round(leaves ** (level / depth)) for level in range(depth + 1)]
    parents = []
    for above, below in pairwise(counts):
        if case == "uneven":
            parents.append(np.concatenate([np.arange(above), random.integers(0, above, below - above)]))
        else:
            parents.append(np.arange(below) * above // below)
    return Nesting(leaves, tuple(parents))


def entries(nesting: Nesting, given: argparse.Namespace) -> list[dict[str, object]]:
    """One for all levels, or one a level with its weight."""
    if not given.answers and not given.weights:
        return [{"hierarchy": "place", "by": ["sex"]}]
    height = len(nesting.counts) - 1
    names = [f"level {height - place}" for place in range(height)] + ["place"]
    alike = [count / nesting.size * (1 if count == nesting.size else 8) for count in nesting.counts]
    weights = alike if given.answers else given.weights
    asked = zip(names, weights, strict=True)
    return [{"hierarchy": "place", "levels": [name], "by": ["sex"], "weight": weight} for name, weight in asked]


def written(folder: Path, nesting: Nesting, rows: int, asked: list, random: np.random.Generator) -> list[np.ndarray]:
    """The three documents and the table; the true counts of every level, shape (nodes, 2)."""
    names = [[f"n{level}.{node}" for node in range(count)] for level, count in enumerate(nesting.counts)]
    children = [name for level in names[1:] for name in level]
    above = [names[level][node] for level, parents in enumerate(nesting.parents) for node in parents.tolist()]
    pq.write_table(pa.table({"child": children, "parent": above}), folder / "codes.parquet")
    place = {"name": "place", "type": "string", "parent": {"file": "codes.parquet"}}
    sexes = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
    (folder / "d.json").write_text(json.dumps({"fields": [place, sexes]}))
    (folder / "q.json").write_text(json.dumps({"domain": "d.json", "queries": asked}))
    shares = random.lognormal(0, 1.5, nesting.size)
    places, sex = random.choice(nesting.size, rows, p=shares / shares.sum()), random.integers(0, 2, rows)
    columns = (pa.DictionaryArray.from_arrays(places, names[-1]), pa.DictionaryArray.from_arrays(sex, ["f", "m"]))
    pq.write_table(pa.table(columns, names=["place", "sex"]), folder / "t.parquet")
    return [
        np.stack([np.bincount(groups[places][sex == code], minlength=count) for code in (0, 1)], axis=1)
        for groups, count in zip(nesting.groups, nesting.counts, strict=True)
    ]


def run(case: str, given: argparse.Namespace) -> None:
    random = np.random.default_rng(given.seed)
    nesting = tree(case, given.leaves, random)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = written(folder, nesting, given.rows, entries(nesting, given), random)
        command = ["release", str(folder / "t.parquet"), "--queries", str(folder / "q.json"), "--eps", given.eps]
        _, cpu, peak = timed([*command, "--out", str(folder / "out"), "--format", "parquet", "--views", "5"])
        views = pq.read_table(folder / "out" / "views.parquet")
    tables = {}
    for name in ("answer", "integer"):
        parts = np.split(views[name].to_numpy(), np.cumsum([2 * count for count in nesting.counts])[:-1])
        tables[name] = [part.reshape(2, -1).T for part in parts]
    report(case, truth, tables["answer"], tables["integer"], Fraction(given.eps))
    print(f"{case}: {cpu:.1f} CPU seconds, {peak:.0f} MB\n", flush=True)


def least(case: str, given: argparse.Namespace) -> None:
    """Descent on a smooth maximum, from equal weights; the figure printed is the maximum itself."""
    nesting = tree(case, given.leaves, np.random.default_rng(given.seed))
    levels = len(nesting.counts)

    def ratios(logs: np.ndarray, power: int) -> np.ndarray:
        weights = np.rint(np.exp(logs - logs.max()) * 1e9).astype(int)
        found = NestedTree(nesting, tuple(weights.clip(1).tolist()))
        means = np.array([found.level_variances(level).mean() for level in range(levels)])
        moved = float(weights.sum()) ** 2 / levels**2 if power == 1 else float(weights @ weights.astype(float)) / levels
        return np.sqrt(means * moved)

    def smooth(logs: np.ndarray, power: int) -> float:
        return float(np.log(np.exp(200 * np.log(ratios(logs, power))).sum()) / 200)

    for power, name in ((1, "epsilon"), (2, "rho")):
        best = ratios(minimize(smooth, np.zeros(levels), args=(power,), method="Powell").x, power)
        print(f"{case}: {name}: the largest ratio is {best.max():.3f}; all: {best.round(3).tolist()}", flush=True)
    if all(len(set(np.bincount(parents).tolist())) == 1 for parents in nesting.parents):
        print(f"{case}: rho: no strategy goes below {bound(np.array(nesting.counts, dtype=float)):.4f}", flush=True)


def bound(nodes: np.ndarray) -> float:
    """A lower bound on the largest ratio of a level of an even tree, at the best weights of levels that add up to 1.

    The largest mean square error of a level is at least any weighted mean of them. That is the total square error of
    the weighted queries W, at least (sum of the singular values of W)^2 / leaves for a strategy of L2 sensitivity 1
    under unit noise (Li and Miklau 2013, Optimal error of query sets under the differentially-private matrix
    mechanism). Contrasts between the nodes of a level under one parent are eigenvectors of W^T W, so its eigenvalues
    are known. Independent levels with an equal split have the mean square error `len(nodes)`.
    """
    multiple = np.diff(nodes, prepend=0.0)

    def below(logs: np.ndarray) -> float:
        weights = np.exp(logs - logs.max())
        inner = np.cumsum((weights / weights.sum() / nodes**2)[::-1])[::-1]  # eigenvalues over the leaves
        return -float(multiple @ np.sqrt(inner))

    return -float(minimize(below, np.zeros(len(nodes)), method="Powell").fun) / float(np.sqrt(len(nodes)))


def report(case: str, truth: list, measured: list, whole: list, epsilon: Fraction) -> None:
    apart = DiscreteLaplace(len(truth) / epsilon).mean_size
    print(f"{'case':<7} {'nodes':>7} {'error':>8} {'independent':>12} {'ratio':>6} {'whole':>8} {'ratio':>6}")
    errors = []
    for exact, answers, rounded in zip(truth, measured, whole, strict=True):
        errors.append([float(np.abs(each - exact).mean()) for each in (answers, rounded)])
        line(case, f"{len(exact):,}", *errors[-1], apart)
    line(case, "answers", *np.average(errors, axis=0, weights=[len(table) for table in truth]), apart)


def line(case: str, nodes: str, error: float, whole: float, apart: float) -> None:
    figures = f"{error:>8.3f} {apart:>12.3f} {error / apart:>6.2f} {whole:>8.3f} {whole / apart:>6.2f}"
    print(f"{case:<7} {nodes:>7} {figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(DEPTHS), metavar="case")
    parser.add_argument("--leaves", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--eps", default="1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--weights", type=float, nargs="+")
    parser.add_argument("--least", action="store_true")
    given = parser.parse_args()
    for case in given.cases:
        (least if given.least else run)(case, given)


if __name__ == "__main__":
    main()
