"""Pages of releases, from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpqr.app.documents import write_new
from dpqr.app.report import release_html, reported_files, reported_release

if TYPE_CHECKING:
    from dpqr.api.checks import Path
    from dpqr.api.release import Origin


def write_page(origin: Origin, path: Path) -> None:
    """Write the page of a release to a new file. Raises: UsageFault, AlreadyThere, DocumentError."""
    from dpqr.api.release import Kept, Made

    if isinstance(origin, Made):
        found = reported_release(origin.finished, origin.record())
    else:
        assert isinstance(origin, Kept), "a release is made here, or read back"
        found = reported_files(origin.files)
    write_new(os.fspath(path), release_html(found), option="report")
