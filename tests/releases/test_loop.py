"""The loop against the book's page: order of acts, stopping, charging, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, slow_but, slowly
from support.fakes import OpenFilter, Says
from support.plan_phases import changed

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram, GroupedHistogram, SeparateTables
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.draws import Draws, RecordedDraw
from dpqr.releases.loop import iterative_construction
from dpqr.releases.result import assemble
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.transcript import Step
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Workload

SIZES = (4, 3, 2)
COUNTS = np.random.default_rng(3).integers(0, 400_000, size=SIZES)
N = int(COUNTS.sum())


@dataclass
class Watcher:
    told: list[tuple[int, int]]

    def certified(self, stage, records):
        pass

    def finished(self, rounds, planned):
        self.told.append((rounds, planned))


def pair(first, second):
    factors = (Factor.identity(first, SIZES[first]), Factor.identity(second, SIZES[second]))
    return QueryBlock(name=f"{first},{second}", factors=factors)


TRIPLE = QueryBlock(name="all", factors=tuple(Factor.identity(axis, size) for axis, size in enumerate(SIZES)))
PAIRS = (pair(0, 1), pair(0, 2), pair(1, 2))


def predicates(count=20):
    rows = np.random.default_rng(4).integers(0, 2, size=(count, 24))
    return QueryBlock(name="p", factors=(Factor(axes=(0, 1, 2), sizes=SIZES, matrix=Dense(rows.astype(np.int64))),))


def planned(schedule, update, blocks, split=None, **more):
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES)))
    problem = Problem(domain=domain, workload=Workload(tuple(blocks)), **({"unit": PrivacyUnit()} | more))
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=update, accountant=Basic())
    return plan_split(schedule, split or Split(), problem, PrivacyBudget(Fraction(1)), roles)


def run(plan, seed=1, watcher=None, counts=COUNTS):
    counts = DenseHistogram(counts) if isinstance(counts, np.ndarray) else counts
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    draws = Draws(data=Private(counts), accountant=guard, noise=SeededNoise(seed))
    return iterative_construction(draws, plan, watcher or Watcher([]))


def test_block_rounds_end_near_the_truth_and_every_draw_is_charged_in_order_and_told():
    watcher, plan = Watcher([]), planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    outcome = run(plan, watcher=watcher)
    for block in PAIRS:
        truth = block.answer(DenseHistogram(COUNTS))
        assert np.abs(outcome.hypothesis.answer(block) - truth).sum() < 0.2 * N
    assert [charge for each in outcome.transcript.rounds for charge in each.charges] == list(range(7))
    assert watcher.told == [(done, 5) for done in range(1, 6)]


def test_a_plan_that_asks_for_more_than_was_reserved_is_refused_before_the_draw():
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    greedy = changed(plan, "selection", count=3)
    with pytest.raises(BudgetRefused):
        run(greedy)


@in_one_test("update", [MultiplicativeWeights(), Perceptron()])
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


@pytest.mark.slow
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


TOTAL = QueryBlock(name="all")


@dataclass
class Told:
    """An update rule that remembers what it was asked; it runs out after `updates` of them."""

    cumulative: bool = False
    updates: int = 99
    starts: list = field(default_factory=list)
    seen: list = field(default_factory=list)
    name: str = "told"
    trust: tuple = ()

    def start(self, problem):
        self.starts.append(problem.n)
        return Says({TOTAL.name: 0.0}, total=float(problem.n or 0))

    def update(self, problem, hypothesis, history):
        self.seen.append((problem.n, hypothesis, len(history)))
        return Says({TOTAL.name: 0.0}, total=hypothesis.total) if len(self.seen) <= self.updates else None


@dataclass(frozen=True)
class Steps:
    """A schedule that asks for these steps, one after the other, whatever was released."""

    steps: tuple

    def start(self, plan):
        return self.steps

    def next(self, plan, state):
        return state[0] if state else None

    def after(self, state, finished):
        return state[1:]


PRICE = Price(epsilon=Fraction(1000))


def step(**more):
    return Step(candidates=(TOTAL,), select=None, measure=PRICE, **more)


def scripted(rule, *steps, pasts=()):
    """The outcome of a run of these steps on the table, whose total is N; an answer at this price is exact."""
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    plan = replace(plan, schedule=Steps(steps), roles=replace(plan.roles, update=rule))
    guard, journal = OpenFilter(), Pasts(list(pasts))
    draws = Draws(data=Private(DenseHistogram(COUNTS)), accountant=guard, noise=SeededNoise(1), journal=journal)
    return iterative_construction(draws, plan, Watcher([])), guard.charged


@dataclass
class Pasts:
    """What was drawn before a crash."""

    left: list

    def past(self, event, blocks):
        return self.left.pop(0) if self.left else None

    def begin(self, event, blocks): ...

    def record(self, value): ...


def test_the_hypothesis_that_met_the_stop_test_is_the_last_one():
    """The certificate speaks of it: it is neither updated nor measured again after the stop. Others go on."""
    rule = Told()
    outcome, charged = scripted(rule, step(), step(threshold=Fraction(N + 1)), step(), step())
    assert outcome.transcript.stopped
    assert [one.stopped for one in outcome.transcript.rounds] == [False, True]
    assert (len(rule.seen), len(charged)) == (1, 2)
    outcome, _ = scripted(Told(), step(threshold=Fraction(N)), step())
    assert [one.stopped for one in outcome.transcript.rounds] == [False, False]


def test_the_hypothesis_starts_anew_once_when_the_number_of_records_is_bought():
    rule = Told()
    outcome, _ = scripted(rule, step(refit=False), step(records=7), step(records=7))
    assert rule.starts == [None, 7]
    assert [n for n, _, _ in rule.seen] == [7, 7]
    assert rule.seen[0][1].total == 7
    assert outcome.hypothesis.total == 7


@in_one_test(("cumulative", "updates"), [(False, 1), (True, 2)])
def test_a_round_that_lost_its_draw_makes_no_step_of_the_round_before(cumulative, updates):
    """A rule that reads the newest answer would take it twice, and its mistake bound counts each step."""
    rule = Told(cumulative=cumulative)
    outcome, charged = scripted(rule, step(), step(), pasts=[RecordedDraw(value=[[5]]), RecordedDraw(value=None)])
    assert outcome.transcript.lost == 1
    assert len(rule.seen) == updates
    assert len(charged) == 2


@in_one_test(("lost", "charges"), [(0, (1,)), (1, (1, 2))])
def test_a_lost_round_names_every_charge_that_it_made(lost, charges):
    """A lost draw is paid: the record of the run says by which round."""
    chosen = replace(step(), candidates=QueryCandidates(blocks=(TOTAL,)), select=PRICE)
    outcome, charged = scripted(Told(), chosen, pasts=[RecordedDraw(value=0)] * lost + [RecordedDraw(value=None)])
    (finished,) = outcome.transcript.rounds
    assert finished.measurement is None
    assert finished.charges == charges
    assert len(charged) == len(charges)


def test_a_rule_that_runs_out_ends_the_run_and_says_so():
    rule = Told(updates=1)
    outcome, charged = scripted(rule, step(), step(), step())
    assert outcome.exhausted
    assert outcome.hypothesis is rule.seen[1][1]
    assert len(charged) == 2
    assert not scripted(Told(), step())[0].exhausted


def test_selection_and_measurement_are_charged_at_their_own_prices_and_told():
    chosen = replace(step(), candidates=QueryCandidates(blocks=(TOTAL, pair(0, 1))), select=Price(epsilon=Fraction(3)))
    plan = planned(Rounds(rounds=2), MultiplicativeWeights(), PAIRS)
    plan = replace(plan, schedule=Steps((chosen,)))
    guard = OpenFilter()
    draws = Draws(data=Private(DenseHistogram(COUNTS)), accountant=guard, noise=SeededNoise(1))
    outcome = iterative_construction(draws, plan, Watcher([]))
    (finished,) = outcome.transcript.rounds
    measured = Laplace().event(finished.measurement.blocks, plan.problem.unit, PRICE)
    assert guard.charged == [ExponentialEvent(epsilon=Fraction(3)), measured]
    assert finished.charges == (1, 2)


def prefixes(axis):
    return QueryBlock(
        name=f"up to {axis}", factors=(Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=Prefix(SIZES[axis])),)
    )


@pytest.mark.parametrize(
    ("schedule", "blocks"),
    slow_but(
        {1, 2, 3},
        [
            (Rounds(rounds=1), (*PAIRS, prefixes(0))),
            (Rounds(rounds=1, opening=False), PAIRS),
            (Strategy(), (prefixes(0), PAIRS[2])),
            (Ordered(), (prefixes(0), prefixes(1))),
            (Marginals(table=0), PAIRS),
            (Marginals(), PAIRS),
            (Marginals(table=0), (TRIPLE,)),
            (Marginals(), (TRIPLE, pair(2, 1))),
        ],
    ),
)
@pytest.mark.parametrize("certify", [None, *slowly(Fraction(1, 10))])
def test_what_a_schedule_foresees_is_all_that_its_draws_look_at(schedule, blocks, certify) -> None:
    split = Split(bounds=certify) if certify else Split(errors=None)
    plan = planned(schedule, MultiplicativeWeights(), blocks, split)
    whole = DenseHistogram(COUNTS)
    tables = {tuple(sorted(axes)): whole.marginal(tuple(sorted(axes))) for axes in plan.column_sets}
    joints = {axes: table for axes, table in tables.items() if axes}
    every = (whole, GroupedHistogram(SIZES, joints), SeparateTables(SIZES, tables))
    outcomes = [run(plan, counts=counts) for counts in every]
    expected, *found = ([one.measurement.values[0].tolist() for one in each.transcript.rounds] for each in outcomes)
    assert found == [expected] * 2
    assert len(expected) > 0

    class Own(Laplace):
        """Somebody else's check, whose draws may look anywhere."""

    assert replace(plan, roles=replace(plan.roles, check=Own())).column_sets is None
