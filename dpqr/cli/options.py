"""Options that have the same name and meaning in every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def documents(command: Command) -> Command:
    """--queries and --domain."""
    for option in (
        click.option("--domain", metavar="FILE", help="Domain file; needed unless the queries file holds or names it."),
        click.option("--queries", metavar="FILE", required=True, help="Queries file (JSON)."),
    ):
        command = option(command)
    return command


def privacy(command: Command) -> Command:
    """The guarantee: --eps, --delta, --neighbours, --n."""
    for option in (
        click.option(
            "--n", type=click.IntRange(min=1), help="Number of records: public under replace, declared n0 else."
        ),
        click.option(
            "--neighbours",
            type=click.Choice(["add-remove", "replace"]),
            default="add-remove",
            show_default=True,
            help="Which two tables are neighbours; under replace n is public and must be given.",
        ),
        click.option("--delta", metavar="D", help="Delta, for example 1e-9; 0 or none: pure privacy."),
        click.option("--eps", metavar="E", required=True, help="Epsilon, for example 1."),
    ):
        command = option(command)
    return command


def strategies(command: Command) -> Command:
    """The roles by name and their parameters; `dpqr strategies` lists the names."""
    for option in (
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, help="Public seed of sampled hypotheses and rows."
        ),
        click.option(
            "--trust", metavar="NAME", multiple=True, help="Vouch for a third party's strategy that meets data."
        ),
        click.option("--replay/--no-replay", default=None, help="multiplicative-weights: refit all measurements."),
        click.option("--variant", type=click.Choice(["printed", "sharp"]), help="theory: whose constants. [printed]"),
        click.option("--beta", metavar="B", help="theory: failure probability. [0.05]"),
        click.option("--alpha", metavar="A", help="theory: accuracy as a fraction of n. [smallest feasible]"),
        click.option("--opening/--no-opening", default=None, help="rounds: measure all one-way marginals first. [yes]"),
        click.option("--rounds", type=click.IntRange(min=1), help="rounds: number of rounds. [from eps and workload]"),
        click.option("--accountant", metavar="NAME", help="Composition theorem. [least noise]"),
        click.option("--update", metavar="NAME", default="multiplicative-weights", show_default=True),
        click.option("--check", "checks", metavar="NAME", help="Noise of the measurements. [least noise]"),
        click.option("--distinguisher", metavar="NAME", help="Private selection. [what the accountant favours]"),
        click.option("--schedule", metavar="NAME", default="rounds", show_default=True, help="How the budget is cut."),
    ):
        command = option(command)
    return command


def table(command: Command) -> Command:
    """How the private table is read, and the declared limits."""
    for option in (
        click.option("--max-bytes", metavar="N", type=click.IntRange(min=1), help="Most bytes to read."),
        click.option("--max-columns", metavar="N", type=click.IntRange(min=1), help="Most columns a table may have."),
        click.option("--max-records", metavar="N", type=click.IntRange(min=1), help="Most records. [2^36]"),
        click.option("--max-cells", metavar="N", type=click.IntRange(min=1), help="Most cells held densely. [2^24]"),
        click.option("--delimiter", metavar="C", default=",", help="CSV delimiter (\\t for a tab). [,]"),
        click.option(
            "--counts", metavar="COLUMN", help="The table is a histogram: COLUMN holds the count of each row."
        ),
    ):
        command = option(command)
    return command
