"""Predictions for points that come one at a time under one budget: open a session, ask, look at it, close it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from dpqr.app.paying.bill import Bill, require_affordable
from dpqr.app.predicting.draws import bought
from dpqr.app.predicting.predict import (
    check_input,
    checked_prediction,
    opened_table,
    prediction_bill,
    session_files,
    write_session,
)
from dpqr.app.predicting.turn import KIND, distinct, stated_predictions
from dpqr.app.releasing.reading import Reading, bound, require_named
from dpqr.app.releasing.release import Progress
from dpqr.app.requests import LedgerRequest, PredictionRequest
from dpqr.app.sessions.session import begun, closing, require_repeatable, stated, turn
from dpqr.errors import UsageFault
from dpqr.io.documents.domains.domain import domain_text
from dpqr.io.outputs.records.drawn import drawn_digest
from dpqr.io.outputs.records.prediction_document import prediction_guarantee
from dpqr.io.tables.points import read_points, require_public
from dpqr.io.tables.source import TableSource
from dpqr.noise.source import SystemNoise
from dpqr.prediction.bounds.outlook import Outlook, outlook
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.plan import PredictionPlan, deviation
from dpqr.prediction.release import PredictionRelease

NOTE = "prediction session"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPredictions:
    """A new session. run: table, plan and payer of its predictions; its plan says how many points are paid for, and
    may be a locked one of a session."""

    name: str
    run: PredictionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPredictions:
    """Points for a session. table: the private one, where it was opened from memory; None: the file that it was opened
    with."""

    name: str
    payer: LedgerRequest
    points: TableSource
    table: TableSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionStatus:
    """A session as it stands. All of it is public.

    points: paid for, and how many of them are left. noise: standard deviation of one prediction's noise, of a score or
    in the target's unit; None for labels by votes.
    """

    name: str
    dataset: str
    guarantee: str
    target: str
    learner: str
    points: int
    left: int
    noise: float | None

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningPlan:
    """A session on paper. read: how its table is read."""

    plan: PredictionPlan
    outlook: Outlook
    read: Reading
    bill: Bill


def planned_predictions(request: OpenPredictions) -> OpeningPlan:
    """The session on paper; no data is opened.

    Raises: UsageFault, DocumentError, InfeasiblePlan; BudgetRefused where the ledger would not pay for it.
    """
    run = replace(request.run, plan=replace(request.run.plan, session=True))
    plan, read, wanted = checked_prediction(run)
    bill = replace(prediction_bill(plan, read.policy, run.reason), note=NOTE)
    require_affordable(run.payer, bill, locked=run.locked is not None)
    return OpeningPlan(plan=plan, outlook=outlook(plan, wanted.planner), read=read, bill=bill)


def open_predictions(request: OpenPredictions, progress: Progress) -> PredictionStatus:
    """Pay for a session, and buy what its plan buys before the first point.

    Raises:
        DpqrError: of the kind that names the exit code. Once rows were looked at, the session stays paid.

    Privacy:
        The session's budget for all points together; it is paid in full before the table is opened. A session keeps no
        secret: parts, and the rows of persons, are drawn anew for each question, which `one_by_one` allows.
    """
    run = replace(request.run, table=bound(request.run.table, request.run.payer))
    require_named(run.table)
    require_repeatable(run.table)
    made = planned_predictions(replace(request, run=run))
    if run.payer is None:
        raise UsageFault("open: a session is paid from a ledger: add --dataset NAME (`dpqr budget init` makes one)")
    if isinstance(made.plan.recipe, Aggregate):
        made.plan.recipe.base.rehearse()
    require_affordable(run.payer, made.bill, locked=True)
    check_input(run, made.plan, made.read, made.bill)
    domain, noise = domain_text(run.plan.domain or ""), SystemNoise()
    with begun(request.name, run.payer, made.bill) as held:
        if made.plan.counting is None and made.plan.tuning is None:
            held.run.look(made.read.source)
        else:
            counts = opened_table(made.plan, made.read, held.run, progress, noise).counts
            bought(made.plan, counts, held.run.guard, noise, held.journal)
        held.folder.write(_document(request, made, domain, held.journal.number))
    return prediction_status(request.name, run.payer)


def ask_predictions(request: AskPredictions, progress: Progress) -> PredictionRelease:
    """Predict for every row of `points`, in their order. A point that was asked about before has the same answer again,
    free of charge.

    Raises:
        DpqrError: points that cannot be read, or of which too few are paid for, are refused before the table is opened.

    Privacy:
        Nothing beyond the session's reservation. Nothing is shown before its draw is on the disk. An error after rows
        were looked at leaves the session paid in full: what rows decide is an output.
    """
    with turn(request.name, request.payer) as held:
        session = stated_predictions(held)
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
    with turn(name, payer) as held:
        session = stated_predictions(held)
        plan, target = session.plan, session.plan.problem.target
        noise = deviation(plan, session.records)
        if noise is not None and target.numeric:
            low, high = target.bounds
            noise *= (high - low) / 2
        return PredictionStatus(
            name=name,
            dataset=held.paid.dataset,
            guarantee=prediction_guarantee(plan),
            target=target.attribute.name,
            learner=plan.recipe.name,
            points=session.paid,
            left=session.left,
            noise=noise,
        )


def close_predictions(name: str, payer: LedgerRequest, out: str | None) -> PredictionRelease | None:
    """End a session: write all its points with their predictions and the record, and give back what was not drawn.

    Returns:
        The release; None for a session whose opening did not end, or that predicted nothing: there is none to write.

    Raises:
        DpqrError: nothing was settled; the session is as it was.
    """
    files = session_files(out)
    with closing(name, payer, NOTE) as held:
        if not held.folder.is_opened:
            return None
        session = stated_predictions(held)
        if not session.answers:
            return None
        finished = session.release([each.number for each in session.answers])
        record = write_session(finished, session.points, files)
        held.drawn = drawn_digest(record) if record else ""
        return finished


def _document(request: OpenPredictions, made: OpeningPlan, domain: str, draws: int) -> dict[str, Any]:
    """What later processes need. Public."""
    asked, plan = request.run.plan, made.plan
    counts = plan.problem.unit.counted
    budget = {"epsilon": asked.epsilon, "delta": asked.delta or "0", "accountant": plan.accountant.name}
    kept = asdict(replace(asked, domain=None, accountant=plan.accountant.name, counts=counts))
    return {
        **stated(KIND, budget, made.read),
        "plan": kept,
        "domain": domain,
        "notes": list(plan.notes),
        "request": made.plan.inputs.request if made.plan.inputs else None,
        "draws": draws,
    }
