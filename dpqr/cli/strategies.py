"""`dpqr strategies`: the names that options accept."""

from __future__ import annotations

import click


@click.command("strategies")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(as_json: bool) -> None:
    """List schedules, distinguishers, checks, update rules and accountants."""
    import json

    from dpqr.app.strategies import list_strategies

    listed = list_strategies()
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    width = max(len(one["name"]) for one in listed)
    for role in dict.fromkeys(one["role"] for one in listed):
        click.echo(f"--{role}")
        for one in (entry for entry in listed if entry["role"] == role):
            click.echo(f"  {one['name']:<{width}}  {one['what']}  [{one['origin']}]")
