"""Export: a release as tables of one file, so that people ask with their own tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.kernel.errors import AlreadyThere, DocumentError, GoalMissed, UsageFault
from dpqr.models.fit.evidence import EarlierTables, gather, merge_measurements
from dpqr.models.fit.local_fits import put_together
from dpqr.published.checks import files as require_same_files
from dpqr.published.evidence import NotChecked, ReleaseEvidence, VerifyRequest, release_files
from dpqr.published.verify import require_verified, verify
from dpqr.releases.files.answer_tables import figures_of, read_answers_frame, read_synthetic_frame
from dpqr.releases.files.atomic import SingleFile, reserve_file
from dpqr.releases.files.read_release import ReleaseFiles, read_figures
from dpqr.releases.files.tidy import arrow_table
from dpqr.releases.loop import Outcome
from dpqr.releases.record.parts import whole_price
from dpqr.releases.requests import ExistingForm
from dpqr.releases.start import start_bytes
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.record_count import measured_total

OPTION = "--duckdb"


class ExportRequest(Struct, frozen=True, kw_only=True):
    """A release, by its directory, and the file that it shall become. if_exists: what becomes of a file there."""

    release: str
    duckdb: str
    if_exists: ExistingForm = "fail"


class ExportResult(Struct, frozen=True, kw_only=True):
    """What was written. tables: their rows, by name; none where the file held this release already. notes: what is
    missing, and why."""

    path: str
    tables: Mapping[str, int]
    notes: tuple[str, ...] = ()


def export(request: ExportRequest) -> ExportResult:
    """Write a release as a DuckDB file: answers, figures, columns, cells, synthetic rows, facts.

    Raises:
        UsageFault: there is no release, or the file cannot be written.
        AlreadyThere: something lies there that is not to be replaced.
        GoalMissed: the release's files were changed.

    Privacy:
        Public files only.
    """
    files = release_files(request.release)
    with TemporaryDirectory(prefix="dpqr-export-") as scratch:
        evidence = ReleaseEvidence(VerifyRequest(release=request.release), Path(scratch))
        seal = str(evidence.document.get(SEAL))
        replaced = _looked_at(request, seal)
        if replaced is None:
            return ExportResult(path=request.duckdb, tables={}, notes=(f"{request.duckdb} holds this release already",))
        place = reserve_file(request.duckdb, force=replaced, option=OPTION)
        notes = []
        try:
            require_same_files(evidence)
        except NotChecked as reason:
            notes.append(f"files were not compared: {reason}")
        tables = {"answers": answers_of(files)}
        if figures := read_figures(files):
            tables["figures"] = figures_table_of(figures)
        tables["columns"] = columns_of(files.record)
        try:
            tables["cells"] = cells_of(evidence.plan.problem.domain)
        except (NotChecked, GoalMissed) as reason:  # the record does not tell the domain
            notes.append(f"no table of cells: {reason}")
        try:
            tables["synthetic"] = synthetic_of(files)
        except DocumentError:
            notes.append("no table of synthetic rows: the release holds none; make it with --synthetic rows")
        tables[FACTS] = facts_table(files.record)
    write_duckdb(place, tables)
    return ExportResult(
        path=request.duckdb, tables={name: len(table) for name, table in tables.items()}, notes=tuple(notes)
    )


def _looked_at(request: ExportRequest, seal: str) -> bool | None:
    """Whether a file is to be replaced; None: it holds this release, and is passed over."""
    if request.if_exists == "fail" or not os.path.lexists(request.duckdb):
        return False
    held = exported_seal(Path(request.duckdb)) if os.path.isfile(request.duckdb) else None
    if held is None or os.path.islink(request.duckdb):
        raise AlreadyThere(f"{OPTION} {request.duckdb}: exists, and is no export of a release; choose another name")
    if request.if_exists == "skip" and held != seal:
        raise AlreadyThere(
            f"{OPTION} {request.duckdb}: holds another release; choose another name, or --if-exists replace"
        )
    return None if request.if_exists == "skip" else True


# The tables of an exported release, as Arrow tables of plain texts and figures.

PLAIN = ("version", "date", "publisher", "purpose", "by", "approved_by", "guarantee", "unit", "warning", "sha256")
"""Entries of the record that are facts as they stand."""


def answers_of(files: ReleaseFiles) -> pa.Table:
    """The answers, one row each, as in the file of answers. Raises: DocumentError."""
    return _plain(read_answers_frame(files))


def figures_table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Means, quantiles and the like, from the rows of their file."""
    return _without_categories(arrow_table(figures_of(rows)))


def synthetic_of(files: ReleaseFiles) -> pa.Table:
    """Synthetic rows or cells. Raises: DocumentError where there are none."""
    return _plain(read_synthetic_frame(files))


def columns_of(record: Mapping[str, Any]) -> pa.Table:
    """The columns of the domain in their order. own_cells: cells for null and the like."""
    columns = record["plan"]["domain"]["columns"]
    return pa.table(
        {
            "position": pa.array(range(len(columns)), pa.int64()),
            "name": pa.array([each["name"] for each in columns], pa.string()),
            "kind": pa.array([each["kind"] for each in columns], pa.string()),
            "cells": pa.array([each["cells"] for each in columns], pa.int64()),
            "own_cells": pa.array([", ".join(each["own_cells"]) for each in columns], pa.string()),
        }
    )


def cells_of(domain: Domain) -> pa.Table:
    """The cells of every column in their order, by the texts that answers show. own: for null and the like."""
    listed = [
        (attribute.name, place, title, place >= attribute.axis.size)
        for attribute in domain.attributes
        for place, title in enumerate(attribute.titles())
    ]
    kinds = {"column": pa.string(), "position": pa.int64(), "cell": pa.string(), "own": pa.bool_()}
    return pa.table(
        {name: pa.array([row[at] for row in listed], kind) for at, (name, kind) in enumerate(kinds.items())}
    )


def facts_table(record: Mapping[str, Any]) -> pa.Table:
    """Rows of `fact` and `value`: budget, unit, versions, hashes. A value that was not stated is missing."""
    facts = dict(_facts(record))
    values = [None if value is None else str(value) for value in facts.values()]
    return pa.table({"fact": pa.array(facts, pa.string()), "value": pa.array(values, pa.string())})


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    budget, ledger = whole_price(record["plan"]) or {}, record.get("ledger")
    for name in PLAIN:
        yield name, record.get(name)
    for name in ("epsilon", "delta"):
        yield name, budget[name]["exact"] if name in budget else None
    yield "dataset", ledger.get("dataset") if isinstance(ledger, dict) else None
    yield "plan sha256", record["plan"].get("sha256")
    for name, version in (record.get("versions") or {}).items():
        yield f"made with {name}", version
    for name, digest in (record.get("hashes") or {}).items():
        yield f"sha256 of {name}", digest
    for number, note in enumerate(record.get("trust") or (), 1):
        yield f"note {number}", note


def _plain(frame: Any) -> pa.Table:
    """Texts in place of categories."""
    return _without_categories(pa.Table.from_pandas(frame, preserve_index=False))


def _without_categories(table: pa.Table) -> pa.Table:
    kinds = [pa.string() if pa.types.is_dictionary(each.type) else each.type for each in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


# A DuckDB file of public tables, whole or not at all.

FACTS = "facts"
"""The table by which a file is known: rows of `fact` and `value`."""
SEAL = "sha256"
"""The fact that names the record which was exported."""


def write_duckdb(place: SingleFile, tables: Mapping[str, Any]) -> None:
    """Write Arrow tables by their names. Raises: UsageFault where the file cannot be written, or duckdb is lacking."""
    duckdb = _duckdb()

    def fill(path: Path) -> None:
        journal = path.with_name(f"{path.name}.wal")
        try:
            with closing(duckdb.connect(str(path))) as connection:
                for name, table in tables.items():
                    connection.register("exported", table)
                    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM exported')
                    connection.unregister("exported")
        except duckdb.Error as error:
            raise UsageFault(f"{place.given}: DuckDB cannot write it ({type(error).__name__})") from None
        finally:
            journal.unlink(missing_ok=True)

    place.write(fill)


def exported_seal(path: Path) -> str | None:
    """The SHA-256 of the record that a file was exported from; None where it is no such file."""
    duckdb = _duckdb()
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            found = connection.execute(f"SELECT value FROM {FACTS} WHERE fact = '{SEAL}'").fetchone()
    except duckdb.Error:
        return None
    return str(found[0]) if found else None


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageFault("--duckdb: the package duckdb writes it; install it by: pip install 'dpqr[duckdb]'") from None
    return duckdb


# Start: what a published release hands to a later one of the same domain, which starts from it.


def start_of(place: str) -> bytes:
    """The start file of a release on disk, which is verified first.

    Raises:
        UsageFault: there is no release, or one that has measured no table, or whose noise is not private.
        GoalMissed, LedgerError: it cannot be verified.

    Privacy:
        Post-processing of its record. A rehearsal and a release without private noise are refused: the one knows
        nothing, and of the other nobody may know.
    """
    record = release_files(place).record
    if record.get("rehearsal") or not record.get("private"):
        raise UsageFault(f"--start {place}: is a rehearsal, or has noise that is not private; give a release")
    require_verified(verify(VerifyRequest(release=place)))
    with TemporaryDirectory(prefix="dpqr-start-") as scratch:
        evidence = ReleaseEvidence(VerifyRequest(release=place), Path(scratch))
        try:
            domain, plan = evidence.planned_from["domain"], evidence.plan
        except NotChecked as reason:
            raise UsageFault(f"--start {place}: cannot be started from: {reason}") from None
        tables = handed_on(plan.problem, evidence.outcome, str(record["sha256"]))
    if tables is None:
        raise UsageFault(f"--start {place}: has measured no table of columns, or no records; leave --start out")
    return start_bytes(tables, plan.problem.domain.names, domain)


def handed_on(problem: Problem, outcome: Outcome, sha256: str) -> EarlierTables | None:
    """The marginals that a run has measured, and those that it has started from, as far as its own draws leave them
    alive. None: it has measured none, or no records.

    Args:
        sha256: of the release.
    """
    history = outcome.transcript.measurements
    records = float(problem.n) if problem.n is not None and problem.unit.rows_public else measured_total(history)
    if records is None or records < 1.0:
        return None
    seen = put_together(gather(history, problem.domain.shape), records)
    whole = merge_measurements([*seen, *(problem.start.aged(seen, records) if problem.start else ())])
    tables = tuple(each for each in whole if each.block is None)
    return EarlierTables(sha256=sha256, records=records, tables=tables) if tables else None
