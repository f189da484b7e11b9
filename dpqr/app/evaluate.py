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
from dpqr.io.ledger.place import LEDGER
from dpqr.io.outputs.read_release import ReleaseFiles, read_release
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


def evaluate(request: EvaluationRequest, limits: Limits | None = None) -> Accuracy:
    """Compare a release, or rows, with the true table; every row of it counts, whatever the release's unit kept.

    Order: everything public is checked first, and whether the truth may be looked at at all, then tables are opened.
    Errors: BudgetRefused for a private dataset; UsageFault, DocumentError, DataError.

    Privacy: none. Who may be evaluated so is decided by the name of a dataset alone, `require_public`.
    """
    limits = limits or Limits()
    files = None if request.rows and not os.path.isdir(request.release) else read_release(request.release)
    require_public(request, files.dataset if files else None)
    asked = read_documents(request.queries, request.domain)
    if files:
        files.require_same(asked.workload, asked.domain)
    answers = _rows(request, files, asked, limits) if request.rows else _answers(files, asked)
    source = TableSource(paths=(request.truth,), delimiter=request.delimiter, count_column=request.count_column)
    blocks = asked.workload.blocks
    check_table(source, asked.domain, limits)
    return compare(blocks, true_answers(load_table(source, asked.domain, limits).counts, blocks), answers)


def require_public(request: EvaluationRequest, paid: str | None, environment: Mapping[str, str] = os.environ) -> None:
    """BudgetRefused where a ledger lists the truth as private; UsageFault where a ledger is there and cannot tell.

    How a table is recognised: by name, the one that is given and the one whose budget paid for the release. A table's
    content is not compared with anything: a ledger keeps no trace of tables, and a trace would itself be one of
    private data. Where neither name is known and no ledger is configured, the caller's word is taken.
    """
    names = [name for name in dict.fromkeys((request.dataset, paid)) if name is not None]
    if not names and (request.ledger is not None or environment.get(LEDGER)):
        origin = "--ledger" if request.ledger is not None else LEDGER
        raise UsageFault(f"{origin} names a ledger, and not which dataset the true table is: add --dataset NAME")
    if not names:
        return
    from dpqr.app.budget import configured_ledger

    ledger = configured_ledger(request.ledger, request.anchor)
    for name in names:
        if _kind(ledger, name, paid, request) is DataKind.PRIVATE:
            raise BudgetRefused(
                f"dataset {name!r} is private, by the ledger, and exact errors would disclose it; nothing was opened\n"
                "evaluate on public or synthetic data (dpqr budget init NAME --kind public)"
            )


def _kind(ledger: Ledger, name: str, paid: str | None, request: EvaluationRequest) -> DataKind:
    """What the ledger says of a dataset. UsageFault where it cannot tell: then a name that nobody gave is explained."""
    try:
        return ledger.account(name).terms.kind
    except UsageFault as fault:
        if name != paid or "\n" in str(fault):
            raise
        told = f"{request.release}: dataset {paid!r} paid for this release; name its ledger with --ledger FILE"
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
