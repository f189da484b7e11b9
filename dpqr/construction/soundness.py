"""Soundness: the hypothesis that an update rule returns is checked before the next round is paid for.

Privacy:
    A hypothesis is a function of public and released values, for its rule receives nothing else. So the check is
    post-processing, and its error may end the run and name the rule. What was reserved stays spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.errors import DpqrError, HypothesisFailed
from dpqr.hypotheses.hypothesis import Hypothesis, Sampleable
from dpqr.plugins import is_builtin
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Transcript
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

SLACK = 1e-6
"""How far below 0 rounding may take an answer of a distribution, as a fraction of its records (at least 1)."""


def started(rule: UpdateRule[Any], problem: Problem) -> Any:
    """The rule's first hypothesis. Raises: HypothesisFailed."""
    found = _called(rule, rule.start, problem)
    require_sound(found, rule.name)
    return found


def updated(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, transcript: Transcript) -> Any:
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
    return stepped(rule, problem, hypothesis, history)


def stepped(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, history: Sequence[Measurement]) -> Any:
    """One update by measurements, the newest last; None as for `updated`. Raises: HypothesisFailed."""
    found = _called(rule, rule.update, problem, hypothesis, history)
    if found is not None:
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
    positive = isinstance(hypothesis, Sampleable) and all(factor.matrix.smallest >= 0 for factor in block.factors)
    if positive and (answers < lowest).any():
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
