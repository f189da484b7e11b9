"""A session: one reservation that several processes draw from, one after the other, under one transcript.

What questions are asked and how they are answered is not this module's: `dpqr.sessions.interactive` and
`dpqr.sessions.predictions` build on it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar

from msgspec import Struct, ValidationError, convert, field, structs, to_builtins

from dpqr.domain.domain import Domain
from dpqr.domain.text.sources import public_documents
from dpqr.kernel.accountants.accountant import EveryFilter, FilterAccountant
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import DpqrError, InfeasiblePlan, LedgerError, UsageFault
from dpqr.kernel.events import PrivacyEvent
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import configured_ledger
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.codec import JSON, canonical, decode_events
from dpqr.ledger.ledger import Reservation
from dpqr.ledger.store import SqliteStore
from dpqr.releases.journal import BEFORE, LedgerJournal, begin_journal, continue_journal, open_transcript, run_of
from dpqr.releases.paying import Bill, PaidRun, require_affordable
from dpqr.releases.planning import plan_release, read_documents, refuse_persons
from dpqr.releases.questions import CURRENT_RULE, Answer, HardQueryRule, SessionTerms
from dpqr.releases.reading import TableReading, require_source, resolve_source
from dpqr.releases.requests import LedgerRequest, PlanRequest
from dpqr.releases.sentences import guarantee
from dpqr.sessions.folder import (
    SESSION,
    QuestionWriter,
    SessionFolder,
    WriteSpace,
    has_failed_question,
    remove_ballasts,
    require_locks,
    writing_question,
)
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.interface import DENSE_LIMIT
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import map_to_columns
from dpqr.workload.workload import row_names

FORMAT = "session/1"
SEAL = "seal"
UNSEALED = ("interactive session", "prediction session")
"""How the ledger calls sessions of 0.15 or before, whose file `session` has no seal."""


class PastDraw(Struct, frozen=True, kw_only=True):
    """A draw of an earlier process, which is paid. charge: its number in this process, whose filters start anew and
    charge it again. value: what it released; None: that was lost in a crash."""

    number: int
    charge: int
    event: PrivacyEvent
    value: Any


class SessionLock(Struct, kw_only=True):
    """What one process holds of a session.

    Attributes:
        run: the reservation's filters and journal.
        note: how the ledger calls it.
        past: draws before this turn.
        drawn: SHA-256 of what the record of the closed session says was drawn; empty: there is none.
    """

    folder: SessionFolder
    ledger: ChainedLedger
    paid: Reservation
    journal: LedgerJournal
    run: PaidRun
    note: str
    past: tuple[PastDraw, ...] = ()
    drawn: str = ""

    def write(self, stated: StatedSession) -> None:
        """What the session is, under a seal that takes the reservation's key; durable on return.

        Privacy:
            Noise and limits of every turn follow from it, and the ledger sees events alone: with more records stated,
            the same events would be paid for less noise, and limits would tell of rows for nothing.
        """
        document = to_builtins(stated)
        self.folder.write({**document, SEAL: self._seal(document)})

    def document(self) -> JSON:
        """What the session is. LedgerError: it was edited, or is of another session."""
        document = self.folder.document()
        stated = str(document.pop(SEAL, ""))
        try:
            right = self.note in UNSEALED or hmac.compare_digest(stated.encode(), self._seal(document).encode())
        except (ValueError, RecursionError):  # what no job has written
            right = False
        if not right:
            raise self.folder.damaged(SESSION)
        return document

    def _seal(self, document: JSON) -> str:
        return hmac.new(
            self.journal.key, b"dpqr: a session\n" + canonical(document).encode(), hashlib.sha256
        ).hexdigest()

    def settle(self, note: str, *, whole: bool) -> None:
        """End the session: what was not drawn comes back, unless it is paid as a whole; its files go.

        Privacy:
            Draws are a function of the released transcript. A lost draw is no such function, nor is an error that rows
            have decided: either leaves the reservation paid in full.
        """
        paid = self.paid.events if whole or self.journal.lost else self.run.guard.events
        self.ledger.settle(self.paid, paid, note=note, drawn=self.drawn)

    @property
    def spoilt(self) -> bool:
        """Whether a question did not end after rows were looked at, by an error or a kill."""
        return has_failed_question(self.folder.log())

    @contextmanager
    def question(self, room: WriteSpace) -> Iterator[QuestionWriter]:
        """Answer a question. Whatever ends the block is an output that rows may have decided: nothing comes back then
        any more. UsageFault: the disk has no room for what the question writes; nothing was read."""
        with writing_question(self.folder, self.journal, self.ledger, room) as made:
            yield made


class StatedBudget(Struct, frozen=True, kw_only=True):
    """Of the whole session: epsilon and delta as decimal text, and the accountant's name."""

    epsilon: str
    delta: str
    accountant: str


class StatedTable(Struct, frozen=True, kw_only=True):
    """The files of the private table, and how they are read."""

    paths: tuple[str, ...]
    delimiter: str | None
    encoding: str | None
    count_column: str | None

    @classmethod
    def of(cls, source: TableSource) -> StatedTable:
        """Of a table that lies in files."""
        return cls(
            paths=tuple(map(os.path.abspath, source.paths)),
            delimiter=source.delimiter,
            encoding=source.encoding,
            count_column=source.count_column,
        )


class StatedSession(Struct, frozen=True, kw_only=True):
    """The file `session` of a folder: its fields are the keys, in their order. What a kind of session states beside
    follows in a class of its own. table: None where it was in memory."""

    dpqr: str
    kind: str
    budget: StatedBudget
    table: StatedTable | None
    limits: Limits

    @classmethod
    def of(cls, kind: str, budget: StatedBudget, read: TableReading, **own: Any) -> Self:
        """What later processes need of a new session. Public. own: what its kind states beside."""
        table = None if read.source.frame is not None else StatedTable.of(read.source)
        return cls(dpqr=FORMAT, kind=kind, budget=budget, table=table, limits=read.limits, **own)


@dataclass(frozen=True, kw_only=True)
class SessionDocument:
    """What a session's folder states, as it was opened. Each kind of session is a class of its own.

    Attributes:
        kind: as the folder states it.
        note: how the ledger calls such a run.
        form: of its document.
        held: the session's lock.
        document: its budget, table and limits, and what its kind of session needs beside.
    """

    kind: ClassVar[str]
    note: ClassVar[str]
    form: ClassVar[type[StatedSession]]

    held: SessionLock
    document: StatedSession

    @classmethod
    def read(cls, held: SessionLock) -> Self:
        """What the folder states. LedgerError: it is damaged, of another version, or of another kind of session."""
        document = held.document()
        if not isinstance(document, dict) or (document.get("dpqr"), document.get("kind")) != (FORMAT, cls.kind):
            raise LedgerError(f"session {held.folder.name!r}: is no {cls.kind} session of this version of dpqr")
        try:
            return cls(held=held, document=convert(document, cls.form))
        except ValidationError as fault:
            raise LedgerError(f"session {held.folder.name!r}: its file 'session' is damaged ({fault})") from None

    @property
    def budget(self) -> PrivacyBudget:
        """Of the whole session."""
        return PrivacyBudget.parse(self.document.budget.epsilon, self.document.budget.delta)

    @property
    def limits(self) -> Limits:
        return self.document.limits

    def reading(self, source: TableSource | None) -> TableReading:
        """Of the table that it was opened with. source: that table again, where it is in memory; UsageFault without."""
        if source is not None:
            require_repeatable(source)
        elif self.document.table is not None:
            source = TableSource(**structs.asdict(self.document.table))
        else:
            raise UsageFault(
                f"session {self.held.folder.name!r}: was opened with a table in memory; give it again as table="
            )
        return TableReading(source=source, limits=self.limits)


Kind = TypeVar("Kind", bound=SessionDocument)


def require_repeatable(source: TableSource) -> None:
    """UsageFault: the next question could not read the table again, or not know it as the same."""
    if source.engine is not None or not source.repeatable:
        what = source.engine.name if source.engine else "standard input" if source.from_stdin else "a stream"
        raise UsageFault(
            f"{what}: every question reads the table again, and it must stay as it was\n"
            "write it into a file, CSV or Parquet, and name that"
        )


def filter_of(accountant: str, budget: PrivacyBudget) -> FilterAccountant:
    """The accountant of a session. UsageFault: its theorem covers a schedule that is fixed in advance only."""
    found = ACCOUNTANTS.get(accountant)
    if not isinstance(found, FilterAccountant):
        raise UsageFault(
            f"--accountant {accountant}: questions follow from answers, which its theorem does not cover; "
            "choose basic, zcdp or gdp"
        )
    refusal = found.refusal(budget)
    if refusal:
        raise UsageFault(refusal)
    return found


def session_source(source: TableSource, payer: LedgerRequest | None) -> TableSource:
    """The table of a new session. UsageFault: there is none, or a later question could not read it again."""
    found = resolve_source(source, payer)
    require_source(found)
    require_repeatable(found)
    return found


def session_payer(payer: LedgerRequest | None, bill: Bill) -> LedgerRequest:
    """Who pays for a new session. UsageFault: nobody does. BudgetRefused: the budget would not pay now."""
    if payer is None:
        raise UsageFault("open: a session is paid from a ledger: add --dataset NAME (`dpqr budget init` makes one)")
    require_affordable(payer, bill, locked=True)
    return payer


@contextmanager
def begin_session(name: str, payer: LedgerRequest, bill: Bill) -> Iterator[SessionLock]:
    """Pay for a new session and hold its first turn.

    Raises:
        AlreadyThere: the name is taken. BudgetRefused: the budget does not cover the bill; nothing was opened.
    """
    ledger = configured_ledger(payer.ledger, payer.anchor)
    bill.require_fit(ledger, payer.dataset, locked=True)
    folder = _folder(ledger, name)
    folder.make()
    with folder.turn(), open_transcript(folder.transcript) as file:
        journal = begin_journal(file, ledger, payer.dataset, partial(bill.reserve, ledger, payer.dataset))
        paid = journal.paid
        guard = EveryFilter(filters=(bill.guard(), paid.guard()))
        run = PaidRun(guard=guard, ledger=ledger, paid=paid, kept=journal)
        yield SessionLock(folder=folder, ledger=ledger, paid=paid, journal=journal, run=run, note=bill.note)


@contextmanager
def lock_session(name: str, payer: LedgerRequest) -> Iterator[SessionLock]:
    """Hold a session that was opened, of any kind.

    Raises:
        UsageFault: there is none, another process holds it for too long, or it is settled.
        LedgerError: its transcript is not the one that the ledger knows.
    """
    ledger = configured_ledger(payer.ledger, payer.anchor)
    folder = _folder(ledger, name)
    with folder.turn(), open_transcript(folder.transcript) as file:
        reservation = run_of(file, ledger) if file.lines else None
        if reservation is None:
            raise UsageFault(
                f"session {name!r}: is settled, or its transcript is gone; its price stays as it is\n"
                f"remove {folder.path} to use the name again"
            )
        journal = continue_journal(file, ledger, reservation)
        paid, past = reservation.reservation, list[PastDraw]()
        run = PaidRun(guard=_session_filters(folder, paid), ledger=ledger, paid=paid, kept=journal, looked=True)
        for number in range(journal.known):
            line = file.document(BEFORE + number)
            try:
                ((event, _),) = decode_events([{**line["event"], "count": 1}])
            except (KeyError, TypeError, ValueError, DpqrError):
                raise LedgerError(f"the transcript {file.path} is damaged: draw {number} is none") from None
            past.append(PastDraw(number=number, charge=run.guard.charge(event), event=event, value=line.get("value")))
        journal.lost = any(draw.value is None for draw in past)
        journal.number = journal.known
        held = SessionLock(folder=folder, ledger=ledger, paid=paid, journal=journal, run=run, note=reservation.note)
        held.past = tuple(past)
        yield held


@contextmanager
def held_session(kind: type[Kind], name: str, payer: LedgerRequest) -> Iterator[Kind]:
    """Hold a session of this kind that was opened. Raises: as `lock_session` and `SessionDocument.read`."""
    with lock_session(name, payer) as held:
        yield kind.read(held)


@contextmanager
def closing_session(kind: type[Kind], name: str, payer: LedgerRequest) -> Iterator[Kind | None]:
    """Hold a session, and end it where the block does: settle it, and remove its folder. None: its opening did not end.

    An error in the block leaves it as it was. A session whose opening did not end stays paid, and so does one of which
    a question did not end.
    """
    with lock_session(name, payer) as held:
        opened = held.folder.is_opened
        yield kind.read(held) if opened else None
        words = "closed" if opened else "its opening did not end"
        held.settle(f"{kind.note}: {words}", whole=held.spoilt or not opened)
        held.folder.remove()
        remove_ballasts(held.folder, held.ledger)


def _folder(ledger: ChainedLedger, name: str) -> SessionFolder:
    """Beside the ledger's file. UsageFault: it lies on a server, or this system has no file locks."""
    require_locks()
    if not isinstance(ledger.store, SqliteStore):
        raise UsageFault(
            f"--ledger {ledger.store.place}: a session keeps its secret beside a ledger's file, and a server has none\n"
            "give the session a budget of its own in a file: --ledger FILE"
        )
    return SessionFolder(ledger=ledger.store.path, name=name)


def _session_filters(folder: SessionFolder, paid: Reservation) -> EveryFilter:
    """The filters of a turn: what was paid, and the guarantee by the session's accountant."""
    with suppress(UsageFault):
        try:
            stated = convert(folder.document().get("budget"), StatedBudget)
        except ValidationError:
            raise folder.damaged(SESSION) from None
        budget = PrivacyBudget.parse(stated.epsilon, stated.delta)
        return EveryFilter(filters=(filter_of(stated.accountant, budget).filter(budget), paid.guard()))
    return EveryFilter(filters=(paid.guard(),))


# What the folder of a session of questions states, and queries over its domain.


class SessionQuery(Struct, frozen=True, kw_only=True):
    """One query of an ask.

    Attributes:
        name: of its block.
        place: of that in the document.
        row: its number there.
        detail: what tells it from the block's other queries, in words.
    """

    name: str
    detail: str
    place: int
    row: int
    block: QueryBlock


class AnsweredQuery(Struct, frozen=True, kw_only=True):
    """One query's answer, by the name of its block, and what else tells it from the others there."""

    query: str
    detail: str
    answer: Answer

    def document(self) -> dict[str, object]:
        """Plain JSON values."""
        return {"query": self.query, "detail": self.detail, **structs.asdict(self.answer)}


@dataclass(frozen=True, kw_only=True)
class QuestionPlan:
    """A session of questions on paper, as its folder or its record states it.

    Attributes:
        request: of what was measured first.
        budget: of the whole session.
        rest: what all questions may cost together.
        rule: of what a surprise measures.
    """

    request: PlanRequest
    budget: PrivacyBudget
    rest: Price
    surprises: int
    questions: int
    rule: HardQueryRule = CURRENT_RULE

    @cached_property
    def plan(self) -> Plan:
        """Of what was measured first."""
        return plan_release(self.request)

    @cached_property
    def terms(self) -> SessionTerms:
        """Of its questions."""
        return SessionTerms.within(
            self.rest,
            self.plan.problem.unit,
            surprises=self.surprises,
            questions=self.questions,
            rule=self.rule,
        )

    @property
    def guarantee(self) -> str:
        """In words."""
        return guarantee(replace(self.plan, budget=self.budget))


class StatedQuestions(StatedSession, frozen=True, kw_only=True):
    """Of a session of questions.

    plan: the options of what was measured first. rest: what all questions may cost, by its currency. draws: how many
    the opening has made. rule: of what a surprise measures; sessions that 0.10.0 or before opened state none.
    """

    plan: JSON
    rest: dict[str, str]
    surprises: int
    questions: int
    rule: HardQueryRule = "table"
    draws: int


@dataclass(frozen=True, kw_only=True)
class QuestionSessionDocument(SessionDocument):
    """What the folder of a session of questions states."""

    kind: ClassVar[str] = "interactive"
    note: ClassVar[str] = "session of questions"
    form: ClassVar[type[StatedSession]] = StatedQuestions

    document: StatedQuestions

    @cached_property
    def paper(self) -> QuestionPlan:
        document = self.document
        ((currency, figure),) = document.rest.items()
        return QuestionPlan(
            request=PlanRequest(**{**document.plan, "trust": tuple(document.plan["trust"])}),
            budget=self.budget,
            rest=Price(**{currency: Fraction(figure)}),
            surprises=document.surprises,
            questions=document.questions,
            rule=document.rule,
        )


PARTS = {
    "mean": 'its "sum" and the count of its records, and divide',
    "ratio": 'the "sum" of each column, and divide',
    "proportion": 'its predicate as "where" and the count of all records, and divide',
    "median": 'its "prefix"',
    "quantiles": 'its "prefix"',
    "top": 'its "marginal"',
    "variance": "it of a release",
}
"""What a session answers in place of each kind of figure."""


def compile_questions(
    queries: str | dict[str, object], session: QuestionPlan
) -> tuple[tuple[SessionQuery, ...], dict[str, object]]:
    """The queries of a document over the session's domain, and the document's public form.

    Raises:
        DocumentError, UsageFault, InfeasiblePlan: one that cannot be asked; nothing was opened.
    """
    document = refuse_persons(read_documents(queries, session.request.domain, strict=True), "a session asks of rows")
    public = public_documents(document.sources)
    if public.files:
        raise UsageFault("ask: files of coefficients are not for sessions of questions; write queries instead")
    for figure in document.workload.figures:
        raise UsageFault(f"ask: {figure.name!r}: a session answers counts and sums; ask {PARTS[figure.kind]}")
    blocks = map_to_columns(document.workload.blocks, document.domain.names, session.plan.problem.domain.names)
    for block in blocks:
        if block.cells > DENSE_LIMIT:
            raise InfeasiblePlan(
                f"query {block.name!r}: looks at {block.cells} cells together, and {DENSE_LIMIT} are possible; "
                "ask about fewer columns"
            )
    rows = split_into_queries(blocks, session.plan.problem.domain)
    for each in rows:
        if any(factor.matrix.smallest < 0 for factor in each.block.factors):
            raise UsageFault(f"query {each.name!r}: has a negative coefficient; ask for its positive and negative part")
    return rows, {"queries": public.queries["queries"]}


class AskHistory(Struct, frozen=True, kw_only=True):
    """The queries of all asks of a session. documents: by the number of the ask."""

    paper: QuestionPlan
    documents: Mapping[int, Any]
    _rows: dict[int, dict[tuple[int, int], SessionQuery]] = field(default_factory=dict)

    def row(self, ask: int, block: int, row: int) -> SessionQuery:
        """One query. Raises: LookupError, where there is none of these numbers."""
        if ask not in self._rows:
            rows, _ = compile_questions({"queries": self.documents[ask]}, self.paper)
            self._rows[ask] = {(each.place, each.row): each for each in rows}
        return self._rows[ask][block, row]


def read_ask_history(log: Sequence[Any], paper: QuestionPlan) -> AskHistory:
    """Of the lines that a session has kept."""
    return AskHistory(paper=paper, documents={line["ask"]: line["queries"] for line in log if "queries" in line})


def split_into_queries(blocks: Sequence[QueryBlock], domain: Domain) -> tuple[SessionQuery, ...]:
    """Every query of some blocks by itself."""
    found: list[SessionQuery] = []
    for place, block in enumerate(blocks):
        names = row_names(block)
        for row in range(block.rows):
            cells = [domain.attributes[axis].titles()[int(codes[row])] for axis, codes in names.cells.items()]
            texts = [] if names.detail is None else [names.details[int(names.detail[row])]]
            detail = ", ".join([*cells, *texts])
            found.append(SessionQuery(name=block.name, detail=detail, place=place, row=row, block=block.row(row)))
    return tuple(found)
