"""Evaluate: how far a release is from the truth. For public and synthetic tables only: the figures are exact."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpqr.app.planning import read_documents
from dpqr.data.arrays import FloatArray
from dpqr.data.attribute import Attribute, Labels
from dpqr.data.domain import Domain
from dpqr.errors import BudgetRefused, GoalMissed, UsageFault
from dpqr.evaluation.accuracy import Accuracy, compare
from dpqr.evaluation.exact import true_answers
from dpqr.io.documents.queries import QueriesDocument
from dpqr.io.ledger.location import ledger_origin
from dpqr.io.outputs.read_release import ReleaseFiles, payers, read_release, release_around
from dpqr.io.outputs.release_files import SYNTHETIC
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import load_table
from dpqr.io.tables.source import TableSource
from dpqr.io.tables.structure import check_table
from dpqr.privacy.ledger import DataKind, Ledger

NOT_FOR_RELEASE = (
    "NOT FOR RELEASE: exact errors, without noise. They are for public or synthetic tables; of a private table they "
    "would be a disclosure that no budget covers."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """truth, release: paths. rows: judge synthetic rows, the release's or a table's, instead of its answers.

    dataset: the truth's name in a ledger; ledger, anchor: paths, None: as configured. most_error, most_l1: goals for
    the largest error of any answer and for the mean L1 error of a block, both over n.
    """

    truth: str
    release: str
    queries: str
    domain: str | None = None
    rows: bool = False
    dataset: str | None = None
    ledger: str | None = None
    anchor: str | None = None
    delimiter: str | None = None
    count_column: str | None = None
    most_error: float | None = None
    most_l1: float | None = None

    @property
    def true_table(self) -> TableSource:
        return TableSource(paths=(self.truth,), delimiter=self.delimiter, count_column=self.count_column)

    @property
    def sources(self) -> dict[str, TableSource]:
        """Whatever is compared, by path."""
        return {self.truth: self.true_table, self.release: TableSource(paths=(self.release,))}


def evaluate(request: EvaluationRequest, limits: Limits | None = None) -> Accuracy:
    """Compare a release, or rows, with the true table; every row of it counts, whatever the release's unit kept.

    Order: whether the tables may be looked at at all, then everything else that is public, then tables are opened.
    Errors: BudgetRefused for a private dataset; UsageFault, DocumentError, DataError.

    Privacy: none. Who may be evaluated so is decided by the names of datasets alone, `require_public`.
    """
    limits = limits or Limits()
    require_public(request)
    files = _files(request)
    asked = read_documents(request.queries, request.domain)
    if files:
        files.require_same(asked.workload, asked.domain)
    answers = _rows(request, files, asked, limits) if request.rows else _answers(files, asked)
    source, blocks = request.true_table, asked.workload.blocks
    check_table(source, asked.domain, limits)
    return compare(blocks, true_answers(load_table(source, asked.domain, limits).counts, blocks), answers)


def require_public(request: EvaluationRequest, environment: Mapping[str, str] = os.environ) -> None:
    """BudgetRefused where a ledger lists a table as private; UsageFault where a ledger is there and cannot tell.

    How a table is recognised: by name, the one that is given and those whose budgets paid for what lies there
    (`payers`), on either side: synthetic rows in the truth's place would tell the errors as well. A table's content is
    not compared with anything: a ledger keeps no trace of tables, and a trace would itself be one of private data.
    Where no name is known and no ledger is configured, the caller's word is taken.
    """
    paid = {name: path for path, source in request.sources.items() for name in payers(source)}
    names = [name for name in dict.fromkeys((request.dataset, *paid)) if name is not None]
    if names:
        _refuse_private(request, names, paid)
    origin = ledger_origin(request.ledger, environment) or (request.anchor and "--anchor")
    if request.dataset is None and origin:
        raise UsageFault(f"{origin} names a ledger, and not which dataset the true table is: add --dataset NAME")


def _refuse_private(request: EvaluationRequest, names: list[str], paid: Mapping[str, str]) -> None:
    from dpqr.app.budget import configured_ledger

    ledger = configured_ledger(request.ledger, request.anchor)
    for name in names:
        if _kind(ledger, name, None if name == request.dataset else paid[name]) is DataKind.PRIVATE:
            raise BudgetRefused(
                f"dataset {name!r} is private, by the ledger, and exact errors would disclose it; nothing was opened\n"
                "evaluate on public or synthetic data (dpqr budget init NAME --kind public)"
            )


def _kind(ledger: Ledger, name: str, path: str | None) -> DataKind:
    """What the ledger says of a dataset. UsageFault where it cannot tell: then a name that nobody gave is explained.

    path: what it paid for, where that is how it is known.
    """
    try:
        return ledger.account(name).terms.kind
    except UsageFault as fault:
        if path is None or "\n" in str(fault):
            raise
        told = f"{path}: dataset {name!r} paid for this release; name its ledger with --ledger FILE"
        raise UsageFault(f"{fault}\n{told}") from None


def require_goals(request: EvaluationRequest, found: Accuracy) -> None:
    """GoalMissed where an error is above its goal."""
    goals = (("--max-error", request.most_error, found.largest), ("--max-l1", request.most_l1, found.mean_l1))
    missed = [f"{name} {most:g}: it is {reached:.6g}" for name, most, reached in goals if most and reached > most]
    if missed:
        raise GoalMissed(f"the accuracy asked for is not reached, {' and '.join(missed)}")


def document(found: Accuracy, top: int | None) -> dict[str, Any]:
    """Plain JSON values."""
    return {"dpqr": "evaluation/1", "for_release": False, "notice": NOT_FOR_RELEASE, **found.document(top)}


def _files(request: EvaluationRequest) -> ReleaseFiles | None:
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
    request: EvaluationRequest, files: ReleaseFiles | None, asked: QueriesDocument, limits: Limits
) -> list[FloatArray]:
    """Answers counted from rows: a release's own, or those of a table with the domain's columns."""
    domain, path, records = asked.domain, request.release, 1.0
    if files:
        place, titled, records = files.synthetic()
        domain, path = _titled(domain) if titled else domain, str(place)
    source = TableSource(paths=(path,), delimiter=request.delimiter)
    check_table(source, domain, limits)
    told = true_answers(load_table(source, domain, limits).counts, asked.workload.blocks)
    return [counted * records for counted in told.answers]


def _titled(domain: Domain) -> Domain:
    """The same cells, where a table holds their titles."""
    named = (Attribute(name=each.name, axis=Labels(values=each.titles())) for each in domain.attributes)
    return Domain(tuple(named))
