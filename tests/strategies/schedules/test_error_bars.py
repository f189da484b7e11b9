"""Errors after the loop, whatever the schedule and the accountant: when they are bought, and at what price."""

from dataclasses import replace
from fractions import Fraction

import pytest
from strategies.schedules.test_set_aside import BLOCKS, BUDGET, PROBLEM, roles

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.strategies.plan import StopTest
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.error_bars import WithDroppedCount, WithErrorBars, leaves_unmeasured, unmeasured
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.strategy_matrices import interaction
from dpqr.workload.workload import Workload

PAIRS = tuple(
    QueryBlock(name=f"{a} {b}", factors=(Factor.identity(a, 3), Factor.identity(b, 3)))
    for a in range(4)
    for b in range(a)
)
PROBLEM_OF_PAIRS = Problem(domain=PROBLEM.domain, workload=Workload(PAIRS), unit=PROBLEM.unit)
LARGE = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(20)) for axis in range(5)))
PROBLEM_OF_LARGE_PAIRS = Problem(
    domain=LARGE,
    workload=Workload(
        tuple(
            QueryBlock(name=f"{a} {b}", factors=(Factor.identity(a, 20), Factor.identity(b, 20)))
            for a in range(5)
            for b in range(a)
        )
    ),
    unit=PROBLEM.unit,
)
CHOOSING, WHOLE = Rounds(rounds=2), Rounds(rounds=9)
TENTH = Fraction(1, 10)
AS_MANY_ROUNDS = Rounds(rounds=5)
SIX = Problem(domain=PROBLEM.domain, workload=Workload((*BLOCKS[1:], *PAIRS[:5])), unit=PROBLEM.unit)


def planned(schedule=CHOOSING, accountant="basic", problem=PROBLEM_OF_PAIRS, budget=BUDGET, **asked):
    return WithErrorBars(schedule=schedule, **asked).plan(problem, budget, roles(accountant))


def draws(plan):
    return [(phase.noun, phase.count, phase.price) for phase in plan.phases], plan.events, plan.epsilon


@pytest.mark.parametrize(
    ("schedule", "problem", "may"),
    [
        (CHOOSING, PROBLEM_OF_PAIRS, True),
        (WHOLE, PROBLEM_OF_PAIRS, False),
        (CHOOSING, PROBLEM, False),
        (AS_MANY_ROUNDS, SIX, False),
        (Marginals(table=0), PROBLEM_OF_PAIRS, True),
        (Marginals(), PROBLEM_OF_LARGE_PAIRS, True),
        (Marginals(), replace(PROBLEM_OF_PAIRS, n=10**6), False),
        (Marginals(), replace(PROBLEM_OF_LARGE_PAIRS, n=10), True),
        (Strategy(), PROBLEM, False),
    ],
    ids=[
        "rounds",
        "all blocks",
        "the opening is all",
        "as many rounds",
        "search",
        "counted",
        "table",
        "one-way marginals alone",
        "strategy",
    ],
)
def test_errors_are_bought_by_default_where_a_block_may_end_unmeasured(schedule, problem, may) -> None:
    plain = schedule.plan(problem, BUDGET, roles("basic"))
    assert leaves_unmeasured(plain) == may
    plan = planned(schedule, problem=problem)
    assert (plan.phase("errors") is not None) == may
    assert may or draws(plan) == draws(plain)
    stated = planned(schedule, problem=problem, share=TENTH)
    assert (stated.phase("errors") is not None) == may
    assert may or stated.notes[-1] == "no errors of unmeasured blocks are bought: every block is measured"


class Cramped(MultiplicativeWeights):
    """It has room for nothing."""

    def fits(self, problem, measured, candidate):
        return False


def test_as_many_rounds_as_blocks_do_not_reach_one_without_room() -> None:
    """A block that does not fit is passed over, and another one is measured again."""
    plan = AS_MANY_ROUNDS.plan(SIX, BUDGET, roles("basic"))
    assert not leaves_unmeasured(plan)
    assert leaves_unmeasured(replace(plan, roles=replace(plan.roles, update=Cramped())))


@pytest.mark.parametrize(("accountant", "share"), [("basic", Fraction(1, 200)), ("zcdp", Fraction(1, 100))])
def test_the_default_share_takes_half_a_percent_of_noise(accountant, share) -> None:
    plan, plain = planned(accountant=accountant), planned(accountant=accountant, free=True)
    assert draws(plan) == draws(planned(accountant=accountant, share=share))
    assert 1.004 < plan.noise / plain.noise < 1.006


@pytest.mark.parametrize("accountant", ["basic", "advanced", "zcdp"])
@pytest.mark.parametrize("asked", [{}, {"share": TENTH}, {"certify": TENTH}], ids=str)
@pytest.mark.parametrize("schedule", [CHOOSING, Marginals(table=0)], ids=["rounds", "search"])
def test_no_plan_costs_more_than_its_budget_or_leaves_much(accountant, asked, schedule) -> None:
    if accountant == "advanced" and schedule.adaptive:
        return
    plan = planned(schedule, accountant, **asked)
    assert 0.9 < float(plan.epsilon) <= 1
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    for event, count in plan.events:
        for _ in range(count):
            guard.charge(event)


@pytest.mark.parametrize("noun", ["errors", "bounds"])
@pytest.mark.parametrize(("accountant", "draws"), [("basic", 2), ("zcdp", 1)])
def test_the_price_is_the_share_and_the_events_cost_it(noun, accountant, draws) -> None:
    plan = planned(accountant=accountant, **({"share": TENTH} if noun == "errors" else {"certify": TENTH}))
    phase = plan.phases[-1]
    ((event, count),) = phase.events
    assert (phase.noun, phase.count, count) == (noun, 1 if noun == "errors" else draws, phase.count)
    cost, each = (pure_epsilon, phase.price.epsilon) if accountant == "basic" else (concentrated_rho, phase.price.rho)
    assert cost(event) == each
    total = sum(cost(one) * number for one, number in plan.events if cost(one) is not None)
    assert each * count == pytest.approx(float(TENTH * total), rel=1e-9)


def test_bounds_are_bought_for_measured_blocks_too() -> None:
    assert planned(WHOLE, certify=TENTH).phase("bounds") is not None
    assert planned(Strategy(), problem=PROBLEM, certify=TENTH).phase("bounds") is not None


def test_an_accountant_for_equal_draws_takes_none_by_default_and_refuses_a_share() -> None:
    plan = planned(accountant="optimal")
    assert plan.phase("errors") is None
    assert plan.notes[-1].startswith("no errors of unmeasured blocks are bought: the optimal accountant covers equal")
    for asked in ({"share": TENTH}, {"certify": TENTH}):
        with pytest.raises(InfeasiblePlan, match="equal draws only"):
            planned(accountant="optimal", **asked)


def test_a_plan_with_a_stop_test_takes_a_share_only_where_it_is_asked_for() -> None:
    problem = Problem(domain=PROBLEM.domain, workload=Workload(PAIRS), unit=PROBLEM.unit, n=10**7)
    budget = PrivacyBudget(Fraction(50))
    plain = planned(Theory(), problem=problem, budget=budget)
    assert isinstance(plain.stop, StopTest)
    assert plain.phase("errors") is None
    assert planned(Theory(), problem=problem, budget=budget, share=TENTH).phase("errors") is not None


def test_a_count_of_left_out_records_goes_with_it() -> None:
    whole = WithErrorBars(schedule=CHOOSING, share=TENTH)
    plan = WithDroppedCount(schedule=whole, share=TENTH).plan(PROBLEM_OF_PAIRS, BUDGET, roles("basic"))
    assert [phase.noun for phase in plan.phases][-1] == "errors"
    assert plan.phases[0].noun == "left out"
    assert plan.schedule == CHOOSING
    assert len(BLOCKS) == plan.phases[1].count


@pytest.mark.parametrize("asked", [{"share": Fraction(1, 50)}, {"certify": Fraction(1, 20)}], ids=["errors", "bounds"])
def test_errors_are_planned_as_those_of_every_block(asked) -> None:
    """One record moves the error of each block, by FINENESS at most."""
    plan = planned(**asked)
    (phase,) = plan.named("errors") or plan.named("bounds")
    assert {event.sensitivity for event, _ in phase.events} == {FINENESS * len(plan.problem.workload.blocks)}


def test_a_block_is_measured_by_itself_its_rows_its_cells_or_its_interaction() -> None:
    pair = PAIRS[0]
    table = QueryBlock(name="cells", factors=pair.factors)
    for measured in (pair, table, interaction(pair, "apart")):
        assert unmeasured(PAIRS, [measured]) == PAIRS[1:]
    assert unmeasured(PAIRS[:1], [pair.row(row) for row in range(pair.rows)]) == ()
    assert unmeasured(PAIRS, [interaction(QueryBlock(name="", factors=pair.factors[:1]), "column")]) == PAIRS
