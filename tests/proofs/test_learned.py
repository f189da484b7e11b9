"""P43 to P45: tables of persons, kept labels, and scores of ends and quantiles, by enumeration and thirty digits."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import exp
from proofs.exact import LEAST, real

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learning import EndScores, LabelSelection, QuantileScores
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

UNITS = [PrivacyUnit(columns=("id",), rows=5, neighbours=relation) for relation in Neighbours]
BUDGETS = [(Fraction(1), Fraction(1, 10**6)), (Fraction(1, 7), Fraction(1, 50)), (Fraction(3), Fraction(1, 10**12))]
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.neighbours.value)


def moved_places(unit, most, places):
    """The largest number of places in which the sets of at most `most` that one unit, or two, can have differ."""
    held = [set(some) for size in range(most + 1) for some in combinations(range(places), size)]
    others = held if unit.neighbours is Neighbours.REPLACE else [set()]
    return max(len(one ^ other) for one in held for other in others)


@every_unit
@pytest.mark.parametrize(("cells", "most"), [*product((1, 2, 3, 4), (1, 2, 3))])
def test_p43_a_person_moves_as_many_cells_as_is_stated(unit, cells, most):
    moved = moved_places(unit, most, cells)
    block = QueryBlock(name="persons", factors=(Factor.identity(0, cells),), most_cells=most)
    assert [sensitivity((block,), norm, unit) for norm in (Norm.LARGEST, Norm.L1, Norm.L2_SQUARED)] == [1, moved, moved]
    assert sensitivity((block, block), Norm.L1, unit) == 2 * moved


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
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


def end_score(cells, place, rank):
    beyond = sum(cells[place + 1 :])
    return -max(0, beyond - (rank - 1), rank - (beyond + cells[place]))


def quantile_score(cells, place, part, whole):
    below, every = sum(cells[:place]), sum(cells)
    return -max(0, whole * below - part * every, part * every - whole * (below + cells[place]))


SCORES = [
    (end_score, (1,), EndScores(axis=0, bins=3, rank=1, top=True)),
    (end_score, (2,), EndScores(axis=0, bins=3, rank=2, top=True)),
    (quantile_score, (1, 2), QuantileScores(axis=0, bins=3, share=Fraction(1, 2), first=0, last=2)),
    (quantile_score, (2, 5), QuantileScores(axis=0, bins=3, share=Fraction(2, 5), first=0, last=2)),
]


@pytest.mark.parametrize(("written", "figures", "scores"), SCORES, ids=["1st", "2nd", "median", "2/5"])
def test_p45_scores_are_those_of_the_statement_and_move_by_what_is_stated(written, figures, scores):
    def of(cells):
        return np.array([written(cells, place, *figures) for place in range(3)])

    def changed(cells, by):
        return tuple(count + by.get(place, 0) for place, count in enumerate(cells))

    one_more, replaced = 0, 0
    for cells in product(range(4), repeat=3):
        own = of(cells)
        assert (scores.evaluate(DenseHistogram(np.array([*cells, 7]))) == own).all()  # seven records have no number
        for coming in range(3):
            one_more = max(one_more, abs(of(changed(cells, {coming: 1})) - own).max())
            for going in {0, 1, 2} - {coming}:
                if cells[going]:
                    replaced = max(replaced, abs(of(changed(cells, {coming: 1, going: -1})) - own).max())
    for relation, moved in ((Neighbours.ADD_REMOVE, one_more), (Neighbours.REPLACE, max(one_more, replaced))):
        assert scores.sensitivity(PrivacyUnit(neighbours=relation)) == moved
        assert scores.sensitivity(PrivacyUnit(neighbours=relation, columns=("id",), rows=3)) == 3 * moved
