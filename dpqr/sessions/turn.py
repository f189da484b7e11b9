"""One turn of a session of questions: from its folder and transcript to what answers the next question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import AboveThresholdEvent
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.mechanisms.sparse_vector import OpenThreshold, Side
from dpqr.models.hypothesis import Sampleable
from dpqr.models.rows import WeightedRows
from dpqr.releases.draws import Draws
from dpqr.releases.loop import iterative_construction
from dpqr.releases.questions import SIDES, HardQueryAnswer, Online, SessionTerms, Start
from dpqr.releases.reading import TableReading
from dpqr.releases.release import ReleaseObserver
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
from dpqr.sessions.session import (
    AnsweredQuery,
    PastDraw,
    QuestionPlan,
    QuestionSessionDocument,
    SessionLock,
    SessionQuery,
    read_ask_history,
)
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.workload import Measurement

ANSWER_ROOM, HARD_QUERY_ROOM, DRAW_ROOM, VALUE_ROOM = 320, 160, 2048, 22
"""Bytes that the lines of an answer, of a surprise, of its two draws and of one value take at most."""


@dataclass(slots=True, kw_only=True)
class SessionHardQueryLog:
    """Writes which query a surprise belongs to.

    Attributes:
        asking: the question's writes.
        ask: its number.
        asked: the query.
    """

    asking: QuestionWriter
    ask: int
    asked: SessionQuery | None = None

    def passed(self) -> None:
        """A threshold was passed by the query that is being answered."""
        assert self.asked, "a query is being answered"
        line = {"surprise": self.asking.journal.number, "ask": self.ask}
        self.asking.begin_draws(line | {"block": self.asked.place, "row": self.asked.row})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedHardQuery:
    """A surprise of the log.

    Attributes:
        ask: its number.
        row: the query.
    """

    ask: int
    row: SessionQuery
    surprise: HardQueryAnswer


@dataclass(slots=True, kw_only=True)
class RestoredSession:
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

    def opened(
        self, asking: QuestionWriter, source: TableSource | None, noise: NoiseSource, progress: ReleaseObserver
    ) -> Online:
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
            keeper=SessionHardQueryLog(asking=asking, ask=self.asks),
            history=history,
            watches=self.watches,
            epochs=self.epochs,
            surprises=self.surprises,
        )
        online.open_watches()
        return online

    def room(self, asked: Sequence[SessionQuery], document: dict[str, Any]) -> WriteSpace:
        """What an ask may write. Public: it depends on the queries and on how many surprises are left."""
        draws = min(len(asked), self.session.paper.terms.surprises - self.surprises)
        cells = max((2 ** len(each.block.factors) for each in asked), default=0)
        return WriteSpace(
            log=len(json.dumps(document)) + ANSWER_ROOM * len(asked) + HARD_QUERY_ROOM * draws,
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
    for draw, number in zip(held.past, held.numbers, strict=True):
        if draw.number < session.document.draws:
            continue
        if isinstance(draw.event, AboveThresholdEvent):
            epochs += 1
            if draw.value in (1, -1) and draw.event == terms.epoch(draw.value).event:
                last[draw.value] = number
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
    asked = read_hard_queries(held, session.paper) if answers else {}
    for draw in answers:
        if draw.value is not None and draw.number in asked:
            (side,), *values = draw.value
            row, ask = asked[draw.number]
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
    asked: Sequence[SessionQuery],
    document: dict[str, Any],
) -> tuple[AnsweredQuery, ...]:
    """Ask one query after the other, and keep what was not passed.

    Raises:
        UsageFault: the disk failed; the same for every outcome of the comparisons.
    """
    keeper, found = online.keeper, list[AnsweredQuery]()
    assert isinstance(keeper, SessionHardQueryLog), "the question's writes"
    with refuse_on_disk_fault(asking.folder.name):
        asking.seal({"ask": state.asks, **document, "start": asdict(process_start(online))})
        for place, each in enumerate(asked, start=1):
            keeper.asked = each
            answer = online.ask(each.block)
            if place == len(asked):
                asking.rehearse()
            line = {"ask": state.asks, "block": each.place, "row": each.row, "estimate": answer.estimate}
            asking.log.say(line | {"low": answer.low, "high": answer.high, "free": answer.free})
            found.append(AnsweredQuery(query=each.name, detail=each.detail, answer=answer))
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
