"""Reports of a release: one HTML page, a record for the registry of deployments, and a dataset card.

The record follows the schema of the Differential Privacy Deployments Registry of 2026-07-15.

References:
    opendp/deployments-registry-data, schemas/deployments-schema.yaml, commit 3e9c812 of 2026-07-15.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import yaml
from msgspec import Struct, field

from dpqr.kernel.budget import upward, upward_text
from dpqr.kernel.errors import GoalMissed, UsageFault
from dpqr.ledger.budgets import configured_ledger
from dpqr.ledger.codec import JSON
from dpqr.published.checks import require_learned_domain
from dpqr.releases.answers.answered import answered_block
from dpqr.releases.documents import write_new
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.formats import FORMATS
from dpqr.releases.files.read_release import ReleaseFiles, all_answers, read_figures, read_release, release_around
from dpqr.releases.files.release_files import figures_table
from dpqr.releases.files.tidy import FIGURES
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.receipt import plan_facts
from dpqr.releases.record.parts import periods_read, whole_price
from dpqr.releases.record.plan_document import plan_document, seal_document
from dpqr.releases.result import FinishedRun
from dpqr.report.page.parts import (
    ChargeRow,
    ReportInput,
    Spending,
    but_for_learned,
    file_hashes,
    first_rows,
    html,
    protected_unit,
    require_extra,
    table_columns,
)
from dpqr.report.page.release_page import asked_in_all, plan_page, release_page
from dpqr.strategies.plan import Plan

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
ROWS_PUBLIC = "replace"


class CuratorFacts(Struct, frozen=True, kw_only=True):
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


def registry_record(record: dict[str, Any], stated: CuratorFacts) -> dict[str, Any]:
    """Plain values that validate against the schema.

    Args:
        record: release.json. Its publisher, purpose, asker and date stand for what is not stated.
    """
    # What neither a person nor the record has stated is missing.
    known = {"curator": record.get("publisher"), "use": record.get("purpose"), "author": record.get("by")}
    known["date"] = str(record.get("date") or "")[:10]
    filled = CuratorFacts(
        **{name: getattr(stated, name) or known.get(name) or None for name in CuratorFacts.__struct_fields__}
    )
    missing = [f"--{name}" for name in CuratorFacts.__struct_fields__ if getattr(filled, name) is None]
    if missing:
        raise UsageFault(f"--registry: needs {', '.join(missing)}; give the options, or state them in dpqr.toml")
    if filled.sector not in SECTORS:
        raise UsageFault(f"--sector {filled.sector}: the registry knows {', '.join(SECTORS)}; give one of these")
    try:
        date.fromisoformat(str(filled.date))
    except ValueError:
        raise UsageFault(f"--date {filled.date}: is no date; give YYYY-MM-DD") from None
    # Quantities that neighbouring tables share are not protected.
    unprotected = ["the number of units is public"] if record["plan"]["unit"]["neighbours"] == ROWS_PUBLIC else []
    for total in (record["plan"]["domain"]["facts"] or {}).get("totals") or ():
        unprotected.append(f"a total known in public: {total['where']}: {total['count']}")
    columns = ", ".join(str(column["name"]) for column in record["plan"]["domain"]["columns"])
    unit, budget, spent = record["plan"]["unit"], whole_price(record["plan"]) or {}, record["spent"]
    who = protected_unit(record["plan"])
    epsilon, delta = (Fraction(budget[name]["exact"]) for name in ("epsilon", "delta"))
    rows = f"{who.named}, at most {who.rows} rows each" if who.columns else "row"
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", f"{filled.title} {str(filled.date)[:4]}".lower()).strip("-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": filled.title,
                "data_curators": [filled.curator],
                "intended_use": filled.use,
                "data_product_type": "Summary statistics",
                "data_product_region": filled.region,
                "description": filled.about,
                "publication_date": filled.date,
                "data_product_sector": filled.sector,
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if delta else "Pure DP",
                "data_domain": f"Tables with the columns {columns}; {record['plan']['domain']['cells']} cells, public.",
                "unprotected_quantities": "; ".join(unprotected) or "None; the number of rows is protected, too.",
            },
            "privacy_loss": {
                "privacy_unit": rows,
                "privacy_unit_details": f"Adjacent tables differ by {unit['words']}.",
                "privacy_parameters": {"epsilon": upward(epsilon)} | ({"delta": upward(delta)} if delta else {}),
                "privacy_parameters_details": f"Exact: epsilon {upward_text(epsilon)}, delta {upward_text(delta)}.",
            },
            "deployment_model": _model(record),
            "accounting": {
                "post_processing": f"A model ({record['hypothesis']['kind']}) is fitted to the noisy answers and to "
                "public facts; all else that is published follows from it and costs nothing.",
                "composition": f"Charged by the accountant {spent['charged']} ({spent['why']}), over every draw of "
                "the run.",
            },
            "implementation": _implementation(record),
            "administrative": {
                "notes": "A draft by dpqr from the release's own record, for the registry author to review.",
                "registry_authors": [filled.author],
            },
        },
    }


def _model(record: dict[str, Any]) -> dict[str, object]:
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
        "access_type_details": f"Published as files: {', '.join(map(str, record['files']))}.",
    }


def _implementation(record: dict[str, Any]) -> dict[str, Any]:
    plan = record["plan"]
    kinds = sorted({str(event.get("event", event)["kind"]) for event in record["events"]})
    return {
        "preprocessing_and_hyperparameter_tuning": "Columns, bins, labels and rules stand in public documents that "
        "were fixed before the table was opened; dpqr reads no value of the table to choose them, and tunes "
        f"nothing on it.{but_for_learned(plan)}",
        "mechanisms": f"{', '.join(kinds)}; schedule {plan['schedule']['name']}, update rule {plan['update']['name']}; "
        f"by dpqr {record['version']}. Noise is discrete and drawn exactly from integers and rationals with the "
        "operating "
        "system's randomness, so floating-point rounding cannot weaken it. Runs are not interactive; time and memory "
        "are not hidden from whoever watches the machine.",
        "justification": "The plan (phases, prices, expected error) was made from public documents before the table "
        "was opened; of the strategies and accountants allowed, the one with the least expected noise was taken.",
    }


# A dataset card of a release: Croissant 1.0, JSON-LD of schema.org with files, columns and responsible-AI fields.
#
# Croissant has no word for differential privacy: epsilon, delta and unit stand under a prefix of dpqr's own.
#
# References:
#     MLCommons, Croissant Format Specification 1.0, and its RAI vocabulary 1.0.

CONFORMS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
MEDIA_TYPES: dict[str, str] = {**{name: form.media_type for name, form in FORMATS.items()}, "npz": "application/zip"}
_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
_CONTEXT: dict[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "dpqr": "urn:dpqr:",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


def croissant_card(
    record: dict[str, Any],
    stated: CuratorFacts,
    hashes: Mapping[str, str],
    columns: Mapping[str, Sequence[str]],
    unverified: str = "",
) -> dict[str, object]:
    """The card as plain values. What nobody has stated is left out, but for name and description.

    hashes: SHA-256 of every file of the release, by name. columns: of each file that is a table, by its name.
    unverified: why they may have been changed; empty: they fit the record.
    """
    published = stated.date or str(record.get("date") or "")[:10]
    curator = stated.curator or record.get("publisher")
    budget, use = whole_price(record["plan"]) or {}, stated.use or record.get("purpose")
    # What is wrong comes first, as on the page.
    periods = periods_read(record["plan"])
    limits = (record.get("warning"), periods and f"Rows of {periods} only", record["certainty"])
    # Tables of answers, and of synthetic rows. JSON is left to its reader: its rows are no table of columns.
    record_sets = []
    for file, names in columns.items():
        name = file.partition(".")[0]
        fields = [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "dataType": "sc:Float" if column in FIGURES else "sc:Text",
                "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
            }
            for column in names
        ]
        record_sets.append({"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields})
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS),
        "name": stated.title or "dpqr release",
        "description": stated.about or f"Answers to {asked_in_all(record['plan'])[0]} queries. {record['guarantee']}",
        "version": "1.0.0",
        **({"datePublished": published} if published else {}),
        **({"creator": {"@type": "sc:Organization", "name": curator}} if curator else {}),
        **({"spatialCoverage": stated.region} if stated.region else {}),
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream"),
                "sha256": digest,
            }
            for name, digest in hashes.items()
        ],
        "recordSet": record_sets,
        "rai:personalSensitiveInformation": f"Counts about people, made differentially private. {record['guarantee']}",
        "rai:dataManipulationProtocol": f"Noisy measurements and a model fitted to them; {RECORD} holds all of it.",
        "rai:dataLimitations": " ".join(f"{str(words).removesuffix('.')}." for words in limits if words),
        **({"rai:dataUseCases": use} if use else {}),
        "dpqr:epsilon": budget["epsilon"]["exact"],
        "dpqr:delta": budget["delta"]["exact"],
        "dpqr:unit": record["unit"],
        "dpqr:neighbours": record["plan"]["unit"]["neighbours"],
        **({"dpqr:notVerified": unverified} if unverified else {}),
    }


# Report: a release as one HTML page, as a record for the registry of deployments, and as a dataset card.

PREVIEW = 8
"""Synthetic rows that a page shows."""


class ReportRequest(Struct, frozen=True, kw_only=True):
    """What is to be written of a release, each to a new file; None: not that.

    release: its directory. ledger, anchor: show the budget from there; None: no ledger is opened. stated: what only a
    person knows, for registry and card.
    """

    release: str
    html: str | None = None
    registry: str | None = None
    croissant: str | None = None
    ledger: str | None = None
    anchor: str | None = None
    stated: CuratorFacts = field(default_factory=CuratorFacts)


def report(request: ReportRequest) -> tuple[str, ...]:
    """Write the files; their names. Everything is read and made before the first is written.

    Raises:
        UsageFault: there is no release, nothing is asked for, or a human field of the registry is missing.
        DocumentError: the release is damaged.
        AlreadyThere: a file exists.

    Privacy:
        Public files only, and of a ledger the entries of the dataset that paid. No table is opened.
    """
    if not (request.html or request.registry or request.croissant):
        raise UsageFault("report: say what to write: --html FILE, --registry FILE or --croissant FILE")
    if request.anchor is not None and request.ledger is None:
        raise UsageFault("--anchor is about a ledger; add --ledger FILE, or leave it out")
    if request.html:
        require_extra()
    # The release that this is, or that holds this file.
    around = release_around(request.release)
    if around is None:
        raise UsageFault(f"{request.release}: is no release; give the directory that dpqr release has made")
    files = read_release(request.release if os.path.isdir(request.release) else around)
    texts = []
    if request.html:
        texts.append(("html", request.html, release_html(reported_files(files, request.ledger, request.anchor))))
    if request.registry:
        doubt = f"# Not verified: {' '.join(files.unverified.split())}\n" if files.unverified else ""
        deployment = registry_record(files.record, request.stated)
        draft = yaml.safe_dump(deployment, sort_keys=False, allow_unicode=True, width=110)
        texts.append(("registry", request.registry, f"{doubt}{draft}"))
    if request.croissant:
        known = file_hashes(files), table_columns(files), files.unverified
        card = json.dumps(croissant_card(files.record, request.stated, *known), indent=2, ensure_ascii=False)
        texts.append(("croissant", request.croissant, f"{card}\n"))
    for form, path, text in texts:
        write_new(path, text, option=f"--{form}")
    return tuple(path for _, path, _ in texts)


def release_html(found: ReportInput) -> str:
    """A release as a page. UsageFault where the extra is not installed."""
    return html(release_page(found))


def plan_html(plan: Plan, taken: Resources, parts: Mapping[str, Any] | None = None) -> str:
    """A plan as a page. UsageFault where the extra is not installed.

    Args:
        taken: its forecast of time and memory.
        parts: what else stands in the document, as for `save_plan`: the page shows the hash of both together.
    """
    return html(plan_page(seal_document(plan_document(plan) | dict(parts or {})), plan_facts(plan, taken)))


def reported_files(files: ReleaseFiles, ledger: str | None = None, anchor: str | None = None) -> ReportInput:
    """A release on disk. DocumentError where it is damaged."""
    return ReportInput(
        record=files.record,
        blocks=tuple(all_answers(files)),
        place=str(files.path),
        spending=read_spending(files.record, str(files.path), ledger, anchor) if ledger else None,
        preview=first_rows(files, PREVIEW),
        hashes=file_hashes(files),
        figures=read_figures(files),
        unverified=files.unverified,
    )


def reported_release(release: FinishedRun, record: dict[str, object]) -> ReportInput:
    """A release in memory. record: what its release.json would say."""
    domain = release.plan.problem.domain
    blocks = tuple(answered_block(each, domain) for each in release.answers)
    figures = figures_table(release).records() if release.figures else ()
    return ReportInput(record=record, blocks=blocks, place="RELEASE", figures=figures)


def read_spending(published: JSON, place: str, ledger: str, anchor: str | None = None) -> Spending | None:
    """What the budget has paid for that paid for a release; None where none did.

    published: the record of the release. place: where it lies.

    Raises: UsageFault where another budget paid; GoalMissed where the record states less than was paid for its domain.
    """
    paid = published.get("ledger")
    if not isinstance(paid, dict):
        return None
    record = configured_ledger(ledger, anchor).walk()
    if not any(entry.number == paid["entry"] and entry.hash == paid["seal"] for entry in record.entries):
        raise UsageFault(f"--ledger {ledger}: did not pay for {place}; name the ledger that did")
    try:
        require_learned_domain(record, published["plan"])
    except GoalMissed as fault:
        raise GoalMissed(f"{place}: {fault}\nits whole price is not known; `dpqr verify` checks all of it") from None
    account = record.state.account(paid["dataset"])
    # What the release states as its whole price: its own entry, and those that paid for its learned domain.
    learned = (published["plan"].get("domain", {}).get("learned") or {}).get("ledger") or ()
    own = {paid["entry"], *(one["entry"] for one in learned if one["dataset"] == paid["dataset"])}
    # What each reservation of the dataset has cost in the end.
    settled = {entry.settles: entry.cost for entry in record.entries if entry.settles is not None}
    charges = tuple(
        ChargeRow(
            number=entry.number,
            date=entry.time[:10],
            cost=settled.get(entry.number, entry.cost),
            own=entry.number in own,
        )
        for entry in record.entries
        if entry.kind == "reserve" and entry.dataset == account.terms.dataset
    )
    return Spending(account=account, charges=charges)
