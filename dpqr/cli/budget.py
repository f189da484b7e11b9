"""`dpqr budget`: the ledger of what every dataset may spend, and has spent, in its life."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dpqr.cli.completion import DOCUMENTS, datasets
from dpqr.cli.options import keywords, takes
from dpqr.cli.settings import say_settings
from dpqr.cli.streams import product, product_json, render, require_output, say
from dpqr.python.options import rows
from dpqr.python.owner_options import (
    ApproveCommand,
    InitCommand,
    LedgerFileOptions,
    PolicyCommand,
    ReadLedgerCommand,
    ShowBudgetCommand,
)

if TYPE_CHECKING:
    from dpqr.python.ledger import Budget, Ledger

LONG_REPLAY = 10_000
"""Entries since the last checkpoint that are worth a note: replaying so many takes about 0.4 seconds."""


def opened(given: LedgerFileOptions) -> Ledger:
    """The ledger. Nothing is read or made yet; what dpqr.toml states of the command is said."""
    from dpqr.python.ledger import Ledger

    say_settings()
    return Ledger(given["ledger"], given["anchor"])


def budget_keywords(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a budget as keywords of the ledger's methods; without the ledger's own files."""
    return {name: value for name, value in keywords(given).items() if name not in rows(LedgerFileOptions)}


@click.group("budget")
def command() -> None:
    """Budgets for a dataset's whole life, shared by all jobs.

    \b
    dpqr budget init survey --eps 5 --cap-eps 1
    dpqr budget init survey --eps 5 --delta 1e-9 --anchor /other/disk/survey.anchor
    dpqr budget init survey --eps 5 --delta 1e-6 --accounting basic
    dpqr budget init stays --eps 1 --period month --period-column admitted --per-period 0.1
    dpqr budget policy survey --max-records 1000000
    dpqr budget policy survey --source "postgresql://db.example.org/surveys?table=people"
    dpqr budget approve survey plan.json --by "M. Lee"
    dpqr budget show survey
    """


@command.command("init")
@click.argument("dataset")
@takes(InitCommand, unset=("purpose",))
def init(dataset: str, given: InitCommand) -> None:
    """Give DATASET its budget, once: there is no reset.

    Every run that the budget pays for reads the table as stated here, and from the source that is stated here; a
    request that states otherwise is refused. Without --source a run names its files.
    """
    require_output()
    budget = opened(given).init(dataset, **budget_keywords(given))
    _show((budget,), budget.record if given["as_json"] else None)


@command.command("policy")
@click.argument("dataset", shell_complete=datasets)
@takes(PolicyCommand)
def policy(dataset: str, given: PolicyCommand) -> None:
    """Change which table every run on DATASET reads, and how: the latter towards stricter only, with no way back.

    Stricter: smaller limits, a delimiter or an encoding where none was stated, no rule `fail`, and approvals: every
    release then follows a plan that somebody else than who asks has approved. A budget that was opened before policies
    existed may be given any, once. A count column is fixed by `budget init`: it says whom a budget protects. Whether
    labels and bounds may be learned may change either way: what is learned is paid for in full.

    The source is an engine's table, view or query; requests then leave DATA out, and the owner vouches that it gives
    each person at most the stated rows. Any other source may take its place, and the history keeps them all.
    """
    changed = opened(given).policy(dataset, **budget_keywords(given))
    _show((changed,), changed.record if given["as_json"] else None)


@command.command("approve")
@click.argument("dataset", shell_complete=datasets)
@click.argument("plan", metavar="PLAN", shell_complete=DOCUMENTS)
@takes(ApproveCommand, unset=("purpose",))
def approve(dataset: str, plan: str, given: ApproveCommand) -> None:
    """Approve one run of DATASET by the plan in the file PLAN, which `dpqr plan --out` or `--lock` has written.

    --by says who approves. The plan is made again from the documents that it holds, and refused where it differs. What
    was approved is printed. `dpqr plan` and its --html show more of it before.
    """
    approved = opened(given).approve(dataset, plan, by=given["by"], purpose=given["purpose"])
    product(str(approved))
    say(f"approved one run of {dataset} by plan {approved.sha256}")


@command.command("show")
@click.argument("dataset", required=False, shell_complete=datasets)
@takes(ShowBudgetCommand)
def show(dataset: str | None, given: ShowBudgetCommand) -> None:
    """Show what DATASET, or every dataset, has spent and has left.

    The history is priced under every accountant; the one that the budget was opened with is charged.
    """
    shown = opened(given).budgets(dataset, delta=given["delta"])
    _show(shown, [one.record for one in shown] if given["as_json"] else None)
    if shown and (replayed := shown[0].priced.replayed) > LONG_REPLAY:
        say(f"every new job replays {replayed:,} entries; its owner makes that short by `dpqr budget checkpoint`")


@command.command("history")
@click.argument("dataset", required=False, shell_complete=datasets)
@takes(ReadLedgerCommand)
def history(dataset: str | None, given: ReadLedgerCommand) -> None:
    """List the entries of DATASET, or all: budgets, reservations, settlements."""
    entries = opened(given).entries(dataset)
    if given["as_json"]:
        from dpqr.ledger.record import entry_document

        product_json([entry_document(entry) for entry in entries])
        return
    from dpqr.report.budget import history_view

    _print(history_view(entries))


@command.command("verify")
@takes(ReadLedgerCommand)
def verify(given: ReadLedgerCommand) -> None:
    """Walk the whole ledger: structure, chain, anchor, rules, prices. Exit code 7 at the first fault."""
    found = opened(given).verify()
    if given["as_json"]:
        product_json(found)
        return
    product(f"sound: {found['entries']} entries, seal {found['seal']}")
    anchored = found["anchor"]
    if anchored is None:
        say("no anchor was named: entries missing at the end, or an older copy, would not be found")
    else:
        behind = found["entries"] - anchored["entries"]
        say(f"the anchor lags by {behind} entries and agrees" if behind else "the anchor agrees")
    if found["rejected"]:
        say(f"entries that the owner has rejected: {', '.join(map(str, found['rejected']))}")
    if found["unproved"]:
        numbers = ", ".join(map(str, found["unproved"][:5])) + (", ..." if len(found["unproved"]) > 5 else "")
        say(
            f"prices that were not derived again, of reservations {numbers}: pld proves them, which needs the package "
            "dp-accounting; pip install 'dpqr[pld]' and verify again"
        )


@command.command("export")
@takes(LedgerFileOptions)
def export(given: LedgerFileOptions) -> None:
    """Print the record as JSON lines, from which anybody can check the chain."""
    for line in opened(given).export():
        product(line)


@command.command("move")
@click.argument("to", metavar="TO")
@takes(LedgerFileOptions)
def move(to: str, given: LedgerFileOptions) -> None:
    """Carry the whole ledger on in TO, a file or postgresql://..., and close it where it is now.

    Seals and receipts stay what they are, and the anchor goes with the chain. A move that was killed is finished by the
    same command. Runs that wait are continued with --ledger TO.
    """
    moved = opened(given).move(to)
    say(f"the ledger goes on in {moved.path}; name that with --ledger")


@command.command("grant")
@click.argument("role", metavar="ROLE")
@takes(LedgerFileOptions)
def grant(role: str, given: LedgerFileOptions) -> None:
    """Let ROLE of the PostgreSQL database pay for runs: it can append an entry, and nothing else.

    Budgets, policies, approvals, checkpoints and moves stay with the role that owns the tables. Tables of an older
    version of dpqr are brought up to date; then each role has to be granted again.
    """
    opened(given).grant(role)
    say(f"{role} may pay for runs from this ledger")


@command.command("revoke")
@click.argument("role", metavar="ROLE")
@takes(LedgerFileOptions)
def revoke(role: str, given: LedgerFileOptions) -> None:
    """Let ROLE of the PostgreSQL database pay for nothing any more. What it has reserved stays paid."""
    opened(given).revoke(role)
    say(f"{role} pays for nothing from this ledger any more")


@command.command("checkpoint")
@takes(LedgerFileOptions)
def checkpoint(given: LedgerFileOptions) -> None:
    """Keep the state of all budgets, so that a new job replays only what comes after.

    For a ledger in PostgreSQL that jobs use for a long time: they may not keep it. Every use by the owner does so too.
    """
    mark = opened(given).checkpoint()
    say(f"new jobs begin at entry {mark.entries - 1}")


@command.command("reject")
@takes(LedgerFileOptions)
def reject(given: LedgerFileOptions) -> None:
    """Go on in spite of entries that break the rules, where a role has appended them to a ledger in PostgreSQL.

    Only the owner can. What the rules refuse counts for nothing, and what they admit counts at the price that it
    states; nothing else is taken back. One more entry says so.
    """
    numbers = opened(given).reject()
    say(f"rejected entries: {', '.join(map(str, numbers))}" if numbers else "no entry of a job breaks the rules")


@command.command("anchor")
@takes(LedgerFileOptions)
def anchor(given: LedgerFileOptions) -> None:
    """Write the anchor of a ledger that has none yet, or whose anchor was lost.

    The ledger is taken as it is: an older anchor that disagrees is not replaced.
    """
    mark = opened(given).renew_anchor()
    say(f"anchored at {mark.entries} entries, seal {mark.seal}")


def _show(shown: tuple[Budget, ...], document: object) -> None:
    if document is not None:
        product_json(document)
        return
    from dpqr.report.budget import account_view, accounts_view

    priced = (one.priced for one in shown)
    _print(accounts_view(account_view(one.account, one.prices, one.delta) for one in priced))


def _print(view: Any) -> None:
    product(render(view, sys.stdout))
