"""SomeScores: a selection among the candidates that are left, with the scores of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.scores import BlockScores, Group
from dpqr.workload.sensitivity import Norm, sensitivity


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SomeScores:
    """The scores of some candidates only: what was measured is no candidate any more.

    places: of these among all candidates.

    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> pair = tuple((QueryBlock(name=name, factors=(Factor.identity(0, 2),)),) for name in "ab")
    >>> every = BlockScores(candidates=pair, multipliers=(1, 3), penalties=(0, 0), expected=((0, 0), (0, 0)))
    >>> SomeScores(scores=every, places=(1,)).sensitivity(PrivacyUnit())
    3

    Privacy:
        Each score is that of `scores`, with its proof; the largest sensitivity is taken over these candidates alone.
    """

    scores: BlockScores
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        moves = _moves(self.scores.candidates, self.scores.multipliers, unit)
        return max((moves[place] for place in self.places), default=0)

    def evaluate(self, counts: Counts) -> IntArray:
        found: IntArray = self.scores.evaluate(counts)[list(self.places)]
        return found


@lru_cache(maxsize=4)
def _moves(candidates: tuple[Group, ...], multipliers: tuple[Fraction, ...], unit: PrivacyUnit) -> tuple[int, ...]:
    """The largest change of each score between neighbours; kept from batch to batch."""
    known = zip(multipliers, candidates, strict=True)
    return tuple(math.ceil(times * sensitivity(group, Norm.L1, unit)) for times, group in known)
