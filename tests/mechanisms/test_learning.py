"""Learned labels, bounds and cuts: the joint law on all neighbours of tiny tables, and sensitivities by force."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test, slowly, thinned

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.losses import approximate_cost, pure_epsilon
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.noise.bits import exp_bracket
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.learning import (
    NEARLY,
    LabelSelection,
    LearnedCells,
    expected_tail,
    geometric_grid,
    grid_counts,
    occupied_run,
)
from dpqr.tables.label_counts import LabelSums, PersonLabels

LABELS = "abc"
ADDED, REPLACED = PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE)
OWN = [labels for size in range(4) for labels in combinations(LABELS, size)]
"""The labels that one person can have."""
BUDGETS = [(Fraction(1), Fraction(1, 10)), (Fraction(1, 2), Fraction(1, 10**4))]


def counted(table, most):
    """How many persons have each of LABELS, each in at most `most` of them. table: labels by person."""
    rows = [(name, label) for name, labels in table.items() for label in labels]
    own = PersonLabels(memory=2**30, most=most, key=bytes(32))
    own.add(pa.array([name for name, _ in rows], pa.large_binary()), pa.array([x for _, x in rows], pa.large_binary()))
    labels, counts = own.finish()
    found = dict(zip(labels.to_pylist(), counts.tolist(), strict=True))
    return tuple(found.get(label.encode(), 0) for label in LABELS)


def kept_sets(chances):
    """The joint law of which labels are kept: probability by the flags of LABELS."""
    law = {}
    for flags in product((False, True), repeat=len(chances)):
        law[flags] = Fraction(1)
        for kept, chance in zip(flags, chances, strict=True):
            law[flags] *= chance if kept else 1 - chance
    return law


@dataclass(frozen=True)
class OffByOne:
    """The same law with the comparison wrong by one: a label of n units is kept as one of n + 1."""

    right: KeepingLaw

    def probability(self, count):
        return self.right.probability(count + 1) if count else Fraction(0)


def excess(law, pair, epsilon):
    """Largest Pr[E | one] - e^epsilon Pr[E | other] over all events E, either way; e^epsilon by a lower bound."""
    growth = Fraction(1 << 300, exp_bracket(epsilon, 300)[1])
    one, other = (kept_sets([law.probability(count) for count in counts]) for counts in pair)
    return max(
        sum((max(Fraction(0), p[out] - growth * q[out]) for out in p), Fraction(0))
        for p, q in ((one, other), (other, one))
    )


@cache
def neighbours(unit, most):
    """Counts of neighbouring tables of up to three persons, each with any of LABELS."""
    pairs = set()
    for first, second in product(OWN, repeat=2):
        rest = {b"1": first, b"2": second}
        tables = [counted(rest | {b"0": labels}, most) for labels in OWN]
        pairs |= set(product([counted(rest, most)], tables) if unit is ADDED else combinations(tables, 2))
    return pairs


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["add-remove", "replace"])
@pytest.mark.parametrize("most", [2, *slowly(1, 3)])
@pytest.mark.parametrize("budget", thinned(BUDGETS, 2), ids=str)
def test_the_joint_law_of_all_labels_is_within_its_price_on_every_pair_of_neighbours(unit, most, budget):
    selection = LabelSelection.within(*budget, most=most, unit=unit)
    cost = approximate_cost(selection.event)
    assert (cost.amount, cost.delta) == budget
    largest = max(excess(selection.law, pair, budget[0]) for pair in neighbours(unit, most))
    # What one label pays is used up: the price is not too dear by a factor.
    assert budget[1] / (4 if unit is REPLACED else 2) < largest <= budget[1]


@in_one_test("most", [1, 2, 3])
@pytest.mark.parametrize("budget", BUDGETS)
def test_wrong_versions_are_caught_by_the_same_enumeration(most, budget):
    right = LabelSelection.within(*budget, most=most, unit=ADDED)
    wrong = [OffByOne(right.law)]
    if most > 1:
        wrong += [
            KeepingLaw(right.epsilon, budget[1]),  # delta of one label is that of all
            LabelSelection.within(*budget, most=most - 1, unit=ADDED).law,  # a person has one label more
        ]
    for law in wrong:
        assert any(excess(law, pair, budget[0]) > budget[1] for pair in neighbours(ADDED, most))


def test_what_is_kept_of_a_person_does_not_depend_on_others_or_on_the_order_of_rows():
    person, others = {b"7": "abc"}, {b"%d" % number: "cba"[: number % 4] for number in range(10, 40)}
    for most in (1, 2):
        alone = np.array(counted(person, most))
        assert alone.sum() == most
        for first in (person | others, others | person, others | {b"7": "cab"}):
            assert (np.array(counted(first, most)) - counted(others, most) == alone).all()


def test_the_choice_among_a_persons_labels_is_fair():
    """Of 3,000 persons with the same three labels each label keeps a third; 6.2 deviations are a chance of 1e-9."""
    found = counted({b"%d" % number: LABELS for number in range(3000)}, 1)
    assert sum(found) == 3000
    assert max(abs(count - 1000) for count in found) <= 6.2 * (3000 * 2 / 9) ** 0.5


def test_the_result_is_in_the_order_of_texts_and_holds_no_count():
    sums = LabelSums(memory=2**30)
    sums.add(pa.array([b"z", b"\xc3\xa4", b"a", b"z"], pa.large_binary()), np.array([500, 900, 700, 500]))
    selection = LabelSelection.within(Fraction(1), Fraction(1, 10**6), most=1, unit=ADDED)
    assert selection.sample(sums.finish(), SeededNoise(1)) == ("a", "z", "ä")


def test_an_empty_table_has_no_labels():
    selection = LabelSelection.within(Fraction(1), Fraction(1, 2), most=1, unit=ADDED)
    assert selection.sample(LabelSums(memory=2**30).finish(), SeededNoise(1)) == ()


def test_a_selection_without_a_law_is_refused_before_it_is_paid():
    with pytest.raises(InfeasiblePlan, match="too small"):
        LabelSelection.within(Fraction(1, 10**9), Fraction(1, 10**30), most=1, unit=ADDED)


# Bounds and cuts.

CELLS = 4
"""The last one for records without a number."""


def persons(rows):
    """Every way in which a person can add up to `rows` records."""
    return {
        tuple(np.bincount(cells, minlength=CELLS))
        for size in range(rows + 1)
        for cells in product(range(CELLS), repeat=size)
    }


@pytest.mark.slow
@in_one_test("unit", [ADDED, REPLACED])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7)])
def test_the_noise_of_a_grid_is_that_of_all_a_unit_moves_and_all_of_epsilon_is_used(unit, rows, epsilon):
    """Exact: every pair of neighbours moves the counts by the stated L1 norm at most, and one pair does."""
    unit = replace(unit, columns=("person",), rows=rows)
    own = [np.array(each) for each in persons(rows)]
    others = own if unit.neighbours is Neighbours.REPLACE else [np.zeros(CELLS, dtype=int)]
    draw = grid_counts(1, CELLS, epsilon, unit)
    (block,) = draw.blocks
    table = np.zeros((2, CELLS), dtype=int)

    def answers(person):
        return block.answer(DenseHistogram(table + np.stack([person, person * 0])))

    moved = max(int(np.abs(answers(one) - answers(other)).sum()) for one in own for other in others)
    assert draw.event == DiscreteLaplaceEvent(sensitivity=moved, scale=moved / epsilon, coordinates=None)
    assert pure_epsilon(draw.event) == epsilon


def learned(values, whole=False, scale=10.0, seed=1, noise=True):
    """The cells of values on the grid of step 1, with numpy's noise: privacy is not at stake here."""
    grid = geometric_grid(Fraction(1), 40, whole=whole)
    counts = np.histogram(values, list(map(float, grid)))[0]
    draw, kept = np.random.default_rng(seed), np.exp(-1 / scale)
    drawn = draw.geometric(1 - kept, len(counts)) - draw.geometric(1 - kept, len(counts))
    return LearnedCells(edges=grid, counts=counts + noise * drawn, scale=scale, whole=whole)


SHAPES = {
    "all alike": (np.full(5000, 37), True, (32, 39)),
    "two values": (np.arange(5000) % 2, True, (0, 1)),
    "all negative": (np.linspace(-400, -100, 5000), False, (-512, -80)),
    "both signs": (np.linspace(-30, 300, 5000), False, (-40, 320)),
}


@in_one_test(("values", "whole", "near"), SHAPES.values())
def test_bounds_of_columns_with_sharp_ends_are_the_nearest_edges(values, whole, near):
    low, high = learned(values, whole, noise=False, scale=1e-3).bounds()
    assert near[0] <= low <= values.min()
    assert values.max() <= high <= near[1]


def test_bounds_balance_what_is_clipped_with_noise():
    """On known counts of a heavy tail: no pair of edges has a much smaller error, by the definition of the error."""
    values = 50 * np.arange(1, 2001) ** -0.6
    found = learned(values, scale=20.0, noise=False)
    found.__dict__["estimated"] = found.counts.astype(float)
    edges = list(map(float, found.edges))
    middles = np.repeat((np.array(edges[1:]) + edges[:-1]) / 2, found.counts)

    def error(low, high):
        return np.abs(middles - middles.clip(low, high)).sum() ** 2 + 2 * (20 * max(-low, high)) ** 2

    low, high = map(float, found.bounds())
    near = [edge for edge in edges if abs(edge) <= 64]
    best = min(error(one, other) for one, other in combinations(near, 2))
    assert best <= error(low, high) <= NEARLY * best * (1 + 1e-9)
    assert 2 < high < 50  # neither of them wins


def test_noise_alone_starts_no_run_beyond_a_gap():
    """Of 1,000 draws with probability STRAY at most, by Ville's inequality: more than 35 have a chance below 1e-9. That
    one reaches 40 cells further without a gap has a chance below 2^-40, for the price of each cell."""
    draw, strays = np.random.default_rng(1), 0
    for levels in draw.laplace(size=(1000, 200)):
        levels[100] += 500
        first, last = occupied_run(levels)
        strays += first < 60 or last > 140
    assert strays <= 35


def test_an_expected_tail_follows_the_counts_beyond_the_run():
    steady = 30 * 0.5 ** np.arange(30)
    assert expected_tail(steady) == pytest.approx(steady[1:], abs=0.3)
    assert expected_tail(np.array([30.0] + [0.0] * 29)).sum() < 1
    assert not expected_tail(np.array([-1.0, 5.0])).any()  # no run, no tail
    assert expected_tail(np.array([4.0])).shape == (0,)


def test_a_run_bridges_gaps_that_are_short_or_well_supported():
    levels = np.zeros(100)
    levels[[10, 11, 13]] = 50
    assert occupied_run(levels) == (10, 13)
    levels[60] = 10
    assert occupied_run(levels) == (10, 13)
    levels[60] = 50
    assert occupied_run(levels) == (10, 60)
    first, last = occupied_run(np.zeros(100))
    assert 0 <= first <= last < 100


def test_cuts_are_quantiles_within_three_digits():
    found = learned(np.arange(100_000), scale=0.01, noise=False)
    shares = [Fraction(part, 10) for part in range(1, 10)]
    assert [float(cut) for cut in found.cuts(shares)] == pytest.approx([share * 100_000 for share in shares], rel=0.06)
    assert all(Fraction(f"{float(cut):.3g}") == cut for cut in found.cuts(shares))
    whole = learned(np.arange(1000) % 5, whole=True, scale=0.01, noise=False).cuts([Fraction(1, 2)])
    assert whole == (3,)


def test_the_grid_rises_through_zero_and_doubles():
    grid = geometric_grid(Fraction(1, 100), 40)
    assert list(grid) == sorted(set(grid))
    assert [-each for each in reversed(grid)] == list(grid)
    assert {Fraction(2**power, 100) for power in range(41)} | {Fraction(0)} <= set(grid)
    whole = geometric_grid(Fraction(1, 3), 40, whole=True)
    assert list(whole) == sorted(set(whole))
    assert all(edge.denominator == 1 for edge in whole)
