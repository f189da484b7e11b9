"""What commands of a session share: its plan, its name, its ledger, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import click

import dpqr
from dpqr.cli.completion import DOCUMENTS
from dpqr.cli.parameters import options
from dpqr.cli.parameters.settings import say_settings
from dpqr.cli.terminal.streams import product, product_json, require_output, say

REVIEW = (
    options.under("Review")(
        "--plan",
        metavar="FILE",
        callback=options.named,
        shell_complete=DOCUMENTS,
        help="Follow this plan (--lock); refused where anything differs.",
    ),
    options.under("Review")(
        "--approved-by", metavar="NAME", help="Who approved: one line, kept in the ledger and the record."
    ),
)
"""Of a run or session that follows a plan of its own command."""

lock = options.under("Review")(
    "--lock", metavar="FILE", callback=options.named, help="As --dry-run; write the plan, to be reviewed."
)


def on_paper(dry_run: bool, lock: str | None, plan: str | None) -> bool:
    """Whether only a plan is wanted. UsageError for one that is followed and written."""
    if lock and plan:
        raise click.UsageError("--lock writes a plan and --plan follows one; give one of them")
    return dry_run or lock is not None


def of_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --ledger, --anchor and --json."""
    return options.added(
        command,
        click.argument("name"),
        click.option("--ledger", metavar="FILE", help="The ledger. [DPQR_LEDGER, else this user's own]"),
        click.option("--anchor", metavar="FILE", help="What finds rollbacks of the ledger. [DPQR_ANCHOR]"),
        click.option("--json", "as_json", is_flag=True, help="JSON on stdout."),
    )


def last_commands(
    group: click.Group,
    kind: Literal["Session", "PredictionSession"],
    lines: Callable[[Any], Iterable[str]],
    *,
    empty: str,
    out: Callable[..., Any],
    written: str,
) -> None:
    """`status` and `close` of a kind of session.

    Args:
        kind: its public name. lines: how it stands. empty: what one that was of no use had done. out: the option
            --out. written: what became of its place.
    """

    @group.command("status")
    @of_session
    def status_command(name: str, *, ledger: str | None, anchor: str | None, as_json: bool) -> None:
        """Say how the session NAME stands; the table is not opened."""
        require_output()
        found = getattr(dpqr, kind)(name=name, ledger=ledger, anchor=anchor).status()
        show(found.document(), lines(found), as_json=as_json)

    @group.command("close")
    @out
    @of_session
    def close_command(name: str, *, out: str | None, ledger: str | None, anchor: str | None, as_json: bool) -> None:
        """End the session NAME; what was not drawn goes back to the budget."""
        from dpqr.report.wording import plain

        require_output()
        finished = getattr(dpqr, kind)(name=name, ledger=ledger, anchor=anchor).close(out)
        if finished is None:
            say(f"session {name!r} is closed; it had {empty} nothing")
            return
        show(finished.record, [str(finished.receipt).rstrip("\n")], as_json=as_json)
        if out is not None:
            say(written.format(plain(out)))


def show(document: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a document as JSON, or what it says as lines; on stderr, which settings were in use."""
    say_settings()
    if as_json:
        product_json(document)
    else:
        product("\n".join(lines))
