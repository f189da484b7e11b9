"""Evaluate: how far a release is from the truth. For public and synthetic tables only: the figures are exact."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.audit.attack import LossLowerBound
from dpqr.audit.case import Claim
from dpqr.domain.domain import with_titles
from dpqr.kernel.budget import downward_text, upward_text
from dpqr.kernel.errors import BudgetRefused, GoalMissed, InfeasiblePlan, UsageFault
from dpqr.kernel.values import replace
from dpqr.kernel.wording import amount, count_words, plain
from dpqr.ledger.ledger import DataKind
from dpqr.ledger.location import ledger_origin
from dpqr.releases.files.read_release import payers, read_release, release_around
from dpqr.releases.files.release_files import SYNTHETIC
from dpqr.releases.forecast.exact_errors import Accuracy, TrueAnswers, compare, true_answers
from dpqr.releases.planning import read_documents, refuse_persons
from dpqr.releases.rehearsal import rehearsed_table
from dpqr.releases.release import ReleaseObserver, release
from dpqr.releases.requests import EvaluateRequest, PlanRequest, ReleaseRequest, SweepRequest
from dpqr.releases.result import FinishedRun
from dpqr.report.answers import plain_table
from dpqr.strategies.problem import Problem
from dpqr.tables.files import STDIN
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table
from dpqr.workload.queries_file import QueriesDocument

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
    # The release that is judged: the one that is named, or that holds the named file. None: a table of rows is judged.
    # With --rows, of a release's files only its synthetic rows stand for it; another one is a table like any.
    around = release_around(request.release)
    files = None
    if not request.rows or os.path.isdir(request.release):
        files = read_release(around or request.release)
    elif around:
        synthetic = os.path.join(around, SYNTHETIC)
        if os.path.exists(synthetic) and os.path.samefile(synthetic, request.release):
            files = read_release(around)
    document = refuse_persons(read_documents(request.queries, request.domain), _ROWS_ALONE)
    if files:
        files.require_same(document.workload, document.domain)
    if request.rows:
        # The domain as the rows are written, where they lie, and how many records a row stands for.
        domain, path, records = document.domain, request.release, 1.0
        if files:
            place, titled, records = files.synthetic()
            domain, path = with_titles(domain, titled=titled), str(place)
        counted = exact_answers(request.table_at(path), replace(document, domain=domain), limits)
        answers = [answer * records for answer in counted.answers]
    else:
        assert files is not None, "answers are read from a release directory"
        ends = np.cumsum([block.rows for block in document.workload.blocks])
        answers = np.split(files.estimates(int(ends[-1])), ends[:-1])
    return compare(document.workload.blocks, exact_answers(request.truth, document, limits), answers)


def exact_answers(source: TableSource, document: QueriesDocument, limits: Limits) -> TrueAnswers:
    """The true answers over a table that passed `require_public`. Raises: DataError."""
    check_table(source, document.domain, limits)
    return true_answers(load_table(source, document.domain, limits).counts, document.workload.blocks)


def rehearsed_answers(problem: Problem, limits: Limits) -> TrueAnswers:
    """The true answers over the rows that a rehearsal of the same problem draws: they are public."""
    return true_answers(rehearsed_table(problem, limits).counts, problem.workload.blocks)


def require_public(request: EvaluateRequest | SweepRequest, environment: Mapping[str, str] = os.environ) -> None:
    """BudgetRefused where a ledger lists a table as private; UsageFault where a ledger does not know it.

    How a table is recognised: by name, the one that is given and those whose budgets paid for what lies there
    (`payers`), on either side: synthetic rows in the truth's place would disclose the errors as well. A table's content
    is not compared with anything: a ledger keeps no trace of tables, and a trace would itself be one of private data.
    Where no name is known and no ledger is configured, the caller is trusted.
    """
    paid = {name: path for path, source in request.sources.items() for name in payers(source)}
    names = [name for name in dict.fromkeys((request.dataset, *paid)) if name is not None]
    if names:
        from dpqr.ledger.budgets import configured_ledger

        ledger = configured_ledger(request.ledger, request.anchor)
        for name in names:
            try:
                kind = ledger.account(name).terms.kind
            except UsageFault as fault:
                # The ledger does not know it. A name that is known from a record alone says which.
                if name == request.dataset or "\n" in str(fault):
                    raise
                payer = f"{paid[name]}: dataset {name!r} paid for this release; name its ledger with --ledger FILE"
                raise UsageFault(f"{fault}\n{payer}") from None
            if kind is DataKind.PRIVATE:
                raise BudgetRefused(
                    f"dataset {name!r} is private, by the ledger, and exact errors would disclose it; nothing was "
                    "opened\nevaluate on public or synthetic data (dpqr budget init NAME --kind public)"
                )
    origin = ledger_origin(request.ledger, environment) or (request.anchor and "--anchor")
    if request.dataset is None and origin:
        raise UsageFault(f"{origin} names a ledger, and not which dataset the true table is: add --dataset NAME")


def require_goals(found: Accuracy, most_error: float | None, most_l1: float | None) -> None:
    """GoalMissed where the largest error of any answer, or the mean L1 error of a block, both over n, is above."""
    goals = (("--max-error", most_error, found.largest), ("--max-l1", most_l1, found.mean_l1))
    missed = [f"{name} {most:g}: it is {reached:.6g}" for name, most, reached in goals if most and reached > most]
    if missed:
        raise GoalMissed(f"the accuracy asked for is not reached, {' and '.join(missed)}")


def document(found: Accuracy, top: int | None) -> dict[str, object]:
    """Plain JSON values."""
    return {"dpqr": "evaluation/1", "for_release": False, "notice": NOT_FOR_RELEASE, **found.document(top)}


# Sweep: releases of a public table by several plans, and how far each is from the truth. Not for release.


_ROWS_ALONE = "exact errors are those of counts of rows"


class SweepTrial(Struct, frozen=True, kw_only=True):
    """One release of the sweep, and its exact errors. repeat: counts from 0.

    refusal: why no release could be planned so; then there is neither release nor accuracy.
    """

    options: PlanRequest
    repeat: int
    release: FinishedRun | None = None
    accuracy: Accuracy | None = None
    refusal: str | None = None


def sweep(request: SweepRequest, progress: ReleaseObserver) -> Iterator[SweepTrial]:
    """One trial after the other, plan by plan.

    A plan that is refused is a trial without errors: not every schedule takes every update rule.

    Raises:
        BudgetRefused: the dataset is private by the ledger.
        UsageFault, DocumentError, DataError: request, documents or table are faulty.

    Privacy:
        None: exact errors. `require_public` decides by the names of datasets alone; else the caller is trusted.
    """
    require_public(request)
    first, source = request.plans[0], request.source
    if source is not None and not source.repeatable:
        raise UsageFault("sweep: the table is read once for every release; give a DataFrame or a file, not a stream")
    documents = refuse_persons(read_documents(first.queries, first.domain), _ROWS_ALONE)
    truth = None if source is None else exact_answers(source, documents, request.limits)
    table = source or TableSource(paths=(STDIN,))  # without one, each release rehearses and is judged by its own rows
    for options in request.plans:
        for repeat in range(request.repeats):
            one = ReleaseRequest(source=table, plan=options, limits=request.limits, rehearse=truth is None)
            try:
                made = release(one, progress)
            except (UsageFault, InfeasiblePlan) as refused:
                yield SweepTrial(options=options, repeat=repeat, refusal=str(refused))
                break
            problem = made.plan.problem
            exact = truth or rehearsed_answers(problem, request.limits)
            accuracy = compare(problem.workload.blocks, exact, [answers.estimate for answers in made.answers])
            yield SweepTrial(options=options, repeat=repeat, release=made, accuracy=accuracy)


# Evaluations as text: a release's exact errors, the worst blocks first, and what an audit proved of each claim.


UNITS = (
    "L1, L2, largest: of a block's errors, in records (a sum's, and that of what a mean is computed from, in its "
    "column's unit); / n: over the largest answer that n records can give"
)


def accuracy_view(found: Accuracy, top: int) -> RenderableType:
    """Not for release: the figures of all blocks together, and one line for each of the first `top` blocks."""
    table = plain_table()
    table.add_column("block", overflow="fold")
    for name in ("queries", "L1", "L2", "largest", "L1 / n", "L2 / n", "largest / n"):
        table.add_column(name, justify="right", no_wrap=True)
    for block in found.blocks[:top]:
        figures = (block.l1, block.l2, block.largest)
        table.add_row(
            *map(
                Text,
                (
                    plain(block.name),
                    f"{block.queries:,}",
                    *(amount(figure) for figure in figures),
                    *(f"{figure / block.reach / found.n:.4g}" for figure in figures),
                ),
            )
        )
    more = len(found.blocks) - top
    left = (
        [Text(f"... and {count_words(more, 'more block')} of smaller L1 error: --top N shows more")] if more > 0 else []
    )
    summary = f"over n = {found.records:,}, {count_words(len(found.blocks), 'block')}: mean L1 {found.mean_l1:.4g}"
    lost = sum(block.missing for block in found.blocks)
    missing = f"; {count_words(lost, 'answer')} missing, taken for 0" if lost else ""
    return Group(
        Text(NOT_FOR_RELEASE, style="bold"),
        Text(),
        Text(f"{summary}, mean L2 {found.mean_l2:.4g}, largest error of an answer {found.largest:.4g}{missing}"),
        Text(),
        table,
        *left,
        Text(UNITS, style="dim"),
    )


DIGITS = 4
Line = tuple[str, Claim, LossLowerBound]


def audit_view(lines: list[Line], runs: int, alarm: Fraction) -> RenderableType:
    """One line a case (its name, claim and loss), and what the figures mean."""
    table = plain_table()
    table.add_column("case", no_wrap=True)
    for name in ("claimed", "proved", "share", "stated", "noise"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for name, claim, loss in lines:
        held = Text("BREACH", style="bold red") if loss.breach else Text("holds")
        table.add_row(Text(name), claim_words(claim), proved_words(claim, loss), *shares(loss), held)
    verdict = f"No breach found in {count_words(len(lines), 'case')}."
    verdict += " That refutes faults of the size that such runs can show; no more."
    if broken := sum(loss.breach for _, _, loss in lines):
        verdict = f"{broken} of {len(lines)} claims refuted."
    meaning = (
        f"{runs:,} runs on each of two neighbours a case (more or fewer where a case states so in the short form); "
        "events chosen on one half, tested on the other. A sound build is refuted anywhere with probability at most "
        f"{float(alarm):g}."
    )
    return Group(
        table,
        Text(),
        Text(verdict),
        Text(meaning),
    )


def finding_line(name: str, claim: Claim, loss: LossLowerBound) -> str:
    """One case in one line."""
    verdict = "BREACH" if loss.breach else "holds"
    return f"{name}: claimed {claim_words(claim)}; proved {proved_words(claim, loss)}; {verdict}"


def claim_words(claim: Claim) -> str:
    """ "eps 1", or "rho 0.5, eps 2.754 at delta 0.01"; rounded up."""
    epsilon = f"eps {upward_text(claim.epsilon, DIGITS)}"
    if claim.rho is None:
        return epsilon
    return f"rho {upward_text(claim.rho, DIGITS)}, {epsilon} at delta {upward_text(claim.delta, DIGITS)}"


def proved_words(claim: Claim, loss: LossLowerBound) -> str:
    """The lower bounds in the same units; rounded down."""
    epsilon = f"eps {downward_text(Fraction(loss.epsilon), DIGITS)}"
    if claim.rho is None or loss.rho is None:
        return epsilon
    return f"rho {downward_text(Fraction(loss.rho), DIGITS)}, {epsilon}"


def shares(loss: LossLowerBound) -> tuple[str, str, str]:
    """What events prove and what the charged events state, as shares of the claim; and whether noise is as stated."""
    stated = f"{loss.stated:.0%}" if loss.stated else "-"
    noise = "-" if loss.narrow is None else "as stated" if loss.narrow < 1 else "TOO NARROW"
    return f"{loss.share:.0%}", stated, noise
