"""Consistent: updates that cost nothing, by earlier answers that contradict the hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.construction.soundness import stepped
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.strategies.checks import LIMIT
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.transcript import Round, Stage
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement, rounded

MOST = 2_000
"""Updates before each round, at most: the rest waits for the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answers of one measured block. noise: what they are off by at most, in records, on the good event."""

    block: QueryBlock
    measured: Measurement
    noise: Fraction

    def worst(self, hypothesis: Hypothesis) -> tuple[int, Fraction]:
        """The row whose answer is furthest from the hypothesis', and by how many records the truth surely is.

        The hypothesis' answers are rounded to the block's grid, as in the stop test: `noise` holds the half step too.
        """
        apart = np.abs(self.measured.values[0] - rounded(hypothesis.answer(self.block), LIMIT))
        row = int(apart.argmax())
        return row, int(apart[row]) * self.block.scale - self.noise

    def row(self, index: int) -> Measurement:
        """One answer by itself."""
        if self.block.rows == 1:
            return self.measured
        value = self.measured.values[0][index : index + 1]
        return Measurement(blocks=(self.block.row(index),), values=(value,), law=self.measured.law)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was measured in stages, the newest first.

    >>> Answers().blocks
    ()
    """

    blocks: tuple[Answered, ...] = ()

    def after(self, finished: Round, stage: Stage | None) -> Answers:
        """With one more round's. Of a block that was measured before, the newest alone: its noise is no larger."""
        if finished.measurement is None or stage is None:
            return self
        (block,) = finished.measurement.blocks
        others = (one for one in self.blocks if one.block.name != block.name)
        newest = Answered(block=block, measured=finished.measurement, noise=stage.noise)
        return Answers(blocks=(newest, *others))


def furthest(measured: Measurement, hypothesis: Hypothesis) -> Measurement:
    """The answer of one measured block that is furthest from the hypothesis', by itself: the stop test's."""
    alone = Answered(block=measured.blocks[0], measured=measured, noise=Fraction(0))
    return alone.row(alone.worst(hypothesis)[0])


def made_consistent(
    rule: UpdateRule[Any], problem: Problem, hypothesis: Any, answers: Answers, stage: Stage | None
) -> Any:
    """D <- U(D, f, v) as long as an answer that was paid for contradicts D at the stage's level; None: U is exhausted.

    Why it is proved. On the good event an answer v is within its noise of f(x), whenever it was drawn. So where
    |v - f(D)| - noise >= 5 alpha n / 8, the true gap is that large, on the side that v shows: the update is one of a
    database update sequence at the stage's level, and lowers the rule's potential like one that a round has paid for.
    `CarriedBound` counts both kinds together, so there are no more paid rounds than without them. A round that its stop
    test does not end makes one at least, for its own answer contradicts D (6 of `noise`, less one, is `clear`). Where the number of
    records is the table's, the level is the whole gap that is sure: an update at a higher level takes more of the
    potential.

    Privacy:
        Post-processing of released values.
    """
    if stage is None:
        return hypothesis
    done, settled = 0, False
    while not settled:
        settled = True
        for one in answers.blocks:
            row, gap = one.worst(hypothesis)
            while gap >= stage.clear and done < MOST:
                level = _level(stage, gap, problem)
                hypothesis = stepped(rule, replace(problem, level=level), hypothesis, (one.row(row),))
                if hypothesis is None:
                    return None
                settled, done = False, done + 1
                row, gap = one.worst(hypothesis)
        settled = settled or done >= MOST
    return hypothesis


def _level(stage: Stage, gap: Fraction, problem: Problem) -> Level:
    """Of an update whose gap is surely so many records."""
    return replace(stage.level, value=gap / problem.n) if stage.exact and problem.n else stage.level
