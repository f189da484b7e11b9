"""`dpqr verify`: a release checked by anybody.

`dpqr reprice`: the price of an old release under the accountants of today.

`dpqr compare`: two releases or plans side by side.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli.arithmetic import start_again_natively
from dpqr.cli.options import keywords, require_file_name, takes
from dpqr.cli.settings import is_typed, say_settings
from dpqr.cli.streams import product, product_json, render
from dpqr.python.published_options import AuditCommand, CompareCommand, RepriceCommand, VerifyCommand

if TYPE_CHECKING:
    from dpqr.audit.run import Finding


@click.command("verify")
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(VerifyCommand)
def verify_command(release: str, given: VerifyCommand) -> None:
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

    found = verify(release, usual=not is_typed("ledger"), **keywords(given))
    if any(each.code or not each.repeated for each in found.checks):
        start_again_natively()  # before anything is said
    say_settings()
    if given["as_json"]:
        product_json(found.document())
    else:
        for check in found.checks:
            product(plain(str(check)))
    found.require()
    if not given["as_json"]:
        product(found.outcome)
        product(LIMITS)


@click.command("reprice")
@click.argument("release", metavar="RELEASE", callback=require_file_name)
@takes(RepriceCommand)
def reprice_command(release: str, given: RepriceCommand) -> None:
    """Price the events of a release again, under the accountants of today. Nothing is spent or given back.

    \b
    dpqr reprice release/
    dpqr reprice release/ --delta 1e-9
    """
    from dpqr.published.checks import reprice
    from dpqr.report.budget import repriced_view

    found = reprice(release, given["delta"])
    if given["as_json"]:
        product_json(found.document())
    else:
        deltas = found.delta_before, found.delta
        prices = found.before, found.now
        view = repriced_view(found.version, found.charged, *prices, deltas, found.unverified)
        product(render(view, sys.stdout))


@click.command("compare")
@click.argument("first", metavar="A", callback=require_file_name)
@click.argument("second", metavar="B", callback=require_file_name)
@takes(CompareCommand)
def compare_command(first: str, second: str, given: CompareCommand) -> None:
    """Show two releases or plans side by side: what was asked, what it cost, how far their answers lie apart.

    A and B are directories that `dpqr release` has made, or plan files.

    \b
    dpqr compare release/ other/
    dpqr compare plan.json release/
    """
    from dpqr.cli.screen import Screen
    from dpqr.python.verify import compare

    Screen.of(given).show(compare(first, second, **keywords(given)))


# `dpqr audit`: the installed build under attack.


@click.command("audit")
@takes(AuditCommand, words={"no_color": "No colour (NO_COLOR does the same)."})
def audit_command(given: AuditCommand) -> None:
    """Attack this build's mechanisms and whole releases on made-up neighbouring databases.

    Prints lower bounds of what is really lost beside what is claimed. Exit code 6: a claim was refuted.

    \b
    dpqr audit --short
    dpqr audit --case 'laplace-*' --runs 20000
    """
    from dpqr.audit.run import ALARM, select_cases
    from dpqr.cli.screen import Screen
    from dpqr.cli.streams import say
    from dpqr.python.build import run_audit
    from dpqr.python.shown import Shown
    from dpqr.report.evaluation import audit_view, finding_line

    options = keywords(given)
    if options.pop("listed"):
        chosen = select_cases(options["cases"])
        width = max(len(case.name) for case in chosen)
        if given["as_json"]:
            product_json([{"case": case.name, "what": case.what} for case in chosen])
        else:
            product("\n".join(f"{case.name:<{width}}  {case.what}" for case in chosen))
        return

    def say_finding(finding: Finding, done: int, cases: int) -> None:
        """A line a case as soon as it is found: an audit is long, and what it has found should outlive it."""
        say(f"{done}/{cases}  {finding_line(finding.name, finding.claim, finding.loss)}")

    found = run_audit(**options, done=say_finding)
    lines = [(finding.name, finding.claim, finding.loss) for finding in found.findings]
    Screen.of(given).show(Shown(lambda: audit_view(lines, found.runs, ALARM), found.document))
    found.require_sound()
