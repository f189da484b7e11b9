"""BlockScores: how badly a hypothesis answers whole blocks, as one integer a candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.data.counts import Counts
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.limits import RECORDS, refuse_beyond
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

RESOLUTION = 2**16
"""Largest sensitivity that multipliers may give the scores: how finely blocks of unlike sensitivities compare."""

Group = tuple[QueryBlock, ...]
_ADDED = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockScores:
    """score_c = floor(multiplier_c (L1 error of candidate c - penalty_c)), an integer; larger is worse answered.

    candidates: groups of blocks that would be measured together; the L1 error sums |true - expected| over all their
    rows, each in its block's own grid. expected: the hypothesis' answers on that grid, integers, public.
    multipliers, penalties: public; see `fair_multipliers`. A penalty is the error that measuring would leave.
    Errors: InfeasiblePlan where a score could reach 2^62: sum |true| <= records times the largest column L1 norm (each
    record adds one column), sum |expected| is public, and the multiplier is applied in unbounded integers.

    **Privacy.** Expected answers, multipliers and penalties are public, so between neighbours the L1 error moves, by
    the triangle inequality, by at most the L1 change d_c of the group's true answers, and floor(m (e + d)) lies
    within ceil(m d) of floor(m e). Sensitivity: max over c of ceil(multiplier_c d_c). *Add-remove:* d_c is the
    largest column L1 norm (a marginal 1). *Replace:* the largest L1 distance of two columns, a dropped record's zeros
    among them (a marginal 2).
    """

    candidates: tuple[Group, ...]
    expected: tuple[tuple[AnyArray, ...], ...]
    multipliers: tuple[Fraction, ...]
    penalties: tuple[int, ...]
    records: int = RECORDS

    def __post_init__(self) -> None:
        for index, group in enumerate(self.candidates):
            total = sum(float(np.abs(answers).sum(dtype=np.float64)) for answers in self.expected[index])
            refuse_large_score(
                group, self.multipliers[index], self.penalties[index], expected=int(total * 1.001), records=self.records
            )

    def __len__(self) -> int:
        return len(self.candidates)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return scores_sensitivity(self.candidates, self.multipliers, unit)

    def evaluate(self, counts: Counts) -> IntArray:
        counts.prefetch([block.axes for group in self.candidates for block in group])
        return np.array([self._score(index, counts) for index in range(len(self))], dtype=np.int64)

    def _score(self, index: int, counts: Counts) -> int:
        pairs = zip(self.candidates[index], self.expected[index], strict=True)
        error = sum(int(np.abs(block.answer(counts) - answers).sum()) for block, answers in pairs)
        times = self.multipliers[index]
        return times.numerator * (error - self.penalties[index]) // times.denominator


def scores_sensitivity(candidates: Sequence[Group], multipliers: Sequence[Fraction], unit: PrivacyUnit) -> int:
    """max over candidates of ceil(multiplier times L1 sensitivity)."""
    pairs = zip(candidates, multipliers, strict=True)
    kinds = {(times, sensitivity(group, Norm.L1, unit)) for group, times in pairs}
    return max((math.ceil(times * width) for times, width in kinds), default=0)


def fair_multipliers(candidates: Sequence[Group], unit: PrivacyUnit) -> tuple[Fraction, ...]:
    """Multipliers in the ratio weight / L1 sensitivity, so that candidates compete by error per unit of sensitivity.

    Without them the widest candidate's sensitivity would divide everybody's score, and narrow blocks would be drawn
    almost blindly. Where the exact ratios are integers that keep the sensitivity within RESOLUTION, they are used,
    free of common factors (marginals of equal weight: all 1). Otherwise the ratios are scaled to a sensitivity of
    RESOLUTION, and `floor` costs less than 1 / RESOLUTION of it; no candidate's share is lost however unlike they are.
    A group weighs as much as its heaviest block. Public: a function of the workload.
    """
    kinds = [(max(block.weight for block in group), max(1, sensitivity(group, Norm.L1, unit))) for group in candidates]
    ratios = {(weight, width): weight / width for weight, width in set(kinds)}
    denominator = math.lcm(*(ratio.denominator for ratio in ratios.values()))
    whole = {kind: int(ratio * denominator) for kind, ratio in ratios.items()}
    common = math.gcd(*whole.values()) or 1
    exact = {kind: Fraction(number // common) for kind, number in whole.items()}
    if max((times * width for (_, width), times in exact.items()), default=0) <= RESOLUTION:
        return tuple(exact[kind] for kind in kinds)
    heaviest = max(weight for weight, _ in kinds)
    scaled = {kind: RESOLUTION * ratio / heaviest for kind, ratio in ratios.items()}
    return tuple(scaled[kind] for kind in kinds)


def largest_total(group: Group, records: int) -> int:
    """Bound on the sum of all |true answers|: every record adds one column."""
    return records * sensitivity(group, Norm.L1, _ADDED)


def refuse_large_score(group: Group, times: Fraction, penalty: int, *, expected: int, records: int) -> None:
    """InfeasiblePlan where the group's error or score could reach 2^62, given sum |expected|."""
    error = largest_total(group, records) + expected + abs(penalty)
    score = error * times.numerator // times.denominator + 1
    refuse_beyond(max(score, error) + 1, group[0].name, records)
