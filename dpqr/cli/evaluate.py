"""`dpqr evaluate`: exact errors of a release, for public and synthetic tables."""

from __future__ import annotations

import click

from dpqr.cli.options import SectionedCommand, keywords, require_file_name, require_option, takes
from dpqr.cli.settings import say_settings
from dpqr.python.options import rows
from dpqr.python.published_options import EvaluateCommand, GoalOptions

TOP = 10


@click.command("evaluate", cls=SectionedCommand)
@click.argument("true", metavar="TRUE", callback=require_file_name)
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(
    EvaluateCommand,
    words={"dataset": "What the ledger calls the true table; refused if it is private there."},
    unset=("dataset", "ledger"),
)
def command(true: str, release: str, given: EvaluateCommand) -> None:
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
    options = keywords(given)
    goals, top = {name: options.pop(name) for name in rows(GoalOptions)}, options.pop("top")
    found = evaluate(true, release, **options)
    Screen.of(given).show(
        Shown(lambda: accuracy_view(found.accuracy, top or TOP, NOT_FOR_RELEASE), lambda: document(found.accuracy, top))
    )
    found.require(**goals)
