"""release.json: the public record of a run, versioned.

Everything here is public or released: no timings, no row counts, no file contents. The same release always gives the
same document. Rationals are exact text ("1/10"), with a float beside them that is rounded up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from dpqr import __version__
from dpqr.kernel.errors import DocumentError
from dpqr.mechanisms.block_errors import FINENESS, error_unit
from dpqr.releases.answers.errors import ErrorBars
from dpqr.releases.answers.noisy import LEVEL
from dpqr.releases.error_bounds import BlockErrors, Certificate, ErrorBounds
from dpqr.releases.questions import Questions
from dpqr.releases.record.parts import events_part, kind, law_part, rational, reason_part, versions_part
from dpqr.releases.record.plan_document import (
    Count,
    Digest,
    Event,
    FigurePart,
    Law,
    Part,
    PlanPart,
    Rational,
    plan_document,
    seal_document,
)
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import (
    bars_words,
    certainty,
    choice_words,
    dropped_warning,
    dropped_words,
    interval_words,
    release_guarantee,
)
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock
from dpqr.workload.form import DIALECT
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Measurement

RELEASE_FORMAT = "release/1"


def release_document(
    release: FinishedRun,
    *,
    files: Mapping[str, str] | None = None,
    synthetic: dict[str, Any] | None = None,
    views: dict[str, Any] | None = None,
    receipt: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The record of `release`.

    files: what stands beside it, the SHA-256 of each by its name; synthetic: how synthetic data was drawn; views: how
    they move the answers, where there are any; receipt: in words, lines of a name and a text, as `dpqr show` has them.

    events are the charged ones; plan.events the planned ones, which say the worst that may be drawn: fewer or cheaper
    ones where the loop ended early, a sum where prices followed what was released, the noise of the largest query where
    others were measured. warning: what may have gone wrong with the table or the domain file; null: nothing seen.
    The guarantee is that of all planned events, wherever the loop stopped. sha256: of the canonical JSON of the rest.
    """
    plan, unit, drawn = release.plan, release.plan.problem.unit, draw_parts(release)
    return seal_document(
        {
            "dpqr": RELEASE_FORMAT,
            **_origin(release),
            "guarantee": release_guarantee(release),
            "unit": unit.words,
            "counts": unit.counted,
            "ledger": _ledger(release),
            **reason_part(release.reason),
            "events": events_part(release.events or plan.events),
            "spent": _spent(release),
            "certainty": certainty(release),
            "receipt": [list(line) for line in receipt],
            "certificate": _certificate(release.certificate),
            "intervals": {"level": float(LEVEL), "words": interval_words(release)},
            "error_bars": _bars(release.bars),
            "errors": drawn["errors"],
            "bounds": None if release.bounds is None else _bounds(release.bounds),
            "dropped": drawn["dropped"],
            "trust": list(release.trust),
            "hypothesis": {"kind": kind(release.hypothesis), "total": float(release.hypothesis.total)},
            **_files(files or {}, synthetic, views),
            **_cumulative(release),
            "plan": plan_document(plan),
            "transcript": drawn["transcript"],
            **({"questions": drawn["questions"]} if "questions" in drawn else {}),
        }
    )


def draw_parts(release: FinishedRun) -> dict[str, Any]:
    """What was drawn, and of a session what was asked; null for what was not bought. `drawn_digest` names it."""
    return {
        "dropped": _dropped(release),
        "errors": None if release.errors is None else _errors(release.errors),
        "transcript": [_round(finished) for finished in release.transcript.rounds],
        **({} if release.questions is None else {"questions": release.questions.document()}),
    }


def _files(hashes: Mapping[str, str], synthetic: dict[str, Any] | None, views: dict[str, Any] | None) -> dict[str, Any]:
    stated = {"synthetic": synthetic} if views is None else {"synthetic": synthetic, "views": views}
    return {**stated, "files": list(hashes), "hashes": dict(hashes)}


def _cumulative(release: FinishedRun) -> dict[str, Any]:
    """Of a counter: the release whose cumulative answers these are added to, null for none; else nothing."""
    if release.plan.problem.turn is None:
        return {}
    earlier = release.earlier
    after = {"period": earlier.period, "sha256": earlier.sha256} if earlier and earlier.period else None
    return {"cumulative": {"after": after}}


def _origin(release: FinishedRun) -> dict[str, Any]:
    """What made it, when and for whom, and whether it is what it looks like."""
    return {
        "version": __version__,
        "versions": versions_part(),
        "date": release.date or None,
        "publisher": release.publisher or None,
        "rehearsal": release.rehearsal,
        "private": release.private,
        "warning": dropped_warning(release),
    }


def _measured_errors(release: FinishedRun) -> dict[str, Any]:
    """What the errors of answers rest on, and what was bought of them; null for what was not."""
    return {
        "error_bars": _bars(release.bars),
        "errors": None if release.errors is None else _errors(release.errors),
        "bounds": None if release.bounds is None else _bounds(release.bounds),
    }


def _ledger(release: FinishedRun) -> str | dict[str, Any]:
    """The reservation that paid; seal: of the ledger's chain up to it; charged: what is kept of it, if not all."""
    paid = release.paid
    if paid is None:
        return "none"
    kept = {"charged": release.charged} if release.charged else {}
    return {"dataset": paid.dataset, "entry": paid.number, "seal": paid.receipt, **kept}


def _spent(release: FinishedRun) -> dict[str, Any]:
    """The whole schedule under every accountant, and each phase by itself, which only basic adds up to the whole.

    The guarantee is the budget under the one that was charged; `why` says who chose it.
    """
    return {
        "charged": release.plan.roles.accountant.name,
        "why": choice_words(release.plan),
        "delta": rational(release.plan.budget.delta),
        "epsilon": _figures(release.spent),
        "phases": {phase: _figures(costs) for phase, costs in release.costs.items()},
    }


def _figures(prices: Mapping[str, Fraction | None]) -> dict[str, Any]:
    """Epsilon by accountant; null where the theorem does not cover the events."""
    return {name: None if price is None else rational(price) for name, price in prices.items()}


def _dropped(release: FinishedRun) -> dict[str, Any] | None:
    """The noisy count of the records that were left out; null where there is none. parallel: it added nothing to what
    the run cost."""
    found = release.dropped
    if found is None:
        return None
    return {
        "counts": dropped_words(release.plan.problem.unit),
        "estimate": found.estimate,
        "law": law_part(found.measurement.law),
        "charge": found.charge,
        "parallel": release.plan.problem.unit.apart,
    }


def _errors(found: BlockErrors) -> dict[str, Any]:
    """The draws of L1 errors, in their order: noisy integers, each the sum or the largest over a group of blocks of its
    errors, in units of 1 / fineness of what one record moves (units: by block, in its grid) and rounded down."""
    draws, unit = [found.sums, *([found.largest] if found.largest else [])], found.sums.errors.unit
    return {
        "fineness": FINENESS,
        "units": {block.name: error_unit(block, unit) for block in found.sums.errors.blocks},
        "draws": [
            {
                "of": "largest" if drawn.errors.largest else "sum",
                "groups": [[block.name for block in group] for group in drawn.errors.groups],
                "values": drawn.values.tolist(),
                "law": law_part(drawn.law),
                "charge": drawn.charge,
            }
            for drawn in draws
        ],
    }


def _bars(bars: ErrorBars) -> dict[str, Any]:
    """What the column `error` rests on. refits: with the public seeds after the plan's own. factors: of unmeasured
    blocks, from `source`. predicted: L1 errors of blocks by refits, in records, before the factor. missing: why no
    errors are estimated."""
    return {
        "words": bars_words(bars),
        "refits": bars.refits,
        "source": bars.source,
        "factors": dict(bars.factors),
        "predicted": dict(bars.predicted),
        "missing": bars.missing,
    }


def _bounds(bounds: ErrorBounds) -> dict[str, Any]:
    """All hold at once with probability `confidence`; L1 errors in records."""
    return {
        "mean": bounds.mean,
        "fraction": bounds.fraction,
        "confidence": bounds.confidence,
        "blocks": [{"name": name, "records": records} for name, records in bounds.blocks.items()],
    }


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    return {
        "records": certificate.records,
        "fraction": certificate.fraction,
        "confidence": certificate.confidence,
    }


def _round(finished: Round) -> dict[str, Any]:
    """Noisy answers are the released integers: `grid` times a value is an unbiased answer; null: they were lost."""
    measured, errors = finished.measurement, finished.errors
    law = measured.law if measured else errors.law if errors else None
    return {
        "choice": finished.choice,
        "charges": list(finished.charges),
        "stopped": finished.stopped,
        **({} if finished.bound is None else {"certified": finished.bound}),
        **({} if errors is None else {"error_sum": errors.value}),
        "law": None if law is None else law_part(law),
        "measured": None if measured is None else _measured(measured),
    }


def _measured(measured: Measurement) -> list[dict[str, Any]]:
    return [
        {"name": block.name, "grid": str(block.scale), "values": values.tolist(), **_buckets(block)}
        for block, values in zip(measured.blocks, measured.values, strict=True)
    ]


def _buckets(block: QueryBlock) -> dict[str, Any]:
    """Where cells were merged: pairs of a bucket and of how many cells in a row lie in it, in the cells' order."""
    runs = [factor.matrix.runs for factor in block.factors if isinstance(factor.matrix, BucketMatrix)]
    return {"buckets": [list(run) for run in runs[0]]} if runs else {}


# The form of release.json, from the first version on, and the JSON Schema made from it.
#
# A format only grows: a later version adds keys, and never takes one away or changes what one means. So a key that
# came after 0.1.0 may be absent, and readers pass over keys that they do not know. `dpqr guide versions` states the
# policy.

VERSION = "release/1"


class Measured(Part, frozen=True, kw_only=True):
    """The noisy answers of one block: `grid` times a value is an unbiased answer.

    buckets: where cells were merged, pairs of a bucket and of how many cells in a row lie in it.
    """

    name: str
    grid: Rational
    values: tuple[int, ...]
    buckets: tuple[tuple[int, int], ...] | UnsetType = UNSET


class RoundPart(Part, frozen=True, kw_only=True):
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
    delta: FigurePart
    epsilon: dict[str, FigurePart | None]
    why: str | UnsetType = UNSET
    phases: dict[str, dict[str, FigurePart | None]] | UnsetType = UNSET


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


class CertificatePart(Part, frozen=True, kw_only=True):
    """With probability `confidence` no estimate is off by more than `records`."""

    records: float
    fraction: float | None
    confidence: float


class Intervals(Part, frozen=True, kw_only=True):
    """What `lower` and `upper` enclose."""

    level: float
    words: str


class ErrorBarsPart(Part, frozen=True, kw_only=True):
    """What the column `error` rests on. refits: with the public seeds after the plan's own. factors: of unmeasured
    blocks, from `source`. predicted: L1 errors of blocks by refits, in records, before the factor. missing: why no
    errors are estimated."""

    words: str
    refits: Count
    source: str
    factors: dict[str, float]
    predicted: dict[str, float]
    missing: str | None


class HypothesisPart(Part, frozen=True, kw_only=True):
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
    hypothesis: HypothesisPart
    synthetic: Synthetic | None
    files: tuple[str, ...]
    plan: PlanPart
    transcript: tuple[RoundPart, ...]
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
    certificate: CertificatePart | UnsetType | None = UNSET
    intervals: Intervals | UnsetType = UNSET
    error_bars: ErrorBarsPart | UnsetType = UNSET
    dropped: Dropped | UnsetType | None = UNSET
    errors: Errors | UnsetType | None = UNSET
    bounds: Bounds | UnsetType | None = UNSET
    views: Views | UnsetType = UNSET
    cumulative: Cumulative | UnsetType = UNSET
    questions: Questions | UnsetType = UNSET


_PART = re.compile(rb'(?<=["/])(\w+)Part"')


def release_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of release.json; its `$id` carries the version.

    It calls the classes by their names without `Part`, which tells them from the values that they are written from.
    """
    body = json.decode(_PART.sub(rb'\1"', json.encode(json.schema(ReleaseRecord))))
    return {"$schema": DIALECT, "$id": f"urn:dpqr:{VERSION.replace('/', ':')}", "title": f"dpqr {VERSION}", **body}


def parsed_record(document: Any, where: str) -> ReleaseRecord:
    """The record by its parts. DocumentError, with the place, for what no version of dpqr has written."""
    try:
        return msgspec.convert(document, ReleaseRecord)
    except msgspec.ValidationError as fault:
        raise DocumentError(f"{where}: does not fit the form that `dpqr schema release` prints: {fault}") from None
