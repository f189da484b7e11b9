"""Report: a release as one HTML page, as a record for the registry of deployments, and as a dataset card."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.budgets import configured_ledger
from dpqr.releases.answers.answered import answered_block
from dpqr.releases.documents import write_new
from dpqr.releases.read_release import ReleaseFiles, all_answers, read_figures, read_release, release_around
from dpqr.releases.receipt import plan_facts
from dpqr.releases.record.plan_document import plan_document, seal_document
from dpqr.releases.resources import Resources
from dpqr.releases.result import FinishedRun
from dpqr.releases.table_files import figures_table
from dpqr.report.cards import CuratorFacts, croissant_text, registry_text
from dpqr.report.page.parts import (
    ChargeRow,
    Preview,
    ReportInput,
    Spending,
    file_hashes,
    first_rows,
    html,
    require_extra,
    table_columns,
)
from dpqr.report.page.release_page import plan_page, release_page
from dpqr.strategies.plan import Plan

PREVIEW = 8
"""Synthetic rows that a page shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What is to be written of a release, each to a new file; None: not that.

    release: its directory. ledger, anchor: show the budget from there; None: no ledger is opened. stated: what only a
    person knows, for registry and card.
    """

    release: str
    html: str | None = None
    registry: str | None = None
    croissant: str | None = None
    ledger: str | None = None
    anchor: str | None = None
    stated: CuratorFacts = field(default_factory=CuratorFacts)


def report(request: ReportRequest) -> tuple[str, ...]:
    """Write the files; their names. Everything is read and made before the first is written.

    Raises:
        UsageFault: there is no release, nothing is asked for, or a human field of the registry is missing.
        DocumentError: the release is damaged.
        AlreadyThere: a file exists.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    if not (request.html or request.registry or request.croissant):
        raise UsageFault("report: say what to write: --html FILE, --registry FILE or --croissant FILE")
    if request.html:
        require_extra()
    # The release that this is, or that holds this file.
    around = release_around(request.release)
    if around is None:
        raise UsageFault(f"{request.release}: is no release; give the directory that dpqr release has made")
    files = read_release(request.release if os.path.isdir(request.release) else around)
    texts = []
    if request.html:
        texts.append(("html", request.html, release_html(reported_files(files, request.ledger, request.anchor))))
    if request.registry:
        doubt = f"# Not verified: {' '.join(files.unverified.split())}\n" if files.unverified else ""
        texts.append(("registry", request.registry, doubt + registry_text(files.record, request.stated)))
    if request.croissant:
        known = file_hashes(files), table_columns(files), files.unverified
        texts.append(("croissant", request.croissant, croissant_text(files.record, request.stated, *known)))
    for form, path, text in texts:
        write_new(path, text, option=f"--{form}")
    return tuple(path for _, path, _ in texts)


def release_html(found: ReportInput) -> str:
    """A release as a page. UsageFault where the extra is not installed."""
    return html(release_page(found))


def plan_html(plan: Plan, taken: Resources, parts: Mapping[str, Any] | None = None) -> str:
    """A plan as a page. UsageFault where the extra is not installed.

    Args:
        taken: its forecast of time and memory.
        parts: what else stands in the document, as for `save_plan`: the page shows the hash of both together.
    """
    return html(plan_page(seal_document(plan_document(plan) | dict(parts or {})), plan_facts(plan, taken)))


def reported_files(files: ReleaseFiles, ledger: str | None = None, anchor: str | None = None) -> ReportInput:
    """A release on disk. DocumentError where it is damaged."""
    preview = first_rows(files, PREVIEW)
    return ReportInput(
        record=files.record,
        blocks=tuple(all_answers(files)),
        place=str(files.path),
        spending=_spending(files, ledger, anchor) if ledger else None,
        preview=Preview(columns=preview[0], rows=preview[1]) if preview else None,
        hashes=file_hashes(files),
        figures=read_figures(files),
        unverified=files.unverified,
    )


def reported_release(release: FinishedRun, record: dict[str, Any]) -> ReportInput:
    """A release in memory. record: what its release.json would say."""
    domain = release.plan.problem.domain
    blocks = tuple(answered_block(each, domain) for each in release.answers)
    figures = figures_table(release).records() if release.figures else ()
    return ReportInput(record=record, blocks=blocks, place="RELEASE", figures=figures)


def _spending(files: ReleaseFiles, ledger: str, anchor: str | None) -> Spending | None:
    """None where no ledger paid. UsageFault where another one did."""
    if files.dataset is None:
        return None
    record = configured_ledger(ledger, anchor).walk()
    account = record.state.account(files.dataset)
    own, seal = (files.record["ledger"][name] for name in ("entry", "seal"))
    if not any(entry.number == own and entry.hash == seal for entry in record.entries):
        raise UsageFault(f"--ledger {ledger}: did not pay for {files.path}; name the ledger that did")
    # What each reservation of the dataset has cost in the end.
    settled = {entry.settles: entry.cost for entry in record.entries if entry.settles is not None}
    charges = tuple(
        ChargeRow(
            number=entry.number,
            date=entry.time[:10],
            cost=settled.get(entry.number, entry.cost),
            own=entry.number == own,
        )
        for entry in record.entries
        if entry.kind == "reserve" and entry.dataset == account.terms.dataset
    )
    return Spending(account=account, charges=charges)
