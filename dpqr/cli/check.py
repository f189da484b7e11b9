"""`dpqr check`: all documents linted together."""

from __future__ import annotations

import click

from dpqr.cli import options
from dpqr.cli.streams import product, product_json


@click.command("check")
@options.documents
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(queries: str, domain: str | None, as_json: bool) -> None:
    """Check the queries file and its domain together; no data is opened.

    Exit code 0: they are sound; what they ask for is shown. 3: the first fault, with its place.
    """
    from dpqr.app.documents import check_documents
    from dpqr.report.wording import counted, plain

    found = check_documents(queries, domain)
    if as_json:
        product_json(found)
        return
    sizes = counted(found["queries"], "query"), counted(found["blocks"], "block"), counted(found["cells"], "cell")
    product(f"{plain(queries)}: {sizes[0]} in {sizes[1]} over {sizes[2]}")
    for column in found["columns"]:
        rules = ", ".join(f"{fault}: {rule}" for fault, rule in column["rules"].items())
        product(f"  {plain(column['name'])}: {counted(column['cells'], 'cell')}; {rules}")
    for note in found["notes"]:
        product(f"note: {plain(note)}")
