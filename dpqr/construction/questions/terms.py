"""Terms of a session of questions: what it pays for, and what an answer says. Public, and post-processing."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.noisy_answers import answers_sensitivity
from dpqr.mechanisms.sparse_vector import AboveThreshold, Question, Side
from dpqr.noise.geometric import Geometric
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Measurement, rounded

SIDES: tuple[Side, Side] = (1, -1)
BETA = 0.05
"""Probability with which an interval may miss the true answer."""
SurpriseRule = Literal["", "table", "no dearer"]
"""What a surprise of a session measures, as its folder and its record state it (`Terms.measured`).

"no dearer": the table of the query's parts where it is no more sensitive than the query, and else the query. "table":
the table always, as sessions do that 0.10.0 or before opened. "": the same, in records that 0.10.0 or before wrote;
they state the noise that the query alone would have had, which is less than was drawn where records are replaced.
"""
CURRENT_RULE: SurpriseRule = "no dearer"


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
    rule: of what a surprise measures.

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
    rule: SurpriseRule = CURRENT_RULE

    @classmethod
    def within(
        cls, whole: Price, unit: PrivacyUnit, *, surprises: int, questions: int, rule: SurpriseRule = CURRENT_RULE
    ) -> Terms:
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
        return cls(
            unit=unit, check=check, surprises=surprises, threshold=threshold, answer=answer, margin=margin, rule=rule
        )

    @property
    def epochs(self) -> int:
        """How many are paid for."""
        return self.surprises + 1

    def epoch(self, side: Side) -> AboveThreshold:
        return AboveThreshold.at(self.threshold, self.unit, side)

    def measured(self, query: QueryBlock) -> QueryBlock:
        """What a surprise of `query` measures, the query's own answer first: the table of its parts where that is no
        more sensitive than the query by itself, and else the query.

        So a surprise of any query has the noise of that query alone, at the price that the session pays for one
        answer, under either relation, for rows and for persons.

        Privacy:
            Which of the two follows from the query, the unit and the check's norm, all public. Let the query's
            coefficients be 0 and 1. Its table has a 1 in one cell for every kind of record, so its columns are unit
            vectors. *Add-remove:* a row adds or removes one of them: 1 in L1 and in squared L2, which is the query's
            own sensitivity: the table is free. *Replace:* a row leaves one cell and enters another: 2 in L1 and in
            squared L2, where the query moves by 1. The table would have twice the Laplace noise, or sqrt(2) times the
            Gaussian noise, at the same price: the query is measured. A person of K rows has K times the L1 figure and
            K^2 times the squared L2 figure of a row under both relations (`sensitivity`), so the same is chosen. The
            noise is scaled to what is measured, so its event costs `answer` whichever it is (`LaplaceAnswers`,
            `GaussianAnswers`).
        """
        table = table_of_parts(query)
        norm = Norm.L1 if self.check.pure else Norm.L2_SQUARED
        alone, together = (answers_sensitivity((block,), norm, self.unit) for block in (query, table))
        return table if together <= alone or self.rule != "no dearer" else query

    def law(self, query: QueryBlock) -> NoiseLaw:
        """The noise that a surprise of `query` has: that of what is measured, in units of the query's grid."""
        return self.check.law((self.measured(query),), self.unit, self.answer)

    def stated_law(self, query: QueryBlock) -> NoiseLaw:
        """The noise that the closed session's release states: what was drawn, but in records of 0.10.0 and before."""
        return self.law(query) if self.rule else self.check.law((query,), self.unit, self.answer)

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


def table_of_parts(block: QueryBlock) -> QueryBlock:
    """The counts of all combinations of a conjunction's parts and their opposites, the conjunction itself first.

    One record lies in one of these cells. A query whose coefficients are not all 0 or 1 is returned as it is.
    """
    rows = [np.asarray(factor.matrix.row(0)) for factor in block.factors]
    if not rows or any(not np.isin(row, (0, 1)).all() for row in rows):
        return block
    factors = tuple(
        replace(factor, matrix=Dense(_with_opposite(row))) for factor, row in zip(block.factors, rows, strict=True)
    )
    return replace(block, factors=tuple(_unlabelled(factor) for factor in factors))


def _with_opposite(row: IntArray) -> IntArray:
    return np.stack([row, 1 - row])


def _unlabelled(factor: Factor) -> Factor:
    return replace(factor, labels=())
