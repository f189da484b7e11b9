"""`dpqr schema`: the JSON Schema of a public document."""

from __future__ import annotations

from typing import Literal

import click


@click.command("schema")
@click.argument("document", type=click.Choice(["domain", "queries"]))
def command(document: Literal["domain", "queries"]) -> None:
    """Print the JSON Schema of a domain or queries file."""
    import json

    from dpqr.app.documents import document_schema

    click.echo(json.dumps(document_schema(document), indent=2))
