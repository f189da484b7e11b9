"""Consistent: updates that cost nothing, by earlier answers that contradict the hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.errors import DpqrError, HypothesisFailed
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis, Sampleable
from dpqr.strategies.checks import LIMIT, gap
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round, Stage, Transcript
from dpqr.strategies.updates.interface import AveragedRule, TransferableBound, UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import all_answers
from dpqr.workload.workload import Measurement, round_answers

MOST = 40
"""Updates before each round, at most: the rest waits for the next one."""


class BoundedMeasurement(Struct, frozen=True, kw_only=True, eq=False):
    """The answers of one measured block. noise: what they are off by at most, in records, on the good event."""

    block: QueryBlock
    measured: Measurement
    noise: Fraction


class Answers(Struct, frozen=True, kw_only=True):
    """What was measured in stages; of a block that was measured twice the newer answers, whose noise is no larger."""

    blocks: tuple[BoundedMeasurement, ...] = ()

    def after(self, finished: Round, stage: Stage | None) -> Answers:
        """With one more round's."""
        if finished.measurement is None or stage is None:
            return self
        (block,) = finished.measurement.blocks
        newest = BoundedMeasurement(block=block, measured=finished.measurement, noise=stage.noise)
        known = {one.block.name: one for one in self.blocks} | {block.name: newest}
        return Answers(blocks=tuple(known.values()))

    def contradicting(self, hypothesis: Hypothesis, stage: Stage) -> Iterator[tuple[Measurement, Fraction]]:
        """The single answers that are `stage.clear` records and their noise from the hypothesis', furthest first; and
        their noise."""
        if not self.blocks:
            return
        expected = all_answers(tuple(one.block for one in self.blocks), hypothesis.answer)
        apart = np.abs(np.concatenate([one.measured.values[0] for one in self.blocks]) - np.rint(expected))
        rows = [one.block.rows for one in self.blocks]
        scales, noises = (
            np.repeat([float(each) for each in figures], rows)
            for figures in zip(*((one.block.scale, one.noise) for one in self.blocks), strict=True)
        )
        gaps = apart * scales - noises
        ends = np.cumsum(rows)
        for place in np.argsort(-gaps, kind="stable")[: int((gaps >= float(stage.clear) * (1 - NEAR)).sum())]:
            position = int(np.searchsorted(ends, place, side="right"))
            one = self.blocks[position]
            yield _single(one, int(place - (ends[position] - one.block.rows))), one.noise


NEAR = 1e-9
"""What a float may be off by; whether an answer contradicts is decided exactly."""


@lru_cache(maxsize=2**13)
def _single(one: BoundedMeasurement, row: int) -> Measurement:
    """One answer by itself."""
    if one.block.rows == 1:
        return one.measured
    value = one.measured.values[0][row : row + 1]
    return Measurement(blocks=(one.block.row(row),), values=(value,), law=one.measured.law)


def furthest(measured: Measurement, hypothesis: Hypothesis) -> Measurement:
    """The answer of one measured block that is furthest from the hypothesis', by itself: the stop test's."""
    (block,), (values,) = measured.blocks, measured.values
    apart = np.abs(values - round_answers(hypothesis.answer(block), LIMIT))
    return _single(BoundedMeasurement(block=block, measured=measured, noise=Fraction(0)), int(apart.argmax()))


def updated_in_stage(
    rule: UpdateRule[Any], problem: Problem, hypothesis: Any, transcript: Transcript, answers: Answers, stage: Stage
) -> Any:
    """The hypothesis before a round of that stage; None where the rule is exhausted.

    A rule whose bound is not carried from level to level is given all measurements after a round that did not stop, as
    without stages: nothing is known of what else its updates may be.
    """
    if isinstance(rule, TransferableBound):
        return restore_consistency(rule, problem, hypothesis, answers, stage)
    if transcript.stopped or not answers.blocks:
        return hypothesis
    return apply_rule(rule, replace(problem, level=stage.level), hypothesis, transcript)


def restore_consistency(
    rule: UpdateRule[Any], problem: Problem, hypothesis: Any, answers: Answers, stage: Stage
) -> Any:
    """D <- U(D, f, v) as long as an answer that was paid for contradicts D at the stage's level; None: U is exhausted.

    Why it is proved. On the good event an answer v is within its noise of f(x), whenever it was drawn. So where
    |v - f(D)| - noise >= 5 alpha n / 8, the true gap is that large, on the side that v shows: the update is one of a
    database update sequence at the stage's level, and lowers the rule's potential like one that a round has paid for.
    `TransferableBound` counts both kinds together, so there are no more paid rounds than without them. A round that its
    stop test does not end makes one at least, for its own answer contradicts D (6 of `noise`, less one, is `clear`).
    Where the number of records is the table's, the level is the whole gap that is sure: an update at a higher level
    takes more of the potential. `noise` holds the half step by which a hypothesis' answer is rounded.

    Privacy:
        Post-processing of released values.
    """
    done = 0
    while done < MOST:
        before = done
        for single, noise in answers.contradicting(hypothesis, stage):
            sure = gap(single, hypothesis) - noise
            if sure < stage.clear or done == MOST:
                continue
            # The level of an update whose gap is surely so many records.
            level = replace(stage.level, value=sure / problem.n) if stage.exact and problem.n else stage.level
            hypothesis = apply_step(rule, replace(problem, level=level), hypothesis, (single,))
            if hypothesis is None:
                return None
            done += 1
        if done == before:
            break
    return hypothesis


# Soundness: the hypothesis that an update rule returns is checked before the next round is paid for.
#
# Privacy:
#     A hypothesis is a function of public and released values, for its rule receives nothing else. So the check is
#     post-processing, and its error may end the run and name the rule. What was reserved stays spent.

SLACK = 1e-6
"""How far below 0 rounding may take an answer of a distribution, as a fraction of its records (at least 1)."""


def start_rule(rule: UpdateRule[Any], problem: Problem) -> Any:
    """The rule's first hypothesis. Raises: HypothesisFailed."""
    found = _called(rule, rule.start, problem)
    require_sound(found, rule.name)
    return found


def apply_rule(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, transcript: Transcript) -> Any:
    """The rule's next hypothesis; None if no hypothesis agrees with all answers.

    The hypothesis stays as it is before the first measurement, and after a round that a crash lost: a rule that reads
    only the newest measurement would otherwise apply the one before twice. A cumulative rule reads all measurements, so
    it is called after a lost round too.
    Checked are its total and its answers to the newest measured blocks, which the next scores need anyway.

    Raises:
        HypothesisFailed: the new hypothesis is not sound.
    """
    history = transcript.measurements
    lost = transcript.rounds[-1].measurement is None
    if not history or (lost and not rule.cumulative):
        return hypothesis
    return apply_step(rule, problem, hypothesis, history)


def apply_step(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, history: Sequence[Measurement]) -> Any:
    """One update by measurements, the newest last; None as for `apply_rule`. Raises: HypothesisFailed."""
    found = _called(rule, rule.update, problem, hypothesis, history)
    if found is not None:
        require_sound(found, rule.name, history[-1].blocks)
    return found


def averaged(
    rule: UpdateRule[Any],
    problem: Problem,
    hypothesis: Any,
    history: Sequence[Measurement],
    like: Hypothesis | None = None,
) -> Any:
    """The hypothesis that is released, where the rule averages its last one with other models; else that one.

    Raises:
        HypothesisFailed: the average is not sound.
    """
    if not history or not isinstance(rule, AveragedRule):
        return hypothesis
    found = _called(rule, rule.averaged, problem, hypothesis, history, like)
    require_sound(found, rule.name, history[-1].blocks)
    return found


def require_sound(hypothesis: Hypothesis, rule: str, blocks: Sequence[QueryBlock] = ()) -> None:
    """Raise HypothesisFailed unless some table could have this total and these answers.

    Args:
        rule: name of the update rule, for the message.
        blocks: the blocks whose answers are checked.
    """
    if not math.isfinite(hypothesis.total):
        raise _failed(rule, "gives a number of records that is not finite")
    for block in blocks:
        require_answers(hypothesis, hypothesis.answer(block), rule, block)


def require_answers(hypothesis: Hypothesis, answers: FloatArray, rule: str, block: QueryBlock) -> None:
    """Raise HypothesisFailed unless there is one finite answer for each query. A distribution's answers to queries
    without negative coefficients must not be negative either.

    Args:
        answers: to all queries of the block, in units of its grid, shape (block.rows,).
        rule: name of the update rule, for the message.
    """
    if np.shape(answers) != (block.rows,):
        raise _failed(rule, "does not give one answer a query")
    if not np.isfinite(answers).all():
        raise _failed(rule, "answers with what is not a finite number")
    lowest = -SLACK * max(hypothesis.total, 1.0) * block.largest_coefficient
    negative = bool((answers < lowest).any()) and all(factor.matrix.smallest >= 0 for factor in block.factors)
    if negative and isinstance(hypothesis, Sampleable):
        raise _failed(rule, "is a distribution with cells below 0")


def _called(rule: UpdateRule[Any], method: Callable[..., Any], *given: Any) -> Any:
    """Call the rule. An error in a third party's code becomes HypothesisFailed; one in dpqr's own code is a bug."""
    try:
        return method(*given)
    except (DpqrError, MemoryError):
        raise
    except Exception as error:
        if is_builtin(rule):
            raise
        raise _failed(rule.name, f"cannot be made: {method.__name__} ended with {type(error).__name__}") from error


def _failed(rule: str, words: str) -> HypothesisFailed:
    return HypothesisFailed(
        f"update rule {rule!r}: its hypothesis {words}, so nothing was released\n"
        "fix the rule, or take another --update, which is a new release; if a budget paid for this one, it stays spent"
    )
