"""Phases: every planned event belongs to one, and each is priced by itself."""

from fractions import Fraction

import pytest
from support.handmade_release import make_plan, make_theory_plan
from support.one_test import in_one_test
from support.plan_phases import changed, first, without

from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, PureSumEvent
from dpqr.kernel.values import replace
from dpqr.releases.draws import phases, priced_phases
from dpqr.releases.sentences import choice_words
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.drafts import search_phases

COUNT = (DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(50), coordinates=1), 1)
COUNTED = Phase(noun="left out", count=1, price=Price(epsilon=Fraction(1, 50)), events=(COUNT,))


def test_phases_are_told_apart_and_those_of_one_noun_priced_together():
    """A count of what was left out comes first; a search is one phase."""
    plan = make_plan()
    opening, chosen, measured = plan.events
    alone = {"opening": (opening,), "selection": (chosen,), "measurement": (measured,)}
    assert phases(plan) == alone
    assert phases(without(plan, "selection", "measurement")) == {"opening": (opening,)}
    assert phases(first(plan, COUNTED)) == {"left out": (COUNT,), **alone}
    assert phases(first(first(plan, COUNTED), COUNTED))["left out"] == (COUNT, COUNT)
    searching = replace(plan, phases=search_phases(plan.phases, Price(epsilon=Fraction(1))))
    sought = ((PureSumEvent(epsilon=Fraction(1)), 1),)
    assert phases(first(searching, COUNTED)) == {"left out": (COUNT,), "search": sought}


@pytest.mark.parametrize("plan", [make_plan(), make_theory_plan()], ids=["rounds", "theory"])
def test_no_event_is_lost_or_counted_twice(plan):
    assert sorted(event for part in phases(plan).values() for event in map(str, part)) == sorted(map(str, plan.events))


def test_the_phases_of_basic_composition_add_up_to_the_total():
    plan = replace(make_plan(), budget=PrivacyBudget.parse("1", "1e-6"))
    costs = priced_phases(plan, {"basic": Basic(), "zcdp": ZeroConcentrated()})
    assert sum(phase["basic"] for phase in costs.values()) == Basic().epsilon(plan.events, plan.budget.delta) == 1
    total = ZeroConcentrated().epsilon(plan.events, plan.budget.delta)
    assert max(phase["zcdp"] for phase in costs.values()) < total < sum(phase["zcdp"] for phase in costs.values())


def test_a_selection_is_one_whichever_distinguisher_draws_it():
    plan = make_plan()
    for event in (ExponentialEvent(epsilon=Fraction(1, 9)), PermuteAndFlipEvent(epsilon=Fraction(1, 9))):
        made = changed(plan, "selection", count=4, events=((event, 4),))
        assert phases(made)["selection"] == ((event, 4),)


def test_every_phase_is_priced_at_the_plans_own_delta():
    plan = replace(make_plan(), budget=PrivacyBudget.parse("1", "1e-6"))
    zcdp = ZeroConcentrated()
    costs = priced_phases(plan, {"zcdp": zcdp})
    for phase, events in phases(plan).items():
        assert costs[phase]["zcdp"] == zcdp.epsilon(events, Fraction(1, 10**6))


@in_one_test(
    ("asked", "delta", "words"),
    [
        ({"accountant", "check"}, "1e-9", "asked for by --accountant or by the budget"),
        ({"accountant"}, None, "asked for by --accountant"),
        (set(), None, "the one theorem that holds without a delta"),
        ({"check"}, None, "the one theorem that holds without a delta"),
        (set(), "1e-9", "of those allowed, the one whose plan is expected to err least"),
        (
            {"distinguisher", "check"},
            "1e-9",
            "of those that go with --check and --distinguisher, the one whose plan is expected to err least",
        ),
    ],
)
def test_the_reason_for_an_accountant_names_who_chose_it(asked, delta, words):
    assert choice_words(replace(make_plan(), asked=frozenset(asked), budget=PrivacyBudget.parse("1", delta))) == words
