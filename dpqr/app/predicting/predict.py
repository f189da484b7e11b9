"""Predict: plan, read the points, open the table, release predictions or a function; apply a released function."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from dpqr.app.paying.bill import Bill, require_affordable
from dpqr.app.paying.paid_run import PaidRun, paid_run
from dpqr.app.predicting.draws import drawn
from dpqr.app.predicting.planning import settled_prediction, wanted_prediction
from dpqr.app.releasing.locked_plan import require_unchanged
from dpqr.app.releasing.public_request import prediction_inputs
from dpqr.app.releasing.reading import Reading, bound, charging, count_column, reading, require_named
from dpqr.app.releasing.rehearse import rehearsed_examples, rehearsed_rows
from dpqr.app.requests import ModelRequest, PredictionRequest
from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.data.unit import Neighbours
from dpqr.errors import UsageFault
from dpqr.io.documents.domains.domain import domain_text, read_domain
from dpqr.io.outputs.answer_tables.tidy import Tidy
from dpqr.io.outputs.atomic import SingleFile, reserve_file
from dpqr.io.outputs.records.drawn import drawn_digest
from dpqr.io.outputs.records.plan_document import SEAL, sealed
from dpqr.io.outputs.records.prediction_document import model_document, prediction_document, prediction_plan_document
from dpqr.io.outputs.releases.prediction_files import (
    predictions_table,
    read_model,
    record_path,
    table_form,
    write_document,
    write_predictions,
)
from dpqr.io.outputs.releases.read_release import prediction_record
from dpqr.io.tables.load import LoadedTable, load_table
from dpqr.io.tables.points import documents_apart, read_points, require_public
from dpqr.io.tables.structure import check_table, require_places, require_single_rows
from dpqr.noise.source import NoiseSource, SystemNoise
from dpqr.prediction.bounds.outlook import Outlook, outlook
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import FunctionForm
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.planner import PlannerInput
from dpqr.prediction.problem import read_target, without
from dpqr.prediction.release import PredictionRelease
from dpqr.privacy.accountants.known import PREDICTING, available
from dpqr.privacy.budget import Pricing
from dpqr.privacy.policy import Policy
from dpqr.privacy.reason import Reason
from dpqr.report.prediction_view import prediction_receipt


class Progress(Protocol):
    """Watches a run: called with the percentage of the table that is read (`Percent`)."""

    def read(self, percent: int) -> None: ...


def planned_prediction(request: PredictionRequest) -> tuple[PredictionPlan, Outlook]:
    """The plan, with as many predictions as the points have rows, and what else its budget would buy.

    The private table is not opened. Raises: DpqrError where the ledger or the output path would refuse the run.
    """
    plan, held, wanted = checked_prediction(request)
    if request.place is not None:
        _reserved(request.place, plan.problem.points is None)
    bill = prediction_bill(plan, held.policy, request.reason)
    require_affordable(request.payer, bill, locked=request.locked is not None)
    return plan, outlook(plan, wanted.planner)


def checked_prediction(request: PredictionRequest) -> tuple[PredictionPlan, Reading, Wanted]:
    """The plan of a request, which is the locked one where it names one, and how the table is read."""
    wanted = wanted_run(request)
    plan, held = as_read(settled_prediction(wanted.planner), wanted.request)
    return plan, held, wanted


def predict(request: PredictionRequest, progress: Progress, *, noise: NoiseSource | None = None) -> PredictionRelease:
    """One prediction run, from documents to files on disk.

    Order: source, documents, points, plan, output paths, and the budget's policy, approval and balance are checked;
    then an engine is connected and the table's structure is looked at; then the budget is reserved, durably where a
    ledger pays; then rows are looked at.

    Args:
        request: table, points, plan, output and payer.
        progress: is called with the part of the table that is read.
        noise: the operating system's, unless a test passes another.

    Privacy:
        The plan's budget for one run, for the unit that the plan names.
    """
    payer = None if request.rehearse else request.payer
    if payer and noise and not noise.private:
        raise UsageFault("a ledger pays for private noise only, and this source is for tests")
    if payer and payer.resume:
        raise UsageFault("--resume: a prediction run keeps no transcript; what a killed one reserved stays spent")
    if request.plan.session:
        raise UsageFault("--plan: is of a session; `dpqr predict open NAME DATA --plan FILE` follows it")
    plan, held, wanted = checked_prediction(request)
    codes = wanted.codes
    files, domain = _reserved(request.place, codes is None), domain_text(request.plan.domain or "")
    if isinstance(plan.recipe, Aggregate):
        plan.recipe.base.rehearse()
    bill, source = prediction_bill(plan, held.policy, request.reason), noise or SystemNoise()
    with paid_run(payer, bill, None, ready=lambda: check_input(request, plan, held, bill)) as run:
        if request.rehearse:
            table = rehearsed_examples(plan, held.limits)
        else:
            table = opened_table(plan, held, run, progress, source)
        finished = drawn(plan, table.counts, codes, run.guard, source, prices(plan))
        rehearsed = rehearsed_rows(plan.problem) if request.rehearse else None
        reason = run.paid.reason if run.paid else request.reason
        released = replace(finished, paid=run.paid, reason=reason, rehearsed=rehearsed)
        record = _write(released, files, domain)
        run.released(drawn_digest(record) if record else "")
    return released


def prices(plan: PredictionPlan) -> dict[str, Fraction | None]:
    """What each accountant proves for all draws of the plan."""
    return {name: one.epsilon(plan.events, plan.budget.delta) for name, one in available(PREDICTING).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """Predictions of a released function: labels, or numbers in the target's unit, shape (points,). scores: of the
    positive label, where there is one. record: of the run that released the function."""

    predictions: AnyArray
    scores: FloatArray | None
    record: dict[str, Any]

    @property
    def table(self) -> Tidy:
        """One row a point."""
        return predictions_table(self.predictions, self.scores)


def apply_model(request: ModelRequest) -> Applied:
    """A released function applied to any points, free of charge; the predictions are written where a file is named."""
    model = read_model(request.model)
    target = reserve_file(request.out) if request.out else None
    if target:
        table_form(target.given)
    codes = read_points(request.points, model.columns, request.limits)
    scores = model.scores(codes) if model.classifies else None
    applied = Applied(
        predictions=model.predictions(codes), scores=scores, record=prediction_record(request.model) or {}
    )
    if target:
        write_predictions(target, applied.table)
    return applied


def released_table(release: PredictionRelease) -> Tidy:
    """One row a point, as the files hold it."""
    return predictions_table(release.predictions, release.scores, release.plan.releases)


def session_files(out: str | None) -> tuple[SingleFile, ...]:
    """The places of a session's predictions and their record. Raises: AlreadyThere, UsageFault."""
    return _reserved(out, function=False)


def write_session(released: PredictionRelease, points: Tidy, files: tuple[SingleFile, ...]) -> dict[str, Any] | None:
    """The points of a session with their predictions, and the record beside them, which is returned, where they have
    places."""
    table = released_table(released)
    if not files:
        return None
    return _write_with_record(released, files, Tidy(table.rows, {**points.columns, **table.columns}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """request: with all that it does not state itself. codes: of the points, None where there are none to read."""

    request: PredictionRequest
    planner: PlannerInput
    codes: AnyArray | None


def wanted_run(request: PredictionRequest) -> Wanted:
    """What the plan is made for, and the points."""
    request = replace(request, table=bound(request.table, request.payer))
    with documents_apart(request.table):
        codes = _points(request)
        asked = replace(request.plan, counts=count_column(request.table, request.payer))
        if request.locked is None:
            asked = replace(asked, accountant=charging(asked, request.payer))
        if codes is not None:
            asked = replace(asked, predictions=len(codes))
        return Wanted(request=replace(request, plan=asked), planner=wanted_prediction(asked), codes=codes)


def as_read(plan: PredictionPlan, request: PredictionRequest) -> tuple[PredictionPlan, Reading]:
    """The plan with what it was made from, and with the bits that the exit code reveals beside it; and how the table is
    read. DocumentError: it is not the locked one."""
    locked = request.locked is not None
    held = reading(request.table, request.limits, plan.problem.domain, request.payer, locked=locked)
    inputs = prediction_inputs(request, held)
    plan = replace(plan, notes=(*request.notes, *plan.notes, *held.bits), inputs=inputs)
    if request.locked:
        require_unchanged(request.locked, prediction_plan_document(plan))
        plan = replace(plan, inputs=replace(inputs, locked=request.locked))
    return plan, held


def _points(request: PredictionRequest) -> AnyArray | None:
    """Codes of the points; None where there are none to read. UsageFault for points of the private table."""
    asked = request.plan
    if request.points is None or asked.domain is None:
        return None
    if asked.form == "function":
        raise UsageFault("--points: a function is released for all points at once; apply it with --model FILE")
    domain = read_domain(asked.domain)
    require_public(request.points, request.table)
    target = read_target(domain, asked.target, asked.positive)
    return read_points(request.points, without(domain, target), request.limits)


def check_input(request: PredictionRequest, plan: PredictionPlan, held: Reading, bill: Bill) -> None:
    """The table's structure. A rehearsal has no table: it is held off a budget that could not pay."""
    if request.rehearse:
        require_affordable(request.payer, bill)
        return
    require_named(held.source)
    check_table(held.source, plan.problem.domain, held.limits, plan.problem.unit)
    if plan.parts is not None or plan.ordered:
        require_single_rows(held.source)
    if plan.ordered:
        require_places(held.source)


def _reserved(out: str | None, function: bool) -> tuple[SingleFile, ...]:
    """The places of the predictions and their record, or of the model."""
    if out is None:
        if function:
            raise UsageFault("--release function needs a place for the model: add --out FILE")
        return ()
    if function:
        return (reserve_file(out),)
    table_form(out)
    return reserve_file(out), reserve_file(record_path(out))


def prediction_bill(plan: PredictionPlan, policy: Policy, reason: Reason) -> Bill:
    """The bill of a run."""
    return Bill(
        events=plan.events,
        unit=plan.problem.unit,
        pricing=Pricing(accountant=plan.accountant.name, delta=plan.budget.delta),
        guard=lambda: plan.accountant.guard(plan.budget, plan.events),
        note="predict",
        plan=str(prediction_plan_document(plan)[SEAL]),
        policy=policy,
        reason=reason,
    )


def opened_table(
    plan: PredictionPlan, held: Reading, run: PaidRun, progress: Progress, noise: NoiseSource
) -> LoadedTable:
    """The private table, sealed."""
    problem = plan.problem
    run.look(held.source)
    return load_table(
        held.source,
        problem.domain,
        held.limits,
        unit=problem.unit,
        noise=noise,
        declared=problem.records if problem.unit.neighbours is Neighbours.REPLACE else None,
        parts=plan.parts,
        slots=plan.ordered,
        progress=progress.read,
    )


def _write(released: PredictionRelease, files: tuple[SingleFile, ...], domain: str) -> dict[str, Any] | None:
    """The model, or the predictions and then the record that says what they are worth; that record. domain: its file's
    text, read before anything was paid for."""
    if not files:
        return None
    if isinstance(released.plan.form, FunctionForm):
        model = sealed(model_document(released, domain, prediction_receipt(released)))
        write_document(files[0], model)
        return model
    return _write_with_record(released, files, released_table(released))


def _write_with_record(released: PredictionRelease, files: tuple[SingleFile, ...], table: Tidy) -> dict[str, Any]:
    """The predictions, and then the record, which holds their hash and is returned."""
    write_predictions(files[0], table)
    document = prediction_document(released, prediction_receipt(released))
    hashes = {files[0].path.name: hashlib.sha256(files[0].path.read_bytes()).hexdigest()}
    record = sealed(document | {"hashes": hashes})
    write_document(files[1], record)
    return record
