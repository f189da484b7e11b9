"""What commands of a session share: its name, its ledger, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from dpqr.cli import options
from dpqr.cli.settings import say_settings
from dpqr.cli.streams import product, product_json


def of_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --ledger, --anchor and --json."""
    return options.added(
        command,
        click.argument("name"),
        click.option("--ledger", metavar="FILE", help="The ledger. [DPQR_LEDGER, else this user's own]"),
        click.option("--anchor", metavar="FILE", help="What finds rollbacks of the ledger. [DPQR_ANCHOR]"),
        click.option("--json", "as_json", is_flag=True, help="JSON on stdout."),
    )


def show(document: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a document as JSON, or what it says as lines; on stderr, which settings were in use."""
    say_settings()
    if as_json:
        product_json(document)
    else:
        product("\n".join(lines))
