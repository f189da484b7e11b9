"""Phases: every planned event belongs to one, and each is priced by itself."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.handmade_release import make_plan, make_theory_plan
from support.plan_phases import changed, first, without

from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, PureSumEvent
from dpqr.releases.draws import phases, priced_phases
from dpqr.releases.sentences import choice_words
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.drafts import search_phases

COUNT = (DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(50), coordinates=1), 1)
COUNTED = Phase(noun="left out", count=1, price=Price(epsilon=Fraction(1, 50)), events=(COUNT,))


def test_opening_selection_and_measurement_are_told_apart():
    plan = make_plan()
    opening, chosen, measured = plan.events
    assert phases(plan) == {"opening": (opening,), "selection": (chosen,), "measurement": (measured,)}


def test_a_count_of_what_was_left_out_comes_first():
    plan = make_plan()
    bought = first(plan, COUNTED)
    assert phases(bought) == {"left out": (COUNT,), **phases(plan)}


def test_phases_of_one_noun_are_priced_together():
    plan = make_plan()
    twice = first(first(plan, COUNTED), COUNTED)
    assert phases(twice)["left out"] == (COUNT, COUNT)


def test_a_workload_that_is_measured_whole_is_one_phase():
    plan = make_plan()
    whole = without(plan, "selection", "measurement")
    assert phases(whole) == {"opening": plan.events[:1]}


def test_a_search_is_one_phase_beside_the_count():
    sought = ((PureSumEvent(epsilon=Fraction(1)), 1),)
    plan = make_plan()
    searching = replace(plan, phases=search_phases(plan.phases, Price(epsilon=Fraction(1))))
    plan = first(searching, COUNTED)
    assert phases(plan) == {"left out": (COUNT,), "search": sought}


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


@pytest.mark.parametrize(
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
