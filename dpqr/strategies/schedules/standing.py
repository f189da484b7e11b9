"""SearchState: how far a search among marginals has come, in whole batches of choices."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpqr.strategies.schedules.links import Links
from dpqr.workload.block import QueryBlock

FIRST_GAP = 0.5
"""Share of the records that the first chosen block may have in wrong cells (2 is the most there can be)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """After whole batches.

    left: share of the budget. gap: L1 error over n that the last batch showed, noise aside. explored: blocks
    measured, and the links that they are. idle: batches in a row that found nothing worth measuring. level: whose
    candidates are searched.
    """

    left: float
    gap: float = FIRST_GAP
    explored: tuple[QueryBlock, ...] = ()
    links: Links = field(default_factory=Links)
    idle: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Choices from one hypothesis. size: how many; deviation: of each measurement; selection, measurement: shares."""

    size: int
    deviation: float
    selection: float
    measurement: float

    @property
    def cost(self) -> float:
        return self.size * (self.selection + self.measurement)
