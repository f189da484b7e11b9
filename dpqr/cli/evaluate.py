"""`dpqr evaluate`: exact errors of a release, for public and synthetic tables."""

from __future__ import annotations

import click

from dpqr.cli import options
from dpqr.cli.options import Integer, Positive, keywords, require_option, takes
from dpqr.cli.settings import say_settings
from dpqr.python.options import CsvOptions, DocumentOptions, PayerOptions

TOP = 10
_ask, _say = options.under("Evaluation"), options.under("Screen")
_goal = Positive()


@click.command("evaluate", cls=options.SectionedCommand)
@click.argument("true", metavar="TRUE", callback=options.require_file_name)
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@takes(DocumentOptions, "documents")
@_ask("--rows", is_flag=True, help="Judge synthetic rows: those of the release, or a table of them.")
@_ask("--max-error", metavar="X", type=_goal, help="Exit code 6 if an answer is off by more than X times n.")
@_ask("--max-l1", metavar="X", type=_goal, help="Exit code 6 if the blocks' mean L1 error is above X times n.")
@_ask("--top", metavar="N", type=Integer(min=1), help=f"How many blocks to show, worst first. [{TOP}; --json: all]")
@takes(
    PayerOptions,
    "payer",
    words={"dataset": "What the ledger calls the true table; refused if it is private there."},
    unset=("dataset", "ledger"),
)
@takes(CsvOptions, "csv")
@options.under("Table")("--counts", metavar="COLUMN", help="TRUE is a histogram: COLUMN holds the count of each row.")
@_say(
    "--html",
    metavar="FILE",
    callback=options.require_file_name,
    help="A page as well; with --rows also SDNist's figures.",
)
@_say("--json", "as_json", is_flag=True, help="JSON on stdout.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(
    true: str,
    release: str,
    *,
    documents: DocumentOptions,
    rows: bool,
    max_error: float | None,
    max_l1: float | None,
    top: int | None,
    payer: PayerOptions,
    csv: CsvOptions,
    counts: str | None,
    html: str | None,
    as_json: bool,
    no_color: bool,
) -> None:
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
    from dpqr.report.evaluation import NOT_FOR_RELEASE, accuracy_view, document

    require_option("queries")
    say_settings()
    found = evaluate(true, release, rows=rows, html=html, counts=counts, **keywords({**documents, **payer, **csv}))
    screen = Screen(color=not no_color, as_json=as_json)
    screen.show(
        Shown(lambda: accuracy_view(found.accuracy, top or TOP, NOT_FOR_RELEASE), lambda: document(found.accuracy, top))
    )
    found.require(max_error=max_error, max_l1=max_l1)
