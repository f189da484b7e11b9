"""Predict: plan, read the points, open the table, release predictions or a function; apply a released function."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.domain.domain_file import domain_text, read_domain
from dpqr.kernel.accountants.known import PREDICTING, available
from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.budget import Pricing
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Reason
from dpqr.prediction.plan import COUNT, BoundedPlan, PaidTable, PredictionPlan
from dpqr.prediction.planner import PlannerInput, plan_prediction, planner_input
from dpqr.prediction.problem import read_target, without
from dpqr.prediction.rates import PlanAlternatives, plan_alternatives
from dpqr.prediction.receipt import prediction_receipt
from dpqr.prediction.record import (
    PredictionRelease,
    prediction_document,
    prediction_plan_document,
    predictions_table,
    read_model,
    table_form,
    write_document,
    write_predictions,
)
from dpqr.prediction.tuning import FACTORS
from dpqr.releases.draws import Journal, NoJournal
from dpqr.releases.files.atomic import SingleFile, reserve_file
from dpqr.releases.files.read_release import prediction_record
from dpqr.releases.files.tidy import Tidy
from dpqr.releases.locked_plan import require_unchanged
from dpqr.releases.paying import Bill, PaidRun, paid_run, require_affordable
from dpqr.releases.reading import (
    TableReading,
    charging_accountant,
    count_column,
    prediction_inputs,
    require_source,
    resolve_reading,
    resolve_source,
)
from dpqr.releases.record.parts import draws_digest, record_path
from dpqr.releases.record.plan_document import SEAL, seal_document
from dpqr.releases.rehearsal import drawn_rows, loaded_rows, rows_to_draw
from dpqr.releases.release import ReleaseObserver
from dpqr.releases.requests import ModelRequest, PredictionRequest
from dpqr.tables.limits import Limits
from dpqr.tables.load import LoadedTable, load_table
from dpqr.tables.points import read_points, refuse_table_as_document, require_public
from dpqr.tables.policy import Policy
from dpqr.tables.structure import check_table, require_places, require_single_rows


def planned_prediction(request: PredictionRequest) -> tuple[PredictionPlan, PlanAlternatives]:
    """The plan, with as many predictions as the points have rows, and what else its budget would buy.

    The private table is not opened. Raises: DpqrError where the ledger or the output path would refuse the run.
    """
    plan, held, wanted = checked_prediction(request)
    if request.place is not None:
        _reserve_files(request.place, plan.problem.points is None)
    bill = prediction_bill(plan, held.policy, request.reason)
    require_affordable(request.payer, bill, locked=request.locked is not None)
    return plan, plan_alternatives(plan, wanted.planner)


def checked_prediction(request: PredictionRequest) -> tuple[PredictionPlan, TableReading, ResolvedRun]:
    """The plan of a request, which is the locked one where it names one, and how the table is read."""
    wanted = resolve_run(request)
    plan, held = with_reading(plan_prediction(wanted.planner), wanted.request)
    return plan, held, wanted


def predict(
    request: PredictionRequest, progress: ReleaseObserver, *, noise: NoiseSource | None = None
) -> PredictionRelease:
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
    files, domain = _reserve_files(request.place, codes is None), domain_text(request.plan.domain or "")
    plan.recipe.rehearse()
    bill, source = prediction_bill(plan, held.policy, request.reason), noise or SystemNoise()
    with paid_run(payer, bill, None, ready=lambda: check_input(request, plan, held, bill)) as run:
        if request.rehearse:
            opened = rehearsed_examples(plan, held.limits)
        else:
            opened = open_table(plan, held, run, progress, source)
        table = PaidTable(counts=opened.counts, guard=run.guard, noise=source)
        spent = prices(plan)
        tuned, counted = draw_preliminaries(plan, table)
        numbers, figures = tuned.draw(table, codes, tuned.divisor(counted))
        released = PredictionRelease(
            plan=tuned,
            numbers=numbers,
            figures=figures,
            counted=counted,
            spent=spent,
            private=source.private,
            paid=run.paid,
            reason=run.paid.reason if run.paid else request.reason,
            rehearsed=rows_to_draw(plan.problem.domain, plan.problem.records) if request.rehearse else None,
        )
        # The predictions and then the record that says what they are worth, or the model, with the domain's file as it
        # was read before anything was paid for.
        record = None
        if files and released.pointwise:
            record = _write_with_record(released, files, released_table(released))
        elif files:
            record = seal_document(prediction_document(released, prediction_receipt(released), domain))
            write_document(files[0], record)
        run.released(draws_digest(record) if record else "")
    return released


def prices(plan: PredictionPlan) -> dict[str, Fraction | None]:
    """What each accountant proves for all draws of the plan."""
    return {name: one.epsilon(plan.events, plan.budget.delta) for name, one in available(PREDICTING).items()}


class AppliedFunction(Struct, frozen=True, kw_only=True):
    """Predictions of a released function: labels, or numbers in the target's unit, shape (points,).

    Attributes:
        scores: of the positive label, where there is one.
        record: of the run that released the function.
    """

    predictions: AnyArray
    scores: FloatArray | None
    record: dict[str, object]

    @property
    def table(self) -> Tidy:
        """One row a point."""
        return predictions_table(self.predictions, self.scores)


def apply_model(request: ModelRequest) -> AppliedFunction:
    """A released function applied to any points, free of charge; the predictions are written where a file is named."""
    model = read_model(request.model)
    target = reserve_file(request.out) if request.out else None
    if target:
        table_form(target.given)
    codes = read_points(request.points, model.columns, request.limits)
    scores = model.scores(codes) if model.classifies else None
    applied = AppliedFunction(
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
    return _reserve_files(out, function=False)


def write_session(released: PredictionRelease, points: Tidy, files: tuple[SingleFile, ...]) -> dict[str, object] | None:
    """The points of a session with their predictions, and the record beside them, which is returned, where they have
    places."""
    table = released_table(released)
    if not files:
        return None
    return _write_with_record(released, files, Tidy(table.rows, {**points.columns, **table.columns}))


class ResolvedRun(Struct, frozen=True, kw_only=True):
    """What a run is made of.

    Attributes:
        request: with all that it does not state itself.
        codes: of the points, None where there are none to read.
    """

    request: PredictionRequest
    planner: PlannerInput
    codes: AnyArray | None


def resolve_run(request: PredictionRequest) -> ResolvedRun:
    """What the plan is made for, and the points. UsageFault for points of the private table."""
    request = replace(request, table=resolve_source(request.table, request.payer))
    with refuse_table_as_document(request.table):
        plan, codes = request.plan, None
        if request.points is not None and plan.domain is not None:
            if plan.form == "function":
                raise UsageFault("--points: a function is released for all points at once; apply it with --model FILE")
            domain = read_domain(plan.domain)
            require_public(request.points, request.table)
            target = read_target(domain, plan.target, plan.positive)
            codes = read_points(request.points, without(domain, target), request.limits)
        plan = replace(plan, counts=count_column(request.table, request.payer))
        if request.locked is None:
            plan = replace(plan, accountant=charging_accountant(plan, request.payer))
        if codes is not None:
            plan = replace(plan, predictions=len(codes))
        return ResolvedRun(request=replace(request, plan=plan), planner=planner_input(plan), codes=codes)


def with_reading(plan: PredictionPlan, request: PredictionRequest) -> tuple[PredictionPlan, TableReading]:
    """The plan with what it was made from, and with the bits that the exit code reveals beside it; and how the table is
    read. DocumentError: it is not the locked one."""
    locked = request.locked is not None
    held = resolve_reading(request.table, request.limits, plan.problem.domain, request.payer, locked=locked)
    inputs = prediction_inputs(request, held)
    plan = replace(plan, notes=(*request.notes, *plan.notes, *held.bits), inputs=inputs)
    if request.locked:
        require_unchanged(request.locked, prediction_plan_document(plan))
        plan = replace(plan, inputs=replace(inputs, locked=request.locked))
    return plan, held


def check_input(request: PredictionRequest, plan: PredictionPlan, held: TableReading, bill: Bill) -> None:
    """The table's structure. A rehearsal has no table: it is held off a budget that could not pay."""
    if request.rehearse:
        require_affordable(request.payer, bill)
        return
    require_source(held.source)
    check_table(held.source, plan.problem.domain, held.limits, plan.problem.unit)
    if plan.parts is not None or plan.ordered:
        require_single_rows(held.source)
    if plan.ordered:
        require_places(held.source)


def _reserve_files(out: str | None, function: bool) -> tuple[SingleFile, ...]:
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
        learned=plan.problem.domain.learned,
    )


def open_table(
    plan: PredictionPlan, held: TableReading, run: PaidRun, progress: ReleaseObserver, noise: NoiseSource
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


def _write_with_record(released: PredictionRelease, files: tuple[SingleFile, ...], table: Tidy) -> dict[str, object]:
    """The predictions, and then the record, which holds their hash and is returned."""
    write_predictions(files[0], table)
    document = prediction_document(released, prediction_receipt(released))
    hashes = {files[0].path.name: hashlib.sha256(files[0].path.read_bytes()).hexdigest()}
    record = seal_document(document | {"hashes": hashes})
    write_document(files[1], record)
    return record


def draw_preliminaries(
    plan: PredictionPlan,
    table: PaidTable,
    journal: Journal = NoJournal(),  # noqa: B008 (frozen)
) -> tuple[PredictionPlan, int | None]:
    """What a plan buys before its predictions: the plan with the factor that was chosen, and the noisy count of
    records; None: it is declared, or nothing needs it."""
    counted = None
    if plan.counting is not None:
        journal.begin(plan.counter.event, (COUNT,))
        counted = int(table.draw(plan.counter).values[0][0])
        journal.record(counted)
    if isinstance(plan, BoundedPlan) and plan.tuning is not None:
        tuner = plan.tuner(plan.divisor(counted))
        ((event, _),) = tuner.events
        journal.begin(event, ())
        chosen = int(table.draw_together(tuner)[0])
        journal.record(chosen)
        plan = replace(plan, factor=FACTORS[chosen])
    return plan, counted


def rehearsed_examples(plan: PredictionPlan, limits: Limits) -> LoadedTable:
    """Rows drawn from the domain for a learner, whose plan may want parts or an order of the rows, as one more axis.

    Privacy:
        Public, a function of the plan.
    """
    problem = plan.problem
    shape, rows = problem.domain.shape, rows_to_draw(problem.domain, problem.records)
    if plan.ordered:
        slots = (problem.records or 0) * problem.unit.rows
        codes = drawn_rows(problem.domain, shape, rows, problem.seed)
        return loaded_rows((*shape, slots), [*codes, np.arange(rows)], limits)
    shape = shape if plan.parts is None else (*shape, plan.parts)
    return loaded_rows(shape, drawn_rows(problem.domain, shape, rows, problem.seed), limits)
