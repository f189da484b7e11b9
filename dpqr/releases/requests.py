"""Requests: what the commands ask of the use cases. Figures of privacy are decimal text, as typed. None: not stated."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Every
from dpqr.ledger.ledger import NO_REASON, Reason
from dpqr.releases.files.formats import TableFormat
from dpqr.strategies.problem import LockedPlan
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

GivenDocument = str | dict[str, object]
"""A document: its file, or its content."""
AnswerForm = TableFormat
SyntheticForm = Literal["rows", "cells"]
BinForm = Literal["title", "midpoint", "sampled"]
WITHOUT_BUDGET = ("free", "none")
"""What --error-bars may say beside a share: estimated from released values alone, or not at all."""
ExistingForm = Literal["skip", "fail", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a release is planned from: every field is one option of the same name. queries, domain: paths, or already
    parsed documents. Empty queries or epsilon: a locked plan states them. unit: a column's name, or several.
    first: of a counter's periods; None: that of the release before, or else `period`. start: content of a start file
    (`releases.start`). surprises, questions: of a session of questions; None: it is none, or they are not stated."""

    queries: GivenDocument = ""
    epsilon: str = ""
    delta: str | None = None
    domain: GivenDocument | None = None
    strict: bool = False
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | tuple[str, ...] | None = None
    per: Every | None = None
    max_rows: int | None = None
    max_rows_per_cell: int | None = None
    counts: str | None = None
    count_dropped: str | None = None
    no_count_dropped: bool = False
    error_bars: str | None = None
    certify: str | None = None
    schedule: str = "auto"
    distinguisher: str | None = None
    check: str | None = None
    update: str | None = None
    accountant: str | None = None
    rounds: int | None = None
    opening: bool | None = None
    alpha: str | None = None
    beta: str | None = None
    variant: str | None = None
    replay: bool | None = None
    max_model_size: int | None = None
    trust: tuple[str, ...] = ()
    seed: int = 0
    cells: int | None = None
    period: str | None = None
    cumulative: int | None = None
    first: str | None = None
    start: bytes | None = field(default=None, repr=False)
    surprises: int | None = None
    questions: int | None = None


class OutputRequest(Struct, frozen=True, kw_only=True):
    """Where a release goes and what it holds beside the answers. if_exists: what becomes of a release that is there.
    views: the base that views are rounded to; None: none are made."""

    directory: str | None = None
    format: AnswerForm = "csv"
    synthetic: SyntheticForm | None = None
    bins: BinForm = "title"
    if_exists: ExistingForm = "fail"
    views: int | None = None


def output_request(directory: str | None, **stated: Any) -> OutputRequest:
    """The files that were asked for, by the fields of the request; None: not stated. UsageFault for what would have no
    effect, for the budget would pay a second time for what it asks."""
    files = {name: value for name, value in stated.items() if value}
    bins, synthetic = files.get("bins"), files.get("synthetic")
    idle = next((name for name in OutputRequest.__struct_fields__ if name in files), "")
    if idle and directory is None:
        raise UsageFault(f"--{idle.replace('_', '-')} is about the files of a release; add --out DIR")
    if bins and not synthetic:
        raise UsageFault("--bins is about synthetic data; add --synthetic rows or --synthetic cells")
    if bins == "sampled" and synthetic == "cells":
        raise UsageFault("--bins sampled draws a value for every row; choose --synthetic rows, or --bins midpoint")
    return OutputRequest(directory=directory, **files)


class LedgerRequest(Struct, frozen=True, kw_only=True):
    """Whose budget pays. ledger, anchor: paths; None: as configured. resume: continue the run that was killed."""

    dataset: str
    ledger: str | None = None
    anchor: str | None = None
    resume: bool = False


class ReleaseRequest(Struct, frozen=True, kw_only=True):
    """One release. source: the private table. payer: whose budget pays; None: no ledger is used. reason: why, and who
    asks. publisher: whose release it is. date: the UTC day that the record names; empty: today. notes: what the plan
    shall say of the request itself. rehearse: on rows of the public domain. after: of a counter, the release before.
    locked: the plan that the run must follow; None: none was reviewed. learn_share: of the budget, for what the domain
    leaves open; learn_max_rows: for the choice of the rows of each person."""

    source: TableSource
    plan: PlanRequest
    output: OutputRequest = msgspec.field(default_factory=OutputRequest)
    limits: Limits = msgspec.field(default_factory=Limits)
    payer: LedgerRequest | None = None
    reason: Reason = NO_REASON
    publisher: str = ""
    date: str = ""
    notes: tuple[str, ...] = ()
    rehearse: bool = False
    after: str | None = None
    locked: LockedPlan | None = None
    learn_share: str | None = None
    learn_max_rows: str | None = None


class PredictionPlanRequest(Struct, frozen=True, kw_only=True):
    """What a prediction run is planned from: every field is one option of the same name.

    domain: a path, or an already parsed document. penalty: --lambda. predictions: how many, where no points are read.
    form: --release. session: whether its points come one at a time; no option, but the command.
    """

    target: str
    epsilon: str
    domain: GivenDocument | None
    learner: str = "logistic"
    delta: str | None = None
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | tuple[str, ...] | None = None
    per: Every | None = None
    max_rows: int | None = None
    counts: str | None = None
    form: Literal["predictions", "function"] = "predictions"
    positive: str | None = None
    penalty: str | None = None
    method: str | None = None
    slots: str | None = None
    radius: str | None = None
    smoothness: str | None = None
    decay: str | None = None
    tune: str | None = None
    tau: str | None = None
    kernel: str | None = None
    bandwidth: str | None = None
    degree: int | None = None
    features: int | None = None
    theta: str | None = None
    t0: int | None = None
    releases: int | None = None
    base: str | None = None
    parts: int | None = None
    target_error: str | None = None
    vote: str | None = None
    trust: tuple[str, ...] = ()
    accountant: str | None = None
    predictions: int | None = None
    seed: int = 0
    session: bool | None = None


class PredictionRequest(Struct, frozen=True, kw_only=True):
    """One prediction run.

    table: the private one. points: None where a function is released. out: None: nothing is written. payer: whose
    budget pays; None: no ledger is used. reason: why, and who asks.
    notes: what the plan shall say of the request itself. locked: the plan that was reviewed, where it follows one.
    """

    table: TableSource
    plan: PredictionPlanRequest
    points: TableSource | None = None
    out: str | None = None
    limits: Limits = msgspec.field(default_factory=Limits)
    payer: LedgerRequest | None = None
    reason: Reason = NO_REASON
    notes: tuple[str, ...] = ()
    rehearse: bool = False
    locked: LockedPlan | None = None

    @property
    def place(self) -> str | None:
        """Where the product goes. That of a rehearsal is none by its name."""
        if self.out is None or not self.rehearse:
            return self.out
        folder, name = os.path.split(self.out)
        return os.path.join(folder, f"rehearsal-{name}")


class ModelRequest(Struct, frozen=True, kw_only=True):
    """A released function, applied to public points. model: its file. out: None: nothing is written."""

    model: str
    points: TableSource
    out: str | None = None
    limits: Limits = msgspec.field(default_factory=Limits)


# Requests of comparisons with a true table, and of releases of public ones.


class EvaluateRequest(Struct, frozen=True, kw_only=True):
    """A comparison with the true table. release: a path. rows: judge synthetic rows, the release's or a table's.

    dataset: the truth's name in a ledger; ledger, anchor: paths, None: as configured.
    """

    truth: TableSource
    release: str
    queries: GivenDocument
    domain: GivenDocument | None = None
    rows: bool = False
    dataset: str | None = None
    ledger: str | None = None
    anchor: str | None = None

    def table_at(self, path: str) -> TableSource:
        """Rows in a file, read as the true table is."""
        return TableSource(paths=(path,), delimiter=self.truth.delimiter, encoding=self.truth.encoding)

    @property
    def sources(self) -> dict[str, TableSource]:
        """Whatever is compared, by path."""
        truth = ", ".join(self.truth.paths) or "the true table"
        return {truth: self.truth, self.release: TableSource(paths=(self.release,))}


class SweepRequest(Struct, frozen=True, kw_only=True):
    """Releases of one public table by several plans, each `repeats` times, and how far each is from the truth.

    source: None: rows drawn from the public domain, as a rehearsal draws them. dataset: the table's name in a ledger;
    ledger, anchor: paths, None: as configured.
    """

    source: TableSource | None
    plans: tuple[PlanRequest, ...]
    repeats: int = 1
    limits: Limits = msgspec.field(default_factory=Limits)
    dataset: str | None = None
    ledger: str | None = None
    anchor: str | None = None

    @property
    def sources(self) -> dict[str, TableSource]:
        """The table, if there is one."""
        return {} if self.source is None else {"public": self.source}
