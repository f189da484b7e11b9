"""Soundness: what an update rule returns is looked at before another round is paid for.

Privacy:
    A hypothesis is a function of public and released values (its rule is handed nothing else), so whether it is sound
    is post-processing of them: the error may end a run and name the rule. What was reserved stays spent.
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
"""How far below 0 rounding may take an answer of a distribution, as a share of its records (of 1, where there are
fewer)."""


def started(rule: UpdateRule[Any], problem: Problem) -> Any:
    """The rule's first hypothesis. Raises: HypothesisFailed."""
    found = _called(rule, rule.start, problem)
    require_sound(found, rule.name)
    return found


def updated(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, transcript: Transcript) -> Any:
    """The rule's next hypothesis, or None where the rule is exhausted.

    Nothing changes where nothing was measured, nor by a round that was lost in a crash: a rule that reads the newest
    answer would take the one before twice. A cumulative rule reads all answers, and catches up on those that waited.
    Looked at: its total, and its answers to the newest measured blocks, which the next scores ask for anyway.

    Raises:
        HypothesisFailed: what the rule returns is not sound.
    """
    history = transcript.measurements
    lost = transcript.rounds[-1].measurement is None
    if not history or (lost and not rule.cumulative):
        return hypothesis
    return stepped(rule, problem, hypothesis, history)


def stepped(rule: UpdateRule[Any], problem: Problem, hypothesis: Any, history: Sequence[Measurement]) -> Any:
    """One update by measurements, the newest last; None where the rule is exhausted. Raises: HypothesisFailed."""
    found = _called(rule, rule.update, problem, hypothesis, history)
    if found is not None:
        require_sound(found, rule.name, history[-1].blocks)
    return found


def require_sound(hypothesis: Hypothesis, rule: str, blocks: Sequence[QueryBlock] = ()) -> None:
    """HypothesisFailed unless total and answers to the blocks are what a table could have.

    Args:
        rule: name of the update rule, for the message.
        blocks: whose answers are checked; none: the total alone.
    """
    if not math.isfinite(hypothesis.total):
        raise _failed(rule, "gives a number of records that is not finite")
    for block in blocks:
        require_answers(hypothesis, hypothesis.answer(block), rule, block)


def require_answers(hypothesis: Hypothesis, answers: FloatArray, rule: str, block: QueryBlock) -> None:
    """HypothesisFailed unless one finite answer a query; and none below 0 from a distribution, where no coefficient
    is.

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
    """HypothesisFailed for an error of a third party's code. One of the house's own is a bug like any other."""
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
