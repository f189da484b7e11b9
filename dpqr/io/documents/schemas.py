"""The JSON Schemas of the domain file and the queries file, made from their forms."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import json

from dpqr.io.documents.domains.forms import DOMAIN_VERSION, Sizes, TableSchema
from dpqr.io.documents.entries.forms import KINDS, QUERIES_VERSION, QueriesForm

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(document: Literal["domain", "queries"]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one document; its `$id` carries the version."""
    body = _domain() if document == "domain" else _queries()
    version = DOMAIN_VERSION if document == "domain" else QUERIES_VERSION
    return {"$schema": DIALECT, "$id": f"urn:dpqr:{version.replace('/', ':')}", "title": f"dpqr {version}", **body}


def _domain() -> dict[str, Any]:
    (fields, sizes), parts = json.schema_components([TableSchema, Sizes], ref_template="#/$defs/{name}")
    return {"anyOf": [fields, sizes], "$defs": parts}


def _queries() -> dict[str, Any]:
    (top, *entries), parts = json.schema_components([QueriesForm, *KINDS.values()], ref_template="#/$defs/{name}")
    domain = _domain()
    form = parts["QueriesForm"]["properties"]
    form["queries"]["items"] = {"oneOf": entries}
    form["domain"] = {"anyOf": [*domain["anyOf"], {"type": "string", "minLength": 1}]}
    return {**top, "$defs": {**domain["$defs"], **parts}}
