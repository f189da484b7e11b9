"""A budget that is split: a count of the left-out records, the schedule's draws, and errors of its answers."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.plan_phases import without
from support.schedule_states import next_step

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles, StopTest
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.split import DROPPED, Split, leaves_unmeasured, plan_split, unmeasured
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.transcript import Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.strategy_matrices import interaction
from dpqr.workload.workload import Workload

PURE = PrivacyBudget(Fraction(1))
APPROXIMATE = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
TENTH = Fraction(1, 10)
BLOCKS = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 3),)) for axis in range(4))
DOMAIN = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(3)) for axis in range(4)))
PROBLEM = Problem(domain=DOMAIN, workload=Workload(BLOCKS), unit=PrivacyUnit())


PERSON = PrivacyUnit(columns=("person",))
DRAWS = ("opening", "selection", "measurement")


def of_persons(unit=PERSON, **more):
    """Of persons, whose count has a price."""
    return Problem(domain=DOMAIN, workload=Workload(BLOCKS), unit=unit, **more)


def roles(accountant="basic", check=None):
    return Roles(
        distinguisher=Exponential(),
        check=check or Laplace(),
        update=MultiplicativeWeights(),
        accountant=ACCOUNTANTS[accountant],
    )


def counted(schedule=None, share=TENTH, problem=None, budget=PURE, own=None):
    """The plan with a count of the left-out records; share None: where it is free alone."""
    chosen = schedule or Rounds(rounds=2)
    return plan_split(chosen, Split(left_out=share), problem or of_persons(), budget, own or roles())


@in_one_test("share", [TENTH, Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("rounds", [2, 9])
def test_under_basic_composition_the_share_is_exact(share, rounds) -> None:
    plan = counted(Rounds(rounds=rounds), share)
    rest = Rounds(rounds=rounds).plan(of_persons(), PrivacyBudget(1 - share), roles())
    assert plan.price("left out").pure == share
    assert [plan.price(noun) for noun in DRAWS] == [rest.price(noun) for noun in DRAWS]
    assert plan.epsilon == 1
    assert plan.events == ((DiscreteLaplaceEvent(sensitivity=1, scale=1 / share, coordinates=1), 1), *rest.events)


@in_one_test("accountant", ["basic", "advanced", "zcdp"])
@pytest.mark.parametrize("schedule", [Rounds(rounds=2), Rounds(rounds=9), Rounds(rounds=2, opening=False)])
def test_no_plan_with_a_count_costs_more_than_its_budget_or_leaves_much(accountant, schedule) -> None:
    plan = counted(schedule, budget=APPROXIMATE, own=roles(accountant))
    assert 0.9 < float(plan.epsilon) <= 1
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    for event, count in plan.events:
        for _ in range(count):
            guard.charge(event)


@pytest.mark.slow
@pytest.mark.parametrize(("accountant", "share"), [("basic", TENTH), ("zcdp", Fraction(1, 2))])
def test_a_share_of_what_is_drawn_in_stages_too(accountant, share) -> None:
    """Every draw of a plan has its part in the share: opening, stages, selections and measurements."""
    budget = PURE if accountant == "basic" else APPROXIMATE
    ordered = of_persons(unit=PrivacyUnit(columns=("person",), rows=2))
    block = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(300,), matrix=Prefix(300)),))
    domain = Domain((Attribute(name="c0", axis=Codes(300)),))
    ordered = replace(ordered, domain=domain, workload=Workload((block,)))
    plan = counted(Ordered(), share, problem=ordered, budget=budget, own=roles(accountant))
    assert plan.named("stage")
    prices = [
        price.epsilon or price.rho for price in (plan.price("opening"), *(stage.price for stage in plan.named("stage")))
    ]
    paid = plan.price("left out").epsilon or plan.price("left out").rho
    assert paid == share * (paid + sum(prices))
    assert float(plan.epsilon) == pytest.approx(1, rel=1e-3)
    assert plan.epsilon <= 1


def test_the_noise_is_the_checks() -> None:
    plan = counted(budget=APPROXIMATE, own=roles("zcdp", Gaussian()))
    event = plan.events[0][0]
    assert isinstance(event, DiscreteGaussianEvent)
    assert Fraction(event.squared_sensitivity) / (2 * event.variance) == plan.price("left out").concentrated
    assert float(plan.epsilon) <= 1


def test_the_plan_runs_its_own_schedule_with_its_own_roles() -> None:
    own = roles()
    plan = counted(own=own)
    assert plan.schedule == Rounds(rounds=2)
    assert plan.roles is own
    own_step = plan.schedule.next(plan, Rounds(rounds=2).start(plan))
    assert next_step(plan, Transcript()) == own_step


def test_theory_spends_the_rest() -> None:
    stated = of_persons(PrivacyUnit(neighbours=Neighbours.REPLACE), n=10**9)
    plan = counted(Theory(), problem=stated)
    alone = Theory().plan(stated, PURE, roles())
    assert plan.price("left out").pure == TENTH
    assert plan.rounds * (plan.price("selection").pure + plan.price("measurement").pure) == 1 - TENTH
    assert plan.problem.alpha > alone.problem.alpha


def test_equal_draws_only_cannot_have_a_share_apart() -> None:
    with pytest.raises(InfeasiblePlan, match="--count-dropped"):
        counted(budget=APPROXIMATE, own=roles("optimal"))


ALONE = [
    *((accountant, Rounds(rounds=2)) for accountant in ("basic", "advanced", "optimal", "zcdp")),
    ("basic", Marginals()),
    ("zcdp", Marginals()),
    ("basic", Theory()),
]


@in_one_test(("accountant", "schedule"), ALONE)
@pytest.mark.parametrize("share", [None, Fraction(1, 2)])
def test_where_it_is_free_all_other_draws_and_their_price_stay_as_they_are(accountant, schedule, share) -> None:
    budget, own = PURE if accountant == "basic" else APPROXIMATE, roles(accountant)
    rows = of_persons(PrivacyUnit(), n=10**6 if schedule.name == "theory" else None)
    plan, alone = counted(schedule, share, rows, budget, own), schedule.plan(rows, budget, own)
    (first, count), *others = plan.events
    assert isinstance(first, LeftOutEvent)
    assert (count, tuple(others), plan.epsilon) == (1, alone.events, alone.epsilon)
    assert without(plan, "left out") == alone
    (whole,) = own.accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
    assert (plan.price("left out").rho or plan.price("left out").epsilon) == (share or TENTH) * (
        whole.rho or whole.epsilon
    )
    guard = make_filter(plan)
    guard.charge(first)
    guard.charge(others[-1][0])


@in_one_test(
    "unit",
    [PrivacyUnit(neighbours=Neighbours.REPLACE), PERSON, PrivacyUnit(columns=("p",), rows=3)],
)
def test_elsewhere_it_is_not_made_unless_a_share_is_stated(unit) -> None:
    stated = of_persons(unit, n=100 if unit.rows_public else None)
    assert counted(share=None, problem=stated) == Rounds(rounds=2).plan(stated, PURE, roles())
    plan = counted(problem=stated)
    assert not any(isinstance(event, LeftOutEvent) for event, _ in plan.events)
    assert plan.price("left out").pure == TENTH
    assert plan.epsilon == 1


@dataclass(frozen=True)
class Foreign(Basic):
    """A third party's theorem, which adds up what it knows."""

    def epsilon(self, events, delta):
        return sum((pure_epsilon(event) * count for event, count in events), Fraction(0))


def test_an_accountant_that_does_not_know_left_out_records_counts_none() -> None:
    foreign = replace(roles(), accountant=Foreign())
    plan = counted(share=None, problem=of_persons(PrivacyUnit()), own=foreign)
    assert plan.price("left out") is None
    assert plan.events == Rounds(rounds=2).plan(of_persons(PrivacyUnit()), PURE, foreign).events
    assert "are not counted: the basic accountant has no price" in plan.notes[-1]
    with pytest.raises(InfeasiblePlan, match="leave --count-dropped out"):
        counted(problem=of_persons(PrivacyUnit()), own=foreign)


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize("most", [1, 4])
def test_a_person_moves_the_count_by_the_rows_that_count(relation, most) -> None:
    unit = PrivacyUnit(neighbours=relation, columns=("pid",), rows=most)
    assert sensitivity((DROPPED,), Norm.L1, unit) == most
    plan = counted(problem=of_persons(unit))
    assert plan.events[0][0].sensitivity == most


@in_one_test("relation", Neighbours)
def test_the_total_is_bought_where_the_number_of_persons_alone_is_public(relation) -> None:
    unit = PrivacyUnit(neighbours=relation, columns=("pid",), rows=2)
    stated = replace(of_persons(unit), persons=50 if relation is Neighbours.REPLACE else None)
    plan = Rounds(rounds=2, opening=False).plan(stated, PURE, roles())
    assert [blocks[0].axes for blocks in plan.opening] == [()]


# Errors of answers, after the loop.

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
AS_MANY_ROUNDS = Rounds(rounds=5)
SIX = Problem(domain=PROBLEM.domain, workload=Workload((*BLOCKS[1:], *PAIRS[:5])), unit=PROBLEM.unit)


def planned(schedule=CHOOSING, accountant="basic", problem=PROBLEM_OF_PAIRS, budget=APPROXIMATE, own=None, **shares):
    """By default with what error bars buy by default."""
    return plan_split(schedule, Split(**{"errors": None} | shares), problem, budget, own or roles(accountant))


def draws(plan):
    return [(phase.noun, phase.count, phase.price) for phase in plan.phases], plan.events, plan.epsilon


@in_one_test(
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
)
def test_errors_are_bought_by_default_where_a_block_may_end_unmeasured(schedule, problem, may) -> None:
    plain = schedule.plan(problem, APPROXIMATE, roles("basic"))
    assert leaves_unmeasured(plain) == may
    plan = planned(schedule, problem=problem)
    assert (plan.phase("errors") is not None) == may
    assert may or draws(plan) == draws(plain)
    stated = planned(schedule, problem=problem, errors=TENTH)
    assert (stated.phase("errors") is not None) == may
    assert may or stated.notes[-1] == "no errors of unmeasured blocks are bought: every block is measured"


class Cramped(MultiplicativeWeights):
    """It has room for nothing."""

    def fits(self, problem, measured, candidate):
        return False


def test_as_many_rounds_as_blocks_do_not_reach_one_without_room() -> None:
    """A block that does not fit is passed over, and another one is measured again."""
    plan = AS_MANY_ROUNDS.plan(SIX, APPROXIMATE, roles("basic"))
    assert not leaves_unmeasured(plan)
    assert leaves_unmeasured(replace(plan, roles=replace(plan.roles, update=Cramped())))


@in_one_test(("accountant", "share"), [("basic", Fraction(1, 200)), ("zcdp", Fraction(1, 100))])
def test_the_default_share_takes_half_a_percent_of_noise(accountant, share) -> None:
    plan, plain = planned(accountant=accountant), planned(accountant=accountant, errors=Fraction(0))
    assert draws(plan) == draws(planned(accountant=accountant, errors=share))
    assert 1.004 < plan.noise / plain.noise < 1.006


@in_one_test("accountant", ["basic", "advanced", "zcdp"])
@pytest.mark.parametrize("asked", [{}, {"errors": TENTH}, {"bounds": TENTH}], ids=str)
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


@in_one_test("noun", ["errors", "bounds"])
@pytest.mark.parametrize(("accountant", "draws"), [("basic", 2), ("zcdp", 1)])
def test_the_price_is_the_share_and_the_events_cost_it(noun, accountant, draws) -> None:
    plan = planned(accountant=accountant, **({"errors": TENTH} if noun == "errors" else {"bounds": TENTH}))
    phase = plan.phases[-1]
    ((event, count),) = phase.events
    assert (phase.noun, phase.count, count) == (noun, 1 if noun == "errors" else draws, phase.count)
    cost, each = (pure_epsilon, phase.price.epsilon) if accountant == "basic" else (concentrated_rho, phase.price.rho)
    assert cost(event) == each
    total = sum(cost(one) * number for one, number in plan.events if cost(one) is not None)
    assert each * count == pytest.approx(float(TENTH * total), rel=1e-9)


def test_bounds_are_bought_for_measured_blocks_too() -> None:
    assert planned(WHOLE, bounds=TENTH).phase("bounds") is not None
    assert planned(Strategy(), problem=PROBLEM, bounds=TENTH).phase("bounds") is not None


def test_an_accountant_for_equal_draws_takes_none_by_default_and_refuses_a_share() -> None:
    plan = planned(accountant="optimal")
    assert plan.phase("errors") is None
    assert plan.notes[-1].startswith("no errors of unmeasured blocks are bought: the optimal accountant covers equal")
    for asked in ({"errors": TENTH}, {"bounds": TENTH}):
        with pytest.raises(InfeasiblePlan, match="equal draws only"):
            planned(accountant="optimal", **asked)


def test_a_plan_with_a_stop_test_takes_a_share_only_where_it_is_asked_for() -> None:
    problem = Problem(domain=PROBLEM.domain, workload=Workload(PAIRS), unit=PROBLEM.unit, n=10**7)
    budget = PrivacyBudget(Fraction(50))
    plain = planned(Theory(), problem=problem, budget=budget)
    assert isinstance(plain.stop, StopTest)
    assert plain.phase("errors") is None
    assert planned(Theory(), problem=problem, budget=budget, errors=TENTH).phase("errors") is not None


def test_a_count_of_left_out_records_goes_with_it() -> None:
    plan = plan_split(
        CHOOSING, Split(left_out=TENTH, errors=TENTH), replace(PROBLEM_OF_PAIRS, unit=PERSON), PURE, roles()
    )
    assert plan.price("left out").epsilon == TENTH
    assert plan.price("errors").epsilon == TENTH * (1 - TENTH)
    assert plan.epsilon == 1
    assert [phase.noun for phase in plan.phases][-1] == "errors"
    assert plan.phases[0].noun == "left out"
    assert plan.schedule == CHOOSING
    assert len(BLOCKS) == plan.phases[1].count


@in_one_test("asked", [{"errors": Fraction(1, 50)}, {"bounds": Fraction(1, 20)}])
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


@in_one_test("accountant", ["basic", "zcdp"])
@pytest.mark.parametrize("schedule", [CHOOSING, Marginals(table=0)], ids=["rounds", "search"])
@pytest.mark.parametrize("bought", [{"errors": TENTH}, {"bounds": TENTH}], ids=str)
def test_portions_are_cut_in_one_call(accountant, schedule, bought) -> None:
    """The schedule has what the others leave: its prices are those of its own plan, in proportion."""
    problem, own = replace(PROBLEM_OF_PAIRS, unit=PERSON), roles(accountant)
    alone = schedule.plan(problem, APPROXIMATE, own)
    plan = plan_split(schedule, Split(left_out=TENTH, **bought), problem, APPROXIMATE, own)
    before, *draws, after = (phase for phase in plan.phases if phase.noun != "search")
    shares = {phase.price.figure / old.price.figure for phase, old in zip(draws, alone.phases, strict=False)}
    whole = sum(phase.price.figure * phase.count for phase in (before, *draws, after))
    assert shares == {(1 - TENTH) ** 2}
    assert before.price.figure == TENTH * whole
    assert after.price.figure * after.count == TENTH * (1 - TENTH) * whole
    assert plan.roles is own


class Greedy(Rounds):
    """A third party's schedule, which does not leave others their share."""

    def plan(self, problem, budget, roles):
        return replace(super().plan(problem, budget, replace(roles, reserved=())), schedule=self)


def test_a_third_partys_schedule_that_takes_the_whole_budget_buys_nothing_more() -> None:
    greedy = Greedy(rounds=2)
    plan = planned(greedy)
    assert (plan.phase("errors"), plan.epsilon) == (None, 1)
    assert "--schedule rounds takes the whole budget for its own draws" in plan.notes[-1]
    with pytest.raises(InfeasiblePlan, match="takes the whole budget"):
        planned(greedy, errors=TENTH)
