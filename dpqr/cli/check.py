"""`dpqr check`: all documents linted together."""

from __future__ import annotations

import click

from dpqr.cli import options


@click.command("check")
@options.documents
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(queries: str, domain: str | None, as_json: bool) -> None:
    """Check the queries file and its domain together; no data is opened.

    Exit code 0: a release can be planned from them. 3: the first fault, with its place.
    """
    import json

    from dpqr.app.documents import check_documents

    found = check_documents(queries, domain)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"{queries}: {found['queries']} queries in {found['blocks']} blocks, {found['cells']} cells")
    for column in found["columns"]:
        click.echo(f"  {column['name']}: {column['cells']} cells; {column['rules']}")
    for note in found["notes"]:
        click.echo(f"note: {note}")
