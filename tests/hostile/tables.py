"""What somebody may send who means harm: one table a category, beside the plain mistakes of `tests/cli`."""

from __future__ import annotations

from cli.test_messages import PARTS
from hostile.csv_cases import CSV
from hostile.json_cases import JSON
from hostile.ledger_cases import LEDGER
from hostile.option_cases import OPTIONS
from hostile.parquet_cases import PARQUET
from hostile.path_cases import PATHS

NEW = {"options": OPTIONS, "json": JSON, "csv": CSV, "parquet": PARQUET, "paths": PATHS, "ledger": LEDGER}


def mistakes():
    """How many commands with plain mistakes in options, documents and tables are typed, each of them refused."""
    topics = ("options", "documents", "tables")
    return sum(line.startswith("$") for part in PARTS for line in part.lines if part.topic in topics)
