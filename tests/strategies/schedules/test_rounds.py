"""Plans of the practical schedule: what it opens with, how it cuts the budget, what it leaves out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.cases import thinned
from support.schedule_states import next_step

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import Rounds, default_rounds
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement, Workload

SIZES = (2, 3, 4, 5)
APPROXIMATE = PrivacyBudget(Fraction(1), Fraction(1, 10**9))


def marginal(*axes):
    return QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, SIZES[axis]) for axis in axes))


PAIRS = tuple(marginal(first, second) for first in range(4) for second in range(first))


def problem(blocks=PAIRS, **more):
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES)))
    return Problem(domain=domain, workload=Workload(tuple(blocks)), unit=PrivacyUnit(), **more)


def roles(accountant="basic", check=None):
    return Roles(
        distinguisher=Exponential(),
        check=check or Laplace(),
        update=MultiplicativeWeights(),
        accountant=ACCOUNTANTS[accountant],
    )


def finished(blocks):
    values = tuple(np.zeros(block.rows, dtype=np.int64) for block in blocks)
    return Round(
        choice=0, measurement=Measurement(blocks=blocks, values=values, law=DiscreteLaplace(Fraction(1))), charges=(0,)
    )


def test_opening_measures_every_attribute_of_the_workload_once():
    plan = Rounds(rounds=2).plan(problem(PAIRS[:3]), PrivacyBudget(Fraction(1)), roles())
    assert [blocks[0].axes for blocks in plan.opening] == [(0,), (1,), (2,)]


def test_the_workloads_own_one_way_marginal_serves_as_opening():
    own = marginal(1)
    plan = Rounds(rounds=2).plan(problem((own, *PAIRS)), PrivacyBudget(Fraction(1)), roles())
    assert plan.opening[1] == (own,)


def test_a_workload_that_fits_into_the_rounds_is_measured_whole():
    plan = Rounds(rounds=6).plan(problem(), PrivacyBudget(Fraction(1)), roles())
    assert plan.rounds == 0
    assert plan.opening == tuple((block,) for block in PAIRS)
    assert plan.price("opening").pure == Fraction(1, 6)


@pytest.mark.parametrize("accountant", thinned(["basic", "advanced", "optimal", "zcdp", "pld"], 2))
@pytest.mark.parametrize("rounds", thinned([2, 6], 2))
def test_no_plan_costs_more_than_its_budget(accountant, rounds):
    if accountant == "pld":
        pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")
    plan = Rounds(rounds=rounds).plan(problem(), APPROXIMATE, roles(accountant))
    assert 0.9 < float(plan.epsilon) <= 1


def test_gaussian_noise_under_concentrated_accounting():
    plan = Rounds(rounds=2).plan(problem(), APPROXIMATE, roles("zcdp", Gaussian()))
    assert 0.99 < float(plan.epsilon) <= 1


def test_steps_follow_the_plan_and_leave_measured_blocks_out():
    schedule = Rounds(rounds=2)
    plan = schedule.plan(problem(), PrivacyBudget(Fraction(1)), roles())
    transcript = Transcript()
    for blocks in plan.opening:
        step = next_step(plan, transcript)
        assert step.only == blocks
        assert step.select is None
        transcript.add(finished(blocks))
    first = next_step(plan, transcript)
    assert len(first.candidates) == 6
    transcript.add(finished(first.candidates[4]))
    second = next_step(plan, transcript)
    assert PAIRS[4] not in second.candidates.blocks
    transcript.add(finished(second.candidates[0]))
    assert next_step(plan, transcript) is None


WIDE = (120, 110, 100, 90)
WIDE_PAIRS = tuple(
    QueryBlock(name=f"{pair}", factors=tuple(Factor.identity(axis, WIDE[axis]) for axis in pair))
    for pair in ((0, 1), (1, 2), (0, 2), (2, 3))
)


def wide_plan(rounds):
    """Two pairs in a chain fit the model (25,000 cells); a triangle of three needs 1.3 million."""
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(WIDE)))
    facts = Problem(domain=domain, workload=Workload(WIDE_PAIRS), unit=PrivacyUnit())
    small = replace(roles(), update=MultiplicativeWeights(model_size=8 * 50_000))
    return Rounds(rounds=rounds).plan(facts, PrivacyBudget(Fraction(1), Fraction(0)), small)


def test_wide_blocks_are_scored_less_their_noise():
    """Laplace noise of scale b = sensitivity / epsilon; deviation b sqrt(2); a fifth of it for every answer."""
    planned = Rounds(rounds=2).plan(problem(), PrivacyBudget(Fraction(1), Fraction(0)), roles())
    transcript = Transcript()
    for blocks in planned.opening:
        transcript.add(finished(blocks))
    offered = next_step(planned, transcript).candidates
    deviation = (2 / float(planned.price("measurement").pure) ** 2) ** 0.5
    expected = [0.2 * deviation * block.rows for block in offered.blocks]
    assert offered.penalties == pytest.approx(expected, rel=0.1, abs=1)
    assert max(offered.penalties) > 2 * min(offered.penalties)


def test_noise_without_bound_breaks_no_score():
    tiny = PrivacyBudget(Fraction(1, 10**11), Fraction(0))
    planned = Rounds(rounds=2).plan(problem(), tiny, roles())
    transcript = Transcript()
    for blocks in planned.opening:
        transcript.add(finished(blocks))
    assert max(next_step(planned, transcript).candidates.penalties) <= 2**40


def test_what_the_hypothesis_has_no_room_for_is_no_candidate():
    planned = wide_plan(3)
    transcript = Transcript()
    for blocks in (*planned.opening, (WIDE_PAIRS[0],), (WIDE_PAIRS[1],)):
        transcript.add(finished(blocks))
    assert next_step(planned, transcript).candidates.blocks == (WIDE_PAIRS[3],)
    transcript.add(finished((WIDE_PAIRS[3],)))
    assert next_step(planned, transcript) is None


def test_where_nothing_has_room_what_was_measured_may_be_chosen_again():
    planned = wide_plan(4)
    assert len(planned.opening) == 4  # one-way marginals: the workload would fit the rounds, but not the model
    transcript = Transcript()
    for blocks in (*planned.opening, (WIDE_PAIRS[0],), (WIDE_PAIRS[1],), (WIDE_PAIRS[3],)):
        transcript.add(finished(blocks))
    chosen_from = next_step(planned, transcript).candidates.blocks
    assert chosen_from == (WIDE_PAIRS[0], WIDE_PAIRS[1], WIDE_PAIRS[3])


def test_a_private_total_is_bought_where_no_marginal_tells_it():
    asked = QueryBlock(name="a sum", factors=(Factor(axes=(3,), sizes=(5,), matrix=Dense(np.arange(5)[None, :])),))
    plan = Rounds().plan(problem((asked,)), PrivacyBudget(Fraction(1)), roles())
    assert [blocks[0].axes for blocks in plan.opening] == [(), (3,)]
    public = problem((asked,), n=100)
    plan = Rounds().plan(public, PrivacyBudget(Fraction(1)), roles())
    assert [blocks[0].axes for blocks in plan.opening] == [(3,)]


def prefixes(along, by):
    first = Factor(axes=(along,), sizes=(SIZES[along],), matrix=Prefix(SIZES[along]))
    return QueryBlock(name=f"prefixes of {along} by {by}", factors=(first, Factor.identity(by, SIZES[by])))


PREFIXES = tuple(prefixes(first, second) for first in range(4) for second in range(first))


def test_prefixes_are_measured_as_the_cells_that_they_add_up():
    plan = Rounds(rounds=6).plan(problem(PREFIXES), PrivacyBudget(Fraction(1)), roles())
    assert all(block.is_marginal for blocks in plan.opening for block in blocks)
    noise = plan.roles.check.law(plan.opening[-1], PrivacyUnit(), plan.price("opening")).deviation
    known = plan.forecast[-1]  # prefixes of one to five cells
    assert (known.name, known.rows) == (PREFIXES[-1].name, 20)
    assert known.deviation == pytest.approx(noise * np.sqrt(3))


def test_rounds_choose_among_the_cells_of_prefixes():
    plan = Rounds(rounds=2).plan(problem(PREFIXES), PrivacyBudget(Fraction(1)), roles())
    transcript = Transcript()
    for blocks in plan.opening:
        transcript.add(finished(blocks))
    offered = next_step(plan, transcript).candidates
    assert all(block.is_marginal for block in offered.blocks)
    transcript.add(finished(offered[0]))
    assert [block.axes for block in next_step(plan, transcript).candidates.blocks] == [
        block.axes for block in offered.blocks[1:]
    ]
    assert {frozenset(axes) for axes in plan.column_sets} == {
        *(frozenset(block.axes) for block in PREFIXES),
        *(frozenset((axis,)) for axis in range(4)),
    }


def test_rounds_grow_with_epsilon_and_read_nothing_else():
    assert [default_rounds(Fraction(eps)) for eps in ("0.01", "0.1", "1", "10")] == [3, 5, 22, 99]


def test_replace_doubles_the_noise_of_a_marginal():
    added = Rounds(rounds=6).plan(problem(), PrivacyBudget(Fraction(1)), roles())
    unit = PrivacyUnit(neighbours=Neighbours.REPLACE)
    domain = problem().domain
    replaced_problem = Problem(domain=domain, workload=Workload(PAIRS), unit=unit, n=10)
    replaced = Rounds(rounds=6).plan(replaced_problem, PrivacyBudget(Fraction(1)), roles())
    assert replaced.noise == pytest.approx(2 * added.noise, rel=0.01)


@pytest.mark.slow
def test_a_plan_admits_whatever_block_is_chosen_under_a_theorem_that_prices_single_integers_apart():
    """The widest block is one sum, of which a neighbour moves one integer; a marginal may be drawn in its place."""
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with dpqr[pld]")
    amounts = Dense(np.array([[0, 10, 20, 30, 40]], dtype=np.int64))
    total = QueryBlock(name="sum", factors=(Factor(axes=(3,), sizes=(5,), matrix=amounts),))
    asked = problem((*PAIRS, total))
    plan = Rounds(rounds=2).plan(asked, APPROXIMATE, roles("pld"))
    guard = make_filter(plan)
    check, unit = plan.roles.check, asked.unit
    for blocks in plan.opening:
        guard.charge(check.event(blocks, unit, plan.price("opening")))
    for block in (PAIRS[0], total):
        guard.charge(plan.roles.distinguisher.event(plan.price("selection")))
        guard.charge(check.event((block,), unit, plan.price("measurement")))
