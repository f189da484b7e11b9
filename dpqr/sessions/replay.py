"""A session of questions made again from its record: what was measured first, and every answer in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.events import AboveThresholdEvent, Composition
from dpqr.models.hypothesis import Sampleable
from dpqr.models.rows import WeightedRows
from dpqr.releases.journal import RecordJournal
from dpqr.releases.loop import iterative_construction
from dpqr.releases.questions import Asked, Questions, Replay, Surprise
from dpqr.releases.reading import stated_request
from dpqr.releases.record.release_document import ReleaseRecord
from dpqr.releases.repeat import Unwatched, recorded_draws, stated_charge, stated_payer, stated_reason
from dpqr.releases.result import Release
from dpqr.sessions.release import release_of
from dpqr.sessions.session import Asks, QuestionPlan
from dpqr.sessions.turn import surprise
from dpqr.strategies.guard import guarded
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource


def repeated_session(record: ReleaseRecord, stated: Questions, events: Composition) -> Release:
    """The release that the recorded draws give. events: that were charged. Raises: GoalMissed, DpqrError, where they
    are not those of the session; LookupError, ValueError, TypeError, where the record has not the form that dpqr gives
    it."""
    _require_order(stated, events)
    paper = _paper(record, stated)
    rows = _first_rows(paper, stated)
    asks = Asks(paper=paper, documents={number: list(each.queries) for number, each in enumerate(stated.asks)})
    replay = Replay(
        terms=paper.terms,
        problem=paper.plan.problem,
        rule=RowWeights(start_rows=rows),
        surprises=list(_surprises(record, stated, asks)),
    )
    log = [line for number, asked in enumerate(stated.asks) for line in _lines(replay, asks, number, asked)]
    made = release_of(paper, log, rows, [each.measured for each in replay.surprises])
    if made is None:
        raise GoalMissed("the record holds no answers, and such a session leaves no release")
    payer, reason = stated_payer(record.ledger, made.plan), stated_reason(record)
    charged = stated_charge(record.ledger)
    made = replace(made, planned=stated.plan or made.planned, questions=stated, charged=charged)
    return replace(made, events=events, paid=payer, reason=reason, private=record.private)


def _require_order(stated: Questions, events: Composition) -> None:
    """GoalMissed where a process says that it found fewer surprises than were there, or more thresholds than paid."""
    epochs = sum(count for event, count in events if isinstance(event, AboveThresholdEvent))
    for number, asked in enumerate(stated.asks):
        start, before = asked.start, sum(ask < number for ask, *_ in stated.surprises)
        if start.measured != before or start.surprises < before or not len(start.sides) <= start.epochs <= epochs:
            raise GoalMissed(f"questions, ask {number}: starts from other draws than the record holds")


def _paper(record: ReleaseRecord, stated: Questions) -> QuestionPlan:
    """The session as it was opened."""
    ((currency, figure),) = stated.rest.items()
    budget = record.plan.budget
    return QuestionPlan(
        request=stated_request(stated.request, TableSource(paths=(STDIN,)), Path()).plan,
        budget=PrivacyBudget(Fraction(budget.epsilon.exact), Fraction(budget.delta.exact)),
        rest=Price(**{currency: Fraction(figure)}),
        surprises=stated.paid,
        questions=stated.expected,
        rule=stated.rule,
    )


def _first_rows(paper: QuestionPlan, stated: Questions) -> WeightedRows:
    """What the questions started from."""
    journal, guard = RecordJournal(stated.opening), EveryFilter(filters=(guarded(paper.plan),))
    _, draws = recorded_draws(journal, guard)
    model = iterative_construction(draws, paper.plan, Unwatched()).hypothesis
    journal.finish()
    if not isinstance(model, Sampleable):
        raise GoalMissed("what the session measured first draws no rows")
    return WeightedRows.of(model, paper.plan.problem.domain.shape, paper.plan.problem.seed)


def _surprises(record: ReleaseRecord, stated: Questions, asks: Asks) -> Iterator[Surprise]:
    for (ask, block, row, side), drawn in zip(stated.surprises, record.transcript, strict=True):
        (measured,) = drawn.measured or ()
        yield surprise(asks.paper.terms, side, asks.row(ask, block, row), [measured.values])


def _lines(replay: Replay, asks: Asks, number: int, asked: Asked) -> Iterator[dict[str, Any]]:
    """What the session's own log said of one ask."""
    yield {"ask": number, "queries": asks.documents[number]}
    rows = [(asks.row(number, block, row), free) for block, row, free in asked.answers]
    answers = replay.answers(asked.start, [(row.block, free) for row, free in rows])
    for (row, _), answer in zip(rows, answers, strict=True):
        yield {"ask": number, "block": row.place, "row": row.row, **asdict(answer)}
