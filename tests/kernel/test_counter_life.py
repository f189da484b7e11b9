"""What a counter's whole life costs one unit, by brute force: every accountant, relation, unit, delta and length."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from support.cases import in_one_test

from dpqr.domain.periods import PeriodTree
from dpqr.kernel.accountants.known import PREDICTING, RELEASING
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.counter import ADDITIVE_ACCOUNTANTS, Counter

LENGTHS = (1, 2, 3, 7, 9, 24)
LIVES = [("basic", None), *product(ADDITIVE_ACCOUNTANTS, ("1e-9", "0.01"))]
UNITS = {"row": ((), 1), "person of one row": (("who",), 1), "person of two rows": (("who",), 2)}
SHORTEST = 9
"""Longer counters have too many ways to spread two persons' rows."""


def unit(relation, columns, rows):
    return PrivacyUnit(neighbours=relation, columns=columns, rows=rows, drops=relation is Neighbours.REPLACE)


def held(tree, rows, rest):
    """Of all K rows, the share that each node holds."""
    spans = [tree.span(node) for node in range(1, tree.periods + 1)]
    return [Fraction(sum(period in span for period in rows), rest) for span in spans]


def ways(tree, rows):
    """All places of up to K rows: their periods."""
    for count in range(rows + 1):
        yield from combinations_with_replacement(range(1, tree.periods + 1), count)


def dearest(tree, relation, rows):
    """The prices of a node that the life costs one unit, for the worst of all histories: rows, or rows exchanged.

    A node that uses k of K rows costs k / K of its price; one where k go and k' come max(k, k') / K of it.
    """
    shares = [held(tree, each, rows) for each in ways(tree, rows)]
    if relation is Neighbours.ADD_REMOVE:
        return max(sum(each) for each in shares)
    return max(sum(map(max, zip(one, other, strict=True))) for one, other in combinations_with_replacement(shares, 2))


def price(accountant, life, node):
    """What one node costs in the currency in which the life is counted, and the life."""
    counted = currency(accountant, pure=life.pure)
    return counted.limit(node), counted.limit(life)


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize(("columns", "rows"), UNITS.values(), ids=UNITS)
@pytest.mark.parametrize(("accountant", "delta"), LIVES)
def test_no_history_costs_more_than_the_life_and_nothing_of_it_is_wasted(accountant, delta, columns, rows, relation):
    life = PrivacyBudget.parse("2", delta)
    for periods in LENGTHS:
        if rows > 1 and periods > SHORTEST:
            continue
        counter = Counter.of(periods, life, accountant, unit(relation, columns, rows))
        node, whole = price(accountant, life, counter.node)
        worst = dearest(counter.tree, relation, rows)
        assert Cost(worst * node.amount, worst * node.delta) <= whole
        assert worst <= counter.prices
        levels = max(counter.tree.level(number) for number in range(1, periods + 1)) + 1
        stated = levels if relation is Neighbours.ADD_REMOVE else 2 * levels
        assert Fraction(99, 100) * whole.amount <= stated * node.amount <= whole.amount
        assert stated * node.delta == whole.delta


@in_one_test("periods", LENGTHS)
@pytest.mark.parametrize(("accountant", "power"), [("basic", 2), ("zcdp", 1), ("gdp", 1)])
def test_the_tree_has_the_least_error_that_the_accountant_allows(accountant, power, periods):
    """Of all bases: a node's variance grows as levels^2 where epsilons add up, as levels where rho or mu^2 do."""
    chosen = Counter.of(periods, PrivacyBudget.parse("1", "1e-9"), accountant, PrivacyUnit()).tree
    trees = [PeriodTree(periods=periods, base=base) for base in range(2, periods + 2)]
    errors = {}
    for tree in trees:
        levels = max(
            sum(period in tree.span(node) for node in range(1, periods + 1)) for period in range(1, periods + 1)
        )
        errors[tree.base] = levels**power * sum(len(tree.path(period)) for period in range(1, periods + 1))
    assert errors[chosen.base] == min(errors.values())


@in_one_test("accountant", sorted({*RELEASING, *PREDICTING, "by-count"} - {*ADDITIVE_ACCOUNTANTS}))
def test_theorems_of_a_schedule_that_is_fixed_in_advance_prove_no_counter(accountant):
    with pytest.raises(UsageFault, match="choose basic, zcdp, gdp"):
        Counter.of(3, PrivacyBudget.parse("1", "1e-9"), accountant, PrivacyUnit())
