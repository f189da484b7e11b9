"""Questions that come one at a time: private multiplicative weights over any update rule (Hardt and Rothblum 2010).

    D <- U(null)
    for each question f, as it comes:
        if |f(x) - f(D)| is found below a noisy threshold: answer f(D), free      `passes`, paid when it was opened
        else: v <- f(x) + noise; answer v; D <- U(D, f, v)                        a surprise, charged

A surprise measures what `Terms.measured` says: of a conjunction the table of its parts, where that costs no more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from dpqr.construction.journal import Journal, Unkept
from dpqr.construction.questions.terms import BETA, SIDES, Answer, Terms
from dpqr.data.histogram import Counts
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.sparse_vector import Side, Watch, open_watch, passes
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.gate import measure
from dpqr.privacy.sealed import Private
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


class Keeper(Protocol):
    """Where it is kept which queries were surprises. Thresholds lie in memory; who keeps them between processes does so
    before the first comparison and after the last (`dpqr.io.sessions.asking`)."""

    def passed(self) -> None:
        """The question that is being answered is a surprise. Durable on return."""
        ...


class Nowhere:
    """A session of one process, which ends with it."""

    def passed(self) -> None:
        """Nothing is written."""


@dataclass(slots=True, kw_only=True, eq=False)
class Online:
    """A session of questions to one sealed table.

    epochs, surprises: how many were paid so far. watches: thresholds that still admit comparisons, by side.
    beta: probability with which an interval may fail.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from dpqr.data.histogram import DenseHistogram
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.hypotheses.weighted_rows import WeightedRows
    >>> from dpqr.noise.source import SeededNoise
    >>> from dpqr.privacy.accountants.basic import Basic
    >>> from dpqr.privacy.budget import Price, PrivacyBudget
    >>> from dpqr.strategies.updates.row_weights import RowWeights
    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Dense
    >>> from dpqr.workload.workload import Workload
    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> sex = Domain((Attribute(name="sex", axis=Codes(2)),))
    >>> women = QueryBlock(name="women", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, 0]]))),))
    >>> rows = WeightedRows(shape=(2,), codes=np.array([[0], [1]]), shares=np.array([0.5, 0.5]), total=8_000.0)
    >>> session = Online(
    ...     terms=Terms.within(Price(epsilon=Fraction(4)), PrivacyUnit(), surprises=2, questions=9),
    ...     problem=Problem(domain=sex, workload=Workload((women,)), unit=PrivacyUnit()), hypothesis=rows,
    ...     rule=RowWeights(start_rows=rows), data=Private(DenseHistogram(np.array([6_000, 2_000]))),
    ...     accountant=Basic().filter(PrivacyBudget(Fraction(4))), noise=SeededNoise(1),
    ... )
    >>> session.open_watches()
    >>> session.ask(women).free, session.ask(women).free
    (False, True)

    Privacy:
        All that is drawn is charged to `accountant` before, as `AboveThreshold` and the answers' mechanism prove:
        thresholds are redrawn after each surprise, answers of a surprise have fresh noise. What is shown is a function
        of the outcomes of comparisons, of noisy answers and of public values. How many questions were free, and that
        no surprise is left to pay for, follow from those.
    """

    terms: Terms
    problem: Problem
    rule: UpdateRule[Any]
    hypothesis: Hypothesis
    data: Private[Counts]
    accountant: PrivacyFilter
    noise: NoiseSource
    journal: Journal = field(default_factory=Unkept)
    keeper: Keeper = field(default_factory=Nowhere)
    history: list[Measurement] = field(default_factory=list)
    watches: dict[Side, Watch] = field(default_factory=dict)
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
            if side not in self.watches and self._affords_epoch():
                self._open(side)

    def ask(self, block: QueryBlock) -> Answer:
        """Answer one query.

        Args:
            block: of one row, whose coefficients are not negative.

        Raises:
            UsageFault: it is no such query.
        """
        asked = self.terms.question(block, self.hypothesis)
        self.open_watches()
        for side in SIDES:
            watch = self.watches.get(side)
            if watch and self.surprises < self.terms.surprises and passes(self.data, watch, asked, self.noise):
                return self._surprised(side, block)
        return self.terms.free(asked, self.watches if self.checked else (), self.beta)

    def _surprised(self, side: Side, block: QueryBlock) -> Answer:
        """The epoch has ended; a noisy answer is paid, and a new threshold before the next question."""
        del self.watches[side]
        self.keeper.passed()
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

    def _open(self, side: Side) -> None:
        epoch = self.terms.epoch(side)
        self.journal.begin(epoch.event, ())
        self.epochs += 1
        self.watches[side] = open_watch(epoch, self.accountant, self.noise)
        self.journal.record(side)

    def _affords_epoch(self) -> bool:
        return self.epochs < self.terms.epochs
