"""`dpqr answer`: new questions on a release."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from dpqr.cli import options
from dpqr.cli.completion import DOCUMENTS, LEDGERS
from dpqr.cli.options import Integer, file_or_sql, takes
from dpqr.kernel.errors import UsageFault
from dpqr.python.owner_options import HumanFields

if TYPE_CHECKING:
    from dpqr.report.release import Form, SeriesForm


_ask, _say = options.under("Questions"), options.under("Screen")
_files = partial(_ask, metavar="FILE", callback=options.require_file_name, shell_complete=DOCUMENTS)


@click.command("answer", cls=options.SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@_files("--queries", help="Queries file (JSON), or .sql file of SELECT statements.")
@_ask("--sql", metavar="TEXT", help="SELECT statements, in place of --queries.")
@_ask("--where", metavar="PREDICATE", help="Count the records that fulfil it.")
@_ask("--by", metavar="COLUMN", multiple=True, help="For each cell of this column; may be repeated.")
@options.under("Output")(
    "--out", metavar="FILE", callback=options.require_file_name, help="Also write a new .csv, .parquet, .json."
)
@_say("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def answer_command(
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
    from dpqr.cli.streams import print_paged, product_json, render, say
    from dpqr.kernel.wording import plain
    from dpqr.python.answer import answer
    from dpqr.report.answers import blocks_view, figures_view

    found, color = answer(release, queries=file_or_sql(queries, sql), where=where, by=by, out=out), not no_color

    document = found.document()
    views = [blocks_view(found.blocks)] if found.blocks else []
    views += [figures_view(document["figures"])] if "figures" in document else []
    if as_json:
        product_json(document)
    else:
        print_paged("\n\n".join(render(view, sys.stdout, color) for view in views))
    for note in found.notes:
        say(f"note: {plain(note)}")


# `dpqr export`: a release as tables for other tools.


@click.command("export")
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@click.option(
    "--duckdb", metavar="FILE", required=True, callback=options.require_file_name, help="Write this new DuckDB file."
)
@click.option(
    "--if-exists",
    type=click.Choice(["skip", "fail", "replace"]),
    default="fail",
    help="Where FILE is there: skip an export of this release. [default: fail]",
)
def export_command(release: str, *, duckdb: str, if_exists: Literal["skip", "fail", "replace"]) -> None:
    """Write the release in the directory RELEASE as tables of one DuckDB file.

    Its tables: answers, columns, cells, synthetic (where the release holds synthetic data) and facts.

    \b
    dpqr export release/ --duckdb release.db
    duckdb release.db "SELECT * FROM answers WHERE query = 'n'"
    """
    from dpqr.cli.streams import say
    from dpqr.kernel.wording import count_words, plain
    from dpqr.python.answer import export

    found = export(release, duckdb=duckdb, if_exists=if_exists)
    for note in found.notes:
        say(f"note: {plain(note)}")
    if found.tables:
        tables = ", ".join(f"{name} ({count_words(rows, 'row')})" for name, rows in found.tables.items())
        say(f"exported to {plain(found.path)}: {tables}")


# `dpqr show`: a release looked at again, whole or one query of it.

_forms = click.Choice(["table", "bars", "heatmap", "curve"])
_say_release = options.under("Screen")


def query_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """The queries of the release that is named before, for a shell that completes."""
    from dpqr.kernel.errors import DpqrError
    from dpqr.published.show import show

    try:
        kept = show(context.params["release"])
    except (KeyError, DpqrError):
        return []
    return [entry.name for entry in kept.entries if entry.name.startswith(begun)]


@click.command("show", cls=options.SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@_say_release(
    "--query", metavar="NAME", shell_complete=query_names, help="Its answers. [default: the receipt, and all names]"
)
@_say_release("--as", "form", type=_forms, help="Form of the answers; heatmap: of two columns. [default: table]")
@_say_release(
    "--views",
    metavar="BASE",
    type=Integer(min=1, max=10**6),
    help="Marginals in whole numbers and by BASE, adding up.",
)
@_say_release("--rows", metavar="N", type=Integer(min=1), help="How many answers to show. [default: all]")
@_say_release("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say_release("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def show_command(
    release: str,
    *,
    query: str | None,
    form: Form | None,
    views: int | None,
    rows: int | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """Show a release again: its receipt, or the answers of one query.

    RELEASE is the directory that `dpqr release` has made, or the file of `dpqr predict`. Nothing else is opened.

    \b
    dpqr show release/
    dpqr show release/ --query 'education by income'
    dpqr show release/ --query 'education by income' --as heatmap
    dpqr show release/ --views 5
    dpqr show predictions.csv
    """
    from dpqr.cli.screen import Screen
    from dpqr.cli.streams import say
    from dpqr.kernel.wording import plain
    from dpqr.published.show import show, show_answers, show_bound, show_figure, show_views, why_unverified
    from dpqr.python.shown import Shown
    from dpqr.releases.read_release import block_records
    from dpqr.releases.views import view_records
    from dpqr.report.answers import figures_view, views_view
    from dpqr.report.release import stored_block_view, stored_run_view

    # On stderr, where the receipt, which says it too, is not shown.
    if (views is not None or query is not None or as_json) and (doubt := why_unverified(release)):
        say(f"not verified: {plain(doubt)}")
    if views is not None:
        if query is not None or form is not None or rows is not None:
            raise UsageFault("--views shows all marginals together; leave --query, --as and --rows out")
        made = show_views(release, views)
        records, bias = view_records(made), made.bias
        shown = Shown(
            lambda: views_view(records, bias, views),
            lambda: {"base": views, "bias": list(bias), "answers": records},
        )
    elif query is not None and form is None and rows is None and (figure := show_figure(release, query)):
        shown = Shown(lambda: figures_view(figure), lambda: list(figure))
    elif query is not None:
        block = show_answers(release, query)
        most = rows or block.rows
        shown = Shown(
            lambda: stored_block_view(block, form or "table", most, show_bound(release, block.name)),
            lambda: block_records(block.first(most)),
        )
    elif form is not None or rows is not None:
        raise UsageFault(f"--{'as' if form else 'rows'} is about the answers of a query; add --query NAME")
    else:
        kept = show(release)
        asked = [(entry.name, entry.rows, entry.columns) for entry in kept.entries]
        shown = Shown(lambda: stored_run_view(kept.receipt, asked, kept.figures), lambda: kept.record)
    Screen(color=not no_color, as_json=as_json).show(shown, paged=True)


# `dpqr series`: releases of the same queries at several points in time.

_say_series, _put = options.under("Screen"), options.under("Output")


@click.command("series", cls=options.SectionedCommand)
@click.argument("releases", nargs=-1, required=True, metavar="RELEASE...", callback=options.require_file_name)
@_say_series("--query", metavar="NAME", help="This query alone. [default: all]")
@_say_series(
    "--as", "form", type=click.Choice(["table", "curve"]), default="table", help="Form of the answers. [table]"
)
@_put("--out", metavar="FILE", callback=options.require_file_name, help="Also write a new .csv, .parquet, .json.")
@_say_series("--json", "as_json", is_flag=True, help="JSON on stdout, all digits.")
@_say_series("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def series_command(
    releases: tuple[str, ...],
    *,
    query: str | None,
    form: SeriesForm,
    out: str | None,
    as_json: bool,
    no_color: bool,
) -> None:
    """Show how answers change from release to release, with the errors of the answers and of the changes.

    The releases answer the same queries over the same domain. Those of periods are put in order. Nothing is paid.

    \b
    dpqr series release-01/ release-02/ release-03/
    dpqr series release-*/ --query n --as curve
    dpqr series release-*/ --out series.csv
    """
    from dpqr.cli.streams import print_paged, product_json, render, say
    from dpqr.kernel.wording import plain
    from dpqr.python.series import series

    found = series(releases, query=query)
    if out is not None:
        found.save(out)
    if as_json:
        product_json(found.document())
    else:
        print_paged(render(found.view(form), sys.stdout, not no_color))
    for note in found.notes:
        say(f"note: {plain(note)}")


# `dpqr report`: a release as a page, as a record for the deployments registry, and as a dataset card.

_write, _budget = (options.under(heading) for heading in ("Files", "Budget for life"))


@click.command("report", cls=options.SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@partial(_write, metavar="FILE", callback=options.require_file_name)("--html", help="A page that stands by itself.")
@partial(_write, metavar="FILE", callback=options.require_file_name)(
    "--registry", help="A record for the deployments registry."
)
@partial(_write, metavar="FILE", callback=options.require_file_name)(
    "--croissant", help="A dataset card (Croissant 1.0, JSON-LD)."
)
@partial(_budget, metavar="FILE", callback=options.require_file_name, shell_complete=LEDGERS)(
    "--ledger", help="Show what the budget has paid for, and what is left.", setting=True
)
@partial(_budget, metavar="FILE", callback=options.require_file_name)(
    "--anchor", help="What finds rollbacks of the ledger."
)
@takes(HumanFields, "human")
def report_command(release: str, human: HumanFields, **options: Any) -> None:
    """Write a report of RELEASE, for people, registries and catalogues.

    RELEASE is the directory that `dpqr release` has made. No table is opened, and nothing is spent.

    \b
    dpqr report release/ --html report.html
    dpqr report release/ --html report.html --ledger budgets.sqlite
    dpqr report release/ --registry record.yaml --title 'Survey tables' ...
    """
    from dpqr.cli.streams import say
    from dpqr.kernel.wording import plain
    from dpqr.published.show import why_unverified
    from dpqr.python.reports import write_report

    if doubt := why_unverified(release):
        say(f"not verified: {plain(doubt)}")
    for path in write_report(release, **options, **human):
        say(f"wrote {plain(path)}")
