"""Figures: how often intervals of means, medians, ratios and the like cover, and AVG by group beside hand-made splits.

    python tests/benchmarks/figures.py cover --runs 500 [--only mean "weighted mean" ...]
    python tests/benchmarks/figures.py split --runs 200

cover: skewed incomes (lognormal) in groups from 15 to 6,000 records. Every figure by itself, then all in one workload.
The true mean, variance and ratio are those of midpoints; the true median that of the rows. Flagged groups count, too:
their intervals are all that a table can give; how many there were is printed. Weighted: by a survey weight, lognormal
and cut at 20 in bins of 0.5, larger where income is smaller; a weighted count is an answer, and no figure.

wide: quantiles whose bin holds at most 1.96 stated errors of a cumulative count, in records. narrow: the others, where
noise is less than a bin.

split: root mean square error of the mean by group, over that of sum and count measured apart with the best split of the
budget, found for the true means that nobody knows; and with sums around the middle of the range.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import dpqr
from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.files.release_files import answers_table, figures_table
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan

SIZES = (15, 30, 60, 120, 250, 500, 1000, 2000, 4000, 6000)
SMALL = 120
MOST, BINS = 200_000, 100
MOST_WEIGHT, WEIGHT_BINS = 20, 40
GROUPS = [f"g{number}" for number in range(len(SIZES))]
DOMAIN: dict[str, Any] = {
    "malformed": "drop",
    "fields": [
        {"name": "group", "type": "string", "constraints": {"enum": GROUPS}},
        {
            "name": "income",
            "type": "number",
            "constraints": {"minimum": 0, "maximum": MOST},
            "dpqr": {"bins": BINS, "outside": "clip"},
        },
        {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 60}, "dpqr": {"outside": "clip"}},
        {
            "name": "weight",
            "type": "number",
            "constraints": {"minimum": 0, "maximum": MOST_WEIGHT},
            "dpqr": {"bins": WEIGHT_BINS, "outside": "clip"},
        },
    ],
}
WEIGHT = {"column": "weight", "maximum": MOST_WEIGHT}
ENTRIES: dict[str, dict[str, Any]] = {
    "mean": {"mean": "income", "by": ["group"]},
    "median": {"median": "income", "by": ["group"]},
    "quantiles": {"quantiles": "income", "at": [0.1, 0.9], "by": ["group"]},
    "ratio": {"ratio": {"of": "income", "to": "hours"}, "by": ["group"]},
    "proportion": {"proportion": "income >= 50000", "by": ["group"]},
    "variance": {"variance": "income", "by": ["group"]},
    "weighted mean": {"mean": "income", "by": ["group"], "weight": WEIGHT},
    "weighted proportion": {"proportion": "income >= 50000", "by": ["group"], "weight": WEIGHT},
    "weighted count": {"marginal": ["group"], "weight": WEIGHT},
}
ALONE = {kind: entry for kind, entry in ENTRIES.items() if "weight" not in entry}


def table(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    groups = np.repeat(GROUPS, SIZES)
    centre = np.repeat(random.normal(10.3, 0.3, len(SIZES)), SIZES)
    income = np.minimum(np.exp(random.normal(centre, 0.8)), MOST - 1.0)
    hours = np.clip(np.rint(random.normal(38, 9, len(groups))), 0, 60).astype(int)
    weight = np.minimum(np.exp(random.normal(1.5 - 0.3 * (np.log(income) - centre), 0.7)), MOST_WEIGHT - 0.01)
    return pd.DataFrame({"group": groups, "income": income.round(2), "hours": hours, "weight": weight.round(2)})


def truths(rows: pd.DataFrame) -> dict[str, dict[tuple[str, str], float]]:
    """By kind, and by group and detail."""
    width = MOST / BINS
    rows = rows.assign(
        bin=(np.floor(rows["income"] / width) + 0.5) * width,
        weight=(np.floor(rows["weight"] * WEIGHT_BINS / MOST_WEIGHT) + 0.5) * MOST_WEIGHT / WEIGHT_BINS,
    )
    found: dict[str, dict[tuple[str, str], float]] = {kind: {} for kind in ENTRIES}
    for group, own in rows.groupby("group"):
        name = str(group)
        ordered = np.sort(own["income"].to_numpy())
        for part in (0.1, 0.5, 0.9):
            value = float(ordered[int(np.ceil(part * len(ordered))) - 1])
            found["median" if part == 0.5 else "quantiles"][name, f"{part:g}"] = value
        found["mean"][name, ""] = float(own["bin"].mean())
        found["variance"][name, ""] = float(own["bin"].var(ddof=0))
        found["ratio"][name, ""] = float(own["bin"].sum() / own["hours"].sum())
        found["proportion"][name, ""] = float((own["income"] >= 50_000).mean())
        weights = own["weight"].to_numpy()
        found["weighted count"][name, ""] = float(weights.sum())
        found["weighted mean"][name, ""] = float(np.average(own["bin"], weights=weights))
        found["weighted proportion"][name, ""] = float(np.average(own["income"] >= 50_000, weights=weights))
    return found


def in_bins(rows: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Records of the bin that holds each quantile, by group and part."""
    found = {}
    for group, own in rows.groupby("group"):
        codes = np.sort((own["income"] // (MOST / BINS)).to_numpy())
        for part in (0.1, 0.5, 0.9):
            code = codes[int(np.ceil(part * len(codes))) - 1]
            found[str(group), f"{part:g}"] = int((codes == code).sum())
    return found


@lru_cache(maxsize=16)
def known(seed: int) -> tuple[pd.DataFrame, dict[str, dict[tuple[str, str], float]], dict[tuple[str, str], int]]:
    rows = table(seed)
    return rows, truths(rows), in_bins(rows)


@lru_cache(maxsize=8)
def planned(entries: str, eps: str, delta: str | None) -> Plan:
    queries = {"queries": json.loads(entries)}
    return plan_release(PlanRequest(queries=queries, domain=DOMAIN, epsilon=eps, delta=delta))


def released(rows: pd.DataFrame, entries: list[dict[str, Any]], eps: str, delta: str | None) -> FinishedRun:
    """A run of the loop on the table's counts."""
    plan = planned(json.dumps(entries), eps, delta)
    domain = plan.problem.domain
    codes = {
        "group": rows["group"].str[1:].astype(int),
        "income": np.minimum(rows["income"] // (MOST / BINS), BINS - 1).astype(int),
        "hours": rows["hours"],
        "weight": (rows["weight"] * WEIGHT_BINS // MOST_WEIGHT).astype(int),
    }
    held = np.stack([codes[name].to_numpy() for name in domain.names], axis=1)
    counts = SparseHistogram(domain.shape, held, np.ones(len(rows), dtype=np.int64))
    draws = Draws(data=Private(counts), accountant=make_filter(plan), noise=SystemNoise())
    return assemble(plan, iterative_construction(draws, plan, SILENT), {}, private=True)


def told(release: FinishedRun, weighted: bool) -> list[dict[str, Any]]:
    """The rows of its table of figures; of a release without figures, its answers as if they were figures."""
    weight = "weighted " if weighted else ""
    if release.figures:
        return [one | {"kind": weight + one["kind"]} for one in figures_table(release).records()]
    return [one | {"kind": f"{weight}count", "flag": None} for one in answers_table(release).records()]


def cover(arguments: argparse.Namespace) -> None:
    asked = {**{kind: [entry] for kind, entry in ENTRIES.items()}, "all in one": list(ALONE.values())}
    for delta, name in product(arguments.deltas, arguments.only or asked):
        hits: dict[tuple[str, str], list[bool]] = {}
        flagged, bases = 0, set()
        for run in range(arguments.runs):
            rows, true, held_in = known(run % arguments.tables)
            release = released(rows, asked[name], arguments.eps, delta)
            reach = 1.96 * float(np.nanmean(release.answers[0].error))
            for record in told(release, name.startswith("weighted")):
                place = str(record["group"]), record["detail"] or ""
                held = bool(record["lower"] <= true[record["kind"]][place] <= record["upper"])
                size = SIZES[GROUPS.index(place[0])]
                parts = [str(size), "small" if size <= SMALL else "large", "all"]
                parts += ["wide" if held_in[place] <= reach else "narrow"] if place in held_in else []
                if record["flag"] != "small denominator":
                    parts += ["not flagged", *(["small, not flagged"] if size <= SMALL else [])]
                    parts += [f"{part}, not flagged" for part in parts if part in ("wide", "narrow")]
                for part in parts:
                    hits.setdefault((record["kind"], part), []).append(held)
                flagged += record["flag"] == "small denominator"
                bases.add(f"{record['kind']}: {record['basis']}")
        for (kind, part), each in hits.items():
            shown = {"asked": name, "delta": delta, "figure": kind, "groups": part, "of": len(each)}
            print(json.dumps(shown | {"cover": round(float(np.mean(each)), 4)}), flush=True)
        print(json.dumps({"asked": name, "delta": delta, "flagged": flagged, "bases": sorted(bases)}), flush=True)


def split(arguments: argparse.Namespace) -> None:
    entry = [ENTRIES["mean"]]
    for delta in arguments.deltas:
        squares: list[np.ndarray] = []
        for run in range(arguments.runs):
            rows = table(run % arguments.tables)
            true = np.array(list({key[0]: value for key, value in truths(rows)["mean"].items()}.values()))
            made = told(released(rows, entry, arguments.eps, delta), weighted=False)
            squares.append((np.array([one["estimate"] for one in made], dtype=float) - true) ** 2)
        own = np.sqrt(np.mean(squares, axis=0))
        for what, error in hand_made(arguments, delta).items():
            large = np.array(SIZES) >= 250  # there a quotient's error is that of its linearisation
            ratios = (own / error)[large]
            shown = {"error": round(float(ratios.mean()), 3), "largest": round(float(ratios.max()), 3)}
            print(json.dumps({"delta": delta, "beside": what, **shown, "groups": int(large.sum())}))


def hand_made(arguments: argparse.Namespace, delta: str | None) -> dict[str, np.ndarray]:
    """Root mean square errors by group, with the best split for the true means: closed forms of the linearisation, the
    noise being what one count gets from the whole budget."""
    only = {"queries": [{"marginal": ["group"]}]}
    plan = dpqr.plan(queries=only, domain=DOMAIN, eps=arguments.eps, delta=delta)
    noise = plan.record["forecast"][0]["noise_deviation"]
    pure = plan.record["check"]["name"] == "laplace"  # a delta does not help two draws of Laplace noise
    found: dict[str, list[np.ndarray]] = {"sum and count": [], "sum around the middle and count": []}
    for seed in range(arguments.tables):
        means = np.array(list(truths(table(seed))["mean"].values())) / MOST
        for what, sums, slopes in (
            ("sum and count", 1.0, means),
            ("sum around the middle and count", 0.5, np.abs(means - 0.5)),
        ):
            errors = []
            for share in np.linspace(0.02, 0.98, 97):
                parts = (share, 1 - share) if pure else (np.sqrt(share), np.sqrt(1 - share))
                errors.append(noise * np.hypot(sums / parts[0], slopes / parts[1]) * MOST / np.array(SIZES))
            best = min(errors, key=lambda each: float((each * np.array(SIZES)).mean()))
            found[what].append(best)
    return {what: np.sqrt(np.mean(np.square(each), axis=0)) for what, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cover", "split"])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--eps", default="1")
    parser.add_argument("--deltas", nargs="+", type=lambda text: None if text == "0" else text, default=[None, "1e-9"])
    parser.add_argument("--only", nargs="+", help="figures; all in one")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    (cover if arguments.what == "cover" else split)(arguments)


if __name__ == "__main__":
    main()
