"""Transcript: what a run has released so far. Everything in it is public; every later step may depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpqr.data.arrays import FloatArray
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One pass of the loop.

    choice: index that the distinguisher drew among the step's candidates; None where nothing was drawn.
    measurement: what was released; None: a draw was lost in a crash, so the round is left out, though it stays paid.
    charges: numbers of the events that paid for it. stopped: whether the stop test was met here.
    expected: what the hypothesis had answered to the measured blocks, one array a block, in their grids' units.
    """

    choice: int | None
    measurement: Measurement | None
    charges: tuple[int, ...]
    stopped: bool = False
    expected: tuple[FloatArray, ...] = ()


@dataclass(slots=True)
class Transcript:
    """Rounds in the order in which they were paid for, and the measurements of those that were not lost; it only
    grows.
    """

    rounds: list[Round] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)

    def add(self, finished: Round) -> None:
        self.rounds.append(finished)
        if finished.measurement is not None:
            self.measurements.append(finished.measurement)

    @property
    def lost(self) -> int:
        """How many rounds were left out, for a crash had lost a draw of theirs."""
        return sum(finished.measurement is None for finished in self.rounds)

    @property
    def stopped(self) -> bool:
        return bool(self.rounds) and self.rounds[-1].stopped
