"""The engines that can be named on the command line, each loaded when it is named."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

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


ENGINES = {
    "duckdb": "dpqr.tables.engines.duckdb:DuckTable",
    "postgresql": "dpqr.tables.engines.postgres:PostgresTable",
    "spark": "dpqr.tables.engines.spark:SparkTable",
}
"""By scheme: what makes the engine of an address; nothing is opened then."""
ALIASES = {"postgres": "postgresql"}
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
    scheme = ALIASES.get(stated.lower(), stated.lower())
    if not colon or scheme not in ENGINES:
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
        others = "; PGHOST, PGSSLMODE and such hold other options" if scheme == "postgresql" else ""
        raise UsageFault(f"{scheme}: takes ?table=NAME behind the place, and nothing else{others}")
    place, table = found[2], found[3]
    if table is not None and not table.strip():
        raise UsageFault(f"{scheme}: ?table= is empty; name a table, for example {scheme}:PLACE?table=people")
    if scheme == "postgresql":
        # UsageFault unless a server is named as libpq names it: //USER@HOST:PORT/DATABASE, or nothing.
        if place and not place.startswith("//"):
            raise UsageFault("postgresql: write the server as postgresql://USER@HOST/DATABASE?table=NAME")
        try:
            parts = urlsplit(f"postgresql:{place}")
        except ValueError:
            raise _password("postgresql") from None
        require_no_password(parts.netloc, parts.path, [], "postgresql")
    return EngineAddress(scheme=scheme, place=place, table=table)


def _password(scheme: str) -> UsageFault:
    place = WHERE_PASSWORDS_GO if scheme == "postgresql" else "the environment or the engine's own files"
    return UsageFault(
        f"{scheme}: the address holds a password, or signs that are not escaped; addresses are shown and recorded\n"
        f"leave the password out and put it into {place}"
    )


def named_files(paths: tuple[str, ...]) -> str | None:
    """The place of the only path's address, where that names files: Parquet files, or the file of a database."""
    address = address_in(paths[0]) if len(paths) == 1 else None
    if address is None or not (address.table is None or address.scheme == "duckdb"):
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
    module, _, name = ENGINES[address.scheme].partition(":")
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
        raise UsageFault(
            "--source: is no address of an engine; files need none, for they are named by path\n"
            "give duckdb:FILE?table=NAME, duckdb:FILES.parquet, postgresql://HOST/DATABASE?table=NAME or spark:TABLE"
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
    place = _settled_place(address)
    if len(text) > LONGEST:
        raise UsageFault(f"--source: an address has at most {LONGEST:,} characters")
    settled = EngineAddress(scheme=address.scheme, place=place, table=address.table, query=query, registered=True)
    engine_of(settled)  # refuses what names no table
    return Source(address=settled.text, query=query or "")


def _settled_place(address: EngineAddress) -> str:
    """The place by which runs are compared: nothing of a run's environment completes it."""
    place = address.place
    if address.scheme == "postgresql":
        parts = urlsplit(f"postgresql:{place}")
        if not parts.netloc.rpartition("@")[2] or not parts.path.strip("/"):
            raise UsageFault(
                "--source: name the server and its database, or the environment of each run would choose them: "
                "postgresql://HOST/DATABASE?table=NAME"
            )
    elif address.scheme == "duckdb":
        if not place:
            raise UsageFault("--source: name the file that holds the table: duckdb:FILE?table=NAME")
        return place if "://" in place else _absolute(place)
    elif place.lower().endswith((*_PARQUET, "/")) and not place.startswith("/") and ":" not in place:
        raise UsageFault("--source: give Spark's files by an absolute path, or with a scheme: spark:/DATA/*.parquet")
    return place


def _absolute(place: str) -> str:
    return os.path.abspath(place) + ("/" if place.endswith("/") else "")


def registered_address(source: Source) -> EngineAddress:
    """The address of what the owner of a budget has registered."""
    scheme, _, rest = source.address.partition(":")
    place, asked, table = rest.partition("?table=")
    return EngineAddress(
        scheme=scheme, place=place, table=table if asked else None, query=source.query or None, registered=True
    )


def is_source(text: str, source: Source) -> bool:
    """Whether an address that a request repeats is the registered one. UsageFault where it is no address at all."""
    address = address_in(text)
    if address is None:
        return False
    place = address.place
    if address.scheme == "duckdb" and place and "://" not in place:
        place = _absolute(place)
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
    return BEFORE.get(_own_scheme(engine), OTHER_BEFORE)


def refused_after(engine: object) -> str:
    """What is said where an engine ends once the run was paid."""
    return AFTER.get(_own_scheme(engine), OTHER_AFTER)


def _own_scheme(engine: object) -> str:
    """The scheme of an engine of this package; empty for those of others."""
    kind = f"{type(engine).__module__}:{type(engine).__qualname__}"
    return next((scheme for scheme, made in ENGINES.items() if made == kind), "")


# Refusals of engines: constant sentences, whatever the engine said of itself.
#
# **Privacy** What an engine says of an error may quote rows, and which error it is may depend on them. So before
# payment there is one sentence for each engine, whatever it refuses and why; after payment another one. Neither
# names the error's class. `dpqr.tables.structure` and `dpqr.tables.load` say them in the place of what an engine
# raises.

BEFORE = {
    "duckdb": (
        "duckdb: DuckDB cannot open the table, or it is none that may be read; no row was read\n"
        "check the path and the table's name, that nobody writes to the file, and `dpqr guide tables`: what may be read"
    ),
    "postgresql": (
        "postgresql: PostgreSQL cannot be reached, or the table is none that this role may read; no row was read\n"
        "check the server, the login, the table's name and its grants, and `dpqr guide scale`: what may be read"
    ),
    "spark": (
        "spark: Spark cannot be started, or has no such table, or it is none that may be read; no row was read\n"
        "check Java, the session and the table's name, and `dpqr guide scale`: what may be read"
    ),
}
"""By scheme: what is said where an engine refuses before anything is paid."""
AFTER = {
    "duckdb": "duckdb: DuckDB ended before the table was counted; what it said may quote rows and is not shown",
    "postgresql": (
        "postgresql: PostgreSQL ended before the table was counted; what it said may quote rows and is not shown"
    ),
    "spark": "spark: Spark ended before the table was counted; what it said may quote rows and is not shown",
}
"""By scheme: what is said where an engine ends once the run was paid."""
OTHER_BEFORE = (
    "the table's engine does not say which columns it has; what it said may quote rows and is not shown\n"
    "check it with dpqr.testing.check_engine"
)
"""The same of an engine of a third party, and of a table in memory."""
OTHER_AFTER = "the table's engine ended before the table was counted; what it said may quote rows and is not shown"
