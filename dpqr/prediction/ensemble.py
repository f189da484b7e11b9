"""PartsEnsemble: one member of an ensemble for each part of the table, and what they predict together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.histogram import Counts, occupied
from dpqr.mechanisms.learned_functions import FINENESS
from dpqr.noise.source import NoiseSource
from dpqr.prediction.bases import Base, Trainer, silenced
from dpqr.prediction.features import FeatureMap

FIXED_LABEL = 0
"""What an empty part, or one whose base failed, votes for: the first label of the domain file."""
WORTH_THREADS = 8
"""Fewer members are trained sooner one after the other."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartsEnsemble:
    """Members trained on the parts that the loader drew: the last axis of the counts is the part.

    axis: of the target; labels: its number of cells. values: what its cells count as, in [-1, 1], NaN for rows that
    are left out; None for labels.
    points: features of the points, shape (predictions, width).

    Never an error: an empty part votes for the first label (predicts 0), a part of one class for that class, a part
    whose base raises, or predicts what is no label, as an empty one; what is no number counts as 0, others are
    clipped to [-1, 1].
    """

    features: FeatureMap
    base: Base
    axis: int
    labels: int
    values: FloatArray | None
    points: FloatArray
    parts: int

    @property
    def touched(self) -> int:
        """One: a unit's records all lie in the part that it drew, whatever the relation and K."""
        return 1

    @property
    def predictions(self) -> int:
        return len(self.points)

    def votes(self, counts: Counts, noise: NoiseSource) -> IntArray:
        votes = np.zeros((self.predictions, self.labels), dtype=np.int64)
        points = np.arange(self.predictions)
        for member in self._members(counts, self._classes):
            votes[points, member] += 1
        return votes

    def sums(self, counts: Counts, noise: NoiseSource) -> IntArray:
        sums = np.zeros(self.predictions, dtype=np.int64)
        for member in self._members(counts, self._numbers):
            sums += member
        return sums

    def _members(self, counts: Counts, trained: Callable[[Trainer, int, AnyArray], IntArray]) -> Iterator[IntArray]:
        """What each member predicts; they are trained in parallel, from the codes of their rows, one a record."""
        split = self._split(counts)
        numbers = range(self.parts)
        workers = os.cpu_count() if self.parts >= WORTH_THREADS else 1
        # The trainer is closed before the pool is: whatever ends the run, nobody waits for parts under way.
        with silenced(), ThreadPoolExecutor(workers) as pool, self.base.trainer(self.points) as trainer:
            yield from pool.map(partial(trained, trainer), numbers, split)

    def _split(self, counts: Counts) -> Sequence[AnyArray]:
        """Codes of each part's rows, the part left out."""
        codes, records = occupied(counts)
        rows = np.repeat(codes[:, :-1], records, axis=0)
        drawn = np.repeat(codes[:, -1], records)
        order = np.argsort(drawn, kind="stable")
        ends = np.cumsum(np.bincount(drawn.astype(np.int64), minlength=self.parts))[:-1]
        return np.split(rows[order], ends)

    def _classes(self, trainer: Trainer, part: int, rows: AnyArray) -> IntArray:
        fixed = np.full(self.predictions, FIXED_LABEL, dtype=np.int64)
        if not len(rows):
            return fixed
        cells = rows[:, self.axis].astype(np.int64)
        if (cells == cells[0]).all():
            return np.full(self.predictions, cells[0])
        try:
            return trainer.classes(part, self._vectors(rows), cells, self.labels)
        except Exception:
            return fixed

    def _numbers(self, trainer: Trainer, part: int, rows: AnyArray) -> IntArray:
        """On the grid of the mechanism."""
        nothing = np.zeros(self.predictions, dtype=np.int64)
        if self.values is None:
            return nothing
        rows = rows[~np.isnan(self.values)[rows[:, self.axis]]]
        if not len(rows):
            return nothing
        try:
            found = trainer.numbers(part, self._vectors(rows), self.values[rows[:, self.axis]])
            clipped = np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
            return np.rint(clipped * FINENESS).astype(np.int64)
        except Exception:
            return nothing

    def _vectors(self, rows: AnyArray) -> FloatArray:
        return self.features.of(np.delete(rows, self.axis, axis=1))
