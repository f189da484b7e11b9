"""Requests: what the commands ask of the use cases, each one frozen and typed.

Figures of privacy are decimal text, as typed, until a use case parses them. None: not stated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dpqr.data.unit import Neighbours
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.ledger import DataKind
from dpqr.privacy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a release is planned from: every field is one option of the same name."""

    queries: str
    epsilon: str
    delta: str | None = None
    domain: str | None = None
    strict: bool = False
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    counts: str | None = None
    count_dropped: str | None = None
    no_count_dropped: bool = False
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRequest:
    """Where a release goes and what it holds beside the answers."""

    directory: str | None = None
    format: Literal["csv", "parquet", "json"] = "csv"
    synthetic: Literal["rows", "cells"] | None = None
    bins: Literal["title", "midpoint", "sampled"] = "title"
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRequest:
    """Whose budget pays. ledger, anchor: paths; None: as configured. resume: continue the run that was killed."""

    dataset: str
    ledger: str | None = None
    anchor: str | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """One release. source: the private table. payer: whose budget pays; None: no ledger is used."""

    source: TableSource
    plan: PlanRequest
    output: OutputRequest = field(default_factory=OutputRequest)
    limits: Limits = field(default_factory=Limits)
    payer: LedgerRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPlanRequest:
    """What a prediction run is planned from: every field is one option of the same name.

    penalty: --lambda. predictions: how many, where no points are read. form: --release.
    """

    target: str
    epsilon: str
    domain: str | None
    learner: str = "logistic"
    delta: str | None = None
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    counts: str | None = None
    form: Literal["predictions", "function"] = "predictions"
    positive: str | None = None
    penalty: str | None = None
    smoothness: str | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """One prediction run.

    table: the private one. points: None where a function is released. out: None: nothing is written. payer: whose
    budget pays; None: no ledger is used.
    """

    table: TableSource
    plan: PredictionPlanRequest
    points: TableSource | None = None
    out: str | None = None
    limits: Limits = field(default_factory=Limits)
    payer: LedgerRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A released function, applied to public points. model: its file. out: None: nothing is written."""

    model: str
    points: TableSource
    out: str | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRequest:
    """A budget for life, as its owner asks for it.

    accountant: basic or zcdp; None: zcdp where there is a delta, else basic. With a delta, basic adds up pairs of
    epsilon and delta. cap, cap_delta: epsilon and delta of the largest release. unit: column that names persons, whose
    budget it then is; None: of rows. policy: how the table is read; its count column makes it a budget of records.
    """

    dataset: str
    epsilon: str
    delta: str | None = None
    accountant: str | None = None
    cap: str | None = None
    cap_delta: str | None = None
    neighbours: str = Neighbours.ADD_REMOVE.value
    unit: str | None = None
    kind: str = DataKind.PRIVATE.value
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRequest:
    """A comparison with the true table. truth, release: paths. rows: judge synthetic rows, the release's or a table's.

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
