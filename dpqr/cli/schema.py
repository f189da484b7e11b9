"""`dpqr schema`: the JSON Schema of a public document."""

from __future__ import annotations

from typing import Literal

import click

from dpqr.cli.streams import product_json


@click.command("schema")
@click.argument("document", type=click.Choice(["domain", "queries"]))
def command(document: Literal["domain", "queries"]) -> None:
    """Print the JSON Schema of a domain or queries file."""
    from dpqr.app.documents import document_schema

    product_json(document_schema(document))
