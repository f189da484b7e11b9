"""`dpqr verify`: a release checked by anybody.

`dpqr reprice`: the price of an old release under the accountants of today.

`dpqr compare`: two releases or plans side by side.
"""

from __future__ import annotations

import sys

import click

from dpqr.cli.parameters import options
from dpqr.cli.parameters.settings import is_typed, say_settings
from dpqr.cli.terminal.streams import product, product_json, rendered

as_json = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")


@click.command("verify")
@click.argument("release", metavar="RELEASE", callback=options.named)
@click.option("--ledger", metavar="FILE", callback=options.named, help="The ledger that paid, or its export.")
@click.option("--anchor", metavar="FILE", callback=options.named, help="The ledger's anchor, outside of it.")
@click.option("--plan", metavar="FILE", callback=options.named, help="The locked plan that was reviewed.")
@click.option("--tolerance", is_flag=True, help="Accept what this machine cannot repeat bit for bit.")
@as_json
def verify_command(
    release: str, *, ledger: str | None, anchor: str | None, plan: str | None, tolerance: bool, as_json: bool
) -> None:
    """Check a release: its files, its prices, and that its figures follow from its noisy draws.

    Nothing private is needed. One line for each check; the first mismatch ends it. Exit code 0: all that the release
    allows was repeated bit for bit. 6: something does not belong together, or this machine cannot repeat it. 7: the
    ledger is damaged.

    \b
    dpqr verify release/
    dpqr verify release/ --ledger survey.sqlite --plan plan.json
    """
    from dpqr.api.verify import verify
    from dpqr.app.verifying.verify import LIMITS
    from dpqr.report.wording import plain

    say_settings()
    usual = not is_typed("ledger")
    found = verify(release, ledger=ledger, anchor=anchor, plan=plan, usual=usual, tolerance=tolerance)
    if as_json:
        product_json(found.document())
    else:
        for check in found.checks:
            product(plain(str(check)))
    found.require()
    if not as_json:
        product(found.outcome)
        product(LIMITS)


@click.command("reprice")
@click.argument("release", metavar="RELEASE", callback=options.named)
@click.option("--delta", metavar="D", help="Price at this delta. [default: the release's]")
@as_json
def reprice_command(release: str, *, delta: str | None, as_json: bool) -> None:
    """Price the events of a release again, under the accountants of today. Nothing is spent or given back.

    \b
    dpqr reprice release/
    dpqr reprice release/ --delta 1e-9
    """
    from dpqr.app.verifying.reprice import reprice
    from dpqr.report.reprice_view import repriced_view

    found = reprice(release, delta)
    if as_json:
        product_json(found.document())
    else:
        deltas = found.delta_before, found.delta
        prices = found.before, found.now
        view = repriced_view(found.version, found.charged, *prices, deltas, found.unverified)
        product(rendered(view, sys.stdout))


@click.command("compare")
@click.argument("first", metavar="A", callback=options.named)
@click.argument("second", metavar="B", callback=options.named)
@click.option("--proxy", metavar="FILE", callback=options.named, help="A public table: the errors of both against it.")
@as_json
def compare_command(first: str, second: str, *, proxy: str | None, as_json: bool) -> None:
    """Show two releases or plans side by side: what was asked, what it cost, how far their answers lie apart.

    A and B are directories that `dpqr release` has made, or plan files.

    \b
    dpqr compare release/ other/
    dpqr compare plan.json release/
    """
    from dpqr.api.verify import compare

    found = compare(first, second, proxy=proxy)
    if as_json:
        product_json(found.document())
    else:
        product(rendered(found.view(), sys.stdout))
