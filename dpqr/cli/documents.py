"""`dpqr check`: all documents linted together.

`dpqr domain`: a domain file to fill in.

`dpqr schema`: the JSON Schema of a public document.
"""

from __future__ import annotations

from typing import Any, Literal

import click

from dpqr.cli import groups, options
from dpqr.cli.streams import product, product_json, say


@click.command("check")
@groups.asked
@click.option("--fix", is_flag=True, help="Write obvious fixes, such as of a misspelt key, into the files; show each.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def check_command(documents: groups.Asked, fix: bool, as_json: bool) -> None:
    """Check the queries file and its domain together; no data is opened.

    Exit code 0: they are sound; what they ask for is shown. 3: up to 20 faults, each with its place and what is
    allowed there.
    """
    from dpqr.app.documents import check_documents, fix_documents
    from dpqr.report.fault_view import fixed_line

    for fixed in fix_documents(documents.queries, documents.domain) if fix else ():
        say(fixed_line(fixed.file, fixed.line, fixed.path, fixed.before, fixed.after))
    found = check_documents(documents.queries, documents.domain, strict=documents.strict)
    if as_json:
        product_json(found)
    else:
        _say_sound(documents.queries, found)


def _say_sound(queries: str, found: dict[str, Any]) -> None:
    from dpqr.report.wording import counted, plain

    sizes = counted(found["queries"], "query"), counted(found["blocks"], "block"), counted(found["cells"], "cell")
    product(f"{plain(queries)}: {sizes[0]} in {sizes[1]} over {sizes[2]}")
    for column in found["columns"]:
        rules = ", ".join(f"{fault}: {rule}" for fault, rule in column["rules"].items())
        product(f"  {plain(column['name'])}: {counted(column['cells'], 'cell')}; {rules}")
    for note in found["notes"]:
        product(f"note: {plain(note)}")


@click.command("domain")
@click.argument("data", metavar="DATA", callback=options.named)
@options.delimiter()
@click.option("--out", metavar="FILE", callback=options.named, help="Write to this new file instead of stdout.")
def domain_command(data: str, delimiter: str | None, out: str | None) -> None:
    """Write the skeleton of a domain file for the table DATA.

    Only column names and types are read, never a value: labels and bounds are for the curator to fill in, from public
    knowledge. A domain that is inferred from the data would be a release that nobody paid for.
    """
    import json

    from dpqr.app.documents import domain_skeleton, write_new
    from dpqr.report.wording import plain

    skeleton = domain_skeleton(data, delimiter)
    if out is None:
        product_json(skeleton)
        return
    write_new(out, json.dumps(skeleton, indent=2, ensure_ascii=False) + "\n")
    name = plain(out)
    say(f"wrote {name}; fill in labels and bounds, then: dpqr check --domain {name} --queries FILE")


@click.command("schema")
@click.argument("document", type=click.Choice(["domain", "queries"]))
def schema_command(document: Literal["domain", "queries"]) -> None:
    """Print the JSON Schema of a domain or queries file."""
    from dpqr.app.documents import document_schema

    product_json(document_schema(document))
