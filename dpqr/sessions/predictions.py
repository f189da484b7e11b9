"""Predictions for points that come one at a time under one budget: open a session, ask, look at it, close it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct, structs

from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import domain_text
from dpqr.domain.text.documents import parse_json
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.values import replace
from dpqr.kernel.wording import Fact, count_words
from dpqr.ledger.codec import JSON
from dpqr.prediction.plan import PaidTable, PredictionPlan
from dpqr.prediction.planner import one_by_one, plan_prediction, planner_input
from dpqr.prediction.predict import (
    check_input,
    checked_prediction,
    draw_preliminaries,
    open_table,
    prediction_bill,
    prices,
    session_files,
    write_session,
)
from dpqr.prediction.rates import PlanAlternatives, plan_alternatives
from dpqr.prediction.receipt import session_facts
from dpqr.prediction.record import PredictionRelease
from dpqr.prediction.tuning import FACTORS
from dpqr.releases.files.tidy import NO_TEXT, Column, Texts, Tidy
from dpqr.releases.paying import Bill, require_affordable
from dpqr.releases.reading import TableReading
from dpqr.releases.record.parts import draws_digest
from dpqr.releases.release import ReleaseObserver
from dpqr.releases.requests import LedgerRequest, PredictionPlanRequest, PredictionRequest
from dpqr.releases.sentences import guarantee
from dpqr.sessions.folder import WriteSpace, refuse_on_disk_fault
from dpqr.sessions.session import (
    SessionDocument,
    StatedBudget,
    StatedSession,
    begin_session,
    closing_session,
    held_session,
    session_payer,
    session_source,
)
from dpqr.strategies.problem import PublicInputs
from dpqr.tables.points import read_points, require_public
from dpqr.tables.source import TableSource


class OpenPredictions(Struct, frozen=True, kw_only=True):
    """A new session.

    Attributes:
        run: table, plan and payer of its predictions; its plan says how many points are paid for, and may be a locked
            one of a session.
    """

    name: str
    run: PredictionRequest


class AskPredictions(Struct, frozen=True, kw_only=True):
    """Points for a session.

    Attributes:
        table: the private one, where it was opened from memory; None: the file that it was opened with.
    """

    name: str
    payer: LedgerRequest
    points: TableSource
    table: TableSource | None = None


class PredictionStatus(Struct, frozen=True, kw_only=True):
    """A session as it stands. All of it is public.

    Attributes:
        points: paid for, and how many of them are left.
        noise: standard deviation of one prediction's noise, of a score or in the target's unit; None for labels by
            votes.
        facts: in words, as the receipt has them.
    """

    name: str
    dataset: str
    guarantee: str
    target: str
    learner: str
    points: int
    left: int
    noise: float | None
    facts: tuple[Fact, ...]

    def document(self) -> dict[str, object]:
        """Plain JSON values."""
        return {name: value for name, value in structs.asdict(self).items() if name != "facts"}


class PlannedPredictions(Struct, frozen=True, kw_only=True):
    """A session on paper. read: how its table is read."""

    plan: PredictionPlan
    outlook: PlanAlternatives
    read: TableReading
    bill: Bill


def plan_predictions(request: OpenPredictions) -> PlannedPredictions:
    """The session on paper; no data is opened.

    Raises: UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the ledger would not pay for it.
    """
    run = replace(request.run, plan=replace(request.run.plan, session=True))
    plan, read, wanted = checked_prediction(run)
    bill = replace(prediction_bill(plan, read.policy, run.reason), note=PredictionSessionDocument.note)
    require_affordable(run.payer, bill, locked=run.locked is not None)
    return PlannedPredictions(plan=plan, outlook=plan_alternatives(plan, wanted.planner), read=read, bill=bill)


def open_predictions(request: OpenPredictions, progress: ReleaseObserver) -> PredictionStatus:
    """Pay for a session, and buy what its plan buys before the first point.

    Raises:
        DpqrError: of the kind that names the exit code. Once rows were looked at, the session stays paid.

    Privacy:
        The session's budget for all points together; it is paid in full before the table is opened. A session keeps no
        secret: parts, and the rows of persons, are drawn anew for each question, which `one_by_one` allows.
    """
    run = replace(request.run, table=session_source(request.run.table, request.run.payer))
    made = plan_predictions(replace(request, run=run))
    payer, plan = session_payer(run.payer, made.bill), made.plan
    plan.recipe.rehearse()
    check_input(run, plan, made.read, made.bill)
    domain, noise, options = domain_text(run.plan.domain or ""), SystemNoise(), run.plan
    with begin_session(request.name, payer, made.bill) as held:
        if plan.counting is None and plan.tuning is None:
            held.run.look(made.read.source)
        else:
            counts = open_table(plan, made.read, held.run, progress, noise).counts
            draw_preliminaries(plan, PaidTable(counts=counts, guard=held.run.guard, noise=noise), held.journal)
        # What later processes need. Public.
        kept = replace(options, domain=None, accountant=plan.accountant.name, counts=plan.problem.unit.counted)
        stated = StatedPredictions.of(
            PredictionSessionDocument.kind,
            StatedBudget(epsilon=options.epsilon, delta=options.delta or "0", accountant=plan.accountant.name),
            made.read,
            plan=structs.asdict(kept),
            domain=domain,
            notes=tuple(plan.notes),
            request=plan.inputs.request if plan.inputs else None,
            draws=held.journal.number,
        )
        held.write(stated)
    return prediction_status(request.name, payer)


def ask_predictions(request: AskPredictions, progress: ReleaseObserver) -> PredictionRelease:
    """Predict for every row of `points`, in their order. A point that was asked about before has the same answer again,
    free of charge.

    Raises:
        DpqrError: points that cannot be read, or of which too few are paid for, are refused before the table is opened.

    Privacy:
        Nothing beyond the session's reservation. Nothing is shown before its draw is on the disk. An error after rows
        were looked at leaves the session paid in full: what rows decide is an output.
    """
    with held_session(PredictionSessionDocument, request.name, request.payer) as session:
        require_public(request.points, session.reading(request.table).source)
        codes = read_points(request.points, session.columns, session.limits)
        if not len(codes):
            raise UsageFault("--points holds no rows, so there is nothing to predict")
        known = {each.codes: each.number for each in session.answers}
        new = distinct(codes, known)
        if new:
            drawn = session.draw(new, request.table, progress, SystemNoise())
            known |= dict(zip(new, drawn, strict=True))
        return session.release([known[tuple(point)] for point in codes.tolist()])


def prediction_status(name: str, payer: LedgerRequest) -> PredictionStatus:
    """How a session stands; no table is opened."""
    with held_session(PredictionSessionDocument, name, payer) as session:
        plan, target = session.plan, session.plan.problem.target
        noise = plan.deviation(session.records)
        if noise is not None and target.numeric:
            low, high = target.bounds
            noise *= (high - low) / 2
        return PredictionStatus(
            name=name,
            dataset=session.held.paid.dataset,
            guarantee=guarantee(plan),
            target=target.attribute.name,
            learner=plan.recipe.name,
            points=session.paid,
            left=session.left,
            noise=noise,
            facts=session_facts(plan, session.records),
        )


def close_predictions(name: str, payer: LedgerRequest, out: str | None) -> PredictionRelease | None:
    """End a session: write all its points with their predictions and the record, and give back what was not drawn.

    Returns:
        The release; None for a session whose opening did not end, or that predicted nothing: there is none to write.

    Raises:
        DpqrError: nothing was settled; the session is as it was.
    """
    files = session_files(out)
    with closing_session(PredictionSessionDocument, name, payer) as session:
        if session is None or not session.answers:
            return None
        finished = session.release([each.number for each in session.answers])
        record = write_session(finished, session.points, files)
        session.held.drawn = draws_digest(record) if record else ""
        return finished


# One turn of a session of predictions: from its folder and transcript to the draws for further points.

RESERVED_COLUMNS = ("ask", "prediction", "score")
"""Columns of the file beside those of the points."""
DRAW_ROOM = 1024
"""Bytes that the line of one draw takes at most."""
Codes = tuple[int, ...]


class AnsweredPoint(Struct, frozen=True, kw_only=True):
    """One point that was asked about.

    Attributes:
        ask: which question it came with.
        number: what was drawn for it.
    """

    ask: int
    codes: Codes
    number: int


class StatedPredictions(StatedSession, frozen=True, kw_only=True):
    """Of a session of predictions.

    plan: the options that it was planned from. domain: the text of its file. request: documents and options for its
    record; null where they are not known. draws: how many the opening has made.
    """

    plan: JSON
    domain: str
    notes: tuple[str, ...]
    request: JSON | None = None
    draws: int


@dataclass(frozen=True, kw_only=True)
class PredictionSessionDocument(SessionDocument):
    """A session of predictions, as its folder and its transcript have it. All of it is public."""

    kind: ClassVar[str] = "prediction"
    note: ClassVar[str] = "session of predictions"
    form: ClassVar[type[StatedSession]] = StatedPredictions

    document: StatedPredictions

    @cached_property
    def planned(self) -> PredictionPlan:
        """As it was opened."""
        kept = self.document.plan
        domain = parse_json(self.document.domain.encode(), "domain")
        request = PredictionPlanRequest(**{**kept, "domain": domain, "trust": tuple(kept["trust"])})
        plan = plan_prediction(planner_input(replace(request, session=True)))
        stated = self.document.request
        inputs = None if stated is None else PublicInputs(request=stated)
        return replace(plan, notes=self.document.notes, inputs=inputs)

    @cached_property
    def plan(self) -> PredictionPlan:
        """With the lambda that was chosen."""
        if self.planned.tuning is None:
            return self.planned
        return replace(self.planned, factor=FACTORS[self.held.past[self.document.draws - 1].value])

    @property
    def counted(self) -> int | None:
        """The noisy count that was bought."""
        return None if self.planned.counting is None else int(self.held.past[0].value)

    @property
    def records(self) -> int:
        """Declared or bought; an ensemble needs none."""
        declared = self.planned.problem.records
        return declared if declared is not None else self.counted or 1

    @property
    def paid(self) -> int:
        """Points that were paid for."""
        return self.planned.form.count

    @property
    def left(self) -> int:
        """Of them those that no draw was begun for."""
        return self.paid - (len(self.held.past) - self.document.draws)

    @cached_property
    def answers(self) -> tuple[AnsweredPoint, ...]:
        """In the order of their draws. A point whose draw was lost in a crash has none."""
        owners: dict[int, tuple[int, list[int]]] = {}
        for ask, line in enumerate(self.asks):
            owners |= {line["first"] + place: (ask, codes) for place, codes in enumerate(line["points"])}
        drawn = (draw for draw in self.held.past if draw.number in owners and type(draw.value) is int)
        return tuple(
            AnsweredPoint(ask=owners[draw.number][0], codes=tuple(owners[draw.number][1]), number=draw.value)
            for draw in drawn
        )

    @property
    def columns(self) -> Domain:
        """That points need."""
        return self.planned.problem.features

    @property
    def points(self) -> Tidy:
        """The question and the cells of every point in `answers`. A column of a name in OWN has a _ more."""
        codes = np.array([each.codes for each in self.answers], dtype=np.int64)
        cells: dict[str, Column] = {}
        for axis, each in enumerate(self.columns.attributes):
            name = f"{each.name}_" if each.name in RESERVED_COLUMNS else each.name
            cells[name] = Texts(np.maximum(codes[:, axis], NO_TEXT), each.titles())
        return Tidy(len(codes), {"ask": np.array([each.ask + 1 for each in self.answers]), **cells})

    @property
    def asks(self) -> list[Any]:
        """The points of every question, and the number of the first draw for them."""
        return [line for line in self.held.folder.log() if "points" in line]

    def draw(
        self, new: list[Codes], table: TableSource | None, progress: ReleaseObserver, noise: NoiseSource
    ) -> list[int]:
        """Draw for points that have no answer, one after the other; each is on the disk before the next.

        Raises: BudgetRefused, before the table is opened, where fewer points are paid for.
        """
        if len(new) > self.left:
            raise BudgetRefused(
                f"ask: {count_words(len(new), 'new point')}, and {self.left:,} of the {self.paid:,} that were paid for "
                "are left; ask for fewer, or open another session"
            )
        held, read = self.held, self.reading(table)
        codes = np.array(new, dtype=np.int64).reshape(len(new), -1)
        line = {"points": new, "first": held.journal.number}
        room = WriteSpace(log=len(json.dumps(line)), transcript=DRAW_ROOM * len(new), draws=len(new))
        numbers = []
        with held.question(room) as asking:
            counts = open_table(self.plan, read, held.run, progress, noise).counts
            paid_table = PaidTable(counts=counts, guard=held.run.guard, noise=noise)
            with refuse_on_disk_fault(held.folder.name):
                asking.begin_draws(line)
                for batch in one_by_one(self.plan, self.records, codes):
                    ((event, _),) = batch.events
                    held.journal.begin(event, ())
                    numbers.append(int(paid_table.draw_together(batch)[0]))
                    held.journal.record(numbers[-1])
        return numbers

    def release(self, numbers: list[int]) -> PredictionRelease:
        """These draws as predictions."""
        return PredictionRelease(
            plan=self.plan,
            numbers=np.array(numbers, dtype=np.int64),
            figures=self.plan.figures(self.records),
            spent=prices(self.plan),
            private=True,
            counted=self.counted,
            paid=self.held.paid,
            reason=self.held.paid.reason,
            charged=self.held.run.guard.events,
        )


def distinct(codes: AnyArray, known: dict[Codes, int]) -> list[Codes]:
    """Points without an answer, each once, in their order."""
    return list(dict.fromkeys(point for point in map(tuple, codes.tolist()) if point not in known))
