"""`dpqr init`: the files that a new project begins with."""

from __future__ import annotations

import click

from dpqr.cli import options
from dpqr.cli.streams import say


@click.command("init")
@click.argument("data", metavar="[DATA]", required=False, callback=options.named)
@click.option("--out", metavar="DIR", default=".", callback=options.named, help="Where. [default: here]")
@click.option("--dataset", metavar="NAME", help="What the ledger calls the table; releases are paid from its budget.")
@options.delimiter()
def command(data: str | None, out: str, dataset: str | None, delimiter: str | None) -> None:
    """Write dpqr.toml, domain.json and queries.json, to be filled in.

    Of the table DATA only column names and types are read, as by `dpqr domain`. A file that exists is never
    overwritten.

    \b
    dpqr init survey.csv --dataset survey
    dpqr check
    dpqr release survey.csv --eps 1 --dry-run
    """
    from dpqr.api.documents import init
    from dpqr.report.wording import plain

    *others, last = map(plain, init(out, data, dataset=dataset, delimiter=delimiter))
    say(f"wrote {', '.join(others)} and {last}; fill in labels and bounds, then: dpqr check")
