"""Groups of options of `dpqr budget`, each as one typed object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpqr.api.checks import MOST_RECORDS
from dpqr.cli.completion import SQL
from dpqr.cli.parameters.options import Whole, added, delimiter, encoding, gathered
from dpqr.cli.parameters.settings import say_settings
from dpqr.data.period import EVERY, Every

if TYPE_CHECKING:
    from dpqr.api.ledger import Ledger

MEMORY = 2**28
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where the ledger and its anchor lie; None: as configured."""

    ledger: str | None
    anchor: str | None

    def opened(self) -> Ledger:
        """The ledger. Nothing is read or made yet; what dpqr.toml states of the command is said."""
        from dpqr.api.ledger import Ledger

        say_settings()
        return Ledger(self.ledger, self.anchor)


def files(command: Decorated) -> Decorated:
    """--ledger and --anchor, as `files`."""
    words = "File outside the ledger that finds rollbacks; none: without. [DPQR_ANCHOR]"
    return added(
        gathered(Files, "files")(command),
        click.option(
            "--ledger",
            metavar="FILE|URL",
            help="The ledger, a file or postgresql://. [DPQR_LEDGER, else own]",
        ),
        click.option("--anchor", metavar="FILE", help=words),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How every run reads the table: the options of the budget's policy that may be changed later."""

    max_records: int | None
    max_bytes: int | None
    max_memory: int | None
    delimiter: str | None
    encoding: str | None
    require_approval: bool
    source: str | None
    source_query: str | None


def reading(command: Decorated) -> Decorated:
    """The limits of every run, delimiter, encoding, whether plans need approval, and the source, as `reading`."""
    limit = partial(click.option, metavar="N")
    return added(
        gathered(Reading, "reading")(command),
        limit("--max-records", type=Whole(1, MOST_RECORDS), help="Most rows."),
        limit("--max-bytes", type=Whole(1), help="Most bytes to read, and to unpack to."),
        limit("--max-memory", type=Whole(MEMORY), help="Most bytes of memory to draw persons' rows in."),
        delimiter(),
        encoding(),
        click.option("--require-approval", is_flag=True, help="Pay only for plans that somebody else approved."),
        click.option("--source", metavar="ADDRESS", help="The engine's table that every run reads; `files`: none."),
        click.option("--source-query", metavar="FILE", shell_complete=SQL, help="A SELECT in the place of its table."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What all releases of a dataset may spend together, and the largest of them; decimal texts."""

    eps: str
    delta: str | None
    accounting: str | None
    cap_eps: str | None
    cap_delta: str | None


def amount(command: Decorated) -> Decorated:
    """--eps, --delta, --accounting and the caps, as `amount`."""
    adds = (
        "What adds up: basic (epsilon, or epsilon and delta) zcdp (rho) or gdp (mu^2). [zcdp with a delta, else basic]"
    )
    return added(
        gathered(Amount, "amount")(command),
        click.option("--eps", metavar="E", required=True, help="Epsilon of all releases together."),
        click.option("--delta", metavar="D", help="Delta of all releases together; 0 or none: pure privacy."),
        click.option("--accounting", "--accountant", "accounting", metavar="NAME", help=adds),
        click.option("--cap-eps", metavar="E", help="Epsilon of the largest single release. [no cap]"),
        click.option("--cap-delta", metavar="D", help="Delta of the largest single release (basic). [no cap]"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """How a budget is divided into periods; None: it is not."""

    period: Every | None
    period_column: str | None
    per_period: str | None
    first: str | None


def periods(command: Decorated) -> Decorated:
    """--period, --period-column, --per-period and --first, as `periods`."""
    return added(
        gathered(Periods, "periods")(command),
        click.option("--period", type=click.Choice(EVERY), help="Divide the budget: each period has its own. [none]"),
        click.option("--period-column", metavar="COLUMN", help="Column of dates that says which period a row is in."),
        click.option("--per-period", metavar="E", help="Epsilon of all releases of one period."),
        click.option("--first", metavar="PERIOD", help="The first period with a budget, 2026-01 for example. [any]"),
    )
