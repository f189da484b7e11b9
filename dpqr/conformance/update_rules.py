"""Update rules: what their protocol promises, looked at on tiny universes. Each fault is one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.conformance.adversary import refuted
from dpqr.conformance.cases import Universe, at_level, universes
from dpqr.data.arrays import FloatArray
from dpqr.hypotheses.hypothesis import Sampleable
from dpqr.plugins import lacking
from dpqr.strategies.problem import Footprint, Level
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.workload import Measurement

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
    yield from _value(rule)
    refused, seen = 0, set[str]()
    for universe in universes():
        try:
            faults = [fault for fault in _behaviour(rule, universe) if fault not in seen]
        except _Refused:
            refused += 1
            continue
        yield from (f"{fault} ({universe.words})" for fault in faults[:1])
        seen.update(faults)
    if refused == len(list(universes())) and not _theoretical(rule):
        yield "footprint: the rule refuses every tiny universe"
    yield from _mistakes(rule)


class _Refused(Exception):
    """The rule says beforehand that it cannot run here."""


def _value(rule: Any) -> Iterator[str]:
    """Whether the rule is a frozen value with the right constants."""
    kind = type(rule)
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield f"value: {kind.__name__} is no frozen dataclass; decorate it with @dataclass(frozen=True, kw_only=True)"
    if not isinstance(rule.name, str) or not rule.name:
        yield "name: it is no text"
    if not isinstance(rule.trust, tuple) or not all(isinstance(each, str) for each in rule.trust):
        yield "trust: it is no tuple of sentences"
    if not isinstance(rule.cumulative, bool):
        yield "cumulative: it is neither True nor False"


def _behaviour(rule: Any, universe: Universe) -> Iterator[str]:
    """On one universe, without a level; the first fault is enough."""
    try:
        yield from _footprint(rule, universe)
        yield from _start(rule, universe)
        for shift, factor in WILD:
            yield from _course(rule, universe, shift, factor)
        if rule.cumulative:
            yield from _cumulative(rule, universe)
        yield from _fits(rule, universe)
    except _Refused:
        raise
    except Exception as error:
        yield f"errors: {type(error).__name__}: {error}"


def _footprint(rule: Any, universe: Universe) -> Iterator[str]:
    found = rule.footprint(universe.problem)
    if not isinstance(found, Footprint):
        yield "footprint: it returns no Footprint"
    elif found.refusal is not None:
        raise _Refused
    elif not isinstance(found.bytes, int) or found.bytes < 0:
        yield "footprint: bytes must be a whole number of at least 0"


def _start(rule: Any, universe: Universe) -> Iterator[str]:
    problem = universe.problem
    first = rule.start(problem)
    yield from _sound(first, universe, "start")
    if not np.array_equal(_answers(first, universe), _answers(rule.start(problem), universe)):
        yield "purity: start gives another hypothesis the second time"


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
    if apart > CLOSE * max(float(universe.table.sum()), 1.0) * _largest(universe):
        yield f"cumulative: one update after all measurements ends {apart:.3g} records from one after each"


def _fits(rule: Any, universe: Universe) -> Iterator[str]:
    problem = universe.problem
    measured: list[Any] = []
    for block in problem.workload.blocks:
        found = rule.fits(problem, tuple(measured), (block,))
        if not isinstance(found, bool):
            yield "fits: it returns neither True nor False"
        elif found is not rule.fits(problem, tuple(measured), (block,)):
            yield "purity: fits says another thing the second time"
        measured.append(block)


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
        yield from _distribution(hypothesis, universe, when)


def _distribution(hypothesis: Sampleable, universe: Universe, when: str) -> Iterator[str]:
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
            yield from refuted(rule)
    except Exception as error:
        yield f"mistakes: {type(error).__name__}: {error}"


def _theoretical(rule: Any) -> bool:
    """Whether it runs with a level, and refuses other runs."""
    return any(rule.footprint(at_level(each, LEVELS[0]).problem).refusal is None for each in universes())


def _answers(hypothesis: Any, universe: Universe) -> FloatArray:
    found = [np.asarray(hypothesis.answer(block), dtype=np.float64) for block in universe.problem.workload.blocks]
    return np.concatenate(found)


def _largest(universe: Universe) -> int:
    return max(block.largest_coefficient for block in universe.problem.workload.blocks)
