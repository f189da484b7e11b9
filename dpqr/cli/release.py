"""`dpqr release`: the main job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from dpqr.cli import groups, options
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.app.requests import OutputRequest, PlanRequest

_forms, _bins = click.Choice(["csv", "parquet", "json"]), click.Choice(["title", "midpoint", "sampled"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where the release goes, and what it holds beside the answers."""

    out: str | None
    answers: Literal["csv", "parquet", "json"] | None
    synthetic: Literal["rows", "cells"] | None
    bins: Literal["title", "midpoint", "sampled"] | None
    force: bool


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--out, --format, --synthetic, --bins and --force, as `output`."""
    option = options.under("Output")
    return options.added(
        options.gathered(Output, "output")(command),
        option("--out", metavar="DIR", help="Write the release into this new directory."),
        option("--format", "answers", type=_forms, help="Form of the answers in DIR. [default: csv]"),
        option("--synthetic", type=click.Choice(["rows", "cells"]), help="Also write synthetic.parquet into DIR."),
        option(
            "--bins", type=_bins, help="How synthetic data shows a bin; sampled: by a value from it. [default: title]"
        ),
        option("--force", is_flag=True, help="Replace the release that is in DIR."),
    )


@click.command("release", cls=options.Sectioned)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", callback=options.named)
@groups.asked
@partial(groups.guarantee, required=True)
@groups.dropped_count
@groups.strategies
@groups.table
@groups.payer
@options.under("Budget for life")(
    "--resume", is_flag=True, help="Continue the killed release to --out; no draw is paid twice."
)
@output_options
@options.under("Output")("--dry-run", is_flag=True, help="Print the plan; the data is not opened.")
@groups.display
def command(
    data: tuple[str, ...],
    *,
    documents: groups.Asked,
    eps: str,
    guarantee: groups.Guarantee,
    dropped: groups.DroppedCount,
    strategies: groups.Strategies,
    table: groups.Table,
    payer: groups.Payer,
    resume: bool,
    output: Output,
    dry_run: bool,
    display: groups.Display,
) -> None:
    """Release private answers to the queries over the table DATA.

    DATA is a CSV (.csv, .csv.gz) or Parquet file, a directory or glob of such files, or - for CSV on standard input.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --domain domain.json --eps 0.5 --delta 1e-9 --out release/
    dpqr release data.csv --queries q.json --eps 1 --dataset survey --out release/
    dpqr release data.csv --queries q.json --eps 1 --dry-run
    """
    from dpqr.app.release import dry_run as planned
    from dpqr.app.release import release
    from dpqr.app.requests import ReleaseRequest
    from dpqr.cli.progress import progress
    from dpqr.cli.screen import Screen

    screen = Screen.of(display)
    request = ReleaseRequest(
        source=table.source(data),
        plan=plan_request(documents, eps, guarantee, dropped, strategies, table),
        output=output_request(output),
        limits=table.limits,
        payer=payer.request(resume),
    )
    if dry_run:
        screen.plan(*planned(request))
        return
    with progress(display.progress, color=screen.color) as observer:
        finished = release(request, observer, planned=partial(screen.require_room, directory=output.out))
    screen.release(finished, output.out)


def plan_request(
    documents: groups.Asked,
    epsilon: str,
    guarantee: groups.Guarantee,
    dropped: groups.DroppedCount,
    strategies: groups.Strategies,
    table: groups.Table,
) -> PlanRequest:
    """What the release is planned from."""
    from dpqr.app.requests import PlanRequest

    return PlanRequest(
        queries=documents.queries,
        epsilon=epsilon,
        delta=guarantee.delta,
        domain=documents.domain,
        strict=documents.strict,
        neighbours=guarantee.neighbours,
        n=guarantee.n,
        unit=guarantee.unit,
        max_rows=guarantee.max_rows,
        counts=table.counts,
        count_dropped=dropped.count_dropped,
        no_count_dropped=dropped.no_count_dropped,
        schedule=strategies.schedule,
        distinguisher=strategies.distinguisher,
        check=strategies.checks,
        update=strategies.update,
        accountant=strategies.accountant,
        rounds=strategies.rounds,
        opening=strategies.opening,
        alpha=strategies.alpha,
        beta=strategies.beta,
        variant=strategies.variant,
        replay=strategies.replay,
        max_model_size=strategies.max_model_size,
        trust=strategies.trust,
        seed=strategies.seed,
        cells=table.max_cells,
    )


def output_request(output: Output) -> OutputRequest:
    """Options that would have no effect are refused: what they ask for would cost the budget a second time."""
    from dpqr.app.requests import OutputRequest

    stated = {"format": output.answers, "synthetic": output.synthetic, "bins": output.bins, "force": output.force}
    idle = next((name for name, value in stated.items() if value), None)
    if idle and output.out is None:
        raise UsageFault(f"--{idle} is about the files of a release; add --out DIR")
    if output.bins and not output.synthetic:
        raise UsageFault("--bins is about synthetic data; add --synthetic rows or --synthetic cells")
    if output.bins == "sampled" and output.synthetic == "cells":
        raise UsageFault("--bins sampled draws a value for every row; choose --synthetic rows, or --bins midpoint")
    return OutputRequest(
        directory=output.out,
        format=output.answers or "csv",
        synthetic=output.synthetic,
        bins=output.bins or "title",
        force=output.force,
    )
