"""The queries file's form: a version, a domain, and entries with exactly one kind each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dpqr.io.documents.domain_form import Form, Name, Number

VERSION = "queries/1"
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
