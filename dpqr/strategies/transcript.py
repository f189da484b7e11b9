"""Step: what the schedule has the loop do next. Transcript: all that the run has released so far.

Both are public. A later step may depend on everything in the transcript.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct, field

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import Price
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.strategies.candidates import Candidate, Candidates
from dpqr.strategies.problem import Level
from dpqr.workload.workload import Measurement


class Stage(Struct, frozen=True, kw_only=True):
    """Parameters of one stage of the anytime loop (`schedules.anytime`). Public.

    Attributes:
        alpha: the error that its stop test certifies, as a fraction of the records.
        level: of the update rule in this stage.
        finest: level of the last stage, for which the first hypothesis is made.
        noise: alpha n / 8, in records; the noise of each draw is at most this, except with the step's probability
            gamma.
        exact: whether n is the table's true number of records.

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
        """3 alpha n / 4: the stage ends when the noisy answer is nearer to the hypothesis than this."""
        return 6 * self.noise

    @property
    def clear(self) -> Fraction:
        """5 alpha n / 8: the least difference from the hypothesis, after noise, that justifies an update."""
        return 5 * self.noise


class ErrorSum(Struct, frozen=True, kw_only=True):
    """The released noisy sum of a hypothesis' L1 errors on some blocks (`GroupErrors`).

    Attributes:
        value: the sum, in units of `each` / FINENESS records.
        blocks: how many were summed.
        each: the most by which one record changes one block's L1 error.
        law: of the noise.

    >>> from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
    >>> ErrorSum(value=640, blocks=2, each=1, law=DiscreteLaplace(Fraction(64))).mean
    5.0
    """

    value: int
    blocks: int
    each: int
    law: NoiseLaw

    @property
    def mean(self) -> float:
        """Mean L1 error of a block, in records. Noise may make it negative."""
        return self.each * self.value / FINENESS / self.blocks


class Step(Struct, frozen=True, kw_only=True):
    """One selection and one measurement. Public.

    Attributes:
        candidates: the candidates of the selection; or the blocks to measure, where there is no selection.
        select: price of the selection; None: no selection.
        measure: price of the measurement.
        refit: whether the hypothesis is updated afterwards. A schedule may skip this for a cumulative rule if nothing
            reads the hypothesis before the next update.
        compare: whether the transcript keeps the hypothesis' answers to the measured blocks, for the schedule to read.
        errors: whether the step measures the sum of the hypothesis' L1 errors on the candidates, all marginals, in
            place of their answers.
        threshold: of the stop test, in records (3 alpha n / 4); None: this step cannot stop the loop.
        gamma: failure probability of each of the step's two draws, for the certificate of a stop; None: beta / (2 T0),
            the same for all T0 planned rounds.
        stage: the stage of the step, which its stop test ends; None: the loop has no stages.
        records: the released noisy number of records; None: it was not measured. The loop starts a new hypothesis when
            this number first appears.

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
        """The blocks to measure where there is no selection."""
        return self.candidates if isinstance(self.candidates, tuple) else self.candidates[0]


class Round(Struct, frozen=True, kw_only=True):
    """One pass of the loop.

    Attributes:
        choice: index that the distinguisher drew among the step's candidates; None if there was no selection.
        measurement: the released answers; None if a draw was lost in a crash, which leaves the round out but paid, or
            if the step measured errors.
        charges: numbers of the events that paid for the round.
        stopped: whether the stop test was met.
        bound: certified with the stop: the largest error of the workload's answers from the hypothesis at the start of
            the round, in records. It holds for all rounds at once with the plan's probability. None: nothing is
            certified.
        expected: the hypothesis' answers to the measured blocks, one array a block, in units of the block's grid.
        errors: the released sum, where the step measured errors.
    """

    choice: int | None
    measurement: Measurement | None
    charges: tuple[int, ...]
    stopped: bool = False
    bound: float | None = None
    expected: tuple[FloatArray, ...] = ()
    errors: ErrorSum | None = None


class Transcript(Struct):
    """All rounds, in the order in which they were paid for, and all measurements that were released.

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
        """Number of rounds that were left out because a crash lost one of their draws."""
        return sum(finished.measurement is None and finished.errors is None for finished in self.rounds)

    @property
    def stopped(self) -> bool:
        return bool(self.rounds) and self.rounds[-1].stopped

    @property
    def bounds(self) -> tuple[float, ...]:
        """The certified bounds of all stop tests that were met, in order, in records."""
        return tuple(finished.bound for finished in self.rounds if finished.bound is not None)
