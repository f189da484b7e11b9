"""--cumulative, --after and --start: the earlier releases that a release goes on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpqr.cli.parameters import options
from dpqr.cli.parameters.options import Whole
from dpqr.data.period_tree import MOST_PERIODS


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many periods the counter runs over, and the release before; the release whose tables a model starts from."""

    cumulative: int | None
    after: str | None
    start: str | None


def counted(command: Callable[..., Any]) -> Callable[..., Any]:
    """--cumulative, --after and --start, as `counted`."""
    option = options.under("Table")
    return options.added(
        options.gathered(Counted, "counted")(command),
        option(
            "--cumulative",
            metavar="PERIODS",
            type=Whole(1, MOST_PERIODS),
            help="Count all rows up to and including the period, over so many periods; --eps is for all of them.",
        ),
        option("--after", metavar="DIR", callback=options.named, help="The release of the period before."),
        option("--start", metavar="DIR", callback=options.named, help="Start the fit from this earlier release, free."),
    )
