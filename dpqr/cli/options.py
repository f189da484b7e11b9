"""Options that have the same name and meaning in every command, and the headings that help shows them under."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from dpqr.cli.number import Whole

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
MOST_RECORDS = 2**36
"""No declared number of records may be larger: up to it the mechanisms keep their integers exact."""


class Headed(click.Option):
    """An option that knows its heading in the help text."""

    def __init__(self, *given: Any, heading: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.heading = heading

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Without the range of a number: the help text says what matters."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Sectioned(click.Command):
    """A command whose help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                sections.setdefault(getattr(option, "heading", "Other"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def under(heading: str) -> Callable[..., Callable[[Any], Any]]:
    """click.option for options under `heading`."""
    return partial(click.option, cls=Headed, heading=heading)


def added(command: Decorated, *options: Callable[[Any], Any]) -> Decorated:
    """`command` with options in the order in which help shall list them."""
    for option in reversed(options):
        command = option(command)
    return command


def named(_: click.Context, __: click.Parameter, given: Any) -> Any:
    """Callback of file names: an empty one is a shell variable that was not set."""
    if given == "" or (isinstance(given, tuple) and "" in given):
        raise click.BadParameter("a file name is empty; give the name of a file")
    return given


def documents(command: Decorated) -> Decorated:
    """--queries and --domain."""
    option = partial(under("Documents"), metavar="FILE", callback=named)
    return added(
        command,
        option("--queries", required=True, help="Queries file (JSON)."),
        option("--domain", help="Domain file; needed unless the queries file holds or names it."),
    )


def privacy(command: Decorated) -> Decorated:
    """The guarantee, and --count-dropped."""
    option, share = under("Guarantee"), "Share of the budget for a noisy count of rows left out; for rows, add-remove"
    count = option("--count-dropped", metavar="SHARE", help=f"{share}: free. [default there: 0.1]")
    none = option("--no-count-dropped", is_flag=True, help="Do not count the rows that are left out.")
    return guarantee(added(command, count, none), required=True)


def guarantee(command: Decorated, *, required: bool = False) -> Decorated:
    """--eps, --delta, --neighbours, --unit, --max-rows, --n."""
    option, related = under("Guarantee"), click.Choice(["add-remove", "replace"])
    return added(
        command,
        option("--eps", metavar="E", required=required, help="Epsilon, for example 1."),
        option("--delta", metavar="D", help="Delta, for example 1e-9. [default: 0, pure privacy]"),
        option(
            "--neighbours",
            type=related,
            default="add-remove",
            show_default=True,
            help="Tables that must look alike: with one row more or less, or with one row replaced.",
        ),
        option("--unit", metavar="COLUMN", help="Protect persons, not rows: COLUMN says whose row it is."),
        option(
            "--max-rows",
            metavar="K",
            type=Whole(1, MOST_RECORDS),
            help="Rows of each person that are used, drawn at random where there are more.",
        ),
        option(
            "--n",
            metavar="N",
            type=Whole(1, MOST_RECORDS),
            help="The public number of rows, or persons (replace); a declared one (theory, predict under add-remove).",
        ),
    )


def strategies(command: Decorated) -> Decorated:
    """The roles by name and their parameters; `dpqr strategies` lists the names."""
    option, rule = under("Strategies, listed by `dpqr strategies`"), "multiplicative-weights"
    named, constants = partial(option, metavar="NAME"), click.Choice(["printed", "sharp"])
    count, seed = Whole(min=1), Whole(min=0)
    return added(
        command,
        named("--schedule", default="auto", show_default=True, help="How the budget is cut."),
        named("--distinguisher", help="How to choose what to measure. [default: least noise]"),
        named("--check", "checks", help="The noise of measurements. [default: least noise]"),
        named("--update", help=f"How the hypothesis learns. [default: {rule}; strategy: least-squares]"),
        named("--accountant", help="The composition theorem. [default: least noise]"),
        option("--rounds", metavar="N", type=count, help="rounds: how many. [default: by epsilon and queries]"),
        option("--opening/--no-opening", default=None, help="rounds: first measure all one-way marginals, or not."),
        option("--alpha", metavar="A", help="theory: accuracy, a fraction of n. [default: smallest feasible]"),
        option("--beta", metavar="B", help="theory: failure probability. [default: 0.05]"),
        option("--variant", type=constants, help="theory: whose constants. [default: printed]"),
        option("--replay/--no-replay", default=None, help=f"{rule}: refit all measurements, or step on the newest."),
        option("--max-model-size", metavar="BYTES", type=count, help=f"{rule}: of its tables. [default: 2^20]"),
        named("--trust", multiple=True, help="Vouch for a third party's strategy, by its name."),
        option("--seed", metavar="N", type=seed, default=0, help="Public seed of sampled hypotheses and rows."),
    )


def table(command: Decorated) -> Decorated:
    """How the private table is read, and the declared limits."""
    option = under("Table")
    limit, count = partial(option, metavar="N"), Whole(min=1)
    records = Whole(1, MOST_RECORDS)
    return added(
        command,
        delimiter(option),
        option("--counts", metavar="COLUMN", help="The table is a histogram: COLUMN holds the count of each row."),
        limit("--max-cells", type=count, help="Most cells of the universe kept one by one. [default: 2^24]"),
        limit("--max-records", type=records, help="Most rows. [default, and at most: 2^36]"),
        limit("--max-columns", type=count, help="Most columns, with those that are not read. [default: 2^14]"),
        limit("--max-bytes", type=count, help="Most bytes to read, and to unpack to. [default: 2^40]"),
        limit("--max-memory", type=count, help="Most bytes of memory to draw persons' rows in. [default: 2^32]"),
    )


def delimiter(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--delimiter; a backslash and a t, as a shell passes them on, mean a tab."""
    return option(
        "--delimiter",
        metavar="C",
        callback=lambda _, __, given: "\t" if given == r"\t" else given,
        help=r"CSV delimiter, ; or \t (a tab) for example. [default: a tab in .tsv, else a comma]",
    )


def limits(given: dict[str, Any]) -> Any:
    """The declared limits of `table`; those that are not stated keep their defaults."""
    from dpqr.io.tables.limits import Limits

    named = {name: given[f"max_{name}"] for name in ("cells", "records", "columns", "bytes", "memory")}
    return Limits(**{name: value for name, value in named.items() if value is not None})
