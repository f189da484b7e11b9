"""Options: numbers in plain ASCII text, headings in help texts, and groups of options as typed arguments.

Python's int() and float() take more than such numbers: other scripts' digits, underscores, nan, and any blank or
control character around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import partial, wraps
from typing import Any, Literal, TypeVar, cast

import click

from dpqr.cli import completion
from dpqr.cli.completion import DOCUMENTS, LEDGERS
from dpqr.cli.settings import is_typed
from dpqr.domain.periods import MOST_PERIODS
from dpqr.kernel.budget import exact_decimal
from dpqr.python.options import MOST_RECORDS, MOST_WORKERS

LONGEST = 40
_DIGITS = re.compile(rf"[ \t]*[-+]?[0-9]{{1,{LONGEST}}}[ \t]*")


class Integer(click.IntRange):
    """A whole number between `min` and `max`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not _DIGITS.fullmatch(value):
            self.fail(f"{value[:LONGEST]!r} is not a valid whole number; give digits, for example 1000.", param, ctx)
        return super().convert(value, param, ctx)


class Positive(click.types.FloatParamType):
    """A number above 0, as the nearest float."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        exact = exact_decimal(value, option=param.opts[0] if param else "the number")
        if not exact:
            self.fail(f"{value.strip()} is not above 0.", param, ctx)
        return float(exact)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class HeadedOption(click.Option):
    """An option that knows its heading in the help text."""

    def __init__(self, *given: Any, heading: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.heading = heading

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Without the range of a number: the help text says what matters."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class SectionedCommand(click.Command):
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
    return partial(click.option, cls=HeadedOption, heading=heading)


def list_options(command: Decorated, *options: Callable[[Any], Any]) -> Decorated:
    """`command` with options in the order in which help shall list them."""
    for option in reversed(options):
        command = option(command)
    return command


def gather_options(kind: type[Any], name: str) -> Callable[[Decorated], Decorated]:
    """Hand the values of a group's options to the command as one argument `name`: a frozen dataclass `kind`.

    Its fields are the options' names, and say their types. This is the only place where values are handed on by name.
    """

    def decorated(command: Decorated) -> Decorated:
        @wraps(command)
        def gathering(**given: Any) -> Any:
            group = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            return command(**{name: group}, **given)

        return cast(Decorated, gathering)

    return decorated


def require_file_name(_: click.Context, __: click.Parameter, given: Any) -> Any:
    """Callback of file names: an empty one is a shell variable that was not set."""
    if given == "" or (isinstance(given, tuple) and "" in given):
        raise click.BadParameter("a file name is empty; give the name of a file")
    return given


def delimiter(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--delimiter; a backslash and a t, as a shell passes them on, mean a tab."""
    return option(
        "--delimiter",
        metavar="C",
        callback=lambda _, __, given: "\t" if given == r"\t" else given,
        help=r"CSV delimiter, ; or \t (a tab) for example. [default: a tab in .tsv, else a comma]",
    )


def period(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--period, of a release and of its plan."""
    return option(
        "--period",
        metavar="PERIOD",
        help="Read the rows of one period only: 2026-03, 2026-Q1, 2026, 2026-W05 or 2026-03-05.",
    )


def encoding(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--encoding, by the one name of an encoding that has several."""

    def known(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
        from dpqr.tables.policy import known_encoding

        return None if given is None else known_encoding(given)

    return option(
        "--encoding",
        metavar="NAME",
        callback=known,
        help="Encoding of CSV files, cp1252 or utf-16 for example. [default: utf-8]",
    )


# Groups of options that have the same names and meaning in every command. A command receives each as one object.

DecoratedCommand = TypeVar("DecoratedCommand", bound=Callable[..., Any])
_modes = click.Choice(["auto", "json", "none"])


def keywords(*groups: Any) -> dict[str, Any]:
    """The fields of all groups as keywords of the Python interface, which has the same names."""
    given = {name: value for group in groups for name, value in asdict(group).items()}
    if "sql" in given:
        given["queries"] = file_or_sql(given["queries"], given.pop("sql"))
    return given


def file_or_sql(queries: str | None, sql: str | None) -> Any:
    """The argument `queries` of the Python interface. Raises: click.UsageError if both are stated."""
    if queries is not None and sql is not None:
        raise click.UsageError("--sql and --queries both ask; give one of them")
    return queries if sql is None else {"sql": sql}


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The public documents of a run. queries, sql: at most one of them is stated."""

    queries: str | None
    sql: str | None
    domain: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictDocuments(Documents):
    """The public documents of a run. strict: whether the domain is used exactly as written."""

    strict: bool


def documents(
    command: DecoratedCommand, *, kind: type[Documents] = Documents, required: bool = True
) -> DecoratedCommand:
    """--queries, --sql and --domain, as `documents` of this kind."""
    option = partial(under("Documents"), metavar="FILE", callback=require_file_name, shell_complete=DOCUMENTS)

    @wraps(command)
    def asked_once(*, documents: Documents, **given: Any) -> Any:
        return command(documents=_drop_default_queries(documents, required=required), **given)

    return list_options(
        gather_options(kind, "documents")(cast(DecoratedCommand, asked_once)),
        option("--queries", help="Queries file (JSON), or .sql file of SELECT statements."),
        under("Documents")("--sql", metavar="TEXT", help="SELECT statements, in place of --queries."),
        option("--domain", help="Domain file; needed unless the queries file holds or names it."),
    )


def _drop_default_queries(given: Documents, *, required: bool) -> Documents:
    """Drop the queries file of dpqr.toml where --sql is typed. Raises: click.UsageError if neither is stated."""
    context = click.get_current_context()
    if given.sql is None and given.queries is None and required:
        queries = next(each for each in context.command.params if each.name == "queries")
        raise click.MissingParameter(ctx=context, param=queries)
    return given if given.sql is None or is_typed("queries") else replace(given, queries=None)


def strict_documents_options(command: DecoratedCommand, *, required: bool = True) -> DecoratedCommand:
    """--queries, --domain and --strict, as `documents`."""
    option = under("Documents")
    strict = option("--strict", is_flag=True, help="Cut no bins and take no labels from the queries.")
    return documents(list_options(command, strict), kind=StrictDocuments, required=required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """Whom the guarantee protects, and its delta. Epsilon is a separate argument, for a locked plan states its own."""

    delta: str | None
    neighbours: str
    unit: str | None
    max_rows: int | None
    n: int | None


def guarantee(command: DecoratedCommand, *, required: bool = False) -> DecoratedCommand:
    """--eps, and --delta, --neighbours, --unit, --max-rows, --n as `guarantee`."""
    option, related = under("Guarantee"), click.Choice(["add-remove", "replace"])
    return list_options(
        gather_options(Guarantee, "guarantee")(command),
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
            type=Integer(1, MOST_RECORDS),
            help="Rows of each person that are used, drawn at random where there are more.",
        ),
        option(
            "--n",
            metavar="N",
            type=Integer(1, MOST_RECORDS),
            help="The public number of rows, or persons (replace); a declared one (theory, predict under add-remove).",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEstimateOptions:
    """What a share of the budget buys beside the answers: a count of rows left out, and the answers' errors."""

    count_dropped: str | None
    no_count_dropped: bool
    error_bars: str | None
    certify: str | None


def error_estimate_options(command: DecoratedCommand) -> DecoratedCommand:
    """--count-dropped, --no-count-dropped, --error-bars and --certify, as `error_estimate_options`."""
    option, share = under("Guarantee"), "Share of the budget for a noisy count of rows left out; for rows, add-remove"
    errors = "Share of the budget for the errors of unmeasured blocks. [default: 0.01 of rho, 0.005 of epsilon]"
    return list_options(
        gather_options(ErrorEstimateOptions, "bought")(command),
        option("--count-dropped", metavar="SHARE", help=f"{share}: free. [default there: 0.1]"),
        option("--no-count-dropped", is_flag=True, help="Do not count the rows that are left out."),
        option("--error-bars", metavar="SHARE|free|none", help=errors),
        option("--certify", metavar="SHARE", help="Share of the budget for proved bounds on L1 errors, such as 0.05."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """The roles by name, and their parameters."""

    schedule: str
    distinguisher: str | None
    check: str | None
    update: str | None
    accountant: str | None
    rounds: int | None
    opening: bool | None
    alpha: str | None
    beta: str | None
    variant: str | None
    replay: bool | None
    max_model_size: int | None
    trust: tuple[str, ...]
    seed: int


def strategies(command: DecoratedCommand) -> DecoratedCommand:
    """The roles by name and their parameters, as `strategies`; `dpqr strategies` lists the names."""
    option, rule = under("Strategies, listed by `dpqr strategies`"), "multiplicative-weights"
    role, constants = (
        partial(option, metavar="NAME", shell_complete=completion.strategies),
        click.Choice(["anytime", "printed", "sharp"]),
    )
    count, seed = Integer(min=1), Integer(min=0)
    return list_options(
        gather_options(Strategies, "strategies")(command),
        role("--schedule", default="auto", show_default=True, help="How the budget is cut."),
        role("--distinguisher", help="How to choose what to measure. [default: least error]"),
        role("--check", help="The noise of measurements. [default: least error]"),
        role("--update", help=f"How the hypothesis learns. [default: {rule}; strategy: least-squares]"),
        role("--accountant", help="The composition theorem. [default: least error]"),
        option("--rounds", metavar="N", type=count, help="rounds: how many. [default: by epsilon and queries]"),
        option("--opening/--no-opening", default=None, help="rounds: first measure all one-way marginals, or not."),
        option(
            "--alpha",
            metavar="A",
            help="theory: accuracy, a fraction of n. [default: smallest feasible]",
        ),
        option("--beta", metavar="B", help="theory, --certify: failure probability. [default: 0.05]"),
        option("--variant", metavar="NAME", type=constants, help="theory: anytime, printed, sharp. [default: anytime]"),
        option("--replay/--no-replay", default=None, help=f"{rule}: refit all measurements, or step on the newest."),
        option("--max-model-size", metavar="BYTES", type=count, help=f"{rule}: of its tables. [default: 2^20]"),
        role("--trust", multiple=True, help="Vouch for a third party's strategy, by its name."),
        option("--seed", metavar="N", type=seed, default=0, help="Public seed of sampled hypotheses and rows."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """How the private table is read, and the declared limits; None: not stated."""

    delimiter: str | None
    encoding: str | None
    counts: str | None
    max_cells: int | None
    max_records: int | None
    max_columns: int | None
    max_bytes: int | None
    max_memory: int | None
    workers: int | None


def table(command: DecoratedCommand) -> DecoratedCommand:
    """How the private table is read, and the declared limits, as `table`."""
    option = under("Table")
    limit, count = partial(option, metavar="N"), Integer(min=1)
    records = Integer(1, MOST_RECORDS)
    return list_options(
        gather_options(TableOptions, "table")(command),
        delimiter(option),
        encoding(option),
        option("--counts", metavar="COLUMN", help="The table is a histogram: COLUMN holds the count of each row."),
        limit("--max-cells", type=count, help="Most cells of the universe kept one by one. [default: 2^24]"),
        limit("--max-records", type=records, help="Most rows. [default, and at most: 2^36]"),
        limit("--max-columns", type=count, help="Most columns, with those that are not read. [default: 2^14]"),
        limit("--max-bytes", type=count, help="Most bytes to read, and to unpack to. [default: 2^40]"),
        limit("--max-memory", type=count, help="Most bytes of memory to draw persons' rows in. [default: 2^32]"),
        limit("--workers", type=Integer(1, MOST_WORKERS), help="Threads that count; same result. [default: 1]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Whose budget pays: a dataset in a ledger, and what finds rollbacks of it."""

    dataset: str | None
    ledger: str | None
    anchor: str | None

    @property
    def typed(self) -> tuple[str, ...]:
        """The options of the ledger's files that stand on the command line."""
        given = {"ledger": self.ledger, "anchor": self.anchor}
        return tuple(part for name, file in given.items() if file and is_typed(name) for part in (f"--{name}", file))


def payer(
    command: DecoratedCommand, *, dataset: str = "Pay from the budget of this dataset (`dpqr budget init`)."
) -> DecoratedCommand:
    """--dataset, --ledger and --anchor, as `payer`. dataset: the first one's help."""
    option = under("Budget for life")
    file = partial(option, metavar="FILE", callback=require_file_name, shell_complete=LEDGERS)
    return list_options(
        gather_options(Payer, "payer")(command),
        option("--dataset", metavar="NAME", shell_complete=completion.datasets, help=dataset),
        file("--ledger", help="The ledger. [DPQR_LEDGER, else this user's own]"),
        file("--anchor", help="What finds rollbacks of the ledger. [DPQR_ANCHOR]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Why a budget is opened or charged, and who asks."""

    purpose: str | None
    by: str | None


def asker(command: DecoratedCommand) -> DecoratedCommand:
    """--purpose and --by, as `asker`."""
    option = under("Budget for life")
    return list_options(
        gather_options(Asker, "asker")(command),
        option("--purpose", metavar="TEXT", help="Why: one line, kept in the ledger and the record."),
        option("--by", metavar="NAME", help="Who asks: one line, kept there too."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """What stdout and stderr show of a run."""

    as_json: bool
    progress: Literal["auto", "json", "none"]
    no_color: bool


def display(command: DecoratedCommand) -> DecoratedCommand:
    """--json, --progress and --no-color, as `display`."""
    option = under("Screen")
    return list_options(
        gather_options(Display, "display")(command),
        option("--json", "as_json", is_flag=True, help="JSON on stdout."),
        option(
            "--progress", type=_modes, default="auto", show_default=True, help="On stderr; auto: if it is a terminal."
        ),
        option("--no-color", is_flag=True, help="No colours (as with NO_COLOR)."),
    )


# --cumulative, --after and --start: the earlier releases that a release goes on from.


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterOptions:
    """How many periods the counter runs over, and the release before; the release whose tables a model starts from."""

    cumulative: int | None
    after: str | None
    start: str | None


def counter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--cumulative, --after and --start, as `counter_options`."""
    option = under("Table")
    return list_options(
        gather_options(CounterOptions, "counted")(command),
        option(
            "--cumulative",
            metavar="PERIODS",
            type=Integer(1, MOST_PERIODS),
            help="Count all rows up to and including the period, over so many periods; --eps is for all of them.",
        ),
        option("--after", metavar="DIR", callback=require_file_name, help="The release of the period before."),
        option(
            "--start", metavar="DIR", callback=require_file_name, help="Start the fit from this earlier release, free."
        ),
    )
