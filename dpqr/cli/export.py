"""`dpqr export`: a release as tables for other tools."""

from __future__ import annotations

from typing import Literal

import click

from dpqr.cli.parameters import options


@click.command("export")
@click.argument("release", metavar="RELEASE", callback=options.named)
@click.option("--duckdb", metavar="FILE", required=True, callback=options.named, help="Write this new DuckDB file.")
@click.option(
    "--if-exists",
    type=click.Choice(["skip", "fail", "replace"]),
    default="fail",
    help="Where FILE is there: skip an export of this release. [default: fail]",
)
def command(release: str, *, duckdb: str, if_exists: Literal["skip", "fail", "replace"]) -> None:
    """Write the release in the directory RELEASE as tables of one DuckDB file.

    Its tables: answers, columns, cells, synthetic (where the release holds synthetic data) and facts.

    \b
    dpqr export release/ --duckdb release.db
    duckdb release.db "SELECT * FROM answers WHERE query = 'n'"
    """
    from dpqr.api.export import export
    from dpqr.cli.terminal.streams import say
    from dpqr.report.wording import counted, plain

    found = export(release, duckdb=duckdb, if_exists=if_exists)
    for note in found.notes:
        say(f"note: {plain(note)}")
    if found.tables:
        tables = ", ".join(f"{name} ({counted(rows, 'row')})" for name, rows in found.tables.items())
        say(f"exported to {plain(found.path)}: {tables}")
