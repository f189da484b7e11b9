"""Error factors: by how much the errors of unmeasured blocks are larger than refits predict.

A search leaves out the blocks that it takes for well answered. What it missed in them has left no trace in the release,
so refits around the release's own rows (`dpqr.construction.answers.refits`) cannot show it. A factor f >= 1 for each
such block comes from the noisy L1 errors that the plan has bought; without these, from the last selection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.construction.block_errors import BlockErrors
from dpqr.data.arrays import FloatArray
from dpqr.fitting.local_fits import local_fit
from dpqr.mechanisms.scores import fair_multipliers
from dpqr.strategies.candidates import BlockCandidates
from dpqr.strategies.plan import Plan
from dpqr.strategies.some_candidates import SomeCandidates
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/error_bars.py`; figures: tests/benchmarks/RESULTS.md."""

    deviations: float = 0.6  # posterior deviations that are added to a mean
    spread: float = 0.3  # relative spread of blocks that share one bought figure
    alike: float = 0.1  # least relative spread of the blocks of one kind
    last: int = 3  # selections that tell how far off an unselected block may be


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ratios:
    """Observed over predicted L1 errors of groups of one kind of block, shape (groups,). noise: their deviations."""

    values: FloatArray
    noise: FloatArray

    def shrunk(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means and deviations under a normal law of the kind's ratios, whose mean and spread are estimated
        from the ratios themselves (empirical Bayes; DerSimonian and Laird 1986 for the spread)."""
        weights = self.noise**-2.0
        mean = float(np.average(self.values, weights=weights))
        excess = float(np.average((self.values - mean) ** 2, weights=weights) - len(weights) / weights.sum())
        spread = max(excess, (TUNING.alike * max(mean, 1.0)) ** 2)
        kept = spread / (spread + self.noise**2)
        deviation = np.sqrt(kept * self.noise**2 + (1.0 - kept) ** 2 / weights.sum())
        return mean + kept * (self.values - mean), deviation


def bought_factors(errors: BlockErrors, predicted: Mapping[str, float]) -> dict[str, float]:
    """f = max(1, observed over predicted + a part of its posterior deviation), by the block's name.

    The ratio of each block, or group of blocks that share a figure, is shrunk towards the mean of its kind: blocks of
    as many attributes.

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
    return {name: factor for groups in kinds.values() for name, factor in _factors(groups, errors, predicted)}


def _factors(
    groups: Sequence[tuple[QueryBlock, ...]], errors: BlockErrors, predicted: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    """Of the groups of one kind."""
    found = [[errors.by_name[block.name] for block in group] for group in groups]
    sums = np.array([sum(predicted[block.name] for block in group) for group in groups])
    ratios = _Ratios(
        values=np.array([sum(one.value for one in group) for group in found]) / sums,
        noise=np.array([max(sum(one.deviation for one in group), 1e-9) for group in found]) / sums,
    )
    means, deviations = ratios.shrunk()
    for group, mean, deviation in zip(groups, means.tolist(), deviations.tolist(), strict=True):
        shared = TUNING.spread * max(mean, 1.0) if len(group) > 1 else 0.0
        factor = max(1.0, mean + TUNING.deviations * (deviation**2 + shared**2) ** 0.5)
        yield from ((block.name, factor) for block in group)


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
            if block.name in predicted and len(errors) < TUNING.last:
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
