"""Export: a release as tables of one file, so that people ask with their own tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dpqr.app.requests import ExistingForm
from dpqr.app.verifying.checks_of_record import files as require_same_files
from dpqr.app.verifying.evidence import Evidence, NotChecked, VerifyRequest, release_files
from dpqr.data.domain import Domain
from dpqr.errors import AlreadyThere, DocumentError, GoalMissed
from dpqr.io.outputs.answer_tables.duckdb_file import FACTS, SEAL, exported_seal, write_duckdb
from dpqr.io.outputs.answer_tables.export_tables import (
    answers_of,
    cells_of,
    columns_of,
    facts_table,
    figures_table_of,
    synthetic_of,
)
from dpqr.io.outputs.atomic import reserve_file
from dpqr.io.outputs.releases.read_answers import read_figures
from dpqr.io.outputs.releases.read_release import ReleaseFiles

OPTION = "--duckdb"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """A release, by its directory, and the file that it shall become. if_exists: what becomes of a file there."""

    release: str
    duckdb: str
    if_exists: ExistingForm = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written. tables: their rows, by name; none where the file held this release already. notes: what is
    missing, and why."""

    path: str
    tables: Mapping[str, int]
    notes: tuple[str, ...] = ()


def export(request: ExportRequest) -> Exported:
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
        evidence = Evidence(VerifyRequest(release=request.release), Path(scratch))
        seal = str(evidence.document.get(SEAL))
        replaced = _looked_at(request, seal)
        if replaced is None:
            return Exported(path=request.duckdb, tables={}, notes=(f"{request.duckdb} holds this release already",))
        place = reserve_file(request.duckdb, force=replaced, option=OPTION)
        notes = list(_unchanged(evidence))
        tables = dict(_tables(files, _domain(evidence, notes), notes))
    write_duckdb(place, tables)
    return Exported(
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


def _unchanged(evidence: Evidence) -> Iterator[str]:
    """GoalMissed where a file is not what the record was written for."""
    try:
        require_same_files(evidence)
    except NotChecked as reason:
        yield f"files were not compared: {reason}"


def _domain(evidence: Evidence, notes: list[str]) -> Domain | None:
    """The cells of the release; None where its record does not tell them."""
    try:
        return evidence.plan.problem.domain
    except (NotChecked, GoalMissed) as reason:
        notes.append(f"no table of cells: {reason}")
        return None


def _tables(files: ReleaseFiles, domain: Domain | None, notes: list[str]) -> Iterator[tuple[str, Any]]:
    yield "answers", answers_of(files)
    if figures := read_figures(files):
        yield "figures", figures_table_of(figures)
    yield "columns", columns_of(files.record)
    if domain is not None:
        yield "cells", cells_of(domain)
    try:
        yield "synthetic", synthetic_of(files)
    except DocumentError:
        notes.append("no table of synthetic rows: the release holds none; make it with --synthetic rows")
    yield FACTS, facts_table(files.record)
