"""A DuckDB file of public tables, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from dpqr.errors import UsageFault
from dpqr.io.outputs.atomic import SingleFile

FACTS = "facts"
"""The table by which a file is known: rows of `fact` and `value`."""
SEAL = "sha256"
"""The fact that names the record which was exported."""


def write_duckdb(place: SingleFile, tables: Mapping[str, Any]) -> None:
    """Write Arrow tables by their names. Raises: UsageFault where the file cannot be written, or duckdb is lacking."""
    duckdb = _duckdb()

    def fill(path: Path) -> None:
        journal = path.with_name(f"{path.name}.wal")
        try:
            with closing(duckdb.connect(str(path))) as connection:
                for name, table in tables.items():
                    connection.register("exported", table)
                    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM exported')
                    connection.unregister("exported")
        except duckdb.Error as error:
            raise UsageFault(f"{place.given}: DuckDB cannot write it ({type(error).__name__})") from None
        finally:
            journal.unlink(missing_ok=True)

    place.write(fill)


def exported_seal(path: Path) -> str | None:
    """The SHA-256 of the record that a file was exported from; None where it is no such file."""
    duckdb = _duckdb()
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            found = connection.execute(f"SELECT value FROM {FACTS} WHERE fact = '{SEAL}'").fetchone()
    except duckdb.Error:
        return None
    return str(found[0]) if found else None


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageFault("--duckdb: the package duckdb writes it; install it by: pip install 'dpqr[duckdb]'") from None
    return duckdb
