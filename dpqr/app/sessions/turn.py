"""One turn of a session of questions: from its folder and transcript to what answers the next question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dpqr.app.releasing.reading import Reading
from dpqr.app.releasing.release import Progress
from dpqr.app.sessions.session import PastDraw, Turn
from dpqr.app.sessions.state import AnsweredRow, AskedRow, QuestionPlan, StatedSession, asks_of
from dpqr.construction.draws import Draws
from dpqr.construction.loop import iterative_construction
from dpqr.construction.questions.online import Online
from dpqr.construction.questions.replay import Start, Surprise
from dpqr.construction.questions.terms import Answer, Terms
from dpqr.data.histogram import Counts
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.hypothesis import Sampleable
from dpqr.hypotheses.weighted_rows import WeightedRows
from dpqr.io.sessions.rows_file import read_rows, write_rows
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.mechanisms.sparse_vector import Side, Watch
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import AboveThresholdEvent
from dpqr.privacy.sealed import Private
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.row_weights import RowWeights
from dpqr.workload.workload import Measurement


@dataclass(slots=True, kw_only=True)
class Kept:
    """Writes thresholds into the folder, and which query a surprise belongs to. asked: the one being answered."""

    held: Turn
    ask: int = 0
    asked: AskedRow | None = None

    def keep(self, watches: dict[Side, Watch]) -> None:
        """The thresholds that still admit comparisons."""
        self.held.folder.keep(
            [{"side": side, "threshold": each.threshold, "draw": each.charge_number} for side, each in watches.items()]
        )

    def passed(self, watches: dict[Side, Watch]) -> None:
        """One of them was passed by the query that is being answered."""
        self.keep(watches)
        if self.asked:
            line = {"surprise": self.held.journal.number, "ask": self.ask}
            self.held.folder.say(line | {"block": self.asked.place, "row": self.asked.row}, durable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSurprise:
    """A surprise of the log. ask: its number; row: the query."""

    ask: int
    row: AskedRow
    surprise: Surprise


@dataclass(slots=True, kw_only=True)
class RestoredSession:
    """Where the last process has left the session. epochs, surprises: paid so far. kept_surprises: those whose
    noisy answer was not lost."""

    held: Turn
    session: StatedSession
    watches: dict[Side, Watch]
    kept_surprises: tuple[KeptSurprise, ...]
    epochs: int
    surprises: int
    kept: Kept
    online: Online | None = field(default=None, repr=False)

    @property
    def checked(self) -> bool:
        """Whether answers are still compared with the table."""
        terms = self.session.paper.terms
        return self.surprises < terms.surprises and (bool(self.watches) or self.epochs < terms.epochs)

    @property
    def history(self) -> list[Measurement]:
        """The noisy answers, in their order."""
        return [each.surprise.measured for each in self.kept_surprises]

    @property
    def start(self) -> Start:
        """How this process found it."""
        online = self.online
        assert online is not None, "the table is open"
        return Start(
            sides=tuple(online.watches),
            epochs=online.epochs,
            surprises=online.surprises,
            measured=len(online.history),
        )

    def open_data(self, source: TableSource | None, noise: NoiseSource, progress: Progress) -> None:
        """Load the table, which must be the one that the session was opened with, and open what thresholds lack."""
        paper = self.session.paper
        counts = loaded(self.held, paper.plan, self.session.reading(source), noise, progress)
        rows = read_rows(self.held.folder)
        rule = RowWeights(start_rows=rows)
        problem, history = paper.plan.problem, self.history
        self.online = Online(
            terms=paper.terms,
            problem=problem,
            rule=rule,
            hypothesis=rule.update(problem, rows, history) if history else rows,
            data=counts,
            accountant=self.held.run.guard,
            noise=noise,
            journal=self.held.journal,
            keeper=self.kept,
            history=history,
            watches=self.watches,
            epochs=self.epochs,
            surprises=self.surprises,
        )
        self.online.open_watches()

    def ask(self, asked: AskedRow) -> Answer:
        assert self.online is not None, "the table is open"
        self.kept.asked = asked
        return self.online.ask(asked.block)


def loaded(held: Turn, plan: Plan, read: Reading, noise: NoiseSource, progress: Progress) -> Private[Counts]:
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


def first_online(held: Turn, plan: Plan, terms: Terms, read: Reading, noise: NoiseSource, progress: Progress) -> Online:
    """Measure what the questions start from, and keep the rows that stand for it."""
    counts, problem = loaded(held, plan, read, noise, progress), plan.problem
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
        keeper=Kept(held=held),
    )


def restored(held: Turn, session: StatedSession) -> RestoredSession:
    """From the transcript, the log and the secret file.

    A threshold is used only if its draw is the last one of its side and no answer on that side followed: an older copy
    of the secret file admits nothing, nor does one of other noise than this version draws. A lost answer does not say
    on which side it was, so it ends both.
    """
    last: dict[Side, int] = {}
    epochs = surprises = 0
    answers: list[PastDraw] = []
    terms = session.paper.terms
    for draw, number in zip(held.past, held.numbers, strict=True):
        if draw.number < session.document["draws"]:
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
    watches: dict[Side, Watch] = {}
    for side, number, threshold in _kept_thresholds(held):
        if last.get(side) == number:
            watches[side] = Watch(epoch=terms.epoch(side), threshold=threshold, charge_number=number)
    asks = sum("queries" in line for line in held.folder.log())
    return RestoredSession(
        held=held,
        session=session,
        watches=watches,
        kept_surprises=tuple(_surprises(held, session.paper, answers)),
        epochs=epochs,
        surprises=surprises,
        kept=Kept(held=held, ask=asks),
    )


def _kept_thresholds(held: Turn) -> Iterator[tuple[Side, int, int]]:
    """Side, draw and threshold of what the secret file holds. What was damaged there is as good as lost."""
    found = held.folder.secret()
    for line in found if isinstance(found, list) else []:
        kept: dict[str, Any] = line if isinstance(line, dict) else {}
        if all(type(kept.get(name)) is int for name in ("side", "draw", "threshold")):
            yield kept["side"], kept["draw"], kept["threshold"]


def surprise_rows(held: Turn, paper: QuestionPlan) -> dict[int, tuple[AskedRow, int]]:
    """The query of every surprise in the log, and the number of its ask, by the number of its draw."""
    log = held.folder.log()
    asks, found = asks_of(log, paper), dict[int, tuple[AskedRow, int]]()
    for line in (line for line in log if "surprise" in line):
        with suppress(LookupError):
            found[line["surprise"]] = asks.row(line["ask"], line["block"], line["row"]), line["ask"]
    return found


def _surprises(held: Turn, paper: QuestionPlan, answers: Sequence[PastDraw]) -> Iterator[KeptSurprise]:
    asked = surprise_rows(held, paper) if answers else {}
    for draw in answers:
        if draw.value is not None and draw.number in asked:
            (side,), *values = draw.value
            row, ask = asked[draw.number]
            yield KeptSurprise(ask=ask, row=row, surprise=surprise(paper.terms, side, row, values))


def surprise(terms: Terms, side: Side, row: AskedRow, values: Sequence[Any]) -> Surprise:
    """A noisy answer as it was drawn."""
    drawn = tuple(np.array(each, dtype=np.int64) for each in values)
    measured = Measurement(blocks=(terms.measured(row.block),), values=drawn, law=terms.law(row.block))
    return Surprise(side=side, query=row.block, measured=measured)


def log_answers(online: RestoredSession, asked: Sequence[AskedRow], document: dict[str, Any]) -> list[AnsweredRow]:
    """Ask one query after the other; each answer is in the log before the next is asked."""
    folder, number = online.held.folder, online.kept.ask
    folder.say({"ask": number, **document, "start": asdict(online.start)}, durable=True)
    found = []
    for each in asked:
        answer = online.ask(each)
        line = {"ask": number, "block": each.place, "row": each.row, "estimate": answer.estimate}
        folder.say(line | {"low": answer.low, "high": answer.high, "free": answer.free})
        found.append(AnsweredRow(name=each.name, detail=each.detail, answer=answer))
    folder.say(durable=True)
    return found
