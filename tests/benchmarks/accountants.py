"""Standard deviation of the same releases under gdp (exact curve of Gaussian noise) and under zcdp.

python tests/benchmarks/accountants.py            the plans of several workloads
python tests/benchmarks/accountants.py pld        epsilon of few draws by PLD on coarser and finer grids, and its time

A ratio below 1 is noise that zcdp asks for and no proof needs. `default` is the accountant that a plan takes by itself.
No table is opened; nothing is drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from time import process_time
from typing import Any
from unittest.mock import patch

from dpqr.app.planning.planning import plan_release
from dpqr.app.requests import PlanRequest
from dpqr.privacy.accountants import pld
from dpqr.privacy.accountants.pld import PrivacyLossDistribution
from dpqr.privacy.events import Composition, ExponentialEvent

EPSILONS = ("0.1", "1", "10")
DELTAS = ("1e-9", "1e-7", "1e-5")
COLUMNS = {"age": 100, "area": 20, "job": 15, "income": 16, "sex": 2}
FIELDS = [
    {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1}}
    for name, size in COLUMNS.items()
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["plans", "pld"], nargs="?", default="plans")
    plans() if parser.parse_args().what == "plans" else grids()


def workloads() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Name, schedule and queries: marginals by search, one table, prefixes by a strategy, fixed rounds."""
    pairs = [{"marginals": {"ways": 2, "columns": list(COLUMNS)}}]
    yield "all pairs, search", "marginals", pairs
    yield "one table", "marginals", [{"marginal": ["sex", "job"]}]
    yield "prefixes", "strategy", [{"prefix": "age"}]
    yield "all pairs, rounds", "rounds", pairs


def plans() -> None:
    print(f"{'workload':20} {'epsilon':>8} {'delta':>6} {'zcdp':>9} {'gdp':>9} {'ratio':>6}  default")
    for name, schedule, queries in workloads():
        for epsilon in EPSILONS:
            for delta in DELTAS:
                asked = PlanRequest(
                    queries={"queries": queries},
                    domain={"fields": FIELDS, "missingValues": [""]},
                    epsilon=epsilon,
                    delta=delta,
                    schedule=schedule,
                )
                found = {one: plan_release(replace(asked, accountant=one)).noise for one in ("zcdp", "gdp")}
                own, ratio = plan_release(asked).roles, found["gdp"] / found["zcdp"]
                figures = f"{found['zcdp']:9.3g} {found['gdp']:9.3g} {ratio:6.3f}"
                print(f"{name:20} {epsilon:>8} {delta:>6} {figures}  {own.accountant.name}, {own.check.name}")


def grids() -> None:
    print(f"{'choices':>8} {'epsilon each':>12} {'steps':>6} {'epsilon':>12} {'CPU s':>6}")
    for count, each in ((1, "1"), (4, "0.5"), (20, "0.1"), (200, "0.05"), (2000, "0.01")):
        events: Composition = ((ExponentialEvent(epsilon=Fraction(each)), count),)
        for fineness in (10, 40, 160):
            start = process_time()
            with patch.multiple(pld, FINENESS=fineness, FEW=0):
                found = PrivacyLossDistribution().epsilon(events, Fraction(1, 10**9))
            assert found is not None
            print(f"{count:8} {each:>12} {fineness:6} {float(found):12.8f} {process_time() - start:6.2f}")


if __name__ == "__main__":
    main()
