"""release.json and the plan document: the public record of a run, versioned.

Everything here is public or released: no timings, no row counts, no file contents. The same release always gives the
same document. Rationals are exact text ("1/10"), with a float beside them that is rounded up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpqr import __version__
from dpqr.construction.block_errors import BlockErrors
from dpqr.construction.certificate import Certificate, ErrorBounds
from dpqr.construction.error_bars import ErrorBars
from dpqr.construction.noisy import LEVEL
from dpqr.construction.release import Release
from dpqr.construction.sentences import (
    INTERVALS,
    bars_words,
    certainty,
    choice_words,
    dropped_warning,
    dropped_words,
    guarantee,
    release_guarantee,
)
from dpqr.data.unit import PrivacyUnit
from dpqr.io.journal.fingerprints import plan_digest
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.outputs.document_parts import (
    budget_part,
    domain_part,
    events_part,
    kind,
    law_part,
    option_parts,
    price_part,
    rational,
    reason_part,
    versions_part,
    workload_part,
)
from dpqr.mechanisms.block_errors import FINENESS, error_unit
from dpqr.privacy.ledger import Reservation
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock
from dpqr.workload.partition import Merged
from dpqr.workload.workload import Measurement

PLAN_FORMAT = "plan/1"
RELEASE_FORMAT = "release/1"
SEAL = "sha256"


def plan_document(plan: Plan) -> dict[str, Any]:
    """The run on paper, as `--dry-run --json` and a locked plan have it, and as release.json repeats it. Plain JSON
    values.

    request: documents, options and limits that it was made from; null where they are not known. draws: the fingerprint
    of all that the draws depend on. sha256: of the canonical JSON of all the rest; ledger and record name the plan by
    it. A run that follows a locked plan repeats its document.
    """
    if plan.inputs and plan.inputs.locked:
        return dict(plan.inputs.locked)
    return sealed(_plan_parts(plan))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 by which ledger and record name a plan."""
    return str(plan_document(plan)[SEAL])


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """A document under the SHA-256 of its canonical JSON, which `sha256` holds; a seal that it has is replaced."""
    parts = {name: part for name, part in document.items() if name != SEAL}
    return parts | {SEAL: hashlib.sha256(canonical(parts).encode()).hexdigest()}


def _plan_parts(plan: Plan) -> dict[str, Any]:
    return {
        "dpqr": PLAN_FORMAT,
        "version": __version__,
        "guarantee": guarantee(plan),
        "unit": _unit(plan.problem.unit),
        "n": plan.problem.n,
        "most": plan.problem.most,
        "persons": plan.problem.persons,
        "budget": budget_part(plan.budget),
        **_strategies(plan),
        "domain": domain_part(plan.problem.domain),
        "workload": workload_part(plan.problem.workload, plan.problem.domain),
        **_schedule(plan),
        "events": events_part(plan.events),
        "proved_epsilon": rational(plan.epsilon),
        "forecast": [
            {"name": block.name, "queries": block.rows, "noise_deviation": block.deviation} for block in plan.forecast
        ],
        "bytes": plan.bytes,
        "seed": plan.problem.seed,
        "notes": list(plan.notes),
        "request": plan.inputs.request if plan.inputs else None,
        "draws": plan_digest(plan),
    }


def release_document(
    release: Release,
    *,
    files: Mapping[str, str] | None = None,
    synthetic: dict[str, Any] | None = None,
    receipt: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The record of `release`.

    files: what stands beside it, the SHA-256 of each by its name; synthetic: how synthetic data was drawn; receipt: the
    whole receipt in words, lines of a name and a text, as `dpqr show` prints them.

    events are the charged ones; plan.events the planned ones, which say the worst that may be drawn: fewer or cheaper
    ones where the loop ended early, a sum where prices followed what was released, the noise of the largest query where
    others were measured. warning: what may have gone wrong with the table or the domain file; null: nothing seen.
    The guarantee is that of all planned events, wherever the loop stopped; what a ledger gave back for an early stop
    stands in the ledger. sha256: of the canonical JSON of all the rest.
    """
    plan = release.plan
    return sealed(
        {
            "dpqr": RELEASE_FORMAT,
            "version": __version__,
            "versions": versions_part(),
            "date": release.date or None,
            "publisher": release.publisher or None,
            "rehearsal": release.rehearsal,
            "private": release.private,
            "warning": dropped_warning(release),
            "guarantee": release_guarantee(release),
            "unit": plan.problem.unit.words,
            "counts": plan.problem.unit.counted,
            "ledger": _ledger(release.paid),
            **reason_part(release.reason),
            "events": events_part(release.events or plan.events),
            "spent": _spent(release),
            "certainty": certainty(release),
            "receipt": [list(line) for line in receipt],
            "certificate": _certificate(release.certificate),
            "intervals": {"level": float(LEVEL), "words": INTERVALS},
            "error_bars": _bars(release.bars),
            "dropped": _dropped(release),
            "errors": None if release.errors is None else _errors(release.errors),
            "bounds": None if release.bounds is None else _bounds(release.bounds),
            "trust": list(release.trust),
            "hypothesis": {"kind": kind(release.hypothesis), "total": float(release.hypothesis.total)},
            "synthetic": synthetic,
            "files": list(files or {}),
            "hashes": dict(files or {}),
            "plan": plan_document(plan),
            "transcript": [_round(finished) for finished in release.transcript.rounds],
        }
    )


def _unit(unit: PrivacyUnit) -> dict[str, Any]:
    """max_rows: of each person; null where every row is its own unit. counts: the count column of a histogram."""
    return {
        "neighbours": unit.neighbours.value,
        "column": unit.column,
        "max_rows": unit.rows if unit.column is not None else None,
        "counts": unit.counted,
        "words": unit.words,
    }


def _strategies(plan: Plan) -> dict[str, Any]:
    roles = plan.roles
    return {
        "schedule": option_parts(plan.schedule),
        "distinguisher": option_parts(roles.distinguisher),
        "check": option_parts(roles.check),
        "update": option_parts(roles.update),
        "accountant": roles.accountant.name,
        "asked": sorted(plan.asked),
    }


def _schedule(plan: Plan) -> dict[str, Any]:
    """What will be drawn, how often, at what price, and when the loop stops."""
    problem, stop = plan.problem, plan.stop
    return {
        "opening": [[block.name for block in blocks] for blocks in plan.opening],
        "rounds": plan.rounds,
        "price": {
            "dropped": price_part(plan.price("left out")),
            "opening": price_part(plan.price("opening")),
            "selection": price_part(plan.price("selection")),
            "measurement": price_part(plan.price("measurement")),
            "stages": [price_part(phase.price) for phase in plan.named("stage")],
            "errors": price_part(plan.price("errors")),
            "bounds": price_part(plan.price("bounds")),
        },
        "error_bars": plan.error_bars,
        "alpha": None if problem.alpha is None else rational(problem.alpha),
        "promise": None if stop is None else stop.promise,
        "beta": None if stop is None and not plan.named("bounds") else rational(problem.beta),
        "level": None if problem.level is None else rational(problem.level.value),
        "variant": problem.level.variant if problem.level else None,
        "threshold": None if stop is None else rational(stop.threshold),
    }


def _ledger(paid: Reservation | None) -> str | dict[str, Any]:
    """The reservation that paid; seal: of the ledger's chain up to it."""
    return "none" if paid is None else {"dataset": paid.dataset, "entry": paid.number, "seal": paid.receipt}


def _spent(release: Release) -> dict[str, Any]:
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


def _dropped(release: Release) -> dict[str, Any] | None:
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
    measured = finished.measurement
    return {
        "choice": finished.choice,
        "charges": list(finished.charges),
        "stopped": finished.stopped,
        "law": None if measured is None else law_part(measured.law),
        "measured": None if measured is None else _measured(measured),
    }


def _measured(measured: Measurement) -> list[dict[str, Any]]:
    return [
        {"name": block.name, "grid": str(block.scale), "values": values.tolist(), **_buckets(block)}
        for block, values in zip(measured.blocks, measured.values, strict=True)
    ]


def _buckets(block: QueryBlock) -> dict[str, Any]:
    """Where cells were merged: pairs of a bucket and of how many cells in a row lie in it, in the cells' order."""
    runs = [factor.matrix.runs for factor in block.factors if isinstance(factor.matrix, Merged)]
    return {"buckets": [list(run) for run in runs[0]]} if runs else {}
