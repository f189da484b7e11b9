"""Terms of a session of questions: what it pays for, and what an answer says. Public, and post-processing."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.sparse_vector import AboveThreshold, Question, Side
from dpqr.noise.geometric import Geometric
from dpqr.privacy.budget import Price
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement, rounded

SIDES: tuple[Side, Side] = (1, -1)
BETA = 0.05
"""Probability with which an interval may miss the true answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by arithmetic: at these shares the noise of an answer is as wide as that of a comparison. Figures:
    `python tests/benchmarks/online.py`, tests/benchmarks/RESULTS.md."""

    thresholds: Fraction = Fraction(3, 4)  # share of the price of all surprises that pays for thresholds
    false_alarms: float = 0.1  # surprises without cause that are expected, as a part of all that are paid for


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question's answer, in records (or the summed column's unit).

    free: nothing was paid for it. low, high: its interval, which holds the true answer with the session's probability;
    None: the session looks no further on that side.
    """

    estimate: float
    low: float | None
    high: float | None
    free: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a session of questions pays for. Public, fixed when it is opened.

    surprises: how many are paid for. threshold, answer: the price of one epoch and of one noisy answer. margin: how far
    an answer may be from the expected one, in the largest change that one row makes to it, without being a surprise.

    >>> terms = Terms.within(Price(epsilon=Fraction(1)), PrivacyUnit(), surprises=9, questions=100)
    >>> terms.epochs, terms.threshold.epsilon, terms.answer.epsilon
    (10, Fraction(3, 40), Fraction(1, 36))
    """

    unit: PrivacyUnit
    check: Check
    surprises: int
    threshold: Price
    answer: Price
    margin: int

    @classmethod
    def within(cls, whole: Price, unit: PrivacyUnit, *, surprises: int, questions: int) -> Terms:
        """Return the terms that cost `whole`: an epoch for each side, and another one after each surprise but the last.

        questions: how many are expected. The margin is the one that so many answers without error pass
        `Tuning.false_alarms` times in expectation, for each surprise that is paid for: Pr[N >= T + Z] is
        exp(-T / s) E exp(-Z / s), s the scale of the answers' noise.
        """
        threshold = whole.times(TUNING.thresholds / (surprises + 1))
        answer = whole.times((1 - TUNING.thresholds) / surprises)
        epoch = AboveThreshold.at(threshold, unit, 1)
        rates = 1 / float(epoch.threshold_scale), 1 / float(epoch.answer_scale)
        mean = -math.expm1(-rates[0]) / -math.expm1(-rates[0] - rates[1])
        alarms = 2 * mean * questions / (TUNING.false_alarms * surprises)
        margin = math.ceil(max(0.0, math.log(max(alarms, 1.0))) / rates[1])
        check: Check = Laplace() if whole.epsilon is not None else Gaussian()
        return cls(unit=unit, check=check, surprises=surprises, threshold=threshold, answer=answer, margin=margin)

    @property
    def epochs(self) -> int:
        """How many are paid for."""
        return self.surprises + 1

    def epoch(self, side: Side) -> AboveThreshold:
        return AboveThreshold.at(self.threshold, self.unit, side)

    def question(self, block: QueryBlock, hypothesis: Hypothesis) -> Question:
        """A query beside the answer that is expected of it.

        Raises:
            UsageFault: it is none for a session.
        """
        expected = int(rounded(hypothesis.answer(block), 2**61)[0])
        return Question(block=block, expected=expected, margin=self.margin)

    def free(self, asked: Question, live: Collection[Side], beta: float = BETA) -> Answer:
        """The expected answer. live: sides on which it was compared with a threshold."""
        scale, reach = float(asked.block.scale), asked.step(self.unit) * (self.margin + self.slack(beta / 2))
        low, high = max(asked.expected - reach, 0), asked.expected + reach
        return Answer(
            estimate=scale * asked.expected,
            low=scale * low if -1 in live else None,
            high=scale * high if 1 in live else None,
            free=True,
        )

    def paid(self, found: Measurement, scale: float, beta: float = BETA) -> Answer:
        """The first of some noisy answers. scale: of its query's grid."""
        value, room = int(found.values[0][0]), found.law.tail(beta)
        return Answer(estimate=scale * value, low=scale * max(value - room, 0), high=scale * (value + room), free=False)

    def slack(self, beta: float) -> int:
        """Return how far beyond the margin a free answer may be off, in the same unit: no threshold of one epoch is
        higher, but with probability `beta`, whatever is asked."""
        return Geometric(self.epoch(1).threshold_scale).tail(beta)
