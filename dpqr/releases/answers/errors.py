"""Error bars: the estimated root mean square error of every answer, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.values import replace
from dpqr.mechanisms.selection import fair_multipliers
from dpqr.models.fit.local_fits import local_fit
from dpqr.models.hypothesis import Hypothesis
from dpqr.releases.answers.noisy import BETA, Noisy
from dpqr.releases.answers.refits import MeasuredBlocks, Ratio, can_refit, refit_count, refit_errors, shrunk_ratios
from dpqr.releases.error_bounds import BlockErrors, unmeasured_blocks
from dpqr.releases.loop import Outcome
from dpqr.strategies.candidates import BlockCandidates, SomeCandidates
from dpqr.strategies.plan import TINY, Plan
from dpqr.strategies.schedules.split import optional_blocks
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Source = Literal["bought", "rule of thumb", "refits alone"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorBars:
    """Estimated errors by the block's name, in records, shape (rows,).

    refits: how many they come from. source: of the factors of unmeasured blocks: noisy errors that the plan has
    bought, a rule of thumb from the last selections, or none. factors: of unmeasured blocks.
    predicted: L1 errors by refits, in records, before the factor. known: how many blocks have hardly any noise, so that
    their errors need no refits. missing: why the others have no errors; None: they have, or nobody asked. tests: errors
    of blocks that nobody asked for.
    """

    each: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    tests: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    refits: int = 0
    source: Source = "refits alone"
    factors: Mapping[str, float] = field(default_factory=dict, repr=False)
    predicted: Mapping[str, float] = field(default_factory=dict, repr=False)
    known: int = 0
    missing: str | None = None


def error_bars(
    plan: Plan,
    outcome: Outcome,
    shown: Hypothesis,
    blocks: Sequence[QueryBlock],
    known: Mapping[str, FloatArray],
    tests: Mapping[str, QueryBlock] | None = None,
) -> ErrorBars:
    """The errors of all answers of a run, unless the plan asks for none.

    Args:
        shown: the hypothesis, as it is released.
        blocks: of the workload; those whose errors are not known in closed form.
        known: errors of those of them that `is_measured_exactly`, in records.
        tests: blocks that nobody asked for, by the block whose answers they are functions of.

    Privacy:
        Post-processing of released values, with public randomness.
    """
    history = outcome.transcript.measurements
    if not plan.error_bars or not blocks or not history:
        return ErrorBars()
    others = [block for block in blocks if block.name not in known]
    missing = can_refit(plan) if others else None
    if not others or missing is not None:
        return ErrorBars(each=known, known=len(known), missing=missing)
    beside = dict(tests or {})
    errors = refit_errors(plan, outcome, shown, tuple(beside.values()))
    names = frozenset(blocks)
    open_blocks = [block for block in optional_blocks(plan) if block in names]
    left = {block.name: errors[block.name].total for block in unmeasured_blocks(open_blocks, outcome.transcript)}
    # What the errors of unmeasured blocks by refits (`left`) are scaled by, and where that comes from.
    source: Source = "refits alone"
    found: dict[str, float] = {}
    if left and outcome.errors is not None:
        source, found = "bought", measured_factors(outcome.errors, left)
    elif left and (found := selected_factors(plan, outcome.transcript, left)):
        source = "rule of thumb"
    factors = {name: found.get(name, 1.0) for name in left}
    return ErrorBars(
        each={
            **{
                one.name: raised_errors(errors[one.name].each, one, shown, factors.get(one.name, 1.0)) for one in others
            },
            **known,
        },
        tests={
            test.name: errors[test.name].each * factors.get(name, 1.0)
            for name, test in beside.items()
            if name not in known
        },
        refits=refit_count(shown, plan.problem.workload.blocks, history),
        source=source,
        factors=factors,
        predicted={block.name: errors[block.name].total for block in plan.problem.workload.blocks},
        known=len(known),
    )


# Error factors: by how much the errors of unmeasured blocks are larger than refits predict.
#
# A search leaves out the blocks that it takes for well answered. What it missed in them has left no trace in the
# release, so refits around the release's own rows (`dpqr.releases.answers.refits`) cannot show it. A factor f >= 1
# for each such block comes from the noisy L1 errors that the plan has bought; without these, from the last
# selection. What it adds to the error of a cell is in proportion to its records (`raised_errors`).


LAST = 3
"""Last selections, whose mean bounds the error of an unselected block."""


def raised_errors(errors: FloatArray, block: QueryBlock, shown: Hypothesis, factor: float) -> FloatArray:
    """Errors by refits, raised by what the model misses.

    Log-odds that a model misses, of variance v, make a cell of m records err by sqrt(v) m: with the error e by refits
    together sqrt(e^2 + v m^2). e is noise and sampling variation, which is mostly in small cells. v is that which makes
    the sum of the block's errors `factor` times that of e. For queries that are no cells e is multiplied.

    Args:
        errors: e, in records, shape (rows,).
        shown: the released model, which estimates m.
        factor: at least 1.

    Returns:
        In records, shape (rows,).

    Privacy:
        Post-processing of released values.
    """
    cells = np.abs(shown.answer(block)) * float(block.scale) if block.is_marginal and factor > 1.0 else np.zeros(1)
    wanted, records = factor * float(errors.sum()), float(cells.sum())
    if min(wanted, records) <= 0.0:
        return factor * errors
    # Newton steps from above on a convex sum: each leaves a quarter of the excess at most.
    deviation = wanted / records
    for _ in range(8):
        raised = np.hypot(errors, deviation * cells)
        slope = (deviation * cells**2 / np.maximum(raised, TINY)).sum()
        deviation = max(0.0, deviation - (raised.sum() - wanted) / max(slope, TINY))
    found: FloatArray = np.hypot(errors, deviation * cells)
    return found


def measured_factors(errors: BlockErrors, predicted: Mapping[str, float]) -> dict[str, float]:
    """Observed over predicted errors, shrunk (`shrunk_ratios`), by the block's name.

    The kind of a block, or of a group of blocks that share a figure: as many attributes.

    Args:
        errors: what the plan has bought.
        predicted: L1 errors of blocks by refits, in records. Others are left out.

    Privacy:
        Post-processing of released values.
    """
    kinds: dict[int, list[tuple[QueryBlock, ...]]] = {}
    for group in errors.sums.errors.groups:
        held = tuple(block for block in group if predicted.get(block.name, 0.0) > 0.0)
        if held:
            kinds.setdefault(len(held[0].axes), []).append(held)
    factors: dict[str, float] = {}
    for groups in kinds.values():
        ratios = []
        for group in groups:
            found = [errors.by_name[block.name] for block in group]
            expected = sum(predicted[block.name] for block in group)
            noise = max(sum(one.deviation for one in found), 1e-9)
            ratios.append(Ratio(value=sum(one.value for one in found) / expected, noise=noise / expected))
        for group, factor in zip(groups, shrunk_ratios(ratios), strict=True):
            factors |= dict.fromkeys((block.name for block in group), factor)
    return factors


def selected_factors(plan: Plan, transcript: Transcript, predicted: Mapping[str, float]) -> dict[str, float]:
    """A rule of thumb, without anything bought: no block that a selection passed over has a larger score than the one
    that it chose, but for its noise.

    A score is an error less a penalty, times a multiplier. So the error of a block that was passed over is about the
    chosen one's score over its own multiplier, plus its penalty, at most. The chosen one's score follows from what was
    measured next. The mean of the last few selections is taken.

    Args:
        predicted: L1 errors by refits, in records, of the blocks that are looked at.

    Privacy:
        Post-processing of released values.

    References:
        McKenna, Mullins, Sheldon and Miklau 2022 (AIM), section 5, without the slack for the selection's noise.
    """
    found: dict[str, list[float]] = {}
    for candidates, drawn in reversed(list(_selections(plan, transcript))):
        score = _score(candidates, drawn)
        multipliers = fair_multipliers(tuple((block,) for block in candidates.blocks), candidates.unit)
        penalties = candidates.penalties or (0,) * len(candidates.blocks)
        for block, times, penalty in zip(candidates.blocks, multipliers, penalties, strict=True):
            errors = found.setdefault(block.name, [])
            if block.name in predicted and len(errors) < LAST:
                errors.append((score / float(times) + penalty) * float(block.scale))
    bounds = {name: float(np.mean(errors)) for name, errors in found.items() if errors}
    return {name: max(1.0, bound / predicted[name]) for name, bound in bounds.items() if predicted[name] > 0.0}


def _selections(plan: Plan, transcript: Transcript) -> Iterator[tuple[BlockCandidates, Round]]:
    """Every selection of a marginal whose expected answers are known, with what was measured next."""
    state = plan.schedule.start(plan)
    for drawn in transcript.rounds:
        step = plan.schedule.next(plan, state)
        known = drawn.measurement is not None and drawn.expected and drawn.measurement.blocks[0].is_marginal
        if known and step is not None:
            offered = step.candidates
            listed = offered.listed if isinstance(offered, SomeCandidates) else offered
            if isinstance(listed, BlockCandidates):
                yield listed, drawn
        state = plan.schedule.after(state, drawn)


def _score(candidates: BlockCandidates, drawn: Round) -> float:
    """About the score of the chosen block, from a fit to its measurement alone; at least 0."""
    measured, place = drawn.measurement, drawn.choice
    assert measured is not None, "it was measured"
    assert place is not None, "it was selected"
    expected = np.maximum(drawn.expected[0], 0.0)
    values = np.asarray(measured.values[0], dtype=np.float64)
    moved = float(np.abs(local_fit(expected, values, max(measured.law.deviation, 1e-6)) - expected).sum())
    penalty = candidates.penalties[place] if candidates.penalties else 0
    times = fair_multipliers(tuple((block,) for block in candidates.blocks), candidates.unit)[place]
    return max(0.0, moved - penalty) * float(times)


# Distances: what the draws themselves show of an estimate's error.
#
# Refits repeat the noise. They start from rows that the update rule has made, so they do not repeat what the rule
# cannot fit. Where the noise is small, that is most of the error, and the distance from the last unbiased draw
# shows it.


def is_measured_exactly(
    block: QueryBlock, noisy: Noisy, history: Sequence[Measurement], places: MeasuredBlocks
) -> bool:
    """Whether each cell behind a block's draws is as it was with probability LEVEL at least.

    Args:
        places: of the measured blocks in the history.
    """
    place = places.place(block)
    return place is not None and history[place[0]].law.tail(BETA) == 0 and not bool(np.isnan(noisy.deviation).any())


def distance_error(estimate: FloatArray, noisy: Noisy) -> FloatArray:
    """Errors of the estimates of a block that `is_measured_exactly`, without refits: their distances from what was
    measured, or the noise of that where it is larger. A model that follows the noise has its error; one that does not
    is nearer to the truth than both together."""
    found: FloatArray = np.maximum(np.abs(estimate - noisy.values), noisy.deviation)
    return found


def consistent_with_draws(error: FloatArray, estimate: FloatArray, noisy: Noisy) -> FloatArray:
    """Errors that the unbiased draws do not contradict. Where nothing was drawn, or no error is known, nothing changes.

    At least the distance d of the estimate from the draw less the draw's margin: an estimate is off by that, at the
    LEVEL of the margin. At most sqrt(d^2 + sigma^2), sigma^2 the variance of the draw's noise z: the estimate is off by
    d + z, with mean square E d^2 + sigma^2 + 2 E d z, and E d z <= 0 where it follows no more of z than the whole.
    """
    distance = np.abs(estimate - noisy.values)
    found: FloatArray = np.fmax(np.fmin(error, np.hypot(distance, noisy.deviation)), distance - noisy.margin)
    return np.where(np.isnan(error), np.nan, found)


# Intervals: one for every answer that has an error, and what it rests on.
#
# | basis      | lower, upper                                                                                    |
# |------------|-------------------------------------------------------------------------------------------------|
# | measured   | around the last unbiased draw; proved, over the noise (`answers.noisy`), or around              |
# |            | the sum of a measured table's cells, where that is no wider (`answers.noisy`); and to           |
# |            | the estimate, where that lies outside                                                           |
# | estimate   | estimate +- 1.96 errors; estimated, from refits with new noise (`answers.refits`)               |
# | certified  | estimate +- the certificate's bound, where there is neither; proved, over the noise             |
# | compared   | estimate +- what a comparison with a noisy threshold has bounded; proved (a session's answers)  |
#
# Where no true answer can be negative, all begin at 0 at the least (`AnswerIntervals.from_zero`).
# Each holds by itself. They do not hold jointly, but for the certified ones, and the compared ones of one epoch.

BasisArray = NDArray[np.int8]
"""Places in BASES, or NO_BASIS."""

BASES = ("measured", "estimate", "certified", "compared")
MEASURED, ESTIMATE, CERTIFIED, COMPARED, NO_BASIS = 0, 1, 2, 3, -1
FACTOR = 1.96
"""Errors in half an estimated interval: 95% of a normal distribution."""


class AnswerIntervals(Struct, frozen=True, kw_only=True, eq=False):
    """Every array of shape (rows,). lower, upper: in records, NaN where there is none. basis: what they rest on.

    >>> found = AnswerIntervals.of(np.array([9.0, 2.0]), np.array([2.0, np.nan]), Noisy.absent(2))
    >>> found.lower.round(2).tolist(), [BASES[place] for place in found.basis if place >= 0]
    ([5.08, nan], ['estimate'])
    """

    lower: FloatArray
    upper: FloatArray
    basis: BasisArray

    @classmethod
    def of(
        cls, estimate: FloatArray, error: FloatArray, noisy: Noisy, bound: float = math.nan, bounded_by: int = CERTIFIED
    ) -> AnswerIntervals:
        """The proved interval where there is one, else the estimated one. Each reaches at least to the estimate, in
        whole records: an interval that is wider than what was proved misses no more often.

        Args:
            estimate: answers of the final hypothesis, in records.
            error: their estimated root mean square errors, in records; NaN where none is known.
            noisy: the last unbiased draws of the same queries.
            bound: what no estimate is off by more than, at LEVEL at least, in records; NaN: none is known.
            bounded_by: what that rests on, CERTIFIED or COMPARED.
        """
        measured, estimated = ~np.isnan(noisy.margin), ~np.isnan(error)
        other = NO_BASIS if math.isnan(bound) else bounded_by
        basis = np.where(measured, MEASURED, np.where(estimated, ESTIMATE, other)).astype(np.int8)
        margin = np.where(estimated, FACTOR * error, bound)
        lower, upper = estimate - margin, estimate + margin
        if measured.any():
            whole = np.rint(estimate)
            lower = np.where(measured, np.minimum(noisy.lower, whole), lower)
            upper = np.where(measured, np.maximum(noisy.upper, whole), upper)
        return cls(lower=lower, upper=upper, basis=basis)

    def from_zero(self) -> AnswerIntervals:
        """The same without what lies below 0: no true answer is there."""
        return replace(self, lower=np.maximum(self.lower, 0.0), upper=np.maximum(self.upper, 0.0))
