"""`dpqr init`: the files that a new project begins with."""

from __future__ import annotations

from typing import Any

import click

from dpqr.cli.documents import sources
from dpqr.cli.parameters import options
from dpqr.cli.terminal.streams import say


@click.command("init", cls=options.Sectioned)
@click.argument("data", metavar="[DATA]", required=False, callback=options.named)
@click.option("--out", metavar="DIR", default=".", callback=options.named, help="Where. [default: here]")
@click.option("--dataset", metavar="NAME", help="What the ledger calls the table; releases are paid from its budget.")
@sources
def command(data: str | None, table: str | None, out: str, dataset: str | None, **sources: Any) -> None:
    """Write dpqr.toml, domain.json and queries.json, to be filled in.

    Of the table DATA only column names and types are read, and the columns are described as for `dpqr domain`. A file
    that exists is never overwritten.

    \b
    dpqr init survey.csv --dataset survey
    dpqr init survey.csv --encoding cp1252 --types "age=integer:0..99,sex=string:f|m"
    dpqr check
    dpqr release survey.csv --eps 1 --dry-run
    """
    from dpqr.api.documents import init
    from dpqr.report.wording import plain

    started = init(out, data, name=table, dataset=dataset, **sources)
    for remark in started.remarks:
        say(plain(remark))
    *others, last = map(plain, started.paths)
    say(f"wrote {', '.join(others)} and {last}; check them: dpqr check")
