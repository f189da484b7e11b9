"""Exact: the true answers of data that is public or synthetic by declaration."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts
from dpqr.noise.source import NoiseSource, SystemNoise
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.exact import ExactEvent, PublicFilter
from dpqr.privacy.gate import measure
from dpqr.privacy.sealed import Private
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """records: how many there are. answers: one array a block, shape (rows,), in records (or the column's unit)."""

    records: int
    answers: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactAnswers:
    """Answers without noise. **Privacy** None: its event costs more than any budget."""

    blocks: tuple[QueryBlock, ...]

    @property
    def event(self) -> PrivacyEvent:
        return ExactEvent().as_event

    def sample(self, value: Counts, noise: NoiseSource) -> Truth:
        value.prefetch([block.axes for block in self.blocks])
        answers = tuple(block.answer(value) * float(block.scale) for block in self.blocks)
        return Truth(records=int(value.marginal(())), answers=answers)


def true_answers(data: Private[Counts], blocks: tuple[QueryBlock, ...]) -> Truth:
    """The truth about `data`, for eyes that may see it: public or synthetic tables only.

    Privacy: none is left. It goes through the gate like everything else, charged to a filter without end, so that no
    other code ever opens a seal.
    """
    return measure(data, ExactAnswers(blocks=blocks), accountant=PublicFilter(), noise=SystemNoise()).value
