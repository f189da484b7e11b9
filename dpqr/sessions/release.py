"""The release of a closed session: every answered question once, with its interval, and the transcript."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dpqr.models.rows import WeightedRows
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import COMPARED
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.planning import read_documents
from dpqr.releases.questions import Asked, Questions, Start
from dpqr.releases.reading import TableReading, public_inputs
from dpqr.releases.record.plan_document import plan_hash
from dpqr.releases.release import price_schedule
from dpqr.releases.requests import ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.sessions.folder import read_rows
from dpqr.sessions.planning import add_question_phase
from dpqr.sessions.session import QuestionPlan, QuestionSessionDocument, SessionQuery, read_ask_history
from dpqr.sessions.turn import LoggedHardQuery, restore_session
from dpqr.strategies.plan import Phase
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource
from dpqr.workload.workload import Measurement, Workload

TRUST = (
    "the questions came one at a time: an interval of a free answer holds with its epoch's probability, 0.95, for all "
    "free answers of the epoch together; of an answer that was measured, by itself",
)


def build_session_release(session: QuestionSessionDocument) -> FinishedRun | None:
    """All answers of a session; None where there is none."""
    held = session.held
    state, log = restore_session(session), held.folder.log()
    made = release_of(session.paper, log, read_rows(held.folder), state.history)
    if made is None:
        return None
    return replace(
        made,
        events=held.run.guard.events,
        paid=held.paid,
        charged="" if held.spoilt else held.run.charged,
        reason=held.paid.reason,
        planned=held.paid.plan or made.planned,
        date=datetime.now(UTC).date().isoformat(),
        questions=_questions(session, log, state.kept_surprises),
    )


def release_of(
    paper: QuestionPlan, log: Sequence[Any], rows: WeightedRows, history: Sequence[Measurement]
) -> FinishedRun | None:
    """The release of the answers in a log. rows: what the questions started from; history: the noisy answers."""
    # Every query of the log with its answer; of those that were asked several times, each time.
    asks, names, answered = read_ask_history(log, paper), Counter[str](), list[tuple[SessionQuery, Any]]()
    for line in (line for line in log if "estimate" in line and line["ask"] in asks.documents):
        each = asks.row(line["ask"], line["block"], line["row"])
        title = " ".join(filter(None, [each.name, each.detail]))
        names[title] += 1
        unique = title if names[title] == 1 else f"{title} ({names[title]})"
        answered.append((replace(each, block=replace(each.block, name=unique)), line))
    if not answered:
        return None
    rule = RowWeights(start_rows=rows)
    # The session as a plan of the questions that were asked.
    blocks = tuple(each.block for each, _ in answered)
    whole = add_question_phase(paper.plan, paper.terms, paper.rest, paper.budget, paper.questions)
    questions = Phase(noun="questions", count=1, price=paper.rest, events=whole.events)
    plan = replace(
        whole,
        problem=replace(whole.problem, workload=Workload(blocks)),
        roles=replace(whole.roles, update=rule),
        phases=(questions,),
        forecast=(),
        notes=(),
    )
    spent, costs = price_schedule(plan)
    made = Transcript()
    for measured in history:
        made.add(Round(choice=None, measurement=measured, charges=()))
    release = FinishedRun(
        plan=plan,
        answers=tuple(_block_answers(each, line, paper) for each, line in answered),
        hypothesis=rule.update(paper.plan.problem, rows, history) if history else rows,
        transcript=made,
        certificate=None,
        spent=spent,
        trust=(*TRUST, *plan.notes, *rule.trust),
        private=True,
        costs=costs,
    )
    return replace(release, planned=plan_hash(plan))


def _questions(
    session: QuestionSessionDocument, log: Sequence[Any], surprises: Sequence[LoggedHardQuery]
) -> Questions | None:
    """What `verify` makes the answers again from; None where an older version of dpqr was asked."""
    asks = [line for line in log if "queries" in line]
    if not all("start" in line for line in asks):
        return None
    paper, lines = session.paper, defaultdict[int, list[Any]](list)
    for line in log:
        if "estimate" in line:
            lines[line["ask"]].append((line["block"], line["row"], line["free"]))
    document = read_documents(paper.request.queries, paper.request.domain, strict=True)
    asked = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=paper.request)
    inputs = public_inputs(asked, TableReading(source=asked.source, limits=session.limits), document)
    places = {line["ask"]: place for place, line in enumerate(asks)}
    return Questions(
        request=inputs.request,
        rest={paper.rest.currency: str(paper.rest.figure)},
        paid=paper.surprises,
        expected=paper.questions,
        opening=tuple(draw.value for draw in session.held.past[: session.document.draws]),
        asks=tuple(
            Asked(queries=tuple(line["queries"]), start=Start(**line["start"]), answers=tuple(lines[line["ask"]]))
            for line in asks
        ),
        surprises=tuple((places[each.ask], each.row.place, each.row.row, each.surprise.side) for each in surprises),
        plan=session.held.paid.plan,
        rule=paper.rule,
    )


def _block_answers(asked: SessionQuery, line: dict[str, Any], paper: QuestionPlan) -> BlockAnswers:
    one = (1,)
    estimate, none = np.full(one, line["estimate"]), np.full(one, np.nan)
    low, high = line["low"], line["high"]
    if line["free"]:
        known = low is not None and high is not None
        bound = max(high - line["estimate"], line["estimate"] - low) if known else math.nan
        free = BlockAnswers(block=asked.block, estimate=estimate, error=none, noisy=Noisy.absent(1))
        return replace(free, bound=bound, bounded_by=COMPARED)
    law = paper.terms.stated_law(asked.block)
    scale = float(asked.block.scale)
    noisy = Noisy(
        values=estimate,
        deviation=np.full(one, scale * law.deviation),
        margin=np.full(one, max(high - line["estimate"], line["estimate"] - low)),
    )
    return BlockAnswers(block=asked.block, estimate=estimate, error=none, noisy=noisy)
