"""The schedule of marginals: what it plans, how far released figures may steer it, what it spends."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from support.cases import in_one_test, thinned

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.marginals.search import opening_counts
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement, Workload

WIDE = (24, 20, 16, 24, 24)
"""More cells than one table may have, in few pairs."""
BUDGETS = {"basic": PrivacyBudget(Fraction(1)), "zcdp": PrivacyBudget(Fraction(1), Fraction(1, 10**9))}


def marginals(sizes, ways):
    return tuple(
        QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, sizes[axis]) for axis in axes))
        for axes in combinations(range(len(sizes)), ways)
    )


def problem(sizes=WIDE, ways=2, neighbours=Neighbours.ADD_REMOVE, **more):
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(sizes)))
    workload = Workload(marginals(sizes, ways))
    return Problem(domain=domain, workload=workload, unit=PrivacyUnit(neighbours=neighbours), **more)


def test_the_total_alone_is_no_marginal_of_columns():
    alone = replace(problem(), workload=Workload((QueryBlock(name="total"),)))
    with pytest.raises(InfeasiblePlan, match="only the total is asked for; take --schedule rounds"):
        Marginals().plan(alone, BUDGETS["basic"], roles("basic"))


def roles(accountant):
    return Roles(
        distinguisher=Exponential(),
        check=Laplace() if accountant == "basic" else Gaussian(),
        update=MultiplicativeWeights(),
        accountant=ACCOUNTANTS[accountant],
    )


def table(sizes, rows, seed=1):
    """Three columns follow the first one, the others nothing."""
    random = np.random.default_rng(seed)
    columns = [random.integers(0, size, rows) for size in sizes]
    for axis in range(1, min(4, len(sizes))):
        columns[axis] = columns[0] * sizes[axis] // sizes[0]
    counts = np.zeros(sizes, dtype=np.int64)
    np.add.at(counts, tuple(columns), 1)
    return DenseHistogram(counts)


TABLE = table(WIDE, 100_000)


@dataclass(frozen=True)
class SingleMarginals:
    """Counts of many columns by single ones: ten records in every cell."""

    sizes: tuple[int, ...]

    def prefetch(self, groups):
        pass

    def marginal(self, axes):
        (axis,) = axes
        return np.full(self.sizes[axis], 10, dtype=np.int64)


def played(plan, data, seed=7, lost=None):
    """A run in which the worst answered block is always chosen and a filter admits every draw; steps, fit.

    lost: the step whose draw a crash has lost; None: none was.
    """
    random = np.random.default_rng(seed)
    admits, transcript, steps = make_filter(plan), Transcript(), []
    hypothesis, state = plan.roles.update.start(plan.problem), plan.schedule.start(plan)
    while step := plan.schedule.next(plan, state):
        assert len(steps) < 200
        blocks, choice = step.only, None
        if step.select is not None:
            scores = step.candidates.scores(hypothesis).evaluate(data)
            choice = int(np.argmax(scores))
            blocks = step.candidates[choice]
            admits.charge(plan.roles.distinguisher.event(step.select))
        admits.charge(plan.roles.check.event(blocks, plan.problem.unit, step.measure))
        law = plan.roles.check.law(blocks, plan.problem.unit, step.measure)
        values = tuple(
            block.answer(data) + np.rint(random.normal(0, law.deviation, block.rows)).astype(np.int64)
            for block in blocks
        )
        told = tuple(hypothesis.answer(block) for block in blocks) if step.compare else ()
        measurement = None if lost == len(steps) else Measurement(blocks=blocks, values=values, law=law)
        transcript.add(Round(choice=choice, measurement=measurement, charges=(0,), expected=told))
        steps.append((step, blocks))
        state = plan.schedule.after(state, transcript.rounds[-1])
        if step.refit:
            hypothesis = plan.roles.update.update(plan.problem, hypothesis, transcript.measurements)
    return steps, hypothesis, admits


@cache
def ran(accountant, rows=100_000):
    """The plan and a run that several tests look at."""
    plan = Marginals().plan(problem(), BUDGETS[accountant], roles(accountant))
    return plan, *played(plan, TABLE if rows == 100_000 else table(WIDE, rows))


@pytest.mark.parametrize("accountant", thinned(BUDGETS, 2))
@pytest.mark.parametrize("rows", thinned([0, 300, 100_000], 3))
def test_a_run_stays_within_its_budget_and_spends_it(accountant, rows):
    _, steps, state, admits = ran(accountant, rows)
    limit = admits.limit
    assert 0.95 * limit <= admits._spent <= limit
    assert state.total >= 0
    assert steps[-1][0].refit


@pytest.mark.slow
def test_no_block_is_chosen_twice():
    _, steps, _, _ = ran("zcdp")
    chosen = [blocks[0].name for step, blocks in steps if step.select is not None]
    assert 3 <= len(chosen) == len(set(chosen))


def test_dependent_columns_are_found_and_measured_again():
    _, steps, state, _ = ran("zcdp")
    pairs = {blocks[0].axes for step, blocks in steps if step.select is not None}
    assert len(pairs & {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}) >= 3
    last = {blocks[0].axes for step, blocks in steps if step.select is None}
    assert pairs <= last
    truth = TABLE
    assert np.abs(state.marginal((0, 1)) - truth.marginal((0, 1))).sum() < 0.05 * 100_000


@pytest.mark.slow
@pytest.mark.parametrize("accountant", BUDGETS)
def test_no_choice_is_drowned_in_noise_after_one_that_was_far_off(accountant):
    """The first pair has nearly all records in wrong cells; noise of that size would tell nothing of the next one."""
    plan = Marginals(table=0).plan(problem(), BUDGETS[accountant], roles(accountant))
    steps, _, _ = played(plan, TABLE)
    chosen = [(step, blocks) for step, blocks in steps if step.select is not None]
    laws = [plan.roles.check.law(blocks, plan.problem.unit, step.measure) for step, blocks in chosen]
    assert len(laws) >= 3
    assert all(law.deviation < 100_000 / blocks[0].cells for law, (_, blocks) in zip(laws, chosen, strict=True))


@pytest.mark.slow
def test_pairs_below_wider_marginals_are_searched_first():
    """They tell dependent columns with a fraction of the noise; at this budget triples would drown in it."""
    asked = problem(ways=3)
    plan = Marginals().plan(asked, BUDGETS["zcdp"], roles("zcdp"))
    steps, _, _ = played(plan, table(WIDE, 10_000))
    chosen = [blocks[0] for step, blocks in steps if step.select is not None]
    assert chosen
    assert all(len(block.axes) == 2 for block in chosen)
    assert all("below(c" in block.name for block in chosen)
    assert set(chosen[0].axes) <= {0, 1, 2, 3}, "the columns that follow each other"


@pytest.mark.slow
def test_wider_marginals_are_searched_where_noise_is_small():
    generous = PrivacyBudget(Fraction(400), Fraction(1, 10**9))
    steps, _, _ = played(Marginals().plan(problem(ways=3), generous, roles("zcdp")), TABLE)
    orders = [len(blocks[0].axes) for step, blocks in steps if step.select is not None]
    assert orders == sorted(orders)
    assert set(orders) == {2, 3}


@pytest.mark.slow
def test_where_noise_drowns_single_cells_coarse_ones_are_chosen_and_measured_again():
    plan = Marginals().plan(problem(), PrivacyBudget(Fraction(1, 40), Fraction(1, 10**9)), roles("zcdp"))
    steps, state, admits = played(plan, TABLE)
    coarse = {blocks[0].name for step, blocks in steps if step.select and blocks[0].name.startswith("coarse")}
    last = {blocks[0].name for step, blocks in steps if step.select is None}
    assert coarse
    assert coarse <= last
    assert 0.95 * admits.limit <= admits._spent <= admits.limit
    assert np.abs(state.marginal((0, 1)) - TABLE.marginal((0, 1))).sum() < 120_000


def test_a_small_table_of_all_columns_is_measured_once():
    sizes = (3, 4, 5)
    plan = Marginals().plan(problem(sizes, n=500), BUDGETS["basic"], roles("basic"))
    assert [len(blocks[0].axes) for blocks in plan.opening] == [3]
    assert (plan.rounds, plan.price("opening").pure) == (0, 1)
    assert "60 cells" in plan.notes[0]
    steps, _, _ = played(plan, table((3, 4, 5), 500))
    assert len(steps) == 1


def prefixes(sizes):
    """Of each column by every later one."""
    return tuple(
        QueryBlock(
            name=f"prefixes{axes}",
            factors=(
                Factor(axes=axes[:1], sizes=(sizes[axes[0]],), matrix=Prefix(sizes[axes[0]])),
                Factor.identity(axes[1], sizes[axes[1]]),
            ),
        )
        for axes in combinations(range(len(sizes)), 2)
    )


@pytest.mark.slow
@pytest.mark.parametrize("accountant", BUDGETS)
def test_prefixes_are_told_from_the_pairs_that_they_add_up(accountant):
    """They would be measured with up to 24 times the noise of a pair."""
    asked = replace(problem(), workload=Workload(prefixes(WIDE)))
    plan = Marginals(table=0).plan(asked, BUDGETS[accountant], roles(accountant))
    steps, state, _ = played(plan, TABLE)
    assert all(block.is_marginal for _, blocks in steps for block in blocks)
    assert {(0, 1), (0, 2), (0, 3)} & {blocks[0].axes for step, blocks in steps if step.select is not None}
    first = asked.workload.blocks[0]
    assert np.abs(state.answer(first) - first.answer(TABLE)).mean() < 0.001 * 100_000


@pytest.mark.slow
def test_predicates_that_tie_columns_together_are_searched_as_well():
    either = np.ones((1, WIDE[0] * WIDE[1]), dtype=np.int64)
    either[0, :100] = 0
    tied = QueryBlock(name="or", factors=(Factor(axes=(0, 1), sizes=WIDE[:2], matrix=Dense(either)),))
    asked = replace(problem(), workload=Workload((tied, *marginals(WIDE, 2))))
    steps, _, _ = played(Marginals().plan(asked, BUDGETS["zcdp"], roles("zcdp")), TABLE)
    assert {tied.name} < {block.name for step, _ in steps if step.select for block in step.candidates.listed.blocks}


@in_one_test("accountant", BUDGETS)
def test_one_way_marginals_alone_are_not_searched(accountant):
    """They are measured, each once, with the noise and at the prices that the plan states."""
    asked = problem(tuple(range(3, 15)), 1)
    plan = Marginals().plan(asked, BUDGETS[accountant], roles(accountant))
    steps, _, _ = played(plan, SingleMarginals(asked.domain.shape))
    assert [blocks for _, blocks in steps] == [(block,) for block in asked.workload.blocks] == list(plan.opening)
    assert all(step.select is None for step, _ in steps)
    assert [step.refit for step, _ in steps] == [False] * 11 + [True]
    assert {phase.noun for phase in plan.phases} == {"opening"}
    drawn = [plan.roles.check.law(blocks, asked.unit, step.measure).deviation for step, blocks in steps]
    assert [block.deviation for block in plan.forecast] == pytest.approx(drawn, rel=0.01)
    assert float(plan.epsilon) == pytest.approx(1, abs=1e-3)
    assert "nothing is searched" in plan.notes[-1]


@in_one_test("accountant", BUDGETS)
def test_the_plan_on_paper_costs_the_budget(accountant):
    plan = Marginals().plan(problem(), BUDGETS[accountant], roles(accountant))
    assert 0.99 < float(plan.epsilon) <= 1
    split = Split(left_out=Fraction(1, 10))
    counted = plan_split(Marginals(), split, problem(), BUDGETS[accountant], roles(accountant))
    assert 0.98 < float(counted.epsilon) <= 1


def test_a_public_number_of_records_serves():
    facts = problem(neighbours=Neighbours.REPLACE, n=5_000)
    plan = Marginals(table=0).plan(facts, BUDGETS["basic"], roles("basic"))
    steps, state, _ = played(plan, table(WIDE, 5_000))
    assert state.total == 5_000
    assert len(steps) > len(plan.opening)


@pytest.mark.slow
def test_the_next_step_follows_from_the_transcript_alone():
    plan, first, _, _ = ran("zcdp")
    second, _, _ = played(plan, TABLE)
    assert [(step.measure, blocks[0].name) for step, blocks in first] == [
        (step.measure, blocks[0].name) for step, blocks in second
    ]


def test_a_lost_marginal_counts_as_even():
    """As many records as the others hold, the same in every cell."""
    singles = tuple(blocks[0] for blocks in Marginals().plan(problem(), BUDGETS["zcdp"], roles("zcdp")).opening[:2])
    law = Gaussian().law(singles[:1], PrivacyUnit(), Price(rho=Fraction(1)))
    measured = Measurement(blocks=singles[:1], values=(np.arange(24),), law=law)
    counts = opening_counts(singles, [measured, None])
    assert np.array_equal(counts[0], np.arange(24))
    assert counts[1] == pytest.approx(np.full(20, 276 / 20))


@pytest.mark.slow
def test_a_lost_draw_is_left_out():
    """It stays paid and is not drawn anew before the search, which goes on from the others: with even counts in its
    place, and without the dependence that all of them together would have shown."""
    plan, kept, _, _ = ran("zcdp")
    opening = len(plan.opening)
    steps, state, admits = played(plan, TABLE, lost=opening - 1)
    pairs = len(plan.problem.workload.blocks)
    assert any(step.errors and len(step.only) == pairs for step, _ in kept)
    assert not any(step.errors and len(step.only) == pairs for step, _ in steps)
    first = [blocks for step, blocks in steps if step.select is None][:opening]
    assert first == list(plan.opening)
    assert [step.select for step, _ in steps[:opening]] == [None] * opening
    chosen = {blocks[0].axes for step, blocks in steps if step.select is not None}
    assert {(0, 1), (0, 2), (0, 3)} & chosen
    assert admits._spent <= admits.limit
    assert np.abs(state.marginal((0, 1)) - TABLE.marginal((0, 1))).sum() < 0.05 * 100_000
