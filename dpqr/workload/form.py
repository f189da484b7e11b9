"""The form of the queries file: a version, a domain, and entries of exactly one kind each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from dpqr.domain.form import DOMAIN_VERSION, DocumentPart, Name, Number, Sizes, TableSchema

QUERIES_VERSION = "queries/1"
MAX_BLOCKS = 100_000
MAX_WORK = 2**30
"""Cells that all comparisons of a document's predicates look at, each time anew."""

Columns = Annotated[tuple[str, ...], Meta(max_length=2000)]
Predicate = Annotated[str, Meta(min_length=1)]
Some = Annotated[tuple[str, ...], Meta(min_length=1, max_length=2000)]


class SurveyWeight(DocumentPart, frozen=True, kw_only=True):
    """Each record counts with its value in this column, cut to 0 and `maximum`. selection: how much selection cares."""

    column: str
    maximum: Number
    selection: Number | UnsetType = UNSET


_SURVEY = {
    "type": "object",
    "properties": {"column": {"type": "string"}, "maximum": {"type": "number"}, "selection": {"type": "number"}},
    "required": ["column", "maximum"],
    "additionalProperties": False,
}
Weight = Annotated[Any, Meta(extra_json_schema={"anyOf": [{"type": "number"}, _SURVEY]})]
"""Of an entry: how much selection cares for it, or the survey weight of the records that it counts."""


class QueryEntry(DocumentPart, frozen=True, kw_only=True):
    """What every entry may have. weight: how much selection cares for it (1 by default), or a survey weight."""

    name: Name | UnsetType = UNSET
    weight: Weight | UnsetType = UNSET


class MarginalEntry(QueryEntry, frozen=True, kw_only=True):
    """How many records there are for every combination of cells of these columns; of none: of all records."""

    marginal: Columns
    where: Predicate | UnsetType = UNSET


class Ways(DocumentPart, frozen=True, kw_only=True):
    """All combinations of `ways` columns out of the listed ones (of all, where none are listed)."""

    ways: Annotated[int, Meta(ge=1, le=2000)]
    columns: Some | UnsetType = UNSET


class MarginalsEntry(QueryEntry, frozen=True, kw_only=True):
    """Many marginals: listed, or all of some number of columns."""

    marginals: Ways | Annotated[tuple[Columns, ...], Meta(min_length=1)]


class WhereEntry(QueryEntry, frozen=True, kw_only=True):
    """How many records fulfil a predicate, for every combination of cells of the `by` columns."""

    where: Predicate
    by: Columns = ()


class GroupedEntry(QueryEntry, frozen=True, kw_only=True):
    """What may be asked of every combination of cells of the `by` columns, of the records that fulfil a predicate."""

    by: Columns = ()
    where: Predicate | UnsetType = UNSET


class PrefixEntry(GroupedEntry, frozen=True, kw_only=True):
    """How many records lie at or below each bin of an ordered column."""

    prefix: str


class RangesEntry(QueryEntry, frozen=True, kw_only=True):
    """How many records lie in each range of an ordered column, or in each rectangle of several.

    between: [low, high] each, or one such pair a column; random: that many, drawn from the public seed.
    """

    ranges: str | Some
    between: Annotated[tuple[Any, ...], Meta(min_length=1, max_length=1_000_000)] | UnsetType = UNSET
    random: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET
    by: Columns = ()


class RandomConjunctions(DocumentPart, frozen=True, kw_only=True):
    """That many conjunctions from the public seed, each of `ways` comparisons (from, to) on distinct columns.

    columns: where from; all of the domain, where none are listed.
    """

    random: Annotated[int, Meta(ge=1, le=4_000_000)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    ways: tuple[int, int] = (2, 4)
    columns: Some | UnsetType = UNSET


class ConjunctionsEntry(QueryEntry, frozen=True, kw_only=True):
    """How many records fulfil each of very many conjunctions of comparisons."""

    conjunctions: RandomConjunctions


class SumEntry(GroupedEntry, frozen=True, kw_only=True):
    """The sum of an ordered column of numbers, each record counting with the midpoint of its bin."""

    sum: str


class MeanEntry(GroupedEntry, frozen=True, kw_only=True):
    """The mean of a column of numbers, each record counting with the midpoint of its bin."""

    mean: str


class MedianEntry(GroupedEntry, frozen=True, kw_only=True):
    """The median of a column of numbers, from its cumulative counts."""

    median: str


class QuantilesEntry(GroupedEntry, frozen=True, kw_only=True):
    """Quantiles of a column of numbers, from its cumulative counts. at: each above 0 and below 1."""

    quantiles: str
    at: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=100)]


class VarianceEntry(GroupedEntry, frozen=True, kw_only=True):
    """The variance (over n) of a column of numbers, each record counting with the midpoint of its bin."""

    variance: str


class Quotient(DocumentPart, frozen=True, kw_only=True):
    """The sum of one column over the sum of another."""

    of: str
    to: str


class RatioEntry(GroupedEntry, frozen=True, kw_only=True):
    """The sum of a column of numbers over that of another."""

    ratio: Quotient


class ProportionEntry(GroupedEntry, frozen=True, kw_only=True):
    """Which part of the records fulfils a predicate."""

    proportion: Predicate


class TopEntry(GroupedEntry, frozen=True, kw_only=True):
    """The k cells of a column that hold most records."""

    top: str
    k: Annotated[int, Meta(ge=1, le=1000)] = 5


class HierarchyEntry(GroupedEntry, frozen=True, kw_only=True):
    """How many records there are in every node of a column's hierarchy. levels: of these alone."""

    hierarchy: str
    levels: Some | UnsetType = UNSET


class CoefficientsEntry(QueryEntry, frozen=True, kw_only=True):
    """Any linear queries: a file of coefficients in [0, 1] for the cells of some columns."""

    coefficients: Annotated[str, Meta(min_length=1)]
    columns: Some | UnsetType = UNSET


class PersonMean(DocumentPart, frozen=True, kw_only=True):
    """The mean over persons of the sum of a column over their rows in a cell. within: what this sum is clipped to."""

    sum: str
    within: tuple[Number, Number]


class PersonQuantiles(DocumentPart, frozen=True, kw_only=True):
    """Values below which the sum of a column over a person's rows in a cell lies for these parts of the persons, the
    median where none is stated. edges: of the bins that they are counted in, rising; the outer bins have no end."""

    sum: str
    edges: Annotated[tuple[Number, ...], Meta(min_length=3, max_length=1001)]
    at: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=100)] | UnsetType = UNSET


class Persons(DocumentPart, frozen=True, kw_only=True):
    """A table of persons. by: its columns; without them their number. max_cells: in how many cells each of them counts
    at most; where it is not stated, as many as rows of a person are used. of: the column that says whose row it is.
    mean, quantiles: of persons' totals, in place of their number."""

    by: Columns = ()
    max_cells: Annotated[int, Meta(ge=1, le=2**36)] | UnsetType = msgspec.field(default=UNSET, name="max_cells")
    of: str | UnsetType = UNSET
    mean: PersonMean | UnsetType = UNSET
    quantiles: PersonQuantiles | UnsetType = UNSET


class PersonsEntry(QueryEntry, frozen=True, kw_only=True):
    """How many persons have a row in every combination of cells of the `by` columns, or mean or quantiles of their
    totals there. Each counts once a cell. where: of their rows, only those that fulfil this predicate."""

    persons: Persons
    where: Predicate | UnsetType = UNSET


KINDS: dict[str, type[QueryEntry]] = {
    "marginal": MarginalEntry,
    "marginals": MarginalsEntry,
    "where": WhereEntry,
    "prefix": PrefixEntry,
    "ranges": RangesEntry,
    "conjunctions": ConjunctionsEntry,
    "sum": SumEntry,
    "mean": MeanEntry,
    "median": MedianEntry,
    "quantiles": QuantilesEntry,
    "variance": VarianceEntry,
    "ratio": RatioEntry,
    "proportion": ProportionEntry,
    "top": TopEntry,
    "hierarchy": HierarchyEntry,
    "coefficients": CoefficientsEntry,
    "persons": PersonsEntry,
}
FIGURES = ("mean", "median", "quantiles", "variance", "ratio", "proportion", "top")
"""Kinds that are computed from the answers to linear queries."""


RESTRICTED = frozenset({"marginal", "prefix", "sum", "hierarchy", "persons", *FIGURES})
"""Kinds of which `where` is a part; beside any other it is an entry of its own."""


class QueriesForm(DocumentPart, frozen=True, kw_only=True):
    """The document. domain: the domain itself, or the name of its file, relative to this one. weight: survey weight of
    the records, for every entry that states none."""

    queries: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1, max_length=MAX_BLOCKS)]
    weight: SurveyWeight | UnsetType = UNSET
    dpqr: Literal["queries/1"] | UnsetType = UNSET
    domain: dict[str, Any] | Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    schema: str | UnsetType = msgspec.field(default=UNSET, name="$schema")


# The JSON Schemas of the domain file and the queries file, made from their forms.

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(document: Literal["domain", "queries"]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one document; its `$id` carries the version."""
    (fields, sizes), domain_parts = json.schema_components([TableSchema, Sizes], ref_template="#/$defs/{name}")
    body: dict[str, Any] = {"anyOf": [fields, sizes], "$defs": domain_parts}
    if document == "queries":
        (top, *entries), parts = json.schema_components([QueriesForm, *KINDS.values()], ref_template="#/$defs/{name}")
        form = parts["QueriesForm"]["properties"]
        form["queries"]["items"] = {"oneOf": entries}
        form["domain"] = {"anyOf": [*body["anyOf"], {"type": "string", "minLength": 1}]}
        body = {**top, "$defs": {**body["$defs"], **parts}}
    version = DOMAIN_VERSION if document == "domain" else QUERIES_VERSION
    return {"$schema": DIALECT, "$id": f"urn:dpqr:{version.replace('/', ':')}", "title": f"dpqr {version}", **body}
