"""Ledgers in PostgreSQL as older versions of dpqr have made them, with the rights that they gave to jobs."""

from dpqr.ledger.budgets import ledger_store
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.postgres import MIGRATIONS
from support.ledger_jobs import another, opened, read

GRANTS = (
    "GRANT USAGE ON SCHEMA {0} TO {1}",
    "GRANT SELECT, INSERT ON {0}.entries TO {1}",
    "GRANT SELECT, INSERT, DELETE ON {0}.state, {0}.keys TO {1}",
    "GRANT SELECT, UPDATE (lock) ON {0}.ledger TO {1}",
)
"""What `dpqr budget grant` gave up to version 0.10."""
COPIED = {"entries": "number, entry, seal", "state": "number, text", "keys": "reservation, key"}


def made_by(version, server, ledger, *roles):
    """The content of a ledger in tables of an older version, to which these roles have rights."""
    server.execute("ALTER ROLE owner RESET search_path")  # as it was when those were made
    schema = f"old{version}_{ledger.store.address.schema}"
    old = ChainedLedger(store=ledger_store(server.address(schema)), unanchored=not ledger.anchor, anchor=ledger.anchor)
    server.execute(f"CREATE SCHEMA {schema}")
    for statement in [each for part in MIGRATIONS[:version] for each in part]:
        server.execute(statement.replace("{0}", schema))
    server.execute(f"UPDATE {schema}.ledger SET version = {version}")
    for table, names in COPIED.items():
        found = read(ledger.store, f"SELECT {names} FROM {table}")
        with opened(old.store) as execute:
            for row in found:
                execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", row)
    for role in roles:
        for statement in GRANTS:
            server.execute(statement.replace("{0}", schema).replace("{1}", role))
    return another(old, anchored=ledger.anchor is not None)
