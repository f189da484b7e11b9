"""Reports of releases, from Python: pages, registry records, dataset cards."""

from __future__ import annotations

import os
from typing import Unpack

from dpqr.python.checks import Path, check_options, run_sanitised
from dpqr.python.options import checks
from dpqr.python.owner_options import HumanFields
from dpqr.releases.documents import write_new
from dpqr.report.page.parts import ReportInput
from dpqr.report.reports import CuratorFacts, ReportRequest, release_html, report


def write_report(
    release: Path,
    *,
    html: Path | None = None,
    registry: Path | None = None,
    croissant: Path | None = None,
    ledger: Path | None = None,
    anchor: Path | None = None,
    **human: Unpack[HumanFields],
) -> tuple[str, ...]:
    """Write a page, a record for the deployments registry or a dataset card of a release; their names.

    Args:
        release: its directory. html, registry, croissant: new files; None: not that. ledger, anchor: show the budget
            from there. human: `HumanFields`.

    Raises:
        UsageFault: there is no release, nothing is asked for, or a human field of the registry is missing.
        DocumentError: the release is damaged.
        AlreadyThere: a file exists.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    files = {"html": html, "registry": registry, "croissant": croissant, "ledger": ledger, "anchor": anchor}
    given = {name: None if path is None else os.fspath(path) for name, path in files.items()}
    request = ReportRequest(
        release=os.fspath(release), **given, stated=CuratorFacts(**check_options(human, checks(HumanFields)))
    )
    return run_sanitised(lambda: report(request))


def write_page(found: ReportInput, path: Path) -> None:
    """Write the page of a release to a new file. Raises: UsageFault, AlreadyThere."""
    write_new(os.fspath(path), release_html(found), option="report")
