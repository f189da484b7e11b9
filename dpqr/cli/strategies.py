"""`dpqr strategies`: the names that options accept, and which of them suit a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from dpqr.cli import options
from dpqr.cli.options import Integer
from dpqr.cli.streams import product, product_json
from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import MOST_RECORDS

_explain, _say = options.under("Explanation"), options.under("Screen")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What strategies are explained for; nothing is stated without --explain."""

    queries: str | None
    domain: str | None
    eps: str | None
    delta: str | None
    neighbours: str | None
    n: int | None
    alpha: str | None


def explain_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Workload, budget and records, as `asked`."""
    option, related = _explain, click.Choice(["add-remove", "replace"])
    return options.list_options(
        options.gather_options(ExplainOptions, "asked")(command),
        option("--queries", metavar="FILE", callback=options.require_file_name, help="Queries file (JSON)."),
        option(
            "--domain", metavar="FILE", callback=options.require_file_name, help="Domain file, as in `dpqr release`."
        ),
        option("--eps", metavar="E", help="Epsilon, for example 1."),
        option("--delta", metavar="D", help="Delta, for example 1e-9. [default: 0, pure privacy]"),
        option("--neighbours", type=related, help="As in `dpqr release`. [default: add-remove]"),
        option("--n", metavar="N", type=Integer(1, MOST_RECORDS), help="The number of rows, or a guess at it."),
        option(
            "--alpha",
            metavar="A",
            help="Accuracy to tell mistake bounds at. [default: the smallest that theory promises]",
        ),
    )


@click.command("strategies", cls=options.SectionedCommand)
@_explain("--explain", is_flag=True, help="Say which of them suit a workload, and why.")
@explain_options
@_say("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(*, explain: bool, asked: ExplainOptions, as_json: bool) -> None:
    """List schedules, distinguishers, checks, update rules and accountants, and what each is for.

    Third parties' strategies are listed from their metadata; their code is not imported. With --explain: what the
    house's schedules and update rules are worth for a workload, budget and n. No table is opened.

    \b
    dpqr strategies
    dpqr strategies --explain --queries q.json --eps 1 --n 100000
    """
    if explain:
        _print_explanation(as_json, asked)
        return
    idle = next((field.name for field in fields(asked) if getattr(asked, field.name) is not None), None)
    if idle:
        raise UsageFault(f"--{idle} goes with --explain; add that, or leave it out")
    _print_list(as_json)


def _print_list(as_json: bool) -> None:
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


def _print_explanation(as_json: bool, asked: ExplainOptions) -> None:
    from dpqr.cli.screen import Screen
    from dpqr.python.requests import plan_request
    from dpqr.releases.explain import explain, explanation_document

    if asked.queries is None:
        raise UsageFault("--explain needs --queries: add --queries FILE")
    if asked.eps is None:
        raise UsageFault("--explain needs --eps: add --eps 1")
    stated = {name: getattr(asked, name) for name in ("delta", "neighbours", "n", "alpha")}
    request = plan_request(asked.queries, asked.eps, asked.domain, stated)
    found = explain(request)
    if as_json:
        product_json(explanation_document(found))
    else:
        Screen().explanation(found)
