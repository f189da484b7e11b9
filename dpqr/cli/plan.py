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
@options.under("Review")("--out", metavar="FILE", callback=options.named, help="Write the plan, to be reviewed.")
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
    out: str | None,
) -> None:
    """Plan a release; no table is named, and none is opened.

    \b
    dpqr plan --queries q.json --eps 1
    dpqr plan --queries q.json --eps 1 --dataset survey --out plan.json
    """
    from dpqr.api.requests import release_request
    from dpqr.app.locked_plan import plan_file, save_plan
    from dpqr.app.release import dry_run
    from dpqr.cli.screen import Screen
    from dpqr.cli.streams import say

    asked = groups.keywords(documents, guarantee, bought, strategies, table, payer)
    target = plan_file(out) if out else None
    plan, taken = dry_run(release_request(None, eps=eps, notes=settings_notes(), **asked))
    Screen.of(display).plan(plan, taken)
    if target:
        say(f"planned into {target.given}, sha256 {save_plan(plan, target)}")
