"""The loop against the book's page: order of acts, stopping, charging, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.construction.release import assemble
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import BudgetRefused
from dpqr.noise.source import SeededNoise
from dpqr.privacy.accountants.basic import Basic
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.sealed import Private
from dpqr.strategies.checks.laplace import Laplace
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Workload

SIZES = (4, 3, 2)
COUNTS = np.random.default_rng(3).integers(0, 400_000, size=SIZES)
N = int(COUNTS.sum())


@dataclass
class Watcher:
    told: list[tuple[int, int]]

    def finished(self, rounds, planned):
        self.told.append((rounds, planned))


def pair(first, second):
    factors = (Factor.identity(first, SIZES[first]), Factor.identity(second, SIZES[second]))
    return QueryBlock(name=f"{first},{second}", factors=factors)


PAIRS = (pair(0, 1), pair(0, 2), pair(1, 2))


def predicates(count=20):
    rows = np.random.default_rng(4).integers(0, 2, size=(count, 24))
    return QueryBlock(name="p", factors=(Factor(axes=(0, 1, 2), sizes=SIZES, matrix=Dense(rows.astype(np.int64))),))


def planned(schedule, update, blocks, **more):
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES)))
    problem = Problem(domain=domain, workload=Workload(tuple(blocks)), **({"unit": PrivacyUnit()} | more))
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=update, accountant=Basic())
    return schedule.plan(problem, PrivacyBudget(Fraction(1)), roles)


def run(plan, seed=1, watcher=None, counts=COUNTS):
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    draws = Draws(data=Private(DenseHistogram(counts)), accountant=guard, noise=SeededNoise(seed))
    return iterative_construction(draws, plan, watcher or Watcher([]))


def test_block_rounds_end_near_the_truth():
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    outcome = run(plan)
    assert len(outcome.transcript.rounds) == 5
    for block in PAIRS:
        truth = block.answer(DenseHistogram(COUNTS))
        assert np.abs(outcome.hypothesis.answer(block) - truth).sum() < 0.2 * N


def test_every_draw_is_charged_in_order_and_told():
    watcher = Watcher([])
    outcome = run(planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS), watcher=watcher)
    charges = [charge for each in outcome.transcript.rounds for charge in each.charges]
    assert charges == list(range(7))
    assert watcher.told == [(done, 5) for done in range(1, 6)]


def test_a_plan_that_asks_for_more_than_was_reserved_is_refused_before_the_draw():
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    greedy = replace(plan, rounds=3)
    with pytest.raises(BudgetRefused):
        run(greedy)


@pytest.mark.parametrize("update", [MultiplicativeWeights(), Perceptron()])
@pytest.mark.parametrize("variant", ["printed", "sharp"])
def test_theory_stops_within_alpha(update, variant):
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    counts = COUNTS * 20_000
    n = int(counts.sum())
    alpha = Fraction(1, 10)
    plan = planned(Theory(variant=variant), update, [predicates()], unit=unit, n=n, alpha=alpha)
    outcome = run(plan, counts=counts)
    assert outcome.transcript.stopped
    assert len(outcome.transcript.rounds) < plan.rounds
    truth = predicates().answer(DenseHistogram(counts))
    assert np.abs(outcome.hypothesis.answer(predicates()) - truth).max() <= float(alpha) * n


def test_median_rule_on_a_toy_universe():
    counts = np.array([40_000, 0, 0, 30_000, 0, 25_000, 5_000, 0], dtype=np.int64)
    rows = np.random.default_rng(4).integers(0, 2, size=(20, 8)).astype(np.int64)
    block = QueryBlock(name="p", factors=(Factor(axes=(0,), sizes=(8,), matrix=Dense(rows)),))
    domain = Domain((Attribute(name="cell", axis=Codes(8)),))
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    problem = Problem(domain=domain, workload=Workload((block,)), unit=unit, n=10**5, alpha=Fraction(3, 10))
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=Median(), accountant=Basic())
    plan = Theory().plan(problem, PrivacyBudget(Fraction(1)), roles)
    outcome = run(plan, counts=counts)
    assert np.abs(outcome.hypothesis.answer(block) - rows @ counts).max() <= 0.3 * 10**5


def test_the_release_says_what_was_measured_and_how_noisily():
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    outcome = run(plan)
    release = assemble(plan, outcome, {"basic": Fraction(1)}, private=False)
    measured = [answers for answers in release.answers if not np.isnan(answers.noisy.values).any()]
    assert len(measured) == 2
    for answers in measured:
        truth = answers.block.answer(DenseHistogram(COUNTS))
        assert np.abs(answers.noisy.values - truth).max() < 30 * answers.noisy.deviation[0]
    assert release.trust[0].startswith("NOT PRIVATE")
    assert release.certificate is None


def test_single_measurements_stand_in_their_rows():
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    counts = COUNTS * 20_000
    plan = planned(
        Theory(), MultiplicativeWeights(), [predicates()], unit=unit, n=int(counts.sum()), alpha=Fraction(1, 10)
    )
    outcome = run(plan, counts=counts)
    release = assemble(plan, outcome, {}, private=False)
    answers = release.answers[0]
    chosen = {each.choice for each in outcome.transcript.rounds}
    assert set(np.flatnonzero(~np.isnan(answers.noisy.values))) == chosen
    assert release.certificate.fraction < 0.1
