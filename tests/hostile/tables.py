"""What somebody may send who means harm: one table a category, beside the plain mistakes of `tests/cli`."""

from __future__ import annotations

from cli import test_bad_data as data
from cli.test_messages import PARTS
from hostile.csv_cases import CSV
from hostile.json_cases import JSON
from hostile.ledger_cases import LEDGER
from hostile.option_cases import OPTIONS
from hostile.parquet_cases import PARQUET
from hostile.path_cases import PATHS

NEW = {"options": OPTIONS, "json": JSON, "csv": CSV, "parquet": PARQUET, "paths": PATHS, "ledger": LEDGER}


def every():
    """All cases by category, those of the plain mistakes with tables among them."""
    known = {
        "csv": [*data.CSV, *data.RULES, *data.COUNTS, *data.LIMITS],
        "parquet": data.PARQUET,
        "paths": data.FILES,
    }
    return {category: [*cases, *known.get(category, [])] for category, cases in NEW.items()}


def mistakes():
    """How many commands with plain mistakes in options and documents are typed, each of them refused."""
    return sum(line.startswith("$") for part in PARTS for line in part.lines if part.topic in ("options", "documents"))
