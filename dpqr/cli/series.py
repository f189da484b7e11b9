"""`dpqr series`: releases of the same queries at several points in time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli.parameters import options

if TYPE_CHECKING:
    from dpqr.report.series_view import SeriesForm

_say, _put = options.under("Screen"), options.under("Output")


@click.command("series", cls=options.Sectioned)
@click.argument("releases", nargs=-1, required=True, metavar="RELEASE...", callback=options.named)
@_say("--query", metavar="NAME", help="This query alone. [default: all]")
@_say("--as", "form", type=click.Choice(["table", "curve"]), default="table", help="Form of the answers. [table]")
@_put("--out", metavar="FILE", callback=options.named, help="Also write a new .csv, .parquet, .json.")
@_put("--html", metavar="FILE", callback=options.named, help="Also write a page with plots (dpqr[report]).")
@_say("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(
    releases: tuple[str, ...],
    *,
    query: str | None,
    form: SeriesForm,
    out: str | None,
    html: str | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """Show how answers change from release to release, with the errors of the answers and of the changes.

    The releases answer the same queries over the same domain. Those of periods are put in order. Nothing is paid.

    \b
    dpqr series release-01/ release-02/ release-03/
    dpqr series release-*/ --query n --as curve
    dpqr series release-*/ --out series.csv --html series.html
    """
    from dpqr.api.series import series
    from dpqr.cli.terminal.streams import paged, product_json, rendered, say
    from dpqr.report.wording import plain

    found = series(releases, query=query)
    if out is not None:
        found.save(out)
    if html is not None:
        found.report(html)
    if as_json:
        product_json(found.document())
    else:
        paged(rendered(found.view(form), sys.stdout, not no_color))
    for note in found.notes:
        say(f"note: {plain(note)}")
