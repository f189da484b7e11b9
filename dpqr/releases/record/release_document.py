"""release.json: the public record of a run, versioned.

Everything here is public or released: no timings, no row counts, no file contents. The same release always gives the
same document. Rationals are exact text ("1/10"), with a float beside them that is rounded up.

A format only grows: a later version adds keys, and never takes one away or changes what one means. So a key that
came after 0.1.0 may be absent, and readers pass over keys that they do not know. `dpqr guide versions` states the
policy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from dpqr import __version__
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.errors import DocumentError
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import Reservation
from dpqr.mechanisms.block_errors import FINENESS, error_unit
from dpqr.releases.answers.errors import ErrorBars
from dpqr.releases.answers.noisy import LEVEL
from dpqr.releases.error_bounds import BlockErrors, Certificate, ErrorBounds
from dpqr.releases.questions import Questions
from dpqr.releases.record.parts import (
    Count,
    Digest,
    Event,
    FigurePart,
    Law,
    Part,
    Rational,
    events_part,
    kind,
    law_part,
    versions_part,
    written,
)
from dpqr.releases.record.plan_document import PlanPart, seal_document
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import (
    bars_words,
    certainty,
    choice_words,
    dropped_words,
    interval_words,
    left_out_warning,
    release_guarantee,
)
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock
from dpqr.workload.form import DIALECT
from dpqr.workload.partition import BucketMatrix

RELEASE_FORMAT = "release/1"


def release_document(
    release: FinishedRun,
    *,
    files: Mapping[str, str] | None = None,
    synthetic: Synthetic | None = None,
    views: Views | None = None,
    receipt: Sequence[tuple[str, str]] = (),
) -> JSON:
    """The record of `release`.

    files: what stands beside it, the SHA-256 of each by its name; synthetic: how synthetic data was drawn; views: how
    they move the answers, where there are any; receipt: in words, lines of a name and a text, as `dpqr show` has them.

    events are the charged ones; plan.events the planned ones, which say the worst that may be drawn: fewer or cheaper
    ones where the loop ended early, a sum where prices followed what was released, the noise of the largest query where
    others were measured. warning: what may have gone wrong with the table or the domain file; null: nothing seen.
    The guarantee is that of all planned events, wherever the loop stopped. sha256: of the canonical JSON of the rest.
    """
    record = written(ReleaseRecord.of(release, files or {}, synthetic, views, receipt))
    locked = release.plan.inputs.locked if release.plan.inputs else None
    # A locked plan stands there as it was written: it may say more than the form of a plan.
    record["plan"] = dict(locked.document) if locked else seal_document(record["plan"])
    questions = {} if release.questions is None else {"questions": release.questions.document()}
    return seal_document(record | questions)


def draw_parts(release: FinishedRun) -> JSON:
    """What was drawn, and of a session what was asked; null for what was not bought. `draws_digest` names it."""
    drawn = {
        "dropped": Dropped.of(release),
        "errors": Errors.of(release.errors),
        "transcript": [RoundPart.of(finished) for finished in release.transcript.rounds],
    }
    questions = {} if release.questions is None else {"questions": release.questions.document()}
    persons = {} if release.persons is None else written({"person_tables": PersonTables.of(release)})
    return {**written(drawn), **persons, **questions}


class Measured(Part, frozen=True, kw_only=True):
    """The noisy answers of one block: `grid` times a value is an unbiased answer.

    buckets: where cells were merged, pairs of a bucket and of how many cells in a row lie in it.
    """

    name: str
    grid: Rational
    values: tuple[int, ...]
    buckets: tuple[tuple[int, int], ...] | UnsetType = UNSET

    @classmethod
    def of(cls, block: QueryBlock, values: IntArray) -> Measured:
        """What was drawn of a block, in units of its grid."""
        runs = [factor.matrix.runs for factor in block.factors if isinstance(factor.matrix, BucketMatrix)]
        return cls(
            name=block.name,
            grid=str(block.scale),
            values=values.tolist(),
            buckets=tuple((bucket, cells) for bucket, cells in runs[0]) if runs else UNSET,
        )


class RoundPart(Part, frozen=True, kw_only=True):
    """A step of the loop. choice: index among its candidates, null where there was no choice. charges: numbers of the
    events that paid. law, measured: null where a crash has lost the draw. certified: where the stop test was met, the
    records by which no answer of the workload was off then. error_sum: where no answers were measured but the L1 errors
    of marginals, their noisy sum, in units of 1 / 64 of what one record moves one of them."""

    choice: Count | None
    charges: tuple[Count, ...]
    stopped: bool
    certified: float | UnsetType = UNSET
    error_sum: int | UnsetType = UNSET
    law: Law | None
    measured: tuple[Measured, ...] | None

    @classmethod
    def of(cls, finished: Round) -> RoundPart:
        """A step as the transcript has it."""
        found, errors = finished.measurement, finished.errors
        law = found.law if found else errors.law if errors else None
        return cls(
            choice=finished.choice,
            charges=tuple(finished.charges),
            stopped=finished.stopped,
            certified=UNSET if finished.bound is None else finished.bound,
            error_sum=UNSET if errors is None else errors.value,
            law=None if law is None else law_part(law),
            measured=tuple(map(Measured.of, found.blocks, found.values)) if found else None,
        )


def figure_parts(prices: Mapping[str, Fraction | None]) -> dict[str, FigurePart | None]:
    """Epsilon by accountant; null where the theorem does not cover the events."""
    return {name: FigurePart.known(price) for name, price in prices.items()}


class Spent(Part, frozen=True, kw_only=True):
    """Epsilon at `delta` under every accountant, null where its theorem does not cover the run. charged: the accountant
    that the guarantee rests on."""

    charged: str
    why: str | UnsetType = UNSET
    delta: FigurePart
    epsilon: dict[str, FigurePart | None]
    phases: dict[str, dict[str, FigurePart | None]] | UnsetType = UNSET

    @classmethod
    def of(cls, release: FinishedRun) -> Spent:
        """The whole schedule under every accountant, and each phase by itself, which only basic adds up to the whole.

        The guarantee is the budget under the one that was charged; `why` says who chose it.
        """
        plan = release.plan
        return cls(
            charged=plan.roles.accountant.name,
            why=choice_words(plan),
            delta=FigurePart.of(plan.budget.delta),
            epsilon=figure_parts(release.spent),
            phases={phase: figure_parts(costs) for phase, costs in release.costs.items()},
        )


class Paid(Part, frozen=True, kw_only=True):
    """What a ledger had set aside. entry: its number. seal: of the ledger's chain up to it. charged: what it keeps of
    that, in its own currency; not set: all."""

    dataset: str
    entry: Count
    seal: str
    charged: str | UnsetType = UNSET

    @classmethod
    def of(cls, paid: Reservation, charged: str) -> Paid:
        """The reservation that paid. charged: what the ledger keeps of it; empty: all."""
        return cls(dataset=paid.dataset, entry=paid.number, seal=paid.receipt, charged=charged or UNSET)


class Dropped(Part, frozen=True, kw_only=True):
    """The noisy count of the records that were left out."""

    counts: str | UnsetType = UNSET
    estimate: int
    law: Law
    charge: Count
    parallel: bool | UnsetType = UNSET

    @classmethod
    def of(cls, release: FinishedRun) -> Dropped | None:
        """None where there is none. parallel: it added nothing to what the run cost."""
        found, unit = release.dropped, release.plan.problem.unit
        if found is None:
            return None
        return cls(
            counts=dropped_words(unit),
            estimate=found.estimate,
            law=law_part(found.measurement.law),
            charge=found.charge,
            parallel=unit.apart,
        )


class PersonTables(Part, frozen=True, kw_only=True):
    """The noisy tables of persons, which one draw released."""

    measured: tuple[Measured, ...]
    law: Law
    charge: Count

    @classmethod
    def of(cls, release: FinishedRun) -> PersonTables | UnsetType:
        """Not set where there are none."""
        found = release.persons
        if found is None:
            return UNSET
        drawn = found.measurement
        measured = tuple(map(Measured.of, drawn.blocks, drawn.values))
        return cls(measured=measured, law=law_part(drawn.law), charge=found.charge)


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

    @classmethod
    def of(cls, found: BlockErrors | None) -> Errors | None:
        """The draws in their order; None where none were bought."""
        if found is None:
            return None
        unit = found.sums.errors.unit
        return cls(
            fineness=FINENESS,
            units={block.name: error_unit(block, unit) for block in found.sums.errors.blocks},
            draws=tuple(
                ErrorDraw(
                    of="largest" if drawn.errors.largest else "sum",
                    groups=tuple(tuple(block.name for block in group) for group in drawn.errors.groups),
                    values=drawn.values.tolist(),
                    law=law_part(drawn.law),
                    charge=drawn.charge,
                )
                for drawn in (found.sums, *([found.largest] if found.largest else []))
            ),
        )


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

    @classmethod
    def of(cls, bounds: ErrorBounds | None) -> Bounds | None:
        """L1 errors in records; None where no bounds were bought."""
        if bounds is None:
            return None
        blocks = (BlockBound(name=name, records=records) for name, records in bounds.blocks.items())
        return cls(mean=bounds.mean, fraction=bounds.fraction, confidence=bounds.confidence, blocks=tuple(blocks))


class CertificatePart(Part, frozen=True, kw_only=True):
    """With probability `confidence` no estimate is off by more than `records`."""

    records: float
    fraction: float | None
    confidence: float

    @classmethod
    def of(cls, found: Certificate | None) -> CertificatePart | None:
        """None where nothing is certified."""
        if found is None:
            return None
        return cls(records=found.records, fraction=found.fraction, confidence=found.confidence)


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

    @classmethod
    def of(cls, bars: ErrorBars) -> ErrorBarsPart:
        """The errors that a release shows."""
        return cls(
            words=bars_words(bars),
            refits=bars.refits,
            source=bars.source,
            factors=dict(bars.factors),
            predicted=dict(bars.predicted),
            missing=bars.missing,
        )


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
    versions: dict[str, str] | UnsetType = UNSET
    date: str | UnsetType | None = UNSET
    publisher: str | UnsetType | None = UNSET
    rehearsal: bool | UnsetType = UNSET
    private: bool
    warning: str | UnsetType | None = UNSET
    guarantee: str
    unit: str
    counts: str | UnsetType | None = UNSET
    ledger: str | Paid
    purpose: str | UnsetType | None = UNSET
    by: str | UnsetType | None = UNSET
    approved_by: str | UnsetType | None = UNSET
    events: tuple[Event, ...]
    spent: Spent
    certainty: str
    receipt: tuple[tuple[str, str], ...] | UnsetType = UNSET
    certificate: CertificatePart | UnsetType | None = UNSET
    intervals: Intervals | UnsetType = UNSET
    error_bars: ErrorBarsPart | UnsetType = UNSET
    errors: Errors | UnsetType | None = UNSET
    bounds: Bounds | UnsetType | None = UNSET
    dropped: Dropped | UnsetType | None = UNSET
    person_tables: PersonTables | UnsetType = UNSET
    trust: tuple[str, ...]
    hypothesis: HypothesisPart
    synthetic: Synthetic | None
    views: Views | UnsetType = UNSET
    files: tuple[str, ...]
    hashes: dict[str, Digest] | UnsetType = UNSET
    cumulative: Cumulative | UnsetType = UNSET
    plan: PlanPart
    transcript: tuple[RoundPart, ...]
    questions: Questions | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET

    @classmethod
    def of(
        cls,
        release: FinishedRun,
        files: Mapping[str, str],
        synthetic: Synthetic | None,
        views: Views | None,
        receipt: Sequence[tuple[str, str]],
    ) -> ReleaseRecord:
        """A release, not sealed yet. files and what follows: as of `release_document`."""
        # Of a counter: the release whose cumulative answers these are added to, null for none.
        earlier = release.earlier
        after = After(period=earlier.period, sha256=earlier.sha256) if earlier and earlier.period else None
        return cls(
            dpqr=RELEASE_FORMAT,
            version=__version__,
            versions=versions_part(),
            date=release.date or None,
            publisher=release.publisher or None,
            rehearsal=release.rehearsal,
            private=release.private,
            warning=left_out_warning(release),
            guarantee=release_guarantee(release),
            unit=release.plan.problem.unit.words,
            counts=release.plan.problem.unit.counted,
            ledger="none" if release.paid is None else Paid.of(release.paid, release.charged),
            purpose=release.reason.purpose or None,
            by=release.reason.by or None,
            approved_by=release.reason.approved_by or None,
            events=tuple(events_part(release.events or release.plan.events)),
            spent=Spent.of(release),
            certainty=certainty(release),
            receipt=tuple(receipt),
            certificate=CertificatePart.of(release.certificate),
            intervals=Intervals(level=float(LEVEL), words=interval_words(release)),
            error_bars=ErrorBarsPart.of(release.bars),
            errors=Errors.of(release.errors),
            bounds=Bounds.of(release.bounds),
            dropped=Dropped.of(release),
            person_tables=PersonTables.of(release),
            trust=tuple(release.trust),
            hypothesis=HypothesisPart(kind=kind(release.hypothesis), total=float(release.hypothesis.total)),
            synthetic=synthetic,
            views=views or UNSET,
            files=tuple(files),
            hashes=dict(files),
            cumulative=UNSET if release.plan.problem.turn is None else Cumulative(after=after),
            plan=PlanPart.of(release.plan),
            transcript=tuple(map(RoundPart.of, release.transcript.rounds)),
            questions=release.questions or UNSET,
        )


_PART = re.compile(rb'(?<=["/])(\w+)Part"')
_REFERENCE = re.compile(r"#/\$defs/(\w+)")


_ADDED = {
    "ReleaseRecord": (
        *("certainty", "hypothesis", "synthetic", "files", "plan", "transcript"),
        *("hashes", "sha256", "rehearsal", "warning", "counts", "purpose", "by", "approved_by", "receipt"),
        *("certificate", "intervals", "error_bars", "dropped", "errors", "bounds", "views", "cumulative", "questions"),
        "person_tables",
    ),
    "Plan": ("variant", "promise", "error_bars", "request", "draws", "sha256", "period", "counter", "person_tables"),
    "Event": tuple(Event.__annotations__),
    "Law": tuple(Law.__annotations__),
}
"""The last keys of a part in the schema, in the order in which the format got them; a record lists them otherwise."""


def release_schema() -> JSON:
    """The JSON Schema (draft 2020-12) of release.json; its `$id` carries the version.

    It calls the classes by their names without `Part`, which tells them from the values that they are written from.
    """
    body = json.decode(_PART.sub(rb'\1"', json.encode(json.schema(ReleaseRecord))))
    parts: JSON = body.pop("$defs")
    listed: JSON = {}

    def enlist(name: str) -> None:
        """Put a part into the schema, its required keys first, and after it those that it names."""
        if name in listed:
            return
        part, added = parts[name], _ADDED.get(name, ())
        keys = sorted(
            part["properties"], key=lambda key: (key not in part["required"], added.index(key) if key in added else -1)
        )
        properties = {key: part["properties"][key] for key in keys}
        required = [key for key in keys if key in part["required"]]
        listed[name] = part | {"properties": properties, "required": required}
        for named in _REFERENCE.findall(json.encode(properties).decode()):
            enlist(named)

    enlist(ReleaseRecord.__name__)
    title = {"$id": f"urn:dpqr:{RELEASE_FORMAT.replace('/', ':')}", "title": f"dpqr {RELEASE_FORMAT}"}
    return {"$schema": DIALECT, **title, **body, "$defs": listed}


def parsed_record(document: Any, where: str) -> ReleaseRecord:
    """The record by its parts. DocumentError, with the place, for what no version of dpqr has written."""
    try:
        return msgspec.convert(document, ReleaseRecord)
    except msgspec.ValidationError as fault:
        raise DocumentError(f"{where}: does not fit the form that `dpqr schema release` prints: {fault}") from None
