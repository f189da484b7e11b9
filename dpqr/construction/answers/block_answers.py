"""BlockAnswers: one block's part of the answers of a release, with their errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpqr.construction.answers.distances import at_least_distance, is_known, known_error
from dpqr.construction.answers.intervals import CERTIFIED, FACTOR, Intervals
from dpqr.construction.answers.noisy import Noisy
from dpqr.construction.answers.refits import MeasuredBlocks
from dpqr.construction.answers.summed import narrower
from dpqr.data.arrays import FloatArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockAnswers:
    """One block's part of the answers, every array of shape (rows,), in records (or the summed column's unit).

    estimate: the final hypothesis' answers. error: their estimated root mean square errors; NaN where none is known.
    noisy: the last unbiased noisy answers (the estimates themselves, where these are unbiased with a known spread),
    with their noise and intervals; NaN where nothing was measured. bound: the certificate's, on every estimate of the
    release, where it holds at LEVEL at least, or of a session's comparison (`bounded_by`); else NaN.

    >>> import numpy as np
    >>> one = np.array([8.0])
    >>> BlockAnswers(block=QueryBlock(name="records"), estimate=one, error=one / 4, noisy=Noisy.nothing(1)).known_error
    array([nan])
    """

    block: QueryBlock
    estimate: FloatArray
    error: FloatArray
    noisy: Noisy
    bound: float = math.nan
    bounded_by: int = CERTIFIED

    @property
    def intervals(self) -> Intervals:
        return Intervals.of(self.estimate, self.error, self.noisy, self.bound, self.bounded_by)

    @property
    def known_error(self) -> FloatArray:
        return known_error(self.estimate, self.noisy)

    def with_error(self, errors: Mapping[str, FloatArray], summed: Mapping[str, Noisy]) -> BlockAnswers:
        """With the block's error, if there is one; a sum then keeps its interval where it is no wider."""
        if self.block.name not in errors:
            return self
        error = at_least_distance(errors[self.block.name], self.estimate, self.noisy)
        noisy = narrower(self.noisy, FACTOR * error) if self.noisy is summed.get(self.block.name) else self.noisy
        return replace(self, error=error, noisy=noisy)


def known_errors(answers: Sequence[BlockAnswers], history: Sequence[Measurement]) -> dict[str, FloatArray]:
    """By name, the errors of the blocks that are known without refits (`is_known`)."""
    places = MeasuredBlocks.of(history)
    return {each.block.name: each.known_error for each in answers if is_known(each.block, each.noisy, history, places)}
