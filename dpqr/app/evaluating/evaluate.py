"""Evaluate: how far a release is from the truth. For public and synthetic tables only: the figures are exact."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dpqr.app.evaluating.requests import EvaluateRequest
from dpqr.app.planning.documents import write_new
from dpqr.app.planning.planning import read_documents
from dpqr.app.releasing.rehearse import rehearsed_table
from dpqr.data.arrays import FloatArray
from dpqr.data.domain import Domain, as_written
from dpqr.errors import BudgetRefused, GoalMissed, UsageFault
from dpqr.evaluation import Accuracy, Truth, compare, public_cells, true_answers
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.ledger.location import ledger_origin
from dpqr.io.outputs.releases.read_release import ReleaseFiles, payers, read_release, release_around
from dpqr.io.outputs.releases.release_files import SYNTHETIC
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table
from dpqr.privacy.ledger import DataKind, Ledger
from dpqr.report.page.evaluation_page import evaluation_page
from dpqr.report.page.likeness import Likeness, Rows, likeness
from dpqr.report.page.render import html, require_extra
from dpqr.strategies.problem import Problem

NOT_FOR_RELEASE = (
    "NOT FOR RELEASE: exact errors, without noise. They are for public or synthetic tables; of a private table they "
    "would be a disclosure that no budget covers."
)


def evaluate(request: EvaluateRequest, limits: Limits | None = None) -> Accuracy:
    """Compare a release, or rows, with the true table; every row of it counts, whatever the release's unit kept.

    Order: whether the tables may be looked at at all, then everything else that is public, then tables are opened.

    Returns:
        Errors of each block, worst first, in records.

    Raises:
        BudgetRefused: a dataset is private by the ledger.
        UsageFault, DocumentError, DataError: request, documents or tables are faulty.

    Privacy:
        None: exact errors. `require_public` decides by the names of datasets alone who may be evaluated.
    """
    limits = limits or Limits()
    require_public(request)
    if request.html:
        require_extra()
    files = _files(request)
    asked = read_documents(request.queries, request.domain)
    if files:
        files.require_same(asked.workload, asked.domain)
    answers = _rows(request, files, asked, limits) if request.rows else _answers(files, asked)
    found = compare(asked.workload.blocks, exact_answers(request.truth, asked, limits), answers)
    if request.html:
        alike = _alike(request, files, asked, limits) if request.rows else None
        write_new(request.html, html(evaluation_page(found, alike, NOT_FOR_RELEASE)), option="--html")
    return found


def _alike(request: EvaluateRequest, files: ReleaseFiles | None, asked: QueriesDocument, limits: Limits) -> Likeness:
    """How much alike the judged rows and the true ones are."""
    domain, path, _ = _judged(request, files, asked.domain)
    tables = ((request.truth, asked.domain), (request.table_at(path), domain))
    for source, over in tables:
        check_table(source, over, limits)
    true, given = (Rows(*public_cells(load_table(source, over, limits).counts)) for source, over in tables)
    return likeness(asked.domain, true, given)


class Claim(Protocol):
    """Says that tables are public, which a ledger may know better. sources: the tables, by what messages call them."""

    @property
    def dataset(self) -> str | None: ...
    @property
    def ledger(self) -> str | None: ...
    @property
    def anchor(self) -> str | None: ...
    @property
    def sources(self) -> Mapping[str, TableSource]: ...


def exact_answers(source: TableSource, asked: QueriesDocument, limits: Limits) -> Truth:
    """The true answers over a table that passed `require_public`. Raises: DataError."""
    check_table(source, asked.domain, limits)
    return true_answers(load_table(source, asked.domain, limits).counts, asked.workload.blocks)


def rehearsed_answers(problem: Problem, limits: Limits) -> Truth:
    """The true answers over the rows that a rehearsal of the same problem draws: they are public."""
    return true_answers(rehearsed_table(problem, limits).counts, problem.workload.blocks)


def require_public(request: Claim, environment: Mapping[str, str] = os.environ) -> None:
    """BudgetRefused where a ledger lists a table as private; UsageFault where a ledger does not know it.

    How a table is recognised: by name, the one that is given and those whose budgets paid for what lies there
    (`payers`), on either side: synthetic rows in the truth's place would disclose the errors as well. A table's content
    is not compared with anything: a ledger keeps no trace of tables, and a trace would itself be one of private data.
    Where no name is known and no ledger is configured, the caller is trusted.
    """
    paid = {name: path for path, source in request.sources.items() for name in payers(source)}
    names = [name for name in dict.fromkeys((request.dataset, *paid)) if name is not None]
    if names:
        _refuse_private(request, names, paid)
    origin = ledger_origin(request.ledger, environment) or (request.anchor and "--anchor")
    if request.dataset is None and origin:
        raise UsageFault(f"{origin} names a ledger, and not which dataset the true table is: add --dataset NAME")


def _refuse_private(request: Claim, names: list[str], paid: Mapping[str, str]) -> None:
    from dpqr.app.paying.budget import configured_ledger

    ledger = configured_ledger(request.ledger, request.anchor)
    for name in names:
        if _kind(ledger, name, None if name == request.dataset else paid[name]) is DataKind.PRIVATE:
            raise BudgetRefused(
                f"dataset {name!r} is private, by the ledger, and exact errors would disclose it; nothing was opened\n"
                "evaluate on public or synthetic data (dpqr budget init NAME --kind public)"
            )


def _kind(ledger: Ledger, name: str, path: str | None) -> DataKind:
    """The kind of a dataset, by the ledger. UsageFault where the ledger does not know it.

    path: what it paid for, where the name is known from a record; the fault then says so.
    """
    try:
        return ledger.account(name).terms.kind
    except UsageFault as fault:
        if path is None or "\n" in str(fault):
            raise
        paid = f"{path}: dataset {name!r} paid for this release; name its ledger with --ledger FILE"
        raise UsageFault(f"{fault}\n{paid}") from None


def require_goals(found: Accuracy, most_error: float | None, most_l1: float | None) -> None:
    """GoalMissed where the largest error of any answer, or the mean L1 error of a block, both over n, is above."""
    goals = (("--max-error", most_error, found.largest), ("--max-l1", most_l1, found.mean_l1))
    missed = [f"{name} {most:g}: it is {reached:.6g}" for name, most, reached in goals if most and reached > most]
    if missed:
        raise GoalMissed(f"the accuracy asked for is not reached, {' and '.join(missed)}")


def document(found: Accuracy, top: int | None) -> dict[str, Any]:
    """Plain JSON values."""
    return {"dpqr": "evaluation/1", "for_release": False, "notice": NOT_FOR_RELEASE, **found.document(top)}


def _files(request: EvaluateRequest) -> ReleaseFiles | None:
    """The release that is judged: the one that is named, or that holds the named file. None: a table of rows is judged.

    With --rows, of a release's files only its synthetic rows stand for it; another one is a table like any.
    """
    around = release_around(request.release)
    if not request.rows or os.path.isdir(request.release):
        return read_release(around or request.release)
    synthetic = around and os.path.join(around, SYNTHETIC)
    same = synthetic and os.path.exists(synthetic) and os.path.samefile(synthetic, request.release)
    return read_release(around) if around and same else None


def _answers(files: ReleaseFiles | None, asked: QueriesDocument) -> list[FloatArray]:
    assert files is not None, "answers are read from a release directory"
    ends = np.cumsum([block.rows for block in asked.workload.blocks])
    return np.split(files.estimates(int(ends[-1])), ends[:-1])


def _rows(
    request: EvaluateRequest, files: ReleaseFiles | None, asked: QueriesDocument, limits: Limits
) -> list[FloatArray]:
    """Answers counted from rows: a release's own, or those of a table with the domain's columns."""
    domain, path, records = _judged(request, files, asked.domain)
    counted = exact_answers(request.table_at(path), replace(asked, domain=domain), limits)
    return [answers * records for answers in counted.answers]


def _judged(request: EvaluateRequest, files: ReleaseFiles | None, domain: Domain) -> tuple[Domain, str, float]:
    """The judged rows: the domain as they are written, their path, and how many records a row stands for."""
    if files is None:
        return domain, request.release, 1.0
    place, titled, records = files.synthetic()
    return as_written(domain, titled=titled), str(place), records
