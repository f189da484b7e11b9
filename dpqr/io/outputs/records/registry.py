"""A record for the Differential Privacy Deployments Registry, by its schema of 2026-07-15.

References:
    opendp/deployments-registry-data, schemas/deployments-schema.yaml, commit 3e9c812 of 2026-07-15.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date
from fractions import Fraction
from typing import Any

import yaml

from dpqr.errors import UsageFault
from dpqr.privacy.budget import upward, upward_text

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
ROWS_PUBLIC = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What only a person knows of a release, as the registry and a dataset card ask for it; None: not stated.

    title: of the data product. curator: who publishes it. use: what it is meant for. region: which it describes. about:
    a short description. sector: one of SECTORS. author: who fills in the record. date: of publication, YYYY-MM-DD;
    None: the release's own.
    """

    title: str | None = None
    curator: str | None = None
    use: str | None = None
    region: str | None = None
    about: str | None = None
    sector: str | None = None
    author: str | None = None
    date: str | None = None


def registry_text(record: dict[str, Any], stated: Stated) -> str:
    """The record as YAML, a draft for the registry's reviewers. UsageFault where a human field is missing."""
    return str(yaml.safe_dump(registry_record(record, stated), sort_keys=False, allow_unicode=True, width=110))


def registry_record(record: dict[str, Any], stated: Stated) -> dict[str, Any]:
    """Plain values that validate against the schema.

    Args:
        record: release.json. Its publisher, purpose, asker and date stand for what is not stated.
    """
    filled = _filled(record, stated)
    return {
        "url_slug": _slug(f"{filled.title} {str(filled.date)[:4]}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(filled),
            "dp_variant": _variant(record),
            "privacy_loss": _loss(record),
            "deployment_model": _model(record),
            "accounting": _accounting(record),
            "implementation": _implementation(record),
            "administrative": {
                "notes": "A draft by dpqr from the release's own record, for the registry author to review.",
                "registry_authors": [filled.author],
            },
        },
    }


def _filled(record: dict[str, Any], stated: Stated) -> Stated:
    """UsageFault that names every field which neither a person nor the record has stated."""
    known = {"curator": record.get("publisher"), "use": record.get("purpose"), "author": record.get("by")}
    known["date"] = str(record.get("date") or "")[:10]
    filled = Stated(
        **{each.name: getattr(stated, each.name) or known.get(each.name) or None for each in fields(Stated)}
    )
    missing = [f"--{each.name}" for each in fields(Stated) if getattr(filled, each.name) is None]
    if missing:
        raise UsageFault(f"--registry: needs {', '.join(missing)}; give the options, or state them in dpqr.toml")
    if filled.sector not in SECTORS:
        raise UsageFault(f"--sector {filled.sector}: the registry knows {', '.join(SECTORS)}; give one of these")
    try:
        date.fromisoformat(str(filled.date))
    except ValueError:
        raise UsageFault(f"--date {filled.date}: is no date; give YYYY-MM-DD") from None
    return filled


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _basic(filled: Stated) -> dict[str, Any]:
    return {
        "name": filled.title,
        "data_curators": [filled.curator],
        "intended_use": filled.use,
        "data_product_type": "Summary statistics",
        "data_product_region": filled.region,
        "description": filled.about,
        "publication_date": filled.date,
        "data_product_sector": filled.sector,
    }


def _pure(record: dict[str, Any]) -> bool:
    return Fraction(record["plan"]["budget"]["delta"]["exact"]) == 0


def _variant(record: dict[str, Any]) -> dict[str, Any]:
    columns = ", ".join(str(column["name"]) for column in record["plan"]["domain"]["columns"])
    return {
        "variant_name": "Pure DP" if _pure(record) else "Approximate DP",
        "data_domain": f"Tables with the columns {columns}; {record['plan']['domain']['cells']} cells, public.",
        "unprotected_quantities": "; ".join(_unprotected(record)) or "None; the number of rows is protected, too.",
    }


def _unprotected(record: dict[str, Any]) -> Iterator[str]:
    if record["plan"]["unit"]["neighbours"] == ROWS_PUBLIC:
        yield "the number of units is public"
    for total in (record["plan"]["domain"]["facts"] or {}).get("totals") or ():
        yield f"a total known in public: {total['where']}: {total['count']}"


def _loss(record: dict[str, Any]) -> dict[str, Any]:
    unit, budget = record["plan"]["unit"], record["plan"]["budget"]
    epsilon, delta = (Fraction(budget[name]["exact"]) for name in ("epsilon", "delta"))
    rows = f"person ({unit['column']}, at most {unit['max_rows']} rows)" if unit["column"] else "row"
    return {
        "privacy_unit": rows,
        "privacy_unit_details": f"Adjacent tables differ by {unit['words']}.",
        "privacy_parameters": {"epsilon": upward(epsilon)} | ({"delta": upward(delta)} if delta else {}),
        "privacy_parameters_details": f"Exact: epsilon {upward_text(epsilon)}, delta {upward_text(delta)}.",
    }


def _model(record: dict[str, Any]) -> dict[str, Any]:
    paid = record["ledger"]
    ledger = (
        f"A ledger pays for all releases of the table {paid['dataset']!r} from one budget for life (entry "
        f"{paid['entry']})."
        if isinstance(paid, dict)
        else "No ledger was used: other releases of the same table are not counted here."
    )
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the table and runs the mechanisms.",
        "actors": "The curator is trusted with the table. Readers of the release are not trusted, and may know "
        "anything else and work together.",
        "release_type": "One release",
        "release_type_details": ledger,
        "data_source_type": "Static",
        "access_type": "Non-interactive",
        "access_type_details": "Answers, record and synthetic rows are published as files.",
    }


def _accounting(record: dict[str, Any]) -> dict[str, Any]:
    spent = record["spent"]
    return {
        "post_processing": f"A model ({record['hypothesis']['kind']}) is fitted to the noisy answers and to public "
        "facts; estimates, their errors and synthetic rows follow from it and cost nothing.",
        "composition": f"Charged by the accountant {spent['charged']} ({spent['why']}), over every draw of the run.",
    }


def _implementation(record: dict[str, Any]) -> dict[str, Any]:
    plan = record["plan"]
    kinds = sorted({str(event.get("event", event)["kind"]) for event in record["events"]})
    return {
        "preprocessing_and_hyperparameter_tuning": "Columns, bins, labels and rules stand in public documents that "
        "were fixed before the table was opened; dpqr reads no value of the table to choose them, and tunes "
        "nothing on it.",
        "mechanisms": f"{', '.join(kinds)}; schedule {plan['schedule']['name']}, update rule {plan['update']['name']}; "
        f"by dpqr {record['version']}. Noise is discrete and drawn exactly from integers and rationals with the "
        "operating "
        "system's randomness, so floating-point rounding cannot weaken it. Runs are not interactive; time and memory "
        "are not hidden from whoever watches the machine.",
        "justification": "The plan (phases, prices, expected error) was made from public documents before the table "
        "was opened; of the strategies and accountants allowed, the one with the least expected noise was taken.",
    }
