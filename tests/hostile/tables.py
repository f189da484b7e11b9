"""What somebody may send who means harm: one table a category, beside the plain mistakes of `tests/cli`."""

from __future__ import annotations

from cli import test_bad_data, test_bad_documents, test_bad_options
from hostile.csv_cases import CSV
from hostile.json_cases import JSON
from hostile.ledger_cases import LEDGER
from hostile.option_cases import OPTIONS
from hostile.parquet_cases import PARQUET
from hostile.path_cases import PATHS

NEW = {"options": OPTIONS, "json": JSON, "csv": CSV, "parquet": PARQUET, "paths": PATHS, "ledger": LEDGER}


def every():
    """All cases by category, those of the plain mistakes among them."""
    options, documents, data = test_bad_options, test_bad_documents, test_bad_data
    known = {
        "options": options.CASES,
        "json": [*documents.JSON, *documents.FORM, *documents.QUESTIONS, *documents.DOMAINS],
        "csv": [*data.CSV, *data.RULES, *data.COUNTS, *data.LIMITS],
        "parquet": data.PARQUET,
        "paths": [*data.FILES, *documents.PATHS],
    }
    return {category: [*cases, *known.get(category, [])] for category, cases in NEW.items()}
