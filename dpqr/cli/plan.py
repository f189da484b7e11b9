"""`dpqr plan`: what a release would do, before there is a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from dpqr.cli import groups, options
from dpqr.cli.release import plan_request
from dpqr.cli.settings import settings_notes

if TYPE_CHECKING:
    from dpqr.app.requests import ReleaseRequest


@click.command("plan", cls=options.Sectioned)
@groups.asked
@partial(groups.guarantee, required=True)
@groups.bought
@groups.strategies
@groups.table
@groups.payer
@groups.display
def command(
    *,
    documents: groups.Asked,
    eps: str,
    guarantee: groups.Guarantee,
    bought: groups.Bought,
    strategies: groups.Strategies,
    table: groups.Table,
    payer: groups.Payer,
    display: groups.Display,
) -> None:
    """Plan a release; no table is named, and none is opened.

    \b
    dpqr plan --queries q.json --eps 1
    """
    from dpqr.app.release import dry_run
    from dpqr.cli.screen import Screen

    request = release_request(documents, eps, guarantee, bought, strategies, table, payer)
    Screen.of(display).plan(*dry_run(request))


def release_request(
    documents: groups.Asked,
    eps: str,
    guarantee: groups.Guarantee,
    bought: groups.Bought,
    strategies: groups.Strategies,
    table: groups.Table,
    payer: groups.Payer,
) -> ReleaseRequest:
    """The release that is planned, of a table that is not named."""
    from dpqr.app.requests import ReleaseRequest
    from dpqr.io.tables.source import STDIN

    return ReleaseRequest(
        source=table.source((STDIN,)),
        plan=plan_request(documents, eps, guarantee, bought, strategies, table),
        limits=table.limits,
        payer=payer.request(),
        notes=settings_notes(),
    )
