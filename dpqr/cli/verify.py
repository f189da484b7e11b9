"""`dpqr verify`: a release checked by anybody.

`dpqr reprice`: the price of an old release under the accountants of today.

`dpqr compare`: two releases or plans side by side.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli import options
from dpqr.cli.options import Integer
from dpqr.cli.settings import is_typed, say_settings
from dpqr.cli.streams import product, product_json, render

if TYPE_CHECKING:
    from dpqr.audit.run import Finding


as_json = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")


@click.command("verify")
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@click.option(
    "--ledger",
    cls=options.HeadedOption,
    setting=True,
    metavar="FILE",
    callback=options.require_file_name,
    help="The ledger that paid, or its export.",
)
@click.option(
    "--anchor", metavar="FILE", callback=options.require_file_name, help="The ledger's anchor, outside of it."
)
@click.option("--plan", metavar="FILE", callback=options.require_file_name, help="The locked plan that was reviewed.")
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
    from dpqr.kernel.wording import plain
    from dpqr.published.verify import LIMITS
    from dpqr.python.verify import verify

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
@click.argument("release", metavar="RELEASE", callback=options.require_file_name)
@click.option("--delta", metavar="D", help="Price at this delta. [default: the release's]")
@as_json
def reprice_command(release: str, *, delta: str | None, as_json: bool) -> None:
    """Price the events of a release again, under the accountants of today. Nothing is spent or given back.

    \b
    dpqr reprice release/
    dpqr reprice release/ --delta 1e-9
    """
    from dpqr.published.checks import reprice
    from dpqr.report.budget import repriced_view

    found = reprice(release, delta)
    if as_json:
        product_json(found.document())
    else:
        deltas = found.delta_before, found.delta
        prices = found.before, found.now
        view = repriced_view(found.version, found.charged, *prices, deltas, found.unverified)
        product(render(view, sys.stdout))


@click.command("compare")
@click.argument("first", metavar="A", callback=options.require_file_name)
@click.argument("second", metavar="B", callback=options.require_file_name)
@click.option(
    "--proxy", metavar="FILE", callback=options.require_file_name, help="A public table: the errors of both against it."
)
@as_json
def compare_command(first: str, second: str, *, proxy: str | None, as_json: bool) -> None:
    """Show two releases or plans side by side: what was asked, what it cost, how far their answers lie apart.

    A and B are directories that `dpqr release` has made, or plan files.

    \b
    dpqr compare release/ other/
    dpqr compare plan.json release/
    """
    from dpqr.python.verify import compare

    found = compare(first, second, proxy=proxy)
    if as_json:
        product_json(found.document())
    else:
        product(render(found.view(), sys.stdout))


# `dpqr audit`: the installed build under attack.


@click.command("audit")
@click.option("--runs", type=Integer(min=1), metavar="N", help="Runs on each database of a case. [100000]")
@click.option("--short", is_flag=True, help="1800 runs a case, or what a case states: a minute or so, for CI.")
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Only this case; * stands for anything.")
@click.option("--list", "listed", is_flag=True, help="Name the cases; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.option("--no-color", is_flag=True, help="No colour (NO_COLOR does the same).")
def audit_command(
    runs: int | None, *, short: bool, cases: tuple[str, ...], listed: bool, as_json: bool, no_color: bool
) -> None:
    """Attack this build's mechanisms and whole releases on made-up neighbouring databases.

    Prints lower bounds of what is really lost beside what is claimed. Exit code 6: a claim was refuted.

    \b
    dpqr audit --short
    dpqr audit --case 'laplace-*' --runs 20000
    """
    from dpqr.audit.run import ALARM, select_cases
    from dpqr.cli.screen import Screen
    from dpqr.python.build import run_audit
    from dpqr.python.shown import Shown
    from dpqr.report.evaluation import audit_view

    if listed:
        chosen = select_cases(cases)
        width = max(len(case.name) for case in chosen)
        if as_json:
            product_json([{"case": case.name, "what": case.what} for case in chosen])
        else:
            product("\n".join(f"{case.name:<{width}}  {case.what}" for case in chosen))
        return
    found = run_audit(cases, runs=runs, short=short, done=_say_finding)
    lines = [(finding.name, finding.claim, finding.loss) for finding in found.findings]
    screen = Screen(color=not no_color, as_json=as_json)
    screen.show(Shown(lambda: audit_view(lines, found.runs, ALARM), found.document))
    found.require_sound()


def _say_finding(found: Finding, done: int, cases: int) -> None:
    """A line a case on stderr as soon as it is found: an audit is long, and what it has found should outlive it."""
    from dpqr.cli.streams import say
    from dpqr.report.evaluation import finding_line

    say(f"{done}/{cases}  {finding_line(found.name, found.claim, found.loss)}")
