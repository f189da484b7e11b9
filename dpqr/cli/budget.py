"""`dpqr budget`: the ledger of what every dataset may spend, and has spent, in its life."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from dpqr.cli import options as groups
from dpqr.cli.completion import DOCUMENTS, SQL, datasets
from dpqr.cli.options import Integer, delimiter, encoding, gather_options, list_options
from dpqr.cli.settings import say_settings
from dpqr.cli.streams import product, product_json, render, require_output, say
from dpqr.domain.periods import EVERY, Every
from dpqr.python.options import MOST_RECORDS

if TYPE_CHECKING:
    from dpqr.python.ledger import Budget, Ledger


# Groups of options of `dpqr budget`, each as one typed object.

MEMORY = 2**28
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where the ledger and its anchor lie; None: as configured."""

    ledger: str | None
    anchor: str | None

    def opened(self) -> Ledger:
        """The ledger. Nothing is read or made yet; what dpqr.toml states of the command is said."""
        from dpqr.python.ledger import Ledger

        say_settings()
        return Ledger(self.ledger, self.anchor)


def files(command: Decorated) -> Decorated:
    """--ledger and --anchor, as `files`."""
    words = "File outside the ledger that finds rollbacks; none: without. [DPQR_ANCHOR]"
    return list_options(
        gather_options(Files, "files")(command),
        click.option(
            "--ledger",
            metavar="FILE|URL",
            help="The ledger, a file or postgresql://. [DPQR_LEDGER, else own]",
        ),
        click.option("--anchor", metavar="FILE", help=words),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """How every run reads the table: the options of the budget's policy that may be changed later."""

    max_records: int | None
    max_bytes: int | None
    max_memory: int | None
    delimiter: str | None
    encoding: str | None
    require_approval: bool
    source: str | None
    source_query: str | None


def reading(command: Decorated) -> Decorated:
    """The limits of every run, delimiter, encoding, whether plans need approval, and the source, as `reading`."""
    limit = partial(click.option, metavar="N")
    return list_options(
        gather_options(ReadingOptions, "reading")(command),
        limit("--max-records", type=Integer(1, MOST_RECORDS), help="Most rows."),
        limit("--max-bytes", type=Integer(1), help="Most bytes to read, and to unpack to."),
        limit("--max-memory", type=Integer(MEMORY), help="Most bytes of memory to draw persons' rows in."),
        delimiter(),
        encoding(),
        click.option("--require-approval", is_flag=True, help="Pay only for plans that somebody else approved."),
        click.option("--source", metavar="ADDRESS", help="The engine's table that every run reads; `files`: none."),
        click.option("--source-query", metavar="FILE", shell_complete=SQL, help="A SELECT in the place of its table."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What all releases of a dataset may spend together, and the largest of them; decimal texts."""

    eps: str
    delta: str | None
    accounting: str | None
    cap_eps: str | None
    cap_delta: str | None


def amount(command: Decorated) -> Decorated:
    """--eps, --delta, --accounting and the caps, as `amount`."""
    adds = (
        "What adds up: basic (epsilon, or epsilon and delta) zcdp (rho) or gdp (mu^2). [zcdp with a delta, else basic]"
    )
    return list_options(
        gather_options(Amount, "amount")(command),
        click.option("--eps", metavar="E", required=True, help="Epsilon of all releases together."),
        click.option("--delta", metavar="D", help="Delta of all releases together; 0 or none: pure privacy."),
        click.option("--accounting", "--accountant", "accounting", metavar="NAME", help=adds),
        click.option("--cap-eps", metavar="E", help="Epsilon of the largest single release. [no cap]"),
        click.option("--cap-delta", metavar="D", help="Delta of the largest single release (basic). [no cap]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """How a budget is divided into periods; None: it is not."""

    period: Every | None
    period_column: str | None
    per_period: str | None
    first: str | None


def periods(command: Decorated) -> Decorated:
    """--period, --period-column, --per-period and --first, as `periods`."""
    return list_options(
        gather_options(Periods, "periods")(command),
        click.option("--period", type=click.Choice(EVERY), help="Divide the budget: each period has its own. [none]"),
        click.option("--period-column", metavar="COLUMN", help="Column of dates that says which period a row is in."),
        click.option("--per-period", metavar="E", help="Epsilon of all releases of one period."),
        click.option("--first", metavar="PERIOD", help="The first period with a budget, 2026-01 for example. [any]"),
    )


LONG_REPLAY = 10_000
"""Entries since the last checkpoint that are worth a note: replaying so many takes about 0.4 seconds."""
as_json = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")


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
@amount
@click.option("--neighbours", type=click.Choice(["add-remove", "replace"]), default="add-remove", show_default=True)
@click.option("--unit", metavar="COLUMN", help="Column that says whose row it is; the budget then protects persons.")
@click.option("--counts", metavar="COLUMN", help="The table is a histogram; COLUMN holds each row's count.")
@periods
@reading
@click.option("--allow-fail", "fail", is_flag=True, help="A column's rule may be `fail`. [refused]")
@groups.asker
@click.option("--kind", type=click.Choice(["private", "public", "synthetic"]), default="private", show_default=True)
@files
@as_json
def init(
    dataset: str,
    *,
    amount: Amount,
    neighbours: Literal["add-remove", "replace"],
    unit: str | None,
    counts: str | None,
    periods: Periods,
    reading: ReadingOptions,
    fail: bool,
    asker: groups.Asker,
    kind: Literal["private", "public", "synthetic"],
    files: Files,
    as_json: bool,
) -> None:
    """Give DATASET its budget, once: there is no reset.

    Every run that the budget pays for reads the table as stated here, and from the source that is stated here; a
    request that states otherwise is refused. Without --source a run names its files.
    """
    require_output()
    opened = files.opened().init(
        dataset,
        neighbours=neighbours,
        unit=unit,
        counts=counts,
        allow_fail=fail,
        kind=kind,
        **groups.keywords(amount, periods, reading, asker),
    )
    _show((opened,), opened.record if as_json else None)


@command.command("policy")
@click.argument("dataset", shell_complete=datasets)
@reading
@click.option("--allow-fail/--forbid-fail", "fail", default=None, help="Whether a column's rule may be `fail`.")
@files
@as_json
def policy(dataset: str, *, reading: ReadingOptions, fail: bool | None, files: Files, as_json: bool) -> None:
    """Change which table every run on DATASET reads, and how: the latter towards stricter only, with no way back.

    Stricter: smaller limits, a delimiter or an encoding where none was stated, no rule `fail`, and approvals: every
    release then follows a plan that somebody else than who asks has approved. A budget that was opened before policies
    existed may be given any, once. A count column is fixed by `budget init`: it says whom a budget protects.

    The source is an engine's table, view or query; requests then leave DATA out, and the owner vouches that it gives
    each person at most the stated rows. Any other source may take its place, and the history keeps them all.
    """
    changed = files.opened().policy(dataset, fail=fail, **groups.keywords(reading))
    _show((changed,), changed.record if as_json else None)


@command.command("approve")
@click.argument("dataset", shell_complete=datasets)
@click.argument("plan", metavar="PLAN", shell_complete=DOCUMENTS)
@groups.asker
@files
def approve(dataset: str, plan: str, *, asker: groups.Asker, files: Files) -> None:
    """Approve one release of DATASET by the plan in the file PLAN, which `dpqr plan --out` has written.

    --by says who approves. The plan is made again from the documents that it holds, and refused where it differs. What
    was approved is printed. `dpqr plan` and its --html show more of it before.
    """
    approved = files.opened().approve(dataset, plan, **groups.keywords(asker))
    product(str(approved))
    say(f"approved one release of {dataset} by plan {approved.sha256}")


@command.command("show")
@click.argument("dataset", required=False, shell_complete=datasets)
@click.option("--delta", metavar="D", help="Where the history is priced. [each budget's own]")
@files
@as_json
def show(dataset: str | None, *, delta: str | None, files: Files, as_json: bool) -> None:
    """Show what DATASET, or every dataset, has spent and has left.

    The history is priced under every accountant; the one that the budget was opened with is charged.
    """
    shown = files.opened().budgets(dataset, delta=delta)
    _show(shown, [one.record for one in shown] if as_json else None)
    if shown and (replayed := shown[0].priced.replayed) > LONG_REPLAY:
        say(f"every new job replays {replayed:,} entries; its owner makes that short by `dpqr budget checkpoint`")


@command.command("history")
@click.argument("dataset", required=False, shell_complete=datasets)
@files
@as_json
def history(dataset: str | None, *, files: Files, as_json: bool) -> None:
    """List the entries of DATASET, or all: budgets, reservations, settlements."""
    entries = files.opened().entries(dataset)
    if as_json:
        from dpqr.ledger.record import entry_document

        product_json([entry_document(entry) for entry in entries])
        return
    from dpqr.report.budget import history_view

    _print(history_view(entries))


@command.command("verify")
@files
@as_json
def verify(*, files: Files, as_json: bool) -> None:
    """Walk the whole ledger: structure, chain, anchor, rules, prices. Exit code 7 at the first fault."""
    found = files.opened().verify()
    if as_json:
        product_json(found)
        return
    product(f"sound: {found['entries']} entries, seal {found['seal']}")
    say(_anchor_words(found["anchor"], found["entries"]))
    if found["rejected"]:
        say(f"entries that the owner has rejected: {', '.join(map(str, found['rejected']))}")
    if found["unproved"]:
        say(_unproved_words(found["unproved"]))


@command.command("export")
@files
def export(*, files: Files) -> None:
    """Print the record as JSON lines, from which anybody can check the chain."""
    for line in files.opened().export():
        product(line)


@command.command("move")
@click.argument("to", metavar="TO")
@files
def move(to: str, *, files: Files) -> None:
    """Carry the whole ledger on in TO, a file or postgresql://..., and close it where it is now.

    Seals and receipts stay what they are, and the anchor goes with the chain. A move that was killed is finished by the
    same command. Runs that wait are continued with --ledger TO.
    """
    moved = files.opened().move(to)
    say(f"the ledger goes on in {moved.path}; name that with --ledger")


@command.command("grant")
@click.argument("role", metavar="ROLE")
@files
def grant(role: str, *, files: Files) -> None:
    """Let ROLE of the PostgreSQL database pay for runs: it can append an entry, and nothing else.

    Budgets, policies, approvals, checkpoints and moves stay with the role that owns the tables. Tables of an older
    version of dpqr are brought up to date; then each role has to be granted again.
    """
    files.opened().grant(role)
    say(f"{role} may pay for runs from this ledger")


@command.command("revoke")
@click.argument("role", metavar="ROLE")
@files
def revoke(role: str, *, files: Files) -> None:
    """Let ROLE of the PostgreSQL database pay for nothing any more. What it has reserved stays paid."""
    files.opened().revoke(role)
    say(f"{role} pays for nothing from this ledger any more")


@command.command("checkpoint")
@files
def checkpoint(*, files: Files) -> None:
    """Keep the state of all budgets, so that a new job replays only what comes after.

    For a ledger in PostgreSQL that jobs use for a long time: they may not keep it. Every use by the owner does so too.
    """
    mark = files.opened().checkpoint()
    say(f"new jobs begin at entry {mark.entries - 1}")


@command.command("reject")
@files
def reject(*, files: Files) -> None:
    """Go on in spite of entries that break the rules, where a role has appended them to a ledger in PostgreSQL.

    Only the owner can. What the rules refuse counts for nothing, and what they admit counts at the price that it
    states; nothing else is taken back. One more entry says so.
    """
    numbers = files.opened().reject()
    say(f"rejected entries: {', '.join(map(str, numbers))}" if numbers else "no entry of a job breaks the rules")


@command.command("anchor")
@files
def anchor(*, files: Files) -> None:
    """Write the anchor of a ledger that has none yet, or whose anchor was lost.

    The ledger is taken as it is: an older anchor that disagrees is not replaced.
    """
    mark = files.opened().renew_anchor()
    say(f"anchored at {mark.entries} entries, seal {mark.seal}")


def _show(shown: tuple[Budget, ...], document: Any) -> None:
    if document is not None:
        product_json(document)
        return
    from dpqr.report.budget import account_view, accounts_view

    priced = (one.priced for one in shown)
    _print(accounts_view(account_view(one.account, one.prices, one.delta) for one in priced))


def _print(view: Any) -> None:
    product(render(view, sys.stdout))


def _unproved_words(numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return (
        f"prices that were not derived again, of reservations {listed}: pld proves them, which needs the package "
        "dp-accounting; pip install 'dpqr[pld]' and verify again"
    )


def _anchor_words(anchored: dict[str, Any] | None, entries: int) -> str:
    if anchored is None:
        return "no anchor was named: entries missing at the end, or an older copy, would not be found"
    behind = entries - anchored["entries"]
    return f"the anchor lags by {behind} entries and agrees" if behind else "the anchor agrees"
