"""Refusals of engines: constant sentences, whatever the engine said of itself.

**Privacy** What an engine says of an error may quote rows, and which error it is may depend on them. So before payment
there is one sentence for each engine, whatever it refuses and why; after payment another one. Neither names the error's
class. `dpqr.io.tables.structure` and `dpqr.io.tables.load` say them in the place of what an engine raises.
"""

from __future__ import annotations

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
