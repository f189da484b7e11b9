"""The source's loop: what its variants certify, beside true errors, the fixed plans, and the default schedule.

python tests/benchmarks/theory.py [--case cells sizes toy worst adult norm] [--runs 20] [--first 0] [--each]
    [--update ...] [--n ...]

cells: 64 cells, 200 random predicates, n = 4 * 10^9, eps 1, delta 0, replace. Bars: certified alpha at most .0008 for
multiplicative weights and .0001 for the perceptron. sizes: the same at n = 10^5, 10^6, 10^7, the fixed sharp plan's
alpha, and the true largest error of the default schedule. toy: the median rule, 8 cells, 20 predicates, n = 10^5.
worst: all records in one cell, 8 cells, n = 20,000 (median 5,000): in how many runs all certificates hold (1 - beta).
adult: all marginals of 2 columns, of the first 4 and 6 coded columns (--data FILE --columns ...), delta 1e-9; of more
columns by --update maximum-entropy alone.
norm: what a bought ||x||_2 could give the perceptron at best: as if its exact value were known for free. 64 cells, from
uneven to nearly even, at each n: the fixed sharp plan's alpha and the stages' certain alpha, by the public bound and by
the exact norm; beside what the stages certify (median of 5 runs).
--half set: other tables (seeds) than those that are reported. --each: a line a run, so that the runs may be made in
pieces: --first says the number of the first.
All tables are public or made up. Noise is seeded.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
import tempfile
import time
from fractions import Fraction
from functools import partialmethod
from pathlib import Path
from unittest.mock import patch

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis
from dpqr.releases import loop
from dpqr.releases.draws import Draws
from dpqr.releases.forecast.exact_errors import public_cells
from dpqr.releases.forecast.simulation import PublicTable
from dpqr.releases.loop import SILENT
from dpqr.releases.release import plan_without_output_checks
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.block import QueryBlock

sys.path.insert(0, str(Path(__file__).parent))

RULES = ("multiplicative-weights", "perceptron", "median", "maximum-entropy")
SEEDS = {"report": 5, "set": 11}
HEAD = f"{'case':<9} {'update':<23} {'n':>11} {'certified':>10} {'worst':>10} {'true':>10}  rounds     hold      s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", nargs="+", default=["cells", "sizes", "toy", "worst"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--worst-runs", type=int, default=500)
    parser.add_argument("--update", nargs="+", default=list(RULES[:2]))
    parser.add_argument("--variant", default="anytime")
    parser.add_argument("--alpha")
    parser.add_argument("--n", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 6])
    parser.add_argument("--half", choices=list(SEEDS), default="report")
    given = parser.parse_args()
    print(HEAD)
    for case in given.case:
        with tempfile.TemporaryDirectory() as folder:
            CASES[case](given, Path(folder))


def cells(given: argparse.Namespace, folder: Path, n: int = 4 * 10**9) -> ReleaseRequest:
    asked = predicates(folder, 64, 200, n, SEEDS[given.half])
    for update in given.update:
        show("cells", theory(asked, given, update), given.runs, given)
    return asked


def sizes(given: argparse.Namespace, folder: Path) -> None:
    for n in given.n:
        asked = cells(given, folder, n)
        for update in given.update:
            print(f"{'':<9} fixed sharp plan, {update}: alpha {fixed(theory(asked, given, update))}", flush=True)
        show("default", asked, given.runs, given, name="default schedule")


def toy(given: argparse.Namespace, folder: Path) -> None:
    asked = predicates(folder, 8, 20, 10**5, SEEDS[given.half])
    show("toy", theory(asked, given, "median"), given.runs, given)


def worst(given: argparse.Namespace, folder: Path) -> None:
    """The largest potential that a table can have; the rules of --update, and the median rule."""
    for update, n in zip(RULES, (20_000, 20_000, 5_000, 20_000), strict=True):  # a small net for the median rule
        if update not in (*given.update, "median"):
            continue
        asked = predicates(folder, 8, 20, n, SEEDS[given.half], point=True)
        show("worst", theory(asked, given, update), given.worst_runs, given)


def adult(given: argparse.Namespace, folder: Path) -> None:
    with given.data.open() as file:
        names = next(csv.reader(file))
    from adult import OTHERS, SIZES

    known = SIZES | OTHERS
    for columns in given.columns:
        domain = {name: known[name] for name in (*(each for each in names if each in SIZES), *OTHERS)}
        domain = dict(list(domain.items())[:columns])
        plan = PlanRequest(queries={"domain": domain, "queries": [{"marginals": {"ways": 2}}]}, epsilon="1")
        plan = replace(plan, delta="1e-9", schedule="theory", variant=given.variant, n=48_842)
        asked = ReleaseRequest(source=TableSource(paths=(str(given.data),)), plan=plan)
        for update in given.update:
            show(f"adult {columns}", replace(asked, plan=replace(plan, update=update)), given.runs, given)


def predicates(
    folder: Path, size: int, queries: int, n: int, seed: int, *, point: bool = False, evenness: float = 0.3
) -> ReleaseRequest:
    """A made-up, uneven histogram and random predicates; the default schedule."""
    generator = np.random.default_rng(seed)
    shares = np.eye(size)[0] if point else generator.dirichlet(np.full(size, evenness))
    counts = np.floor(shares * n).astype(np.int64)
    counts[0] += n - counts.sum()
    np.savez(folder / "predicates.npz", coefficients=generator.integers(0, 2, size=(queries, size)))
    with (folder / "counts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("cell", "count"), *enumerate(counts.tolist())])
    limits = {"minimum": 0, "maximum": size - 1}
    field = {"name": "cell", "type": "integer", "constraints": limits, "dpqr": {"otherwise": "fail"}}
    document = {
        "domain": {"fields": [field], "malformed": "fail"},
        "queries": [{"coefficients": "predicates.npz", "name": "predicates"}],
    }
    (folder / "q.json").write_text(json.dumps(document))
    source = TableSource(paths=(str(folder / "counts.csv"),), count_column="count")
    plan = PlanRequest(queries=str(folder / "q.json"), epsilon="1", neighbours="replace", n=n)
    return ReleaseRequest(source=source, plan=plan)


def norm(given: argparse.Namespace, folder: Path) -> None:
    for evenness in (0.3, 10.0, 1e4):
        for n in given.n:
            asked = theory(predicates(folder, 64, 200, n, SEEDS[given.half], evenness=evenness), given, "perceptron")
            plan = plan_without_output_checks(asked)
            shares = table(asked, plan).marginal((0,)) / n
            known = Fraction(float(shares @ shares))
            public = fixed(asked)
            with patch.object(Perceptron, "mistakes", partialmethod(with_norm, norm=known)):
                free, certain = fixed(asked), plan_without_output_checks(asked).promised
            print(
                f"evenness {evenness:g}: (|x|_2 / n)^2 = {float(known):.4g}; fixed plan: alpha {public}, by the norm "
                f"{free}; certain: {float(plan.promised or 1):.3g}, by the norm {float(certain or 1):.3g}"
            )
            show("stages", asked, 5, given)


def with_norm(_: Perceptron, problem: Problem, level: Level, norm: Fraction) -> int:
    """The sharp bound of `Perceptron.mistakes` with the table's own norm in place of 1."""
    cells = problem.domain.size
    return math.floor(max(Fraction(0), norm - Fraction(1, cells)) * cells / 4 / level.value**2)


def theory(asked: ReleaseRequest, given: argparse.Namespace, update: str) -> ReleaseRequest:
    plan = replace(asked.plan, schedule="theory", variant=given.variant, update=update, alpha=given.alpha)
    return replace(asked, plan=plan)


def fixed(asked: ReleaseRequest) -> str:
    try:
        alpha = plan_without_output_checks(replace(asked, plan=replace(asked.plan, variant="sharp"))).problem.alpha
    except InfeasiblePlan:
        return "none below 1"
    return f"{float(alpha or 1):.4g}"


def show(case: str, asked: ReleaseRequest, runs: int, given: argparse.Namespace, name: str | None = None) -> None:
    """One line: medians, and the largest certificate; `hold` counts runs in which all certificates of all stages do.

    The loop alone, on a table that was read once.
    """
    plan = plan_without_output_checks(asked)
    blocks, counts = plan.problem.workload.blocks, table(asked, plan)
    truth = [block.answer(counts) * float(block.scale) for block in blocks]
    n, bounds, errors, rounds, hold = asked.plan.n or 1, [], [], [], 0
    began = time.process_time()
    for seed in range(given.first, given.first + runs):
        draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=SeededNoise(seed))
        with Watched(truth) as seen:
            outcome = loop.iterative_construction(draws, plan, SILENT)
        shown = loop.released_hypothesis(plan, outcome)
        errors.append(furthest(shown, blocks, truth) / n)
        bounds.append(min(outcome.transcript.bounds, default=np.nan) / n)
        rounds.append(len(outcome.transcript.rounds))
        hold += all(error <= bound for bound, error in seen)
        if given.each:
            print(f"  run {seed}: certified {bounds[-1]:.3g}, true {errors[-1]:.3g}, rounds {rounds[-1]}", flush=True)
    print(
        f"{case:<9} {name or asked.plan.update:<23} {n:>11,} {statistics.median(bounds):>10.3g} {max(bounds):>10.3g} "
        f"{statistics.median(errors):>10.3g} {statistics.median(rounds):>7g} {hold:>4}/{runs} "
        f"{(time.process_time() - began) / runs:>6.1f}",
        flush=True,
    )


def table(asked: ReleaseRequest, plan: Plan) -> Counts:
    """The public counts."""
    problem = plan.problem
    cells, counts = public_cells(load_table(asked.source, problem.domain, Limits()).counts)
    return PublicTable.resampled("table", problem.domain.shape, cells, counts, None, 0).counts


def furthest(hypothesis: Hypothesis, blocks: tuple[QueryBlock, ...], truth: list[np.ndarray]) -> float:
    """The largest error of any answer, in records."""
    pairs = zip(blocks, truth, strict=True)
    return max(float(np.abs(hypothesis.answer(block) * float(block.scale) - known).max()) for block, known in pairs)


class Watched:
    """Notes every certificate of a run beside the true largest error of its hypothesis, in records."""

    def __init__(self, truth: list[np.ndarray]) -> None:
        self.truth, self.seen, self.real = truth, [], loop.certified_bound

    def __enter__(self) -> list[tuple[float, float]]:
        def noted(plan, step, tested, answers, hypothesis):
            bound = self.real(plan, step, tested, answers, hypothesis)
            wrong = furthest(hypothesis, plan.problem.workload.blocks, self.truth)
            self.seen.append((bound, wrong))
            return bound

        loop.certified_bound = noted
        return self.seen

    def __exit__(self, *_: object) -> None:
        loop.certified_bound = self.real


CASES = {"cells": cells, "sizes": sizes, "toy": toy, "worst": worst, "adult": adult, "norm": norm}

if __name__ == "__main__":
    main()
