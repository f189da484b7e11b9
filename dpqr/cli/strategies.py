"""`dpqr strategies`: the names that options accept, and which of them suit a workload."""

from __future__ import annotations

from typing import Any

import click

from dpqr.cli.options import SectionedCommand, takes
from dpqr.cli.streams import product, product_json
from dpqr.kernel.errors import UsageFault
from dpqr.python.owner_options import StrategiesCommand


@click.command("strategies", cls=SectionedCommand)
@takes(StrategiesCommand)
def command(given: StrategiesCommand) -> None:
    """List schedules, distinguishers, checks, update rules and accountants, and what each is for.

    Third parties' strategies are listed from their metadata; their code is not imported. With --explain: what the
    house's schedules and update rules are worth for a workload, budget and n. No table is opened.

    \b
    dpqr strategies
    dpqr strategies --explain --queries q.json --eps 1 --n 100000
    """
    workload: dict[str, Any] = {name: value for name, value in given.items() if name not in ("explain", "as_json")}
    if given["explain"]:
        from dpqr.cli.screen import Screen
        from dpqr.python.requests import plan_request
        from dpqr.python.shown import Shown
        from dpqr.releases.forecast.explain import explain, explanation_document
        from dpqr.report.forecast import explanation_view

        queries, eps, domain = (workload.pop(name) for name in ("queries", "eps", "domain"))
        if queries is None:
            raise UsageFault("--explain needs --queries: add --queries FILE")
        if eps is None:
            raise UsageFault("--explain needs --eps: add --eps 1")
        found = explain(plan_request(queries, eps, domain, workload))
        Screen.of(given).show(Shown(lambda: explanation_view(found), lambda: explanation_document(found)))
        return
    idle = next((name for name, value in workload.items() if value is not None), None)
    if idle:
        raise UsageFault(f"--{idle} goes with --explain; add that, or leave it out")

    from dpqr.kernel.wording import plain
    from dpqr.python.build import strategy_rows

    listed = strategy_rows()
    if given["as_json"]:
        product_json(listed)
        return
    for role in dict.fromkeys(one["role"] for one in listed):
        product(f"--{role}")
        for one in (entry for entry in listed if entry["role"] == role):
            origin = "" if one["origin"] == "dpqr" else f" [{one['origin']}]"
            product(f"  {plain(one['name'] + origin)}: {plain(one['what'])}\n    {plain(one['use'])}")
