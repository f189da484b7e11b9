"""Adversary: looks for a database update sequence that is longer than a rule's mistake bound says.

A sequence at level a has, at every step, a query with |f(x) - f(D)| >= a n and an answer with |f(x) - v| < a n (Dwork
and Roth 2014, section 5.2). Any finite search can refute a bound and none can prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.attribute import Attribute, Codes
from dpqr.data.domain import Domain
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.public import public_generator
from dpqr.strategies.problem import Level, Problem, Variant
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

RECORDS = 10_000
CELLS = (2, 3, 4)
LEVELS = (Fraction(3, 10), Fraction(3, 20))
VARIANTS: tuple[Variant, ...] = ("printed", "sharp")
LONGEST = 400
"""Steps after which a search gives up: larger bounds are only tried so far."""
LOOKED_AHEAD = 60
"""Steps of the dearest strategy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One step that is open to the adversary. gap: |f(x) - f(D)|; kindness: how far v lies from f(D), in records."""

    measured: Measurement
    gap: float
    kindness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a game stands, and the moves that are open, at least one."""

    game: Game
    hypothesis: Any
    history: tuple[Measurement, ...]
    moves: list[Move]


Strategy = Callable[[Position], Move]


def refuted(rule: Any) -> Iterator[str]:
    """One line for every bound that some strategy exceeds."""
    for cells, value, variant in product(CELLS, LEVELS, VARIANTS):
        level = Level(value=value, variant=variant)
        problem = _problem(cells, level)
        bound = rule.mistakes(problem, level)
        if bound is None or rule.footprint(problem).refusal is not None:
            continue
        longest = max(_lengths(rule, problem, level, min(bound + 1, LONGEST)))
        if longest > bound:
            yield (
                f"mistakes: {bound} are promised at level {value} ({variant}) on {cells} cells, and a fair sequence of "
                f"{longest} exists"
            )


def _lengths(rule: Any, problem: Problem, level: Level, most: int) -> Iterator[int]:
    """Of every strategy on every table; stops at the first that is long enough."""
    cells = problem.domain.size
    tables = [RECORDS * np.eye(cells, dtype=np.int64)[place] for place in (0, cells - 1)]
    tables.append(public_generator(cells).multinomial(RECORDS, np.full(cells, 1 / cells) ** 2 * cells))
    yield 0
    for truth in tables:
        queries = problem.workload.blocks
        game = Game(rule=rule, problem=problem, level=level, truth=truth, queries=queries)
        for strategy, limit in ((_least, most), (_kindest, most), (_worst, most), (_ahead, min(most, LOOKED_AHEAD))):
            length = game.length(strategy, limit)
            yield length
            if length >= most:
                return


def _least(position: Position) -> Move:
    """The smallest gap, and the answer that says least."""
    return min(position.moves, key=lambda move: (move.gap, move.kindness))


def _kindest(position: Position) -> Move:
    """The answer that says least."""
    return min(position.moves, key=lambda move: move.kindness)


def _worst(position: Position) -> Move:
    """The largest gap, and the answer that says most."""
    return max(position.moves, key=lambda move: (move.gap, move.kindness))


def _ahead(position: Position) -> Move:
    """Whatever leaves the largest gaps open after the update."""
    game, rule = position.game, position.game.rule

    def left(move: Move) -> float:
        found = rule.update(game.problem, position.hypothesis, (*position.history, move.measured))
        return -1.0 if found is None else sum(each.gap for each in game.moves(found))

    return max(position.moves, key=left)


def _problem(cells: int, level: Level) -> Problem:
    masks = [mask for mask in product((0, 1), repeat=cells) if any(mask)]
    queries = tuple(
        QueryBlock(
            name="".join(map(str, mask)),
            factors=(Factor(axes=(0,), sizes=(cells,), matrix=Dense(np.array([mask], dtype=np.int64))),),
        )
        for mask in masks
    )
    return Problem(
        domain=Domain((Attribute(name="cell", axis=Codes(cells)),)),
        workload=Workload(queries),
        unit=PrivacyUnit(neighbours=Neighbours.REPLACE),
        n=RECORDS,
        alpha=2 * level.value,
        level=level,
    )
