"""dpqr.toml: defaults of options for one directory or repository, so that a job's line is short.

A setting counts as if its option had been typed: whatever refuses the option refuses the setting, a budget's policy
included.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from dpqr.kernel.errors import AlreadyThere, UsageFault
from dpqr.kernel.values import replace
from dpqr.ledger.refusals import require_name
from dpqr.python.settings import FILE
from dpqr.releases.documents import DomainRequest, domain_file, write_new

DOMAIN, QUERIES = "domain.json", "queries.json"
EXAMPLE = ("age=integer", "sex=string", "interview_date=date")
"""Columns of a domain file that is made for no table."""
_SETTINGS = """\
# Defaults of dpqr's commands in this directory; an option on the command line comes first (dpqr guide settings).
domain = "{domain}"
queries = "{queries}"

# Whose budget pays for every release, and where its ledger lies (dpqr guide ledger):
{dataset}
# ledger = "budgets.sqlite"

# Protect persons, not rows: which column says whose row it is, and how many rows of each are used.
# unit = "person_id"
# max-rows = 3

# Delta of every release; without it, privacy is pure.
# delta = 1e-9
"""


class NewProject(Struct, frozen=True, kw_only=True):
    """The paths of the files of a new project, and what there is to say of its domain."""

    paths: tuple[str, ...]
    remarks: tuple[str, ...]


def start(directory: str, request: DomainRequest, dataset: str | None) -> NewProject:
    """Write dpqr.toml, domain.json and queries.json into `directory`.

    Args:
        directory: is made where it is missing; its parent is not.
        request: what the domain file is made from; where it names no columns, those of an example.
        dataset: its name in the ledger; None: left to fill in.

    Raises:
        AlreadyThere: one of the files exists; none is written then.
        DpqrError: as `domain_file` raises it.

    Privacy:
        Of the table its column names and types are read, never a value.
    """
    stated = f'dataset = "{require_name(dataset)}"' if dataset is not None else '# dataset = "survey"'
    named = request.data is not None or request.codebooks or request.types
    made = domain_file(request if named else replace(request, types=EXAMPLE))
    # Queries to begin with: the number of records, every column by itself, and every pair of columns.
    pairs = [{"marginals": {"ways": 2}}] if len(made.document["fields"]) > 1 else []
    queries = {
        "dpqr": "queries/1",
        "queries": [{"name": "records", "marginal": []}, {"marginals": {"ways": 1}}, *pairs],
    }
    texts = {
        FILE: _SETTINGS.format(domain=DOMAIN, queries=QUERIES, dataset=stated),
        DOMAIN: made.text,
        QUERIES: json.dumps(queries, indent=2, ensure_ascii=False) + "\n",
    }
    return NewProject(paths=write_files(directory, texts), remarks=made.remarks)


def write_files(directory: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Write new files into a directory, which is made where it is missing; their paths.

    Raises:
        AlreadyThere: one of them exists; none is written then. UsageFault.
    """
    paths = {os.path.normpath(os.path.join(directory, name)): text for name, text in texts.items()}
    there = next(filter(os.path.lexists, paths), None)
    if there is not None:
        raise AlreadyThere(f"{there}: the file exists; choose another directory, or move it away")
    try:
        Path(directory).mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no name"
        raise UsageFault(f"{directory}: cannot be made ({reason}); choose a writable place") from None
    for path, text in paths.items():
        write_new(path, text)
    return tuple(paths)
