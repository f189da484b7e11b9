"""Questions that come one at a time: private multiplicative weights over any update rule (Hardt and Rothblum 2010).

    D <- U(null)
    for each question f, as it comes:
        if |f(x) - f(D)| is found below a noisy threshold: answer f(D), free      paid when the threshold was drawn
        else: v <- f(x) + noise; answer v; D <- U(D, f, v)                        a hard query, charged

A surprise measures what `SessionTerms.measured` says: of a conjunction the table of its parts, where that costs no
more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct, field

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import PrivacyFilter
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.discrete_laplace import Geometric
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import answers_sensitivity
from dpqr.mechanisms.sparse_vector import (
    AboveThreshold,
    OpenThreshold,
    Question,
    Side,
    is_above_threshold,
    open_threshold,
)
from dpqr.models.hypothesis import Hypothesis
from dpqr.releases.draws import Journal, NoJournal, Plain
from dpqr.strategies.checks import Check, Gaussian, Laplace
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Measurement, round_answers

# Terms of a session of questions: what it pays for, and what an answer says. Public, and post-processing.

SIDES: tuple[Side, Side] = (1, -1)
BETA = 0.05
"""Probability with which an interval may miss the true answer."""
HardQueryRule = Literal["", "table", "no dearer"]
"""What a surprise of a session measures, as its folder and its record state it (`SessionTerms.measured`).

"no dearer": the table of the query's parts where it is no more sensitive than the query, and else the query. "table":
the table always, as sessions do that 0.10.0 or before opened. "": the same, in records that 0.10.0 or before wrote;
they state the noise that the query alone would have had, which is less than was drawn where records are replaced.
"""
CURRENT_RULE: HardQueryRule = "no dearer"


class SessionTuning(Struct, frozen=True, kw_only=True):
    """Set by arithmetic: at these shares the noise of an answer is as wide as that of a comparison. Figures:
    `python tests/benchmarks/online.py`, tests/benchmarks/RESULTS.md."""

    thresholds: Fraction = Fraction(3, 4)  # share of the price of all surprises that pays for thresholds
    false_alarms: float = 0.1  # surprises without cause that are expected, as a part of all that are paid for


TUNING = SessionTuning()


class Answer(Struct, frozen=True, kw_only=True):
    """One question's answer, in records (or the summed column's unit).

    free: nothing was paid for it. low, high: its interval, which holds the true answer with the session's probability;
    None: the session looks no further on that side.
    """

    estimate: float
    low: float | None
    high: float | None
    free: bool

    @property
    def shown(self) -> Answer:
        """With an interval that ends at 0 at the least, as it begins there: noise may take a small answer far below."""
        return self if self.high is None else replace(self, high=max(self.high, 0.0))


class SessionTerms(Struct, frozen=True, kw_only=True):
    """What a session of questions pays for. Public, fixed when it is opened.

    surprises: how many are paid for. threshold, answer: the price of one epoch and of one noisy answer. margin: how far
    an answer may be from the expected one, in the largest change that one row makes to it, without being a surprise.
    rule: of what a surprise measures.

    >>> terms = SessionTerms.within(Price(epsilon=Fraction(1)), PrivacyUnit(), surprises=9, questions=100)
    >>> terms.epochs, terms.threshold.epsilon, terms.answer.epsilon
    (10, Fraction(3, 40), Fraction(1, 36))
    """

    unit: PrivacyUnit
    check: Check
    surprises: int
    threshold: Price
    answer: Price
    margin: int
    rule: HardQueryRule = CURRENT_RULE

    @classmethod
    def within(
        cls, whole: Price, unit: PrivacyUnit, *, surprises: int, questions: int, rule: HardQueryRule = CURRENT_RULE
    ) -> SessionTerms:
        """Return the terms that cost `whole`: an epoch for each side, and another one after each surprise but the last.

        questions: how many are expected. The margin is the one that so many answers without error pass
        `SessionTuning.false_alarms` times in expectation, for each surprise that is paid for: Pr[N >= T + Z] is
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
        expected = int(round_answers(hypothesis.answer(block), 2**61)[0])
        return Question(block=block, expected=expected, margin=self.margin)

    def free(self, question: Question, live: Collection[Side], beta: float = BETA) -> Answer:
        """The expected answer. live: sides on which it was compared with a threshold."""
        scale, reach = float(question.block.scale), question.step(self.unit) * (self.margin + self.slack(beta / 2))
        low, high = max(question.expected - reach, 0), question.expected + reach
        return Answer(
            estimate=scale * question.expected,
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
        replace(factor, matrix=Dense(np.stack([row, 1 - row]))) for factor, row in zip(block.factors, rows, strict=True)
    )
    return replace(block, factors=tuple(replace(factor, labels=()) for factor in factors))


class Online(Struct, kw_only=True, eq=False):
    """A session of questions to one sealed table.

    epochs, surprises: how many were paid so far. watches: thresholds that still admit comparisons, by side.
    beta: probability with which an interval may fail.

    Privacy:
        All that is drawn is charged to `accountant` before, as `AboveThreshold` and the answers' mechanism prove:
        thresholds are redrawn after each surprise, answers of a surprise have fresh noise. What is shown is a function
        of the outcomes of comparisons, of noisy answers and of public values. How many questions were free, and that
        no surprise is left to pay for, follow from those.
    """

    terms: SessionTerms
    problem: Problem
    rule: UpdateRule[Any]
    hypothesis: Hypothesis
    data: Private[Counts]
    accountant: PrivacyFilter
    noise: NoiseSource
    journal: Journal = field(default_factory=NoJournal)
    history: list[Measurement] = field(default_factory=list)
    watches: dict[Side, OpenThreshold] = field(default_factory=dict)
    epochs: int = 0
    surprises: int = 0
    beta: float = BETA

    @property
    def checked(self) -> bool:
        """Whether answers are still compared with the table."""
        return self.surprises < self.terms.surprises and bool(self.watches)

    def open_watches(self) -> None:
        """Pay for a threshold on every side that has none, as far as the session has paid for them."""
        for side in SIDES:
            if side not in self.watches and self.epochs < self.terms.epochs:
                epoch = self.terms.epoch(side)
                self.journal.begin(epoch.event, ())
                self.epochs += 1
                self.watches[side] = open_threshold(epoch, self.accountant, self.noise)
                self.journal.record(side)

    def ask(self, block: QueryBlock, passed: Callable[[], None] = lambda: None) -> Answer:
        """Answer one query.

        Args:
            block: of one row, whose coefficients are not negative.
            passed: is called where the query is a surprise, before its answer is drawn, and keeps that. Thresholds lie
                in memory; who keeps them between processes does so before the first comparison and after the last
                (`dpqr.sessions.folder`).

        Raises:
            UsageFault: it is no such query.
        """
        question = self.terms.question(block, self.hypothesis)
        self.open_watches()
        for side in SIDES:
            watch = self.watches.get(side)
            if (
                watch
                and self.surprises < self.terms.surprises
                and is_above_threshold(self.data, watch, question, self.noise)
            ):
                return self._surprised(side, block, passed)
        return self.terms.free(question, self.watches if self.checked else (), self.beta)

    def _surprised(self, side: Side, block: QueryBlock, passed: Callable[[], None]) -> Answer:
        """The epoch has ended; a noisy answer is paid, and a new threshold before the next question."""
        del self.watches[side]
        passed()
        self.surprises += 1
        found = self._measured(side, self.terms.measured(block))
        self.history.append(found)
        self.hypothesis = self.rule.update(self.problem, self.hypothesis, self.history) or self.hypothesis
        return self.terms.paid(found, float(block.scale), self.beta)

    def _measured(self, side: Side, block: QueryBlock) -> Measurement:
        mechanism = self.terms.check.mechanism((block,), self.terms.unit, self.terms.answer)
        self.journal.begin(mechanism.event, (block,))
        found = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise).value
        self.journal.record([[side], *(values.tolist() for values in found.values)])
        return found


# Replay: the answers of a closed session of questions, made again from its noisy answers. Nothing private is near.


class HardQueryAnswer(Struct, frozen=True, kw_only=True):
    """A noisy answer that was paid. query: whose it is. side: on which its threshold was passed."""

    side: Side
    query: QueryBlock
    measured: Measurement


class Start(Struct, frozen=True, kw_only=True):
    """How a process found its session, its thresholds opened. sides: of those that admit comparisons. epochs,
    surprises: paid before. measured: noisy answers that were not lost.
    """

    sides: tuple[Side, ...]
    epochs: int
    surprises: int
    measured: int


class Asked(Struct, frozen=True, kw_only=True):
    """What one process was asked. queries: of its document. answers: block, row, and whether it was free."""

    queries: tuple[Any, ...]
    start: Start
    answers: tuple[tuple[int, int, bool], ...]


class Questions(Struct, frozen=True, kw_only=True):
    """All that the answers of a session follow from, beside its noisy answers. Plain JSON values; all of it public.

    request: of what was measured first. rest: what all questions might cost, by its currency. paid: surprises that were
    paid for; expected: questions that were. opening: what was drawn first. surprises: number of the ask, block, row and
    side of every noisy answer. plan: SHA-256 of the plan that the session was opened by; versions up to 0.9 had none.
    rule: of what a surprise measured; versions up to 0.10.0 had none.
    """

    request: Mapping[str, Any]
    rest: Mapping[str, str]
    paid: int
    expected: int
    opening: tuple[Plain, ...]
    asks: tuple[Asked, ...]
    surprises: tuple[tuple[int, int, int, Side], ...]
    plan: str = ""
    rule: HardQueryRule = ""

    def document(self) -> dict[str, object]:
        """Plain JSON values, as the version wrote them that closed the session: without what that had none of."""
        return {name: part for name, part in msgspec.to_builtins(self).items() if part or name not in ("plan", "rule")}


class Replay(Struct, frozen=True, kw_only=True):
    """A session as its record states it. rule: starts from what was measured first. surprises: in their order."""

    terms: SessionTerms
    problem: Problem
    rule: UpdateRule[Any]
    surprises: Sequence[HardQueryAnswer]

    def answers(self, start: Start, queries: Sequence[tuple[QueryBlock, bool]]) -> Iterator[Answer]:
        """What one process answered, as `Online.ask` does.

        Args:
            queries: in their order, and whether each was free; a surprise names the same object as its query.

        Raises:
            GoalMissed: a paid one has no noisy answer.
        """
        found = list(self.surprises[: start.measured])
        hypothesis, sides = self.learned(found), set(start.sides)
        epochs, surprises = start.epochs, start.surprises
        for query, free in queries:
            if free:
                live = sides if surprises < self.terms.surprises else ()
                yield self.terms.free(self.terms.question(query, hypothesis), live)
                continue
            if len(found) >= len(self.surprises) or self.surprises[len(found)].query is not query:
                raise GoalMissed(f"query {query.name!r}: was paid, and the record holds no noisy answer of it there")
            surprise = self.surprises[len(found)]
            found.append(surprise)
            hypothesis = self._updated(hypothesis, found)
            sides.discard(surprise.side)
            surprises += 1
            if surprises < self.terms.surprises and epochs < self.terms.epochs:
                epochs += 1
                sides.add(surprise.side)
            yield self.terms.paid(surprise.measured, float(query.scale))

    def learned(self, found: Sequence[HardQueryAnswer]) -> Hypothesis:
        """The hypothesis that a new process makes of all noisy answers."""
        start: Hypothesis = self.rule.start(self.problem)
        return self._updated(start, found) if found else start

    def _updated(self, hypothesis: Hypothesis, found: Sequence[HardQueryAnswer]) -> Hypothesis:
        after: Hypothesis | None = self.rule.update(self.problem, hypothesis, [each.measured for each in found])
        return after or hypothesis
