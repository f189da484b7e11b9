"""One turn of a session of questions, from its folder and transcript to what answers the next question; and the release
of a closed one."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct, structs

from dpqr.domain.histogram import Counts
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import AboveThresholdEvent
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.mechanisms.sparse_vector import OpenThreshold, Side
from dpqr.models.hypothesis import Sampleable
from dpqr.models.rows import WeightedRows
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import COMPARED
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.draws import Draws
from dpqr.releases.loop import iterative_construction
from dpqr.releases.planning import read_documents
from dpqr.releases.questions import SIDES, Asked, HardQueryAnswer, Online, Questions, SessionTerms, Start
from dpqr.releases.reading import TableReading, public_inputs
from dpqr.releases.record.plan_document import plan_hash
from dpqr.releases.release import ReleaseObserver, price_schedule
from dpqr.releases.requests import ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.sessions.folder import (
    QuestionWriter,
    Thresholds,
    WriteSpace,
    count_asks,
    load_thresholds,
    read_rows,
    refuse_on_disk_fault,
    write_rows,
)
from dpqr.sessions.planning import add_question_phase
from dpqr.sessions.session import (
    AnsweredQuery,
    PastDraw,
    QuestionPlan,
    QuestionSessionDocument,
    SessionLock,
    SessionQuery,
    read_ask_history,
)
from dpqr.strategies.plan import Phase, Plan
from dpqr.strategies.transcript import Round, Transcript
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.files import STDIN
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.workload import Measurement, Workload

ANSWER_ROOM, HARD_QUERY_ROOM, DRAW_ROOM, VALUE_ROOM = 320, 160, 2048, 22
"""Bytes that the lines of an answer, of a surprise, of its two draws and of one value take at most."""


class LoggedHardQuery(Struct, frozen=True, kw_only=True):
    """A surprise of the log.

    Attributes:
        ask: its number.
        row: the query.
    """

    ask: int
    row: SessionQuery
    surprise: HardQueryAnswer


class RestoredSession(Struct, kw_only=True):
    """Where the last process has left the session.

    Attributes:
        epochs, surprises: paid so far.
        kept_surprises: those whose noisy answer was not lost.
    """

    session: QuestionSessionDocument
    watches: dict[Side, OpenThreshold]
    kept_surprises: tuple[LoggedHardQuery, ...]
    epochs: int
    surprises: int
    asks: int

    @property
    def checked(self) -> bool:
        """Whether answers are still compared with the table."""
        terms = self.session.paper.terms
        return self.surprises < terms.surprises and (bool(self.watches) or self.epochs < terms.epochs)

    @property
    def history(self) -> list[Measurement]:
        """The noisy answers, in their order."""
        return [each.surprise.measured for each in self.kept_surprises]

    def opened(self, source: TableSource | None, noise: NoiseSource, progress: ReleaseObserver) -> Online:
        """Load the table, which must be the one that the session was opened with, and open what thresholds lack."""
        held, paper = self.session.held, self.session.paper
        counts = load_session_table(held, paper.plan, self.session.reading(source), noise, progress)
        rows = read_rows(held.folder)
        rule = RowWeights(start_rows=rows)
        problem, history = paper.plan.problem, self.history
        online = Online(
            terms=paper.terms,
            problem=problem,
            rule=rule,
            hypothesis=rule.update(problem, rows, history) if history else rows,
            data=counts,
            accountant=held.run.guard,
            noise=noise,
            journal=held.journal,
            history=history,
            watches=self.watches,
            epochs=self.epochs,
            surprises=self.surprises,
        )
        online.open_watches()
        return online

    def room(self, queries: Sequence[SessionQuery], document: dict[str, object]) -> WriteSpace:
        """What an ask may write. Public: it depends on the queries and on how many surprises are left."""
        draws = min(len(queries), self.session.paper.terms.surprises - self.surprises)
        cells = max((2 ** len(each.block.factors) for each in queries), default=0)
        return WriteSpace(
            log=len(json.dumps(document)) + ANSWER_ROOM * len(queries) + HARD_QUERY_ROOM * draws,
            transcript=draws * (DRAW_ROOM + VALUE_ROOM * cells),
            draws=2 * draws + len(SIDES),
            secret=True,
        )


def load_session_table(
    held: SessionLock, plan: Plan, read: TableReading, noise: NoiseSource, progress: ReleaseObserver
) -> Private[Counts]:
    """The private table, sealed; of persons the rows that every other turn keeps."""
    problem = plan.problem
    held.run.look(read.source)
    return load_table(
        read.source,
        problem.domain,
        read.limits,
        unit=problem.unit,
        noise=held.run.drawing(noise),
        declared=problem.declared,
        progress=progress.read,
    ).counts


def start_online(
    held: SessionLock,
    plan: Plan,
    terms: SessionTerms,
    read: TableReading,
    noise: NoiseSource,
    progress: ReleaseObserver,
) -> Online:
    """Measure what the questions start from, and keep the rows that stand for it."""
    counts, problem = load_session_table(held, plan, read, noise, progress), plan.problem
    draws = Draws(data=counts, accountant=held.run.guard, noise=noise, journal=held.journal)
    model = iterative_construction(draws, plan, progress).hypothesis
    if not isinstance(model, Sampleable):
        raise InfeasiblePlan("--expect: what these queries are fitted by draws no rows; expect marginals instead")
    rows = WeightedRows.of(model, problem.domain.shape, problem.seed)
    write_rows(held.folder, rows)
    return Online(
        terms=terms,
        problem=problem,
        rule=RowWeights(start_rows=rows),
        hypothesis=rows,
        data=counts,
        accountant=held.run.guard,
        noise=noise,
        journal=held.journal,
    )


def restore_session(session: QuestionSessionDocument) -> RestoredSession:
    """From the transcript, the log and the secret file.

    A threshold is used only if it was kept after the newest ask (`dpqr.sessions.folder`), its draw is the last one
    of its side and no answer on that side followed: an older copy of the secret file admits nothing, nor does one of
    other noise than this version draws. A lost answer does not say on which side it was, so it ends both.
    """
    held, last = session.held, dict[Side, int]()
    epochs = surprises = 0
    answers: list[PastDraw] = []
    terms = session.paper.terms
    for draw in held.past:
        if draw.number < session.document.draws:
            continue
        if isinstance(draw.event, AboveThresholdEvent):
            epochs += 1
            if draw.value in (1, -1) and draw.event == terms.epoch(draw.value).event:
                last[draw.value] = draw.charge
        else:
            surprises += 1
            answers.append(draw)
            for side in list(last) if draw.value is None else [draw.value[0][0]]:
                last.pop(side, None)
    asks = count_asks(held.folder.log())
    watches: dict[Side, OpenThreshold] = {}
    for line in load_thresholds(held.folder, asks):
        for side in (each for each in SIDES if each == line["side"] and last.get(each) == line["draw"]):
            watches[side] = OpenThreshold(
                epoch=terms.epoch(side), threshold=line["threshold"], charge_number=line["draw"]
            )
    kept: list[LoggedHardQuery] = []
    hard_queries = read_hard_queries(held, session.paper) if answers else {}
    for draw in answers:
        if draw.value is not None and draw.number in hard_queries:
            (side,), *values = draw.value
            row, ask = hard_queries[draw.number]
            kept.append(LoggedHardQuery(ask=ask, row=row, surprise=hard_query_answer(terms, side, row, values)))
    return RestoredSession(
        session=session,
        watches=watches,
        kept_surprises=tuple(kept),
        epochs=epochs,
        surprises=surprises,
        asks=asks,
    )


def thresholds_of(watches: Mapping[Side, OpenThreshold]) -> Thresholds:
    """As the secret holds those that still admit comparisons."""
    return [{"side": side, "threshold": each.threshold, "draw": each.charge_number} for side, each in watches.items()]


def read_hard_queries(held: SessionLock, paper: QuestionPlan) -> dict[int, tuple[SessionQuery, int]]:
    """The query of every surprise in the log, and the number of its ask, by the number of its draw."""
    log = held.folder.log()
    asks, found = read_ask_history(log, paper), dict[int, tuple[SessionQuery, int]]()
    for line in (line for line in log if "surprise" in line):
        with suppress(LookupError):
            found[line["surprise"]] = asks.row(line["ask"], line["block"], line["row"]), line["ask"]
    return found


def hard_query_answer(terms: SessionTerms, side: Side, row: SessionQuery, values: Sequence[Any]) -> HardQueryAnswer:
    """A noisy answer as it was drawn."""
    drawn = tuple(np.array(each, dtype=np.int64) for each in values)
    measured = Measurement(blocks=(terms.measured(row.block),), values=drawn, law=terms.law(row.block))
    return HardQueryAnswer(side=side, query=row.block, measured=measured)


def answer_queries(
    state: RestoredSession,
    online: Online,
    asking: QuestionWriter,
    queries: Sequence[SessionQuery],
    document: dict[str, object],
) -> tuple[AnsweredQuery, ...]:
    """Ask one query after the other, and keep what was not passed.

    Raises:
        UsageFault: the disk failed; the same for every outcome of the comparisons.
    """
    found: list[AnsweredQuery] = []
    with refuse_on_disk_fault(asking.folder.name):
        asking.seal({"ask": state.asks, **document, "start": structs.asdict(process_start(online))})
        for place, each in enumerate(queries, start=1):
            which = {"ask": state.asks, "block": each.place, "row": each.row}

            def passed(which: dict[str, int] = which) -> None:
                """Write which query a surprise belongs to."""
                asking.begin_draws({"surprise": asking.journal.number, **which})

            answer = online.ask(each.block, passed)
            if place == len(queries):
                asking.rehearse()
            given = {"estimate": answer.estimate, "low": answer.low, "high": answer.high, "free": answer.free}
            asking.log.say(which | given)
            found.append(AnsweredQuery(query=each.name, detail=each.detail, answer=answer.shown))
        asking.log.sync()
        asking.keep(thresholds_of(online.watches))
    return tuple(found)


def process_start(online: Online) -> Start:
    """How this process found its session, its thresholds opened."""
    return Start(
        sides=tuple(online.watches),
        epochs=online.epochs,
        surprises=online.surprises,
        measured=len(online.history),
    )


# The release of a closed session: every answered question once, with its interval, and the transcript.

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
    run = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=paper.request)
    inputs = public_inputs(run, TableReading(source=run.source, limits=session.limits), document)
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


def _block_answers(query: SessionQuery, line: dict[str, Any], paper: QuestionPlan) -> BlockAnswers:
    one = (1,)
    estimate, none = np.full(one, line["estimate"]), np.full(one, np.nan)
    low, high = line["low"], line["high"]
    if line["free"]:
        known = low is not None and high is not None
        bound = max(high - line["estimate"], line["estimate"] - low) if known else math.nan
        free = BlockAnswers(block=query.block, estimate=estimate, error=none, noisy=Noisy.absent(1))
        return replace(free, bound=bound, bounded_by=COMPARED)
    law = paper.terms.stated_law(query.block)
    scale = float(query.block.scale)
    noisy = Noisy(
        values=estimate,
        deviation=np.full(one, scale * law.deviation),
        margin=np.full(one, max(high - line["estimate"], line["estimate"] - low)),
    )
    return BlockAnswers(block=query.block, estimate=estimate, error=none, noisy=noisy)
