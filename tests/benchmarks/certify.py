"""Bounds of --certify over the true errors, how often all of them hold, and what --certify and --error-bars cost.

python tests/benchmarks/certify.py [--data adult-coded.csv] [--runs 10] [--eps 0.1 1 10] [--delta 1e-9] [--share 0.05]
python tests/benchmarks/certify.py --hold 200 [--eps 0.1 1 10] [--delta 1e-9]

Adult: all 91 pairs of 14 columns. The others are made-up tables of the same seed in every run. For each table and
epsilon: the bound of the mean over the true mean, each block's bound over its truth (median and worst over blocks),
the share of releases in which all bounds hold, at confidence 0.95, and the mean L1 error, with --certify SHARE and with
the default, over that of --error-bars free, over the same seeds. Bars: 1.03 and 1.01. With --hold only how often all
bounds hold, over releases of as many made-up tables of all shapes (those of `error_bars.py --half report`), and the
median over releases of the bounds over the truth.
Tables are public or made up; errors against their true counts are shown for that reason only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.releases.loop import SILENT
from dpqr.releases.planning import read_documents
from dpqr.releases.release import release
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.report.evaluation import exact_answers
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

sys.path.insert(0, str(Path(__file__).parent))
from adult import OTHERS, SIZES
from error_bars import made, released

SHAPES = {"chain": 0.75, "factor": 0.5, "independent": 0.0}
"""Made-up tables: how much a column follows the one before it, or one hidden column."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--eps", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--share", default="0.05")
    parser.add_argument("--hold", type=int)
    given = parser.parse_args()
    if given.hold:
        print(f"{'eps':>5} {'n':>5} {'hold':>6} {'mean':>6} {'blocks':>7}")
        for epsilon in given.eps:
            print(f"{epsilon:>5} {given.hold:>5} {hold_line(epsilon, given)}", flush=True)
        return
    print(f"{'table':>12} {'eps':>5} {'mean':>6} {'blocks':>7} {'worst':>6} {'hold':>6} {'certify':>8} {'bars':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, table, sizes in tables(given, Path(folder)):
            if given.only and name not in given.only:
                continue
            for epsilon in given.eps:
                print(f"{name:>12} {epsilon:>5} {line(table, sizes, epsilon, given)}", flush=True)


def tables(given: argparse.Namespace, folder: Path):
    """Names, files and sizes of columns."""
    if given.data:
        yield "adult", given.data, SIZES | OTHERS
    for name, strength in SHAPES.items():
        noise, columns = np.random.default_rng(1), {}
        hidden = noise.random(given.records)
        sizes = {f"c{place}": size for place, size in enumerate((2, 3, 5, 8, 12, 4, 20, 6, 30, 9))}
        for column, size in sizes.items():
            fresh = noise.random(given.records)
            values = np.where(noise.random(given.records) < strength, hidden, fresh)
            columns[column] = np.minimum((size * values**1.5).astype(int), size - 1)
            hidden = values if name == "chain" else hidden
        path = folder / f"{name}.csv"
        np.savetxt(path, np.stack(list(columns.values()), 1), "%d", ",", header=",".join(sizes), comments="")
        yield name, path, sizes


def line(table: Path, sizes: dict[str, int], epsilon: str, given: argparse.Namespace) -> str:
    queries = {"domain": sizes, "queries": [{"marginals": {"ways": 2}}]}
    plan = PlanRequest(queries=queries, epsilon=epsilon, delta=given.delta, error_bars="free")
    source = TableSource(paths=(str(table),))
    truth = exact_answers(source, read_documents(queries, None), Limits()).answers
    ratios, means, held, errors = [], [], [], {"free": [], "certify": [], "default": []}
    for seed in range(given.runs):
        plans = {
            "free": plan,
            "certify": replace(plan, error_bars=None, certify=given.share),
            "default": replace(plan, error_bars=None),
        }
        for name, asked in plans.items():
            made = release(ReleaseRequest(source=source, plan=asked), SILENT, noise=SeededNoise(seed))
            wrong = block_errors(made, truth)
            errors[name].append(wrong.mean())
            if made.bounds is not None:
                bounds = np.array([made.bounds.blocks[each.block.name] for each in made.answers])
                ratios.append(bounds / wrong)
                means.append(made.bounds.mean / wrong.mean())
                held.append((bounds >= wrong).all() and made.bounds.mean >= wrong.mean())
    mean, each = np.mean(means), np.concatenate(ratios)
    free, certify, bars = (np.array(errors[name]) for name in errors)
    figures = f"{mean:>6.3f} {np.median(each):>7.3f} {each.max():>6.2f} {np.mean(held):>6.2f}"
    spread = np.std(bars / free - 1) / given.runs**0.5
    return f"{figures} {certify.mean() / free.mean():>8.3f} {bars.mean() / free.mean():>6.3f} +-{spread:.3f}"


def hold_line(epsilon: str, given: argparse.Namespace) -> str:
    """How often all bounds of a release held, and the median bound of the mean and of blocks over the truth."""
    held, means, each = [], [], []
    for number in range(given.hold):
        release, counts, _, _ = released(made(2 * number + 1), epsilon, given.delta, {"certify": given.share})
        wrong = block_errors(release, [one.block.answer(counts) for one in release.answers])
        bounds = np.array([release.bounds.blocks[one.block.name] for one in release.answers])
        held.append((bounds >= wrong).all() and release.bounds.mean >= wrong.mean())
        if wrong.min() > 0:
            means.append(release.bounds.mean / wrong.mean())
            each.append(np.median(bounds / wrong))
    return f"{np.mean(held):>6.3f} {np.median(means):>6.3f} {np.median(each):>7.3f}"


def block_errors(made: FinishedRun, truth: list[np.ndarray]) -> np.ndarray:
    """True L1 errors by block, in records."""
    pairs = zip(made.answers, truth, strict=True)
    return np.array([np.abs(each.estimate - known).sum() for each, known in pairs])


if __name__ == "__main__":
    main()
