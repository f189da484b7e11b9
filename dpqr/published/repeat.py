"""Repeat: a release made again from its record: the same plan, and the recorded draws through the same loop.

Nothing private is near: there is no table, and a draw that the record does not hold is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from dpqr.domain.histogram import Counts, DenseHistogram
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.arrays import WordArray
from dpqr.kernel.budget import NO_COST, Price, PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.events import AboveThresholdEvent, Composition
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Reason, Reservation
from dpqr.models.hypothesis import Sampleable
from dpqr.models.rows import WeightedRows
from dpqr.releases.draws import Draws, count_dropped, measure_persons
from dpqr.releases.files.atomic import read_record, reserve
from dpqr.releases.files.formats import FORMATS
from dpqr.releases.journal import RecordJournal
from dpqr.releases.loop import SILENT, Outcome, iterative_construction
from dpqr.releases.questions import Asked, HardQueryAnswer, Questions, Replay
from dpqr.releases.reading import parse_release_request
from dpqr.releases.record.release_document import Paid, ReleaseRecord
from dpqr.releases.rehearsal import rehearsed_rows
from dpqr.releases.release import checked_plan, construct, price_schedule, write_release
from dpqr.releases.requests import OutputRequest
from dpqr.releases.result import FinishedRun
from dpqr.sessions.session import AskHistory, QuestionPlan
from dpqr.sessions.turn import hard_query_answer, release_of
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource


class NoNoise:
    """A source that nothing is drawn from. private: what the record states of its own."""

    def __init__(self, private: bool) -> None:
        self.private = private

    def words(self, count: int) -> WordArray:
        raise AssertionError("a repeated run draws nothing")


def plan_from_record(request: Any, folder: Path) -> Plan:
    """The plan of the public request that a record holds. folder: where its files of coefficients lie.

    Raises: DocumentError, UsageFault or InfeasiblePlan, where this version of dpqr plans no such request.
    """
    plan, _ = checked_plan(parse_release_request(request, TableSource(paths=(STDIN,)), folder))
    return plan


def repeat_release(record: ReleaseRecord, plan: Plan) -> FinishedRun:
    """The release that the recorded draws give. Raises: GoalMissed where they are not those of the plan."""
    journal, guard = RecordJournal.of(record), EveryFilter(filters=(make_filter(plan),))
    nothing, draws = recorded_draws(journal, guard, private=record.private)
    prices = price_schedule(plan)
    made = construct(plan, draws, nothing, nothing, guard, SILENT, prices, recorded_payer(record.ledger, plan))
    journal.finish()
    rehearsed = rehearsed_rows(plan.problem) if record.rehearsal is True else None
    made = replace(made, charged=recorded_charge(record.ledger), reason=recorded_reason(record))
    return replace(made, rehearsed=rehearsed, planned=record.plan.sha256 or "")


def replay_loop(record: ReleaseRecord, plan: Plan) -> Outcome:
    """Where the loop ended with the recorded draws. Raises: as `repeat_release`."""
    journal, guard = RecordJournal.of(record), EveryFilter(filters=(make_filter(plan),))
    nothing, draws = recorded_draws(journal, guard, private=record.private)
    count_dropped(draws.of_left_out(nothing), plan)
    measure_persons(draws.of_persons(nothing), plan)
    outcome = iterative_construction(draws, plan, SILENT)
    journal.finish()
    return outcome


def recorded_draws(
    journal: RecordJournal, guard: EveryFilter, *, private: bool = True
) -> tuple[Private[Counts], Draws]:
    """No table, and the draws of a record."""
    nothing: Private[Counts] = Private(DenseHistogram(np.zeros((), dtype=np.int64)))
    return nothing, Draws(data=nothing, accountant=guard, noise=NoNoise(private), journal=journal)


def recorded_reason(record: ReleaseRecord) -> Reason:
    """Why the release was made, who asked, and who approved."""
    return Reason(purpose=record.purpose or "", by=record.by or "", approved_by=record.approved_by or "")


def write_repeated(made: FinishedRun, record: ReleaseRecord, directory: Path) -> Any:
    """Write the files of a repeated release into a new directory, in the forms of the first; its record."""
    form = next(form for form in FORMATS if record.files[0].endswith(f"answers.{form}"))
    synthetic = record.synthetic
    output = OutputRequest(
        format=form,
        synthetic=synthetic.form if synthetic else None,
        bins=synthetic.bins if synthetic else "title",
        views=record.views.base if record.views else None,
    )
    write_release(made, reserve(str(directory)), output)
    return read_record(directory)


def recorded_charge(stated: str | Paid) -> str:
    """What the record says that the ledger keeps; empty: all that was set aside."""
    return "" if isinstance(stated, str) else stated.charged or ""


def recorded_payer(stated: str | Paid, plan: Plan) -> Reservation | None:
    """What the record states of its payer; the ledger alone knows currency and cost."""
    if isinstance(stated, str):
        return None
    return Reservation(
        dataset=stated.dataset,
        number=stated.entry,
        receipt=stated.seal,
        currency=currency("basic"),
        cost=NO_COST,
        events=plan.events,
    )


# A session of questions made again from its record: what was measured first, and every answer in its order.


def _require_order(stated: Questions, events: Composition) -> None:
    """GoalMissed where a process says that it found fewer surprises than were there, or more thresholds than paid."""
    epochs = sum(count for event, count in events if isinstance(event, AboveThresholdEvent))
    for number, job in enumerate(stated.asks):
        start, before = job.start, sum(ask < number for ask, *_ in stated.surprises)
        if start.measured != before or start.surprises < before or not len(start.sides) <= start.epochs <= epochs:
            raise GoalMissed(f"questions, ask {number}: starts from other draws than the record holds")


def repeated_session(record: ReleaseRecord, stated: Questions, events: Composition) -> FinishedRun:
    """The release that the recorded draws give. events: that were charged. Raises: GoalMissed, DpqrError, where they
    are not those of the session; LookupError, ValueError, TypeError, where the record has not the form that dpqr gives
    it."""
    _require_order(stated, events)
    # The session as it was opened.
    ((currency, figure),) = stated.rest.items()
    budget = record.plan.budget
    paper = QuestionPlan(
        request=parse_release_request(stated.request, TableSource(paths=(STDIN,)), Path()).plan,
        budget=PrivacyBudget(Fraction(budget.epsilon.exact), Fraction(budget.delta.exact)),
        rest=Price(**{currency: Fraction(figure)}),
        surprises=stated.paid,
        questions=stated.expected,
        rule=stated.rule,
    )
    # What the questions started from.
    journal, guard = RecordJournal(stated.opening), EveryFilter(filters=(make_filter(paper.plan),))
    _, draws = recorded_draws(journal, guard)
    model = iterative_construction(draws, paper.plan, SILENT).hypothesis
    journal.finish()
    if not isinstance(model, Sampleable):
        raise GoalMissed("what the session measured first draws no rows")
    rows = WeightedRows.of(model, paper.plan.problem.domain.shape, paper.plan.problem.seed)
    asks = AskHistory(paper=paper, documents={number: list(each.queries) for number, each in enumerate(stated.asks)})
    replay = Replay(
        terms=paper.terms,
        problem=paper.plan.problem,
        rule=RowWeights(start_rows=rows),
        surprises=list(_recorded_hard_queries(record, stated, asks)),
    )
    log = [line for number, job in enumerate(stated.asks) for line in _lines(replay, asks, number, job)]
    made = release_of(paper, log, rows, [each.measured for each in replay.surprises])
    if made is None:
        raise GoalMissed("the record holds no answers, and such a session leaves no release")
    payer, reason = recorded_payer(record.ledger, made.plan), recorded_reason(record)
    charged = recorded_charge(record.ledger)
    made = replace(made, planned=stated.plan or made.planned, questions=stated, charged=charged)
    return replace(made, events=events, paid=payer, reason=reason, private=record.private)


def _recorded_hard_queries(record: ReleaseRecord, stated: Questions, asks: AskHistory) -> Iterator[HardQueryAnswer]:
    for (ask, block, row, side), drawn in zip(stated.surprises, record.transcript, strict=True):
        (measured,) = drawn.measured or ()
        yield hard_query_answer(asks.paper.terms, side, asks.row(ask, block, row), [measured.values])


def _lines(replay: Replay, asks: AskHistory, number: int, job: Asked) -> Iterator[dict[str, object]]:
    """What the session's own log said of one ask."""
    yield {"ask": number, "queries": asks.documents[number]}
    rows = [(asks.row(number, block, row), free) for block, row, free in job.answers]
    answers = replay.answers(job.start, [(row.block, free) for row, free in rows])
    for (row, _), answer in zip(rows, answers, strict=True):
        yield {"ask": number, "block": row.place, "row": row.row, **structs.asdict(answer)}
