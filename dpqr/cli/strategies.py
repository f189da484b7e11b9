"""`dpqr strategies`: the names that options accept, and which of them suit a workload."""

from __future__ import annotations

import click

from dpqr.cli.options import SectionedCommand, takes, under
from dpqr.cli.streams import product, product_json
from dpqr.kernel.errors import UsageFault
from dpqr.python.owner_options import ExplainOptions


@click.command("strategies", cls=SectionedCommand)
@under("Explanation")("--explain", is_flag=True, help="Say which of them suit a workload, and why.")
@takes(ExplainOptions)
@under("Screen")("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(*, explain: bool, given: ExplainOptions, as_json: bool) -> None:
    """List schedules, distinguishers, checks, update rules and accountants, and what each is for.

    Third parties' strategies are listed from their metadata; their code is not imported. With --explain: what the
    house's schedules and update rules are worth for a workload, budget and n. No table is opened.

    \b
    dpqr strategies
    dpqr strategies --explain --queries q.json --eps 1 --n 100000
    """
    if explain:
        _print_explanation(as_json, given)
        return
    idle = next((name for name, value in given.items() if value is not None), None)
    if idle:
        raise UsageFault(f"--{idle} goes with --explain; add that, or leave it out")

    from dpqr.kernel.wording import plain
    from dpqr.python.build import strategy_rows

    listed = strategy_rows()
    if as_json:
        product_json(listed)
        return
    for role in dict.fromkeys(one["role"] for one in listed):
        product(f"--{role}")
        for one in (entry for entry in listed if entry["role"] == role):
            origin = "" if one["origin"] == "dpqr" else f" [{one['origin']}]"
            product(f"  {plain(one['name'] + origin)}: {plain(one['what'])}\n    {plain(one['use'])}")


def _print_explanation(as_json: bool, given: ExplainOptions) -> None:
    from dpqr.cli.screen import Screen
    from dpqr.python.requests import plan_request
    from dpqr.python.shown import Shown
    from dpqr.releases.explain import explain, explanation_document
    from dpqr.report.forecast import explanation_view

    if given["queries"] is None:
        raise UsageFault("--explain needs --queries: add --queries FILE")
    if given["eps"] is None:
        raise UsageFault("--explain needs --eps: add --eps 1")
    stated = {name: value for name, value in given.items() if name not in ("queries", "eps", "domain")}
    found = explain(plan_request(given["queries"], given["eps"], given["domain"], stated))
    Screen(as_json=as_json).show(Shown(lambda: explanation_view(found), lambda: explanation_document(found)))
