"""Release: plan, pay, open the table, run the Iterative Construction, write the release."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, Protocol

from dpqr.domain.histogram import Counts
from dpqr.domain.text.sources import public_documents
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.accountants.known import available
from dpqr.kernel.errors import AlreadyThere, DocumentError, UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Reservation
from dpqr.releases.counters import earlier_counts, paid_notes, require_files, with_first
from dpqr.releases.draws import Costs, Draws, count_dropped, measure_persons, priced_phases
from dpqr.releases.files.atomic import RECORD, ReleaseDirectory, document_text, reserve, write_text
from dpqr.releases.files.formats import FORMATS, write_table
from dpqr.releases.files.release_files import (
    CUMULATIVE,
    FIGURES_FILE,
    SYNTHETIC,
    VIEWS_FILE,
    answer_tables,
    figures_table,
    file_hash,
    require_sampleable,
    synthesise,
)
from dpqr.releases.files.views import release_views, require_views, views_table
from dpqr.releases.forecast.resources import Resources, require_resources
from dpqr.releases.loop import Observer, iterative_construction
from dpqr.releases.paying import (
    PaidRun,
    is_published,
    paid_run,
    release_bill,
    require_affordable,
    transcript_path,
    waiting_receipt,
)
from dpqr.releases.planning import plan_with_documents
from dpqr.releases.reading import (
    TableReading,
    charging_accountant,
    count_column,
    public_inputs,
    require_source,
    resolve_reading,
    resolve_source,
    with_document_notes,
)
from dpqr.releases.receipt import receipt
from dpqr.releases.record.parts import draws_digest
from dpqr.releases.record.plan_document import plan_document
from dpqr.releases.record.release_document import Views, draw_parts, release_document
from dpqr.releases.requests import LedgerRequest, OutputRequest, ReleaseRequest
from dpqr.releases.result import FinishedRun, assemble
from dpqr.releases.start import start_name
from dpqr.strategies.plan import Plan
from dpqr.tables.load import LoadedTable, load_table
from dpqr.tables.points import refuse_table_as_document
from dpqr.tables.structure import check_table
from dpqr.workload.queries_file import QueriesDocument

if TYPE_CHECKING:
    from dpqr.releases.files.read_release import ReleaseFiles

Prices = tuple[dict[str, Fraction | None], Costs]
"""Epsilon of the whole schedule under every accountant, and the costs of each of its phases."""


class ReleaseObserver(Observer, Protocol):
    """Observer of a release, also notified of the percentage of the table that has been read (`Percent`)."""

    def read(self, percent: int) -> None: ...


def dry_run(request: ReleaseRequest) -> tuple[Plan, Resources]:
    """The plan of a release, with its time and memory.

    Raises:
        DpqrError: where `release` would refuse the run before it opens the table, with the same exit code. The ledger
            is read, never written.
    """
    began = process_time()
    plan, held = checked_plan(request)
    planning = process_time() - began
    _reserve_directory(request.output, request.payer)
    _require_output(plan, request.output)
    earlier_counts(request, plan)
    bill = replace(release_bill(plan, held.policy, held.source.encoding), reason=request.reason)
    require_affordable(request.payer, bill, locked=request.locked is not None)
    return plan, Resources.of(plan, request.output, planning=planning)


def plan_without_output_checks(request: ReleaseRequest) -> Plan:
    """The plan alone, without checks of the output or of the remaining budget. Raises: DpqrError."""
    return checked_plan(request)[0]


def checked_plan(request: ReleaseRequest) -> tuple[Plan, TableReading]:
    """The plan of a request, and how its table is read. A request that names a locked plan must lead to that plan."""
    if request.plan.questions is not None:
        raise UsageFault("--plan: is of a session; `dpqr interactive open NAME DATA --plan FILE` follows it")
    request = with_first(replace(request, source=resolve_source(request.source, request.payer)))
    options = replace(request.plan, counts=count_column(request.source, request.payer))
    if request.locked is None:
        options = replace(options, accountant=charging_accountant(options, request.payer))
    with refuse_table_as_document(request.source):
        plan, document = plan_with_documents(options)
    if request.output.synthetic:
        require_sampleable(plan, request.output.synthetic)
    require_files(request.source, plan.problem.period)
    source = replace(request.source, period=plan.problem.period)
    held = resolve_reading(
        source, request.limits, plan.problem.domain, request.payer, locked=request.locked is not None
    )
    spoken = with_document_notes(request.notes, document)
    inputs = public_inputs(replace(request, plan=options, notes=spoken), held, document)
    # Notes on what the budget's periods are charged. A continued run repeats the notes of its beginning.
    directory, payer = request.output.directory, request.payer
    resumed = payer is not None and payer.resume and directory is not None
    before = waiting_receipt(Path(os.path.abspath(directory or "")), payer) if resumed else None
    paying = tuple(paid_notes(payer, plan.problem.period, before))
    plan = replace(plan, notes=tuple(dict.fromkeys((*spoken, *plan.notes, *held.bits, *paying))), inputs=inputs)
    if request.locked:
        from dpqr.releases.locked_plan import require_noted, require_unchanged  # not needed by other runs

        require_unchanged(request.locked, plan_document(plan))
        require_noted(request.locked, paying)
        plan = replace(plan, inputs=replace(inputs, locked=request.locked))
    return plan, held


def release(
    request: ReleaseRequest,
    progress: ReleaseObserver,
    *,
    planned: Callable[[Plan], None] = lambda _: None,
    noise: NoiseSource | None = None,
) -> FinishedRun:
    """One private release, from documents to files on disk.

    Order: everything public is checked first: the source, documents, plan, memory, output path, and the budget's
    policy, approval and balance. Then an engine is connected, and the table's structure is looked at. Then the budget
    is reserved, durably where a ledger pays. Then the table's rows are read.

    Args:
        request: table, plan, output and payer.
        progress: is called with the part of the table that is read, and with every finished round.
        planned: is called with the plan, and may still refuse.
        noise: the operating system's, unless a test passes another.

    Raises:
        DpqrError: of the kind that names the exit code; `paid_run` says what becomes of the reservation.

    Privacy:
        The plan's budget, for one run and the plan's privacy unit. Only a ledger adds up the costs of several runs on a
        dataset. The unit follows from the source's own count column, whatever the request states.
    """
    # With today's date, where none is stated. It is taken before the table is opened, so no row can influence it.
    request = request if request.date else replace(request, date=datetime.now(UTC).date().isoformat())
    output, payer = request.output, None if request.rehearse else request.payer
    if payer and noise and not noise.private:
        raise UsageFault("a ledger pays for private noise only, and this source is for tests")
    plan, held = checked_plan(request)
    rehearsed = None
    if request.rehearse:
        from dpqr.releases.rehearsal import rehearsed_rows, rehearsed_table, require_rehearsable

        rehearsed = rehearsed_rows(plan.problem)
    planned(plan)
    target, prices, earlier = _reserve_directory(output, payer), price_schedule(plan), earlier_counts(request, plan)
    _require_output(plan, output)
    bill = replace(release_bill(plan, held.policy, held.source.encoding), reason=request.reason)

    def check_input() -> None:
        """Check the table's structure. A rehearsal opens no table: its output and its budget are checked instead."""
        if request.rehearse:
            require_rehearsable(request)
            require_affordable(request.payer, bill)
        else:
            require_source(held.source)
            check_table(held.source, plan.problem.domain, held.limits, plan.problem.unit)

    with paid_run(payer, bill, target.path if target else None, ready=check_input) as run:
        source = noise or SystemNoise()
        table = (
            rehearsed_table(plan.problem, held.limits, plan.persons)
            if rehearsed
            else _open_table(plan, run, held, progress, source)
        )
        draws = Draws(data=table.counts, accountant=run.guard, noise=source, journal=run.journal)
        drawn = construct(plan, draws, table.dropped, table.persons, run.guard, progress, prices, run.paid)
        # With the facts of the request that stand in the record.
        finished = replace(
            drawn,
            reason=run.paid.reason if run.paid else request.reason,
            date=request.date,
            publisher=request.publisher,
            rehearsed=rehearsed,
            planned=bill.plan,
            earlier=earlier,
            charged=run.charged,
        )
        digest = draws_digest(draw_parts(finished))
        if target:
            write_release(finished, target, output)
        run.released(digest)
    return finished


def save(finished: FinishedRun, output: OutputRequest) -> None:
    """Write a release that was made without a directory. Raises: UsageFault, InfeasiblePlan."""
    if output.synthetic:
        require_sampleable(finished.plan, output.synthetic)
    target = _reserve_directory(output, None)
    if target:
        write_release(finished, target, output)


def file_names(output: OutputRequest, *, rehearsal: bool, figures: bool = False, cumulative: bool = False) -> list[str]:
    """The files beside the record: answers, synthetic data, figures, views, cumulative answers. A rehearsal's are no
    release's by their names."""
    named = [f"answers.{output.format}", *([SYNTHETIC] if output.synthetic else [])]
    more = ((FIGURES_FILE, figures), (VIEWS_FILE, output.views is not None), (f"{CUMULATIVE}.", cumulative))
    named += [f"{name}{output.format}" for name, held in more if held]
    return [f"rehearsal-{name}" for name in named] if rehearsal else named


def write_release(finished: FinishedRun, target: ReleaseDirectory, output: OutputRequest) -> None:
    """Write every file of a release into `target`; they appear together or not at all. Raises: UsageFault."""
    drawn = synthesise(finished, output.synthetic, output.bins) if output.synthetic else None
    views = None if output.views is None else release_views(finished, output.views)
    cumulative = None
    if finished.plan.problem.turn:
        from dpqr.releases.files.answer_tables import cumulative_table  # not needed by releases of no counter

        cumulative = cumulative_table(finished)
    tables = [figures_table(finished)] if finished.figures else []
    tables += [views_table(views)] if views else []
    tables += [cumulative] if cumulative else []
    files = file_names(
        output, rehearsal=finished.rehearsal, figures=bool(finished.figures), cumulative=cumulative is not None
    )
    synthesis = drawn.record if drawn else None
    inputs = finished.plan.inputs.files if finished.plan.inputs else {}
    with target.filled() as place:
        for name, content in inputs.items():
            (place / name).write_bytes(content)
        FORMATS[output.format].files.write(answer_tables(finished), place / files[0])
        if drawn:
            from dpqr.releases.files.tidy import write_parquet

            write_parquet(iter((drawn.table,)), place / files[1])
        for table, name in zip(tables, files[len(files) - len(tables) :], strict=True):
            write_table(table, place / name, output.format)
        hashes = {name: file_hash(place / name) for name in (*files, *inputs)}
        moved = None if views is None else Views(base=views.base, bias=tuple(views.bias))
        record = release_document(finished, files=hashes, synthetic=synthesis, views=moved, receipt=receipt(finished))
        write_text(place / RECORD, document_text(record))


def _reserve_directory(output: OutputRequest, payer: LedgerRequest | None) -> ReleaseDirectory | None:
    """The directory of the release. A run that was killed after it had published may replace its own files."""
    if output.directory is None:
        return None
    place, resumed = Path(os.path.abspath(output.directory)), payer is not None and payer.resume
    again = resumed and is_published(place)
    if resumed and not again and output.if_exists != "replace" and place.is_dir():
        transcript = transcript_path(place)
        if not transcript.exists():
            raise AlreadyThere(
                f"--resume: {output.directory} is there, and no killed release waits; leave --resume out"
            )
        raise AlreadyThere(
            f"--resume: {output.directory} is not known to be the release of {transcript}, which may have been cut\n"
            "if it is an older release, which shall be replaced, add --if-exists replace; else move it away"
        )
    return reserve(output.directory, force=output.if_exists == "replace" or again)


def _require_output(plan: Plan, output: OutputRequest) -> None:
    """Refuse a run without the memory or disk space that it needs, or with views that its workload cannot have."""
    require_resources(plan, output)
    if output.views:
        require_views(plan.problem.workload, plan.problem.domain)


def _open_table(
    plan: Plan, run: PaidRun, held: TableReading, progress: ReleaseObserver, noise: NoiseSource
) -> LoadedTable:
    """The private table, sealed."""
    problem = plan.problem
    run.look(held.source)
    return load_table(
        held.source,
        problem.domain,
        held.limits,
        unit=problem.unit,
        noise=run.drawing(noise),
        declared=problem.declared,
        column_sets=plan.column_sets,
        persons=[table for table in (block.person_table for block in plan.persons) if table is not None],
        progress=progress.read,
    )


def construct(
    plan: Plan,
    draws: Draws,
    left_out: Private[Counts],
    persons: Private[Counts],
    guard: EveryFilter,
    progress: Observer,
    prices: Prices,
    paid: Reservation | None,
) -> FinishedRun:
    """Run the loop on the sealed counts. left_out: the records that the domain's rules left out. persons: the tables of
    persons."""
    spent, costs = prices
    dropped = count_dropped(draws.of_left_out(left_out), plan)
    people = measure_persons(draws.of_persons(persons), plan)
    outcome = iterative_construction(draws, plan, progress)
    return assemble(
        plan,
        outcome,
        spent,
        private=draws.noise.private,
        events=guard.events,
        dropped=dropped,
        persons=people,
        costs=costs,
        paid=paid,
    )


def price_schedule(plan: Plan) -> Prices:
    """Price the whole schedule and each of its phases under every installed accountant.

    The release states the price of the whole schedule, wherever the loop stops. It is computed before anything is
    charged, so a failure here costs nothing.
    """
    shown = {**available(), plan.roles.accountant.name: plan.roles.accountant}
    spent = {name: accountant.epsilon(plan.events, plan.budget.delta) for name, accountant in shown.items()}
    return spent, priced_phases(plan, shown)


# A finished release where another one shall go: what `--if-exists skip` passes over, free of charge.

REQUEST_KEYS = (
    "unit",
    "n",
    "most",
    "persons",
    "period",
    "counter",
    "budget",
    "domain",
    "workload",
    "seed",
    "accountant",
)
ROLES = ("schedule", "distinguisher", "check", "update")
"""Parts of a plan that say what was asked for, and strategies by name; the rest follows, and the version of dpqr."""


def already_released(request: ReleaseRequest) -> bool:
    """Whether the request is to be skipped, for its release lies there, finished. The table is not opened.

    Raises:
        AlreadyThere: something else lies there: no release, or one that answers another request.
        UsageFault: a killed release to that place waits for --resume.

    Privacy:
        Public: a function of the request and of a published record.
    """
    output, payer = request.output, request.payer
    given = output.directory
    if output.if_exists != "skip" or given is None or not os.path.isdir(given) or os.path.islink(given):
        return False
    # Whether a transcript lies beside the directory: of a job that was killed, or is at work.
    directory = Path(os.path.abspath(given))
    transcript = transcript_path(directory)
    if transcript.is_file() and transcript.stat().st_size > 0:
        if payer and payer.resume:
            return False
        raise UsageFault(f"--out {given}: a release to it is paid and not finished; --resume continues it")
    try:
        from dpqr.releases.files.read_release import read_release

        found = read_release(given)
    except (UsageFault, DocumentError):
        raise AlreadyThere(f"--out {given}: exists, and holds no finished release; choose another directory") from None
    if not _answers(found, request):
        raise AlreadyThere(
            f"--out {given}: holds a release of another request, or a rehearsal (compared are queries, domain, start, "
            "guarantee, strategies, files, base of views, dataset and source)\n"
            "choose another directory, or --if-exists replace"
        )
    return True


def _answers(found: ReleaseFiles, request: ReleaseRequest) -> bool:
    """Whether it is what the request would release."""
    payer, record = request.payer, found.record
    if bool(record.get("rehearsal")) != request.rehearse:
        return False
    output, views = request.output, record.get("views")
    files = file_names(output, rehearsal=request.rehearse, cumulative=request.plan.cumulative is not None)
    if output.views is not None and views and views["base"] != output.views:
        return False
    dataset = payer.dataset if payer and not request.rehearse else None
    request = with_first(replace(request, source=resolve_source(request.source, payer)))
    with refuse_table_as_document(request.source):
        plan, document = plan_with_documents(replace(request.plan, counts=count_column(request.source, payer)))
    return (
        set(files) <= set(record["files"])
        and found.dataset == dataset
        and _same_documents(record["plan"].get("request"), request, document)
        and _request_parts(record["plan"]) == _request_parts(json.loads(json.dumps(plan_document(plan))))
    )


def _same_documents(stated: Any, request: ReleaseRequest, document: QueriesDocument) -> bool:
    """Whether queries and domain say the same, entry by entry, the registered source is the same, and the release
    starts from the same earlier one; those of records before dpqr 0.4, which hold none, do."""
    if not isinstance(stated, dict):
        return True
    public, start = public_documents(document.sources), request.plan.start
    documents = {"queries": public.queries, "domain": public.domain}
    if stated.get("reading", {}).get("source") != request.source.digest:
        return False
    same = all(stated.get(name) == json.loads(json.dumps(value)) for name, value in documents.items())
    return same and stated.get("options", {}).get("start") == (None if start is None else start_name(start))


def _request_parts(plan: dict[str, Any]) -> list[Any]:
    return [*(plan.get(part) for part in REQUEST_KEYS), *(plan[role]["name"] for role in ROLES)]
