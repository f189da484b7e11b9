"""Step: what the loop does next, as a schedule says it.

Transcript: what a run has released so far. Everything in it is public; every later step may depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dpqr.data.arrays import FloatArray
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.strategies.candidates import Candidate, Candidates
from dpqr.strategies.problem import Level
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a stage of the anytime loop asks of its rounds (`theory.anytime`). Public.

    alpha: what its stop test certifies, a fraction of the records. level: at which the update rule runs. finest: of the
    last stage, for which the rule's hypothesis is started. noise: each draw of the stage is off by no more, in records,
    but for the step's gamma: alpha n / 8. exact: whether the number of records that answers are scaled to is the
    table's.

    >>> level = Level(value=Fraction(5, 16), variant="sharp")
    >>> stage = Stage(alpha=Fraction(1, 2), level=level, finest=level, noise=Fraction(500), exact=True)
    >>> stage.threshold, stage.clear
    (Fraction(3000, 1), Fraction(2500, 1))
    """

    alpha: Fraction
    level: Level
    finest: Level
    noise: Fraction
    exact: bool

    @property
    def threshold(self) -> Fraction:
        """3 alpha n / 4: a noisy answer that is nearer to the hypothesis ends the stage."""
        return 6 * self.noise

    @property
    def clear(self) -> Fraction:
        """5 alpha n / 8: an answer that differs by so much, its noise taken off, is worth an update."""
        return 5 * self.noise


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSum:
    """The released noisy sum of the L1 errors that a hypothesis left in some blocks (`GroupErrors`).

    value: in units of 1 / FINENESS of what one record moves one block, `each`. blocks: how many. law: of the noise.

    >>> from dpqr.noise.discrete_laplace import DiscreteLaplace
    >>> ErrorSum(value=640, blocks=2, each=1, law=DiscreteLaplace(Fraction(64))).mean
    5.0
    """

    value: int
    blocks: int
    each: int
    law: NoiseLaw

    @property
    def mean(self) -> float:
        """Of the blocks' L1 errors, in records; it may be negative."""
        return self.each * self.value / FINENESS / self.blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One selection and one measurement. Public.

    candidates: a list to select from at the price `select`; or blocks to measure as they are: then nothing is drawn
    and nothing paid for the choice (select is None). measure: what the measurement may cost.
    refit: whether the hypothesis is updated after it; False where nobody reads the hypothesis before the next update
    and the rule is cumulative.
    compare: whether the transcript keeps what the hypothesis had answered; the schedule reads it.
    errors: whether no answers are measured but the sum of the L1 errors that the hypothesis leaves in the candidates,
    all of them marginals.
    threshold: the stop test, in records (3 alpha n / 4); None: this step does not stop the loop.
    gamma: probability with which each of its two draws may be beyond its tail, for the certificate of a stop; None: the
    same for all planned rounds, beta / (2 T0).
    stage: of a loop in stages: the stop test ends the stage, not the loop; None: there are none.
    records: what answers are scaled to from here on, where the number of records was measured; the hypothesis starts
    anew when it becomes known. A released number.

    >>> from dpqr.workload.block import QueryBlock
    >>> Step(candidates=(QueryBlock(name="records"),), select=None, measure=Price(epsilon=Fraction(1))).stop
    False
    """

    candidates: Candidates | Candidate
    select: Price | None
    measure: Price
    refit: bool = True
    compare: bool = False
    errors: bool = False
    threshold: Fraction | None = None
    gamma: Fraction | None = None
    stage: Stage | None = None
    records: int | None = None

    @property
    def stop(self) -> bool:
        """Whether this step may end the loop."""
        return self.threshold is not None

    @property
    def only(self) -> Candidate:
        """What is measured where there is no choice to make."""
        return self.candidates if isinstance(self.candidates, tuple) else self.candidates[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One pass of the loop.

    choice: index that the distinguisher drew among the step's candidates; None where nothing was drawn.
    measurement: what was released; None: a draw was lost in a crash, so the round is left out, though it stays paid.
    charges: numbers of the events that paid for it. stopped: whether the stop test was met here. bound: then no answer
    of the workload is off by more from that of the hypothesis that the round began with, in records, with the plan's
    probability for all rounds at once; None: nothing is certified.
    expected: what the hypothesis had answered to the measured blocks, one array a block, in their grids' units.
    errors: what was released where the step asked for errors, and not for answers; then there is no measurement.
    """

    choice: int | None
    measurement: Measurement | None
    charges: tuple[int, ...]
    stopped: bool = False
    bound: float | None = None
    expected: tuple[FloatArray, ...] = ()
    errors: ErrorSum | None = None


@dataclass(slots=True)
class Transcript:
    """Rounds in the order in which they were paid for, and the measurements of those that were not lost; it only
    grows.

    >>> transcript = Transcript()
    >>> transcript.add(Round(choice=None, measurement=None, charges=(0,)))
    >>> transcript.lost
    1
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
        return sum(finished.measurement is None and finished.errors is None for finished in self.rounds)

    @property
    def stopped(self) -> bool:
        return bool(self.rounds) and self.rounds[-1].stopped

    @property
    def bounds(self) -> tuple[float, ...]:
        """What stop tests have certified, in their order, in records."""
        return tuple(finished.bound for finished in self.rounds if finished.bound is not None)
