"""Told: a hypothesis that answers what it was told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Any public guess is allowed, so an attack may choose the one against which a selection tells most.

    answers: by the block's name, in the block's grid.
    """

    answers: Mapping[str, tuple[int, ...]]

    @property
    def total(self) -> float:
        return 0.0

    def answer(self, block: QueryBlock) -> FloatArray:
        return np.array(self.answers[block.name], dtype=np.float64)
