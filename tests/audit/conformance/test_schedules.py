"""The kit for schedules: those of the house pass, and each kind of breach is named."""

from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from support.cases import in_one_test, slowly

from dpqr.audit.conformance import schedules as kit
from dpqr.audit.conformance.schedules import schedule_faults
from dpqr.extension import InfeasiblePlan
from dpqr.kernel.budget import Price
from dpqr.kernel.values import replace
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.schedules.rounds import Queries, Rounds
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.schedules.theory import Theory
from dpqr.testing import check_schedule

HOUSE = (
    *(Rounds(), Rounds(rounds=2, opening=False), Strategy(), Marginals(table=0), Ordered()),
    *slowly(Queries(), Theory()),
)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", HOUSE, ids=lambda one: one.name)
def test_the_house_keeps_its_own_promises(schedule):
    check_schedule(schedule)


@dataclass(frozen=True, kw_only=True)
class Foreign(Rounds):
    """A schedule of two rounds whose plans name itself."""

    rounds: int = 2

    def plan(self, problem, budget, roles):
        return replace(Rounds(rounds=self.rounds).plan(problem, budget, roles), schedule=self)


@dataclass(frozen=True, kw_only=True)
class Greedy(Foreign):
    def next(self, plan, state):
        step = super().next(plan, state)
        return step and replace(step, measure=Price(epsilon=2 * step.measure.epsilon))


@dataclass(frozen=True, kw_only=True)
class Remembering(Foreign):
    seen: list = field(default_factory=list)

    def start(self, plan):
        self.seen.clear()
        return self.seen

    def next(self, plan, state):
        return super().next(plan, kit_state(state))

    def after(self, state, finished):
        state.append(finished.measurement)
        return state


def kit_state(rounds):
    from dpqr.extension import Released

    return Released(rounds=tuple(rounds))


@dataclass(frozen=True, kw_only=True)
class Endless(Foreign):
    def next(self, plan, state):
        return replace(super().next(plan, self.start(plan)), measure=Price(epsilon=Fraction(1, 10**9)))


@dataclass(frozen=True, kw_only=True)
class Refusing(Foreign):
    def plan(self, problem, budget, roles):
        raise InfeasiblePlan("never")


@dataclass(frozen=True, kw_only=True)
class Rash(Foreign):
    def plan(self, problem, budget, roles):
        return replace(super().plan(problem, budget, roles), epsilon=budget.epsilon + 1)


@in_one_test(
    ("schedule", "fault"),
    [
        (Greedy(), "asks for more than its plan"),
        (Remembering(), "a state changes once it was read"),
        (Endless(), "does not end"),
        (Refusing(), "no plan for any tiny universe"),
        (Rash(), "more than the budget"),
        (object(), "lacks name"),
    ],
)
def test_a_breach_is_named(schedule, fault, monkeypatch):
    monkeypatch.setattr(kit, "MOST_STEPS", 30)
    monkeypatch.setattr(kit, "universes", lambda: list(CASES)[4:8])
    assert any(fault in line for line in schedule_faults(schedule))


CASES = tuple(kit.universes())
