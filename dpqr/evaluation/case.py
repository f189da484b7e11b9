"""Case: two neighbouring databases, something that is run on both, and what it claims to cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpqr.data.histogram import Counts
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.law import Laws
from dpqr.evaluation.outcomes import Outcomes, Shown
from dpqr.noise.source import NoiseSource
from dpqr.privacy.sealed import Private

Pair = tuple[Counts, Counts]


class Trial(Protocol):
    """What is attacked. It sees a sealed database and reaches it through the gate, as the product does."""

    @property
    def claim(self) -> Claim:
        """What one run claims to cost, from the events that it is charged for."""
        ...

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        """One run; all that it gives away."""
        ...


class Attacked(Protocol):
    """What an audit needs of a case; the fields are those of `Case`."""

    @property
    def name(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def work(self) -> int: ...

    @property
    def brief(self) -> int | None: ...

    @property
    def laws(self) -> tuple[Laws, Laws] | None: ...

    @property
    def claim(self) -> Claim: ...

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One attack. The databases are made up, so that nobody is in them.

    name: as `--case` takes it. what: in words. pair: neighbours for which the loss is as large as it can be.
    work: how many runs of other cases one of these takes; an audit makes so many times fewer.
    brief: runs of a short audit, where its faults take fewer or more to show than others do; None: as all others.
    laws: of the measured numbers on either database, as the charged events state them; None: they are not known.
    """

    name: str
    what: str
    pair: Pair
    trial: Trial
    work: int = 1
    brief: int | None = None
    laws: tuple[Laws, Laws] | None = None

    @property
    def claim(self) -> Claim:
        return self.trial.claim

    def outcomes(self, side: int, runs: int, noise: NoiseSource) -> Outcomes:
        """`runs` independent runs on one of the two databases."""
        database = Private(self.pair[side])
        return Outcomes.of([self.trial.run(database, noise) for _ in range(runs)])
