"""Runs of plans on small tables with seeded noise, and plans of the anytime loop."""

from fractions import Fraction

import numpy as np

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.draws import Draws
from dpqr.releases.loop import iterative_construction
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.anytime import Anytime
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
CELLS, N = 8, 10**5
ROWS = np.random.default_rng(3).integers(0, 2, size=(12, CELLS))
COUNTS = np.array([60_000, 20_000, 10_000, 5_000, 3_000, 2_000, 0, 0])
NET = Median(members=2 * 10**4)
"""A small net."""
PREDICATES = QueryBlock(name="predicates", factors=(Factor(axes=(0,), sizes=(CELLS,), matrix=Dense(ROWS)),))


def stated(unit=REPLACE, n=N, blocks=(PREDICATES,), **more):
    domain = Domain((Attribute(name="cell", axis=Codes(CELLS)),))
    return Problem(domain=domain, workload=Workload(tuple(blocks)), unit=unit, n=n, **more)


def roles(update=None, accountant=None, check=None):
    return Roles(
        distinguisher=Exponential(),
        check=check or Laplace(),
        update=update or MultiplicativeWeights(),
        accountant=accountant or Basic(),
    )


def planned(problem=None, *, epsilon=1, delta=0, **who):
    budget = PrivacyBudget(Fraction(epsilon), Fraction(delta))
    return Anytime().plan(problem or stated(), budget, roles(**who))


class Watching:
    """Keeps what it is told."""

    def __init__(self):
        self.certificates = []

    def finished(self, rounds, planned):
        pass

    def certified(self, stage, records):
        self.certificates.append((stage, records))


def run(plan, *, seed=1, counts=COUNTS, observer=None, guard=None):
    table = DenseHistogram(counts) if isinstance(counts, np.ndarray) else counts
    draws = Draws(data=Private(table), accountant=guard or make_filter(plan), noise=SeededNoise(seed))
    return iterative_construction(draws, plan, observer or Watching())


def largest_error(hypothesis, counts=COUNTS, block=PREDICATES):
    return np.abs(hypothesis.answer(block) - block.answer(DenseHistogram(counts))).max()
