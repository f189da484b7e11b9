"""Block errors: written out, moved by all neighbours of tiny databases, and with the noise that the events state."""

from fractions import Fraction

import numpy as np
import pytest
from support.brute_force_persons import crowd, person
from support.cases import in_one_test, thinned

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.block_errors import (
    FINENESS,
    GaussianErrors,
    GroupErrors,
    LaplaceErrors,
    error_unit,
    fine_answers,
    noisy_errors,
)
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (3, 2)
COUNTS = DenseHistogram(np.array([[4, 1], [0, 2], [3, 5]]))
FIRST = QueryBlock(name="first", factors=(Factor.identity(0, 3),))
SECOND = QueryBlock(name="second", factors=(Factor.identity(1, 2),))
BOTH = QueryBlock(name="both", factors=(Factor.identity(0, 3), Factor.identity(1, 2)))
PREFIX = QueryBlock(name="prefix", factors=(Factor(axes=(0,), sizes=(3,), matrix=Prefix(3)),))
SIGNED = QueryBlock(
    name="signed", factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[-2, 0, 3], [1, 1, 1]]))),)
)
GROUPS = {
    "each": ((FIRST,), (SECOND,), (BOTH,)),
    "together": ((FIRST, SECOND, BOTH),),
    "unlike": ((FIRST, PREFIX), (SIGNED,)),
}
EXPECTED = {
    "nothing": lambda block: np.zeros(block.rows),
    "between": lambda block: 0.37 * np.arange(block.rows) + 0.4,
    "beyond": lambda block: np.full(block.rows, 1e6),
}
ROW = PrivacyUnit()


def errors(groups, expected, unit=ROW, *, largest=False, records=2**36):
    answers = fine_answers(np.concatenate([expected(block) for group in groups for block in group]))
    return GroupErrors(groups=groups, expected=answers, unit=unit, largest=largest, records=records)


def test_errors_are_sums_or_the_largest_of_a_group_in_parts_of_what_a_record_moves() -> None:
    def expected(block):
        return np.array([4.5, 2.0, 8.25]) if block is FIRST else np.array([5.0, 7.0, 15.0])

    groups = ((FIRST, PREFIX),)
    # first: |5 - 4.5| + |2 - 2| + |8 - 8.25| = 0.75; prefix: |5 - 5| + |7 - 7| + |15 - 15| = 0, of unit 3
    assert errors(groups, expected).evaluate(COUNTS).tolist() == [0.75 * FINENESS]
    low = errors(((PREFIX, FIRST), (SECOND,)), EXPECTED["nothing"])
    assert low.evaluate(COUNTS).tolist() == [(27 * FINENESS) // 3 + 15 * FINENESS, 15 * FINENESS]
    assert errors(low.groups, EXPECTED["nothing"], largest=True).evaluate(COUNTS).tolist() == [15 * FINENESS] * 2


def test_answers_are_rounded_to_a_fine_grid_and_nothing_fails() -> None:
    found = fine_answers(np.array([1 / 3, np.nan, np.inf, -np.inf]))
    assert found.tolist() == [round(FINENESS / 3), 0, 2**59, -(2**59)]


@pytest.mark.parametrize("rows", thinned([1, 2], 2))
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("groups", thinned(GROUPS, 3))
@pytest.mark.parametrize("largest", [False, True])
def test_no_neighbour_moves_the_integers_further_than_the_events_say(relation, rows, groups, largest) -> None:
    """All that one person's rows can be. Marginals attain the change under add-remove."""
    unit, reached = person(relation, rows), (0, 0)
    for expected in EXPECTED.values():
        made = errors(GROUPS[groups], expected, unit, largest=largest)
        l1, squared = _moves(made, unit)
        assert l1 <= LaplaceErrors(errors=made, scale=Fraction(9)).event.sensitivity == sum(made.changes)
        assert squared <= GaussianErrors(errors=made, variance=Fraction(9)).event.squared_sensitivity
        reached = max(reached, (l1, squared))
    if groups != "unlike" and relation is Neighbours.ADD_REMOVE:
        assert reached == (sum(made.changes), sum(change**2 for change in made.changes))


def _moves(made, unit):
    l1 = squared = 0
    for databases in crowd(SHAPE, unit):
        table = np.stack([made.evaluate(database) for database in databases])
        moved = np.abs(table[:, None] - (table[None] if unit.neighbours is Neighbours.REPLACE else table[None, :1]))
        l1, squared = max(l1, int(moved.sum(axis=-1).max())), max(squared, int((moved**2).sum(axis=-1).max()))
    return l1, squared


def test_units_are_what_one_record_moves() -> None:
    replaced, three = PrivacyUnit(neighbours=Neighbours.REPLACE), person(Neighbours.ADD_REMOVE, 3)
    assert [error_unit(block, ROW) for block in (FIRST, BOTH, PREFIX, SIGNED)] == [1, 1, 3, 4]
    assert [error_unit(FIRST, unit) for unit in (replaced, three)] == [2, 3]


@in_one_test("groups", GROUPS)
@pytest.mark.parametrize("largest", [False, True])
def test_a_draw_costs_its_price_and_no_less(groups, largest) -> None:
    made = errors(GROUPS[groups], EXPECTED["between"], largest=largest)
    pure = noisy_errors(made, Price(epsilon=Fraction(1, 7)))
    assert isinstance(pure, LaplaceErrors)
    assert pure_epsilon(pure.event) == Fraction(1, 7)
    concentrated = noisy_errors(made, Price(rho=Fraction(1, 9)))
    assert isinstance(concentrated, GaussianErrors)
    assert concentrated_rho(concentrated.event) == Fraction(1, 9)


@in_one_test("price", [Price(epsilon=Fraction(1, 7)), Price(rho=Fraction(1, 9))])
def test_every_integer_has_the_next_draw_of_the_law_that_the_event_states(price) -> None:
    """Noise is what the release adds to the exact integers: the law's own draws from the same bits, each used once."""
    made = errors(GROUPS["each"], EXPECTED["between"])
    mechanism = noisy_errors(made, price)
    event = mechanism.event
    stated = DiscreteLaplace(event.scale) if price.rho is None else DiscreteGaussian(event.variance)
    added = mechanism.sample(COUNTS, SeededNoise(4)) - made.evaluate(COUNTS)
    np.testing.assert_array_equal(added, stated.sample(3, SeededNoise(4)))
    assert mechanism.law == stated


def test_what_could_overflow_is_refused_before_any_data() -> None:
    errors(((FIRST,) * 3,), EXPECTED["nothing"], records=2**54)
    with pytest.raises(InfeasiblePlan, match="'first'"):
        errors(((FIRST,) * 5,), EXPECTED["nothing"], records=2**54)
    with pytest.raises(InfeasiblePlan, match="'first'"):
        errors(((FIRST,) * 3,), lambda block: np.full(3, 2.0**58), records=2**54)


@in_one_test("price", [Price(epsilon=Fraction(1, 2**60)), Price(rho=Fraction(1, 2**120))])
def test_a_price_that_buys_no_noise_is_refused(price) -> None:
    with pytest.raises(InfeasiblePlan, match="the noise would need"):
        noisy_errors(errors(GROUPS["each"], EXPECTED["nothing"]), price)


def test_a_plan_holds_no_number_an_answer() -> None:
    wide = QueryBlock(name="wide", factors=(Factor.identity(0, 10**12),))
    assert GroupErrors(groups=((wide,),), expected=None, unit=ROW).changes == (FINENESS,)
