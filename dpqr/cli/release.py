"""`dpqr release`: the main job."""

from __future__ import annotations

from typing import Any

import click

from dpqr.cli import options


@click.command("release")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@options.documents
@options.privacy
@options.strategies
@options.table
@click.option("--out", metavar="DIR", help="Write the release into this new directory.")
@click.option("--format", "answers", type=click.Choice(["csv", "parquet", "json"]), default="csv", show_default=True)
@click.option("--synthetic", type=click.Choice(["rows", "cells"]), help="Also write synthetic.parquet.")
@click.option("--bins", type=click.Choice(["title", "midpoint"]), default="title", help="How synthetic rows show bins.")
@click.option("--force", is_flag=True, help="Replace an existing release directory.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.option("--dry-run", is_flag=True, help="Print the plan; the data is not opened.")
@click.option("--progress", type=click.Choice(["auto", "json", "none"]), default="auto", show_default=True)
@click.option("--no-color", is_flag=True, help="No colour (NO_COLOR does the same).")
def command(**given: Any) -> None:
    """Release private answers to the queries over the table DATA.

    DATA is a CSV (.csv, .csv.gz) or Parquet file, a directory or glob of such files, or - for CSV on standard input.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --domain domain.json --eps 0.5 --delta 1e-9 --out release/
    """
    from dpqr.cli.screen import Screen

    screen = Screen(color=not given["no_color"], as_json=given["as_json"])
    if given["dry_run"]:
        from dpqr.app.planning import plan_release

        screen.plan(plan_release(_plan_request(given)))
        return
    _release(given, screen)


def _release(given: dict[str, Any], screen: Any) -> None:
    from dpqr.app.release import OutputRequest, release
    from dpqr.cli.progress import progress
    from dpqr.io.tables.source import TableSource

    output = OutputRequest(
        directory=given["out"],
        format=given["answers"],
        synthetic=given["synthetic"],
        bins=given["bins"],
        force=given["force"],
    )
    source = TableSource(paths=given["data"], delimiter=given["delimiter"], count_column=given["counts"])
    with progress(given["progress"]) as observer:
        finished = release(source, _plan_request(given), output, _limits(given), observer)
    screen.release(finished, given["out"])


def _plan_request(given: dict[str, Any]) -> Any:
    from dpqr.app.planning import PlanRequest

    same = ("queries", "delta", "domain", "neighbours", "n", "schedule", "distinguisher", "update", "accountant")
    more = ("rounds", "opening", "alpha", "beta", "variant", "replay", "trust", "seed")
    taken = {name: given[name] for name in (*same, *more)}
    return PlanRequest(epsilon=given["eps"], check=given["checks"], cells=given["max_cells"], **taken)


def _limits(given: dict[str, Any]) -> Any:
    from dpqr.io.tables.limits import Limits

    named = {name: given[f"max_{name}"] for name in ("cells", "records", "columns", "bytes")}
    return Limits(**{name: value for name, value in named.items() if value is not None})
