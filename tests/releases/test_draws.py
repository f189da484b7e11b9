"""Draws: the journal is told before and after each, and what it holds is never drawn again."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.fakes import OpenFilter, Says

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import MechanismFailed
from dpqr.kernel.events import ExponentialEvent, LeftOutEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.draws import Draws, RecordedDraw
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.transcript import Step
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload

SHAPE = (3, 3, 3)
TABLE = DenseHistogram(np.arange(27, dtype=np.int64).reshape(SHAPE) * 1000)
PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass
class Kept:
    """A journal that remembers; `pasts` are given first."""

    pasts: list = field(default_factory=list)
    told: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def past(self, event, blocks):
        self.asked.append((event, blocks))
        return self.pasts.pop(0) if self.pasts else None

    def begin(self, event, blocks):
        self.told.append(event)

    def record(self, value):
        self.told.append(value)


@dataclass
class Watched:
    """A table that tells whether anybody looked."""

    looks: int = 0
    shape: tuple = SHAPE

    def prefetch(self, groups):
        self.looks += 1
        TABLE.prefetch(groups)

    def marginal(self, axes):
        self.looks += 1
        return TABLE.marginal(axes)


def make_plan(rounds=2):
    blocks = [QueryBlock(name=f"{a},{b}", factors=(Factor.identity(a, 3), Factor.identity(b, 3))) for a, b in PAIRS]
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    domain = Domain(tuple(Attribute(name=name, axis=Codes(3)) for name in "abc"))
    problem = Problem(domain=domain, workload=Workload(tuple(blocks)), unit=PrivacyUnit())
    return Rounds(rounds=rounds).plan(problem, PrivacyBudget(Fraction(2)), roles)


def run(plan, journal, table=TABLE, guard=None, seed=5):
    draws = Draws(data=Private(table), accountant=guard or OpenFilter(), noise=SeededNoise(seed), journal=journal)
    return iterative_construction(draws, plan, SILENT)


def values(told):
    return [one for one in told if isinstance(one, int | list)]


def released(transcript):
    return [
        (one.choice, None if one.measurement is None else [each.tolist() for each in one.measurement.values])
        for one in transcript.rounds
    ]


@pytest.fixture(scope="module")
def whole():
    plan, journal, guard = make_plan(), Kept(), OpenFilter()
    return plan, journal, run(plan, journal, guard=guard).transcript, guard.charged


def test_every_draw_is_begun_with_its_event_and_recorded(whole):
    plan, journal, transcript, charged = whole
    assert journal.told[::2] == charged
    assert sum(count for _, count in plan.events) == len(charged) == len(values(journal.told))
    kept = [part for each in released(transcript) for part in each if part is not None]
    assert values(journal.told) == kept


def test_a_past_draw_is_asked_for_by_its_event_and_its_blocks(whole):
    """Both are compared: a draw of other blocks at the same price is another draw."""
    _, journal, transcript, charged = whole
    measured = iter([one.measurement.blocks for one in transcript.rounds])
    expected = [() if isinstance(event, ExponentialEvent) else next(measured) for event in charged]
    assert journal.asked == list(zip(charged, expected, strict=True))


def test_what_is_measured_is_the_candidate_that_wconsistent_with_draws():
    """At this price the worst answered query is drawn: the largest cell of the first pair."""
    plan, guard = make_plan(), OpenFilter()
    candidates = QueryCandidates(blocks=plan.problem.workload.blocks)
    step = Step(candidates=candidates, select=Price(epsilon=Fraction(10**6)), measure=Price(epsilon=Fraction(1)))
    draws = Draws(data=Private(TABLE), accountant=guard, noise=SeededNoise(1))
    choice = draws.choose(plan, step, Says({f"{a},{b}": 0.0 for a, b in PAIRS}))
    assert choice.index == 8
    assert [block.name for block in choice.candidate] == ["0,1[8]"]
    assert choice.charges == (1,)


@in_one_test("unit", [PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE)])
def test_draws_from_left_out_records_are_of_them_and_charged_in_parallel_where_a_unit_lies_apart(unit):
    """A row that comes or goes is kept or left out; one that is replaced may leave one part for the other."""
    plan, guard, price = make_plan(), OpenFilter(), Price(epsilon=Fraction(10**6))
    plan = replace(plan, problem=replace(plan.problem, unit=unit))
    kept = Draws(data=Private(TABLE), accountant=guard, noise=SeededNoise(1))
    lost = kept.of_left_out(Private(DenseHistogram(np.full(SHAPE, 5, dtype=np.int64))))
    total = (QueryBlock(name="records"),)
    assert [int(one.measure(plan, total, price).value.values[0][0]) for one in (kept, lost)] == [351_000, 135]
    event = Laplace().event(total, unit, price)
    assert guard.charged == [event, LeftOutEvent(event=event) if unit.apart else event]


@pytest.mark.slow
@pytest.mark.parametrize("known", range(8))
def test_what_is_known_is_not_drawn_again(whole, known):
    plan, journal, _, charged = whole
    before = values(journal.told)
    guard, again = OpenFilter(), Kept(pasts=[RecordedDraw(value=value) for value in before[:known]])
    continued = run(plan, again, guard=guard, seed=77).transcript
    after = [part for each in released(continued) for part in each if part is not None]
    assert after[:known] == before[:known]
    assert len(values(again.told)) == len(before) - known
    assert len(guard.charged) == len(charged)


def test_a_run_that_is_known_to_its_end_never_looks_at_the_table(whole):
    plan, journal, transcript, _ = whole
    table, again = Watched(), Kept(pasts=[RecordedDraw(value=value) for value in values(journal.told)])
    assert released(run(plan, again, table=table).transcript) == released(transcript)
    assert (table.looks, again.told) == (0, [])


@pytest.mark.parametrize("lost", thinned(range(7), 7))
def test_a_lost_draw_is_paid_and_its_round_left_out(whole, lost):
    plan, journal, _, _ = whole
    pasts = [RecordedDraw(value=value) for value in values(journal.told)[:lost]] + [RecordedDraw(value=None)]
    guard = OpenFilter()
    outcome = run(plan, Kept(pasts=pasts), guard=guard)
    gone = [place for place, one in enumerate(outcome.transcript.rounds) if one.measurement is None]
    openings = len(plan.opening)
    assert gone == [lost if lost < openings else openings + (lost - openings) // 2]
    assert outcome.transcript.lost == 1
    assert len(outcome.transcript.rounds) == openings + plan.rounds
    chosen_alone = lost >= openings and (lost - openings) % 2 == 0
    assert len(guard.charged) == sum(count for _, count in plan.events) - chosen_alone


@pytest.mark.slow
def test_the_last_opening_may_be_lost_and_the_others_are_learned():
    plan, journal = make_plan(rounds=3), Kept()
    assert plan.rounds == 0
    run(plan, journal)
    pasts = [RecordedDraw(value=value) for value in values(journal.told)[:2]] + [RecordedDraw(value=None)]
    outcome = run(plan, Kept(pasts=pasts))
    assert outcome.hypothesis.total > 1000
    plan = make_plan()
    outcome = run(plan, Kept(pasts=[RecordedDraw(value=None)] * 9))
    assert outcome.transcript.lost == len(outcome.transcript.rounds) == len(plan.opening) + plan.rounds


def test_a_failed_draw_was_begun_and_is_not_recorded():
    class Broken(Watched):
        def marginal(self, axes):
            raise ValueError("values")

    journal = Kept()
    with pytest.raises(MechanismFailed):
        run(make_plan(), journal, table=Broken())
    assert len(journal.told) == 1
    assert values(journal.told) == []
