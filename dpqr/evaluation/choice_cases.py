"""Private selections, on neighbours between which one candidate's score falls and all the others' rise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.evaluation.answer_cases import UNITS
from dpqr.evaluation.case import Case, Pair
from dpqr.evaluation.draws import Draws
from dpqr.evaluation.neighbours import records
from dpqr.evaluation.told import Told
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.scores import Scores
from dpqr.privacy.price import Price
from dpqr.strategies.candidates import BlockCandidates, QueryCandidates
from dpqr.strategies.distinguishers.exponential import Exponential
from dpqr.strategies.distinguishers.interface import Distinguisher
from dpqr.strategies.distinguishers.permute_and_flip import PermuteAndFlip
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.box_index import box_index
from dpqr.workload.matrix import Dense
from dpqr.workload.ranges import Ranges

DISTINGUISHERS: dict[str, Distinguisher] = {"exponential": Exponential(), "permute-and-flip": PermuteAndFlip()}
EPSILONS = {"blocks": Fraction(1), "queries": Fraction(2), "boxes": Fraction(2)}
LEVEL = 5
"""Everybody's score on the first database."""
BRIEF = 500
"""Runs that show a search that tosses no coins."""
BOXES, BITS = (4, 8), 3
"""Boxes whose score falls, boxes whose score rises, and the grid of the scores."""
COMPOSED = {"rho": (1, Fraction(1)), "composed": (3, Fraction(3, 4))}
"""Selections in a row, and the epsilon of each, that are priced in rho."""
DELTA = Fraction(1, 10)
"""Where that price is converted. Why so large: of all points of the curve that a rho claims, this one is among the
easiest to refute in few runs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """Scores that are all alike on the first database of the pair, and as unlike as can be on the second.

    There candidate 0's score is lower by the sensitivity, and every other one's higher by it.
    """

    scores: Scores
    pair: Pair
    unit: PrivacyUnit


def choice_cases() -> Iterator[Case]:
    """Both distinguishers, on blocks, on queries and on searched boxes; and many selections priced together in rho."""
    for relation, unit in UNITS.items():
        for name in DISTINGUISHERS:
            yield choice_case(f"{name}-blocks-{relation}", name, block_contest(unit), EPSILONS["blocks"])
            yield choice_case(f"{name}-queries-{relation}", name, query_contest(unit), EPSILONS["queries"])
    for name, (relation, unit) in zip(DISTINGUISHERS, UNITS.items(), strict=True):
        boxes = choice_case(f"{name}-boxes-{relation}", name, box_contest(unit), EPSILONS["boxes"])
        yield replace(boxes, brief=BRIEF)
    for name in DISTINGUISHERS:
        for kind in COMPOSED:
            yield composed_case(kind, name)


def choice_case(case: str, distinguisher: str, contest: Contest, epsilon: Fraction) -> Case:
    """One selection at a pure price."""
    mechanism = DISTINGUISHERS[distinguisher].mechanism(contest.scores, contest.unit, Price(epsilon=epsilon))
    what = f"{distinguisher} selection of one of {len(contest.scores)}"
    return Case(name=case, what=what, pair=contest.pair, trial=Draws(mechanisms=(mechanism,)))


def composed_case(kind: str, distinguisher: str) -> Case:
    """Selections that add up in rho, at a price that buys a bounded-range draw `epsilon`, and any other half of it.

    Two candidates: there permute-and-flip is furthest from bounded range, so that it would be seen if it were priced
    like the exponential mechanism.
    """
    draws, epsilon = COMPOSED[kind]
    unit = UNITS["add-remove"]
    contest = query_contest(unit, candidates=2)
    mechanism = DISTINGUISHERS[distinguisher].mechanism(contest.scores, unit, Price(rho=epsilon**2 / 8))
    return Case(
        name=f"{distinguisher}-{kind}-add-remove",
        what=f"{distinguisher} selection priced in rho, {draws} in a row",
        pair=contest.pair,
        trial=Draws(mechanisms=(mechanism,) * draws, delta=DELTA),
    )


def query_contest(unit: PrivacyUnit, candidates: int = 3) -> Contest:
    """The same query over and over, which gains a record; expected above the count once, below it otherwise."""
    gains = np.tile([1, 0], (candidates, 1))
    block = QueryBlock(name="queries", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(gains)),))
    count = 2 * LEVEL
    expected = (count + LEVEL, *(count - LEVEL,) * (candidates - 1))
    scores = QueryCandidates(blocks=(block,)).scores(Told(answers={"queries": expected}))
    moved: dict[tuple[int, ...], int] = {(1,): 1} if unit.neighbours is Neighbours.REPLACE else {}
    pair = records((2,), {(0,): count, **moved}), records((2,), {(0,): count + 1})
    return Contest(scores=scores, pair=pair, unit=unit)


def box_contest(unit: PrivacyUnit) -> Contest:
    """The first cell of one column, over and over, and that of another: both gain the record. The first is expected
    above the count, the other below it. Many boxes, for a search must have something to save."""
    blocks = tuple(
        QueryBlock(name=f"{axis}", factors=(Factor(axes=(axis,), sizes=(2,), matrix=_first_cell(boxes)),), rowwise=True)
        for axis, boxes in enumerate(BOXES)
    )
    index = box_index(blocks)
    assert index is not None
    expected = np.array([[0, LEVEL], [-LEVEL, 0]]) << BITS
    scores = BoxScores(blocks=blocks, index=index, expected=expected, bits=BITS)
    replaced = unit.neighbours is Neighbours.REPLACE
    pair = records((2, 2), {(1, 1): 1} if replaced else {}), records((2, 2), {(0, 0): 1})
    return Contest(scores=scores, pair=pair, unit=unit)


def _first_cell(times: int) -> Ranges:
    return Ranges(np.zeros(times, dtype=np.int64), np.ones(times, dtype=np.int64), 2)


def block_contest(unit: PrivacyUnit, candidates: int = 3) -> Contest:
    """One marginal of two cells for every attribute. A record comes to the first cell of all of them; under replace it
    leaves the last cell. The first marginal is expected to have many there, the others none."""
    blocks = tuple(QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 2),)) for axis in range(candidates))
    replaced = unit.neighbours is Neighbours.REPLACE
    far = LEVEL + 2 if replaced else LEVEL
    told = {block.name: (0, far) for block in blocks} | {"0": (far - 2 if replaced else far, 0)}
    scores = BlockCandidates(blocks=blocks, unit=unit).scores(Told(answers=told))
    shape, first, last = (2,) * candidates, (0,) * candidates, (1,) * candidates
    pair = records(shape, {last: 1} if replaced else {}), records(shape, {first: 1})
    return Contest(scores=scores, pair=pair, unit=unit)
