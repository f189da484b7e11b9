"""`dpqr audit`: the installed build under attack."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli.parameters.options import Whole

if TYPE_CHECKING:
    from dpqr.audit.run import Audit, Finding


@click.command("audit")
@click.option("--runs", type=Whole(min=1), metavar="N", help="Runs on each database of a case. [100000]")
@click.option("--short", is_flag=True, help="1800 runs a case, or what a case states: a minute or so, for CI.")
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Only this case; * stands for anything.")
@click.option("--list", "listed", is_flag=True, help="Name the cases; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.option("--no-color", is_flag=True, help="No colour (NO_COLOR does the same).")
def command(
    runs: int | None, *, short: bool, cases: tuple[str, ...], listed: bool, as_json: bool, no_color: bool
) -> None:
    """Attack this build's mechanisms and whole releases on made-up neighbouring databases.

    Prints lower bounds of what is really lost beside what is claimed. Exit code 6: a claim was refuted.

    \b
    dpqr audit --short
    dpqr audit --case 'laplace-*' --runs 20000
    """
    from dpqr.api.build import run_audit
    from dpqr.audit.run import chosen_cases

    if listed:
        _list([(case.name, case.what) for case in chosen_cases(cases)], as_json=as_json)
        return
    found = run_audit(cases, runs=runs, short=short, done=_say_finding)
    _show(found, as_json=as_json, color=not no_color)
    found.require_sound()


def _show(found: Audit, *, as_json: bool, color: bool) -> None:
    from dpqr.audit.run import ALARM
    from dpqr.cli.terminal.streams import product, product_json, rendered
    from dpqr.report.evaluation_view import audit_view

    if as_json:
        product_json(found.document())
        return
    lines = [(finding.name, finding.claim, finding.loss) for finding in found.findings]
    product(rendered(audit_view(lines, found.runs, ALARM), sys.stdout, color))


def _list(named: list[tuple[str, str]], *, as_json: bool) -> None:
    from dpqr.cli.terminal.streams import product, product_json

    if as_json:
        product_json([{"case": name, "what": what} for name, what in named])
        return
    width = max(len(name) for name, _ in named)
    product("\n".join(f"{name:<{width}}  {what}" for name, what in named))


def _say_finding(found: Finding, done: int, cases: int) -> None:
    """A line a case on stderr as soon as it is found: an audit is long, and what it has found should outlive it."""
    from dpqr.cli.terminal.streams import say
    from dpqr.report.evaluation_view import finding_line

    say(f"{done}/{cases}  {finding_line(found.name, found.claim, found.loss)}")
