"""`dpqr release`: the main job."""

from __future__ import annotations

import json
from functools import partial

import click

from dpqr.cli.completion import TABLES
from dpqr.cli.options import SectionedCommand, keywords, ledger_arguments, require_file_name, require_option, takes
from dpqr.cli.settings import settings_notes
from dpqr.python.options import ReleaseCommand


@click.command("release", cls=SectionedCommand)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=require_file_name, shell_complete=TABLES)
@takes(ReleaseCommand)
def command(data: tuple[str, ...], given: ReleaseCommand) -> None:
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
    from dpqr.python.release import release_request
    from dpqr.python.shown import release_plan
    from dpqr.releases.release import already_released, dry_run, release
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
