#!/usr/bin/env python3
"""A second pair of eyes on a release: python check.py RELEASE [--ledger EXPORT] [--plan PLAN]

It shares no code with dpqr. It is written from the description of the records (`dpqr guide formats`) and from the
theorems that are named beside the formulas. It needs Python 3.9 and no package. RELEASE: a directory, or a file of
predictions or of a released function. Part 9 is the table of checks: a row names a field of the record and how it
follows from others. Parts 2 to 8 hold what the rows use. The program walks the table, compares, and says

    ok: SECTION: how many fields follow
    refused: SECTION: FIELD: stated X, follows Y
    not checked: SECTION: why

Exit codes: 0 nothing was refused. 6 a field does not follow. 7 the ledger does not add up. 2 the command was wrong.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

Document = dict[str, Any]
Claim = tuple[str, Any, Any]
"""A field, what is stated there, and what follows; a `NotChecked` follows where nothing can be said."""


class Refused(Exception):
    """Something does not follow."""


class NotChecked(Exception):
    """Why a field cannot be checked."""


def need(true: object, words: str) -> None:
    """Refuse with these words unless true."""
    if not true:
        raise Refused(words)


# 1. Reading, and the one comparison.


def read_json(text: str) -> Any:
    """JSON; no object states a key twice, and a float beside an exact figure is the smallest that is not below it."""

    def read(pairs: list[tuple[str, Any]]) -> Document:
        part = dict(pairs)
        need(len(part) == len(pairs), "a JSON object states a key twice")
        if {"exact", "float"} <= set(part):
            nearest = float(exact(part))
            above = nearest if nearest >= exact(part) else math.nextafter(nearest, math.inf)
            need(part["float"] == above, f"float {part['float']} stands beside {part['exact']}")
        return part

    return json.loads(text, object_pairs_hook=read)


def canonical(document: Any) -> str:
    """JSON with sorted keys, no blanks, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(data: Any) -> str:
    """SHA-256 of bytes, of text, or of a document's canonical JSON."""
    if not isinstance(data, (bytes, str)):
        data = canonical(data)
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def seal_of(document: Document) -> str:
    """What `sha256` of a document must be: the hash of all other keys."""
    return sha256({key: part for key, part in document.items() if key != "sha256"})


def exact(part: Any) -> Fraction:
    """An exact figure, never negative: 3, or text such as 1/10 in lowest terms, or {"exact": "1/10", "float": 0.1}."""
    text = part["exact"] if isinstance(part, dict) else str(part) if type(part) is int else part
    need(re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text) and str(Fraction(text)) == text, f"{text!r} is no exact figure")
    return Fraction(text)


def paired(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs of two sequences, which must be of one length."""
    one, two = list(first), list(second)
    need(len(one) == len(two), f"{len(one)} parts stand beside {len(two)}")
    return [(each, two[place]) for place, each in enumerate(one)]


def digits(text: str) -> str:
    """The text of a number, as numbers are written: Python would read digits of other scripts too, and "1_0". To write
    10^1000000 out takes hours."""
    need(text.isascii() and "_" not in text and not re.search("[eE][+-]?[0-9]{5}", text), f"{text[:60]!r} is no number")
    return text


def whole(part: Any) -> int:
    """A number of rows, of cells or of queries: of half a row the noise would be half of what a row needs."""
    need(type(part) is int and part > 0, f"{part!r} is no number of rows, cells or queries")
    return int(part)


class Range(NamedTuple):
    """What follows is a number from `low` to `high`."""

    low: Any
    high: Any


def agrees(stated: Any, follows: Any) -> bool:
    """The one comparison: exact for rationals, whole numbers and text; to 1e-9 for floats, which are for readers."""
    if isinstance(follows, set):  # one of these
        return any(agrees(stated, one) for one in follows)
    if isinstance(follows, (Range, Fraction)):
        low, high = follows if isinstance(follows, Range) else (follows, follows)
        if stated is None or isinstance(stated, bool):
            return False
        value = (
            exact(stated)
            if isinstance(stated, dict)
            else Fraction(digits(stated))
            if isinstance(stated, str)
            else stated
        )
        return bool(low <= value <= high)
    if isinstance(follows, float):
        near = isinstance(stated, (int, float)) and abs(stated - follows) <= 1e-9 * max(1.0, abs(follows))
        return near and math.isfinite(follows)  # every number is within 1e-9 of infinity, relative to that
    if isinstance(follows, tuple) and isinstance(stated, tuple):
        return len(stated) == len(follows) and all(agrees(*pair) for pair in paired(stated, follows))
    return type(stated) is type(follows) and bool(stated == follows)


def shown(value: Any) -> str:
    """A value for a message."""
    if isinstance(value, (Range, set)):
        return (" to " if isinstance(value, Range) else " or ").join(sorted(map(shown, value)))[:120]
    value = value["exact"] if isinstance(value, dict) and "exact" in value else value
    return f"{float(value):.12g}" if isinstance(value, Fraction) else str(value)[:120]


# 2. Events: a draw by its kind and parameters, and its privacy loss in each currency.

Formula = Callable[[dict[str, Fraction]], Fraction]


class Kind(NamedTuple):
    """Parameters of a kind of event (? may be absent), its losses, and the length of an interval that holds all."""

    parameters: str
    epsilon: Formula | None = None
    rho: Formula | None = None
    squared_mu: Formula | None = None
    span: Formula | None = None


KINDS = {
    # Dwork and Roth 2014, Theorem 3.6, by the triangle inequality of whatever norm.
    "discrete-laplace": Kind("sensitivity scale coordinates?", epsilon=lambda p: p["sensitivity"] / p["scale"]),
    "spherical-laplace": Kind("sensitivity scale coordinates", epsilon=lambda p: p["sensitivity"] / p["scale"]),
    # Canonne, Kamath and Steinke 2020, Theorem 4.
    "discrete-gaussian": Kind(
        "squared_sensitivity variance", rho=lambda p: p["squared_sensitivity"] / p["variance"] / 2
    ),
    # Bun and Steinke 2016, Proposition 1.6; Dong, Roth and Su 2019, Theorem 2.7; rounding reads the noisy value alone.
    "rounded-gaussian": Kind(
        "squared_sensitivity variance",
        rho=lambda p: p["squared_sensitivity"] / p["variance"] / 2,
        squared_mu=lambda p: p["squared_sensitivity"] / p["variance"],
    ),
    # Dwork and Roth 2014, Theorem 3.10; its losses span an interval of length epsilon (Durfee and Rogers 2019).
    "exponential": Kind("epsilon", epsilon=lambda p: p["epsilon"], span=lambda p: p["epsilon"]),
    "permute-and-flip": Kind("epsilon", epsilon=lambda p: p["epsilon"]),  # McKenna and Sheldon 2020
    # Dwork and Roth 2014, Theorem 3.23: the threshold once, the answer that passes as often as answers move apart.
    "above-threshold": Kind(
        "sensitivity threshold_scale answer_scale directions",
        epsilon=lambda p: p["sensitivity"] * (1 / p["threshold_scale"] + p["directions"] / p["answer_scale"]),
        span=lambda p: p["sensitivity"] * (1 / p["threshold_scale"] + 2 / p["answer_scale"]),
    ),
    # Their losses take a theorem for each learner: not derived here.
    "perturbed-objective": Kind("sensitivity scale coordinates units curvature closing"),
    "gaussian-objective": Kind("squared_sensitivity variance changes curvature closing opposite? tapered?"),
    # A price as a pair alone (`summed`).
    "label-selection": Kind("epsilon delta labels"),
    # What a filter may spend in all, in its own currency.
    "pure-sum": Kind("epsilon", epsilon=lambda p: p["epsilon"]),
    "rho-sum": Kind("rho", rho=lambda p: p["rho"]),
    "mu-sum": Kind("squared_mu", rho=lambda p: p["squared_mu"] / 2, squared_mu=lambda p: p["squared_mu"]),
}


class Event(NamedTuple):
    """One draw; `left_out`: from rows that the domain's rules left out."""

    kind: str
    parameters: tuple[tuple[str, Fraction], ...]
    left_out: bool = False


Composition = tuple[tuple[Event, int], ...]
"""Events with their counts."""


def event(part: Document, left_out: bool = False) -> Event:
    """An event of a record or of a ledger; equal if both state the same."""
    if part["kind"] == "left-out" and not left_out:
        return event(part["event"], left_out=True)
    need(part["kind"] in KINDS, f"an event of the unknown kind {part['kind']!r} has no price")
    names, stated = KINDS[part["kind"]].parameters.split(), set(part) - {"kind", "count"}
    must, may = {name for name in names if name[-1] != "?"}, {name.rstrip("?") for name in names}
    need(must <= stated <= may, f"an event {part['kind']} states other parameters than its kind has")
    counts = {name: exact(part[name]) for name in ("labels", "directions") if name in part}
    need(all(each.denominator == 1 <= each for each in counts.values()), f"an event of {counts} draws nothing")
    return Event(part["kind"], tuple((name, exact(part[name])) for name in sorted(stated)), left_out)


def events(parts: list[Document]) -> Composition:
    """Events with their counts, in their order."""
    need(all(type(part["count"]) is int and part["count"] >= 0 for part in parts), "a count is no whole number")
    return tuple((event(part), part["count"]) for part in parts)


def tally(composition: Composition) -> Counter[Event]:
    """How often each event occurs, in whatever order."""
    found: Counter[Event] = Counter()
    for one, count in composition:
        found[one] += count
    return +found


def loss(currency: str, one: Event) -> Fraction | None:
    """The loss of one draw: `epsilon`, `rho` of zCDP, or `squared_mu` of Gaussian DP; None where none is known.

    A draw whose losses span an interval is as dear as half the interval as an epsilon: Cesar and Rogers 2021 for rho,
    Dong, Durfee and Rogers 2020 for mu. Else Bun and Steinke 2016, Proposition 1.4: rho = epsilon^2 / 2.
    """
    kind, parameters = KINDS[one.kind], dict(one.parameters)
    formula: Formula | None = getattr(kind, currency)
    if formula is not None or kind.epsilon is None:
        return formula and formula(parameters)
    halved = kind.span is not None and parameters.get("directions", 1) == 1
    epsilon = kind.span(parameters) / 2 if kind.span and halved else kind.epsilon(parameters)
    return epsilon**2 / 2 if currency == "rho" else mu2_of_pure(epsilon)


def total(currency: str, composition: Composition) -> Fraction | None:
    """Losses add up: Dwork and Roth 2014, Theorem 3.16; Bun and Steinke 2016, Lemma 1.7; Dong et al., Corollary 3.3."""
    losses = [(loss(currency, one), count) for one, count in composition]
    known = [each * count for each, count in losses if each is not None]
    return sum(known, Fraction(0)) if len(known) == len(losses) else None


def summed(composition: Composition) -> tuple[Any, Fraction]:
    """Epsilons and deltas of all draws: Dwork and Roth 2014, Theorem 3.16. A selection of labels draws each for itself,
    and the counts of `labels` of them move between neighbours. An epsilon of infinity: a draw has none."""
    kept = [(dict(one.parameters), count) for one, count in composition if one.kind == "label-selection"]
    others = total("epsilon", tuple(pair for pair in composition if pair[0].kind != "label-selection"))
    both = [sum((part["labels"] * part[name] * n for part, n in kept), Fraction(0)) for name in ("epsilon", "delta")]
    return math.inf if others is None else both[0] + others, both[1]


# 3. Prices of many events. Rationals are exact; real functions are decimals of sixty digits.

TWO_PI = 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
MOST_DRAWS = 4000


def sixty_digits() -> Any:
    """Arithmetic of sixty digits: its errors are far below the 1e-15 that `priced` allows for them."""
    return localcontext(Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX))


def dec(value: Fraction) -> Decimal:
    """A rational as a decimal."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def least(holds: Callable[[Decimal], bool], high: Decimal, steps: int = 190) -> Fraction:
    """The smallest x > 0 with holds(x), from above, by halving; holds(high) is true."""
    low = Decimal(0)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Fraction(high)


@lru_cache(maxsize=4096)
def tail(x: Decimal) -> Decimal:
    """1 - Phi(x): the series at 0 (Abramowitz and Stegun 26.2.10), from 5 on Laplace's continued fraction (26.2.14)."""
    if x < 0:
        return 1 - tail(-x)
    whole, power, n, below = Decimal(0), x, 0, x
    if x >= 5:
        for level in range(200, 0, -1):
            below = x + level / below
        return (-x * x / 2).exp() / TWO_PI.sqrt() / below
    while abs(power) > Decimal("1e-58"):
        whole += power / (2 * n + 1)
        n += 1
        power *= -x * x / (2 * n)
    return Decimal("0.5") - whole / TWO_PI.sqrt()


@lru_cache(maxsize=1024)
def mu2_of_pure(epsilon: Fraction) -> Fraction:
    """mu^2 of any epsilon-DP draw: mu = 2 z, 1 - Phi(z) = 1 / (1 + e^epsilon) (Dong, Roth and Su 2019, Prop. 2.4)."""
    with sixty_digits():
        wanted = 1 / (1 + dec(epsilon).exp())
        return 4 * least(lambda x: tail(x) <= wanted, (2 * dec(epsilon)).sqrt() + dec(epsilon) + 1) ** 2


@lru_cache(maxsize=256)
def of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """epsilon of rho-zCDP at delta: the least over a > 1 of Canonne, Kamath and Steinke 2020, Corollary 13."""
    with sixty_digits():

        def at(log_excess: Decimal) -> Decimal:
            excess = log_excess.exp()
            log_order = (1 + excess).ln()
            return (1 + excess) * dec(rho) - (dec(delta).ln() + log_order) / excess + log_excess - log_order

        low, high = Decimal(-46), Decimal(76)
        for _ in range(130):  # it falls, then rises; each of its values is an epsilon that holds
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, two) if at(one) < at(two) else (one, high)
        return max(Fraction(0), Fraction(at(low)))


@lru_cache(maxsize=256)
def of_mu2(squared_mu: Fraction, delta: Fraction) -> Fraction:
    """The least epsilon of mu-GDP at delta: Balle and Wang 2018, Theorem 8."""
    with sixty_digits():
        mu, high = dec(squared_mu).sqrt(), Decimal(1)

        def holds(epsilon: Decimal) -> bool:
            return tail(epsilon / mu - mu / 2) - epsilon.exp() * tail(epsilon / mu + mu / 2) <= dec(delta)

        while not holds(high):
            high *= 2
        return Fraction(0) if holds(Decimal(0)) else least(holds, high)


@lru_cache(maxsize=1024)
def advanced(composition: Composition, delta: Fraction) -> Fraction | None:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.5, its first and third bound."""
    straight = total("epsilon", composition)
    if not straight or not delta:
        return straight
    with sixty_digits():
        sizes = [(dec(loss("epsilon", one) or Fraction(0)), count) for one, count in composition]
        drift = sum(count * e * (e.exp() - 1) / (e.exp() + 1) for e, count in sizes)
        squares = sum(count * e**2 for e, count in sizes)
        return min(straight, Fraction(drift + (-2 * dec(delta).ln() * squares).sqrt()))


@lru_cache(maxsize=1024)
def optimal(composition: Composition, delta: Fraction) -> Fraction | None:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3, all draws as dear as the dearest; `advanced` if that is less."""
    simpler = advanced(composition, delta)
    if not simpler or not delta:
        return simpler
    sizes = [(loss("epsilon", one) or Fraction(0), count) for one, count in composition]
    draws = sum(count for epsilon, count in sizes if epsilon)
    if draws > MOST_DRAWS:
        raise NotChecked(f"optimal composition of more than {MOST_DRAWS} draws takes too long")
    with sixty_digits():
        size = dec(max(epsilon for epsilon, _ in sizes))
        terms = [(math.comb(draws, k), ((draws - k) * size).exp(), (k * size).exp()) for k in range(draws + 1)]
        wanted = dec(delta) * (1 + size.exp()) ** draws

        def holds(epsilon: Decimal) -> bool:
            grown = epsilon.exp()
            return sum(ways * max(Decimal(0), up - grown * down) for ways, up, down in terms) <= wanted

        return Fraction(0) if holds(Decimal(0)) else min(simpler, least(holds, draws * size, 64))


def converted(currency: str, composition: Composition, delta: Fraction) -> Fraction | None:
    """epsilon at delta of the sum of rho (zCDP) or of squared mu (Gaussian DP); without a delta only 0 is known."""
    whole = total(currency, composition)
    if not whole or not delta:
        return None if whole else whole
    return of_rho(whole, delta) if currency == "rho" else of_mu2(whole, delta)


Theorem = Callable[[Composition, Fraction], "Fraction | None"]
ACCOUNTANTS: dict[str, Theorem] = {
    "basic": lambda composition, _: total("epsilon", composition),
    "advanced": advanced,
    "optimal": optimal,
    "zcdp": lambda composition, delta: converted("rho", composition, delta),
    "gdp": lambda composition, delta: converted("squared_mu", composition, delta),
    # Sums that are not converted: currencies of a ledger.
    "rho": lambda composition, _: total("rho", composition),
    "squared_mu": lambda composition, _: total("squared_mu", composition),
}


def most_of_pld(composition: Composition, delta: Fraction) -> Fraction | None:
    """What a privacy loss distribution proves no more than: the advanced theorem; mu where a draw has no epsilon."""
    pure = total("epsilon", composition) is not None
    return advanced(composition, delta) if pure else converted("squared_mu", composition, delta)


def larger(theorem: Theorem, composition: Composition, delta: Fraction) -> Fraction | None:
    """A row is kept or left out, so the two groups of draws cost the larger of the two (McSherry 2009, Theorem 4)."""
    groups = [tuple((one, n) for one, n in composition if one.left_out == out and n) for out in (False, True)]
    kept, left_out = (theorem(group, delta) for group in groups)
    return None if kept is None or left_out is None else max(kept, left_out)


def price(name: str, composition: Composition, delta: Fraction) -> Fraction | None:
    """Under a theorem by its name; None: it does not cover an event."""
    if any(one.kind.endswith("-objective") for one, _ in composition):
        raise NotChecked("prices of a perturbed objective take a theorem for each learner")
    if (name == "pld" and not delta) or (
        name == "analytic" and all("gaussian" not in one.kind for one, _ in composition)
    ):
        name = "basic"
    if name not in ACCOUNTANTS:
        need(name in ("pld", "analytic"), f"there is no accountant {name!r}")
        raise NotChecked(f"prices under {name} take numerical integrals of privacy losses")
    return larger(ACCOUNTANTS[name], composition, delta)


def priced(name: str, composition: Composition, delta: Fraction) -> Any:
    """What a stated price must be: no less than the theorem's, above it by less than a search in halves leaves.

    A curve may be rounded up by a part in 1e14, which a delta near 1 turns into far more of epsilon.
    """
    try:
        found = price(name, composition, delta)
    except NotChecked as reason:
        if name != "pld":
            return reason
        most = larger(most_of_pld, composition, delta)
        return reason if most is None else {None, Range(0, most * (1 + Fraction(1, 10**9)))}
    if found is None or name == "basic":
        return found
    rounded = price(name, composition, delta * (1 - Fraction(1, 10**14))) or found
    least, most = found * (1 - Fraction(1, 10**15)), rounded * (1 + Fraction(1, 10**9))
    return Range(least - Fraction(1, 10**22), most + Fraction(1, 10**14))


def least_of_pld(e: Evidence) -> Any:
    """Without a delta it is the sum of epsilons."""
    return NotChecked("prices under pld: that they are no lower than it proves") if e.delta else e.prices["pld"]


# 4. Sensitivities: how far one row moves what was measured. A row is one column of the matrix of integer queries.

Column = tuple[Fraction, ...]
TABLES = ("marginal", "marginals", "opening", "cells", "table of all columns")
"""Counts of all cells of some columns."""
PARTITIONS = (
    *(*TABLES, "where", "hierarchy", "coarse cells", "total"),
    *("number of records", "records", "records left out"),
)
"""What counts each row in one cell at most."""
BY_ROWS = ("prefix", "ranges", "conjunctions")
COUNTED = ("top", "median", "quantiles")
"""Figures of the counts of a column's cells."""
SUMS = ("sum", "mean", "variance", "ratio", "coefficients", "weighted")
"""Not whole counts, but multiples of a grid."""
WEIGHTED = ("strategy", "buckets", "first look", "interaction")
"""What answers may be weighted sums of, by weights that no record holds."""
MOST_COLUMNS = 20_000


def entry_of(name: str, e: Evidence) -> Document:
    """The entry of the queries file that names a block, alone or before what it is one of."""
    entries: list[Document] = e.request["queries"]["queries"]
    names = (name, name.rsplit(": ", 1)[0], name.split(" marginal(")[0])
    return next((each for one in names for each in entries if each.get("name") == one), {})


def kind_of(name: str, e: Evidence) -> str:
    """The kind of entry that asks for a block, or that names it. A survey weight makes sums of all counts."""
    weight = entry_of(name, e).get("weight", e.request["queries"].get("weight"))
    if " weighted by " in name or isinstance(weight, dict):
        return "weighted"
    if name.startswith("coarse("):  # cells of it are counted together
        return "coarse cells" if kind_of(name[7:-1], e) in PARTITIONS else "coarse"
    kinds = (*SUMS, *BY_ROWS, *COUNTED, *PARTITIONS)  # a `where` may stand beside any of them
    return next((each for each in kinds if each in entry_of(name, e)), name.split("(")[0])


def columns_in(name: str) -> tuple[str, ...]:
    """The columns of "cells(sex, age)"."""
    return tuple(each.strip() for each in name.split("(")[-1].rstrip(")").split(","))


def columns_of(block: Document, e: Evidence) -> list[Column]:
    """The different columns of a block's matrix, in units of its grid; of a table two are enough."""
    name, kind, grid = block["name"], kind_of(block["name"], e), exact(block["grid"])
    inner: list[Column]
    if kind in PARTITIONS and grid == 1:
        inner, groups = [(Fraction(1),)], min(block["queries"], 2)
    elif kind == "sum":
        inner, groups = of_sum(e, name, grid), min(block["queries"], 2)
    else:
        details: dict[Any, list[str]] = {}
        for row in e.answers.get(name, []):
            details.setdefault(row["cells"], []).append(row["detail"])
        if not details or kind not in BY_ROWS:
            raise NotChecked(f"the sensitivity of {kind!r}: the record does not hold its rows")
        first = next(iter(details.values()))
        need(all(each == first for each in details.values()), f"{name}: two cells of it have other rows")
        inner, groups = of_conditions([conditions(each) for each in first]), min(len(details), 2)
    zeros = (Fraction(0),) * len(inner[0])  # rows of another cell of the `by` columns count for queries of their own
    return inner if groups == 1 else [(*each, *zeros) for each in inner] + [(*zeros, *each) for each in inner]


def summed_column(e: Evidence, name: str) -> Document:
    """The field of the column that a block sums up; empty where it counts, or sums up codes, which are from 0 on."""
    entry, fields = entry_of(name, e), e.request["domain"].get("fields", [])
    found = [each for each in fields if entry.get("sum") == each["name"]]
    return next(iter(found or [each for each in fields if not entry and name.startswith(f"sum({each['name']})")]), {})


def lowest_bin(e: Evidence, name: str) -> tuple[Fraction, Fraction]:
    """Of the column that a block sums up: the least value, and no less than the largest one beside it in its bin."""
    field = summed_column(e, name)
    rules, bounds, whole = field.get("dpqr", {}), field.get("constraints", {}), field.get("type") == "integer"
    ends = rules.get("edges") or [bounds.get(each, 0) for each in ("minimum", "maximum")]
    low, high = (Fraction(digits(str(each))) for each in ends[:2])
    if "width" in rules:
        high = low + Fraction(digits(str(rules["width"])))
    elif "edges" not in rules and high > low:  # so many bins, or of whole numbers a bin each
        high = low + (high - low) / (rules.get("bins") or (high - low if whole else 1))
    return Fraction(math.ceil(low)) if whole else low, high


def of_sum(e: Evidence, name: str, grid: Fraction) -> list[Column]:
    """A row adds the middle of its bin to a sum."""
    field, columns = summed_column(e, name), {each["name"]: each for each in e.plan["domain"]["columns"]}
    edges = [Fraction(digits(str(edge))) for edge in field.get("dpqr", {}).get("edges", [])]
    column = columns.get(field.get("name"), {"cells": 0, "own_cells": []})
    if field.get("type") != "number" or column["cells"] - len(column["own_cells"]) != len(edges) - 1:
        raise NotChecked("the sensitivity of sums over bins without stated edges, or cut by the queries")
    return [((low + high) / 2 / grid,) for low, high in paired(edges[:-1], edges[1:])]


def conditions(detail: str) -> dict[str, Any]:
    """Read "age in [18, 58), sex = female": {"age": (end, end), "sex": "female"}; an end is (number, whether after)."""
    found: dict[str, Any] = {}
    for part in re.split(r", (?=[^,\[\]()]+ (?:in|=) )", re.sub(r"(\d{4})-(\d\d)-(\d\d)\b", r"\1\2\3", detail)):
        interval = re.fullmatch(r"(.*?)(?:^| in )([\[(])(-?[0-9.e+]+), (-?[0-9.e+]+)([\])])", part)
        below, label = re.fullmatch(r"(<=?) (-?[0-9.e+]+)", part), re.fullmatch(r"(.+?) = (.+)", part)
        if interval:
            low, high = Fraction(digits(interval[3])), Fraction(digits(interval[4]))
            found[interval[1]] = ((low, interval[2] == "("), (high, interval[5] == "]"))
        elif below:
            found[""] = ((-math.inf, False), (Fraction(digits(below[2])), below[1] == "<="))
        elif label:
            found[label[1]] = label[2]
        else:
            raise NotChecked(f"the sensitivity of conditions such as {detail!r}")
    return found


def of_conditions(rows: list[dict[str, Any]]) -> list[Column]:
    """Columns of 0 and 1: one for each combination of pieces into which the conditions cut their attributes."""
    pieces: dict[str, list[Any]] = {}
    for name in sorted({name for row in rows for name in row}):
        stated = [row[name] for row in rows if name in row]
        ends = sorted({end for one in stated if isinstance(one, tuple) for end in one})
        pieces[name] = ends[:-1] or [*sorted(set(stated)), ""]
    if math.prod(map(len, pieces.values())) > MOST_COLUMNS:
        raise NotChecked(f"the sensitivity of conditions with more than {MOST_COLUMNS} different columns")

    def meets(value: Any, condition: Any) -> bool:
        return bool(condition[0] <= value < condition[1] if isinstance(condition, tuple) else condition == value)

    cells = [dict(paired(pieces, cell)) for cell in product(*pieces.values())]
    return sorted({tuple(Fraction(all(meets(at[n], c) for n, c in row.items())) for row in rows) for at in cells})


def moves(columns: list[Column], replace: bool, power: int) -> Fraction:
    """The largest L1 norm (power 1) or squared L2 norm (2): of a column; under `replace` of a difference of two too."""
    zeros = (Fraction(0),) * len(columns[0])
    pairs = [(each, zeros) for each in columns] + (list(combinations(columns, 2)) if replace else [])
    return max(sum((abs(a - b) ** power for a, b in paired(*pair)), Fraction(0)) for pair in pairs)


def moved_by_unit(e: Evidence, measured: list[Document], power: int) -> tuple[Fraction, bool]:
    """How far one unit moves what one draw measured, and whether the event must state just that, or at least that.

    Blocks that are measured together add up. K rows move K times as far, squares K^2 times; with at most m of them in
    one cell, squares of a table of counts are largest where as many as possible are m.
    """
    whole, just = Fraction(0), True
    for one in measured:
        name, _ = e.block_of(one["name"])
        block = e.blocks.get(name, {"name": name, "queries": len(one["values"]), "grid": one["grid"]})
        need(block["grid"] == one["grid"], f"{name}: grids of the plan and of the draw differ")
        columns, rows = columns_of(block, e), e.rows**power
        if len(one["values"]) == 1 < block["queries"]:  # a choice of one query
            columns, just = [(max(each),) for each in columns], False
        elif e.most_in_cell and power == 2 and kind_of(name, e) in TABLES and len(columns) > 1:
            rows = e.rows // e.most_in_cell * e.most_in_cell**2 + (e.rows % e.most_in_cell) ** 2
        just = just and not (e.replace and len(columns[0]) > 1)
        whole += moves(columns, e.replace, power) * rows
    return whole, just


def moved_in_person_tables(e: Evidence, power: int) -> int:
    """How far one unit moves all tables of persons: a count by 1, a total and what it lacks of the range by the range
    together, both `times` as much on a finer grid; by bins of a total one count of a cell by 1. A replaced unit leaves
    as many cells as it enters. By 0: the cells.
    """
    moved = 0
    for one in e.people:
        total = one.get("total") or {}
        range_of = total["most"] - total["least"] if "least" in total else 1
        entered = min(whole(one["max_cells"]), cells_of(e, one["columns"])) * (2 if e.replace else 1)
        if "least" not in total:
            entered = min(entered, one["queries"])
        moved += entered * int(one.get("times", 1) * range_of) ** power
    return moved


# 5. Noise: deviations and tails of the laws, in units of the grid.


def law_of(law: Document) -> tuple[str, Fraction]:
    """A noise law's kind, and its parameter: a scale or a variance."""
    return law["kind"], exact(law["scale" if law["kind"] == "discrete-laplace" else "variance"])


@lru_cache(maxsize=256)
def weights(variance: float) -> list[float]:
    """The discrete Gaussian probabilities of 0, 1, ...: exp(-k^2 / (2 variance)) over their sum."""
    terms = [math.exp(-k * k / (2 * variance)) for k in range(math.ceil(40 * math.sqrt(variance)) + 2)]
    whole = 2 * math.fsum(terms) - 1
    return [term / whole for term in terms]


@lru_cache(maxsize=1024)
def deviation(kind: str, parameter: Fraction) -> float:
    """The standard deviation of one draw."""
    if kind == "discrete-laplace":
        rate = 1 / float(parameter)
        return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)
    variance = float(parameter)
    if kind == "rounded-gaussian":  # by Poisson summation
        waves = [((-1) ** m, 2 * (math.pi * m) ** 2) for m in range(1, 60)]
        error = sum(sign * (variance + 1 / (2 * w)) * math.exp(-w * variance) for sign, w in waves)
        return math.sqrt(variance + 1 / 12 + 4 * error)
    small = variance <= 2**16
    return math.sqrt(2 * math.fsum(w * k * k for k, w in enumerate(weights(variance))) if small else variance)


@lru_cache(maxsize=1024)
def half_interval(kind: str, parameter: Fraction, beta: float) -> int:
    """The smallest k with Pr[|draw| > k] <= beta; Gaussian probabilities, which are floats, are raised by 2^-20."""
    if kind == "discrete-laplace":  # the probability is 2 q^(k + 1) / (1 + q)
        with sixty_digits():
            log_q = -1 / dec(parameter)
            least_k = (Decimal(beta) * (1 + log_q.exp()) / 2).ln() / log_q - 1
            return max(0, int(least_k.to_integral_value(ROUND_CEILING)))
    variance, low, high = float(parameter), 0, 1 + math.ceil(40 * math.sqrt(parameter))
    while low < high:
        k = (low + high) // 2
        if kind == "discrete-gaussian" and variance <= 2**16:
            beyond = 2 * math.fsum(weights(variance)[k + 1 :])
        else:
            inner = k + 0.5 if kind == "rounded-gaussian" or k + 0.5 >= math.sqrt(variance) else k
            beyond = math.erfc(inner / math.sqrt(2 * variance))
        low, high = (low, k) if beyond * (1 + 2.0**-20) <= beta else (k + 1, high)
    return low


# 6. What lies there: the record, its plan, its answers.


class Evidence:
    """A record, and what lies beside it."""

    def __init__(self, path: str, ledger: str | None) -> None:
        """Read them."""
        described = Path(path.removesuffix(".record.json"))
        self.path, self.ledger = described if described.is_file() else Path(path), ledger
        beside = Path(f"{self.path}.record.json")
        place = self.path / "release.json" if self.path.is_dir() else beside if beside.exists() else self.path
        self.document: Document = read_json(place.read_text("utf-8"))
        self.plan: Document = self.document["plan"]
        self.version = tuple(map(int, self.document["version"].split(".")[:2]))
        self.of_release = self.document["dpqr"] == "release/1"
        self.private = self.document["private"] and not self.document.get("rehearsal")
        # What was charged, and what was planned.
        self.events, self.planned = events(self.document["events"]), events(self.plan["events"])
        self.epsilon, self.delta = (exact(self.plan["budget"][name]) for name in ("epsilon", "delta"))
        self.phases: Document = self.document["spent"].get("phases", {}) if self.of_release else {}
        self.prices: Document = self.document["spent"]["epsilon"] if self.of_release else self.document["spent"]
        self.session = "questions" in self.document or self.plan.get("schedule", {}).get("name") == "interactive"
        # Whom it protects.
        self.unit: Document = self.plan["unit"] if self.of_release else {"words": self.plan["unit"]}
        self.rows, self.replace = whole(self.unit.get("max_rows") or 1), self.unit.get("neighbours") == "replace"
        most = self.unit.get("max_rows_per_cell")
        self.most_in_cell = whole(most) if most else 0
        # What was asked.
        opened: Document = self.document.get("questions", {}).get("request", {"domain": {}})
        self.request: Document = self.plan.get("request") or {"queries": {"queries": []}, "domain": opened["domain"]}
        self.people: list[Document] = self.plan.get("person_tables") or []
        columns: list[Document] = (self.plan.get("domain") or {}).get("columns", [])
        self.sizes: dict[str, int] = {each["name"]: whole(each["cells"]) for each in columns}
        self.blocks: dict[str, Document] = {}
        self.first: dict[str, int] = {}  # the position of each block's first query among all
        for block in self.plan.get("workload", {}).get("blocks", []):
            self.first[block["name"]] = sum(each["queries"] for each in self.blocks.values())
            self.blocks[block["name"]] = block
        self.answers = rows_of(self.path / self.document["files"][0]) if self.of_release else {}

    def block_of(self, name: str) -> tuple[str, int | None]:
        """A block, and of "prefix(age)[7]" the row 7."""
        single = re.fullmatch(r"(.*)\[([0-9]+)\]", name)
        return (single[1], int(single[2])) if single and single[1] in self.blocks else (name, None)

    def measured(self) -> Iterator[tuple[Document, Document]]:
        """Each round with each part that it measured."""
        for one in self.document["transcript"]:
            for part in one["measured"] or []:
                yield one, part


def rows_of(table: Path) -> dict[str, list[Document]]:
    """The rows of a file of answers, by query; none of another form than CSV and JSON."""
    rows: Iterable[Document] = []
    if table.suffix == ".csv":
        with table.open(encoding="utf-8", newline="") as file:  # a name may hold any kind of line's end
            header, *lines = csv.reader(file, strict=True)
        need(len(set(header)) == len(header), "answers: two columns have one name")
        rows = [dict(paired(header, line)) for line in lines]
    elif table.suffix == ".json":
        stated = read_json(table.read_text("utf-8"))
        rows = [{key: "" if part is None else str(part) for key, part in row.items()} for row in stated]
    found: dict[str, list[Document]] = {}
    for row in rows:
        names = list(row)
        cells = tuple(row[each] for each in names[1 : names.index("detail")]) if "detail" in row else ()
        found.setdefault(row["query"], []).append({"detail": "", **row, "cells": cells})
    return found


# 7. Draws and answers.


LOST = NotChecked("draws that were paid, and lost in a crash")
CHOICES = ("exponential", "permute-and-flip", "above-threshold")
"""Kinds that add no noise to an answer."""


def claims_of_draws(e: Evidence) -> Iterator[Claim]:
    """Each draw is a charged event with the sensitivity of what it measured, and each charged event was drawn."""
    document = e.document
    draws: list[tuple[str, Document]] = [(n, document[n]) for n in ("dropped", "person_tables") if document.get(n)]
    draws += [(f"transcript.{n}", one) for n, one in enumerate(document["transcript"])]
    draws += [(f"errors.draws.{n}", one) for n, one in enumerate((document.get("errors") or {}).get("draws", []))]
    # Charges number the events. Those of an interactive session are not all in the record.
    charges = sorted(n for _, one in draws for n in one.get("charges", [one.get("charge")]))
    every = range(drawn := sum(count for _, count in e.events))  # a forged count may be far too large to walk over
    named = [n for n in sorted(set(charges)) if n in every]
    unnamed = 0 if e.session else drawn - len(named)
    planned = {"dropped": "left out", "person_tables": "persons", "errors": "errors", "bounds": "bounds"}
    lost = [name for name, phase in planned.items() if phase in e.phases and not document.get(name)]
    yield "charges of all draws", charges, named
    yield "charges that no draw names", unnamed, Range(0, len(lost))
    left = tally(e.events)
    if any(one.kind in CHOICES for one in left):
        yield "events", None, NotChecked("what choices must cost: their events state no sensitivity")
    for where, one in draws:
        if where.startswith("transcript"):
            yield from claims_of_choice(e, where, one)
        if one["law"] is not None:
            yield from claims_of_noise(e, where, one, left)
        else:
            yield f"{where}: numbers without noise", sorted({"measured", "error_sum"} & {n for n in one if one[n]}), []
    if unnamed:
        yield ", ".join(lost), None, LOST
    elif not e.session and all(one["law"] for _, one in draws):
        yield "events that no draw names", [one.kind for one in +left if one.kind not in CHOICES], []


def claims_of_noise(e: Evidence, where: str, one: Document, left: Counter[Event]) -> Iterator[Claim]:
    """A charged event is for this draw's law and sensitivity; it is taken from those that are left."""
    kind, parameter = law_of(one["law"])
    power, size = (1, "sensitivity") if kind == "discrete-laplace" else (2, "squared_sensitivity")
    values = sum(len(each["values"]) for each in one.get("measured") or [])
    moving = moved_in_person_tables(e, 0) if where == "person_tables" else 1 if values <= 1 else e.rows
    yield f"{where}.law.deviation", one["law"]["deviation"], deviation(kind, parameter)
    sizes: dict[Event, Fraction] = {}
    left_out = where == "dropped" and one["parallel"]
    for each in +left:
        stated = dict(each.parameters)
        of_law = each.kind == kind and parameter in (stated.get("scale"), stated.get("variance"))
        if of_law and each.left_out == left_out and stated.get("coordinates", moving) == moving:
            sizes[each] = stated[size]
    need(sizes, f"{where}.law: no charged event is for {kind} noise of {shown(parameter)} in {moving} numbers")
    paid = max(sizes, key=sizes.__getitem__)
    try:
        moved, just = moved_by_draw(e, where, one, power)
        enough = [each for each in sizes if sizes[each] >= moved]
        paid = min(enough, key=lambda each: (sizes[each], -len(each.parameters)), default=paid)
        yield f"{where}: {size} of its event", sizes[paid], Range(moved, moved if just else math.inf)
    except NotChecked as reason:
        yield where, None, reason
    left[paid] -= 1


def moved_by_draw(e: Evidence, where: str, one: Document, power: int) -> tuple[Fraction, bool]:
    """How far one unit moves what a draw measured, and whether the event must state just that, or at least that."""
    if where == "person_tables":
        return Fraction(moved_in_person_tables(e, power)), True
    if where == "dropped":
        return Fraction(e.rows**power), True
    if "groups" in one:  # each block's error is counted in what one unit moves it by
        parts = [1 if one["of"] == "largest" else len(group) for group in one["groups"]]
        return Fraction(sum((64 * part) ** power for part in parts)), True
    if "error_sum" in one:
        return Fraction(64**power), False
    return moved_by_unit(e, one["measured"], power)


def claims_of_choice(e: Evidence, where: str, one: Document) -> Iterator[Claim]:
    """A round that chose has paid for a choice before its noise; a query's choice is its position among all."""
    choice, measured = one["choice"], one["measured"] or []
    if one["law"] is not None:
        yield f"{where}.charges: how many", len(one["charges"]), 0 if e.session else 1 if choice is None else 2
    if choice is None:
        return
    name, row = e.block_of(measured[0]["name"]) if measured else ("", None)
    if row is not None:
        yield f"{where}.choice", choice, e.first[name] + row
    else:
        yield f"{where}.choice", choice, Range(0, sum(block["queries"] for block in e.blocks.values()))
        yield f"{where}.choice", None, NotChecked("which position a candidate had among others: no record lists them")


MISSES = math.nextafter(1 - 0.95, 0)
"""The probability that an interval misses."""


class Drawn(NamedTuple):
    """What draws say of an answer; half: of the interval, None without one, NaN where this file derives none.

    summed: of several draws; where the estimate's interval is narrower, that is shown.
    """

    value: float
    spread: float
    half: float | None
    summed: bool = False


Answers = dict[tuple[str, int], Drawn]
"""By block and row."""


def cells_of(e: Evidence, columns: list[str]) -> int:
    """Cells of a table of these columns."""
    return math.prod(e.sizes[column] for column in columns)


def drawn_answers(e: Evidence) -> Answers:
    """Of each draw the noisy answer. The last one counts; draws of one block share the probability of missing."""
    found: Answers = {}
    search, opened = "search" in e.phases, {name for names in e.plan["opening"] for name in names}
    drawn: Counter[tuple[str, int]] = Counter()
    staged: Counter[tuple[str, int]] = Counter()
    for one, part in e.measured():
        name, row = e.block_of(part["name"])
        if name not in e.blocks:
            continue
        rows: Any = range(len(part["values"])) if row is None else [row]
        if one["choice"] is not None and len(part["values"]) < e.blocks[name]["queries"]:
            rows = [one["choice"] - e.first[name]]  # the choice is a position among all queries
        # What was chosen by a search has no interval; by stages, the narrowest of all draws.
        key, chosen = (name, rows[0]), search and one["choice"] is not None
        if chosen and e.plan.get("stages"):
            staged[key] += 1
            new = noisy(name, rows, part, one["law"], MISSES * (0.9 / (staged[key] * (staged[key] + 1))))
            halves = [(found[at].half or math.inf, one.half or 0.0) for at, one in new.items() if at in found]
            found.update(new if all(earlier >= later for earlier, later in halves) else {})
            continue
        shares = (0.1, 0.6, 0.3) if search and name in opened else (1.0,)
        if drawn[key] >= (1 if chosen else len(shares)):
            continue
        beta = None if chosen else MISSES * shares[drawn[key]]
        drawn[key] += not chosen
        found.update(noisy(name, rows, part, one["law"], beta))
    people = e.document.get("person_tables") or {"measured": []}
    for part in people["measured"]:
        found.update(noisy(part["name"], range(len(part["values"])), part, people["law"], MISSES))
    return found


def answers_of_session(e: Evidence) -> Answers:
    """Of each surprise the noisy answer, the first number that it drew. Each answered query is a row of its own."""
    asked, found = e.document["questions"], Answers()
    places = [(number, *one[:2]) for number, ask in enumerate(asked["asks"]) for one in ask["answers"]]
    names = dict(paired(places, e.answers))
    for (number, block, row, _), (one, part) in paired(asked["surprises"], e.measured()):
        name = names.get((number, block, row))  # none where a crash came between draw and answer
        if name is not None:
            found.update(noisy(name, [0], {**part, "values": part["values"][:1]}, one["law"], MISSES))
    return found


def noisy(name: str, rows: Iterable[int], part: Document, law: Document, beta: float | None) -> Answers:
    """Values times their grid, with noise of one law and intervals that miss with probability beta."""
    (kind, parameter), grid = law_of(law), float(exact(part["grid"]))
    spread, half = deviation(kind, parameter) * grid, None
    if beta is not None:
        half = half_interval(kind, parameter, beta) * grid
    return {(name, row): Drawn(value * grid, spread, half) for row, value in paired(rows, part["values"])}


def summed_answers(e: Evidence) -> Answers:
    """Marginals that are sums of cells of the full table, where that was measured and no search ran."""
    found: Answers = {}
    tables = (
        [] if "search" in e.phases else [each for each in e.measured() if each[1]["name"] == "table of all columns"]
    )
    for (one, part), (name, block) in product(tables, e.blocks.items()):
        columns, sums = block["columns"], Counter[Any]()
        fewer = e.most_in_cell and len(columns) < len(e.sizes)  # such tables count other rows
        if fewer or kind_of(name, e) not in (*TABLES, "total") or block["queries"] != cells_of(e, columns):
            continue
        need(len(part["values"]) == math.prod(e.sizes.values()), "a table of all columns has not a value for each cell")
        for cell, value in paired(product(*map(range, e.sizes.values())), part["values"]):
            at = dict(paired(e.sizes, cell))
            sums[tuple(at[column] for column in columns)] += value
        spread = math.sqrt(len(part["values"]) / block["queries"]) * deviation(*law_of(one["law"]))
        for row, cell in enumerate(sorted(sums)):
            found[name, row] = Drawn(float(sums[cell]), spread, math.nan, summed=True)
    return found


def may_be_sums(e: Evidence, parts: list[str]) -> set[str]:
    """Blocks whose answers may be sums of draws: of a strategy, or, if the plan chooses nothing, of a wider table."""
    if any(kind_of(part, e) in WEIGHTED for part in parts):
        return set(e.answers)
    if "search" in e.phases or "selection" in e.phases:
        return set()
    tables = [part for part in parts if kind_of(part, e) in (*TABLES, *COUNTED)]
    known = {"table of all columns": {"columns": list(e.sizes)}, **e.blocks}
    wide = [set(known[part]["columns"] if part in known else columns_in(part)) for part in tables]
    return {name for name, block in e.blocks.items() if any(set(block["columns"]) <= each for each in wide)}


def claims_of_answers(e: Evidence) -> Iterator[Claim]:
    """Measured answers, their noise and their intervals follow from the draws."""
    if not e.answers:
        raise NotChecked("answers are read from CSV and JSON alone; the hash of the file is checked")
    if e.session and not e.document.get("questions", {}).get("rule"):
        need(e.version <= (0, 10), "questions.rule is missing")
        raise NotChecked("answers of a session of 0.10.0 or before: they state another noise than was drawn")
    drawn = answers_of_session(e) if e.session else {**summed_answers(e), **drawn_answers(e)}
    parts = [e.block_of(part["name"])[0] for _, part in e.measured()]
    if len(parts) > len(set(parts)) or not set(parts) <= set(e.answers):
        yield "transcript", None, NotChecked("values of draws that no answer states: a ledger holds a hash of them")
    counts = [(name, len(rows)) for name, rows in e.answers.items()]
    people = e.people if e.document.get("person_tables") else []
    asked = [(one["name"], one["queries"]) for one in (*e.blocks.values(), *people)]
    yield "answers", counts, asked
    sums = may_be_sums(e, parts) - {name for name, _ in drawn}
    for name, rows in e.answers.items():
        least, beside = lowest_bin(e, name)
        if least < 0 <= least + beside:
            words = "whether sums over a bin from below 0 to above it can be negative: queries may cut it"
            yield name, None, NotChecked(words)
        floor = 0.0 if least + beside >= 0 else -math.inf
        for row, line in enumerate(rows):
            stated = line, drawn.get((name, row)), name in sums, floor
            yield from claims_of_answer(e, f"{name}, row {row + 1}", *stated)


def claims_of_answer(
    e: Evidence, where: str, line: Document, drawn: Drawn | None, sums: bool, floor: float
) -> Iterator[Claim]:
    """A row: what was measured, on what its interval stands, and the interval; no true answer lies below `floor`."""
    names = ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
    estimate, error, measured, noise, low, high = (float(digits(line[n])) if line.get(n) else None for n in names)
    basis: str | None = line.get("basis") or None
    basis_may: set[str | None] = {None, "estimate", "certified", *(["compared"] if e.session else [])}
    ends: set[tuple[float, float]] = set()
    if drawn is not None:
        yield f"{where}, measured", (measured, noise), (drawn.value, drawn.spread)
        if drawn.half is not None:
            before = "certified" if e.plan.get("stages") else None  # of stages, until 0.11.0
            basis_may = {None, "measured", "estimate" if drawn.summed else before}
        if drawn.half is not None and math.isnan(drawn.half):
            yield where, None, NotChecked("intervals of sums of a table's cells: bounds by numerical search")
        elif drawn.half is not None and low is not None and basis == ("measured" if "basis" in line else None):
            proved = (drawn.value - drawn.half, drawn.value + drawn.half)
            whole = float(round(estimate or 0.0))
            ends = {proved, (min(proved[0], whole), max(proved[1], whole))}  # since 0.11.0 it reaches the estimate
    elif sums:
        basis_may.add("measured")
        yield where, None, NotChecked("measured answers that are weighted sums of draws: no record holds the weights")
    else:
        yield f"{where}, measured", (measured, noise), (None, None)
    yield f"{where}, basis", basis, basis_may
    if basis == "estimate" and estimate is not None and error is not None:
        ends = {(estimate - 1.96 * error, estimate + 1.96 * error)}
    ends |= {(max(floor, start), max(floor, end)) for start, end in ends}  # since 0.12.0
    if basis == "certified" and estimate is not None:
        certificate = e.document["certificate"]["records"] * (1 - 1e-9)
        yield f"{where}, lower", low, Range(-math.inf, max(floor, estimate - certificate))
        yield f"{where}, upper", high, Range(estimate + certificate, math.inf)
    if basis == "compared":
        yield f"{where}, lower", low, Range(0.0 if e.version >= (0, 12) else -math.inf, estimate)
        yield where, None, NotChecked("intervals of free answers: how far thresholds reach (`dpqr verify`)")
    if ends or basis is None:
        yield f"{where}, lower and upper", (low, high), ends or {(None, None)}


# 8. The ledger: a chain of entries; per dataset a limit, and costs that are no less than those of the events.

ENTRIES = (
    *("open", "init", "reserve", "draw", "record", "settle", "reject"),
    *("policy", "approve", "anchor", "checkpoint", "move", "arrive"),
)
"""Kinds of entries; one of another kind could hide what was spent."""
DRAWN = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights", "person_tables")
"""What the `drawn` of a settlement is the hash of, as far as a record holds it."""


def lines_of(ledger: str | None) -> list[Document]:
    """Of an export: {"entry", "seal"}, or {"text", "seal"} of what the rules refused."""
    found = [read_json(line) for line in Path(ledger or "").read_text("ascii").splitlines()]
    need(all({*line} in ({"entry", "seal"}, {"text", "seal"}) for line in found), "a line is no entry with its seal")
    return found


def amounts(part: Any) -> tuple[Fraction, Fraction]:
    """A cost: an amount alone, or epsilon and delta."""
    return (exact(part[0]), exact(part[1])) if isinstance(part, list) else (exact(part), Fraction(0))


def claims_of_entries(e: Evidence) -> Iterator[Claim]:
    """The chain holds, each reservation and settlement states no less than its events cost, no limit is exceeded."""
    terms: dict[str, Document] = {}
    runs: dict[int, Document] = {}
    drawn: dict[int, Counter[Event]] = {}
    void: list[int] = []
    rejected: set[int] = set()
    before = ""
    for position, line in enumerate(lines_of(e.ledger)):
        where, entry = f"ledger entry {position}", line.get("entry") or {"entry": "void", "number": position}
        kind, text = entry["entry"], line.get("text", entry)
        need(kind in ENTRIES or "text" in line, f"{where}: {kind!r} is no kind of entry")
        # A seal covers all seals before it.
        sealed = text if isinstance(text, str) else canonical(text)
        yield f"{where}: seal and number", (line["seal"], entry["number"]), (sha256(f"{before}\n{sealed}"), position)
        before = line["seal"]
        if kind == "void":
            void.append(position)
        elif kind == "reject":
            rejected.update(entry["rejects"])
        elif kind == "init":
            need(entry["dataset"] not in terms, f"{where}: the dataset has a budget already")
            yield from claims_of_limit(where, entry)
            terms[entry["dataset"]] = {**entry, "spent": (Fraction(0), Fraction(0))}
        elif kind in ("draw", "record"):
            yield f"{where}: dataset", entry["dataset"], runs.get(entry["run"], {}).get("dataset")
            drawn.setdefault(entry["run"], Counter()).update(tally(events(entry.get("events", []))))
        elif kind == "reserve":
            runs[position] = entry
            yield from claims_of_cost(where, entry, terms[entry["dataset"]], entry)
        elif kind == "settle":
            # What was settled is what was drawn, or all that was planned.
            run, made = runs.pop(entry["settles"]), drawn.get(entry["settles"], Counter())
            stated, planned = tally(events(entry["events"])), tally(events(run["events"]))
            covered = not made - planned or any(one.kind.endswith("-sum") for one in planned)
            kept = stated == made or (stated == planned and covered)
            yield f"{where}: dataset, events that were drawn", (entry["dataset"], kept), (run["dataset"], True)
            yield from claims_of_cost(where, entry, terms[entry["dataset"]], run)
    # What the rules refuse is void, costs nothing, and is there only where the ledger's owner has rejected it since.
    yield "ledger: void entries, as rejected", [each for each in void if each not in rejected], []
    if void:
        yield "void", None, NotChecked("that rejected entries broke the rules (`dpqr budget verify`)")


def claims_of_limit(where: str, entry: Document) -> Iterator[Claim]:
    """The limit of a budget, converted, proves no more than its epsilon and delta."""
    delta, limit, currency = exact(entry["delta"]), amounts(entry["limit"]), entry["accountant"]
    convert = {"zcdp": of_rho, "gdp": of_mu2}.get(currency)
    covers = convert(limit[0], delta) if convert else limit[0]
    yield f"{where}: limit", (covers, limit[1]), (Range(0, exact(entry["epsilon"])), Range(0, delta))


def claims_of_cost(where: str, entry: Document, budget: Document, run: Document) -> Iterator[Claim]:
    """A cost is no less than that of the events, a settlement's no more than was reserved; all fit into the budget."""
    stated, settles, limit = amounts(entry["cost"]), run is not entry, amounts(budget["limit"])
    reserved = amounts(run["cost"]) if settles else (Fraction(0), Fraction(0))
    most: tuple[Any, Any] = reserved if settles else (math.inf, math.inf)
    try:
        cost = least_cost(budget, run, events(entry["events"]))
        if not entry["events"]:
            cost = (Fraction(0), Fraction(0))
        elif settles and cost[1]:
            cost = reserved  # what a theorem with a delta proved is not given back in parts
        yield f"{where}: cost", stated, tuple(Range(*ends) for ends in paired(cost, most))
    except NotChecked as reason:
        yield where, None, reason
    booked = paired(paired(budget["spent"], stated), reserved)
    budget["spent"] = tuple(before + each - returned for (before, each), returned in booked)
    budget["layers"] = budget.get("layers", False) or "layer" in entry
    if "periods" in budget or budget["layers"]:
        words = "what one unit pays over periods and counters, and that it fits the budget (`dpqr budget verify`)"
        yield where, None, NotChecked(words)
    else:
        cap = amounts(budget["cap"]) if budget.get("cap") else limit
        yield f"{where}: cost, by the cap", stated, tuple(Range(0, each) for each in cap)
        yield f"{where}: spent in all, by the limit", budget["spent"], tuple(Range(0, each) for each in limit)


def least_cost(budget: Document, run: Document, composition: Composition) -> tuple[Any, Any]:
    """What events cost at least, in the currency of a budget: rho, mu^2, epsilon, or a pair of epsilon and delta."""
    currency, slack, delta = budget["accountant"], Fraction(1, 10**25), Fraction(0)
    name = {"basic": "basic", "zcdp": "rho", "gdp": "squared_mu"}[currency]
    if currency == "basic" and exact(budget["delta"]):  # the run's own accountant proves a pair
        name, slack = run.get("accountant", "basic"), Fraction(1, 2**29)
        delta = exact(run.get("delta", "0")) if name != "basic" else delta
        if name == "basic" and any(one.kind == "label-selection" for one, _ in composition):
            return summed(composition)
    found = price(name, composition, delta)
    return math.inf if found is None else found * (1 - slack), delta


def claims_of_ledger(e: Evidence) -> Iterator[Claim]:
    """The entry that paid, and the one that settled it, are for this record."""
    stated, document = e.document["ledger"], e.document
    if not isinstance(stated, dict):
        yield "ledger", ({"none": None}.get(stated, stated), e.ledger), (None, None)
        return
    if e.ledger is None:
        raise NotChecked("give the export of the ledger that paid, by --ledger")
    lines = [{"entry": {"events": []}, **line} for line in lines_of(e.ledger)]  # a void entry pays for nothing
    row = dict(enumerate(lines)).get(stated["entry"], {"entry": {"events": []}, "seal": None})
    paid: Document = row["entry"]
    yield "ledger: seal and dataset", (stated["seal"], stated["dataset"]), (row["seal"], paid.get("dataset"))
    yield "ledger: kind of entry", paid.get("entry"), "reserve"
    # Costs of other units do not add up.
    terms = [each["entry"] for each in lines if each["entry"].get("entry") == "init"]
    whom = next((each["unit"] for each in terms if each["dataset"] == stated["dataset"]), None)
    yield "unit, as of the budget", f"{e.unit['words']};".startswith(f"{whom};"), True
    yield "plan.events, as reserved", tally(e.planned), tally(events(paid["events"]))
    plan = document.get("questions", {}).get("plan") or e.plan.get("sha256")
    yield "plan.sha256, as reserved", plan, paid.get("plan", plan if e.version < (0, 10) else None)
    for name in ("purpose", "by", "approved_by"):
        yield name, document.get(name), paid.get(name) or (paid.get("reason") or {}).get(name)
    yield from claims_of_learned(e, lines)
    settled = next((each["entry"] for each in lines if each["entry"].get("settles") == stated["entry"]), None)
    if settled is None:
        raise NotChecked("what was drawn, by the ledger: the entry that paid is not settled yet")
    made = tally(events(settled["events"]))
    yield "events, as settled", made, made if made == tally(e.planned) else tally(e.events)
    parts = {name: document[name] for name in DRAWN if name in document}
    if not {"transcript", "draws", "weights"} & set(parts):
        parts["files"] = sorted(document.get("hashes", {}).values())
    digest = sha256(parts)
    yield ", ".join(parts), digest, settled.get("drawn", digest if e.version < (0, 11) else None)
    number, charged = r"([0-9.]+(?:e-?[0-9]+)?)", stated.get("charged")
    if charged:
        figures = re.fullmatch(rf"(?:epsilon|rho|mu\^2) {number}|\(epsilon {number}, delta {number}\)", charged)
        if figures is None:
            raise Refused(f"ledger.charged: stated {shown(charged)}, which is no cost")
        stated_costs = [*filter(None, figures.groups()), "0"][:2]  # without a delta it is 0
        for text, cost in paired(stated_costs, amounts(settled["cost"])):
            yield "ledger.charged", text, Range(cost, cost * (1 + Fraction(1, 10**5)))


def plain_number(part: Document) -> Any:
    """A number that a record holds in more digits than a double; any other object as it is."""
    return json.loads(part["$decimal"]) if part.keys() == {"$decimal"} else part


def claims_of_learned(e: Evidence, lines: list[Document]) -> Iterator[Claim]:
    """The entries that paid for what was learned of the domain cost no more than it states. A domain that names none
    was learned by none: no settlement holds the hash of its file without what that says of its price."""
    named, domain = e.plan["domain"].get("learned", {}).get("ledger", []), (e.plan.get("request") or {}).get("domain")
    if not named and isinstance(domain, dict):
        text = canonical({key: part for key, part in domain.items() if key != "learned"})
        digest = sha256(json.loads(text, object_hook=plain_number))
        entries = [line.get("entry", {}) for line in lines]
        runs = [entry["settles"] for entry in entries if entry.get("drawn") == digest]
        yield "plan.domain.learned: entries whose runs learned this domain", [], runs
    for number, stated in enumerate(named):
        where = f"plan.domain.learned.ledger.{number}"
        paid = next((line["entry"] for line in lines if line["seal"] == stated["seal"]), None)
        if paid is None:
            yield where, None, NotChecked("what was learned of the domain: another ledger paid for it")
            continue
        named = stated["dataset"], stated["entry"]
        yield where, ("reserve", *named), (paid["entry"], paid["dataset"], paid["number"])
        for name, least in paired(("epsilon", "delta"), summed(events(paid["events"]))):
            yield f"{where}.budget.{name}", exact(stated["budget"][name]), Range(least, math.inf)


# 9. The table of checks: a field of the record, and what follows for it. * stands for every key or position, which the
# function is handed. A name with ? may be absent, or null where more follows. A row without a field yields its claims.


def hash_of_file(e: Evidence, name: str) -> str:
    """The hash of a file of the release; of predictions there is one file."""
    need(Path(name).name == name, f"{name} is no name of a file")
    return sha256((e.path / name if e.of_release else e.path).read_bytes())


def claims_of_names(e: Evidence) -> Iterator[Claim]:
    """Seals and hashes may be missing in old versions alone; all files of a release have hashes."""
    if e.version >= ((0, 4) if e.of_release else (0, 7)):
        there = ["sha256" in e.document, "sha256" in e.plan, "hashes" in e.document or "weights" in e.document]
        yield "sha256, plan.sha256, hashes: whether they are there", there, [True, True, True]
    if not e.of_release and "hashes" in e.document:
        yield "hashes: how many", len(e.document["hashes"]), 1
    if e.of_release:
        if e.version >= (0, 4):
            yield "plan.request, or questions: whether it is there", bool(e.plan.get("request")) or e.session, True
        names = {each.name for each in e.path.iterdir()} - {"release.json"}
        yield "files: whether they are there", set(e.document["files"]) <= names, True
        # The first one is checked; readers open the one that is called so.
        of_answers = [each for each in names if each.startswith(("answers", "rehearsal-answers"))]
        yield "files: of answers", of_answers, e.document["files"][:1]
        yield "hashes: their names", sorted(e.document.get("hashes", names)), sorted(names)


def said(text: str, pattern: str) -> str | None:
    """What a text says at the first group of a pattern."""
    found = re.search(pattern, text)
    return found and found[1]


def rows_of_each(e: Evidence) -> int | None:
    """The bound in the words of the unit; None: these name none."""
    return int(said(e.unit["words"], "([0-9]+) rows? of each") or 0) or None


def claims_of_guarantee(e: Evidence) -> Iterator[Claim]:
    """The words name the budget and the unit, unless no real row was read or no noise was real."""
    words, number = e.document["guarantee"], r"([0-9.]*[0-9](?:e[+-]?[0-9]+)?)"
    yield "guarantee", words.startswith("Differentially private with"), e.private
    if not e.private:
        raise NotChecked("the words of a record that claims nothing")
    figures = [("epsilon = ", e.epsilon), ("delta = ", e.delta)]
    figures += [("more: epsilon ", in_all(e, "epsilon"))] if "whole" in e.plan else []
    for name, value in figures:
        yield "guarantee", said(words, name + number), Range(value, value * (1 + Fraction(1, 10**10)))
    yield "guarantee", re.search(rf", for {re.escape(e.unit['words'])}[.,;:]", words) is not None, True


def in_all(e: Evidence, name: str) -> Fraction:
    """Epsilon or delta of the run, and of what was learned of its domain before."""
    return exact(e.plan["budget"][name]) + exact(e.plan["domain"]["learned"]["budget"][name])


def learned_price(e: Evidence, name: str) -> Range:
    """What was learned has cost what entries of ledgers paid for it, or more."""
    entries = e.plan["domain"]["learned"].get("ledger", [])
    return Range(sum(exact(one["budget"][name]) for one in entries), math.inf)


def entries_elsewhere(e: Evidence) -> Iterator[Claim]:
    """Without a ledger nothing holds the seals of the entries that a learned domain names."""
    if e.ledger is None and "ledger" in e.plan["domain"].get("learned", {}):
        yield "plan.domain.learned.ledger", None, NotChecked("entries that paid for the domain: no ledger was given")


def columns_of_unit(e: Evidence) -> list[str]:
    """The columns that say whose a row is; none: a row is its own."""
    return e.unit.get("columns") or [each for each in [e.unit.get("column")] if each]


def words_of_unit(e: Evidence) -> set[str]:
    """Whom the fields of a unit protect. Noise follows from the fields, and readers trust the words: they are the same.

    Of replaced rows they may add that rules leave some out, which no field says.
    """
    change, known = ("replaced by another", "public") if e.replace else ("added or removed", "private")
    counted, per = e.unit.get("counts"), e.unit.get("per")
    if counted:
        record = f"one record counted in column {counted!r} {change} (the number of records is {known})"
        return {f"{record}; the table is a histogram"}
    if not columns_of_unit(e):
        row = f"one row of the table {change} (the number of rows is {known})"
        return {row, f"{row}; how many of them the domain's rules keep is private"} if e.replace else {row}
    person, *others = map(repr, columns_of_unit(e))
    rows = f"at most {e.rows} rows of each are used" if e.rows > 1 else "at most 1 row of each is used"
    rows += f", at most {e.most_in_cell} in one cell of a table" if e.most_in_cell else ""
    if not others:
        return {f"one person (column {person}) with all their rows {change} (the number of persons is {known}); {rows}"}
    date = f" in one {per} (by the date in column {others.pop()})" if per else ""
    one = f" at one value of column {others[0]}" if len(others) == 1 else ""
    several = f" at one value each of columns {', '.join(others[:-1])} and {others[-1]}" if len(others) > 1 else ""
    where = f"{one}{several}{date}, with all their rows there {change} (the number of such units is {known})"
    return {f"one person (column {person}){where}; {rows}; not protected as a whole: one person in several such units"}


def claims_of_left_out(e: Evidence) -> Iterator[Claim]:
    """Draws from left-out rows cost nothing in addition to others only where a unit is one row that comes or goes.

    It is kept or left out. A replaced one may be either, and of a person's rows some may be kept and others left out.
    """
    parallel = e.of_release and not e.replace and not columns_of_unit(e)
    stated = any(one.left_out for one, _ in (*e.events, *e.planned))
    yield "events: draws from left-out rows, in parallel", stated, {False, parallel}


def claims_of_phases(e: Evidence) -> Iterator[Claim]:
    """The planned events are those of the phases, one after another; each phase costs what is stated."""
    yield "spent.phases: whether they are there", bool(e.phases) or e.version < (0, 2), True
    start = 0
    for name, stated in e.phases.items():
        # The phase ends where most of its prices agree: at the first such event, or the last if it costs nothing.
        ends = []
        for stop in range(start, len(e.planned) + 1):
            prices = [(part, priced(each, e.planned[start:stop], e.delta)) for each, part in stated.items()]
            ends.append((sum(agrees(part, follows) for part, follows in prices), stop, prices))
        best = [end for end in ends if end[0] == max(score for score, _, _ in ends)]
        _, start, prices = best[-1] if stated["basic"] and not exact(stated["basic"]) else best[0]
        for each, (part, follows) in paired(stated, prices):
            yield f"spent.phases.{name}.{each}", part, follows
    yield "plan.events: how many are of no phase", len(e.planned) - start if e.phases else 0, 0


WHOLE = NotChecked("prices of single draws in a phase that is planned as a whole")


def claims_of_prices(e: Evidence) -> Iterator[Claim]:
    """A plan states what one draw of each of its phases costs, and of no other; a search is planned as a whole."""
    for noun, stated in e.plan["price"].items():
        planned = noun.replace("dropped", "left out") in e.phases
        if e.phases and not planned and "search" not in e.phases:
            yield f"plan.price.{noun}", stated, [] if noun == "stages" and not isinstance(stated, str) else None
        for currency, part in stated.items() if isinstance(stated, dict) else []:
            yield f"plan.price.{noun}.{currency}", part, one_draw(e, currency) if planned else WHOLE


def one_draw(e: Evidence, currency: str) -> Any:
    """What one planned draw costs; parameters are rounded to the safe side."""
    losses = [each for each in (loss(currency, one) for one, _ in e.planned) if each is not None]
    if not losses and currency != "epsilon":
        return NotChecked(f"the price of a perturbed objective in {currency}: its events are priced together")
    return {Range(each, each * (1 + Fraction(1, 10**5))) for each in losses} or Range(e.epsilon / 2, e.epsilon)


def planned_deviation(e: Evidence) -> Any:
    """A learner whose records are counted first has a plan without it."""
    planned = e.plan["noise_deviation"]
    return NotChecked("the noise of a learner whose records were counted first") if planned is None else planned


def asked_budget(e: Evidence) -> Document:
    """What the request states: of a counter the budget of its whole life."""
    stated: Document = e.plan["counter"]["life"] if e.plan.get("counter") else e.plan["budget"]
    return stated


def asked_unit(e: Evidence) -> Any:
    """The option that names the columns of the unit; it may be missing where the domain names them."""
    asked = e.plan["request"]
    domain = asked.get("domain") or asked["queries"].get("domain") or {}
    named_there = "unit" in domain and asked["options"]["unit"] is None
    return None if named_there else e.unit.get("columns") or e.unit["column"]


def left_out_in_receipt(e: Evidence) -> Any:
    """The receipt names the noisy count of the rows that were left out."""
    stated = said(json.dumps(e.document.get("receipt")), r'"Left out", "(-?[0-9,]+) ')
    return int(stated.replace(",", "")) if stated else NotChecked("the count of left-out rows: there is no receipt")


def price_of_run(e: Evidence) -> Iterator[Claim]:
    """What was drawn is what was planned, where nothing is chosen; it costs no more than the plan proves."""
    at_once = set(e.phases) <= {"left out", "opening", "persons"} if e.phases else "draws" not in e.document
    if at_once and (e.phases or not e.of_release):
        yield "events, as planned", tally(e.events), tally(e.planned)
    proved, run = exact(e.plan["proved_epsilon"]), price(e.plan["accountant"], e.events, e.delta)
    yield "events: their price", math.inf if run is None else run, Range(0, proved * (1 + Fraction(1, 10**9)))


def person_grid(e: Evidence, number: int) -> Fraction:
    """Of a table of persons: the step of totals, over the times that it is counted."""
    one = e.people[number]
    return Fraction((one.get("total") or {}).get("step", 1)) / int(one.get("times", 1))


def grid_of(e: Evidence, number: int) -> Any:
    """Counts are whole."""
    sums = kind_of(e.plan["workload"]["blocks"][number]["name"], e) in SUMS
    return NotChecked("grids of sums: that they are the coarsest") if sums else "1"


Check = tuple[str, Callable[..., Any]]
PREDICTED = NotChecked("predictions and counts, from their draws or otherwise")
CHECKS: dict[str, list[Check]] = {
    # Of every record.
    "record": [
        ("dpqr", lambda _: {"release/1", "prediction/1", "model/1"}),
        ("plan.dpqr", lambda e: "plan/1" if e.of_release else "prediction-plan/1"),
        ("plan.version?", lambda e: e.document["version"]),
        ("versions?.dpqr", lambda e: e.document["version"]),
    ],
    "hashes": [
        ("sha256?", lambda e: seal_of(e.document)),
        ("plan.sha256?", lambda e: seal_of(e.plan)),
        ("hashes?.*", hash_of_file),
        ("", claims_of_names),
    ],
    "guarantee": [
        ("private", lambda _: {True, False}),
        ("", claims_of_guarantee),
        ("plan.guarantee", lambda e: e.document["guarantee"] if e.private else e.plan["guarantee"]),
        ("plan.whole?.*", in_all),
        ("plan.domain.learned?.budget.*", learned_price),
        ("", entries_elsewhere),
        ("plan.request?.options.epsilon", lambda e: exact(asked_budget(e)["epsilon"])),
        ("plan.request?.options.delta", lambda e: exact(asked_budget(e)["delta"]) or None),
        ("plan.counter?.life", lambda _: NotChecked("what all releases of a counter cost together (`dpqr verify`)")),
    ],
    "prices": [
        ("plan.accountant", lambda e: e.document["spent"].get("charged", e.plan["accountant"])),
        ("plan.proved_epsilon", lambda e: exact(e.prices[e.plan["accountant"]])),
        ("plan.proved_epsilon", lambda e: Range(0, e.epsilon)),
        ("", price_of_run),
        ("", claims_of_left_out),
    ],
    "draws": [("plan.domain.cells", lambda e: math.prod(e.sizes.values()))],
    "ledger": [("", claims_of_ledger)],
}
OF_RELEASES: dict[str, list[Check]] = {
    "guarantee": [
        ("unit", lambda e: e.unit["words"]),
        ("plan.unit.neighbours", lambda e: "replace" if e.replace else "add-remove"),
        ("plan.unit.words", words_of_unit),
        ("plan.request?.options.neighbours", lambda e: e.unit["neighbours"]),
        ("plan.request?.options.unit", asked_unit),
        ("plan.request?.options.per?", lambda e: e.unit.get("per")),
        ("plan.request?.options.max_rows_per_cell?", lambda e: e.unit.get("max_rows_per_cell")),
        ("plan.request?.options.max_rows", lambda e: {None, e.rows}),
        ("plan.request?.options.n", lambda e: {None, *map(e.plan.get, ("n", "persons", "most"))}),
    ],
    "prices": [
        ("spent.delta", lambda e: e.delta),
        ("spent.epsilon.*", lambda e, name: priced(name, e.planned, e.delta)),
        ("spent.epsilon.pld?", least_of_pld),
        ("", claims_of_phases),
        ("", claims_of_prices),
    ],
    "draws": [
        ("dropped?.estimate", left_out_in_receipt),
        ("errors?.fineness", lambda _: 64),
        ("errors?.units", lambda _: NotChecked("bought errors and the bounds from them: nothing else states them")),
        ("plan.workload.blocks.*.grid", grid_of),
        ("plan.workload.queries", lambda e: sum(one["queries"] for one in e.blocks.values())),
        ("person_tables?.measured.*.grid", lambda e, number: str(person_grid(e, number))),
        ("", claims_of_draws),
    ],
    "answers": [
        ("intervals?.level", lambda _: 0.95),
        ("certificate?", lambda _: NotChecked("how far a certificate reaches: it takes the fit (`dpqr verify`)")),
        ("certificate?.records", lambda e: min(x["certified"] for x in e.document["transcript"] if "certified" in x)),
        ("certificate?.fraction", lambda e: e.document["certificate"]["records"] / (e.plan["n"] or e.plan["most"])),
        ("", claims_of_answers),
    ],
}
OF_PREDICTIONS: dict[str, list[Check]] = {
    "guarantee": [("plan.request?.options.max_rows?", lambda e: {None, rows_of_each(e)})],
    "prices": [
        ("spent.*", lambda e, name: priced(name, e.planned, e.delta)),
        ("spent.pld?", least_of_pld),
        ("plan.price?.*", one_draw),
        ("plan.counting?.*", one_draw),
    ],
    "draws": [
        ("noise_deviation?", planned_deviation),
        ("counted?", lambda _: PREDICTED),
        ("draws?", lambda _: PREDICTED),
        ("weights?", lambda _: PREDICTED),
    ],
}
UNREAD = (
    "what the fit estimates, with its errors: it takes the version that made them (`dpqr verify`)",
    "what the plan expected, how its figures were chosen, and words for readers",
    "that the noise was honestly drawn, and that the table was the one that is named",
)


# 10. The command.

CODES = {"refused": 6, "damaged": 7}
FORM = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError, csv.Error)


Finding = tuple[str, str, str]
"""ok, refused, damaged or not checked; a section of the table; words."""


def fields(part: Any, names: list[str], stars: list[Any], where: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """The walker over a record: every field that a pattern names, what is stated there, what the stars stand for."""
    if not names:
        yield where.lstrip("."), part, stars
    elif names[0] == "*" and part is not None:
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from fields(value, names[1:], [*stars, key], f"{where}.{key}")
    elif part is not None:
        name, may_miss = names[0].rstrip("?"), names[0][-1] == "?"
        need(may_miss or name in part, f"{where}.{name} is missing")
        if name in part and not (may_miss and part[name] is None and names[1:]):
            yield from fields(part[name], names[1:], stars, f"{where}.{name}")


def claims(e: Evidence, field: str, rule: Callable[..., Any]) -> Iterable[Claim]:
    """What a row of the table claims."""
    walked = fields(e.document, field.split("."), [], "") if field else []
    return ((where, part, rule(e, *stars)) for where, part, stars in walked) if field else rule(e)


def compared(e: Evidence, name: str, rules: list[Check]) -> list[Finding]:
    """Refusals, then reasons, then how many fields follow."""
    found: list[Finding] = []
    reasons, right, refusal = set(), 0, "damaged" if name == "ledger's sums" else "refused"
    for field, rule in rules:
        try:
            for where, stated, follows in claims(e, field, rule):
                if isinstance(follows, NotChecked):
                    reasons.add(str(follows))
                elif agrees(stated, follows):
                    right += 1
                else:
                    found.append((refusal, name, f"{where}: stated {shown(stated)}, follows {shown(follows)}"))
        except NotChecked as reason:
            reasons.add(str(reason))
        except Refused as fault:
            found.append((refusal, name, str(fault)))
        except FORM as fault:
            words = f"{field or name} has not the form that `formats` describes: {type(fault).__name__} {fault}"
            found.append((refusal, name, words))
    found += [("not checked", name, reason) for reason in sorted(reasons)]
    return [*found, ("ok", name, f"{right} fields follow")] if right else found


def check(path: str, ledger: str | None = None, plan: str | None = None) -> list[Finding]:
    """All that is found; the record is refused where one state is `refused` or `damaged`."""
    try:
        e = Evidence(path, ledger)
    except (Refused, *FORM) as fault:
        return [("refused", "record", f"has not the form that `formats` describes: {fault}")]
    own = OF_RELEASES if e.of_release else OF_PREDICTIONS
    found: list[Finding] = []
    for name in ("record", "hashes", "guarantee", "prices", "draws", "answers", "ledger"):
        found += compared(e, name, [*CHECKS.get(name, []), *own.get(name, [])])
    if plan is not None:

        def kept(_: Evidence) -> Any:
            return read_json(Path(plan).read_text("utf-8"))

        of_session: Check = ("questions.plan", lambda e: seal_of(kept(e)))
        found += compared(e, "plan", [of_session if "questions" in e.document else ("plan", kept)])
    if ledger is not None:
        found += compared(e, "ledger's sums", [("", claims_of_entries)])
    return found + [("not checked", "beyond", why) for why in UNREAD]


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("release", metavar="RELEASE")
    parser.add_argument("--ledger", metavar="EXPORT", help="the ledger, as `dpqr budget export` prints it")
    parser.add_argument("--plan", metavar="PLAN", help="the plan that was reviewed")
    given = parser.parse_args(arguments)
    for place in (given.release, given.ledger, given.plan):
        if place is not None and not Path(place).exists():
            parser.error(f"{place}: there is no such file")
    place = Path(given.release)
    found = check(str(place.parent if place.name == "release.json" else place), given.ledger, given.plan)
    try:
        print("\n".join(map(": ".join, found)), flush=True)
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return max(CODES.get(state, 0) for state, _, _ in found)


if __name__ == "__main__":
    sys.exit(main())
