"""Families of workloads over any columns of codes, as entries of a queries document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

Sizes = dict[str, int]
MOST_PAIRS, MOST_TRIPLES, MOST_PREFIXES, CONJUNCTIONS = 150, 60, 40, 500
"""Of tables with more pairs or triples of columns some are drawn, by a public seed: whole workloads take too long."""


def pairs(sizes: Sizes) -> list[object]:
    return [{"marginals": [list(names) for names in _some(sizes, 2, MOST_PAIRS)]}]


def triples(sizes: Sizes) -> list[object]:
    return [{"marginals": [list(names) for names in _some(sizes, 3, MOST_TRIPLES)]}]


def conjunctions(sizes: Sizes) -> list[object]:
    return [{"conjunctions": {"random": CONJUNCTIONS, "seed": 1, "ways": [2, 3]}}]


def prefixes(sizes: Sizes) -> list[object]:
    """Cumulative counts of one column for each value of another."""
    return [{"prefix": second, "by": [first]} for first, second in _some(sizes, 2, MOST_PREFIXES)]


def sample(sizes: Sizes) -> list[object]:
    """The kinds of queries of sample_data/queries.json, over the four columns of most cells."""
    a, b, c, d = sorted(sizes, key=lambda name: -sizes[name])[:4]
    high, low = max(1, sizes[a] * 2 // 3), sizes[b] // 2
    return [
        {"name": "records", "marginal": []},
        {"name": "two columns", "marginal": [a, b], "weight": 2},
        {"marginals": {"ways": 2, "columns": [a, b, c, d]}},
        {"marginals": [[b, c, d]]},
        {"name": "predicate", "where": f"{a} >= {high} and ({b} > {low} or not {c} = 0)"},
        {"name": "predicate by", "where": f"{a} < {high} and {c} in (0, 1)", "by": [d]},
        {"prefix": a, "by": [d]},
        {"ranges": [a, b], "random": 20, "seed": 7},
        {"conjunctions": {"random": 10, "seed": 7, "ways": [2, 3], "columns": [a, b, c, d]}},
        {"sum": b, "by": [c]},
    ]


def conditions(sizes: Sizes) -> list[object]:
    """Queries under conditions on up to six columns, drawn with their bounds by a public seed; pairs of two or three
    of them are asked."""
    generator = np.random.default_rng([*sizes.values()])
    names = [str(name) for name in generator.permutation([*sizes])[:6]]
    a, b, c, d = names[:4]
    e, f = [*names[4:], b, c][:2]

    def bound(name: str) -> int:
        return int(generator.integers(1, sizes[name]))

    return [
        {"name": "records", "marginal": []},
        {"marginals": {"ways": 2, "columns": names[: max(2, len(names) // 2)]}},
        {"name": "all of three", "where": f"{a} >= {bound(a)} and {d} < {bound(d)} and {c} < {bound(c)}"},
        {"name": "one of two", "where": f"{c} < {bound(c)} and ({d} >= {bound(d)} or {a} = 0)"},
        {"name": "condition by", "where": f"{a} < {bound(a)} and {d} >= {bound(d)}", "by": [c]},
        {"name": "pair by", "where": f"{f} >= {bound(f)}", "by": [d]},
        {"name": "prefix by", "prefix": a, "by": [d]},
        {"name": "ranges", "ranges": [c, d], "random": 20, "seed": 7},
        {"name": "conjunctions", "conjunctions": {"random": 10, "seed": 7, "ways": [2, 3], "columns": names}},
        {"name": "sum", "sum": b, "by": [d], "where": f"{e} >= {bound(e)}"} if e != b else {"sum": b, "by": [d]},
    ]


def _some(sizes: Sizes, ways: int, most: int) -> Sequence[tuple[str, ...]]:
    every = list(combinations(sizes, ways))
    if len(every) <= most:
        return every
    chosen = np.random.default_rng(ways).choice(len(every), most, replace=False)
    return [every[place] for place in sorted(chosen)]


FAMILIES: dict[str, Callable[[Sizes], list[object]]] = {
    "pairs": pairs,
    "triples": triples,
    "conjunctions": conjunctions,
    "prefixes": prefixes,
    "sample": sample,
    "conditions": conditions,
}
