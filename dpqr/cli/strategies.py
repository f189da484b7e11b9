"""`dpqr strategies`: the names that options accept, and which of them suit a workload."""

from __future__ import annotations

from typing import Any

import click

from dpqr.cli import options
from dpqr.cli.number import Whole
from dpqr.cli.screen import Screen
from dpqr.cli.streams import product, product_json
from dpqr.errors import UsageFault

_explain, _say = options.under("Explanation"), options.under("Screen")
_related = click.Choice(["add-remove", "replace"])


@click.command("strategies", cls=options.Sectioned)
@_explain("--explain", is_flag=True, help="Say which of them suit a workload, and why.")
@_explain("--queries", metavar="FILE", callback=options.named, help="Queries file (JSON).")
@_explain("--domain", metavar="FILE", callback=options.named, help="Domain file, as in `dpqr release`.")
@_explain("--eps", metavar="E", help="Epsilon, for example 1.")
@_explain("--delta", metavar="D", help="Delta, for example 1e-9. [default: 0, pure privacy]")
@_explain("--neighbours", type=_related, help="As in `dpqr release`. [default: add-remove]")
@_explain("--n", metavar="N", type=Whole(1, options.MOST_RECORDS), help="The number of rows, or a guess at it.")
@_explain(
    "--alpha", metavar="A", help="Accuracy to tell mistake bounds at. [default: the smallest that theory promises]"
)
@_say("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(*, explain: bool, as_json: bool, **given: Any) -> None:
    """List schedules, distinguishers, checks, update rules and accountants, and what each is for.

    Third parties' strategies are listed from their metadata; their code is not imported. With --explain: what the
    house's schedules and update rules are worth for a workload, budget and n. No table is opened.

    \b
    dpqr strategies
    dpqr strategies --explain --queries q.json --eps 1 --n 100000
    """
    if explain:
        _explained(as_json, given)
        return
    idle = next((name for name, value in given.items() if value is not None), None)
    if idle:
        raise UsageFault(f"--{idle} goes with --explain; add that, or leave it out")
    _listed(as_json)


def _listed(as_json: bool) -> None:
    from dpqr.app.strategies import list_strategies
    from dpqr.report.wording import plain

    listed = list_strategies()
    if as_json:
        product_json(listed)
        return
    for role in dict.fromkeys(one["role"] for one in listed):
        product(f"--{role}")
        for one in (entry for entry in listed if entry["role"] == role):
            origin = "" if one["origin"] == "dpqr" else f" [{one['origin']}]"
            product(f"  {plain(one['name'] + origin)}: {plain(one['what'])}\n    {plain(one['use'])}")


def _explained(as_json: bool, given: dict[str, Any]) -> None:
    from dpqr.app.explain import explain, explanation_document
    from dpqr.app.request import PlanRequest

    for name, example in (("queries", "FILE"), ("eps", "1")):
        if given[name] is None:
            raise UsageFault(f"--explain needs --{name}: add --{name} {example}")
    epsilon, neighbours = given.pop("eps"), given.pop("neighbours") or "add-remove"
    told = explain(PlanRequest(epsilon=epsilon, neighbours=neighbours, **given))
    if as_json:
        product_json(explanation_document(told))
    else:
        Screen().explanation(told)
