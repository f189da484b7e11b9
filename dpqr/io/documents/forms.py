"""The forms of the domain file and the queries file, and the JSON Schemas made from them.

The domain file is a Frictionless Table Schema, with one `dpqr` block a field, and beside the fields the rule for
malformed rows and two lists of public facts: `impossible` and `totals`. Standard keys that do not change which value a
cell holds are accepted and have no effect: of the schema `$schema`, `name`, `title`, `description`, `primaryKey`,
`foreignKeys`, `uniqueKeys`, `fieldsMatch`; of a field `title`, `description`, `example`, `examples`, `rdfType`,
`format`; of constraints `required`, `unique`, `pattern`, `minLength`, `maxLength`. Keys that would change it
(`decimalChar`, `trueValues`, ...) are refused like any unknown key. `unit` says
whom the guarantee protects.

The queries file states a version, a domain, and entries of exactly one kind each.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

DOMAIN_VERSION = "domain/1"

FieldType = Literal["integer", "number", "string", "boolean", "date", "datetime"]
Bound = Annotated[Any, Meta(extra_json_schema={"type": ["number", "string"]})]
Number = Annotated[Any, Meta(extra_json_schema={"type": "number"})]
Label = Annotated[Any, Meta(extra_json_schema={"type": ["string", "integer", "boolean"]})]
Anything = Annotated[Any, Meta(description="accepted, without effect")]
Text = Annotated[str, Meta(description="accepted, without effect")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Kept = Literal["cell", "drop", "fail"]
Clipped = Literal["cell", "clip", "drop", "fail"]


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a document: unknown keys are refused, absent ones are UNSET."""


class Constraints(Form, frozen=True, kw_only=True):
    """Frictionless constraints of one field."""

    enum: tuple[Label, ...] | UnsetType = UNSET
    minimum: Bound | UnsetType = UNSET
    maximum: Bound | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    unique: bool | UnsetType = UNSET
    pattern: Text | UnsetType = UNSET
    min_length: int | UnsetType = UNSET
    max_length: int | UnsetType = UNSET


class Treatment(Form, frozen=True, kw_only=True):
    """The `dpqr` block: how the values are binned, and the rule for every kind of cell that does not fit.

    otherwise: the rule of the faults that have none of their own.
    """

    bins: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    width: Number | UnsetType = UNSET
    edges: tuple[Bound, ...] | UnsetType = UNSET
    every: Literal["day", "week", "month", "quarter", "year"] | UnsetType = UNSET
    closed: Literal["left", "right"] | UnsetType = UNSET
    null: Kept | UnsetType = UNSET
    unparsable: Kept | UnsetType = UNSET
    nan: Kept | UnsetType = UNSET
    infinite: Clipped | UnsetType = UNSET
    outside: Clipped | UnsetType = UNSET
    otherwise: Kept | UnsetType = UNSET


class Field(Form, frozen=True, kw_only=True):
    """One column."""

    name: Name
    type: FieldType
    constraints: Constraints = Constraints()
    missing_values: tuple[str, ...] | UnsetType = UNSET
    dpqr: Treatment = Treatment()
    title: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    format: str | UnsetType = UNSET
    example: Anything | UnsetType = UNSET
    examples: Anything | UnsetType = UNSET
    rdf_type: Text | UnsetType = UNSET


class ImpossibleForm(Form, frozen=True, kw_only=True):
    """No record of any table fulfils this predicate."""

    where: Annotated[str, Meta(min_length=1)]


class TotalForm(Form, frozen=True, kw_only=True):
    """The number of records that fulfil the predicate; of all records where there is none."""

    count: Annotated[int, Meta(ge=0, le=2**36)]
    where: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET


class UnitForm(Form, frozen=True, kw_only=True):
    """Persons are protected, not rows, and at most this many rows of each are used."""

    column: Name
    max_rows: Annotated[int, Meta(ge=1, le=2**36)] = msgspec.field(name="max_rows")


class TableSchema(Form, frozen=True, kw_only=True):
    """The document."""

    fields: Annotated[tuple[Field, ...], Meta(min_length=1, max_length=2000)]
    dpqr: Literal["domain/1"] | UnsetType = UNSET
    malformed: Literal["drop", "fail"] | UnsetType = UNSET
    unit: UnitForm | UnsetType = UNSET
    impossible: Annotated[tuple[ImpossibleForm, ...], Meta(max_length=1000)] = ()
    totals: Annotated[tuple[TotalForm, ...], Meta(max_length=1000)] = ()
    missing_values: tuple[str, ...] = ("",)
    schema: Text | UnsetType = msgspec.field(default=UNSET, name="$schema")
    name: Text | UnsetType = UNSET
    title: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    primary_key: Anything | UnsetType = UNSET
    foreign_keys: Anything | UnsetType = UNSET
    unique_keys: Anything | UnsetType = UNSET
    fields_match: Anything | UnsetType = UNSET


Size = Annotated[int, Meta(ge=1, le=2**20)]
Sizes = Annotated[dict[Name, Size], Meta(min_length=1, max_length=2000)]
"""The sizes form: integer codes 0 .. size-1 of a table that is already coded."""


QUERIES_VERSION = "queries/1"
MAX_BLOCKS = 100_000
MAX_WORK = 2**30
"""Cells that all comparisons of a document's predicates look at, each time anew."""

Columns = Annotated[tuple[str, ...], Meta(max_length=2000)]
Some = Annotated[tuple[str, ...], Meta(min_length=1, max_length=2000)]


class Entry(Form, frozen=True, kw_only=True):
    """What every entry may have. weight: how much selection cares for it (1 by default)."""

    name: Name | UnsetType = UNSET
    weight: Number | UnsetType = UNSET


class MarginalEntry(Entry, frozen=True, kw_only=True):
    """How many records there are for every combination of cells of these columns; of none: of all records."""

    marginal: Columns


class Ways(Form, frozen=True, kw_only=True):
    """All combinations of `ways` columns out of the listed ones (of all, where none are listed)."""

    ways: Annotated[int, Meta(ge=1, le=2000)]
    columns: Some | UnsetType = UNSET


class MarginalsEntry(Entry, frozen=True, kw_only=True):
    """Many marginals: listed, or all of some number of columns."""

    marginals: Ways | Annotated[tuple[Columns, ...], Meta(min_length=1)]


class WhereEntry(Entry, frozen=True, kw_only=True):
    """How many records fulfil a predicate, for every combination of cells of the `by` columns."""

    where: Annotated[str, Meta(min_length=1)]
    by: Columns = ()


class PrefixEntry(Entry, frozen=True, kw_only=True):
    """How many records lie at or below each bin of an ordered column."""

    prefix: str
    by: Columns = ()


class RangesEntry(Entry, frozen=True, kw_only=True):
    """How many records lie in each range of an ordered column, or in each rectangle of several.

    between: [low, high] each, or one such pair a column; random: that many, drawn from the public seed.
    """

    ranges: str | Some
    between: Annotated[tuple[Any, ...], Meta(min_length=1, max_length=1_000_000)] | UnsetType = UNSET
    random: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET
    by: Columns = ()


class RandomConjunctions(Form, frozen=True, kw_only=True):
    """That many conjunctions from the public seed, each of `ways` comparisons (from, to) on distinct columns.

    columns: where from; all of the domain, where none are listed.
    """

    random: Annotated[int, Meta(ge=1, le=4_000_000)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    ways: tuple[int, int] = (2, 4)
    columns: Some | UnsetType = UNSET


class ConjunctionsEntry(Entry, frozen=True, kw_only=True):
    """How many records fulfil each of very many conjunctions of comparisons."""

    conjunctions: RandomConjunctions


class SumEntry(Entry, frozen=True, kw_only=True):
    """The sum of an ordered column of numbers, each record counting with the midpoint of its bin."""

    sum: str
    by: Columns = ()


class CoefficientsEntry(Entry, frozen=True, kw_only=True):
    """Any linear queries: a file of coefficients in [0, 1] for the cells of some columns."""

    coefficients: Annotated[str, Meta(min_length=1)]
    columns: Some | UnsetType = UNSET


KINDS: dict[str, type[Entry]] = {
    "marginal": MarginalEntry,
    "marginals": MarginalsEntry,
    "where": WhereEntry,
    "prefix": PrefixEntry,
    "ranges": RangesEntry,
    "conjunctions": ConjunctionsEntry,
    "sum": SumEntry,
    "coefficients": CoefficientsEntry,
}


class QueriesForm(Form, frozen=True, kw_only=True):
    """The document. domain: the domain itself, or the name of its file, relative to this one."""

    queries: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1, max_length=MAX_BLOCKS)]
    dpqr: Literal["queries/1"] | UnsetType = UNSET
    domain: dict[str, Any] | Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    schema: str | UnsetType = msgspec.field(default=UNSET, name="$schema")


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
