"""`dpqr plan`: what a release would do, before there is a table."""

from __future__ import annotations

from functools import partial

import click

from dpqr.cli import groups, options
from dpqr.cli.settings import settings_notes


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
    from dpqr.api.requests import release_request
    from dpqr.app.release import dry_run
    from dpqr.cli.screen import Screen

    asked = groups.keywords(documents, guarantee, bought, strategies, table, payer)
    request = release_request(None, eps=eps, notes=settings_notes(), **asked)
    Screen.of(display).plan(*dry_run(request))
