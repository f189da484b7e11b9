"""Evaluation: true answers of data that is public or synthetic by declaration, and the errors of a release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.events import PrivacyEvent
from dpqr.kernel.exact import ExactEvent, PublicFilter
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity


class TrueAnswers(Struct, frozen=True, kw_only=True):
    """records: how many there are. answers: one array a block, shape (rows,), in records (or the column's unit)."""

    records: int
    answers: tuple[FloatArray, ...]


class ExactAnswers(Struct, frozen=True, kw_only=True, eq=False):
    """Answers without noise.

    Privacy:
        None: its event costs more than any budget.
    """

    blocks: tuple[QueryBlock, ...]

    @property
    def event(self) -> PrivacyEvent:
        return ExactEvent().as_event

    def sample(self, value: Counts, noise: NoiseSource) -> TrueAnswers:
        value.prefetch([block.axes for block in self.blocks])
        answers = tuple(block.answer(value) * float(block.scale) for block in self.blocks)
        return TrueAnswers(records=int(value.marginal(())), answers=answers)


def true_answers(data: Private[Counts], blocks: tuple[QueryBlock, ...]) -> TrueAnswers:
    """The truth about `data`, for eyes that may see it: public or synthetic tables only.

    Privacy:
        None is left. It goes through the gate like everything else, charged to a filter without end, so that no other
        code ever opens a seal.
    """
    return measure(data, ExactAnswers(blocks=blocks), accountant=PublicFilter(), noise=SystemNoise()).value


class OccupiedCells(Struct, frozen=True, kw_only=True, eq=False):
    """The table itself: codes of its occupied cells, and their counts.

    Privacy:
        None: its event costs more than any budget.
    """

    @property
    def event(self) -> PrivacyEvent:
        return ExactEvent().as_event

    def sample(self, value: Counts, noise: NoiseSource) -> tuple[AnyArray, IntArray]:
        return occupied_cells(value)


def public_cells(data: Private[Counts]) -> tuple[AnyArray, IntArray]:
    """The occupied cells of a table that is public by declaration, shape (cells, attributes), and their counts.

    Privacy:
        None is left, as after `true_answers`.
    """
    return measure(data, OccupiedCells(), accountant=PublicFilter(), noise=SystemNoise()).value


_ROW = PrivacyUnit()


class BlockError(Struct, frozen=True, kw_only=True):
    """Distances of one block's answers from the truth, in records (or the summed column's unit).

    l1: sum of absolute errors; l2: root of the sum of squares; largest: of a single answer, which is answer number
    `worst` of the block, from 0. An answer that is missing counts as 0 records; `missing`: how many there are.
    reach: the most that one record can change an answer; 1 for counts.
    """

    name: str
    queries: int
    l1: float
    l2: float
    largest: float
    worst: int
    missing: int = 0
    reach: float = 1.0


class Accuracy(Struct, frozen=True, kw_only=True):
    """All blocks, the largest L1 error over n first. records: of the true table.

    Over n: over max(1, records) times the block's reach, so that a sum of incomes, in euros, does not outweigh counts.
    """

    records: int
    blocks: tuple[BlockError, ...]

    @property
    def n(self) -> int:
        return max(1, self.records)

    @property
    def mean_l1(self) -> float:
        """Mean over the blocks of the L1 error, over n."""
        return float(np.mean([block.l1 / block.reach for block in self.blocks])) / self.n

    @property
    def mean_l2(self) -> float:
        """The same of the L2 error."""
        return float(np.mean([block.l2 / block.reach for block in self.blocks])) / self.n

    @property
    def largest(self) -> float:
        """Of any single answer, over n."""
        return max(block.largest / block.reach for block in self.blocks) / self.n

    def document(self, top: int | None = None) -> dict[str, object]:
        """Plain JSON values; of the blocks the first `top`."""
        over_n = {"mean_l1": self.mean_l1, "mean_l2": self.mean_l2, "largest": self.largest}
        blocks = []
        for block in self.blocks[:top]:
            figures = {"l1": block.l1, "l2": block.l2, "largest": block.largest}
            own = {name: figure / block.reach / self.n for name, figure in figures.items()}
            place = {"worst": block.worst, "missing": block.missing}
            blocks.append({"name": block.name, "queries": block.queries, **figures, "over_n": own, **place})
        return {"records": self.records, "over_n": over_n, "blocks": blocks}


def compare(blocks: Sequence[QueryBlock], truth: TrueAnswers, answers: Sequence[FloatArray]) -> Accuracy:
    """`answers` beside the truth, both one array a block, shape (rows,), in the same units."""
    compared = zip(blocks, truth.answers, answers, strict=True)
    errors = [block_error(block, true, given) for block, true, given in compared]
    return Accuracy(records=truth.records, blocks=tuple(sorted(errors, key=lambda error: -error.l1 / error.reach)))


def block_error(block: QueryBlock, true: FloatArray, given: FloatArray) -> BlockError:
    """One block's distances.

    Args:
        true, given: answers in records (or the summed column's unit), shape (block.rows,); NaN: missing.
    """
    missing = np.isnan(given)
    distances = np.abs(np.where(missing, 0.0, given) - true)
    worst = int(distances.argmax())
    return BlockError(
        name=block.name,
        queries=len(true),
        l1=float(distances.sum()),
        l2=float(np.sqrt((distances**2).sum())),
        largest=float(distances[worst]),
        worst=worst,
        missing=int(missing.sum()),
        reach=(sensitivity((block,), Norm.LARGEST, _ROW) or 1) * float(block.scale),
    )
