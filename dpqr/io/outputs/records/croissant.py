"""A dataset card of a release: Croissant 1.0, JSON-LD of schema.org with files, columns and responsible-AI fields.

Croissant has no word for differential privacy: epsilon, delta and unit stand under a prefix of dpqr's own.

References:
    MLCommons, Croissant Format Specification 1.0, and its RAI vocabulary 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpqr.io.outputs.records.record import RECORD
from dpqr.io.outputs.records.registry import Stated
from dpqr.io.outputs.releases.release_files import FIGURES

CONFORMS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
FORMATS = {"csv": "text/csv", "json": "application/json", "parquet": "application/x-parquet", "npz": "application/zip"}
_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
_CONTEXT: dict[str, Any] = {
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


def croissant_text(
    record: dict[str, Any],
    stated: Stated,
    hashes: Mapping[str, str],
    columns: Mapping[str, Sequence[str]],
    unverified: str = "",
) -> str:
    """The card as JSON.

    hashes: SHA-256 of every file of the release, by name. columns: of each file that is a table, by its name.
    unverified: why they may have been changed; empty: they fit the record.
    """
    doubt = {"dpqr:notVerified": unverified} if unverified else {}
    return json.dumps(croissant_card(record, stated, hashes, columns) | doubt, indent=2, ensure_ascii=False) + "\n"


def croissant_card(
    record: dict[str, Any], stated: Stated, hashes: Mapping[str, str], columns: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The same as plain values. What nobody has stated is left out, but for name and description."""
    published = stated.date or str(record.get("date") or "")[:10]
    curator = stated.curator or record.get("publisher")
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS),
        "name": stated.title or "dpqr release",
        "description": stated.about
        or f"Answers to {record['plan']['workload']['queries']} queries. {record['guarantee']}",
        "version": "1.0.0",
        **({"datePublished": published} if published else {}),
        **({"creator": {"@type": "sc:Organization", "name": curator}} if curator else {}),
        **({"spatialCoverage": stated.region} if stated.region else {}),
        "isLiveDataset": False,
        "distribution": [_file(name, digest) for name, digest in hashes.items()],
        "recordSet": list(_record_sets(columns)),
        **_responsible(record, stated),
    }


def _file(name: str, digest: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": FORMATS.get(name.rpartition(".")[2], "application/octet-stream"),
        "sha256": digest,
    }


def _record_sets(columns: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Of the answers, and of synthetic rows. JSON is left to its reader: its rows are no table of columns."""
    for file, names in columns.items():
        kinds = {name: "sc:Float" if name in FIGURES else "sc:Text" for name in names}
        yield _record_set(file.partition(".")[0], file, kinds)


def _record_set(name: str, file: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "dataType": kind,
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        for column, kind in kinds.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _responsible(record: dict[str, Any], stated: Stated) -> dict[str, Any]:
    budget, use = record["plan"]["budget"], stated.use or record.get("purpose")
    return {
        "rai:personalSensitiveInformation": f"Counts about people, made differentially private. {record['guarantee']}",
        "rai:dataManipulationProtocol": f"Noisy measurements and a model fitted to them; {RECORD} holds all of it.",
        "rai:dataLimitations": str(record["certainty"]),
        **({"rai:dataUseCases": use} if use else {}),
        "dpqr:epsilon": budget["epsilon"]["exact"],
        "dpqr:delta": budget["delta"]["exact"],
        "dpqr:unit": record["unit"],
        "dpqr:neighbours": record["plan"]["unit"]["neighbours"],
    }
