"""Releases of all pairs of a made-up table, in this process, with seeded noise: what is repeatable is no release."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.result import assemble
from dpqr.strategies.guard import make_filter

SIZES = {"a": 12, "b": 12, "c": 8, "d": 8, "e": 6, "f": 40, "g": 30}


def counts():
    """2,000 records; two pairs of columns depend on each other."""
    generator = np.random.default_rng(3)
    codes = np.stack([generator.integers(0, size, 2000) for size in SIZES.values()], axis=1)
    codes[:, 1] = np.where(generator.random(2000) < 0.7, codes[:, 0], codes[:, 1])
    codes[:, 3] = np.where(generator.random(2000) < 0.4, codes[:, 2], codes[:, 3])
    return SparseHistogram(tuple(SIZES.values()), codes, np.ones(2000, dtype=np.int64))


def run(queries=None, domain=None, table=None, seed=5, **options):
    """The plan, the outcome of its run, and the release."""
    queries = queries or [{"marginals": [list(pair) for pair in combinations(SIZES, 2)]}]
    document = {"domain": domain or SIZES, "queries": queries}
    plan = plan_release(PlanRequest(queries=document, domain=None, **{"epsilon": "1", "delta": "1e-9", **options}))
    draws = Draws(data=Private(table or counts()), accountant=make_filter(plan), noise=SeededNoise(seed))
    outcome = iterative_construction(draws, plan, SILENT)
    return plan, outcome, assemble(plan, outcome, {}, private=False)
