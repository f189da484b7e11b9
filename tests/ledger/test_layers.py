"""What releases of counters cost persons together: by brute force over the rows that each release may use."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.budget import Cost
from dpqr.ledger.periods import Layer, LayerNode, free_layer, is_free, of_layers

FIRST = Period.parse("2026-01")
LAYER = Layer(column="day", first="2026-01", rows=3, read="", number=0)


def rows(start, stop, first=FIRST):
    since = None if start == stop else FIRST.later(start - 1)
    return PeriodRows(column="day", period=FIRST.later(stop - 1), since=since, first=first)


def added(nodes, asked, cost=1, waiting=()):
    layer = free_layer(asked, 3, nodes, waiting)
    return [*nodes, LayerNode(layer=layer, period=asked.name, entry=len(nodes), cost=Cost(Fraction(cost)))]


def released(tree, upto):
    nodes = []
    for number in range(1, upto + 1):
        span = tree.span(number)
        nodes = added(nodes, rows(span.start, number))
    return nodes


@pytest.mark.parametrize("base", [2, 3, 5, 25])
def test_the_layers_of_one_counter_are_its_levels(base):
    tree = PeriodTree(periods=24, base=base)
    nodes = released(tree, 24)
    assert [node.layer.number for node in nodes] == [tree.level(number) for number in range(1, 25)]
    assert of_layers(nodes, 1) == tree.levels
    assert of_layers(nodes, 2) == sum(
        1 if len([n for n in nodes if n.layer.number == level]) == 1 else 2 for level in range(tree.levels)
    )


def ways(releases, bound):
    """How many rows of a person each release uses: all ways, up to K together."""
    for places in combinations_with_replacement(range(-1, releases), bound):
        yield [places.count(place) for place in range(releases)]


@pytest.mark.parametrize("costs", list(product([1, 2, 5], repeat=3)), ids=str)
def test_no_person_costs_more_than_the_dearest_releases_of_a_layer(costs):
    nodes = [
        LayerNode(layer=LAYER, period=f"2026-0{place + 1}", entry=place, cost=Cost(cost))
        for place, cost in enumerate(costs)
    ]
    alone = [sum(Fraction(k, 3) * cost for k, cost in zip(used, costs, strict=True)) for used in ways(3, 3)]
    assert max(alone) == of_layers(nodes, 1)
    swapped = [
        sum(Fraction(max(pair), 3) * cost for pair, cost in zip(zip(one, two, strict=True), costs, strict=True))
        for one in ways(3, 3)
        for two in ways(3, 3)
    ]
    assert max(swapped) == of_layers(nodes, 2)


def test_a_node_that_is_drawn_again_or_too_late_is_in_a_layer_of_its_own():
    nodes = released(PeriodTree(periods=24, base=25), 3)
    assert of_layers(nodes, 1) == 1
    again = added(nodes, rows(3, 3))
    assert again[-1].layer.number == 1
    assert of_layers(again, 1) == 2
    late = added(again, rows(1, 1))
    assert of_layers(late, 1) == 3
    assert added(late, rows(4, 4))[-1].layer.number == 0


def test_an_open_release_lets_no_other_into_its_layer():
    nodes = released(PeriodTree(periods=24, base=25), 2)
    assert free_layer(rows(3, 3), 3, nodes, waiting={1}).number == 1
    assert free_layer(rows(3, 3), 3, nodes, waiting=()).number == 0


@pytest.mark.parametrize(
    "other", [{"column": "other"}, {"first": "2025-12"}, {"rows": 4}, {"read": "1"}], ids=lambda each: next(iter(each))
)
def test_other_bounds_are_other_layers(other):
    one = LayerNode(layer=LAYER, period="2026-05", entry=0, cost=Cost(1))
    changed = {"column": "day", "first": "2026-01", "rows": 3, "read": "", "number": 0} | other
    two = LayerNode(layer=Layer(**changed), period="2026-06", entry=1, cost=Cost(1))
    assert of_layers([one, two], 1) == 2
    assert is_free(Layer(**changed), "2026-02", [one], ())


def test_a_release_before_the_first_period_is_in_no_layer():
    assert not is_free(LAYER, "2025-12", [], ())
    assert free_layer(rows(1, 1, first=None), 3, [], ()) is None
