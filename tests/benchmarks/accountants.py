"""Standard deviation of the same releases under gdp (exact curve of Gaussian noise) and under zcdp.

python tests/benchmarks/accountants.py            the plans of several workloads
python tests/benchmarks/accountants.py pld        epsilon of few draws by PLD on coarser and finer grids, and its time
python tests/benchmarks/accountants.py rounds     fixed rounds of choices and Gaussian noise under pld, gdp and zcdp

A ratio below 1 is noise that zcdp asks for and no proof needs. `default` is the accountant that a plan takes by itself.
No table is opened; nothing is drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from time import process_time
from typing import Any
from unittest.mock import patch

from dpqr.kernel.accountants import pld
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.analytic import GaussianDP
from dpqr.kernel.accountants.pld import PrivacyLossDistribution
from dpqr.kernel.accountants.sums import ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.events import Composition, ExponentialEvent
from dpqr.kernel.values import replace
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.distinguishers import Exponential

EPSILONS = ("0.1", "1", "10")
DELTAS = ("1e-9", "1e-7", "1e-5")
COLUMNS = {"age": 100, "area": 20, "job": 15, "income": 16, "sex": 2}
FIELDS = [
    {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1}}
    for name, size in COLUMNS.items()
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["plans", "pld", "rounds"], nargs="?", default="plans")
    {"plans": plans, "pld": grids, "rounds": rounds}[parser.parse_args().what]()


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


def rounds() -> None:
    """Deviation of the noise of 22 rounds, over that under gdp, by the share of the choices; and the time of a cut."""
    print(f"{'epsilon':>8} {'delta':>6} {'choices':>8} {'zcdp':>6} {'pld':>6} {'CPU s':>6}")
    for epsilon, delta in product(EPSILONS, DELTAS):
        budget = PrivacyBudget.parse(epsilon, delta)
        for part in (Fraction(1, 5), Fraction(1, 2)):
            portions = [Portion(share=part, count=22, event=Exponential().event), Portion(share=1 - part, count=22)]
            gdp, zcdp = (one.cut(budget, portions)[1] for one in (GaussianDP(), ZeroConcentrated()))
            start = process_time()
            found = PrivacyLossDistribution(concentrated=True).cut(budget, portions)[1]
            took = process_time() - start
            ratios = [float(gdp.concentrated / one.concentrated) ** 0.5 for one in (zcdp, found)]
            print(f"{epsilon:>8} {delta:>6} {float(part):8.1f} {ratios[0]:6.3f} {ratios[1]:6.3f} {took:6.2f}")


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
