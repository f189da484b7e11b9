"""`dpqr report`: a release as a page, as a record for the deployments registry, and as a dataset card."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from dpqr.cli.completion import LEDGERS
from dpqr.cli.parameters import options

_write, _budget, _say = (options.under(heading) for heading in ("Files", "Budget for life", "Registry and card"))


@click.command("report", cls=options.Sectioned)
@click.argument("release", metavar="RELEASE", callback=options.named)
@partial(_write, metavar="FILE", callback=options.named)("--html", help="A page that stands by itself.")
@partial(_write, metavar="FILE", callback=options.named)("--registry", help="A record for the deployments registry.")
@partial(_write, metavar="FILE", callback=options.named)("--croissant", help="A dataset card (Croissant 1.0, JSON-LD).")
@partial(_budget, metavar="FILE", callback=options.named, shell_complete=LEDGERS)(
    "--ledger", help="Show what the budget has paid for, and what is left."
)
@partial(_budget, metavar="FILE", callback=options.named)("--anchor", help="What finds rollbacks of the ledger.")
@_say("--title", metavar="TEXT", help="Name of the data product.")
@_say("--curator", metavar="NAME", help="Who publishes it. [default: the record's publisher]")
@_say("--use", metavar="TEXT", help="What it is meant for. [default: the record's purpose]")
@_say("--region", metavar="TEXT", help="The region that it describes.")
@_say("--about", metavar="TEXT", help="What it is, in a sentence or two.")
@_say("--sector", metavar="NAME", help="Technology, Healthcare, Education, Government, Energy or Finance.")
@_say("--author", metavar="NAME", help="Who fills in the record. [default: who asked for the release]")
@_say("--date", metavar="YYYY-MM-DD", help="Of publication. [default: the release's]")
def command(release: str, **options: Any) -> None:
    """Write a report of RELEASE, for people, registries and catalogues.

    RELEASE is the directory that `dpqr release` has made. No table is opened, and nothing is spent.

    \b
    dpqr report release/ --html report.html
    dpqr report release/ --html report.html --ledger budgets.sqlite
    dpqr report release/ --registry record.yaml --title 'Survey tables' ...
    """
    from dpqr.api.pages import write_report
    from dpqr.app.show import unverified
    from dpqr.cli.terminal.streams import say
    from dpqr.report.wording import plain

    if doubt := unverified(release):
        say(f"not verified: {plain(doubt)}")
    for path in write_report(release, **options):
        say(f"wrote {plain(path)}")
