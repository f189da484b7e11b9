"""Layers, over all short histories of releases: who may join whom, and what a person pays for all of them."""

from fractions import Fraction
from itertools import combinations, product

import pytest
from support.cases import in_one_test, thinned

from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import BudgetTerms, DataKind
from dpqr.ledger.periods import Layer, LayerNode, PeriodBudgets, free_layer, is_free, of_layers

FIRST = Period.parse("2026-01")
SPANS = [(start, stop) for start in range(1, 4) for stop in range(start, 4)]
"""Runs of up to three periods, from 1."""
READS = ("", "other columns")
ROWS = 2


def rows_of(span, read="", first=FIRST, column="day"):
    start, stop = span
    since = None if start == stop else FIRST.later(start - 1)
    return PeriodRows(column=column, period=FIRST.later(stop - 1), since=since, first=first, read=read)


def node(layer, span, entry, cost=1):
    return LayerNode(layer=layer, period=rows_of(span).name, entry=entry, cost=Cost(Fraction(cost)))


def may_join(layer, span, made, waiting):
    """By the lemma: after all that the layer holds, none of which is open, and not before its first period.

    made: (layer, span) of each release, in their order.
    """
    before = [(other, entry) for entry, (each, other) in enumerate(made) if each == layer]
    late = all(span[0] > other[1] for other, _ in before)
    return late and not any(entry in waiting for _, entry in before)


@pytest.mark.parametrize("waiting", thinned([(), (0,), (1,)], 3), ids=str)
def test_every_history_of_three_releases_is_put_where_the_lemma_allows_and_in_the_first_place(waiting):
    """Spans that overlap, repeat, come early or late; what is read is equal or not; some are still open."""
    for spans in product(SPANS, repeat=3):
        for reads in product(READS[:1], READS, READS):
            nodes, made = [], []
            for entry, (span, read) in enumerate(zip(spans, reads, strict=True)):
                opened = [each for each in waiting if each < entry]
                asked = rows_of(span, read)
                layer = free_layer(asked, ROWS, nodes, opened)
                assert (layer.column, layer.first, layer.rows, layer.read) == ("day", FIRST.name, ROWS, read)
                for number in range(3):
                    other = replace(layer, number=number)
                    free = may_join(other, span, made, opened)
                    assert is_free(other, asked.name, nodes, opened) == free
                    assert free or number != layer.number
                    assert not free or number >= layer.number
                nodes.append(node(layer, span, entry))
                made.append((layer, span))


def other_layers(layer):
    """Layers that bound other rows, or the same rows by other means."""
    yield replace(layer, column="left")
    yield replace(layer, first="2025-12")
    yield replace(layer, rows=ROWS + 1)
    yield replace(layer, read=READS[1])
    yield replace(layer, number=1)


def test_a_taken_layer_is_free_to_nobody_and_every_other_one_is():
    """By any one of its figures it is another layer; a forged entry that names it is refused by the same rule."""
    layer = Layer(column="day", first=FIRST.name, rows=ROWS, read="", number=0)
    for taken, span in product(SPANS, repeat=2):
        held = [node(layer, taken, 0)]
        assert is_free(layer, rows_of(span).name, held, ()) == (span[0] > taken[1])
        for other in other_layers(layer):
            assert is_free(other, rows_of(span).name, held, ())
            assert is_free(other, rows_of(span).name, held, (0,))


def test_no_layer_begins_before_its_first_period():
    layer = Layer(column="day", first=FIRST.name, rows=ROWS, read="", number=0)
    for steps in range(-3, 3):
        assert is_free(layer, FIRST.later(steps).name, [], ()) == (steps >= 0)


def terms(relation, periods=None):
    budget = PrivacyBudget(Fraction(10))
    return BudgetTerms(
        dataset="survey",
        budget=budget,
        accountant="basic",
        limit=Cost(budget.epsilon),
        cap=None,
        neighbours=relation,
        unit="one person",
        kind=DataKind.PRIVATE,
        periods=periods,
    )


def persons(spans):
    """How many rows of one person each release of a layer uses: all ways within the bound."""
    return [each for each in product(range(ROWS + 1), repeat=len(spans)) if sum(each) <= ROWS]


def dearest(layers, relation):
    """What a person, or a person in the place of another, pays for releases of several layers: the costs of each."""
    total = Fraction(0)
    for costs in layers:
        used = persons(costs)
        pairs = combinations([*used, used[0]], 2) if relation is Neighbours.REPLACE else ((one,) for one in used)
        total += max(
            sum(Fraction(max(rows), ROWS) * cost for rows, cost in zip(zip(*pair, strict=True), costs, strict=True))
            for pair in pairs
        )
    return total


@in_one_test("relation", Neighbours)
def test_the_total_of_a_budget_is_what_the_dearest_person_pays(relation):
    """Releases of two layers, beside others that are in none."""
    whole = Cost(Fraction(1, 3))
    for costs in product((1, 2, 5), repeat=4):
        for cut in (2, 3):
            layers = [costs[:cut], costs[cut:]]
            nodes = [
                node(
                    Layer(column="day", first=FIRST.name, rows=ROWS, read="", number=number), (step, step), entry, cost
                )
                for number, each in enumerate(layers)
                for entry, (step, cost) in enumerate(enumerate(each, 1), 10 * number)
            ]
            assert terms(relation).total({"": whole}, nodes).amount == whole.amount + dearest(layers, relation)


@in_one_test("spans", list(product(SPANS, repeat=2)))
def test_a_period_pays_for_every_release_of_a_layer_that_reads_it(spans):
    """And for the releases of no layer, whose sums it had before."""
    budgets = PeriodBudgets(column="day", every="month", share=Cost(Fraction(1)), parallel=False)
    layers = [Layer(column="day", first=FIRST.name, rows=ROWS, read=read, number=0) for read in READS]
    nodes = [node(layer, span, entry, 1 + entry) for entry, (layer, span) in enumerate(zip(layers, spans, strict=True))]
    spent = {"": Cost(Fraction(1, 7)), "2026-02": Cost(Fraction(1, 5))}
    read = budgets.read(spent, nodes)
    for number in range(1, 4):
        name = FIRST.later(number - 1).name
        paid = sum(1 + entry for entry, (start, stop) in enumerate(spans) if start <= number <= stop)
        assert read.get(name, Cost()).amount == paid + spent.get(name, Cost()).amount
    assert read[""] == spent[""]
    assert spent == {"": Cost(Fraction(1, 7)), "2026-02": Cost(Fraction(1, 5))}


@in_one_test("base", [2, 3, 5, 25])
def test_the_layers_of_one_counter_are_its_levels(base):
    tree, nodes = PeriodTree(periods=24, base=base), []
    for number in range(1, 25):
        layer = free_layer(rows_of((tree.span(number).start, number)), ROWS, nodes, ())
        nodes.append(node(layer, (number, number), number))
    numbers = [each.layer.number for each in nodes]
    assert numbers == [tree.level(number) for number in range(1, 25)]
    assert of_layers(nodes, 1) == tree.levels
    assert of_layers(nodes, 2) == sum(min(2, numbers.count(level)) for level in range(tree.levels))
    assert free_layer(rows_of((1, 1), first=None), ROWS, [], ()) is None
