"""States that several schedules share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from dpqr.strategies.transcript import Round
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many rounds there were, and what the first one released.

    first: None before it, and where it was lost in a crash.

    >>> Progress().after(Round(choice=None, measurement=None, charges=(0,)))
    Progress(rounds=1, first=None)
    """

    rounds: int = 0
    first: Measurement | None = None

    def after(self, finished: Round) -> Progress:
        return Progress(rounds=self.rounds + 1, first=self.first if self.rounds else finished.measurement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What every round released, in order; None for one that was lost in a crash.

    >>> Released().after(Round(choice=None, measurement=None, charges=(0,))).measurements
    ()
    """

    rounds: tuple[Measurement | None, ...] = ()

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(measured for measured in self.rounds if measured is not None)

    def after(self, finished: Round) -> Self:
        return replace(self, rounds=(*self.rounds, finished.measurement))
