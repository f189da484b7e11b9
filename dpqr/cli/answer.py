"""`dpqr answer`: new questions on a release."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from dpqr.cli.completion import DOCUMENTS
from dpqr.cli.parameters import groups, options

if TYPE_CHECKING:
    from dpqr.api.answer import Later

_ask, _say = options.under("Questions"), options.under("Screen")
_files = partial(_ask, metavar="FILE", callback=options.named, shell_complete=DOCUMENTS)


@click.command("answer", cls=options.Sectioned)
@click.argument("release", metavar="RELEASE", callback=options.named)
@_files("--queries", help="Queries file (JSON), or .sql file of SELECT statements.")
@_ask("--sql", metavar="TEXT", help="SELECT statements, in place of --queries.")
@_ask("--where", metavar="PREDICATE", help="Count the records that fulfil it.")
@_ask("--by", metavar="COLUMN", multiple=True, help="For each cell of this column; may be repeated.")
@options.under("Output")(
    "--out", metavar="FILE", callback=options.named, help="Also write a new .csv, .parquet, .json."
)
@_say("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(
    release: str,
    *,
    queries: str | None,
    sql: str | None,
    where: str | None,
    by: tuple[str, ...],
    out: str | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """Answer new questions from the release in the directory RELEASE; free, and no table is opened.

    The release's model is made again from its noisy draws. A question that was in the release gets the release's own
    answer. A note says where nothing that was measured shows the error.

    \b
    dpqr answer release/ --sql "SELECT sex, COUNT(*) FROM data GROUP BY sex"
    dpqr answer release/ --where "age >= 68" --by sex --by region
    dpqr answer release/ --queries more.json --out more.csv
    """
    from dpqr.api.answer import answer

    found = answer(release, queries=groups.file_or_sql(queries, sql), where=where, by=by, out=out)
    _show(found, as_json=as_json, color=not no_color)


def _show(found: Later, *, as_json: bool, color: bool) -> None:
    from dpqr.cli.terminal.streams import paged, product_json, rendered, say
    from dpqr.report.answers_view import blocks_view
    from dpqr.report.figures_view import figures_view
    from dpqr.report.wording import plain

    document = found.document()
    views = [blocks_view(found.blocks)] if found.blocks else []
    views += [figures_view(document["figures"])] if "figures" in document else []
    if as_json:
        product_json(document)
    else:
        paged("\n\n".join(rendered(view, sys.stdout, color) for view in views))
    for note in found.notes:
        say(f"note: {plain(note)}")
