"""Counters: error of cumulative counts by the number of periods, and what 24 monthly releases spend.

    python tests/benchmarks/counters.py error --runs 2000
    python tests/benchmarks/counters.py life --periods 24

error: one count over T periods at epsilon 1 for the life, with Laplace noise and with Gaussian noise at delta 1e-9.
Root mean square over the T releases and the runs: of the binary tree, of the tree that is chosen, and of the sum of T
releases of one period each. Noise is drawn by the product's mechanism.

life: a counter over made-up months of 1,000 rows, paid by a ledger whose every month has the budget of the counter's
life: what each month has spent in the end, whether every release verifies, how often the 95% intervals of the counts
cover, and the errors of the counts beside those that are stated.
"""

from __future__ import annotations

import argparse
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import dpqr
from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.known import available
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.counter import Counter
from dpqr.workload.block import QueryBlock

PERIODS = (4, 8, 12, 16, 24, 32, 48, 64)
FIRST = Period.parse("2024-01")
ROWS = 1000
DOMAIN = {
    "period": {"column": "day", "every": "month"},
    "fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}],
}


def errors(counter: Counter, runs: int) -> float:
    """Root mean square over all releases and runs, in records."""
    (price,) = available()[counter.accountant].cut(counter.node, [Portion(share=Fraction(1), count=1)])
    check = Laplace() if counter.node.pure else Gaussian()
    law = check.law((QueryBlock(name="records"),), counter.unit, price)
    nodes = law.sample(runs * counter.tree.periods, SystemNoise()).reshape(runs, -1)
    periods = range(1, counter.tree.periods + 1)
    counts = [nodes[:, [node - 1 for node in counter.tree.path(period)]].sum(axis=1) for period in periods]
    return float(np.sqrt(np.mean(np.stack(counts).astype(float) ** 2)))


def growth(runs: int) -> None:
    for accountant, delta in (("basic", "0"), ("zcdp", "1e-9")):
        life = PrivacyBudget.parse("1", delta)
        print(f"{accountant}, delta {delta}: T, error of binary tree, chosen tree (base, levels), sum of periods")
        for periods in PERIODS:
            chosen = Counter.of(periods, life, accountant, PrivacyUnit())
            trees = PeriodTree(periods=periods), chosen.tree, PeriodTree(periods=periods, base=periods + 1)
            found = [
                errors(Counter(tree=tree, life=life, accountant=accountant, unit=PrivacyUnit()), runs) for tree in trees
            ]
            binary, best, plain = (f"{error:.2f}" for error in found)
            print(f"{periods:4} {binary:>8} {best:>8} ({chosen.tree.base}, {chosen.tree.levels}) {plain:>8}")


def months(periods: int) -> pd.DataFrame:
    """Rows of all months."""
    generator = np.random.default_rng(23)
    names = np.repeat([FIRST.later(step).name for step in range(periods)], ROWS)
    days = generator.integers(1, 29, len(names))
    return pd.DataFrame(
        {
            "sex": generator.choice(["f", "m"], len(names)),
            "day": [f"{name}-{day:02}" for name, day in zip(names, days, strict=True)],
        }
    )


def life(periods: int, delta: str) -> None:
    table, queries = months(periods), dpqr.queries().marginal("sex")
    with tempfile.TemporaryDirectory() as place:
        ledger = dpqr.Ledger(Path(place) / "budgets.sqlite")
        ledger.init(
            "people", eps="10", delta=delta, period="month", period_column="day", per_period="1", first=FIRST.name
        )
        after, covered, off, stated = None, 0, [], []
        for step in range(periods):
            name = FIRST.later(step).name
            made = dpqr.release(
                table,
                queries=queries,
                domain=DOMAIN,
                eps="1",
                delta=delta,
                period=name,
                cumulative=periods,
                after=after,
                dataset="people",
                ledger=ledger,
                out=f"{place}/{name}",
            )
            after = f"{place}/{name}"
            verified = dpqr.verify(after)
            assert verified.passed, verified
            counts, until = made.cumulative, f"{name}-99"
            truth = table[table["day"] <= until]["sex"].value_counts()
            for row in counts.itertuples():
                covered += row.lower <= truth[row.sex] <= row.upper
                off.append(row.estimate - truth[row.sex])
                stated.append(row.error)
        spent = ledger.budgets()[0]
        paid = f"{spent.currency} {float(spent.spent):.6g}"
        print(f"delta {delta}: {periods} releases, all verified; a row has paid {paid}")
        print(f"95% intervals cover {covered} of {len(off)} counts")
        measured, said = (np.sqrt(np.mean(np.square(each))) for each in (off, stated))
        print(f"root mean square error {measured:.2f}, stated {said:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["error", "life"])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--periods", type=int, default=24)
    given = parser.parse_args()
    if given.what == "error":
        growth(given.runs)
        return
    for delta in ("0", "1e-9"):
        life(given.periods, delta)


if __name__ == "__main__":
    main()
