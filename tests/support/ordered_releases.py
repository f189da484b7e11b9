"""Small releases of ordered columns."""

from __future__ import annotations

import numpy as np

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.result import assemble
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.updates.least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Workload
from support.small_universes import domain

SHAPE = (16, 3)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(16,), matrix=Prefix(16)),))
BOTH = QueryBlock(name="cdf by kind", factors=(*CDF.factors, Factor.identity(1, 3)))
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
WIDE = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(256,), matrix=Prefix(256)),))


def planned(*blocks, epsilon="1", delta="0", schedule=None, shape=SHAPE, **more):
    settings = {"unit": PrivacyUnit()} | more
    problem = Problem(domain=domain(shape), workload=Workload(blocks or (CDF,)), **settings)
    pure = delta == "0"
    roles = Roles(
        distinguisher=Exponential(),
        check=Laplace() if pure else Gaussian(),
        update=BucketLeastSquares(),
        accountant=ACCOUNTANTS["basic" if pure else "zcdp"],
    )
    return (schedule or Ordered()).plan(problem, PrivacyBudget.parse(epsilon, delta), roles)


def released(plan, counts, seed=1):
    noise, guard = SeededNoise(seed), EveryFilter(filters=(make_filter(plan),))
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=guard, noise=noise)
    release = assemble(plan, iterative_construction(draws, plan, SILENT), {}, private=noise.private)
    return release, guard


def table(records):
    counts = np.zeros(SHAPE, dtype=np.int64)
    counts[3, 1] = records
    return counts


def names(release):
    return [one.blocks[0].name for one in release.transcript.measurements]


def crowd(cells) -> np.ndarray:
    """Very many records, evenly in the first `cells` of 256."""
    return np.where(np.arange(256) < cells, 10**5 // cells, 0)
