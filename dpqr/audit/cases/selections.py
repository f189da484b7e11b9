"""Private selections, on neighbours between which some candidates' scores fall and all the others' rise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, MechanismTrial, Pair, PublicOutcome, numbers, records
from dpqr.audit.cases.noisy_answers import UNITS
from dpqr.audit.cases.releases import ABSENT, ADDED, DELTA, REPLACED, WORK, PlannedTrial, codes_domain
from dpqr.audit.law import Flips, Laws, NumberLaw, Selection
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.selection import Scores
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit
from dpqr.releases.loop import Outcome
from dpqr.strategies.candidates import BlockCandidates, QueryCandidates
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Distinguisher, Exponential, PermuteAndFlip
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.box_index import box_index
from dpqr.workload.matrix import Dense
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import Workload


class StatedAnswers(Struct, frozen=True, kw_only=True):
    """Any public guess is allowed, so an attack may choose the one against which a selection leaks most.

    answers: by the block's name, in the block's grid.
    """

    answers: Mapping[str, tuple[int, ...]]

    @property
    def total(self) -> float:
        return 0.0

    def answer(self, block: QueryBlock) -> FloatArray:
        return np.array(self.answers[block.name], dtype=np.float64)


DISTINGUISHERS: dict[str, Distinguisher] = {"exponential": Exponential(), "permute-and-flip": PermuteAndFlip()}
EPSILONS = {"blocks": Fraction(2), "queries": Fraction(2), "boxes": Fraction(2)}
LEVEL = 5
"""Everybody's score on the first database."""
PERSON = {relation: replace(unit, columns=("person",), rows=3) for relation, unit in UNITS.items()}
"""Persons of at most three rows each."""
BRIEF, BRIEF_BOXES = 2_500, 1_800
"""Runs that show a rate that is too large by a quarter."""
CANDIDATES, FALLING = 4, 3
"""Why most scores fall: the few that rise are then drawn so often that a rate too large by a quarter shows soonest."""
BOXES, BITS = (8, 4), 3
"""Boxes whose score falls, boxes whose score rises, and the grid of the scores."""
COMPOSED = {"rho": (1, Fraction(1)), "composed": (3, Fraction(3, 4))}
"""Selections in a row, and the epsilon of each, that are priced in rho."""
CHOICE_DELTA = Fraction(1, 10)
"""Where that price is converted. Why so large: of all points of the curve that a rho claims, this one is among the
easiest to refute in few runs."""


class Contest(Struct, frozen=True, kw_only=True, eq=False):
    """Scores that are all alike on the first database of the pair, and as unlike as can be on the second.

    There the first `falling` scores are lower by the sensitivity, and all others higher by it.
    """

    scores: Scores
    pair: Pair
    unit: PrivacyUnit
    falling: int = 1

    @property
    def moves(self) -> tuple[FloatArray, FloatArray]:
        """The scores on both databases, but for a constant, in units of the sensitivity; `falling` of them fall."""
        second = np.ones(len(self.scores))
        second[: self.falling] = -1
        return np.zeros(len(self.scores)), second


def choice_cases() -> Iterator[Case]:
    """Both distinguishers, on blocks, on queries and on searched boxes; and many selections priced together in rho."""
    for relation, unit in UNITS.items():
        for name in DISTINGUISHERS:
            yield choice_case(f"{name}-blocks-{relation}", name, block_contest(unit), EPSILONS["blocks"])
            yield choice_case(f"{name}-queries-{relation}", name, query_contest(unit), EPSILONS["queries"])
            whole = PERSON[relation]
            yield choice_case(f"{name}-blocks-person-{relation}", name, block_contest(whole), EPSILONS["blocks"])
            yield choice_case(f"{name}-queries-person-{relation}", name, query_contest(whole), EPSILONS["queries"])
    for name, (relation, unit) in zip(DISTINGUISHERS, UNITS.items(), strict=True):
        boxes = choice_case(f"{name}-boxes-{relation}", name, box_contest(unit), EPSILONS["boxes"])
        yield replace(boxes, brief=BRIEF_BOXES)
    for name in DISTINGUISHERS:
        for kind in COMPOSED:
            yield composed_case(kind, name)


def choice_case(case: str, distinguisher: str, contest: Contest, epsilon: Fraction) -> Case:
    """One selection at a pure price."""
    mechanism = DISTINGUISHERS[distinguisher].mechanism(contest.scores, contest.unit, Price(epsilon=epsilon))
    what = f"{distinguisher} selection of one of {len(contest.scores)}"
    trial = MechanismTrial(mechanisms=(mechanism,))
    return Case(name=case, what=what, pair=contest.pair, trial=trial, brief=BRIEF, laws=_laws(contest, trial))


def composed_case(kind: str, distinguisher: str) -> Case:
    """Selections that add up in rho, at a price that buys a bounded-range draw `epsilon`, and any other half of it.

    Two candidates: there permute-and-flip is furthest from bounded range, so that it would be seen if it were priced
    like the exponential mechanism.
    """
    draws, epsilon = COMPOSED[kind]
    unit = UNITS["add-remove"]
    contest = query_contest(unit, candidates=2, falling=1)
    mechanism = DISTINGUISHERS[distinguisher].mechanism(contest.scores, unit, Price(rho=epsilon**2 / 8))
    trial = MechanismTrial(mechanisms=(mechanism,) * draws, delta=CHOICE_DELTA)
    return Case(
        name=f"{distinguisher}-{kind}-add-remove",
        what=f"{distinguisher} selection priced in rho, {draws} in a row",
        pair=contest.pair,
        trial=trial,
        laws=_laws(contest, trial),
    )


def _laws(contest: Contest, trial: MechanismTrial) -> tuple[Laws, Laws]:
    """The law of every choice, at the epsilon of its event and by the scores of the contest."""
    laws: tuple[list[NumberLaw], list[NumberLaw]] = [], []
    for event, _ in trial.events:
        if not isinstance(event, ExponentialEvent | PermuteAndFlipEvent):
            raise UsageFault(f"an event of type {type(event).__name__} has no law here; write one in dpqr.audit.law")
        law = Selection if isinstance(event, ExponentialEvent) else Flips
        for side, moves in zip(laws, contest.moves, strict=True):
            side.append(law(scores=moves, rate=float(event.epsilon) / 2))
    return tuple(laws[0]), tuple(laws[1])


def query_contest(unit: PrivacyUnit, candidates: int = CANDIDATES, falling: int = FALLING) -> Contest:
    """The same query over and over, which gains a record; expected above the count `falling` times, else below it."""
    gains = np.tile([1, 0], (candidates, 1))
    block = QueryBlock(name="queries", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(gains)),))
    count, rows = 2 * LEVEL, unit.rows
    expected = (*(count + LEVEL,) * falling, *(count - LEVEL,) * (candidates - falling))
    scores = QueryCandidates(blocks=(block,)).scores(StatedAnswers(answers={"queries": expected}))
    moved: dict[tuple[int, ...], int] = {(1,): rows} if unit.neighbours is Neighbours.REPLACE else {}
    pair = records((2,), {(0,): count, **moved}), records((2,), {(0,): count + rows})
    return Contest(scores=scores, pair=pair, unit=unit, falling=falling)


def box_contest(unit: PrivacyUnit) -> Contest:
    """The first cell of one column, over and over, and that of another: both gain the record. The first is expected
    above the count, the other below it. Many boxes, for a search must have something to save."""
    firsts = [Ranges(np.zeros(boxes, dtype=np.int64), np.ones(boxes, dtype=np.int64), 2) for boxes in BOXES]
    blocks = tuple(
        QueryBlock(name=f"{axis}", factors=(Factor(axes=(axis,), sizes=(2,), matrix=matrix),), rowwise=True)
        for axis, matrix in enumerate(firsts)
    )
    index = box_index(blocks)
    assert index is not None
    expected = np.array([[0, LEVEL], [-LEVEL, 0]]) << BITS
    scores = BoxScores(blocks=blocks, index=index, expected=expected, bits=BITS)
    replaced = unit.neighbours is Neighbours.REPLACE
    pair = records((2, 2), {(1, 1): 1} if replaced else {}), records((2, 2), {(0, 0): 1})
    return Contest(scores=scores, pair=pair, unit=unit, falling=BOXES[0])


def block_contest(unit: PrivacyUnit) -> Contest:
    """One marginal of two cells for every attribute. A record comes to the first cell of all of them; under replace it
    leaves the last cell. The first FALLING marginals are expected to have many there, the others none."""
    blocks = tuple(QueryBlock(name=f"{axis}", factors=(Factor.identity(axis, 2),)) for axis in range(CANDIDATES))
    replaced, rows = unit.neighbours is Neighbours.REPLACE, unit.rows
    far = LEVEL + 2 * rows if replaced else LEVEL
    answers = {block.name: (LEVEL, 0) if place < FALLING else (0, far) for place, block in enumerate(blocks)}
    scores = BlockCandidates(blocks=blocks, unit=unit).scores(StatedAnswers(answers=answers))
    shape, first, last = (2,) * CANDIDATES, (0,) * CANDIDATES, (1,) * CANDIDATES
    pair = records(shape, {last: rows} if replaced else {}), records(shape, {first: rows})
    return Contest(scores=scores, pair=pair, unit=unit, falling=FALLING)


# Searches among marginals: the next draw and its price follow from what was released.

SHAPE, COUNTED, COMPARED = (2, 2, 2), (6, 5, 4, 3), (4, 4, 4)
WIDEST = 4
MOST = 16
"""Draws of one run: single columns three times, three choices, three pairs again; the rest is room."""


def search_outcome(plan: Plan, outcome: Outcome) -> PublicOutcome:
    """Which columns were measured, how exactly (in tenths of a record), what was found, what is answered."""
    context, measured = list[int](), list[int]()
    for one in outcome.transcript.measurements:
        released = numbers(one)
        context += [sum(1 << axis for axis in one.blocks[0].axes), round(10 * one.law.deviation)]
        measured += [*released, *(ABSENT,) * (WIDEST - len(released))]
    context += [ABSENT] * (2 * MOST - len(context))
    measured += [ABSENT] * (WIDEST * MOST - len(measured))
    found = outcome.hypothesis
    answers = np.concatenate([found.answer(block) for block in plan.problem.workload.blocks])
    derived = np.rint(np.append(answers, found.total)).astype(np.int64)
    return tuple(context), tuple(measured), tuple(derived.tolist())


def search_cases() -> Iterator[Case]:
    """Both relations, both accountants that may charge it."""
    update = MultiplicativeWeights(fit=MaximumEntropyFit(tolerance=1.0, steps=3))
    pure = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=update, accountant=Basic())
    yield search_case("basic-add-remove", ADDED, PrivacyBudget(Fraction(1)), pure)
    rho = Roles(distinguisher=Exponential(), check=Gaussian(), update=update, accountant=ZeroConcentrated())
    yield search_case("zcdp-replace", REPLACED, PrivacyBudget(Fraction(3), DELTA), rho)
    yield counted_case(pure)
    yield dependence_case(rho)


def marginals_problem(shape: tuple[int, ...], ways: int, unit: PrivacyUnit, n: int | None = None) -> Problem:
    """All marginals of so many columns."""
    blocks = tuple(
        QueryBlock(name=f"{axes}", factors=tuple(Factor.identity(axis, shape[axis]) for axis in axes))
        for axes in combinations(range(len(shape)), ways)
    )
    return Problem(domain=codes_domain(shape), workload=Workload(blocks), unit=unit, n=n)


def search_case(name: str, unit: PrivacyUnit, budget: PrivacyBudget, roles: Roles) -> Case:
    """All pairs of three columns, two of which agree but for the record that comes: the search finds and asks them."""
    here: dict[tuple[int, ...], int] = {(0, 0, 0): 320, (1, 1, 0): 240, (1, 1, 1): 240}
    n, one = None, here
    if unit.neighbours is Neighbours.REPLACE:
        n, one = 801, {**here, (1, 1, 0): 241}
    problem = marginals_problem(SHAPE, 2, unit, n)
    return Case(
        name=f"release-search-{name}",
        what=f"a search whose prices follow what it releases, {roles.check.name} (a tenth of the runs)",
        pair=(records(SHAPE, one), records(SHAPE, {**here, (0, 1, 1): 1})),
        trial=PlannedTrial(plan=Marginals(table=0).plan(problem, budget, roles), shown=search_outcome),
        work=WORK,
    )


def counted_case(roles: Roles) -> Case:
    """A noisy count decides between one table and one-way marginals; with and without the record both come about."""
    problem = marginals_problem(COUNTED, 3, ADDED)
    here: dict[tuple[int, ...], int] = {(0, 0, 0, 0): 300, (1, 1, 1, 1): 300}
    return Case(
        name="release-counted-basic-add-remove",
        what=f"a release whose count decides what is measured, {roles.check.name} (a tenth of the runs)",
        pair=(records(COUNTED, here), records(COUNTED, {**here, (2, 2, 2, 2): 1})),
        trial=PlannedTrial(plan=Marginals().plan(problem, PrivacyBudget(Fraction(1, 10)), roles), shown=count_outcome),
        work=WORK,
    )


def count_outcome(plan: Plan, outcome: Outcome) -> PublicOutcome:
    """The count, what was measured after it and how exactly, the first cells of that, and what is answered."""
    counted, following = (outcome.transcript.measurements[place] for place in (0, 1))
    context = (sum(1 << axis for axis in following.blocks[0].axes), round(10 * following.law.deviation))
    released = (*numbers(counted), *numbers(following))[:MOST]
    last = numbers(outcome.transcript.measurements[-1])[-1:]
    found = outcome.hypothesis
    answers = np.append(found.answer(plan.problem.workload.blocks[0]), found.total)
    padded = (*released, *(ABSENT,) * (MOST - len(released)), *last)
    return context, padded, numbers(np.rint(answers).astype(np.int64))


def dependence_case(roles: Roles) -> Case:
    """The error of one-way marginals on pairs decides between all pairs once and a search; both come about. Two columns
    agree in a third of the records, and the record that changes comes to agree."""
    here: dict[tuple[int, ...], int] = dict.fromkeys(product(*map(range, COMPARED)), 15)
    here |= {(value, value, other): 26 for value in range(4) for other in range(4)}
    problem = marginals_problem(COMPARED, 2, REPLACED, sum(here.values()))
    budget = PrivacyBudget(Fraction(2), DELTA)
    other = {**here, (0, 1, 0): 14, (0, 0, 0): 27}
    return Case(
        name="release-dependence-zcdp-replace",
        what=f"a release that a measured error decides, {roles.check.name} (a tenth of the runs)",
        pair=(records(COMPARED, here), records(COMPARED, other)),
        trial=PlannedTrial(plan=Marginals().plan(problem, budget, roles), shown=dependence_outcome),
        work=WORK,
    )


def dependence_outcome(plan: Plan, outcome: Outcome) -> PublicOutcome:
    """How many rounds there were, the noisy error, what was measured last, and what is answered."""
    found = [one.errors for one in outcome.transcript.rounds if one.errors is not None]
    last = outcome.transcript.measurements[-1]
    context = (len(found), len(outcome.transcript.rounds), len(last.blocks[0].axes))
    released = (*(one.value for one in found), *numbers(last))[:MOST]
    answers = np.append(outcome.hypothesis.answer(plan.problem.workload.blocks[0]), outcome.hypothesis.total)
    return context, (*released, *(ABSENT,) * (MOST - len(released))), numbers(np.rint(answers).astype(np.int64))
