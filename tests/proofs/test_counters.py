"""P3, P4: what one unit pays over the life of a counter, and for a layer of releases, by all its histories."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from mpmath import mpf
from proofs.exact import gaussian_curve, real, rho_to_epsilon
from support.cases import in_one_test

from dpqr.domain.periods import PeriodTree
from dpqr.kernel.accountants.analytic import largest_squared_mu
from dpqr.kernel.accountants.sums import largest_rho
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.periods import Layer, LayerNode, is_free, of_layers
from dpqr.strategies.counter import Counter


def node_periods(node, base):
    """The base^j periods up to the node, base^j the largest power that divides it."""
    size = 1
    while node % (size * base) == 0:
        size *= base
    return range(node - size + 1, node + 1)


def used(rows, node, base, most):
    """Of a person's rows, as the release of this node reads them, how many it uses. rows: (period, first seen at)."""
    found = 0
    for period in node_periods(node, base):
        before = sum(1 for at, seen in rows if at < period and seen <= node)
        here = sum(1 for at, seen in rows if at == period and seen <= node)
        found += min(here, max(0, most - before))
    return found


@cache
def histories(periods, base, most):
    """Of every history of one person, with rows that may come late, how many rows each release uses."""
    rows = [(period, seen) for period in range(1, periods + 1) for seen in range(period, periods + 1)]
    every = (chosen for count in range(most + 3) for chosen in combinations_with_replacement(rows, count))
    return {tuple(used(chosen, node, base, most) for node in range(1, periods + 1)) for chosen in every}


def dearest(periods, base, most, power, relation):
    """In prices of a node that moves by K rows: a node that uses k of them costs (k / K)^power of it."""
    found = histories(periods, base, most)
    pairs = product(found, repeat=2) if relation is Neighbours.REPLACE else ((one, one) for one in found)
    return max(sum(Fraction(max(k, other), most) ** power for k, other in zip(*pair, strict=True)) for pair in pairs)


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize(("periods", "base"), [(4, 2), (3, 4), (3, 2)])
def test_p3_no_person_pays_more_than_the_stated_number_of_prices(periods, base, relation):
    for most in (1, 2):
        unit = PrivacyUnit(columns=("id",), rows=most, neighbours=relation)
        counter = Counter(
            tree=PeriodTree(periods=periods, base=base), life=PrivacyBudget(Fraction(1)), accountant="basic", unit=unit
        )
        true = [dearest(periods, base, most, power, relation) for power in (1, 2)]
        assert max(true) <= counter.prices
        if relation is Neighbours.ADD_REMOVE or base > periods:
            assert true[0] == counter.prices


@in_one_test("relation", Neighbours)
def test_p3_no_row_pays_more_than_the_stated_number_of_prices(relation):
    for periods, base in ((12, 2), (9, 3), (5, 6)):
        holding = [sum(p in node_periods(node, base) for node in range(1, periods + 1)) for p in range(1, periods + 1)]
        counter = Counter(
            tree=PeriodTree(periods=periods, base=base),
            life=PrivacyBudget(Fraction(1)),
            accountant="basic",
            unit=PrivacyUnit(neighbours=relation),
        )
        assert counter.prices == max(holding) * (2 if relation is Neighbours.REPLACE else 1)


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize("accountant", ["basic", "zcdp", "gdp"])
def test_p3_the_nodes_of_one_unit_together_keep_the_budget_of_the_life(accountant, relation):
    delta = Fraction(0) if accountant == "basic" else Fraction(1, 10**6)
    life, unit = PrivacyBudget(Fraction(1), delta), PrivacyUnit(neighbours=relation)
    counter = Counter.of(12, life, accountant, unit)
    base, node = counter.tree.base, counter.node
    holding = max(sum(p in node_periods(t, base) for t in range(1, 13)) for p in range(1, 13))
    times = holding * (2 if relation is Neighbours.REPLACE else 1)
    if accountant == "basic":
        assert node.epsilon * times == 1
    elif accountant == "zcdp":
        together = rho_to_epsilon(times * real(largest_rho(node)), real(delta))
        assert mpf("0.999") < together <= 1 + mpf(10) ** -9
    else:
        whole = real(largest_squared_mu(node)) * times
        assert gaussian_curve(whole ** (mpf(1) / 2), mpf(1)) <= real(delta) * (1 + mpf(10) ** -6)


@in_one_test("largest", [1, 2])
def test_p4_no_person_pays_more_for_a_layer_than_its_dearest_releases(largest):
    """Exact: every way in which at most K rows of one person (or of two, where persons are replaced) fall on the
    releases of a layer."""
    most = 3
    layer = Layer(column="day", first="2026-01", rows=most, read="", number=0)
    for costs in product((1, 2, 5), repeat=3):
        uses = [found for found in product(range(most + 1), repeat=3) if sum(found) <= most]
        pairs = product(uses, repeat=2) if largest == 2 else ((one, one) for one in uses)
        true = max(
            sum(Fraction(max(k, other), most) * cost for k, other, cost in zip(*pair, costs, strict=True))
            for pair in pairs
        )
        nodes = [
            LayerNode(layer=layer, period=f"2026-{month:02}", entry=month, cost=Cost(Fraction(cost)))
            for month, cost in enumerate(costs, 1)
        ]
        assert of_layers(nodes, largest) == Cost(true)


def test_p4_releases_of_a_layer_use_at_most_k_rows_together():
    """Any releases of later and later periods, each of one to three of them, that the ledger puts into one layer."""
    most, first = 2, "2026-01"
    layer = Layer(column="day", first=first, rows=most, read="", number=0)
    spans = [(start, end) for start in range(1, 5) for end in range(start, 5)]
    for asked in product(spans, repeat=3):
        nodes, taken = [], []
        for entry, (start, end) in enumerate(asked):
            name = f"2026-{start:02}" if start == end else f"2026-{start:02}/2026-{end:02}"
            if is_free(layer, name, nodes, ()):
                nodes.append(LayerNode(layer=layer, period=name, entry=entry, cost=Cost(Fraction(1))))
                taken.append((start, end))
        for rows in product(range(3), repeat=4):
            together = sum(
                min(rows[period - 1], max(0, most - sum(rows[: period - 1])))
                for start, end in taken
                for period in range(start, end + 1)
            )
            assert together <= most


def test_p3_rows_that_may_not_meet_in_a_cell_cost_no_more_in_several_nodes_than_in_one():
    """At most m rows in a cell: squared norms of two nodes add up to at most that of one node with all rows."""

    def squared(rows, most):
        return PrivacyUnit(columns=("id",), rows=rows, cell_rows=min(rows, most)).most_squared

    for most, one, other in product(range(1, 6), range(1, 8), range(1, 8)):
        assert squared(one, most) + squared(other, most) <= squared(one + other, most)
