"""The form of release.json, from the first version on, and the JSON Schema made from it.

A format only grows: a later version adds keys, and never takes one away or changes what one means. So a key that came
after 0.1.0 may be absent, and readers pass over keys that they do not know. `dpqr guide versions` states the policy.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from dpqr.construction.questions.replay import Questions
from dpqr.errors import DocumentError
from dpqr.io.documents.schemas import DIALECT
from dpqr.io.outputs.records.plan_form import Count, Digest, Event, Figure, Law, Part, Plan, Rational

VERSION = "release/1"


class Measured(Part, frozen=True, kw_only=True):
    """The noisy answers of one block: `grid` times a value is an unbiased answer.

    buckets: where cells were merged, pairs of a bucket and of how many cells in a row lie in it.
    """

    name: str
    grid: Rational
    values: tuple[int, ...]
    buckets: tuple[tuple[int, int], ...] | UnsetType = UNSET


class Round(Part, frozen=True, kw_only=True):
    """A step of the loop. choice: index among its candidates, null where there was no choice. charges: numbers of the
    events that paid. law, measured: null where a crash has lost the draw. certified: where the stop test was met, the
    records by which no answer of the workload was off then. error_sum: where no answers were measured but the L1 errors
    of marginals, their noisy sum, in units of 1 / 64 of what one record moves one of them."""

    choice: Count | None
    charges: tuple[Count, ...]
    stopped: bool
    law: Law | None
    measured: tuple[Measured, ...] | None
    certified: float | UnsetType = UNSET
    error_sum: int | UnsetType = UNSET


class Spent(Part, frozen=True, kw_only=True):
    """Epsilon at `delta` under every accountant, null where its theorem does not cover the run. charged: the accountant
    that the guarantee rests on."""

    charged: str
    delta: Figure
    epsilon: dict[str, Figure | None]
    why: str | UnsetType = UNSET
    phases: dict[str, dict[str, Figure | None]] | UnsetType = UNSET


class Paid(Part, frozen=True, kw_only=True):
    """What a ledger had set aside. entry: its number. seal: of the ledger's chain up to it. charged: what it keeps of
    that, in its own currency; not set: all."""

    dataset: str
    entry: Count
    seal: str
    charged: str | UnsetType = UNSET


class Dropped(Part, frozen=True, kw_only=True):
    """The noisy count of the records that were left out."""

    estimate: int
    law: Law
    charge: Count
    counts: str | UnsetType = UNSET
    parallel: bool | UnsetType = UNSET


class ErrorDraw(Part, frozen=True, kw_only=True):
    """Noisy integers, one for each group of blocks: the sum or the largest of their L1 errors. charge: number of the
    event that paid."""

    of: str
    groups: tuple[tuple[str, ...], ...]
    values: tuple[int, ...]
    law: Law
    charge: Count


class Errors(Part, frozen=True, kw_only=True):
    """Noisy L1 errors of the answers, drawn after the last refit, in units of 1 / fineness of what one record moves
    (units: by block, in its grid) and rounded down."""

    fineness: Count
    units: dict[str, Count]
    draws: tuple[ErrorDraw, ...]


class BlockBound(Part, frozen=True, kw_only=True):
    """A bound on the L1 error of a block, in records."""

    name: str
    records: float


class Bounds(Part, frozen=True, kw_only=True):
    """Bounds on L1 errors, which hold all at once with probability `confidence`."""

    mean: float
    fraction: float | None
    confidence: float
    blocks: tuple[BlockBound, ...]


class Certificate(Part, frozen=True, kw_only=True):
    """With probability `confidence` no estimate is off by more than `records`."""

    records: float
    fraction: float | None
    confidence: float


class Intervals(Part, frozen=True, kw_only=True):
    """What `lower` and `upper` enclose."""

    level: float
    words: str


class ErrorBars(Part, frozen=True, kw_only=True):
    """What the column `error` rests on. refits: with the public seeds after the plan's own. factors: of unmeasured
    blocks, from `source`. predicted: L1 errors of blocks by refits, in records, before the factor. missing: why no
    errors are estimated."""

    words: str
    refits: Count
    source: str
    factors: dict[str, float]
    predicted: dict[str, float]
    missing: str | None


class Hypothesis(Part, frozen=True, kw_only=True):
    """The model behind the estimates. total: its records."""

    kind: str
    total: float


class Synthetic(Part, frozen=True, kw_only=True):
    """How synthetic data was drawn."""

    form: Literal["rows", "cells"]
    bins: Literal["title", "midpoint", "sampled"]
    seed: Count | UnsetType = UNSET
    rows: Count | UnsetType = UNSET
    records_a_row: float | UnsetType = UNSET
    moved: float | UnsetType = UNSET


class Views(Part, frozen=True, kw_only=True):
    """Whole numbers beside the answers. base: of the rounded ones. bias: by how much each view moves the answers."""

    base: Annotated[int, Meta(ge=1)]
    bias: tuple[str, ...]


class After(Part, frozen=True, kw_only=True):
    """An earlier release of the same counter. period: up to and including which it counts. sha256: of its record."""

    period: str
    sha256: Digest


class Cumulative(Part, frozen=True, kw_only=True):
    """Of a counter: the release whose cumulative answers these are added to; null: none."""

    after: After | None


class ReleaseRecord(Part, frozen=True, kw_only=True):
    """release.json. versions: of what made it. date: in UTC. hashes: of the files beside it. sha256: of the canonical
    JSON (keys sorted, no blanks, ASCII) of all the rest."""

    dpqr: Annotated[str, Meta(pattern="^release/[0-9]+$")]
    version: str
    private: bool
    guarantee: str
    unit: str
    ledger: str | Paid
    events: tuple[Event, ...]
    spent: Spent
    trust: tuple[str, ...]
    certainty: str
    hypothesis: Hypothesis
    synthetic: Synthetic | None
    files: tuple[str, ...]
    plan: Plan
    transcript: tuple[Round, ...]
    versions: dict[str, str] | UnsetType = UNSET
    date: str | UnsetType | None = UNSET
    publisher: str | UnsetType | None = UNSET
    hashes: dict[str, Digest] | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET
    rehearsal: bool | UnsetType = UNSET
    warning: str | UnsetType | None = UNSET
    counts: str | UnsetType | None = UNSET
    purpose: str | UnsetType | None = UNSET
    by: str | UnsetType | None = UNSET
    approved_by: str | UnsetType | None = UNSET
    receipt: tuple[tuple[str, str], ...] | UnsetType = UNSET
    certificate: Certificate | UnsetType | None = UNSET
    intervals: Intervals | UnsetType = UNSET
    error_bars: ErrorBars | UnsetType = UNSET
    dropped: Dropped | UnsetType | None = UNSET
    errors: Errors | UnsetType | None = UNSET
    bounds: Bounds | UnsetType | None = UNSET
    views: Views | UnsetType = UNSET
    cumulative: Cumulative | UnsetType = UNSET
    questions: Questions | UnsetType = UNSET


def release_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of release.json; its `$id` carries the version."""
    body = json.schema(ReleaseRecord)
    return {"$schema": DIALECT, "$id": f"urn:dpqr:{VERSION.replace('/', ':')}", "title": f"dpqr {VERSION}", **body}


def parsed_record(document: Any, where: str) -> ReleaseRecord:
    """The record by its parts. DocumentError, with the place, for what no version of dpqr has written."""
    try:
        return msgspec.convert(document, ReleaseRecord)
    except msgspec.ValidationError as fault:
        raise DocumentError(f"{where}: does not fit the form that `dpqr schema release` prints: {fault}") from None
