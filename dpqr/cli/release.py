"""`dpqr release`: the main job."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from dpqr.cli import options
from dpqr.errors import UsageFault

_pay, _out, _say = options.under("Budget for life"), options.under("Output"), options.under("Screen")
_forms, _bins = click.Choice(["csv", "parquet", "json"]), click.Choice(["title", "midpoint", "sampled"])
_modes = click.Choice(["auto", "json", "none"])


@click.command("release", cls=options.Sectioned)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", callback=options.named)
@options.documents
@options.privacy
@options.strategies
@options.table
@_pay("--dataset", metavar="NAME", help="Pay from the budget of this dataset (`dpqr budget init`).")
@_pay("--ledger", metavar="FILE", callback=options.named, help="The ledger. [DPQR_LEDGER, else this user's own]")
@_pay("--anchor", metavar="FILE", callback=options.named, help="What finds rollbacks of the ledger. [DPQR_ANCHOR]")
@_pay("--resume", is_flag=True, help="Continue the killed release to --out; no draw is paid twice.")
@_out("--out", metavar="DIR", help="Write the release into this new directory.")
@_out("--format", "answers", type=_forms, help="Form of the answers in DIR. [default: csv]")
@_out("--synthetic", type=click.Choice(["rows", "cells"]), help="Also write synthetic.parquet into DIR.")
@_out("--bins", type=_bins, help="How synthetic data shows a bin; sampled: by a value from it. [default: title]")
@_out("--force", is_flag=True, help="Replace the release that is in DIR.")
@_out("--dry-run", is_flag=True, help="Print the plan; the data is not opened.")
@_say("--json", "as_json", is_flag=True, help="JSON on stdout.")
@_say("--progress", type=_modes, default="auto", show_default=True, help="On stderr; auto: if it is a terminal.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(**given: Any) -> None:
    """Release private answers to the queries over the table DATA.

    DATA is a CSV (.csv, .csv.gz) or Parquet file, a directory or glob of such files, or - for CSV on standard input.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --domain domain.json --eps 0.5 --delta 1e-9 --out release/
    dpqr release data.csv --queries q.json --eps 1 --dataset survey --out release/
    dpqr release data.csv --queries q.json --eps 1 --dry-run
    """
    from dpqr.app.paid_run import ledger_request
    from dpqr.app.release import dry_run, release
    from dpqr.cli.progress import progress
    from dpqr.cli.screen import Screen

    color, lines = not given["no_color"], given["progress"] == "json"
    screen = Screen(color=color, as_json=given["as_json"], lines=lines)
    source, request, output, limits = _source(given), _plan_request(given), _output(given), options.limits(given)
    payer = ledger_request(given["dataset"], given["ledger"], given["anchor"], given["resume"])
    if given["dry_run"]:
        screen.plan(dry_run(source, request, output, limits, payer=payer))
        return
    room = partial(screen.require_room, directory=output.directory)
    with progress(given["progress"], color=color) as observer:
        finished = release(source, request, output, limits, observer, planned=room, payer=payer)
    screen.release(finished, output.directory)


def _source(given: dict[str, Any]) -> Any:
    from dpqr.io.tables.source import TableSource

    return TableSource(paths=given["data"], delimiter=given["delimiter"], count_column=given["counts"])


def _plan_request(given: dict[str, Any]) -> Any:
    from dpqr.app.request import PlanRequest

    same = ("queries", "delta", "domain", "neighbours", "n", "schedule", "distinguisher", "update", "accountant")
    more = ("rounds", "opening", "alpha", "beta", "variant", "replay", "max_model_size", "trust", "seed")
    counting = ("unit", "max_rows", "counts", "count_dropped", "no_count_dropped")
    taken = {name: given[name] for name in (*same, *more, *counting)}
    return PlanRequest(epsilon=given["eps"], check=given["checks"], cells=given["max_cells"], **taken)


def _output(given: dict[str, Any]) -> Any:
    """Options that would have no effect are refused: what they ask for would cost the budget a second time."""
    from dpqr.app.release import OutputRequest

    taken = {"format": given["answers"], **{name: given[name] for name in ("synthetic", "bins", "force")}}
    stated = {name: value for name, value in taken.items() if value}
    if stated and given["out"] is None:
        raise UsageFault(f"--{next(iter(stated))} is about the files of a release; add --out DIR")
    if given["bins"] and not given["synthetic"]:
        raise UsageFault("--bins is about synthetic data; add --synthetic rows or --synthetic cells")
    if given["bins"] == "sampled" and given["synthetic"] == "cells":
        raise UsageFault("--bins sampled draws a value for every row; choose --synthetic rows, or --bins midpoint")
    return OutputRequest(directory=given["out"], **stated)
