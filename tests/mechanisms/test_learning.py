"""Learned labels, ends and quantiles: the joint law on all neighbours of tiny tables, and sensitivities by force."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.losses import approximate_cost
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.bits import exp_bracket
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learning import EndScores, LabelSelection, QuantileScores, end_rank, geometric_grid
from dpqr.mechanisms.selection import ExponentialChoice
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


def neighbours(unit, most):
    """Counts of neighbouring tables of up to three persons, each with any of LABELS."""
    for first, second in product(OWN, repeat=2):
        rest = {b"1": first, b"2": second}
        if unit is ADDED:
            yield from ((counted(rest, most), counted(rest | {b"0": labels}, most)) for labels in OWN)
        else:
            pairs = combinations([counted(rest | {b"0": labels}, most) for labels in OWN], 2)
            yield from pairs


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["add-remove", "replace"])
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_joint_law_of_all_labels_is_within_its_price_on_every_pair_of_neighbours(unit, most, budget):
    selection = LabelSelection.within(*budget, most=most, unit=unit)
    cost = approximate_cost(selection.event)
    assert (cost.amount, cost.delta) == budget
    pairs = set(neighbours(unit, most))
    assert max(excess(selection.law, pair, budget[0]) for pair in pairs) <= budget[1]
    # What one label pays is used up: the price is not too dear by a factor.
    assert max(excess(selection.law, pair, budget[0]) for pair in pairs) > budget[1] / (4 if unit is REPLACED else 2)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_wrong_versions_are_caught_by_the_same_enumeration(most, budget):
    pairs = set(neighbours(ADDED, most))
    right = LabelSelection.within(*budget, most=most, unit=ADDED)
    wrong = [OffByOne(right.law)]
    if most > 1:
        wrong += [
            KeepingLaw(right.epsilon, budget[1]),  # delta of one label is that of all
            LabelSelection.within(*budget, most=most - 1, unit=ADDED).law,  # a person has one label more
        ]
    for law in wrong:
        assert max(excess(law, pair, budget[0]) for pair in pairs) > budget[1]


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


# Ends and quantiles.

BINS = 4
SCORES = [
    *(EndScores(axis=0, bins=BINS, rank=rank, top=top) for rank in (1, 2, 3) for top in (True, False)),
    *(QuantileScores(axis=0, bins=BINS, share=Fraction(*share), first=0, last=BINS - 1) for share in ((1, 2), (1, 4))),
    QuantileScores(axis=0, bins=BINS, share=Fraction(5, 7), first=1, last=2),
]
CELLS = BINS + 1
"""The last one for records without a number."""


def persons(rows):
    """Every way in which a person can add up to `rows` records."""
    return {
        tuple(np.bincount(cells, minlength=CELLS))
        for size in range(rows + 1)
        for cells in product(range(CELLS), repeat=size)
    }


@pytest.mark.parametrize("scores", SCORES, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_score_moves_by_more_than_is_stated_and_some_score_does(scores, rows):
    column = {"columns": ("person",), "rows": rows}
    most = {}
    own = [np.array(each) for each in persons(rows)]
    for rest in product((0, 2), repeat=CELLS):
        found = [scores.evaluate(DenseHistogram(np.array(rest) + each)) for each in own]
        nobody = scores.evaluate(DenseHistogram(np.array(rest)))
        moved = max(int(np.abs(each - nobody).max()) for each in found)
        most[ADDED] = max(moved, most.get(ADDED, 0))
        swapped = max(int(np.abs(one - other).max()) for one, other in combinations(found, 2))
        most[REPLACED] = max(swapped, most.get(REPLACED, 0))
    for unit, moved in most.items():
        stated = scores.sensitivity(replace(unit, **column))
        assert moved <= stated
        assert moved == stated or (isinstance(scores, QuantileScores) and unit is REPLACED)


@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_a_score_is_0_in_the_bin_of_the_rank_alone(scores):
    cells = np.array([3, 2, 4, 1, 99])
    records = np.repeat(np.arange(BINS), cells[:BINS])
    found = scores.evaluate(DenseHistogram(cells))
    if isinstance(scores, EndScores):
        place = records[-scores.rank] if scores.top else records[scores.rank - 1]
        assert np.flatnonzero(found == 0).tolist() == [place]
    else:
        place = records[int(scores.share * len(records))]
        assert found[place - scores.first] == 0
    assert (found <= 0).all()


def test_an_end_lies_beyond_all_records_as_seldom_as_is_stated():
    """Exact: the law of the choice on a table whose records all lie in the first bin."""
    epsilon, bins = Fraction(1, 10), 300
    rank = end_rank(epsilon, bins, ADDED, 0.05)
    scores = EndScores(axis=0, bins=bins, rank=rank, top=True)
    choice = ExponentialChoice(scores=scores, unit=ADDED, epsilon=epsilon)
    weights = np.exp(float(choice.rate) * scores.evaluate(DenseHistogram(np.array([10_000] + [0] * (bins - 1)))))
    assert 1 - weights[0] / weights.sum() <= 0.05


def test_the_grid_rises_through_zero_and_doubles():
    grid = geometric_grid(Fraction(1, 100), 40)
    assert list(grid) == sorted(grid)
    assert [-each for each in reversed(grid)] == list(grid)
    assert {Fraction(2**power, 100) for power in range(41)} | {Fraction(0)} <= set(grid)
