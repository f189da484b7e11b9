"""`dpqr strategies`: the names that options accept."""

from __future__ import annotations

import click

from dpqr.cli.screen import product, product_json


@click.command("strategies")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(as_json: bool) -> None:
    """List schedules, distinguishers, checks, update rules and accountants, and what each is for.

    Third parties' strategies are listed from their metadata; their code is not imported.
    """
    from dpqr.app.strategies import list_strategies

    listed = list_strategies()
    if as_json:
        product_json(listed)
        return
    for role in dict.fromkeys(one["role"] for one in listed):
        product(f"--{role}")
        for one in (entry for entry in listed if entry["role"] == role):
            origin = "" if one["origin"] == "dpqr" else f" [{one['origin']}]"
            product(f"  {one['name']}{origin}: {one['what']}\n    {one['use']}")
