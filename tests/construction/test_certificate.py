"""The certificate holds as often as it says, where stopping is as unlucky as it can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpqr.construction.certificate import certify
from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.noise.source import SeededNoise
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.price import Price
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.theory import Theory
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.workload import Workload

ROUNDS, RUNS, N = 60, 500, 10_000
EPSILON = Fraction(1, 20)
BETA = Fraction(1, 20)
TRUE_GAP = 2_100
THRESHOLD = Fraction(2_050)


class Quiet:
    def finished(self, rounds, planned): ...


@dataclass(frozen=True)
class Stuck:
    """A hypothesis that answers every query `TRUE_GAP` records too low, and never learns."""

    name: str = "stuck"
    trust: tuple[str, ...] = ()
    cumulative: bool = False
    total: float = float(N)

    def start(self, problem):
        return self

    def update(self, problem, hypothesis, history):
        return self

    def answer(self, block):
        return block.apply(np.array([5_000.0, 5_000.0])) - TRUE_GAP


def worst_case():
    """Every round's true gap lies just above the threshold, so only the noise can stop the loop, and it has many
    rounds to do so."""
    domain = Domain((Attribute(name="cell", axis=Codes(2)),))
    block = QueryBlock(name="cells", factors=(Factor(axes=(0,), sizes=(2,), matrix=Identity(2)),))
    problem = Problem(
        domain=domain,
        workload=Workload((block,)),
        unit=PrivacyUnit(neighbours=Neighbours.REPLACE),
        n=N,
        alpha=Fraction(1, 4),
        beta=BETA,
    )
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=Stuck(), accountant=Basic())
    price = Price(epsilon=EPSILON)
    row = block.row(0)
    events = ((roles.distinguisher.event(price), ROUNDS), (roles.check.event((row,), problem.unit, price), ROUNDS))
    return Plan(
        problem=problem,
        budget=PrivacyBudget(2 * ROUNDS * EPSILON),
        roles=roles,
        schedule=Theory(),
        rounds=ROUNDS,
        select=price,
        measure=price,
        threshold=THRESHOLD,
        events=events,
    )


@pytest.fixture(scope="module")
def outcomes():
    plan = worst_case()
    data = Private(DenseHistogram(np.array([5_000, 5_000], dtype=np.int64)))
    found = []
    for seed in range(RUNS):
        guard = plan.roles.accountant.guard(plan.budget, plan.events)
        draws = Draws(data=data, accountant=guard, noise=SeededNoise(seed))
        found.append(iterative_construction(draws, plan, Quiet()))
    return plan, found


def test_it_holds_in_the_promised_share_of_runs(outcomes):
    plan, found = outcomes
    stopped = [outcome for outcome in found if outcome.transcript.stopped]
    assert len(stopped) > 0.9 * RUNS, "the case must stop by its noise"
    failures = sum(certify(plan, outcome).records < TRUE_GAP for outcome in stopped)
    assert failures <= float(BETA) * RUNS


def test_tails_of_the_last_round_alone_would_be_false(outcomes):
    """The same bound with the noise's tail at beta for one round, as if the stopping round were fixed."""
    _, found = outcomes
    failures = 0
    for outcome in found:
        if outcome.transcript.stopped:
            last = outcome.transcript.rounds[-1].measurement
            gap = float(np.abs(last.values[0] - np.rint(outcome.hypothesis.answer(last.blocks[0]))).max())
            failures += gap + last.law.tail(float(BETA)) < TRUE_GAP
    assert failures > 2 * float(BETA) * RUNS


def test_a_loop_that_was_not_stopped_has_no_certificate(outcomes):
    plan, found = outcomes
    outcome = found[0]
    rounds = [replace(each, stopped=False) for each in outcome.transcript.rounds]
    unstopped = replace(outcome, transcript=replace(outcome.transcript, rounds=rounds))
    assert certify(plan, unstopped) is None


def test_figures_in_records_and_as_a_fraction(outcomes):
    plan, found = outcomes
    certificate = next(certify(plan, outcome) for outcome in found if outcome.transcript.stopped)
    assert certificate.fraction == certificate.records / N
    assert certificate.confidence == 0.95
