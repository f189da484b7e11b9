"""`dpqr release`: the main job.

`dpqr plan`: what a release would do, and the error that it is expected to have, before any data is opened.

`dpqr explain`: the noise, error and price of each query, and what would make it better.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import click

from dpqr.cli.completion import TABLES
from dpqr.cli.options import (
    BriefCommand,
    SectionedCommand,
    keywords,
    ledger_arguments,
    require_file_name,
    require_option,
    takes,
)
from dpqr.cli.settings import settings_notes
from dpqr.python.options import (
    ExplainCommand,
    ForecastOptions,
    PlanCommand,
    PlanFileOptions,
    PublicTableOptions,
    ReadingOptions,
    ReleaseCommand,
    rows,
)

if TYPE_CHECKING:
    from dpqr.releases.forecast.by_epsilon import EpsilonForecasts


@click.command("release", cls=BriefCommand)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=require_file_name, shell_complete=TABLES)
@takes(ReleaseCommand)
def release_command(data: tuple[str, ...], given: ReleaseCommand) -> None:
    """Release private answers to the queries over the table DATA.

    DATA: CSV (.csv, .csv.gz) or Parquet files, a directory or glob of them, - for CSV on stdin, duckdb:FILE?table=NAME.
    It is left out where the owner of the budget has registered a source (`dpqr budget policy`).

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --domain domain.json --eps 0.5 --delta 1e-9 --out release/
    dpqr release data.csv --plan plan.json --dataset survey --out release/
    dpqr release --queries q.json --eps 1 --dataset survey
    """
    from dpqr.cli.screen import Screen, progress
    from dpqr.cli.streams import product, product_json, say
    from dpqr.kernel.wording import plain
    from dpqr.python.requests import release_request
    from dpqr.python.shown import release_plan
    from dpqr.releases.any_release import dry_run, release
    from dpqr.releases.release import already_released
    from dpqr.releases.sentences import release_guarantee

    if not (data or given["dataset"] or given["rehearse"]):
        raise click.MissingParameter(ctx=click.get_current_context(), param_type="argument", param_hint="'DATA...'")
    if not given["plan"]:
        require_option("queries")
        require_option("eps")
    request = release_request(data or None, notes=settings_notes(), **keywords(given))
    screen, directory = Screen.of(given), request.output.directory
    if already_released(request):
        if screen.lines:
            say(json.dumps({"event": "skipped", "out": directory}))
        else:
            say(f"{plain(directory or '')} holds this release already; nothing was opened, and nothing paid")
        if screen.as_json:
            product_json({"skipped": directory})
        return
    if given["dry_run"]:
        screen.show(release_plan(*dry_run(request)))
        return
    with progress(given["progress"], color=screen.color) as observer:
        finished = release(request, observer, planned=partial(screen.require_room, directory=directory))
    if finished.rehearsal and not directory and not screen.as_json:
        product(release_guarantee(finished))
    screen.release(finished, directory, ledger_arguments(given))


@click.command("plan", cls=SectionedCommand)
@takes(
    PlanCommand,
    words={"max_rows": "Rows of each person that are used; several, such as 1,3,6, are compared."},
    several=("max_rows",),
)
def plan_command(given: PlanCommand) -> None:
    """Plan a release, and forecast its error. No private table is named, and none is opened.

    --eps takes one epsilon, or several with commas between them. --n is the number of records to forecast for.

    \b
    dpqr plan --queries q.json --eps 1 --n 50000
    dpqr plan --queries q.json --eps 0.25,0.5,1,2 --proxy public.csv
    dpqr plan --queries q.json --within 50 --confidence 0.95 --like release/
    dpqr plan --queries q.json --eps 1 --dataset survey --out plan.json
    """
    from dpqr.cli.screen import Screen, remarks
    from dpqr.cli.streams import product, say
    from dpqr.python.forecast import forecast_request, goal_request, proxy_table
    from dpqr.python.requests import release_request
    from dpqr.python.shown import forecasts as shown_forecasts
    from dpqr.python.shown import release_plan
    from dpqr.releases.documents import write_new
    from dpqr.releases.files.atomic import reserve_file
    from dpqr.releases.forecast.by_epsilon import forecast_releases
    from dpqr.releases.locked_plan import plan_file, save_plan
    from dpqr.report.charts import forecast_svg
    from dpqr.report.page.parts import require_extra
    from dpqr.report.reports import plan_html

    require_option("queries")
    own = {"eps", *rows(ForecastOptions), *rows(PlanFileOptions)}
    stated = {name: value for name, value in keywords(given).items() if name not in own}
    several = stated["max_rows"] if isinstance(stated["max_rows"], tuple) else ()
    stated["max_rows"] = several[0] if several else stated["max_rows"]
    reading = {name: value for name, value in stated.items() if name in rows(ReadingOptions)}
    request = forecast_request(
        release_request(given["source"], eps="1", notes=settings_notes(), **stated),
        eps=None if given["eps"] is None else str(given["eps"]).split(","),
        goal=goal_request(
            given["names"], **{name: given[name] for name in ("within", "error", "relative", "confidence")}
        ),
        proxy=proxy_table(given["proxy"], reading),
        like=given["like"],
        runs=given["runs"],
        max_rows=several,
    )
    # All files are looked at before anything is simulated.
    if given["html"]:
        require_extra()
    for option, path in (("--svg", given["svg"]), ("--html", given["html"])):
        if path:
            reserve_file(path, option=option)
    for option, path in (("--out", given["out"]), ("--html", given["html"])):
        if path and (len(request.epsilons) > 1 or several):
            raise click.UsageError(f"{option} writes one plan; give one epsilon, or a goal, and one --max-rows")
    if given["svg"] and several:
        raise click.UsageError("--svg plots errors by epsilon; give one --max-rows")
    place = None if given["out"] is None else plan_file(given["out"])
    forecasts = forecast_releases(request, remarks(given["progress"]))
    screen = Screen.of(given)
    if given["svg"]:
        write_new(given["svg"], forecast_svg([point.forecast for point in forecasts.points]), "--svg")
    if given["html"]:
        (point,) = forecasts.points
        write_new(given["html"], plan_html(point.plan, point.resources, _parts(forecasts)), "--html")
    # Written before the screen, whose reader may leave early.
    digest = save_plan(forecasts.points[0].plan, place, _parts(forecasts)) if place else None
    screen.show(shown_forecasts(forecasts, top=given["top"]))
    if len(forecasts.points) == 1 and not screen.as_json:
        product("")
        screen.show(release_plan(forecasts.points[0].plan, forecasts.points[0].resources))
    if place:
        say(f"planned into {place.given}, sha256 {digest}")


@click.command("explain", cls=SectionedCommand)
@click.argument("select", required=False, metavar="[SELECT]")
@takes(ExplainCommand)
def explain_command(select: str | None, given: ExplainCommand) -> None:
    """Explain the SELECT statements, or the queries of a file: for each column of the answer its noise, its error and
    its price, and what would make it better. No private table is named, and none is opened.

    \b
    dpqr explain "SELECT sex, AVG(cost) FROM t GROUP BY sex" --domain domain.json --n 50000
    dpqr explain --queries q.json --eps 0.5
    """
    from dpqr.cli.screen import Screen, remarks
    from dpqr.python.forecast import forecast_request, proxy_table
    from dpqr.python.requests import release_request
    from dpqr.python.shown import explained
    from dpqr.releases.forecast.by_epsilon import forecast_releases

    if select is not None and given["sql"] is not None:
        raise click.UsageError("SELECT and --sql both ask; give one of them")
    given["sql"] = given["sql"] if select is None else select
    if given["queries"] is None and given["sql"] is None:
        raise click.UsageError("nothing is asked; give a SELECT statement in quotes, or --queries FILE")
    stated = {name: value for name, value in keywords(given).items() if name not in rows(PublicTableOptions)}
    eps = stated.pop("eps")
    request = forecast_request(
        release_request(None, eps="1", notes=settings_notes(), **stated),
        eps="1" if eps is None else eps,
        goal=None,
        proxy=proxy_table(given["proxy"], {name: stated[name] for name in rows(ReadingOptions) if name in stated}),
        like=given["like"],
        runs=given["runs"],
    )
    if len(request.epsilons) > 1:
        raise click.UsageError("--eps has several values; give one, or compare them with `dpqr plan`")
    Screen.of(given).show(explained(forecast_releases(request, remarks(given["progress"]))))


def _parts(forecasts: EpsilonForecasts) -> dict[str, object]:
    """What stands in the document beside the plan of the only point."""
    from dpqr.releases.forecast.by_epsilon import forecast_document

    return {
        "expected": forecast_document(forecasts.points[0].forecast, forecasts.goal) | {"notes": list(forecasts.notes)}
    }
