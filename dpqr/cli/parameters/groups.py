"""Groups of options that have the same names and meaning in every command. A command receives each as one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial, wraps
from typing import Any, Literal, TypeVar, cast

import click

from dpqr.api.checks import MOST_RECORDS, MOST_WORKERS
from dpqr.cli import completion
from dpqr.cli.completion import DOCUMENTS, LEDGERS
from dpqr.cli.parameters.options import Whole, added, delimiter, encoding, gathered, named, under
from dpqr.cli.parameters.settings import is_typed

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
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
class Asked(Documents):
    """The public documents of a run. strict: whether the domain is used exactly as written."""

    strict: bool


def documents(command: Decorated, *, kind: type[Documents] = Documents, required: bool = True) -> Decorated:
    """--queries, --sql and --domain, as `documents` of this kind."""
    option = partial(under("Documents"), metavar="FILE", callback=named, shell_complete=DOCUMENTS)

    @wraps(command)
    def asked_once(*, documents: Documents, **given: Any) -> Any:
        return command(documents=_asked_once(documents, required=required), **given)

    return added(
        gathered(kind, "documents")(cast(Decorated, asked_once)),
        option("--queries", help="Queries file (JSON), or .sql file of SELECT statements."),
        under("Documents")("--sql", metavar="TEXT", help="SELECT statements, in place of --queries."),
        option("--domain", help="Domain file; needed unless the queries file holds or names it."),
    )


def _asked_once(given: Documents, *, required: bool) -> Documents:
    """Drop the queries file of dpqr.toml where --sql is typed. Raises: click.UsageError if neither is stated."""
    context = click.get_current_context()
    if given.sql is None and given.queries is None and required:
        queries = next(each for each in context.command.params if each.name == "queries")
        raise click.MissingParameter(ctx=context, param=queries)
    return given if given.sql is None or is_typed("queries") else replace(given, queries=None)


def asked(command: Decorated, *, required: bool = True) -> Decorated:
    """--queries, --domain and --strict, as `documents`."""
    option = under("Documents")
    strict = option("--strict", is_flag=True, help="Cut no bins and take no labels from the queries.")
    return documents(added(command, strict), kind=Asked, required=required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """Whom the guarantee protects, and its delta. Epsilon is a separate argument, for a locked plan states its own."""

    delta: str | None
    neighbours: str
    unit: str | None
    max_rows: int | None
    n: int | None


def guarantee(command: Decorated, *, required: bool = False) -> Decorated:
    """--eps, and --delta, --neighbours, --unit, --max-rows, --n as `guarantee`."""
    option, related = under("Guarantee"), click.Choice(["add-remove", "replace"])
    return added(
        gathered(Guarantee, "guarantee")(command),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What a share of the budget buys beside the answers: a count of rows left out, and the answers' errors."""

    count_dropped: str | None
    no_count_dropped: bool
    error_bars: str | None
    certify: str | None


def bought(command: Decorated) -> Decorated:
    """--count-dropped, --no-count-dropped, --error-bars and --certify, as `bought`."""
    option, share = under("Guarantee"), "Share of the budget for a noisy count of rows left out; for rows, add-remove"
    errors = "Share of the budget for the errors of unmeasured blocks. [default: 0.01 of rho, 0.005 of epsilon]"
    return added(
        gathered(Bought, "bought")(command),
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


def strategies(command: Decorated) -> Decorated:
    """The roles by name and their parameters, as `strategies`; `dpqr strategies` lists the names."""
    option, rule = under("Strategies, listed by `dpqr strategies`"), "multiplicative-weights"
    role, constants = (
        partial(option, metavar="NAME", shell_complete=completion.strategies),
        click.Choice(["anytime", "printed", "sharp"]),
    )
    count, seed = Whole(min=1), Whole(min=0)
    return added(
        gathered(Strategies, "strategies")(command),
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
class Table:
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


def table(command: Decorated) -> Decorated:
    """How the private table is read, and the declared limits, as `table`."""
    option = under("Table")
    limit, count = partial(option, metavar="N"), Whole(min=1)
    records = Whole(1, MOST_RECORDS)
    return added(
        gathered(Table, "table")(command),
        delimiter(option),
        encoding(option),
        option("--counts", metavar="COLUMN", help="The table is a histogram: COLUMN holds the count of each row."),
        limit("--max-cells", type=count, help="Most cells of the universe kept one by one. [default: 2^24]"),
        limit("--max-records", type=records, help="Most rows. [default, and at most: 2^36]"),
        limit("--max-columns", type=count, help="Most columns, with those that are not read. [default: 2^14]"),
        limit("--max-bytes", type=count, help="Most bytes to read, and to unpack to. [default: 2^40]"),
        limit("--max-memory", type=count, help="Most bytes of memory to draw persons' rows in. [default: 2^32]"),
        limit("--workers", type=Whole(1, MOST_WORKERS), help="Threads that count; same result. [default: 1]"),
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
    command: Decorated, *, dataset: str = "Pay from the budget of this dataset (`dpqr budget init`)."
) -> Decorated:
    """--dataset, --ledger and --anchor, as `payer`. dataset: the first one's help."""
    option = under("Budget for life")
    file = partial(option, metavar="FILE", callback=named, shell_complete=LEDGERS)
    return added(
        gathered(Payer, "payer")(command),
        option("--dataset", metavar="NAME", shell_complete=completion.datasets, help=dataset),
        file("--ledger", help="The ledger. [DPQR_LEDGER, else this user's own]"),
        file("--anchor", help="What finds rollbacks of the ledger. [DPQR_ANCHOR]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Why a budget is opened or charged, and who asks."""

    purpose: str | None
    by: str | None


def asker(command: Decorated) -> Decorated:
    """--purpose and --by, as `asker`."""
    option = under("Budget for life")
    return added(
        gathered(Asker, "asker")(command),
        option("--purpose", metavar="TEXT", help="Why: one line, kept in the ledger and the record."),
        option("--by", metavar="NAME", help="Who asks: one line, kept there too."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """What stdout and stderr show of a run."""

    as_json: bool
    progress: Literal["auto", "json", "none"]
    no_color: bool


def display(command: Decorated) -> Decorated:
    """--json, --progress and --no-color, as `display`."""
    option = under("Screen")
    return added(
        gathered(Display, "display")(command),
        option("--json", "as_json", is_flag=True, help="JSON on stdout."),
        option(
            "--progress", type=_modes, default="auto", show_default=True, help="On stderr; auto: if it is a terminal."
        ),
        option("--no-color", is_flag=True, help="No colours (as with NO_COLOR)."),
    )
