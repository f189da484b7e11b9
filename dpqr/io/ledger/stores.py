"""The store that an option or the environment names: a file, or the address of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dpqr.errors import UsageFault
from dpqr.io.ledger.addresses import Address, is_address, read_address
from dpqr.io.ledger.location import LEDGER, ledger_path
from dpqr.io.ledger.session import Store
from dpqr.io.ledger.sqlite_store import SqliteStore


def ledger_store(given: str | None, environment: Mapping[str, str] = os.environ) -> Store:
    """The store that was given, else the one in DPQR_LEDGER, else the user's own file. Nothing is opened or made."""
    named, origin = (given, "--ledger") if given is not None else (environment.get(LEDGER), LEDGER)
    if named is not None and is_address(named):
        return _postgres(read_address(named, origin))
    return SqliteStore(ledger_path(given, environment))


def _postgres(address: Address) -> Store:
    try:
        from dpqr.io.ledger.postgres_store import PostgresStore
    except ImportError:  # psycopg is missing, or finds no libpq
        raise UsageFault(
            f"--ledger {address.text}: needs the package psycopg; install it by: pip install 'dpqr[postgres]'"
        ) from None
    return PostgresStore(address)
