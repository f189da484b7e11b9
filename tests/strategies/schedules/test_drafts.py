"""Phases that several schedules make alike: every planned draw is charged once, in its phase."""

from fractions import Fraction

from support.ordered_releases import planned

from dpqr.kernel.budget import Price
from dpqr.kernel.events import PureSumEvent
from dpqr.strategies.schedules.drafts import (
    dearest_row,
    forecast_row,
    one_way,
    opening_phase,
    proved_epsilon,
    round_phases,
    search_phases,
)

PLAN = planned()
PROBLEM, ROLES, UNIT = PLAN.problem, PLAN.roles, PLAN.problem.unit
SMALL, LARGE = Price(epsilon=Fraction(1, 10)), Price(epsilon=Fraction(1, 5))


def test_every_opening_is_charged_and_equal_ones_together():
    blocks = (*one_way(PROBLEM), *one_way(PROBLEM))
    (phase,) = opening_phase(ROLES, UNIT, blocks, SMALL)
    assert (phase.noun, phase.count, phase.blocks) == ("opening", len(blocks), blocks)
    assert sum(count for _, count in phase.events) == len(blocks)
    assert proved_epsilon(ROLES.accountant, (phase,), PLAN.budget) == len(blocks) * SMALL.pure


def test_nothing_measured_first_is_no_phase():
    assert opening_phase(ROLES, UNIT, (), SMALL) == opening_phase(ROLES, UNIT, one_way(PROBLEM), None) == ()


def test_rounds_are_a_selection_and_a_measurement_each():
    phases = round_phases(ROLES, UNIT, dearest_row(PROBLEM), 7, (SMALL, LARGE), single=True)
    assert [(phase.noun, phase.count, phase.price) for phase in phases] == [
        ("selection", 7, SMALL),
        ("measurement", 7, LARGE),
    ]
    assert [phase.single for phase in phases] == [True, False]
    assert proved_epsilon(ROLES.accountant, phases, PLAN.budget) == 7 * (SMALL.pure + LARGE.pure)


def test_a_search_is_charged_as_one_sum_and_no_draw_twice():
    draws = round_phases(ROLES, UNIT, dearest_row(PROBLEM), 7, (SMALL, LARGE), single=False)
    phases = search_phases(draws, Price(epsilon=Fraction(1)))
    assert [event for phase in phases for event in phase.events] == [(PureSumEvent(epsilon=Fraction(1)), 1)]
    assert [phase.price for phase in phases[:-1]] == [SMALL, LARGE]


def test_a_query_by_itself_is_forecast_under_its_blocks_name():
    (block,) = PROBLEM.workload.blocks
    told = forecast_row(PROBLEM, ROLES, block, LARGE)
    law = ROLES.check.law((block.largest_row,), UNIT, LARGE)
    assert (told.name, told.rows, told.deviation) == (block.name, block.rows, law.deviation)
