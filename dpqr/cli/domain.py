"""`dpqr domain`: a domain file to fill in."""

from __future__ import annotations

import click


@click.command("domain")
@click.argument("data", metavar="DATA")
@click.option("--delimiter", metavar="C", default=",", help="CSV delimiter (\\t for a tab). [,]")
@click.option("--out", metavar="FILE", help="Write to this new file instead of stdout.")
def command(data: str, delimiter: str, out: str | None) -> None:
    """Write the skeleton of a domain file for the table DATA.

    Only column names and types are read, never a value: labels and bounds are for the curator to fill in, from public
    knowledge. A domain that is inferred from the data would be a release that nobody paid for.
    """
    import json

    from dpqr.app.documents import domain_skeleton, write_new

    text = json.dumps(domain_skeleton(data, delimiter), indent=2)
    if out:
        write_new(out, text + "\n")
        click.echo(
            f"wrote {out}; fill in labels and bounds, then run: dpqr check --domain {out} --queries ...", err=True
        )
    else:
        click.echo(text)
