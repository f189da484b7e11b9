"""P43 to P46: tables of persons, kept labels, counts of a grid, and chosen rows, by enumeration and thirty digits."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import exp
from proofs.exact import LEAST, real
from support.cases import in_one_test, thinned

from dpqr.domain.domain import LearnedRows
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.learning import LabelSelection, grid_counts, person_counts
from dpqr.releases.learned.person_rows import ForecastErrors, RowChoice
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.sensitivity import Norm, sensitivity

UNITS = [PrivacyUnit(columns=("id",), rows=5, neighbours=relation) for relation in Neighbours]
BUDGETS = [(Fraction(1), Fraction(1, 10**6)), (Fraction(1, 7), Fraction(1, 50)), (Fraction(3), Fraction(1, 10**12))]
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.neighbours.value)


def moved_places(unit, most, places):
    """The largest number of places in which the sets of at most `most` that one unit, or two, can have differ."""
    held = [set(some) for size in range(most + 1) for some in combinations(range(places), size)]
    others = held if unit.neighbours is Neighbours.REPLACE else [set()]
    return max(len(one ^ other) for one in held for other in others)


@in_one_test(("cells", "most"), [*product((1, 2, 3, 4), (1, 2, 3))])
@every_unit
def test_p43_a_person_moves_as_many_cells_as_is_stated(unit, cells, most):
    moved = moved_places(unit, most, cells)
    block = QueryBlock(name="persons", factors=(Factor.identity(0, cells),), most_cells=most)
    assert [sensitivity((block,), norm, unit) for norm in (Norm.LARGEST, Norm.L1, Norm.L2_SQUARED)] == [1, moved, moved]
    assert sensitivity((block, block), Norm.L1, unit) == 2 * moved


@in_one_test(("cells", "most", "bins"), [*product((1, 2, 3), (1, 2, 3), (3, 4))])
@every_unit
def test_p43_by_bins_of_a_total_a_person_moves_one_count_of_a_cell(unit, cells, most, bins):
    """All that one person can be: a bin, or none, in each of the cells, and in at most `most` of them one."""
    people = [own for own in product(range(bins + 1), repeat=cells) if sum(map(bool, own)) <= most]
    others = people if unit.neighbours is Neighbours.REPLACE else [(0,) * cells]
    moved = max(
        sum((a > 0) + (b > 0) for a, b in zip(one, two, strict=True) if a != b) for one in people for two in others
    )
    total = Factor(axes=(1,), sizes=(2,), matrix=Dense(np.ones((bins, 2), dtype=np.int64)))
    block = QueryBlock(
        name="binned", factors=(Factor.identity(0, cells), total), most_cells=most, within=tuple(range(bins + 1))
    )
    assert [sensitivity((block,), norm, unit) for norm in (Norm.LARGEST, Norm.L1, Norm.L2_SQUARED)] == [1, moved, moved]


@in_one_test(("epsilon", "delta"), BUDGETS)
def test_p44_a_kept_label_keeps_both_bounds_and_the_largest_law_is_near(epsilon, delta):
    law = KeepingLaw(epsilon, delta)
    growth, added, best = exp(real(epsilon)), real(delta), real(0)
    assert law.probability(0) == 0
    for count in range(law.certain):
        before, after = real(law.probability(count)), real(law.probability(count + 1))
        assert before <= after <= growth * before + added + LEAST
        assert 1 - before <= growth * (1 - after) + added + LEAST
        best = min(growth * best + added, 1 - (1 - best - added) / growth, real(1))
        assert after <= best + LEAST
        assert best - after < real(Fraction(1, 10**15))
    assert law.probability(law.certain) == 1


@every_unit
@pytest.mark.parametrize("most", [1, 2, 3])
def test_p44_all_labels_that_a_unit_may_move_are_paid(unit, most):
    event = LabelSelection.within(Fraction(1), Fraction(1, 1000), most=most, unit=unit).event
    assert event.labels == moved_places(unit, most, 6)
    assert (event.labels * event.epsilon, event.labels * event.delta) == (1, Fraction(1, 1000))


@every_unit
@pytest.mark.parametrize("epsilon", thinned([Fraction(1, 10), Fraction(3)], 2))
def test_p45_counts_of_a_grid_are_within_epsilon_on_every_pair_of_neighbours(unit, epsilon):
    """The largest log-ratio of probabilities of noisy counts is the L1 distance of the counts over the scale, by the
    triangle inequality, with equality where every noisy count lies beyond both."""
    own = [np.bincount(cells, minlength=3) for size in range(unit.rows + 1) for cells in product(range(3), repeat=size)]
    others = own if unit.neighbours is Neighbours.REPLACE else [np.zeros(3, dtype=int)]
    scale = grid_counts(0, 3, epsilon, unit).law.scale
    assert max(int(np.abs(one - other).sum()) for one in own for other in others) / scale == epsilon


@every_unit
def test_p46_counts_of_persons_and_an_answer_over_the_rows_they_choose_are_within_both_prices(unit):
    """One person of 0 to 7 rows, all tables of which are neighbours; the loss of a pair of outcomes is at most the sum
    of both distances over their scales. The bound is chosen anew for every outcome of the first draw."""
    numbers, first, rest = (1, 2, 4), Fraction(1, 2), Fraction(2)
    draw = person_counts(1, numbers, first, unit)
    noise = dict(zip(numbers, (0.0, 5.0, 50.0), strict=True))
    forecasts = {most: ForecastErrors(noise=(each,) * 9, cut=1.0) for most, each in noise.items()}
    choice = RowChoice(epsilon=first, unit=unit, numbers=(*forecasts,), counted=(), forecasts=forecasts)
    answer, table = QueryBlock(name="rows"), draw.blocks[0].person_table

    def counted(rows):
        found = table.empty((1,))
        if rows:
            table.add(found, np.array([0]), np.array([rows]))
        return found

    outcomes = [LearnedRows(numbers=numbers, persons=each, scale=draw.scale) for each in product((0, 9, 40), repeat=3)]
    scales = {most: sensitivity((answer,), Norm.L1, replace(unit, rows=most)) / rest for most in numbers}
    chosen = set(map(choice.best, outcomes))
    assert chosen == set(numbers)
    pairs = [*product(range(8), range(8) if unit.neighbours is Neighbours.REPLACE else [0])]
    drawn = {pair: int(np.abs(counted(pair[0]) - counted(pair[1])).sum()) / draw.scale for pair in pairs}
    assert max(drawn.values()) == first
    losses = [
        drawn[one, other] + abs(min(one, most) - min(other, most)) / scale
        for one, other in pairs
        for most, scale in scales.items()
    ]
    assert max(losses) <= first + rest
    if unit.neighbours is Neighbours.ADD_REMOVE:
        assert max(losses) == first + rest
