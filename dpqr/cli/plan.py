"""`dpqr plan`: what a release would do, and the error that it is expected to have, before any data is opened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from dpqr.cli import options
from dpqr.cli import options as counter_options
from dpqr.cli import options as groups
from dpqr.cli.completion import TABLES
from dpqr.cli.options import Integer
from dpqr.cli.settings import settings_notes

if TYPE_CHECKING:
    from dpqr.releases.files import SingleFile
    from dpqr.releases.forecast import EpsilonForecasts, ForecastRequest

TOP = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasting:
    """What is forecast, and on which public tables."""

    error: str | None
    relative: str | None
    confidence: str | None
    names: tuple[str, ...]
    proxy: tuple[str, ...]
    like: str | None
    runs: int | None
    top: int
    svg: str | None
    html: str | None


def forecasting(command: Callable[..., Any]) -> Callable[..., Any]:
    """The goal, the public tables and the plot, as `wanted`."""
    option = options.under("Forecast")
    public = {"metavar": "FILE", "callback": options.require_file_name, "shell_complete": TABLES}
    return options.list_options(
        options.gather_options(Forecasting, "wanted")(command),
        option("--error", metavar="X", help="Find the smallest epsilon: an answer's mean error is at most X records."),
        option("--relative", metavar="X", help="The same for the L1 error over n, 0.02 or 2%."),
        option("--confidence", metavar="P", help="The part of the releases that keep the goal. [default: 0.95]"),
        option("--for", "names", metavar="QUERY", multiple=True, help="Queries that each keep the goal. [their mean]"),
        option("--proxy", multiple=True, help="Simulate on this table. You declare it public.", **public),
        option(
            "--like",
            metavar="DIR",
            callback=options.require_file_name,
            help="Simulate on an earlier release's synthetic rows.",
        ),
        option(
            "--runs", metavar="N", type=Integer(1, 10_000), help="Simulated releases on each table. [default: 8 on one]"
        ),
        option("--top", metavar="N", type=Integer(min=1), default=TOP, help=f"Queries to show, worst first. [{TOP}]"),
        option("--svg", metavar="FILE", callback=options.require_file_name, help="Write the plot into this new file."),
        option(
            "--html",
            metavar="FILE",
            callback=options.require_file_name,
            help="Write the plan and its forecast as a page (dpqr[report]).",
        ),
    )


@click.command("plan", cls=options.SectionedCommand)
@groups.strict_documents_options
@groups.guarantee
@forecasting
@groups.error_estimate_options
@groups.strategies
@groups.table
@options.period(options.under("Table"))
@counter_options.counter_options
@groups.payer
@groups.display
@options.under("Review")(
    "--out", metavar="FILE", callback=options.require_file_name, help="Write the plan, to be reviewed."
)
@options.under("Review")("--source", metavar="ADDRESS", help="The engine's table that the plan is for; not opened.")
def command(
    *,
    documents: groups.StrictDocuments,
    eps: str | None,
    guarantee: groups.Guarantee,
    counted: counter_options.CounterOptions,
    wanted: Forecasting,
    bought: groups.ErrorEstimateOptions,
    strategies: groups.Strategies,
    table: groups.TableOptions,
    period: str | None,
    payer: groups.Payer,
    display: groups.Display,
    out: str | None,
    source: str | None,
) -> None:
    """Plan a release, and forecast its error. No private table is named, and none is opened.

    --eps takes one epsilon, or several with commas between them. --n is the number of records to forecast for.

    \b
    dpqr plan --queries q.json --eps 1 --n 50000
    dpqr plan --queries q.json --eps 0.25,0.5,1,2 --proxy public.csv
    dpqr plan --queries q.json --error 50 --confidence 0.95 --like release/
    dpqr plan --queries q.json --eps 1 --dataset survey --out plan.json
    """
    from dpqr.cli.screen import remarks
    from dpqr.python.forecast import forecast_request, goal_request, proxy_table
    from dpqr.python.release import release_request
    from dpqr.releases.forecast import forecast_releases

    stated = groups.keywords(documents, guarantee, counted, bought, strategies, table, payer)
    request = forecast_request(
        release_request(source, eps="1", notes=settings_notes(), period=period, **stated),
        eps=None if eps is None else eps.split(","),
        goal=goal_request(wanted.error, wanted.relative, wanted.confidence, wanted.names),
        proxy=proxy_table(wanted.proxy, groups.keywords(table)),
        like=wanted.like,
        runs=wanted.runs,
    )
    place = _place(out, request, wanted)
    outlook = forecast_releases(request, remarks(display.progress))
    _show(outlook, wanted, display)
    if place:
        _save(outlook, place)


def _place(out: str | None, request: ForecastRequest, wanted: Forecasting) -> SingleFile | None:
    """Where the plan goes. All files are looked at before anything is simulated."""
    from dpqr.releases.files import reserve_file
    from dpqr.releases.locked_plan import plan_file
    from dpqr.report.page.parts import require_extra

    if wanted.html:
        require_extra()
    for option, path in (("--svg", wanted.svg), ("--html", wanted.html)):
        if path:
            reserve_file(path, option=option)
    for option, path in (("--out", out), ("--html", wanted.html)):
        if path and len(request.epsilons) > 1:
            raise click.UsageError(f"{option} writes one plan; give one epsilon, or a goal")
    return None if out is None else plan_file(out)


def _save(outlook: EpsilonForecasts, place: SingleFile) -> None:
    """The plan with its forecast, to be reviewed."""
    from dpqr.cli.streams import say
    from dpqr.releases.locked_plan import save_plan

    (point,) = outlook.points
    digest = save_plan(point.plan, place, _parts(outlook))
    say(f"planned into {place.given}, sha256 {digest}")


def _parts(outlook: EpsilonForecasts) -> dict[str, Any]:
    """What stands in the document beside the plan of the only point."""
    from dpqr.releases.forecast import forecast_document

    return {"expected": forecast_document(outlook.points[0].forecast) | {"notes": list(outlook.notes)}}


def _show(outlook: EpsilonForecasts, wanted: Forecasting, display: groups.Display) -> None:
    """The plan, where there is one epsilon, and the forecast: stdout."""
    from dpqr.cli.screen import Screen
    from dpqr.cli.streams import product, product_json, render
    from dpqr.releases.documents import write_new
    from dpqr.releases.forecast import forecasts_document
    from dpqr.report.charts import forecast_svg
    from dpqr.report.forecast import forecast_view
    from dpqr.report.reports import plan_html

    found, screen = [point.forecast for point in outlook.points], Screen.of(display)
    if wanted.svg:
        write_new(wanted.svg, forecast_svg(found), "--svg")
    if wanted.html:
        (point,) = outlook.points
        write_new(wanted.html, plan_html(point.plan, point.resources, _parts(outlook)), "--html")
    if display.as_json:
        product_json(forecasts_document(outlook))
        return
    if len(outlook.points) == 1:
        screen.plan(outlook.points[0].plan, outlook.points[0].resources)
        product("")
    view = forecast_view(found, outlook.notes, outlook.goal, top=wanted.top, seconds=outlook.seconds)
    product(render(view, sys.stdout, screen.color))
