"""A release as tables for other tools: the command line exports here too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, get_args

from dpqr.api.checks import Path, text
from dpqr.api.withheld import withheld
from dpqr.app.requests import ExistingForm

if TYPE_CHECKING:
    from dpqr.app.export import Exported


def export(release: Path, *, duckdb: Path, if_exists: ExistingForm = "fail") -> Exported:
    """Write a release as a DuckDB file with the tables answers, columns, cells, synthetic and facts.

    Args:
        release: its directory. duckdb: a new file. if_exists: as of `dpqr export`.

    Returns:
        `tables`, their rows by name, and `notes` on what is missing.

    Raises:
        UsageFault: there is no release, or the file cannot be written.
        AlreadyThere: something lies there that is not to be replaced.
        GoalMissed: the release's files were changed.
    """
    from dpqr.app.export import ExportRequest
    from dpqr.app.export import export as exported

    text("if_exists", if_exists, among=get_args(ExistingForm))
    request = ExportRequest(release=os.fspath(release), duckdb=os.fspath(duckdb), if_exists=if_exists)
    return withheld(lambda: exported(request))
