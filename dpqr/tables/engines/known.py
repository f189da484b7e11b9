"""The engines that can be named on the command line, each loaded when it is named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.tables.engines.address import (
    WHERE_PASSWORDS_GO,
    EngineAddress,
    holds_credentials,
    names_password,
    require_no_password,
    spells_credentials,
)
from dpqr.tables.limits import constantly
from dpqr.tables.policy import Source

if TYPE_CHECKING:
    from dpqr.tables.engines.engine import Engine


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+]*):([^?]*)(?:\?table=(.*))?", re.DOTALL)
_QUERY = re.compile(r"[?&]\s*query\s*=", re.IGNORECASE)
_OPTION = re.compile(r"&\s*\w+\s*=")
_PARQUET = (".parquet", ".pq")
LONGEST = 2**16
"""Characters of an address, and of a query that is registered."""


def address_in(text: str) -> EngineAddress | None:
    """None for what names files: no scheme of an engine stands before its first colon. Raises: UsageFault, which
    repeats nothing of the address: people write credentials into such parameters."""
    stated, colon, _ = text.partition(":")
    known = (name for name, row in ENGINES.items() if stated.lower() in (name, *row.aliases))
    scheme = next(known, None) if colon else None
    if scheme is None:
        # What names neither an engine nor a file, but a server, may hold a password.
        if "://" in text or names_password(text):
            raise UsageFault(
                f"the table is named by an address of no engine that dpqr knows ({', '.join(ENGINES)}); "
                "it is not repeated, for it may hold a password\n"
                "name a file, or an engine's table as in `dpqr guide tables`"
            )
        return None
    if _QUERY.search(unquote(text)):
        raise UsageFault(
            f"{scheme}: ?query= is no part of an address: a query says what a row is, and so whom the budget protects\n"
            "name a base table with ?table=NAME; or the owner of a budget registers the query: "
            "dpqr budget policy NAME --source ADDRESS --source-query FILE"
        )
    if holds_credentials(text):
        raise _password(scheme)
    found = _ADDRESS.fullmatch(text)
    if found is None or (found[3] is not None and _OPTION.search(found[3])) or not text.isprintable():
        others = ENGINES[scheme].other_options
        raise UsageFault(f"{scheme}: takes ?table=NAME behind the place, and nothing else{others}")
    place, table = found[2], found[3]
    if table is not None and not table.strip():
        raise UsageFault(f"{scheme}: ?table= is empty; name a table, for example {scheme}:PLACE?table=people")
    ENGINES[scheme].require_place(place)
    return EngineAddress(scheme=scheme, place=place, table=table)


def _password(scheme: str) -> UsageFault:
    return UsageFault(
        f"{scheme}: the address holds a password, or signs that are not escaped; addresses are shown and recorded\n"
        f"leave the password out and put it into {ENGINES[scheme].where_passwords_go}"
    )


def named_files(paths: tuple[str, ...]) -> str | None:
    """The place of the only path's address, where that names files: Parquet files, or the file of a database."""
    address = address_in(paths[0]) if len(paths) == 1 else None
    if address is None or not (address.table is None or ENGINES[address.scheme].tables_in_files):
        return None
    return address.place


def engine_at(paths: tuple[str, ...]) -> Engine | None:
    """The engine that a table's only path names; None for files. Nothing is opened.

    Raises: UsageFault for an address that is joined with other tables, and for what the engine does not take.
    """
    found = [address for address in map(address_in, paths) if address is not None]
    if not found:
        return None
    if len(paths) > 1:
        raise UsageFault(f"{found[0].scheme}: cannot be joined with other tables; give it alone, or join them there")
    return engine_of(found[0])


def engine_of(address: EngineAddress) -> Engine:
    """What counts the table of an address. Nothing is opened."""
    module, _, name = ENGINES[address.scheme].made_by.partition(":")
    return cast("Engine", getattr(import_module(module), name)(address))


def source_at(text: str, query: str | None = None) -> Source:
    """What the owner of a budget registers, in the one form in which it is compared.

    Args:
        text: the address. A local file's path is made absolute, for later runs have other working directories.
        query: one SELECT in the place of the address's table; None: the address says it all.

    Raises:
        UsageFault: no address of an engine; one without a place, or that a run's environment would complete; an
            address or a query that holds a password. Nothing of either is repeated.
    """
    address = address_in(text)
    if address is None:
        *forms, last = (form for row in ENGINES.values() for form in row.forms)
        raise UsageFault(
            "--source: is no address of an engine; files need none, for they are named by path\n"
            f"give {', '.join(forms)} or {last}"
        )
    if query is not None:
        # The text without blanks and the semicolon at its end.
        if address.table is not None:
            raise UsageFault("--source-query: stands in the place of a table; leave ?table= out of --source")
        found = query.strip().rstrip(";").rstrip()
        plain = all(each.isprintable() for each in found.split())
        if not found or not plain or len(found) > LONGEST:
            raise UsageFault(f"--source-query: holds one SELECT, of at most {LONGEST:,} printable characters")
        if spells_credentials(found):
            raise UsageFault("--source-query: the query holds a password; it is shown and recorded, so leave that out")
        query = found
    place = ENGINES[address.scheme].settled(address.place)
    if len(text) > LONGEST:
        raise UsageFault(f"--source: an address has at most {LONGEST:,} characters")
    settled = EngineAddress(scheme=address.scheme, place=place, table=address.table, query=query, registered=True)
    engine_of(settled)  # refuses what names no table
    return Source(address=settled.text, query=query or "")


def registered_address(source: Source) -> EngineAddress:
    """The address of what the owner of a budget has registered."""
    scheme, _, rest = source.address.partition(":")
    place, option, table = rest.partition("?table=")
    return EngineAddress(
        scheme=scheme, place=place, table=table if option else None, query=source.query or None, registered=True
    )


def is_source(text: str, source: Source) -> bool:
    """Whether an address that a request repeats is the registered one. UsageFault for what `address_in` refuses."""
    address = address_in(text)
    if address is None:
        return False
    try:
        place = ENGINES[address.scheme].settled(address.place)
    except UsageFault:
        return False  # what could not be registered is not the registered one
    return EngineAddress(scheme=address.scheme, place=place, table=address.table).text == source.address


def local_files(engine: Engine) -> tuple[str, ...] | None:
    """The local files that hold all that an engine reads, in a fixed order: what its method `files` returns.

    Their bytes show whether a killed release can be continued. None: it has no such method, or reads other things too.
    """
    files = getattr(engine, "files", None)
    if not callable(files):
        return None
    return cast("tuple[str, ...] | None", constantly(files, refused_after(engine)))


def refused_before(engine: object) -> str:
    """What is said where an engine refuses before anything is paid."""
    row = _own_row(engine)
    return OTHER_BEFORE if row is None else row.before


def refused_after(engine: object) -> str:
    """What is said where an engine ends once the run was paid."""
    row = _own_row(engine)
    return OTHER_AFTER if row is None else row.after


def _own_row(engine: object) -> EngineRow | None:
    """The row of an engine of this package; None for those of others."""
    kind = f"{type(engine).__module__}:{type(engine).__qualname__}"
    return next((row for row in ENGINES.values() if row.made_by == kind), None)


OTHER_BEFORE = (
    "the table's engine does not say which columns it has; what it said may quote rows and is not shown\n"
    "check it with dpqr.testing.check_engine"
)
"""What is said of an engine of a third party, and of a table in memory, that refuses before anything is paid."""
OTHER_AFTER = "the table's engine ended before the table was counted; what it said may quote rows and is not shown"


# The registry: one row an engine.
#
# **Privacy** What an engine says of an error may quote rows, and which error it is may depend on them. So before
# payment there is one sentence for each engine, whatever it refuses and why; after payment another one. Neither
# names the error's class. `dpqr.tables.structure` and `dpqr.tables.load` say them in the place of what an engine
# raises.


class EngineRow(Struct, frozen=True, kw_only=True):
    """All that is known of an engine by its name; its module is loaded when an address names it.

    made_by: module and class, which takes the address; nothing is opened then.
    forms: addresses as one types them. aliases: other schemes.
    before: what is said where it refuses before anything is paid; after: where it ends once the run was paid.
    settled: the place by which runs are compared, which nothing of a run's environment completes; UsageFault for
    another one. require_place: UsageFault for what is no place of this engine.
    tables_in_files: whether an address with ?table= names a file too.
    other_options: where options that no address takes go, as the end of a sentence.
    """

    made_by: str
    forms: tuple[str, ...]
    before: str
    after: str
    settled: Callable[[str], str]
    require_place: Callable[[str], None] = lambda _: None
    aliases: tuple[str, ...] = ()
    tables_in_files: bool = False
    other_options: str = ""
    where_passwords_go: str = "the environment or the engine's own files"


def _settled_file(place: str) -> str:
    if not place:
        raise UsageFault("--source: name the file that holds the table: duckdb:FILE?table=NAME")
    if "://" in place:
        return place
    return os.path.abspath(place) + ("/" if place.endswith("/") else "")


def _require_server(place: str) -> None:
    """UsageFault unless a server is named as libpq names it: //USER@HOST:PORT/DATABASE, or nothing."""
    if place and not place.startswith("//"):
        raise UsageFault("postgresql: write the server as postgresql://USER@HOST/DATABASE?table=NAME")
    try:
        parts = urlsplit(f"postgresql:{place}")
    except ValueError:
        raise _password("postgresql") from None
    require_no_password(parts.netloc, parts.path, [], "postgresql")


def _settled_server(place: str) -> str:
    parts = urlsplit(f"postgresql:{place}")
    if not parts.netloc.rpartition("@")[2] or not parts.path.strip("/"):
        raise UsageFault(
            "--source: name the server and its database, or the environment of each run would choose them: "
            "postgresql://HOST/DATABASE?table=NAME"
        )
    return place


def _settled_lake(place: str) -> str:
    if place.lower().endswith((*_PARQUET, "/")) and not place.startswith("/") and ":" not in place:
        raise UsageFault("--source: give Spark's files by an absolute path, or with a scheme: spark:/DATA/*.parquet")
    return place


ENGINES = {
    "duckdb": EngineRow(
        made_by="dpqr.tables.engines.duckdb:DuckTable",
        forms=("duckdb:FILE?table=NAME", "duckdb:FILES.parquet"),
        before=(
            "duckdb: DuckDB cannot open the table, or it is none that may be read; no row was read\n"
            "check the path and the table's name, that nobody writes to the file, and `dpqr guide tables`: what may be "
            "read"
        ),
        after="duckdb: DuckDB ended before the table was counted; what it said may quote rows and is not shown",
        settled=_settled_file,
        tables_in_files=True,
    ),
    "postgresql": EngineRow(
        made_by="dpqr.tables.engines.postgres:PostgresTable",
        forms=("postgresql://HOST/DATABASE?table=NAME",),
        before=(
            "postgresql: PostgreSQL cannot be reached, or the table is none that this role may read; no row was read\n"
            "check the server, the login, the table's name and its grants, and `dpqr guide scale`: what may be read"
        ),
        after=(
            "postgresql: PostgreSQL ended before the table was counted; what it said may quote rows and is not shown"
        ),
        settled=_settled_server,
        require_place=_require_server,
        aliases=("postgres",),
        other_options="; PGHOST, PGSSLMODE and such hold other options",
        where_passwords_go=WHERE_PASSWORDS_GO,
    ),
    "spark": EngineRow(
        made_by="dpqr.tables.engines.spark:SparkTable",
        forms=("spark:TABLE",),
        before=(
            "spark: Spark cannot be started, or has no such table, or it is none that may be read; no row was read\n"
            "check Java, the session and the table's name, and `dpqr guide scale`: what may be read"
        ),
        after="spark: Spark ended before the table was counted; what it said may quote rows and is not shown",
        settled=_settled_lake,
    ),
}
"""By scheme, in the order in which messages name them."""
