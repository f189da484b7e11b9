"""The fit of the practical schedules under the book's loop: certificates that hold, smaller ones, on any domain."""

from fractions import Fraction

import numpy as np
import pytest
from support.staged_runs import N, Watching, largest_error, planned, roles, run, stated

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.releases.draws import Draws
from dpqr.releases.loop import iterative_construction
from dpqr.strategies.guard import make_filter
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.maximum_entropy import MaximumEntropy
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload

SIZES = (40, 30, 20, 30, 40)
"""28,800,000 cells: more than are kept one by one."""


def test_its_certificates_hold_and_are_smaller_than_those_of_single_steps():
    bounds = []
    for update in (MaximumEntropy(), MultiplicativeWeights()):
        outcome = run(planned(update=update))
        assert largest_error(outcome.hypothesis) <= min(outcome.transcript.bounds)
        bounds.append(min(outcome.transcript.bounds))
    assert bounds[0] < bounds[1]


@pytest.mark.parametrize("n", [N, None])
def test_a_domain_of_many_cells(n):
    cells = np.arange(200)[:, None] % np.array(SIZES)
    table = SparseHistogram(SIZES, cells, np.full(200, N // 200))
    pairs = ((0, 1), (1, 2), (3, 4))
    blocks = tuple(
        QueryBlock(name=str(pair), factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in pair)) for pair in pairs
    )
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES)))
    problem = Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(), n=n)
    plan = planned(problem, update=MaximumEntropy(), epsilon=4)
    draws = Draws(data=Private(table), accountant=make_filter(plan), noise=SeededNoise(1))
    outcome = iterative_construction(draws, plan, Watching())
    errors = [np.abs(outcome.hypothesis.answer(block) - block.answer(table)).max() for block in blocks]
    assert max(errors) <= min(outcome.transcript.bounds) < N / 10


def test_no_alpha_is_certain_and_a_fixed_plan_calls_its_own_heuristic():
    assert planned(update=MaximumEntropy()).stop.certain is None
    who = roles(update=MaximumEntropy())
    sharp = Theory(variant="sharp").plan(stated(alpha=Fraction(1, 4)), PrivacyBudget(Fraction(1)), who)
    assert sharp.stop.promise == "heuristic"
    with pytest.raises(InfeasiblePlan, match="state --alpha for a heuristic one"):
        Theory(variant="sharp").plan(stated(), PrivacyBudget(Fraction(1)), who)


def test_expected_mistakes_are_those_of_an_exact_projection():
    problem, level = stated(), Level(value=Fraction(1, 8), variant="sharp")
    assert MaximumEntropy().expected_mistakes(problem, level) == MultiplicativeWeights().mistakes(problem, level)
    assert MaximumEntropy().mistakes(problem, level) is None
