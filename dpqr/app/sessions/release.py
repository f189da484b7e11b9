"""The release of a closed session: every answered question once, with its interval, and the transcript."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np

from dpqr.app.releasing.release import whole_prices
from dpqr.app.sessions.session import Turn
from dpqr.app.sessions.state import AskedRow, StatedSession, questions_of
from dpqr.app.sessions.turn import restored
from dpqr.construction.block_answers import BlockAnswers
from dpqr.construction.intervals import COMPARED
from dpqr.construction.noisy import Noisy
from dpqr.construction.release import Release
from dpqr.io.outputs.plan_document import plan_hash
from dpqr.io.sessions.rows_file import read_rows
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.strategies.updates.row_weights import RowWeights
from dpqr.workload.workload import Workload

TRUST = (
    "the questions came one at a time: an interval of a free answer holds with its epoch's probability, 0.95, for all "
    "free answers of the epoch together; of an answer that was measured, by itself",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactive:
    """Questions as they came; it plans nothing. surprises, questions: as the session was opened."""

    surprises: int
    questions: int

    name: ClassVar[str] = "interactive"
    distinguisher: ClassVar[None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The phases are those of the session."""
        return Plan(problem=problem, budget=budget, roles=roles, schedule=self)

    def start(self, plan: Plan) -> None:
        """It has no state."""

    def next(self, plan: Plan, state: None) -> Step | None:
        """Users choose what comes next."""
        return None

    def after(self, state: None, finished: Round) -> None:
        """It has no state."""


def closed_release(held: Turn, session: StatedSession) -> Release | None:
    """All answers of a session; None where there is none."""
    answered = list(_answered(held, session))
    if not answered:
        return None
    state = restored(held, session)
    rows = read_rows(held.folder)
    rule = RowWeights(start_rows=rows)
    hypothesis = rule.update(session.plan.problem, rows, state.history) if state.history else rows
    plan = _plan(session, rule, tuple(each.block for each, _ in answered))
    spent, costs = whole_prices(plan)
    release = Release(
        plan=plan,
        answers=tuple(_block_answers(each, line, state.session) for each, line in answered),
        hypothesis=hypothesis,
        transcript=_transcript(state.history),
        certificate=None,
        spent=spent,
        trust=(*TRUST, *plan.notes, *rule.trust),
        private=True,
        events=held.run.guard.events,
        costs=costs,
        paid=held.paid,
        reason=held.paid.reason,
        date=datetime.now(UTC).date().isoformat(),
    )
    return replace(release, planned=plan_hash(plan))


def _answered(held: Turn, session: StatedSession) -> Any:
    """Every query of the log with its answer; the last one, where it was asked several times."""
    log = held.folder.log()
    documents = {line["ask"]: line["queries"] for line in log if "queries" in line}
    rows: dict[int, dict[tuple[int, int], AskedRow]] = {}
    names: dict[str, int] = {}
    for line in (line for line in log if "estimate" in line and line["ask"] in documents):
        number = line["ask"]
        if number not in rows:
            asked, _ = questions_of({"queries": documents[number]}, session)
            rows[number] = {(each.place, each.row): each for each in asked}
        each = rows[number][line["block"], line["row"]]
        title = " ".join(filter(None, [each.name, each.detail]))
        names[title] = names.get(title, 0) + 1
        unique = title if names[title] == 1 else f"{title} ({names[title]})"
        yield replace(each, block=replace(each.block, name=unique)), line


def _block_answers(asked: AskedRow, line: dict[str, Any], session: StatedSession) -> BlockAnswers:
    one = (1,)
    estimate, none = np.full(one, line["estimate"]), np.full(one, np.nan)
    low, high = line["low"], line["high"]
    if line["free"]:
        known = low is not None and high is not None
        bound = max(high - line["estimate"], line["estimate"] - low) if known else math.nan
        free = BlockAnswers(block=asked.block, estimate=estimate, error=none, noisy=Noisy.absent(1))
        return replace(free, bound=bound, bounded_by=COMPARED)
    law = session.terms.check.law((asked.block,), session.terms.unit, session.terms.answer)
    scale = float(asked.block.scale)
    noisy = Noisy(
        values=estimate,
        deviation=np.full(one, scale * law.deviation),
        margin=np.full(one, max(high - line["estimate"], line["estimate"] - low)),
    )
    return BlockAnswers(block=asked.block, estimate=estimate, error=none, noisy=noisy)


def _plan(session: StatedSession, rule: RowWeights, blocks: Any) -> Plan:
    """The session as a plan: what was measured first, and the sum that all questions may cost."""
    first, document = session.plan, session.document
    events = (*first.events, (session.rest.event, 1))
    questions = Phase(noun="questions", count=1, price=session.rest, events=events)
    whole = replace(
        first,
        problem=replace(first.problem, workload=Workload(tuple(blocks))),
        budget=session.budget,
        roles=replace(first.roles, update=rule, check=session.terms.check),
        schedule=Interactive(surprises=document["surprises"], questions=document["questions"]),
        phases=(questions,),
        forecast=(),
        notes=(),
        error_bars=False,
    )
    epsilon = whole.roles.accountant.epsilon(whole.events, whole.budget.delta)
    return replace(whole, epsilon=epsilon if epsilon is not None else whole.budget.epsilon)


def _transcript(history: Any) -> Transcript:
    made = Transcript()
    for measured in history:
        made.add(Round(choice=None, measurement=measured, charges=()))
    return made
