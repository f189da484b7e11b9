"""The count of what was left out, in the plan and in the receipt."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.fakes import measured
from support.plain_screen import printed
from support.plan_phases import first

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.draws import DroppedCount
from dpqr.releases.receipt import plan_facts, receipt
from dpqr.report.html import facts
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.split import DROPPED

REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(column="pid", rows=3)


def counting(plan, unit):
    count = Phase(noun="left out", count=1, price=Price(epsilon=Fraction(1, 20)))
    return first(replace(plan, problem=replace(plan.problem, unit=unit)), count)


def lines(view):
    return " ".join(printed(view).split())


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (REPLACED, "the records that the domain's rules left out"),
        (PERSONS, "the rows that the domain's rules or the bound left out, at most 3 rows of each person counted"),
    ],
)
def test_it_is_announced_and_told_with_its_noise(plan, release, unit, words) -> None:
    planned = counting(plan, unit)
    assert f"Left out a noisy count of {words}, eps 0.05 First" in lines(facts(plan_facts(planned)))
    count = DroppedCount(measurement=measured((DROPPED, [-1234])), charge=0)
    told = lines(facts(receipt(replace(release, plan=planned, dropped=count))))
    assert f"Left out -1,234 +-1.36 (noise): {words}; eps 0.05 Opening" in told


def test_nothing_is_said_where_none_was_bought(plan, release) -> None:
    assert "Left out" not in printed(facts(plan_facts(plan))) + printed(facts(receipt(release)))


def test_the_declared_number_of_persons_is_shown(plan) -> None:
    stated = replace(plan, problem=replace(plan.problem, unit=PERSONS, persons=5000))
    assert "Persons 5,000, as declared" in lines(facts(plan_facts(stated)))
