"""The buckets that noisy counts choose, on all neighbouring tiny databases: the exact law of the choice, and of the
choice with the counts, against the price; and choices made wrong on purpose.

A choice is a function of the released counts, so its law is a sum over them: counts of two boxes far enough out for the
rest to be below a bound that is added to the larger side.
"""

import itertools
from collections import defaultdict
from fractions import Fraction
from functools import cache
from math import exp, log

import numpy as np
import pytest
from audits.answers import Claim, audit_answers
from audits.neighbours import Breach, pairs
from support.cases import thinned
from support.small_universes import problem

from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import LaplaceAnswers
from dpqr.strategies.checks import Laplace
from dpqr.strategies.designs.buckets import merged_block
from dpqr.strategies.distinguishers import PermuteAndFlip
from dpqr.strategies.plan import Roles
from dpqr.strategies.schedules.ordered import RecordEstimate, TwoStagePartition
from dpqr.strategies.updates.least_squares import BucketLeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.partition import Bisection
from dpqr.workload.trees import Tree
from dpqr.workload.workload import Measurement

SHAPE, RECORDS, REACH = (4,), 3, 8
PRICE = Price(epsilon=Fraction(4))
LAST = Price(epsilon=Fraction(4))
"""Of the buckets' own measurement, which is not drawn here."""
COUNTED = RecordEstimate(count=2.0, noise=30.0)
"""What was released of the number of records before."""
UNITS = {relation.value: PrivacyUnit(neighbours=relation) for relation in Neighbours}
every_unit = pytest.mark.parametrize("unit", thinned(UNITS.values(), 2), ids=UNITS.keys())
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=SHAPE, matrix=Prefix(4)),))
BOXES = merged_block("scouting", (0,), SHAPE, Tree(2, (1,), (1,)), Bisection(SHAPE).places(1))


def two_stage(unit) -> TwoStagePartition:
    roles = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=BucketLeastSquares(), accountant=Basic())
    return TwoStagePartition(problem=replace(problem(SHAPE, [CDF]), unit=unit), roles=roles, axes=(0,), blocks=(CDF,))


@cache
def choices(unit) -> dict[tuple[int, int], tuple[int, ...]]:
    """The buckets by the released counts of both boxes."""
    law, one = Laplace().law((BOXES,), unit, PRICE), two_stage(unit)
    found = {}
    for counts in itertools.product(range(-REACH, REACH + RECORDS + 2), repeat=2):
        told = Measurement(blocks=(BOXES,), values=(np.array(counts),), law=law)
        found[counts] = tuple(one.partition(told, COUNTED, LAST).buckets.tolist())
    return found


def laws(unit, scales):
    """For every database the probability of each choice within reach, and what lies beyond."""
    chosen = choices(unit)
    found = {}

    def law_of(database):
        key = database.counts.tobytes()
        if key not in found:
            truth = BOXES.answer(database)
            weights = [
                weigh(range(-REACH, REACH + RECORDS + 2), int(t), scale) for t, scale in zip(truth, scales, strict=True)
            ]
            law = defaultdict(float)
            for (a, b), choice in chosen.items():
                law[choice] += weights[0][a + REACH] * weights[1][b + REACH]
            found[key] = law, max(1 - sum(law.values()), 0.0)
        return found[key]

    return law_of


def weigh(values, truth, scale):
    """Exact discrete Laplace probabilities; scale 0: no noise."""
    if scale == 0:
        return [float(value == truth) for value in values]
    q = exp(-1 / float(scale))
    return [(1 - q) / (1 + q) * q ** abs(value - truth) for value in values]


def loss(unit, scales) -> float:
    """Largest proved log-ratio of a choice over all neighbouring pairs, over the price; Breach where it is above."""
    law_of, worst = laws(unit, scales), 0.0
    for one, two in pairs(SHAPE, RECORDS, unit.neighbours):
        (here, _), (there, beyond) = law_of(one), law_of(two)
        for choice, probability in here.items():
            if probability > 0:
                limit = there[choice] + beyond
                worst = max(worst, log(probability / limit) if limit > 0 else float("inf"))
    if worst > float(PRICE.epsilon) * (1 + 1e-9):
        raise Breach(f"log-ratio {worst} beyond epsilon {PRICE.epsilon}")
    return worst / float(PRICE.epsilon)


@every_unit
def test_no_choice_of_buckets_tells_more_than_the_counts_cost(unit) -> None:
    scale = Laplace().mechanism((BOXES,), unit, PRICE).scale
    share = loss(unit, (scale, scale))
    assert len(set(choices(unit).values())) > 3
    assert 0.05 < share <= 1 + 1e-9


@every_unit
def test_the_counts_themselves_cost_what_is_paid(unit) -> None:
    """The choice and the counts together: the choice is a function of them, so theirs is the whole loss."""
    tree = two_stage(unit).box_tree(100, PRICE)
    share = audit_answers(Claim.of(Laplace().mechanism((tree,), unit, PRICE)), pairs(SHAPE, RECORDS, unit.neighbours))
    assert 1 - 1e-9 < share <= 1


@every_unit
def test_counts_without_noise_are_rejected(unit) -> None:
    """As in a released partition whose smallest intervals get none: some choice is impossible on a neighbour."""
    scale = Laplace().mechanism((BOXES,), unit, PRICE).scale
    with pytest.raises(Breach):
        loss(unit, (Fraction(0), scale))


@every_unit
def test_a_fifth_of_the_noise_is_rejected(unit) -> None:
    scale = Laplace().mechanism((BOXES,), unit, PRICE).scale / 5
    with pytest.raises(Breach):
        loss(unit, (scale, scale))


def test_a_cell_that_is_counted_in_two_buckets_is_rejected() -> None:
    """The event of buckets that share no cell does not cover boxes that overlap."""
    unit = UNITS["add-remove"]
    overlapping = merged_block("boxes", (0,), SHAPE, Tree(2, (2, 1), (1, 1)), Bisection(SHAPE).places(1))
    claim = Claim.of(LaplaceAnswers(blocks=(overlapping,), unit=unit, scale=Fraction(2)))
    apart = Claim.of(LaplaceAnswers(blocks=(BOXES,), unit=unit, scale=Fraction(2)))
    with pytest.raises(Breach):
        audit_answers(replace(claim, event=apart.event), pairs(SHAPE, RECORDS, unit.neighbours))
