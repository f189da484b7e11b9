"""`dpqr domain`: a domain file to fill in."""

from __future__ import annotations

import click

from dpqr.cli import options
from dpqr.cli.streams import product_json, say


@click.command("domain")
@click.argument("data", metavar="DATA", callback=options.named)
@options.delimiter()
@click.option("--out", metavar="FILE", callback=options.named, help="Write to this new file instead of stdout.")
def command(data: str, delimiter: str | None, out: str | None) -> None:
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
