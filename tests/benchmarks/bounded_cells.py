"""Bounds on each person's rows, in all (K) and in one cell of a table (m): error on Adult with made-up persons.

python tests/benchmarks/bounded_cells.py --data adult-coded.csv [--bounds 1 2 4 8,1 8,2 0.03] [--columns age,fnlwgt]
    [--runs 2]

A person has 1 to 30 rows, as often as Zipf's law says (1 / rows), drawn at random; persons' seed 20. All pairs of the
columns (default: of all 14) are asked at eps 1, delta 1e-9. Printed: mean L1 error of a pair over n against the counts
of all rows ("counts": rows left out count as errors), and the same of shares of the own total. Bar on all pairs: the
best (K, m) at .55 of the best K. A bound below 1 is a share of the budget that chooses K (`--learn-max-rows`); the
budget pays for both. The table is a public research extract.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import dpqr

SIZES = {"age": 85, "workclass": 9, "fnlwgt": 100, "education-num": 16, "marital-status": 7, "occupation": 15}
SIZES |= {"relationship": 6, "race": 5, "sex": 2, "capital-gain": 100, "capital-loss": 100, "hours-per-week": 99}
SIZES |= {"native-country": 42, "income>50K": 2}
MOST, SEED = 30, 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bounds", nargs="+", default=["1", "2", "4", "8", "16", "30", "8,4", "16,8", "30,8"])
    parser.add_argument("--columns", default=",".join(SIZES))
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    sizes = {name: SIZES[name] for name in given.columns.split(",")}
    table = with_persons(pd.read_csv(given.data))
    print(f"{'K,m':>6} {'counts':>8} {'shares':>8} {'s':>6}")
    for bound in given.bounds:
        started = time.perf_counter()
        errors = np.mean([errors_of(table, sizes, *bound.split(",")) for _ in range(given.runs)], axis=0)
        seconds = (time.perf_counter() - started) / given.runs
        print(f"{bound:>6} {errors[0]:>8.4f} {errors[1]:>8.4f} {seconds:>6.1f}", flush=True)


def with_persons(table: pd.DataFrame) -> pd.DataFrame:
    """With a column "person"."""
    generator, rows = np.random.default_rng(SEED), np.arange(1, MOST + 1)
    each = generator.choice(rows, size=len(table), p=1 / rows / (1 / rows).sum())
    return table.assign(person=generator.permutation(np.repeat(np.arange(len(table)), each)[: len(table)]))


def errors_of(table: pd.DataFrame, sizes: dict[str, int], most: str, in_cell: str | None = None) -> tuple[float, float]:
    """Of one release: in counts, and in shares."""
    pairs = list(combinations(sizes, 2))
    fields = [
        {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1}}
        for name, size in sizes.items()
    ]
    asked = {"domain": {"fields": fields}, "queries": [{"marginal": [*pair]} for pair in pairs]}
    bound = {"learn_max_rows": most} if float(most) < 1 else {"max_rows": int(most)}
    bound |= {} if in_cell is None else {"max_rows_per_cell": int(in_cell)}
    made = dpqr.release(table, queries=asked, eps="1", delta="1e-9", unit="person", error_bars="none", **bound)
    found = [part["estimate"].to_numpy() for _, part in made.answers.groupby("query", sort=False)]
    errors = []
    for (one, other), estimate in zip(pairs, found, strict=True):
        truth = np.zeros(sizes[one] * sizes[other])
        np.add.at(truth, table[one].to_numpy() * sizes[other] + table[other].to_numpy(), 1)
        shares = estimate / max(estimate.sum(), 1.0) - truth / truth.sum()
        errors.append((np.abs(estimate - truth).sum() / truth.sum(), np.abs(shares).sum()))
    counts, shares = np.mean(errors, axis=0)
    return float(counts), float(shares)


if __name__ == "__main__":
    main()
