"""Update rules: what their protocol promises, looked at on tiny universes. Each fault is one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.audit.conformance.cases import Universe, at_level, frozen_faults, universes
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.plugins import lacking
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.hypothesis import Sampleable
from dpqr.strategies.problem import Footprint, Level, Problem, Variant
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

LEVELS = tuple(Level(value=Fraction(value)) for value in ("3/10", "1/10"))
WILD = ((0, 1), (-500, 1), (500, 1), (0, 1000))
"""Shift and factor of answers: near the truth, far below 0, far above, and a thousand times too large."""
CLOSE = 0.02
"""How far apart a cumulative rule may end, as a share of the records."""


def update_rule_faults(rule: Any) -> Iterator[str]:
    """One line a fault. The protocol comes first: without it nothing else is asked."""
    lack = lacking(UpdateRule, rule)
    if lack is not None:
        yield f"protocol: the rule {lack}"
        return
    # Whether the rule is a frozen value with the right constants.
    yield from frozen_faults(rule)
    if not isinstance(rule.name, str) or not rule.name:
        yield "name: it is no text"
    if not isinstance(rule.trust, tuple) or not all(isinstance(each, str) for each in rule.trust):
        yield "trust: it is no tuple of sentences"
    if not isinstance(rule.cumulative, bool):
        yield "cumulative: it is neither True nor False"
    refused, seen = 0, set[str]()
    for universe in universes():
        try:
            faults = [fault for fault in _behaviour(rule, universe) if fault not in seen]
        except _Refused:
            refused += 1
            continue
        yield from (f"{fault} ({universe.words})" for fault in faults[:1])
        seen.update(faults)
    # Whether it runs with a level, and refuses other runs.
    if refused == len(list(universes())) and not any(
        rule.footprint(at_level(each, LEVELS[0]).problem).refusal is None for each in universes()
    ):
        yield "footprint: the rule refuses every tiny universe"
    yield from _mistakes(rule)


class _Refused(Exception):
    """The rule says beforehand that it cannot run here."""


def _behaviour(rule: Any, universe: Universe) -> Iterator[str]:
    """On one universe, without a level; the first fault is enough."""
    try:
        found = rule.footprint(universe.problem)
        if not isinstance(found, Footprint):
            yield "footprint: it returns no Footprint"
        elif found.refusal is not None:
            raise _Refused
        elif not isinstance(found.bytes, int) or found.bytes < 0:
            yield "footprint: bytes must be a whole number of at least 0"
        problem = universe.problem
        first = rule.start(problem)
        yield from _sound(first, universe, "start")
        if not np.array_equal(_answers(first, universe), _answers(rule.start(problem), universe)):
            yield "purity: start gives another hypothesis the second time"
        for shift, factor in WILD:
            yield from _course(rule, universe, shift, factor)
        if rule.cumulative:
            yield from _cumulative(rule, universe)
        measured: list[object] = []
        for block in problem.workload.blocks:
            fits = rule.fits(problem, tuple(measured), (block,))
            if not isinstance(fits, bool):
                yield "fits: it returns neither True nor False"
            elif fits is not rule.fits(problem, tuple(measured), (block,)):
                yield "purity: fits says another thing the second time"
            measured.append(block)
    except _Refused:
        raise
    except Exception as error:
        yield f"errors: {type(error).__name__}: {error}"


def _course(rule: Any, universe: Universe, shift: int, factor: int) -> Iterator[str]:
    """Updates with one block after the other, as a run has them."""
    problem, history = universe.problem, list[Measurement]()
    hypothesis = rule.start(problem)
    for block in problem.workload.blocks:
        history.append(universe.measured(block, shift, factor))
        before = _answers(hypothesis, universe)
        try:
            found = rule.update(problem, hypothesis, tuple(history))
            again = rule.update(problem, hypothesis, tuple(history))
        except ValueError as error:
            if "read-only" in str(error):
                yield "purity: update writes into a measurement"
                return
            raise
        if not np.array_equal(before, _answers(hypothesis, universe)):
            yield "purity: update changes the hypothesis that it was given"
        if (found is None) != (again is None):
            yield "purity: update is exhausted at one time and not at another"
        if found is None or again is None:
            return
        yield from _sound(found, universe, f"update after {block.name}")
        if not np.array_equal(_answers(found, universe), _answers(again, universe)):
            yield "purity: update gives another hypothesis the second time"
        hypothesis = found


def _cumulative(rule: Any, universe: Universe) -> Iterator[str]:
    """One update after all measurements against one after each."""
    problem, history = universe.problem, list[Measurement]()
    stepwise = start = rule.start(problem)
    for block in problem.workload.blocks:
        history.append(universe.measured(block))
        stepwise = rule.update(problem, stepwise, tuple(history))
        if stepwise is None:
            return
    at_once = rule.update(problem, start, tuple(history))
    if at_once is None:
        return
    apart = np.abs(_answers(stepwise, universe) - _answers(at_once, universe)).max()
    if apart > CLOSE * max(float(universe.table.sum()), 1.0) * max(
        block.largest_coefficient for block in universe.problem.workload.blocks
    ):
        yield f"cumulative: one update after all measurements ends {apart:.3g} records from one after each"


def _sound(hypothesis: Any, universe: Universe, when: str) -> Iterator[str]:
    """Total and answers of a hypothesis, and its records where it has some."""
    if not np.isfinite(hypothesis.total):
        yield f"total: {hypothesis.total} after {when}; it must be finite"
        return
    for block in universe.problem.workload.blocks:
        answers = np.asarray(hypothesis.answer(block))
        if answers.shape != (block.rows,):
            yield f"answer: shape {answers.shape} for {block.name} after {when}, and ({block.rows},) is right"
        elif answers.dtype.kind not in "fi" or not np.isfinite(answers).all():
            yield f"answer: not finite numbers for {block.name} after {when}"
    if isinstance(hypothesis, Sampleable):
        shape, total = universe.problem.domain.shape, hypothesis.total
        weights = hypothesis.weights()
        if weights.shape != shape or (weights < 0).any():
            yield f"weights: not one number of at least 0 a cell after {when}"
        elif abs(float(weights.sum()) - total) > 1e-6 * max(total, 1.0):
            yield f"weights: they sum to {weights.sum():.6g} after {when}, and the total is {total:.6g}"
        drawn, again = hypothesis.rows(7, 1), hypothesis.rows(7, 1)
        if drawn.shape != (7, len(shape)) or (drawn < 0).any() or (drawn >= np.array(shape)).any():
            yield f"rows: not 7 records of the domain after {when}"
        elif not np.array_equal(drawn, again):
            yield "rows: other records from the same seed"


def _mistakes(rule: Any) -> Iterator[str]:
    """What the bound is, and whether an adversary gets further."""
    try:
        universe = at_level(list(universes())[-1], LEVELS[0])
        bounds = [rule.mistakes(at_level(universe, level).problem, level) for level in LEVELS]
        if not all(bound is None or (isinstance(bound, int) and bound >= 0) for bound in bounds):
            yield "mistakes: neither None nor a whole number of at least 0"
        elif None not in bounds and bounds[0] > bounds[1]:
            yield f"mistakes: more at level 3/10 ({bounds[0]}) than at 1/10 ({bounds[1]}), which is harder"
        else:
            yield from find_refutations(rule)
    except Exception as error:
        yield f"mistakes: {type(error).__name__}: {error}"


def _answers(hypothesis: Any, universe: Universe) -> FloatArray:
    found = [np.asarray(hypothesis.answer(block), dtype=np.float64) for block in universe.problem.workload.blocks]
    return np.concatenate(found)


# Adversary: looks for a database update sequence that is longer than a rule's mistake bound says.
#
# A sequence at level a has, at every step, a query with |f(x) - f(D)| >= a n and an answer with |f(x) - v| < a n
# (Dwork and Roth 2014, section 5.2). Any finite search can refute a bound and none can prove it.

RECORDS = 10_000
CELLS = (2, 3, 4)
SEARCHED_LEVELS = (Fraction(3, 10), Fraction(3, 20))
VARIANTS: tuple[Variant, ...] = ("printed", "sharp")
LONGEST = 400
"""Steps after which a search gives up: larger bounds are only tried so far."""
LOOKED_AHEAD = 60
"""Steps of the dearest strategy."""


class Move(Struct, frozen=True, kw_only=True):
    """One step that is open to the adversary.

    Attributes:
        gap: |f(x) - f(D)|, in records.
        kindness: how far v lies from f(D), in records.
    """

    measured: Measurement
    gap: float
    kindness: float


class Game(Struct, frozen=True, kw_only=True):
    """One true table, and all 0/1 queries on its cells."""

    rule: Any
    problem: Problem
    level: Level
    truth: IntArray
    queries: tuple[QueryBlock, ...]

    def moves(self, hypothesis: Any) -> list[Move]:
        """Every query with a gap of the level, with the truth and the furthest fair answers on either side of it."""
        far = float(self.level.value) * RECORDS
        found = []
        for query in self.queries:
            (true,) = query.apply(self.truth).tolist()
            guess = float(hypothesis.answer(query)[0])
            if abs(true - guess) < far:
                continue
            for shift in (-1, 0, 1):
                value = true + shift * (int(far) - 1)
                measured = Measurement(blocks=(query,), values=(np.array([value]),), law=DiscreteLaplace(Fraction(1)))
                found.append(Move(measured=measured, gap=abs(true - guess), kindness=abs(value - guess)))
        return found

    def length(self, strategy: Strategy, most: int) -> int:
        """Steps that the strategy gets, up to `most`."""
        hypothesis, history = self.rule.start(self.problem), list[Measurement]()
        for step in range(most):
            moves = self.moves(hypothesis)
            if not moves:
                return step
            position = Position(game=self, hypothesis=hypothesis, history=tuple(history), moves=moves)
            history.append(strategy(position).measured)
            hypothesis = self.rule.update(self.problem, hypothesis, tuple(history))
            if hypothesis is None:  # the rule gives up; its answers were fair, so that is a step like any other
                return step + 1
        return most


class Position(Struct, frozen=True, kw_only=True):
    """Where a game stands, and the moves that are open, at least one."""

    game: Game
    hypothesis: Any
    history: tuple[Measurement, ...]
    moves: list[Move]


Strategy = Callable[[Position], Move]


def find_refutations(rule: Any) -> Iterator[str]:
    """One line for every bound that some strategy exceeds."""
    for cells, value, variant in product(CELLS, SEARCHED_LEVELS, VARIANTS):
        level = Level(value=value, variant=variant)
        masks = [mask for mask in product((0, 1), repeat=cells) if any(mask)]
        queries = tuple(
            QueryBlock(
                name="".join(map(str, mask)),
                factors=(Factor(axes=(0,), sizes=(cells,), matrix=Dense(np.array([mask], dtype=np.int64))),),
            )
            for mask in masks
        )
        problem = Problem(
            domain=Domain((Attribute(name="cell", axis=Codes(cells)),)),
            workload=Workload(queries),
            unit=PrivacyUnit(neighbours=Neighbours.REPLACE),
            n=RECORDS,
            alpha=2 * level.value,
            level=level,
        )
        bound = rule.mistakes(problem, level)
        if bound is None or rule.footprint(problem).refusal is not None:
            continue
        longest = max(_lengths(rule, problem, level, min(bound + 1, LONGEST)))
        if longest > bound:
            yield (
                f"mistakes: {bound} are promised at level {value} ({variant}) on {cells} cells, and a fair sequence of "
                f"{longest} exists"
            )


def _lengths(rule: object, problem: Problem, level: Level, most: int) -> Iterator[int]:
    """Of every strategy on every table; stops at the first that is long enough."""
    cells = problem.domain.size
    tables = [RECORDS * np.eye(cells, dtype=np.int64)[place] for place in (0, cells - 1)]
    tables.append(public_generator(cells).multinomial(RECORDS, np.full(cells, 1 / cells) ** 2 * cells))
    yield 0
    for truth in tables:
        game = Game(rule=rule, problem=problem, level=level, truth=truth, queries=problem.workload.blocks)
        for strategy in STRATEGIES:
            length = game.length(strategy, min(most, LOOKED_AHEAD) if strategy is leave_largest_gaps else most)
            yield length
            if length >= most:
                return


def leave_largest_gaps(position: Position) -> Move:
    """Whatever leaves the largest gaps open after the update."""
    game, rule = position.game, position.game.rule

    def left(move: Move) -> float:
        found = rule.update(game.problem, position.hypothesis, (*position.history, move.measured))
        return -1.0 if found is None else sum(each.gap for each in game.moves(found))

    return max(position.moves, key=left)


STRATEGIES: tuple[Strategy, ...] = (
    lambda position: min(position.moves, key=lambda move: (move.gap, move.kindness)),
    lambda position: min(position.moves, key=lambda move: move.kindness),
    lambda position: max(position.moves, key=lambda move: (move.gap, move.kindness)),
    leave_largest_gaps,
)
"""The smallest gap and the answer that says least; that answer; the largest gap and the answer that says most."""
