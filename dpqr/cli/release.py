"""`dpqr release`: the main job."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from dpqr.cli import options
from dpqr.cli import options as counter_options
from dpqr.cli import options as groups
from dpqr.cli.completion import DOCUMENTS, TABLES
from dpqr.cli.options import Integer
from dpqr.cli.settings import settings_notes
from dpqr.releases.formats.known import FORMATS, TableFormat

if TYPE_CHECKING:
    from dpqr.releases.requests import ReleaseRequest

_forms, _bins = click.Choice(list(FORMATS)), click.Choice(["title", "midpoint", "sampled"])
_existing = click.Choice(["skip", "fail", "replace"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where the release goes, and what it holds beside the answers."""

    out: str | None
    format: TableFormat | None
    synthetic: Literal["rows", "cells"] | None
    bins: Literal["title", "midpoint", "sampled"] | None
    views: int | None
    if_exists: Literal["skip", "fail", "replace"] | None


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--out, --format, --synthetic, --bins, --views and --if-exists, as `output`."""
    option = options.under("Output")
    return options.list_options(
        options.gather_options(Output, "output")(command),
        option("--out", metavar="DIR", help="Write the release into this new directory."),
        option("--format", type=_forms, help="Form of the answers in DIR. [default: csv]"),
        option("--synthetic", type=click.Choice(["rows", "cells"]), help="Also write synthetic.parquet."),
        option(
            "--bins", type=_bins, help="How synthetic data shows a bin; sampled: by a value from it. [default: title]"
        ),
        option(
            "--views",
            metavar="BASE",
            type=Integer(min=1, max=10**6),
            help="Also write whole numbers, and multiples of BASE, that add up.",
        ),
        option("--if-exists", type=_existing, help="Where DIR is there: skip a finished release. [default: fail]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The plan that was reviewed, who approved it, and whose release it is."""

    plan: str | None
    approved_by: str | None
    publisher: str | None


def review_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--plan, --approved-by and --publisher, as `review`."""
    option = options.under("Review")
    file = {"metavar": "FILE", "callback": options.require_file_name, "shell_complete": DOCUMENTS}
    return options.list_options(
        options.gather_options(Review, "review")(command),
        option("--plan", **file, help="Follow this plan (dpqr plan --out); refused where anything differs."),
        option("--approved-by", metavar="NAME", help="Who approved: one line, kept in the ledger and the record."),
        option("--publisher", metavar="NAME", help="Whose release it is: one line, kept in the record."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """The period whose rows are read, and whether a killed run is continued or a run is rehearsed."""

    period: str | None
    resume: bool
    rehearse: bool


@click.command("release", cls=options.SectionedCommand)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=options.require_file_name, shell_complete=TABLES)
@partial(groups.strict_documents_options, required=False)
@groups.guarantee
@review_options
@groups.error_estimate_options
@groups.strategies
@groups.table
@options.period(options.under("Table"))
@counter_options.counter_options
@groups.payer
@groups.asker
@options.under("Budget for life")(
    "--resume", is_flag=True, help="Continue the killed release to --out; no draw is paid twice."
)
@output_options
@options.under("Output")(
    "--rehearse", is_flag=True, help="Run on rows drawn from the domain: free, stamped; the data is not opened."
)
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the data is not opened.")
@groups.display
@options.gather_options(RunFlags, "course")
def command(
    data: tuple[str, ...],
    *,
    documents: groups.StrictDocuments,
    eps: str | None,
    guarantee: groups.Guarantee,
    counted: counter_options.CounterOptions,
    review: Review,
    bought: groups.ErrorEstimateOptions,
    strategies: groups.Strategies,
    table: groups.TableOptions,
    payer: groups.Payer,
    asker: groups.Asker,
    output: Output,
    course: RunFlags,
    dry_run: bool,
    display: groups.Display,
) -> None:
    """Release private answers to the queries over the table DATA.

    DATA: CSV (.csv, .csv.gz) or Parquet files, a directory or glob of them, - for CSV on stdin, duckdb:FILE?table=NAME.
    It is left out where the owner of the budget has registered a source (`dpqr budget policy`).

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --domain domain.json --eps 0.5 --delta 1e-9 --out release/
    dpqr release data.csv --plan plan.json --dataset survey --out release/
    dpqr release --queries q.json --eps 1 --dataset survey
    """
    from dpqr.python.release import release_request
    from dpqr.releases.release import already_released

    if not (data or payer.dataset or course.rehearse):
        raise click.MissingParameter(ctx=click.get_current_context(), param_type="argument", param_hint="'DATA...'")
    _require_stated(review)
    request = release_request(
        data or None,
        eps=eps,
        notes=settings_notes(),
        **groups.keywords(
            documents, guarantee, counted, bought, strategies, table, payer, asker, review, output, course
        ),
    )
    if already_released(request):
        _skipped(display, output.out or "")
    elif dry_run:
        _plan(request, display)
    else:
        _release(request, display, payer.typed)


def _require_stated(review: Review) -> None:
    """Raise click's error of a missing option for --queries and --eps, which are required without --plan."""
    context = click.get_current_context()
    for parameter in () if review.plan else context.command.params:
        stated = context.params["sql"] if parameter.name == "queries" else None
        if parameter.name in ("queries", "eps") and context.params[parameter.name] is None and stated is None:
            raise click.MissingParameter(ctx=context, param=parameter)


def _plan(request: ReleaseRequest, display: groups.Display) -> None:
    from dpqr.cli.screen import Screen
    from dpqr.releases.release import dry_run

    Screen.of(display).plan(*dry_run(request))


def _release(request: ReleaseRequest, display: groups.Display, ledger: Sequence[str]) -> None:
    from dpqr.cli.screen import Screen, progress
    from dpqr.cli.streams import product
    from dpqr.releases.release import release
    from dpqr.releases.sentences import release_guarantee

    screen, directory = Screen.of(display), request.output.directory
    with progress(display.progress, color=screen.color) as observer:
        finished = release(request, observer, planned=partial(screen.require_room, directory=directory))
    if finished.rehearsal and not directory and not display.as_json:
        product(release_guarantee(finished))
    screen.release(finished, directory, ledger)


def _skipped(display: groups.Display, directory: str) -> None:
    """Say that the release exists already, and that nothing was opened, drawn or paid."""
    from dpqr.cli.streams import product_json, say
    from dpqr.kernel.wording import plain

    if display.progress == "json":
        say(json.dumps({"event": "skipped", "out": directory}))
    else:
        say(f"{plain(directory)} holds this release already; nothing was opened, and nothing paid")
    if display.as_json:
        product_json({"skipped": directory})
