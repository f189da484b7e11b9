"""Shell completion: the script that a shell loads, and values: files, datasets, topics, strategies.

A completer reads public things in local files, opens no connection, changes nothing, and is silent where it fails: a
shell shows no errors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem, get_completion_class

from dpqr.cli.streams import product

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_DPQR_COMPLETE"
"""Set by a shell that asks for completions."""
PATIENCE = 0.5
"""Seconds to wait for a ledger that others write."""


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options, files, datasets and topics.

    \b
    dpqr completion bash > ~/.local/share/bash-completion/completions/dpqr
    dpqr completion zsh > ~/.zfunc/_dpqr
    dpqr completion fish > ~/.config/fish/completions/dpqr.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the shells of the choice
    made = kind(context.find_root().command, {}, "dpqr", VARIABLE)
    product((made.source_template % made.source_vars()).strip("\n"))


def files(*endings: str) -> Completer:
    """Files with these endings; whatever the shell finds where there is none, or where a directory may be meant."""

    def completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        folder, start = os.path.split(incomplete)
        with suppress(OSError, ValueError), os.scandir(folder or os.curdir) as listed:
            meant = [entry for entry in listed if entry.name.startswith(start) and (start or entry.name[0] != ".")]
            if not any(entry.is_dir() for entry in meant):
                names = sorted(os.path.join(folder, entry.name) for entry in meant if entry.name.endswith(endings))
                if names:
                    return [CompletionItem(name) for name in names]
        return [CompletionItem(incomplete, type="file")]

    return completed


DOCUMENTS = files(".json", ".yaml", ".yml", ".toml")
TABLES = files(".csv", ".csv.gz", ".tsv", ".parquet")
LEDGERS = files(".sqlite")
SQL = files(".sql")


def datasets(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the ledger that the command would use, where that is a file: no server is asked."""
    with suppress(Exception):
        from dpqr.ledger.budgets import ledger_store
        from dpqr.ledger.chained_ledger import ChainedLedger
        from dpqr.ledger.store import SqliteStore

        named = context.params.get("ledger") or (context.default_map or {}).get("ledger")
        store = ledger_store(named)
        if not isinstance(store, SqliteStore):
            return []
        ledger = ChainedLedger(store=store, unanchored=True, wait=PATIENCE)
        return _starting(incomplete, (account.terms.dataset for account in ledger.accounts()))
    return []


def topics(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Topics of the guide."""
    from dpqr.report.guide import EVERY_TOPIC

    return _starting(incomplete, EVERY_TOPIC)


def queries(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the queries of the release that is named before."""
    with suppress(Exception):
        from dpqr.published.show import show

        return _starting(incomplete, (entry.name for entry in show(context.params["release"]).entries))
    return []


def strategies(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the option's role, as `dpqr strategies` lists them."""
    with suppress(Exception):
        from dpqr.python.build import strategy_rows

        names = (one["name"] for one in strategy_rows() if f"--{one['role']}" in parameter.opts)
        return _starting(incomplete, names)
    return []


def _starting(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
