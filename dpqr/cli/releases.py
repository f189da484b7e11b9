"""`dpqr answer`: new questions on a release.

`dpqr export`: a release as tables for other tools.

`dpqr show`: a release looked at again, whole or one query of it.

`dpqr series`: releases of the same queries at several points in time.

`dpqr report`: a release as a page, as a record for the deployments registry, and as a dataset card.

`dpqr label`: what a release promises, on one card.

`dpqr evaluate`: exact errors of a release, for public and synthetic tables.
"""

from __future__ import annotations

import os
import sys

import click

from dpqr.cli.options import SectionedCommand, keywords, require_file_name, require_option, takes
from dpqr.cli.settings import is_typed, say_settings
from dpqr.kernel.errors import UsageFault
from dpqr.python.options import rows
from dpqr.python.published_options import (
    AnswerCommand,
    BoundOptions,
    BudgetFiles,
    EvaluateCommand,
    ExportCommand,
    LabelCommand,
    ReportCommand,
    SeriesCommand,
    ShowCommand,
)

DIGITS = {"as_json": "JSON on stdout, all digits."}


@click.command("answer", cls=SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(AnswerCommand, words=DIGITS)
def answer_command(release: str, given: AnswerCommand) -> None:
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

    found = answer(release, **keywords(given))
    document = found.document()
    views = [blocks_view(found.blocks)] if found.blocks else []
    views += [figures_view(document["figures"])] if "figures" in document else []
    if given["as_json"]:
        product_json(document)
    else:
        print_paged("\n\n".join(render(view, sys.stdout, not given["no_color"]) for view in views))
    for note in found.notes:
        say(f"note: {plain(note)}")


@click.command("export")
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(ExportCommand)
def export_command(release: str, given: ExportCommand) -> None:
    """Write the release in the directory RELEASE as tables of one DuckDB file.

    Its tables: answers, columns, cells, synthetic (where the release holds synthetic data) and facts.

    \b
    dpqr export release/ --duckdb release.db
    duckdb release.db "SELECT * FROM answers WHERE query = 'n'"
    """
    from dpqr.cli.streams import say
    from dpqr.kernel.wording import count_words, plain
    from dpqr.python.answer import export

    found = export(release, duckdb=given["duckdb"], if_exists=given["if_exists"] or "fail")
    for note in found.notes:
        say(f"note: {plain(note)}")
    if found.tables:
        tables = ", ".join(f"{name} ({count_words(rows, 'row')})" for name, rows in found.tables.items())
        say(f"exported to {plain(found.path)}: {tables}")


@click.command("show", cls=SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(ShowCommand, words=DIGITS)
def show_command(release: str, given: ShowCommand) -> None:
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
    from dpqr.published.show import (
        rows_shown,
        show,
        show_answers,
        show_bound,
        show_figure,
        show_views,
        why_unverified,
    )
    from dpqr.python.shown import Shown
    from dpqr.releases.files.read_release import block_records
    from dpqr.releases.files.views import view_records
    from dpqr.report.answers import figures_view, views_view
    from dpqr.report.release import stored_block_view, stored_run_view

    query, form, views, rows = given["query"], given["form"], given["views"], given["rows"]
    if views is not None or query is not None or given["as_json"]:
        # On stderr, where the receipt, which says it too, is not shown.
        if doubt := why_unverified(release):
            say(f"not verified: {plain(doubt)}")
        if whose := rows_shown(release):
            say(whose)
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
        queries = [(entry.name, entry.rows, entry.columns) for entry in kept.entries]
        shown = Shown(lambda: stored_run_view(kept.receipt, queries, kept.figures), lambda: kept.record)
    Screen.of(given).show(shown, paged=True)


@click.command("series", cls=SectionedCommand)
@click.argument("releases", nargs=-1, required=True, metavar="RELEASE...", callback=require_file_name)
@takes(SeriesCommand, words=DIGITS)
def series_command(releases: tuple[str, ...], given: SeriesCommand) -> None:
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

    found = series(releases, query=given["query"])
    if given["out"] is not None:
        found.save(given["out"])
    if given["as_json"]:
        product_json(found.document())
    else:
        print_paged(render(found.view(given["form"] or "table"), sys.stdout, not given["no_color"]))
    for note in found.notes:
        say(f"note: {plain(note)}")


@click.command("report", cls=SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(ReportCommand)
def report_command(release: str, given: ReportCommand) -> None:
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
    from dpqr.releases.files.read_release import read_release

    if doubt := why_unverified(release):
        say(f"not verified: {plain(doubt)}")
    if os.path.isdir(release) and read_release(release).dataset is None:
        _say_unpaid(release, given)
    for path in write_report(release, **given):
        say(f"wrote {plain(path)}")


def _say_unpaid(release: str, given: BudgetFiles) -> None:
    """That a ledger was named for a release that none has paid for."""
    from dpqr.cli.streams import say
    from dpqr.kernel.wording import plain

    if is_typed("ledger"):
        ledger = plain(str(given["ledger"]))
        say(f"--ledger {ledger}: no ledger paid for {plain(release)}, so there is no budget to show")


@click.command("label", cls=SectionedCommand)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(LabelCommand)
def label_command(release: str, given: LabelCommand) -> None:
    """Show what RELEASE promises, what it cost and what its figures are for, on one card.

    RELEASE is the directory that `dpqr release` has made, or the file of `dpqr predict`. No table is opened, and
    nothing is spent.

    \b
    dpqr label release/
    dpqr label release/ --ledger budgets.sqlite
    dpqr label release/ --format svg > label.svg
    dpqr label release/ --out label.html
    """
    from dpqr.cli.streams import print_paged, product, render, say
    from dpqr.kernel.wording import plain
    from dpqr.python.reports import label
    from dpqr.report.html import facts

    made, form, out = label(release, ledger=given["ledger"], anchor=given["anchor"]), given["form"], given["out"]
    if not made.card.paid:
        _say_unpaid(release, given)
    if out is not None:
        say(f"wrote {plain(made.save(out, form))}")
    elif form in (None, "text"):
        print_paged(render(facts(made.card.facts), sys.stdout, not given["no_color"]))
    else:
        product(made.as_form(form).rstrip("\n"))


@click.command("evaluate", cls=SectionedCommand)
@click.argument("true", metavar="TRUE", callback=require_file_name)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(
    EvaluateCommand,
    words={"dataset": "What the ledger calls the true table; refused if it is private there."},
    unset=("dataset", "ledger"),
)
def evaluate_command(true: str, release: str, given: EvaluateCommand) -> None:
    """Compare the answers in RELEASE with those of the table TRUE, exactly. Not for release.

    For public or synthetic tables: what it prints has no noise. A dataset that the ledger lists as private is refused.

    \b
    dpqr evaluate public.csv release/ --queries q.json
    dpqr evaluate public.csv release/ --queries q.json --rows
    dpqr evaluate public.csv rows.parquet --rows --queries q.json --max-l1 0.05
    """
    from dpqr.cli.screen import Screen
    from dpqr.python.evaluate import evaluate
    from dpqr.python.shown import Shown
    from dpqr.report.evaluation import accuracy_view, document

    require_option("queries")
    say_settings()
    options = keywords(given)
    goals, top = {name: options.pop(name) for name in rows(BoundOptions)}, options.pop("top")
    found = evaluate(true, release, **options)
    Screen.of(given).show(
        Shown(lambda: accuracy_view(found.accuracy, top or 10), lambda: document(found.accuracy, top))
    )
    found.require(**goals)
