"""Replay: the answers of a closed session of questions, made again from its noisy answers. Nothing private is near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpqr.construction.journal import Plain
from dpqr.construction.questions.terms import Answer, SurpriseRule, Terms
from dpqr.errors import GoalMissed
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.sparse_vector import Side
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import UpdateRule
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """A noisy answer that was paid. query: whose it is. side: on which its threshold was passed.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from dpqr.noise.discrete_laplace import DiscreteLaplace
    >>> records = QueryBlock(name="records")
    >>> drawn = Measurement(blocks=(records,), values=(np.array([12]),), law=DiscreteLaplace(scale=Fraction(2)))
    >>> Surprise(side=1, query=records, measured=drawn).side
    1
    """

    side: Side
    query: QueryBlock
    measured: Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a process found its session, its thresholds opened. sides: of those that admit comparisons. epochs,
    surprises: paid before. measured: noisy answers that were not lost.

    >>> Start(sides=(1, -1), epochs=2, surprises=0, measured=0).measured
    0
    """

    sides: tuple[Side, ...]
    epochs: int
    surprises: int
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one process was asked. queries: of its document. answers: block, row, and whether it was free."""

    queries: tuple[Any, ...]
    start: Start
    answers: tuple[tuple[int, int, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """All that the answers of a session follow from, beside its noisy answers. Plain JSON values; all of it public.

    request: of what was measured first. rest: what all questions might cost, by its currency. paid: surprises that were
    paid for; expected: questions that were. opening: what was drawn first. surprises: number of the ask, block, row and
    side of every noisy answer. plan: SHA-256 of the plan that the session was opened by; versions up to 0.9 had none.
    rule: of what a surprise measured; versions up to 0.10.0 had none.

    >>> start = Start(sides=(1, -1), epochs=2, surprises=0, measured=0)
    >>> asked = Asked(queries=({"where": "age >= 68"},), start=start, answers=((0, 0, True),))
    >>> rest = {"epsilon": "9/10"}
    >>> Questions(request={}, rest=rest, paid=5, expected=100, opening=(), asks=(asked,), surprises=()).asks[0].answers
    ((0, 0, True),)
    """

    request: Mapping[str, Any]
    rest: Mapping[str, str]
    paid: int
    expected: int
    opening: tuple[Plain, ...]
    asks: tuple[Asked, ...]
    surprises: tuple[tuple[int, int, int, Side], ...]
    plan: str = ""
    rule: SurpriseRule = ""

    def document(self) -> dict[str, Any]:
        """Plain JSON values, as the version wrote them that closed the session: without what that had none of."""
        return {name: part for name, part in asdict(self).items() if part or name not in ("plan", "rule")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A session as its record states it. rule: starts from what was measured first. surprises: in their order.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.hypotheses.weighted_rows import WeightedRows
    >>> from dpqr.privacy.budget import Price
    >>> from dpqr.strategies.updates.row_weights import RowWeights
    >>> from dpqr.workload.workload import Workload
    >>> terms = Terms.within(Price(epsilon=Fraction(1)), PrivacyUnit(), surprises=2, questions=9)
    >>> rows = WeightedRows(shape=(1,), codes=np.array([[0]]), shares=np.array([1.0]), total=8_000.0)
    >>> domain = Domain((Attribute(name="all", axis=Codes(1)),))
    >>> records = QueryBlock(name="records")
    >>> problem = Problem(domain=domain, workload=Workload((records,)), unit=PrivacyUnit())
    >>> replay = Replay(terms=terms, problem=problem, rule=RowWeights(start_rows=rows), surprises=())
    >>> start = Start(sides=(1, -1), epochs=2, surprises=0, measured=0)
    >>> [answer.estimate for answer in replay.answers(start, [(records, True)])]
    [8000.0]
    """

    terms: Terms
    problem: Problem
    rule: UpdateRule[Any]
    surprises: Sequence[Surprise]

    def answers(self, start: Start, asked: Sequence[tuple[QueryBlock, bool]]) -> Iterator[Answer]:
        """What one process answered, as `Online.ask` does.

        Args:
            asked: its queries in their order, and whether each was free; a surprise names the same object as its query.

        Raises:
            GoalMissed: a paid one has no noisy answer.
        """
        found = list(self.surprises[: start.measured])
        hypothesis, sides = self.learned(found), set(start.sides)
        epochs, surprises = start.epochs, start.surprises
        for query, free in asked:
            if free:
                live = sides if surprises < self.terms.surprises else ()
                yield self.terms.free(self.terms.question(query, hypothesis), live)
                continue
            surprise = self._next(len(found), query)
            found.append(surprise)
            hypothesis = self._updated(hypothesis, found)
            sides.discard(surprise.side)
            surprises += 1
            if surprises < self.terms.surprises and epochs < self.terms.epochs:
                epochs += 1
                sides.add(surprise.side)
            yield self.terms.paid(surprise.measured, float(query.scale))

    def learned(self, found: Sequence[Surprise]) -> Hypothesis:
        """The hypothesis that a new process makes of all noisy answers."""
        start: Hypothesis = self.rule.start(self.problem)
        return self._updated(start, found) if found else start

    def _updated(self, hypothesis: Hypothesis, found: Sequence[Surprise]) -> Hypothesis:
        after: Hypothesis | None = self.rule.update(self.problem, hypothesis, [each.measured for each in found])
        return after or hypothesis

    def _next(self, place: int, query: QueryBlock) -> Surprise:
        if place >= len(self.surprises) or self.surprises[place].query is not query:
            raise GoalMissed(f"query {query.name!r}: was paid, and the record holds no noisy answer of it there")
        return self.surprises[place]
