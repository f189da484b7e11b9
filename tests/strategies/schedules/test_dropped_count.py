"""The count of what was left out, whatever the schedule and the accountant: free beside rows that come or go, for a
share of the budget elsewhere."""

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from support.plan_phases import without
from support.schedule_states import next_step

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.accountants.losses import pure_epsilon
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.error_bars import DROPPED, WithDroppedCount
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.schedules.rounds import Rounds
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.transcript import Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.workload import Workload

PURE = PrivacyBudget(Fraction(1))
APPROXIMATE = PrivacyBudget(Fraction(1), Fraction(1, 10**9))
TENTH = Fraction(1, 10)
BLOCKS = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 3),)) for axis in range(4))
DOMAIN = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(3)) for axis in range(4)))


PERSON = PrivacyUnit(column="person")
DRAWS = ("opening", "selection", "measurement")


def problem(unit=PERSON, **more):
    """Of persons, whose count has a price."""
    return Problem(domain=DOMAIN, workload=Workload(BLOCKS), unit=unit, **more)


def roles(accountant="basic", check=None):
    return Roles(
        distinguisher=Exponential(),
        check=check or Laplace(),
        update=MultiplicativeWeights(),
        accountant=ACCOUNTANTS[accountant],
    )


def counted(schedule=None, share=TENTH):
    return WithDroppedCount(schedule=schedule or Rounds(rounds=2), share=share)


@pytest.mark.parametrize("share", [TENTH, Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("rounds", [2, 9])
def test_under_basic_composition_the_share_is_exact(share, rounds) -> None:
    plan = counted(Rounds(rounds=rounds), share).plan(problem(), PURE, roles())
    rest = Rounds(rounds=rounds).plan(problem(), PrivacyBudget(1 - share), roles())
    assert plan.price("left out").pure == share
    assert [plan.price(noun) for noun in DRAWS] == [rest.price(noun) for noun in DRAWS]
    assert plan.epsilon == 1
    assert plan.events == ((DiscreteLaplaceEvent(sensitivity=1, scale=1 / share, coordinates=1), 1), *rest.events)


@pytest.mark.parametrize("accountant", ["basic", "advanced", "zcdp"])
@pytest.mark.parametrize("schedule", [Rounds(rounds=2), Rounds(rounds=9), Rounds(rounds=2, opening=False)])
def test_no_plan_costs_more_than_its_budget_or_leaves_much(accountant, schedule) -> None:
    plan = counted(schedule).plan(problem(), APPROXIMATE, roles(accountant))
    assert 0.9 < float(plan.epsilon) <= 1
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    for event, count in plan.events:
        for _ in range(count):
            guard.charge(event)


@pytest.mark.parametrize("share", [TENTH, Fraction(1, 2)])
@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_a_share_of_what_is_drawn_in_stages_too(share, accountant) -> None:
    """Every draw of a plan has its part in the share: opening, stages, selections and measurements."""
    budget = PURE if accountant == "basic" else APPROXIMATE
    ordered = problem(unit=PrivacyUnit(column="person", rows=2))
    block = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=(300,), matrix=Prefix(300)),))
    domain = Domain((Attribute(name="c0", axis=Codes(300)),))
    ordered = replace(ordered, domain=domain, workload=Workload((block,)))
    plan = counted(Ordered(), share).plan(ordered, budget, roles(accountant))
    assert plan.named("stage")
    prices = [
        price.epsilon or price.rho for price in (plan.price("opening"), *(stage.price for stage in plan.named("stage")))
    ]
    paid = plan.price("left out").epsilon or plan.price("left out").rho
    assert paid == share * (paid + sum(prices))
    assert float(plan.epsilon) == pytest.approx(1, rel=1e-3)
    assert plan.epsilon <= 1


def test_the_noise_is_the_checks() -> None:
    plan = counted().plan(problem(), APPROXIMATE, roles("zcdp", Gaussian()))
    event = plan.events[0][0]
    assert isinstance(event, DiscreteGaussianEvent)
    assert Fraction(event.squared_sensitivity) / (2 * event.variance) == plan.price("left out").concentrated
    assert float(plan.epsilon) <= 1


def test_the_plan_runs_its_own_schedule_with_its_own_roles() -> None:
    own = roles()
    plan = counted().plan(problem(), PURE, own)
    assert plan.schedule == Rounds(rounds=2)
    assert plan.roles is own
    own_step = plan.schedule.next(plan, Rounds(rounds=2).start(plan))
    assert next_step(plan, Transcript()) == own_step
    assert (counted().name, counted(Theory()).distinguisher) == ("rounds", "exponential")


def test_theory_spends_the_rest() -> None:
    stated = problem(PrivacyUnit(neighbours=Neighbours.REPLACE), n=10**9)
    plan = counted(Theory()).plan(stated, PURE, roles())
    alone = Theory().plan(stated, PURE, roles())
    assert plan.price("left out").pure == TENTH
    assert plan.rounds * (plan.price("selection").pure + plan.price("measurement").pure) == 1 - TENTH
    assert plan.problem.alpha > alone.problem.alpha


def test_equal_draws_only_cannot_have_a_share_apart() -> None:
    with pytest.raises(InfeasiblePlan, match="--count-dropped"):
        counted().plan(problem(), APPROXIMATE, roles("optimal"))


ALONE = [
    *((accountant, Rounds(rounds=2)) for accountant in ("basic", "advanced", "optimal", "zcdp")),
    ("basic", Marginals()),
    ("zcdp", Marginals()),
    ("basic", Theory()),
]


@pytest.mark.parametrize(("accountant", "schedule"), ALONE, ids=lambda one: getattr(one, "name", one))
@pytest.mark.parametrize("share", [None, Fraction(1, 2)])
def test_where_it_is_free_all_other_draws_and_their_price_stay_as_they_are(accountant, schedule, share) -> None:
    budget, own = PURE if accountant == "basic" else APPROXIMATE, roles(accountant)
    rows = problem(PrivacyUnit(), n=10**6 if schedule.name == "theory" else None)
    plan, alone = (one.plan(rows, budget, own) for one in (counted(schedule, share), schedule))
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


@pytest.mark.parametrize(
    "unit", [PrivacyUnit(neighbours=Neighbours.REPLACE), PERSON, PrivacyUnit(column="p", rows=3)], ids=lambda u: u.whom
)
def test_elsewhere_it_is_not_made_unless_a_share_is_stated(unit) -> None:
    stated = problem(unit, n=100 if unit.rows_public else None)
    assert counted(share=None).plan(stated, PURE, roles()) == Rounds(rounds=2).plan(stated, PURE, roles())
    plan = counted().plan(stated, PURE, roles())
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
    plan = counted(share=None).plan(problem(PrivacyUnit()), PURE, foreign)
    assert plan.price("left out") is None
    assert plan.events == Rounds(rounds=2).plan(problem(PrivacyUnit()), PURE, foreign).events
    assert "are not counted: the basic accountant has no price" in plan.notes[-1]
    with pytest.raises(InfeasiblePlan, match="leave --count-dropped out"):
        counted().plan(problem(PrivacyUnit()), PURE, foreign)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("most", [1, 4])
def test_a_person_moves_the_count_by_the_rows_that_count(relation, most) -> None:
    unit = PrivacyUnit(neighbours=relation, column="pid", rows=most)
    assert sensitivity((DROPPED,), Norm.L1, unit) == most
    plan = counted().plan(problem(unit), PURE, roles())
    assert plan.events[0][0].sensitivity == most


@pytest.mark.parametrize("relation", Neighbours)
def test_the_total_is_bought_where_the_number_of_persons_alone_is_public(relation) -> None:
    unit = PrivacyUnit(neighbours=relation, column="pid", rows=2)
    stated = replace(problem(unit), persons=50 if relation is Neighbours.REPLACE else None)
    plan = Rounds(rounds=2, opening=False).plan(stated, PURE, roles())
    assert [blocks[0].axes for blocks in plan.opening] == [()]
