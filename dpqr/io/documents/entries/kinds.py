"""Kinds of queries by the names that other programs give them, and how to ask for them here."""

from __future__ import annotations

import json

from dpqr.errors import DocumentError, Fix
from dpqr.io.documents.entries.forms import KINDS
from dpqr.io.documents.text.decoding import Location, nearest, obvious
from dpqr.io.documents.text.positions import member

_MEAN = 'ask {"mean": COLUMN}'
_QUANTILE = 'ask {"quantiles": COLUMN, "at": [0.25, 0.5, 0.75]}'
_CURVE = 'it is read from cumulative counts: ask {"prefix": COLUMN}'
_VARIANCE = 'it is the root of {"variance": COLUMN}'
_MODE = 'ask {"top": COLUMN, "k": 1}'
_SHARE = """the part of the records that fulfil a condition is {"proportion": "age >= 65"}"""
_PAIR = 'it is computed from the counts of all pairs of cells: ask {"marginal": [COLUMN, COLUMN]}'
_COUNT = 'counts by cell are {"marginal": [COLUMN, ...]}, and {"marginal": []} is the number of records'
_FILTER = """records that fulfil a condition are counted by {"where": "age >= 65 and sex = 'female'"}"""
_WAYS = 'the counts of every pair of columns are {"marginals": {"ways": 2}}'
_NONE = 'no sum over the records gives it; ask for the counts by cell, {"marginal": [COLUMN]}'

OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(("average", "avg"), _MEAN),
    **dict.fromkeys(("quantile", "percentile", "percentiles", "quartiles", "deciles"), _QUANTILE),
    **dict.fromkeys(("cdf", "cumulative", "min", "max", "minimum", "maximum"), _CURVE),
    **dict.fromkeys(("std", "stddev", "deviation"), _VARIANCE),
    **dict.fromkeys(("mode", "topk"), _MODE),
    **dict.fromkeys(("share", "fraction", "percentage"), _SHARE),
    **dict.fromkeys(("covariance", "correlation"), _PAIR),
    **dict.fromkeys(("count", "counts", "histogram", "groupby", "table", "crosstab", "total"), _COUNT),
    **dict.fromkeys(("filter", "predicate", "condition", "query", "sql"), _FILTER),
    **dict.fromkeys(("pairs", "combinations"), _WAYS),
    **dict.fromkeys(("distinct", "unique", "nunique"), _NONE),
}
"""How to get what queries of these names ask for; names without hyphens, blanks and underscores."""

_IGNORED = str.maketrans("", "", "-_ ")


def asks_nothing(unknown: str, location: Location) -> DocumentError:
    """The fault of an entry without a kind. unknown: the first key that could have been meant for one, or nothing."""
    place, meant = member(location.path, unknown) if unknown else "", obvious(unknown, KINDS)
    if meant:
        fix = Fix(path=place, text=json.dumps(meant), key=True)
        return location.fault(f"unknown kind {unknown!r}; did you mean {meant!r}?", place=place, fix=fix)
    way = OTHER_NAMES.get(unknown.lower().translate(_IGNORED))
    if way:
        return location.fault(f"unknown kind {unknown!r}: {way}", place=place)
    near = nearest(unknown, KINDS) if unknown else ""
    hint = near if near.startswith("did you mean") else "`dpqr guide queries` explains them"
    return location.fault(f"asks nothing: one of {', '.join(KINDS)} is missing; {hint}", place=place)
