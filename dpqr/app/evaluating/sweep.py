"""Sweep: releases of a public table by several plans, and how far each is from the truth. Not for release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpqr.app.evaluating.evaluate import exact_answers, rehearsed_answers, require_public
from dpqr.app.evaluating.requests import SweepRequest
from dpqr.app.planning.planning import read_documents
from dpqr.app.releasing.release import Progress, release
from dpqr.app.requests import PlanRequest, ReleaseRequest
from dpqr.construction.release import Release
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.evaluation import Accuracy, Truth, compare
from dpqr.io.tables.file import STDIN
from dpqr.io.tables.source import TableSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One release of the sweep, and its exact errors. repeat: counts from 0.

    refusal: why no release could be planned so; then there is neither release nor accuracy.
    """

    asked: PlanRequest
    repeat: int
    release: Release | None = None
    accuracy: Accuracy | None = None
    refusal: str | None = None


def sweep(request: SweepRequest, progress: Progress) -> Iterator[Trial]:
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
    documents = read_documents(first.queries, first.domain)
    truth = None if source is None else exact_answers(source, documents, request.limits)
    for asked in request.plans:
        yield from _trials(request, asked, truth, progress)


def _trials(request: SweepRequest, asked: PlanRequest, truth: Truth | None, progress: Progress) -> Iterator[Trial]:
    """truth: None: that of the rows of a rehearsal."""
    source = request.source or TableSource(paths=(STDIN,))
    for repeat in range(request.repeats):
        one = ReleaseRequest(source=source, plan=asked, limits=request.limits, rehearse=truth is None)
        try:
            made = release(one, progress)
        except (UsageFault, InfeasiblePlan) as refused:
            yield Trial(asked=asked, repeat=repeat, refusal=str(refused))
            return
        problem = made.plan.problem
        exact = truth or rehearsed_answers(problem, request.limits)
        accuracy = compare(problem.workload.blocks, exact, [answers.estimate for answers in made.answers])
        yield Trial(asked=asked, repeat=repeat, release=made, accuracy=accuracy)
