"""The engines that can be named on the command line, each loaded when it is named."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, cast

from dpqr.errors import UsageFault
from dpqr.io.engines.address import Address

if TYPE_CHECKING:
    from dpqr.io.engines.engine import Engine

ENGINES = {
    "duckdb": "dpqr.io.engines.duckdb_table:DuckTable",
    "postgres": "dpqr.io.engines.postgres_table:PostgresTable",
    "postgresql": "dpqr.io.engines.postgres_table:PostgresTable",
    "spark": "dpqr.io.engines.spark_table:SparkTable",
}
"""By scheme: what makes the engine of an address; nothing is opened then."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+]*):([^?]*)(?:\?(table|query)=(.*))?", re.DOTALL)


def address_in(text: str) -> Address | None:
    """None for what names files: no scheme of an engine stands before its first colon. Raises: UsageFault, which
    repeats nothing of the address: people write credentials into such parameters."""
    scheme = text.partition(":")[0].lower()
    if scheme not in ENGINES or ":" not in text:
        return None
    found = _ADDRESS.fullmatch(text)
    if found is None:
        others = "; PGHOST, PGSSLMODE and such hold other options" if scheme.startswith("postgres") else ""
        raise UsageFault(f"{scheme}: takes ?table=NAME or ?query=SELECT behind the place, and nothing else{others}")
    place, form, value = found.groups()[1:]
    if form is not None and not value.strip():
        raise UsageFault(f"{scheme}: ?{form}= is empty; name a {form}, for example {scheme}:PLACE?table=people")
    told = {} if form is None else {form: value}
    return Address(scheme=scheme, place=place, **told)


def named_files(paths: tuple[str, ...]) -> str | None:
    """The place of the only path's address, where that names a place without a table or a query: files."""
    address = address_in(paths[0]) if len(paths) == 1 else None
    plain = address is not None and address.table is None and address.query is None
    return address.place if address is not None and plain else None


def engine_at(paths: tuple[str, ...]) -> Engine | None:
    """The engine that a table's only path names; None for files. Nothing is opened.

    Raises: UsageFault for an address that is joined with other tables, and for what the engine does not take.
    """
    found = [address for address in map(address_in, paths) if address is not None]
    if not found:
        return None
    if len(paths) > 1:
        raise UsageFault(f"{found[0].scheme}: cannot be joined with other tables; give it alone, or join them there")
    module, _, name = ENGINES[found[0].scheme].partition(":")
    return cast("Engine", getattr(import_module(module), name)(found[0]))


def local_files(engine: Engine) -> tuple[str, ...] | None:
    """The local files that hold all that an engine reads, in a fixed order: what its method `files` returns.

    Their bytes show whether a killed release can be continued. None: it has no such method, or reads other things too.
    """
    files = getattr(engine, "files", None)
    return cast("tuple[str, ...] | None", files()) if callable(files) else None
