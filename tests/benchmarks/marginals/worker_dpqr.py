"""Worker: one release by the product's own command. Arguments: folder, eps, delta, then more options of the release."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from gauge import Gauge

USED = (
    "dpqr.releases.release",
    "dpqr.cli.release",
    "dpqr.cli.screen",
    "dpqr.cli.screen",
    "dpqr.tables.csv_table",
    "dpqr.report.release",
    "dpqr.releases.receipt",
    "dpqr.strategies.checks",
    "dpqr.strategies.checks",
    "dpqr.strategies.distinguishers",
    "dpqr.strategies.distinguishers",
    "dpqr.strategies.schedules.marginals.schedule",
    "dpqr.strategies.schedules.rounds",
    "dpqr.strategies.updates.multiplicative_weights",
    "scipy.optimize",
    "scipy.special",
)
"""What a release imports on its way. dp_accounting comes too where it is installed, for the receipt."""


def main(folder: Path, eps: str, delta: str, *more: str) -> None:
    from dpqr.cli.main import main as command

    for name in USED:
        import_module(name)
    with suppress(ImportError):
        import_module("dp_accounting.pld.privacy_loss_distribution")
    gauge = Gauge()
    between(gauge)
    given = ["release", str(folder / "table.csv"), "--queries", str(folder / "q.json"), "--eps", eps, "--delta", delta]
    try:
        command([*given, "--out", str(folder / "release"), "--if-exists", "replace", *more])
    except SystemExit as ended:
        if ended.code:
            raise
    print(gauge.report())


def between(gauge: Gauge) -> None:
    """Tell the gauge when the table is loaded and when the answers are there."""
    app = import_module("dpqr.releases.release")
    construct, assemble = app.iterative_construction, app.assemble

    def constructed(*given: Any) -> Any:
        gauge.loaded()
        return construct(*given)

    def assembled(*given: Any, **more: Any) -> Any:
        release = assemble(*given, **more)
        gauge.answered()
        return release

    app.iterative_construction, app.assemble = constructed, assembled


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
