"""The tables of a ledger in PostgreSQL, by versions, and what a role of jobs may do with them.

Jobs append: the database itself refuses them to change or remove an entry, and every kind of entry that opens a budget,
changes a policy, approves a plan or moves the ledger. Those need the role that owns the tables.
"""

from __future__ import annotations

MIGRATIONS = (
    (
        "CREATE TABLE {0}.ledger (lock boolean PRIMARY KEY DEFAULT true CHECK (lock), version integer NOT NULL)",
        "CREATE TABLE {0}.entries (number bigint PRIMARY KEY CHECK (number >= 0), entry text NOT NULL, "
        "seal text NOT NULL)",
        "CREATE TABLE {0}.state (number bigint PRIMARY KEY, text text NOT NULL)",
        "CREATE TABLE {0}.keys (reservation bigint PRIMARY KEY, key bytea NOT NULL)",
        "INSERT INTO {0}.ledger (version) VALUES (0)",
    ),
    (
        "ALTER TABLE {0}.entries ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY everybody_reads ON {0}.entries FOR SELECT USING (true)",
        "CREATE POLICY jobs_append ON {0}.entries FOR INSERT WITH CHECK (entry::json ->> 'entry' IN "
        "('reserve', 'draw', 'record', 'settle', 'checkpoint'))",
    ),
)
"""The statements that lead from one version to the next, for the quoted name of the schema."""
VERSION = len(MIGRATIONS)

GRANTS = (
    "GRANT USAGE ON SCHEMA {0} TO {1}",
    "GRANT SELECT, INSERT ON {0}.entries TO {1}",
    "GRANT SELECT, INSERT, DELETE ON {0}.state, {0}.keys TO {1}",
    "GRANT SELECT, UPDATE (lock) ON {0}.ledger TO {1}",
)
"""For the quoted names of a schema and a role. The one row of `ledger` is what transactions lock."""
