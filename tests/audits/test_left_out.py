"""The count of left-out records and an answer about the kept ones, jointly, on all neighbouring tiny tables.

A table is (kept in cell 0, kept in cell 1, left out). The count comes first, and what is asked of the kept records
depends on what it was. Losses are exact: logarithms of ratios of discrete Laplace laws are rational.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from audits.neighbours import Breach
from support.cases import in_one_test

from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import DroppedRecordsMechanism, for_dropped_records
from dpqr.strategies.checks import Laplace
from dpqr.strategies.schedules.split import DROPPED
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

MOST = 3
OUTPUTS = range(-4, 2 * MOST + 5)
"""Beyond all true answers on either side ratios do not change any more."""
ROWS, REPLACED = PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)
UNITS = {"add-remove": ROWS, "replace": REPLACED}
PRICES = [("1/2", "1/2"), ("1/10", "1"), ("1", "1/10")]
QUERIES = [np.array([1, 0]), np.array([1, 1])]


def block(row) -> QueryBlock:
    return QueryBlock(name="asked", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(row[None, :])),))


def tables(records: int):
    return [t for t in itertools.product(range(records + 1), repeat=3) if sum(t) <= records]


def pairs(relation: Neighbours):
    """Ordered pairs of neighbours: none, a kept and a left-out record; under replace one in the place of another."""
    units = [tuple(int(place == one) for place in range(3)) for one in range(3)]
    for table in tables(MOST - 1):
        grown = [tuple(np.add(table, unit)) for unit in units]
        if relation is Neighbours.REPLACE:
            yield from itertools.permutations(grown, 2)
        else:
            yield from ((table, more) for more in grown)
            yield from ((more, table) for more in grown)


def loss(one: int, two: int, scale: Fraction, output: int) -> Fraction:
    """ln of the ratio of the two laws' probabilities of `output`."""
    return (abs(output - two) - abs(output - one)) / scale


def worst(relation: Neighbours, count, answers) -> Fraction:
    """The largest joint loss over all neighbours and outputs; the answer's query is chosen by the count."""
    found = Fraction(0)
    for one, two in set(pairs(relation)):
        for counted in OUTPUTS:
            first = loss(one[2], two[2], count.scale, counted)
            row, answer = QUERIES[counted % 2], answers[counted % 2]
            true = [int(row @ np.array(table[:2])) for table in (one, two)]
            rest = max(loss(*true, answer.scale, output) for output in OUTPUTS)
            found = max(found, first + rest)
    return found


def audit(unit: PrivacyUnit, of_count: str, of_answer: str, wrap=for_dropped_records) -> Fraction:
    """The share of the price that is lost at worst; Breach above 1."""
    check = Laplace()
    count = check.mechanism((DROPPED,), unit, Price(epsilon=Fraction(of_count)))
    answers = [check.mechanism((block(row),), unit, Price(epsilon=Fraction(of_answer))) for row in QUERIES]
    events = ((wrap(count, unit).event, 1), (answers[0].event, 1))
    share = worst(unit.neighbours, count, answers) / Basic().epsilon(events, Fraction(0))
    if share > 1:
        raise Breach(f"{share} of what was charged")
    return share


@in_one_test("unit", UNITS.values())
@pytest.mark.parametrize(("of_count", "of_answer"), PRICES)
def test_the_count_and_the_answer_cost_what_is_charged_and_no_less(unit, of_count, of_answer) -> None:
    assert audit(unit, of_count, of_answer) == 1


@in_one_test(("of_count", "of_answer"), PRICES)
def test_a_build_that_drops_the_charge_under_replace_is_rejected(of_count, of_answer) -> None:
    with pytest.raises(Breach):
        audit(REPLACED, of_count, of_answer, wrap=lambda mechanism, unit: DroppedRecordsMechanism(inner=mechanism))


def test_a_build_that_charges_the_sum_where_rows_come_or_go_charges_too_much() -> None:
    assert audit(ROWS, "1/2", "1/2", wrap=lambda mechanism, unit: mechanism) == Fraction(1, 2)
