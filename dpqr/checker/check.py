#!/usr/bin/env python3
# ruff: noqa: B905, D103, RUF005, RUF007, RET504, UP035, UP045 - written for Python 3.9, by itself
# mypy: disable-error-code="operator, return-value, arg-type, var-annotated, no-any-return, index, assignment"
"""A second pair of eyes on a release: python check.py RELEASE [--ledger EXPORT] [--plan PLAN]

It shares no code with dpqr. It is written from the guide's topic `formats` and from the theorems that are named beside
each formula. The standard library is enough, from Python 3.9 on. RELEASE: a directory, or a file of predictions or of a
released function.

What it shows: every seal and hash is right; every event costs what is stated, under every accountant that it knows; the
draws are those that were paid for, and their sensitivities follow from the queries; measured answers and intervals
follow from the draws; the ledger adds up and paid for this release. What it cannot show, it says, with the reason.

Exit codes: 0 checked. 6 refused: something does not follow. 7 the ledger does not add up. 2 the command was wrong.

Parts: 1 reading. 2 prices. 3 sensitivities. 4 noise. 5 the checks. 6 the ledger. 7 the command.
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
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any, Callable, Iterable, Optional

Event = tuple[str, tuple[tuple[str, Fraction], ...], bool]
"""A kind, its parameters, and whether it reads rows that the domain's rules left out."""
Composition = list[tuple[Event, int]]
"""Events with their counts."""
Losses = list[tuple[Fraction, int]]
Columns = list[tuple[Any, ...]]
"""Different columns of an integer matrix."""
Price = Any
"""A rational; None: the theorem does not cover the events; UNKNOWN: not derived here."""


class Refused(Exception):
    """Something does not follow."""


class LedgerRefused(Refused):
    """The ledger itself does not add up."""


def need(true: object, words: str) -> None:
    if not true:
        raise Refused(words)


# 1. Reading: JSON without a key that is stated twice, seals, exact figures.


def read_json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len({key for key, _ in pairs}) == len(pairs), "a JSON object states a key twice")
        return dict(pairs)

    def never(name: str) -> Any:
        raise Refused(f"{name} is no number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=never)
    except ValueError as fault:
        raise Refused(f"is no JSON: {fault}") from None


def canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256(data: Any) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as opened:
        return opened.read()


def sealed(document: dict[str, Any], what: str) -> None:
    """Refused unless `sha256` is that of the canonical JSON of the rest."""
    rest = {key: part for key, part in document.items() if key != "sha256"}
    need(document.get("sha256") == sha256(canonical(rest)), f"the sha256 of {what} is not that of its content")


def exact(text: str) -> Fraction:
    need(isinstance(text, str) and re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text), f"{text!r} is no exact figure")
    need(str(Fraction(text)) == text, f"{text} is not in lowest terms")
    return Fraction(text)


def round_up(value: Any) -> float:
    """The smallest float that is not below a rational."""
    found = float(value)
    return found if Fraction(found) >= value else math.nextafter(found, math.inf)


def figures(part: Any, path: str = "$") -> int:
    """Every pair of an exact figure and the float beside it, wherever it stands."""
    if isinstance(part, dict):
        if set(part) == {"exact", "float"}:
            value = exact(part["exact"])
            need(type(part["float"]) is float, f"{path}: the float is none")
            need(round_up(value) == part["float"], f"{path}: {part['float']} is not {part['exact']} rounded up")
            return 1
        return sum(figures(value, f"{path}.{key}") for key, value in part.items())
    return sum(figures(value, f"{path}[{place}]") for place, value in enumerate(part)) if isinstance(part, list) else 0


def amount(part: Any) -> Any:
    return None if part is None else exact(part["exact"])


# 2. Prices. An event is (kind, parameters); rationals are exact, real functions are decimals of sixty digits.

WHOLE = ("sensitivity", "squared_sensitivity", "coordinates", "units", "changes", "directions", "tapered")
PARAMETERS = {
    "discrete-laplace": "sensitivity scale coordinates?",
    "discrete-gaussian": "squared_sensitivity variance",
    "rounded-gaussian": "squared_sensitivity variance",
    "spherical-laplace": "sensitivity scale coordinates",
    "perturbed-objective": "sensitivity scale coordinates units curvature closing",
    "gaussian-objective": "squared_sensitivity variance changes curvature closing opposite? tapered?",
    "exponential": "epsilon",
    "permute-and-flip": "epsilon",
    "above-threshold": "sensitivity threshold_scale answer_scale directions",
    "pure-sum": "epsilon",
    "rho-sum": "rho",
    "mu-sum": "squared_mu",
}
MAY_BE_ZERO = ("sensitivity", "squared_sensitivity", "epsilon", "rho", "squared_mu", "curvature", "opposite", "tapered")


def event(part: Any, left_out: bool = False) -> Event:
    """(kind, ((name, value), ...), left out): hashable, and equal for the forms of record and ledger."""
    if part.get("kind") == "left-out":
        need(not left_out and set(part) - {"count"} == {"kind", "event"}, "a left-out event wraps one draw")
        return event(part["event"], left_out=True)
    named = PARAMETERS.get(part.get("kind"), "")
    need(named, f"an event of the unknown kind {part.get('kind')!r} has no price")
    must = {name for name in named.split() if not name.endswith("?")}
    may = {name.rstrip("?") for name in named.split()}
    stated = set(part) - {"kind", "count"}
    need(must <= stated <= may, f"an event {part['kind']} states other parameters than its kind has")
    values = {}
    for name in sorted(stated):
        plain = str(int(part[name])) if isinstance(part[name], (int, bool)) else part[name]
        values[name] = exact(plain)
        need(values[name] > 0 or (name in MAY_BE_ZERO and values[name] == 0), f"{name} of an event must be above 0")
        need(name not in WHOLE or values[name].denominator == 1, f"{name} of an event is no whole number")
    return part["kind"], tuple(sorted(values.items())), left_out


def events(parts: list[Any]) -> Composition:
    """Events with their counts, in their order."""
    for part in parts:
        need(type(part.get("count")) is int and part["count"] >= 0, "the count of an event is no whole number")
    return [(event(part), part["count"]) for part in parts]


def tally(composition: Composition) -> Counter[Event]:
    found = Counter()
    for one, count in composition:
        found[one] += count
    return +found


def sixty() -> Any:
    return localcontext(Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX))


def dec(value: Any) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


TWO_PI = 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


@lru_cache(maxsize=4096)
def tail(x: Any) -> Decimal:
    """1 - Phi(x): the series at 0 (Abramowitz and Stegun 26.2.10), from 5 on Laplace's continued fraction (26.2.14)."""
    if x < 0:
        return 1 - tail(-x)
    density = (-x * x / 2).exp() / TWO_PI.sqrt()
    if x < 5:
        total, power, n = Decimal(0), x, 0
        while abs(power) > Decimal("1e-58"):
            total += power / (2 * n + 1)
            n += 1
            power *= -x * x / (2 * n)
        return Decimal("0.5") - total / TWO_PI.sqrt()
    below = x
    for level in range(200, 0, -1):
        below = x + level / below
    return density / below


def least(holds: Callable[[Decimal], bool], low: Decimal, high: Decimal, steps: int = 130) -> Decimal:
    """The smallest x with holds(x), from above; holds(high) is true."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def pure(one: Event) -> Optional[Fraction]:
    """The epsilon of one draw; None where there is none that is finite."""
    kind, values, _ = one
    p = dict(values)
    if kind in ("discrete-laplace", "spherical-laplace"):  # triangle inequality: Dwork and Roth 2014, Theorem 3.6
        return p["sensitivity"] / p["scale"]
    if kind == "perturbed-objective":  # Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9
        return p["sensitivity"] / p["scale"] + p["units"] * log_above(p["curvature"]) + p["closing"]
    if kind == "above-threshold":  # the threshold once, the answer that passes as often as answers may move apart
        return p["sensitivity"] * (1 / p["threshold_scale"] + p["directions"] / p["answer_scale"])
    return p.get("epsilon") if kind in ("exponential", "permute-and-flip", "pure-sum") else None


def log_above(x: Any) -> Fraction:
    """At least log(1 + x): it is 0 at 0, and its slope exceeds 1 / (1 + x) by 4 x^3 / ((1 + x) (6 + 4 x)^2)."""
    return x * (6 + x) / (6 + 4 * x)


def bounded_range(one: Event) -> Optional[Fraction]:
    """The length of the interval of a draw's losses, where it is below twice its epsilon (Durfee and Rogers 2019)."""
    kind, values, _ = one
    p = dict(values)
    if kind == "exponential":
        return p["epsilon"]
    if kind == "above-threshold" and p["directions"] == 1:
        return p["sensitivity"] * (1 / p["threshold_scale"] + 2 / p["answer_scale"])
    return None


def rho(one: Event) -> Fraction:
    """zCDP: Bun and Steinke 2016, Propositions 1.4 (eps^2 / 2) and 1.6; Cesar and Rogers 2021 (range^2 / 8)."""
    kind, values, _ = one
    p = dict(values)
    if kind in ("discrete-gaussian", "rounded-gaussian"):  # discrete: Canonne, Kamath and Steinke 2020, Theorem 4
        return p["squared_sensitivity"] / (2 * p["variance"])
    if kind == "gaussian-objective":
        pull = p["squared_sensitivity"] / (2 * p["variance"]) * (1 + p.get("opposite", 0) ** 2) + p["curvature"]
        return p["changes"] ** 2 * pull + p["closing"] ** 2 / 2
    if kind in ("rho-sum", "mu-sum"):
        return p["rho"] if kind == "rho-sum" else p["squared_mu"] / 2
    return pure(one) ** 2 / 2 if bounded_range(one) is None else bounded_range(one) ** 2 / 8


@lru_cache(maxsize=1024)
def mu2_of_pure(epsilon: Fraction) -> Fraction:
    """mu^2 of any epsilon-DP draw: mu = 2 z, 1 - Phi(z) = 1 / (1 + e^epsilon) (Dong, Roth and Su 2019, Prop. 2.4)."""
    if epsilon > 10**4:
        return 8 * epsilon
    with sixty():
        wanted = 1 / (1 + dec(epsilon).exp())
        z = least(lambda x: tail(x) <= wanted, Decimal(0), (2 * dec(epsilon)).sqrt() + dec(epsilon) + 1, 190)
        return Fraction(4 * z * z)


def mu2(one: Event) -> Optional[Fraction]:
    """mu^2 of Gaussian differential privacy; None where none is known."""
    kind, values, _ = one
    p = dict(values)
    if kind in ("discrete-gaussian", "gaussian-objective", "rho-sum"):
        return None
    if kind == "rounded-gaussian":  # Dong, Roth and Su 2019, Theorem 2.7
        return p["squared_sensitivity"] / p["variance"]
    if kind == "mu-sum":
        return p["squared_mu"]
    # A bounded range costs what half of it costs as a pure epsilon (Dong, Durfee and Rogers 2020).
    return mu2_of_pure(pure(one)) if bounded_range(one) is None else mu2_of_pure(bounded_range(one) / 2)


def groups(composition: Composition) -> list[Composition]:
    """Draws from kept rows, and from rows that the rules left out: neighbours differ in one group (McSherry 2009)."""
    kept = [(one, count) for one, count in composition if not one[2] and count]
    return [kept, [((kind, p, False), count) for (kind, p, out), count in composition if out and count]]


def add(loss: Callable[[Event], Optional[Fraction]], composition: Composition) -> Optional[Fraction]:
    """The larger sum of the two groups; None where a draw has no such loss."""
    sums = []
    for group in groups(composition):
        losses = [(loss(one), count) for one, count in group]
        if any(found is None for found, _ in losses):
            return None
        sums.append(sum((found * count for found, count in losses), Fraction(0)))
    return max(sums)


@lru_cache(maxsize=256)
def of_rho(total: Fraction, delta: Fraction) -> Fraction:
    """epsilon of rho-zCDP at delta: the least over a > 1 of Canonne, Kamath and Steinke 2020, Corollary 13."""
    with sixty():
        surprise = -dec(delta).ln()

        def at(log_excess: Decimal) -> Decimal:
            excess = log_excess.exp()
            log_order = (1 + excess).ln()
            return (1 + excess) * dec(total) + (surprise - log_order) / excess + log_excess - log_order

        low, high = Decimal(-46), Decimal(76)
        for _ in range(130):  # it falls, then rises
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, two) if at(one) < at(two) else (one, high)
        return max(Fraction(0), Fraction(at(low)))


def gaussian_delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Balle and Wang 2018, Theorem 8."""
    return tail(epsilon / mu - mu / 2) - epsilon.exp() * tail(epsilon / mu + mu / 2)


@lru_cache(maxsize=256)
def of_mu2(total: Fraction, delta: Fraction, changes: int = 1, opposite: Fraction = Fraction(0)) -> Fraction:
    """The least epsilon of mu-GDP at delta; of a path of several neighbours, the deltas of all its sets together."""
    if not total:
        return Fraction(0)
    with sixty():
        mu, wanted = dec(total).sqrt(), dec(delta)
        sizes = [(math.comb(changes, full), full + (changes - full) * opposite) for full in range(changes + 1)]
        ways = [(number, dec(size)) for number, size in sizes if size]

        def holds(epsilon: Decimal) -> bool:
            return sum(number * gaussian_delta(size * mu, epsilon) for number, size in ways) <= wanted

        if holds(Decimal(0)):
            return Fraction(0)
        high = Decimal(1)
        while not holds(high):
            high *= 2
        return Fraction(least(holds, Decimal(0), high))


def advanced(losses: Losses, delta: Fraction) -> Fraction:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.5, its first and third bound."""
    straight = sum((epsilon * count for epsilon, count in losses), Fraction(0))
    if not delta or not straight:
        return straight
    with sixty():
        drift = sum(count * dec(e) * (dec(e).exp() - 1) / (dec(e).exp() + 1) for e, count in losses)
        squares = sum(count * dec(e) ** 2 for e, count in losses)
        return min(straight, Fraction(drift + (-2 * dec(delta).ln() * squares).sqrt()))


MOST_DRAWS = 4000


def optimal(losses: Losses, delta: Fraction) -> Optional[Fraction]:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3, all draws as dear as the dearest; or `advanced`. None: too many."""
    fallback, draws = advanced(losses, delta), sum(count for epsilon, count in losses if epsilon)
    if not delta or not draws:
        return fallback
    if draws > MOST_DRAWS:
        return None
    step = max(epsilon for epsilon, _ in losses)
    with sixty():
        whole, size = (1 + dec(step).exp()) ** draws, dec(step)
        terms = [(math.comb(draws, k), ((draws - k) * size).exp(), (k * size).exp()) for k in range(draws + 1)]

        def holds(epsilon: Decimal) -> bool:
            grown = epsilon.exp()
            return sum(ways * max(Decimal(0), up - grown * down) for ways, up, down in terms) / whole <= dec(delta)

        return min(fallback, Fraction(least(holds, Decimal(0), draws * size, 64)))


def analytic(group: Composition, delta: Fraction) -> Optional[Fraction]:
    """Gaussian noise by its exact curve, everything pure beside it by its epsilon; one perturbed objective at most."""
    normal = [each for each in group if each[0][0] in ("rounded-gaussian", "gaussian-objective")]
    rest = [(pure(one), count) for one, count in group if (one, count) not in normal]
    if any(found is None for found, _ in rest) or (normal and not delta):
        return None
    straight = sum((found * count for found, count in rest), Fraction(0))
    objectives = [each for each in normal if each[0][0] == "gaussian-objective"]
    if not objectives:
        return straight + of_mu2(sum((mu2(one) * count for one, count in normal), Fraction(0)), delta)
    if len(normal) > 1 or objectives[0][1] > 1:
        return None
    p = dict(objectives[0][0][1])
    opposite, share = p.get("opposite", Fraction(0)), p["squared_sensitivity"] / p["variance"]
    pull = of_mu2(share, delta, int(p["changes"]), opposite)
    paid = p["changes"] * log_above(p["curvature"])
    if p.get("tapered") and p["changes"] == 1:  # curvature only where the slope has gone part of its way
        free = max(Fraction(0), (1 + opposite) * (pull - opposite * share / 2) / 4)
        paid = min(paid, p["curvature"] * (1 - free / p["curvature"]) ** 2 if p["curvature"] > free else Fraction(0))
    return straight + pull + paid + p["closing"]


def by_count(group: Composition, delta: Fraction) -> Optional[Fraction]:
    """One pure draw, and after it a sum of epsilons or of mu^2: a plan states both sums, a run has one of them."""
    sums = [each for each in group if each[0][0] in ("pure-sum", "mu-sum")]
    others = [each for each in group if each not in sums]
    if sums:
        first = [(pure(one), count) for one, count in others]
        if any(found is None for found, _ in first):
            return None
        after = [pure(one) * count if one[0] == "pure-sum" else of_mu2(mu2(one), delta) for one, count in sums]
        return sum((found * count for found, count in first), Fraction(0)) + max(after)
    losses = [(pure(one), count) for one, count in group]
    found = [] if any(loss is None for loss, _ in losses) else [sum((e * n for e, n in losses), Fraction(0))]
    first, rest = Fraction(0), list(group)
    if group and pure(group[0][0]) is not None:
        first, rest = pure(group[0][0]), [(group[0][0], group[0][1] - 1), *group[1:]]
    if delta and all(mu2(one) is not None for one, count in rest if count):
        found.append(first + of_mu2(sum((mu2(one) * n for one, n in rest if n), Fraction(0)), delta))
    return min(found) if found else None


UNKNOWN = object()
"""The price that this file does not derive."""


def price(name: str, composition: Composition, delta: Fraction) -> Price:
    """Epsilon at delta under an accountant; None: its theorem does not cover the events; UNKNOWN: not derived here."""
    if name == "basic":
        return add(pure, composition)
    if name == "pld" and not delta:
        return add(pure, composition)
    if name in ("zcdp", "gdp"):
        whole = add(rho if name == "zcdp" else mu2, composition)
        if not whole or not delta:
            return whole if not whole else None
        return of_rho(whole, delta) if name == "zcdp" else of_mu2(whole, delta)
    if name in ("analytic", "by-count"):
        found = [(analytic if name == "analytic" else by_count)(group, delta) for group in groups(composition) if group]
        return None if None in found else max((each for each in found if each is not None), default=Fraction(0))
    if name not in ("advanced", "optimal"):
        return UNKNOWN
    found = []
    for group in groups(composition):
        losses = [(pure(one), count) for one, count in group]
        if any(loss is None for loss, _ in losses):
            return None
        found.append((advanced if name == "advanced" else optimal)(losses, delta))
    return UNKNOWN if None in found else max(each for each in found if each is not None)


def same_price(stated: Any, found: Any, name: str) -> bool:
    """A stated price is not below the theorem's, and above it by less than a search in halves leaves."""
    if name == "basic" or stated is None or found is None:
        return stated == found
    return found * (1 - Fraction(1, 10**15)) - Fraction(1, 10**22) <= stated <= found * (1 + Fraction(1, 10**9))


# 3. Sensitivities: integer columns of what was measured, from the documents and the rows of the answers.


def entries(request: Any) -> dict[str, Any]:
    """What each named entry of the queries file asks, and what the names that entries get by themselves begin with."""
    named = {each["name"]: each for each in request["queries"]["queries"] if "name" in each} if request else {}
    return named


def of_sum(name: str, request: Any, domain: Any, grid: Fraction, queries: int) -> Optional[Columns]:
    """Columns of a sum over bins with stated edges: each row counts with the middle of its bin."""
    column = re.fullmatch(r"sum\((.*?)\).*", name)
    entry = entries(request).get(name, {})
    named = entry.get("sum") or (column[1] if column and "where" not in entry else None)
    field = next((each for each in (request or {}).get("domain", {}).get("fields", []) if each["name"] == named), {})
    edges = field.get("dpqr", {}).get("edges")
    size = next((each["cells"] - len(each["own_cells"]) for each in domain["columns"] if each["name"] == named), None)
    if not edges or field.get("type") != "number" or size != len(edges) - 1:
        return None  # bins of other kinds, or bins that the queries have cut
    ends = [Fraction(str(edge)) for edge in edges]
    middles = [(low + high) / 2 / grid for low, high in zip(ends, ends[1:])]
    return [(m,) for m in middles] if queries == 1 else [(m, 0) for m in middles] + [(0, m) for m in middles]


KINDS = (
    "marginal",
    "marginals",
    "where",
    "prefix",
    "ranges",
    "conjunctions",
    "sum",
    "mean",
    "hierarchy",
    "coefficients",
)
PARTITIONS = re.compile(
    r"(marginal|opening|cells|first look|hierarchy|coarse)\(.*|total|number of records|records( left out)?"
)
TABLE = "table of all columns"


def columns_of(
    block: dict[str, Any], rows: Any, request: Any, domain: Any, read: Callable[[str], bytes]
) -> Optional[Columns]:
    """The different columns of a block's integer matrix, as tuples of rationals in units of the grid; None: unknown.

    rows: those of the file of answers, in their order. A partition has one 1 in each column, an interval of numbers or
    a comparison of labels holds whole cells, so columns differ only where the ends of intervals are.
    """
    name, grid = block["name"], Fraction(block["grid"])
    entry = entries(request).get(name)
    kind = next((each for each in KINDS if entry and each in entry), None)
    of_name = name.split("(")[0]
    if kind == "coefficients" or (entry is None and of_name == "coefficients"):
        return of_coefficients(entry, read, grid)
    if grid == 1 and (
        kind in ("marginal", "marginals", "where", "hierarchy")
        or (entry is None and (PARTITIONS.fullmatch(name) or name == TABLE))
    ):
        return [
            tuple(int(row == cell) for row in range(min(block["queries"], 2)))
            for cell in range(min(block["queries"], 2))
        ]
    asked = kind or of_name
    if asked == "sum":
        return of_sum(name, request, domain, grid, block["queries"])
    if rows is None or asked not in ("prefix", "ranges", "conjunctions", "mean"):
        return None
    details, cells = [], {}
    for row in rows:
        cells.setdefault(tuple(row["cells"]), []).append(row["detail"])
    details = max(cells.values(), key=len)
    need(all(found == details for found in cells.values()), f"{name}: not the same rows for every cell of its columns")
    if asked == "mean":
        found = [re.fullmatch(r"(-?[0-9.e+]+) - (.+)|(.+) - (-?[0-9.e+]+)", detail) for detail in details]
        if len(details) != 2 or None in found or not (found[0][1] and found[1][4]):
            return None
        top, low = Fraction(found[0][1]), Fraction(found[1][4])
        ones = [(Fraction(0), (top - low) / grid), ((top - low) / grid, Fraction(0))]
    else:
        ones = of_conditions([conditions(detail) for detail in details])
    if len(cells) == 1 or ones is None:
        return ones
    zeros = (0,) * len(details)  # another cell of the `by` columns has rows of its own
    return [(*one, *zeros) for one in ones] + [(*zeros, *one) for one in ones]


INTERVAL = re.compile(r"([\[(])(-?[^,\]]+), ([^,\[]+)([\])])")


def conditions(detail: str) -> Any:
    """ "age in [18, 58), sex = female" -> {"age": (low, its side, high, its side), "sex": "female"}; None: not read."""
    found = {}
    for part in re.split(r", (?=[^,\[\]()]+ (?:in|=|<=|>=|<|>) )", detail):
        words = re.fullmatch(r"(?:(.+?) )?(?:(in|=|<=|<|>=|>) )?(.+)", part)
        column, sign, value = words[1] or "", words[2] or "in", words[3]
        interval = INTERVAL.fullmatch(value)
        if interval:
            ends = (place(interval[2]), place(interval[3]))
            if None in ends or sign != "in":
                return None
            found[column] = ((ends[0], interval[1] == "("), (ends[1], interval[4] == "]"))
        elif sign in ("<=", "<") and place(value) is not None:
            found[column] = ((-math.inf, False), (place(value), sign == "<="))
        elif sign in (">=", ">") and place(value) is not None:
            found[column] = ((place(value), sign == ">"), (math.inf, False))
        else:
            found[column] = value if sign == "=" else None
    return None if None in found.values() else found


def place(text: str) -> Optional[Fraction]:
    """A number, or a date as its day; None: neither."""
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text):
        return Fraction(text)
    return Fraction(int(text.replace("-", ""))) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None


MOST_COLUMNS = 20000


def of_conditions(rows: Any) -> Optional[Columns]:
    """Columns of 0 and 1: one for each combination of pieces into which the conditions cut their columns."""
    if None in rows:
        return None
    pieces = {}
    for name in sorted({name for row in rows for name in row}):
        stated = [row[name] for row in rows if name in row]
        ends = sorted({end for one in stated if isinstance(one, tuple) for end in one})
        pieces[name] = ends[:-1] if ends else sorted(set(map(str, stated))) + [""]
    if math.prod(len(each) for each in pieces.values()) > MOST_COLUMNS:
        return None
    names = list(pieces)
    found = set()
    for cell in product(*pieces.values()):
        at = dict(zip(names, cell))
        found.add(
            tuple(
                int(all(one[0] <= at[n] < one[1] if isinstance(one, tuple) else one == at[n] for n, one in row.items()))
                for row in rows
            )
        )
    return sorted(found)


def of_coefficients(entry: Any, read: Callable[[str], bytes], grid: Fraction) -> Optional[Columns]:
    """Columns of a long file of coefficients, a CSV."""
    found = read(entry["coefficients"]) if entry and str(entry.get("coefficients", "")).endswith(".csv") else None
    if found is None:
        return None
    table = list(csv.DictReader(found.decode("utf-8").splitlines()))
    queries = sorted({row.get("query", "") for row in table})
    columns = {}
    for row in table:
        cell = tuple(value for key, value in row.items() if key not in ("query", "coefficient"))
        column = columns.setdefault(cell, [Fraction(0)] * len(queries))
        column[queries.index(row.get("query", ""))] = Fraction(row["coefficient"]) / grid
    return sorted(set(map(tuple, columns.values())))


def moves(columns: Columns, replace: bool, power: int) -> Any:
    """The largest change between neighbours of one row: a column, or a difference of two columns or zeros."""

    def norm(one: tuple[Any, ...], other: tuple[Any, ...]) -> Any:
        return sum(abs(a - b) ** power for a, b in zip(one, other))

    zeros = (0,) * len(columns[0])
    alone = max(norm(one, zeros) for one in columns)
    if not replace:
        return alone
    if len(columns) > 400:
        return None
    return max([alone, *(norm(one, other) for one, other in combinations(columns, 2))])


# 4. Noise: deviations and tails of the laws, from their parameters.


def weights(variance: float) -> list[float]:
    reach = math.ceil(40 * math.sqrt(variance)) + 1
    return [math.exp(-k * k / (2 * float(variance))) for k in range(1, reach + 1)]


@lru_cache(maxsize=1024)
def deviation(kind: str, parameter: Fraction) -> float:
    """The standard deviation of one draw, in units of the grid."""
    if kind == "discrete-laplace":
        rate = 1 / float(parameter)
        return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)
    variance = float(parameter)
    if kind == "rounded-gaussian":  # Poisson summation
        waves = [
            (-1) ** m * (variance + 1 / (2 * math.pi * m) ** 2) * math.exp(-2 * (math.pi * m) ** 2 * variance)
            for m in range(1, 60)
        ]
        return math.sqrt(variance + 1 / 12 + 4 * sum(waves))
    need(kind == "discrete-gaussian", f"noise of the unknown law {kind!r}")
    if variance > 2**16:
        return math.sqrt(variance)
    each = weights(variance)
    return math.sqrt(2 * math.fsum(w * k * k for k, w in enumerate(each, 1)) / (1 + 2 * math.fsum(each)))


BETA = math.nextafter(1 - 0.95, 0) if hasattr(math, "nextafter") else 0.05
MARGIN = 1 + 2.0**-20


@lru_cache(maxsize=1024)
def tail_of(kind: str, parameter: Fraction, beta: float) -> int:
    """The smallest k with Pr[|draw| > k] <= beta; of Gaussian laws with the probability raised by 2^-20."""
    if kind == "discrete-laplace":  # 2 q^(k + 1) / (1 + q)
        with sixty():
            q, wanted = (-1 / dec(parameter)).exp(), Decimal(beta)
            k = max(0, int((wanted * (1 + q) / 2).ln() / q.ln()) - 2)
            while 2 * (q.ln() * (k + 1)).exp() / (1 + q) > wanted:
                k += 1
            return k
    variance = float(parameter)
    if kind == "discrete-gaussian" and variance <= 2**16:
        each = weights(variance)
        total, beyond = 1 + 2 * math.fsum(each), 0.0
        for k in range(len(each), 0, -1):
            beyond += each[k - 1]
            if 2 * beyond / total * MARGIN > beta:
                return k
        return 0
    first = kind == "rounded-gaussian"
    k = 0
    while (
        math.erfc((k + 0.5 if first or k + 0.5 >= math.sqrt(variance) else k) / math.sqrt(2 * variance)) * MARGIN > beta
    ):
        k += max(1, int(math.sqrt(variance) / 10**4)) if k < math.sqrt(variance) else 1
    return k


SHARES = (0.1, 0.6, 0.3)
"""Of the first, second and third draw of a block of the opening, in a plan with a search."""


# 5. The checks. Each returns what it found, or raises Refused; `Skipped` says why nothing could be found.


class Skipped(Exception):
    """Why a check could not be made."""


def of_version(document: dict[str, Any], *numbers: int) -> bool:
    found = re.fullmatch(r"([0-9]+)\.([0-9]+)\..*", document["version"])
    return found is None or (int(found[1]), int(found[2])) >= numbers


class Evidence:
    """A release or predictions, with the ledger and the plan that they are held against."""

    def __init__(self, path: str, ledger: Optional[str] = None, plan: Optional[str] = None) -> None:
        self.path, self.ledger_path, self.plan_path = path, ledger, plan
        self.folder = os.path.isdir(path)
        beside = f"{path}.record.json"
        self.place = os.path.join(path, "release.json") if self.folder else beside if os.path.isfile(beside) else path
        text = read_bytes(self.place).decode("utf-8")
        self.document = read_json(text)
        need(isinstance(self.document, dict) and "plan" in self.document, f"{self.place}: is no record of dpqr")
        blanks = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
        plain = json.dumps(self.document, ensure_ascii=False, separators=(",", ":"))
        need(blanks.sub(lambda found: found[1] or "", text) == plain, f"{self.place}: is not written as dpqr writes it")
        self.plan, self.events = self.document["plan"], events(self.document["events"])
        self.planned = events(self.plan["events"])
        self.request = self.plan.get("request")
        self.epsilon, self.delta = (amount(self.plan["budget"][name]) for name in ("epsilon", "delta"))
        self.notes = []

    @property
    def of_release(self) -> bool:
        return self.document["dpqr"].startswith("release/")

    @property
    def rows(self) -> tuple[int, bool]:
        """Persons: K rows of each; 1 elsewhere. Whether a row is replaced."""
        unit = self.plan["unit"] if self.of_release else {}
        return unit.get("max_rows") or 1, unit.get("neighbours") == "replace"

    def answers(self) -> Any:
        """The rows of each block, in their order: cells, detail and figures as text. None: a form this cannot read."""
        name = self.document["files"][0]
        data = read_bytes(os.path.join(self.path, name)).decode("utf-8") if not name.endswith(".parquet") else ""
        if name.endswith(".csv"):
            table = list(csv.DictReader(data.splitlines(keepends=True)))
        elif name.endswith(".json"):
            table = [{k: "" if v is None else str(v) for k, v in row.items()} for row in read_json(data)]
        else:
            return None
        found = {}
        for row in table:
            names = list(row)
            cells = names[1 : names.index("detail")] if "detail" in names else []
            row["cells"] = [row[each] for each in cells]
            row.setdefault("detail", "")
            found.setdefault(row["query"], []).append(row)
        return found


def check_record(e: Evidence) -> str:
    document, plan = e.document, e.plan
    versions = {document["version"], plan.get("version", document["version"])}
    versions |= {document["versions"]["dpqr"]} if "versions" in document else set()
    need(
        document["dpqr"] in ("release/1", "prediction/1", "model/1")
        and plan["dpqr"] == ("plan/1" if e.of_release else "prediction-plan/1"),
        "is of a format that `formats` does not describe",
    )
    need(len(versions) == 1, "record, plan and versions name several versions of dpqr")
    since = (0, 4) if e.of_release else (0, 7)
    for part, what in ((document, "the record"), (plan, "the plan")):
        if "sha256" in part or of_version(document, *since):
            sealed(part, what)
    pairs = figures(document)
    e.notes.append("" if "sha256" in document else "it states no sha256")
    return f"{document['dpqr']} of dpqr {document['version']}; its seals are right, {pairs} figures agree with floats"


def check_files(e: Evidence) -> str:
    document = e.document
    if not e.of_release:
        if "hashes" not in document:
            need(document["dpqr"].startswith("model/") or not of_version(document, 0, 7), "the record holds no hash")
            raise Skipped("the record is the file itself, or of a version that kept no hash")
        (stated,) = document["hashes"].values()
        need(sha256(read_bytes(e.path)) == stated, f"{e.path} is not the file that the record was written for")
        return "the file has the hash that the record states"
    hashes, there = document.get("hashes"), set(os.listdir(e.path)) - {"release.json"}
    need(set(document["files"]) <= there, f"a file that the record lists is missing: {document['files']}")
    if hashes is None:
        need(not of_version(document, 0, 4), "the record holds no hashes")
        raise Skipped("the record is of a version that kept no hashes")
    need(set(hashes) == there and set(document["files"]) <= set(hashes), "files beside the record and its list differ")
    for name, stated in hashes.items():
        need(os.path.basename(name) == name, f"{name} is no name of a file")
        need(sha256(read_bytes(os.path.join(e.path, name))) == stated, f"{name} is not the file with the stated hash")
    return f"{len(hashes)} files have the hashes that the record states"


def check_guarantee(e: Evidence) -> str:
    """Words and figures of the guarantee, the unit and the request agree."""
    document, plan = e.document, e.plan
    unit = plan["unit"]["words"] if e.of_release else plan["unit"]
    for words in {document["guarantee"], plan["guarantee"]}:
        real = document["private"] and not document.get("rehearsal")
        need(
            real == document["guarantee"].startswith("Differentially private with"),
            "a run without privacy, or of drawn rows, states a guarantee, or another one states none",
        )
        if real:
            stated = re.search(
                r"epsilon = ([0-9.e+-]+)(?: \(pure: delta = 0\)| and delta = ([0-9.e+-]+?))[,.;: ]", words + " "
            )
            need(stated is not None, "the guarantee names no epsilon and delta")
            for text, value in ((stated[1], e.epsilon), (stated[2] or "0", e.delta)):
                need(
                    value <= Fraction(text) <= value * (1 + Fraction(1, 10**10)),
                    f"the guarantee says {text}, the budget {value}",
                )
            need(unit in words, "the guarantee is not for the unit of the plan")
    need(
        document["guarantee"] == plan["guarantee"] or not document["private"] or document.get("rehearsal"),
        "record and plan state other guarantees",
    )
    if e.of_release:
        need(document["unit"] == unit, "record and plan state other units")
        k, replace = e.rows
        need(
            (plan["unit"].get("counts") is not None) == ("counted in column" in unit),
            "the words of the unit do not name its count column",
        )
        column = plan["unit"].get("column")
        need(plan["unit"]["neighbours"] in ("replace", "add-remove"), "neighbours of an unknown kind")
        need(
            ("replaced by another" in unit) == replace and ("added or removed" in unit) != replace,
            "the words of the unit are not those of its neighbours",
        )
        need(column is None or repr(column) in unit, "the words of the unit do not name its column")
        need(
            column is None or ("1 row of each is" if k == 1 else f"at most {k} rows of each are") in unit,
            "the words of the unit do not name its rows",
        )
    if e.request is not None:
        options = e.request["options"]
        need(
            Fraction(options["epsilon"]) == e.epsilon and Fraction(options["delta"] or 0) == e.delta,
            "the budget is not the one that was requested",
        )
        if e.of_release:
            need(
                options["neighbours"] == plan["unit"]["neighbours"] and options["unit"] == plan["unit"]["column"],
                "the unit is not the one that was requested",
            )
            need(
                options["max_rows"] is None or plan["unit"]["max_rows"] is None or int(options["max_rows"]) == k,
                "the rows of a person are not those that were requested",
            )
            need(
                options["n"] is None or int(options["n"]) in (plan["n"], plan.get("persons"), plan.get("most")),
                "n is not the requested one",
            )
    return "words, unit and request agree with the budget"


def check_prices(e: Evidence) -> str:
    document, plan = e.document, e.plan
    spent = document["spent"]
    stated = spent["epsilon"] if e.of_release else spent
    charged = spent["charged"] if e.of_release else plan["accountant"]
    need(charged == plan["accountant"] and charged in stated, "the accountant that charged is not the plan's")
    need(not e.of_release or amount(spent["delta"]) == e.delta, "prices are stated at another delta than the budget's")
    proved, seen, open_ = amount(plan["proved_epsilon"]), [], []
    need(proved <= e.epsilon, "the plan proves more than the budget's epsilon")
    for name, part in stated.items():
        found, said = price(name, e.planned, e.delta), amount(part)
        if found is UNKNOWN:
            most = [price(each, e.planned, e.delta) for each in ("advanced", "gdp")]
            known = [each for each in most if each is not None and each is not UNKNOWN]
            need(
                said is None or not known or said <= min(known) * (1 + Fraction(1, 10**9)),
                f"under {name} more is stated than a simpler theorem proves",
            )
            open_.append(name)
            continue
        need(
            same_price(said, found, name) or (said is None and not of_version(document, 0, 11)),
            f"under {name} the events cost {show(found)}, and {show(said)} is stated",
        )
        seen.append(name)
    at = amount(stated[charged])
    need(
        at is not None and at <= e.epsilon, f"under {charged}, which was charged, the events cost more than the budget"
    )
    need(at == proved, f"the plan proves {show(proved)}, and {charged} {show(at)}")
    if e.of_release:
        check_plan_prices(e, plan["price"], spent.get("phases", {}))
    phases = check_phases(e, spent.get("phases", {})) if e.of_release else ""
    run = price(charged, e.events, e.delta)
    need(
        run is UNKNOWN or (run is not None and run <= proved * (1 + Fraction(1, 10**9))),
        "what was drawn costs more than the plan proves",
    )
    beside = f"; not {', '.join(open_)}, whose theorem is numerical" if open_ else ""
    return f"the planned events cost what is stated under {', '.join(seen)}{phases}{beside}"


def show(value: Any) -> str:
    return "no price" if value is None else f"epsilon {float(value):.10g}"


NOUNS = {
    "dropped": "left out",
    "opening": "opening",
    "selection": "selection",
    "measurement": "measurement",
    "errors": "errors",
    "bounds": "bounds",
}
LOSSES = {"epsilon": pure, "rho": rho, "squared_mu": mu2}


def check_plan_prices(e: Evidence, prices: dict[str, Any], phases: dict[str, Any]) -> None:
    """The price of a draw of each phase is the loss of a planned event."""
    for noun, phase in NOUNS.items():
        part = prices.get(noun)
        need(part is None or (isinstance(part, dict) and len(part) == 1), f"the plan's price of {noun} is none")
        need(part is not None or phase not in phases, f"the plan states no price of {noun}")
        if part is not None and phase in phases:
            ((currency, figure),) = part.items()
            losses = [LOSSES[currency](one) for one, _ in e.planned]
            need(priced(amount(figure), losses), f"no planned event has the stated price of {noun}")


def priced(at: Fraction, losses: Iterable[Optional[Fraction]]) -> bool:
    """Whether a draw costs what is stated, or hardly less: parameters are rounded to the safe side."""
    return any(
        loss is not None and at * (1 - Fraction(1, 10**6)) <= loss <= at * (1 + Fraction(1, 10**20)) for loss in losses
    )


def check_phases(e: Evidence, phases: dict[str, Any]) -> str:
    """The planned events are those of the phases, one after another; each phase costs what is stated."""
    start = 0
    for name, stated in phases.items():
        fits = []
        for stop in range(start, len(e.planned) + 1):
            found = {each: price(each, e.planned[start:stop], e.delta) for each in stated}
            fits += (
                [stop]
                if all(found[n] is UNKNOWN or same_price(amount(p), found[n], n) for n, p in stated.items())
                else []
            )
        need(fits, f"no events of the plan cost what is stated for {name}")
        start = fits[-1] if amount(stated["basic"]) == 0 else fits[0]
    need(not phases or start == len(e.planned), "some planned events are of no phase")
    return f", in {len(phases)} phases" if phases else ""


def law_of(part: Any) -> tuple[str, str, Fraction]:
    """A noise law as the kind and parameters of its event."""
    kind, name = part["kind"], "scale" if part["kind"] == "discrete-laplace" else "variance"
    need(set(part) == {"kind", name, "deviation"}, f"a law {kind} has other parameters")
    value = exact(part[name])
    need(
        math.isclose(part["deviation"], deviation(kind, value), rel_tol=1e-9),
        f"the deviation of a law {kind} {value} is not {part['deviation']}",
    )
    return kind, name, value


def check_draws(e: Evidence) -> str:
    """Each draw is one of the events that were charged; its sensitivity is that of what was measured."""
    if not e.of_release:
        return draws_of_predictions(e)
    document, plan = e.document, e.plan
    draws, numbers, choices = [], [], 0
    for one in document["transcript"]:
        need(one["choice"] is None or type(one["choice"]) is int, "a choice is no position")
        numbers += one["charges"]
        choices += one["choice"] is not None
        if one["law"] is not None:
            draws.append((one["law"], one["measured"], one["charges"][-1:], "error_sum" in one))
    for drawn in (document.get("errors") or {}).get("draws", []):
        numbers.append(drawn["charge"])
        draws.append((drawn["law"], None, [drawn["charge"]], sum(map(len, drawn["groups"]))))
    dropped = document.get("dropped")
    if dropped:
        numbers.append(dropped["charge"])
        draws.append((dropped["law"], [], [dropped["charge"]], False))
    total = sum(count for _, count in e.events)
    need(
        len(set(numbers)) == len(numbers) and all(type(n) is int and 0 <= n < total for n in numbers),
        f"the draws do not name different ones of the {total} events",
    )
    need(
        len(numbers) == total or document.get("questions") or plan["schedule"]["name"] == "interactive",
        f"{total} events were charged, and the draws name {len(numbers)}",
    )
    left, checked, unknown = tally(e.events), 0, []
    blocks = {each["name"]: each for each in plan["workload"]["blocks"]}
    answers = e.answers()
    for law, measured, _, special in draws:
        kind, name, value = law_of(law)
        k, replace = e.rows
        power = 1 if kind == "discrete-laplace" else 2
        size = "sensitivity" if power == 1 else "squared_sensitivity"
        fits = [
            one
            for one in left
            if one[0] == kind
            and dict(one[1])[name] == value
            and left[one]
            and one[2] == (measured == [] and bool(dropped.get("parallel")))
        ]
        need(fits, f"no event paid for a draw of {kind} {name} {value}")
        needed, exactly, words = needed_change(e, measured, special, blocks, answers, power)
        if needed is None:
            unknown.append(words)
            taken = fits[0]
        else:
            needed *= k**power
            sizes = [dict(one[1])[size] for one in fits]
            need(
                any(each >= needed for each in sizes),
                f"{words}: neighbours move it by {needed}, and {max(sizes)} was paid for",
            )
            good = [one for one in fits if (dict(one[1])[size] == needed if exactly else dict(one[1])[size] >= needed)]
            need(good, f"{words}: neighbours move it by {needed}, and the event states {sizes[0]}")
            taken, checked = good[0], checked + 1
        moved = dict(taken[1]).get("coordinates")
        planned = {dict(one[1]).get("coordinates") for one, _ in e.planned if bare(one) == bare(taken)}
        need(not planned or moved in planned or not of_version(document, 0, 4), f"{words}: planned and charged differ")
        alone = sum(len(one["values"]) for one in measured or [{"values": [0]}]) == 1
        partition = needed is not None and needed == k and not replace  # one cell of each row
        need(
            moved is None or (moved == 1 if alone else partition and moved == k),
            f"{words}: not {moved} integers may move",
        )
        left[taken] -= 1
    rest = [one for one in (+left) if one[0] not in ("exponential", "permute-and-flip", "above-threshold")]
    need(
        not rest
        or document.get("questions")
        or any(one["law"] is None for one in document["transcript"])
        or plan["schedule"]["name"] == "interactive",
        "an event was charged that no draw names",
    )
    for words in dict.fromkeys(unknown):
        e.notes.append(f"the sensitivity of {words}: the record does not hold its rows")
    if document.get("questions"):
        return check_questions(e)
    return (
        f"{len(draws)} draws are those that were charged; the sensitivities of {checked} follow from what they measured"
    )


def check_questions(e: Evidence) -> str:
    """Of a session of questions: one-way marginals at its opening, then comparisons with a noisy threshold."""
    questions, k = e.document["questions"], e.rows[0] * (2 if e.rows[1] else 1)
    opened = e.planned[: len(questions["opening"])]
    for one, _ in opened:
        p = dict(one[1])
        need(
            p.get("sensitivity") == k or p.get("squared_sensitivity") == (2 * e.rows[0] ** 2 if e.rows[1] else k**2),
            "a marginal of the opening moves by another figure than was paid for",
        )
    ((name, rest),) = questions["rest"].items()
    need(
        dict(e.planned[-1][0][1]) == {name: exact(rest)}, "what was set aside for the questions is not what was planned"
    )
    for one, _ in e.events:
        need(
            one[0] != "above-threshold" or dict(one[1])["sensitivity"] == e.rows[0],
            "a comparison moves by another figure than was paid for",
        )
    e.notes.append(
        "answers of a session: the free ones are the model's, and the record does not hold the rows of the others"
    )
    return f"{len(opened)} marginals of the opening and all comparisons move by no more than was paid for"


def bare(one: Event) -> Any:
    """An event without what numerical accountants alone read."""
    return one[0], tuple(each for each in one[1] if each[0] != "coordinates"), one[2]


def needed_change(
    e: Evidence, measured: Any, special: Any, blocks: dict[str, Any], answers: Any, power: int
) -> tuple[Any, bool, str]:
    """(largest change of one row, whether the event must state exactly that, words); None where it is not known."""
    _, replace = e.rows
    if measured == []:
        return 1, True, "the count of the rows that were left out"
    if measured is None:  # noisy L1 errors, in units of 1 / 64 of what one row moves one of them
        fineness = e.document["errors"]["fineness"] if special is not True else 64
        return (fineness * int(special)) ** power if power == 1 else None, False, "L1 errors"
    whole, exactly, names = 0, True, ", ".join(one["name"] for one in measured)
    for one in measured:
        single = re.fullmatch(r"(.*)\[([0-9]+)\]", one["name"])
        block, row = blocks.get(one["name"]), None
        if block is None and single and single[1] in blocks:
            block, row = blocks[single[1]], int(single[2])
        need(
            block is None or Fraction(block["grid"]) == Fraction(one["grid"]),
            f"{one['name']}: grid and workload differ",
        )
        need(
            block is None
            or len(one["values"]) == (1 if row is not None else block["queries"])
            or (len(one["values"]) == 1 and e.plan["schedule"]["name"] in ("queries", "theory")),
            f"{one['name']}: not as many values as queries",
        )
        if block is None:
            if not (PARTITIONS.fullmatch(one["name"]) or one["name"] == TABLE):
                return None, False, names
            check_cells(e, one)
            block = {"name": one["name"], "queries": len(one["values"]), "grid": one["grid"]}
        columns = columns_of(
            block,
            (answers or {}).get(block["name"]),
            e.request,
            e.plan["domain"],
            lambda name: read_bytes(os.path.join(e.path, os.path.basename(name))),
        )
        if columns is None:
            return None, False, names
        if len(one["values"]) == 1 and block["queries"] > 1:
            columns = (
                [(column[row],) for column in columns]
                if row is not None and row < len(columns[0])
                else [(max(map(max, columns)),), (0,)]
            )
            exactly = False
        found = moves(columns, replace, power)
        if found is None:
            found, exactly = moves(columns, False, power), False
        exactly = exactly and not (replace and len(columns[0]) > 1)
        whole += found
    return whole, exactly, names


def check_cells(e: Evidence, one: dict[str, Any]) -> None:
    """A table of cells has as many values as its columns have cells together."""
    sizes = {column["name"]: column["cells"] for column in e.plan["domain"]["columns"]}
    inside = re.fullmatch(r"[a-z ]+\((.*)\)", one["name"])
    names = list(sizes) if one["name"] == TABLE else re.split(", ?", inside[1]) if inside else []
    if "buckets" in one or one["name"].startswith(("coarse", "hierarchy")) or not set(names) <= set(sizes):
        return
    need(len(one["values"]) == math.prod(sizes[name] for name in names), f"{one['name']}: not as many values as cells")


def draws_of_predictions(e: Evidence) -> str:
    """Every draw is one that was planned; without a session all of them were made."""
    charged, planned = tally(e.events), tally(e.planned)
    need(not charged - planned, "draws were made that the plan has not paid for")
    need("draws" in e.document or charged == planned, "fewer draws are stated than were planned, and it is no session")
    bound, noise = e.document.get("sensitivity"), e.document.get("noise_deviation")
    main = dict(e.planned[-1][0][1])
    if bound is not None and noise is not None and {"sensitivity", "scale"} <= set(main):
        wanted = deviation("discrete-laplace", main["scale"]) / float(main["sensitivity"])
        if e.planned[-1][0][0] == "discrete-laplace":
            need(
                math.isclose(noise / float(amount(bound)), wanted, rel_tol=1e-4),
                "the noise is not that of the stated sensitivity",
            )
    for part in (e.plan["price"], e.plan["counting"], (e.plan["tuning"] or {}).get("price")):
        for currency, figure in (part or {}).items():
            losses = [LOSSES[currency](one) for one, _ in e.planned]
            whole = set(losses) == {None} and amount(e.plan["proved_epsilon"]) <= amount(figure) <= e.epsilon
            need(whole or priced(amount(figure), losses), "no planned event has a stated price")
    e.notes.append(
        "the learner's sensitivity: it follows from a theorem of each learner, which this file does not hold"
    )
    return f"{sum(charged.values())} of {sum(planned.values())} planned draws were charged"


INTERVALS = 1.96


def check_answers(e: Evidence) -> str:
    """Measured answers, their noise and their intervals follow from the draws."""
    if not e.of_release:
        return answers_of_predictions(e)
    check_statements(e)
    found = e.answers()
    if found is None:
        raise Skipped("the file of answers is Parquet, which the standard library does not read; its hash is checked")
    blocks = {each["name"]: each for each in e.plan["workload"]["blocks"]}
    need(
        e.document.get("questions")
        or [(n, len(r)) for n, r in found.items()] == [(b["name"], b["queries"]) for b in blocks.values()],
        "the answers are not those of the workload",
    )
    direct, direct_rows, other, left, estimates = expected(e, blocks), 0, 0, Counter(), 0
    for name, rows in found.items():
        summed = sums_of_cells(e, blocks[name]) if name in blocks and name not in direct else None
        for place, row in enumerate(rows):
            where = f"{name}, row {place + 1}"
            value = {
                key: None if row.get(key, "") == "" else float(row[key])
                for key in ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
            }
            basis = row.get("basis")
            need(basis in (None, "", "measured", "estimate", "certified", "compared"), f"{where}: an unknown basis")
            need(basis != "compared" or value["measured"] is None, f"{where}: what was compared alone was not measured")
            if place in direct.get(name, {}):
                same_row(where, value, basis, direct[name][place])
                direct_rows += 1
            elif name in direct or value["measured"] is None:
                need(
                    value["measured"] is None and value["noise_deviation"] is None,
                    f"{where}: nothing was measured, and the answer says so",
                )
                need(basis != "measured", f"{where}: an interval rests on a draw that there is not")
                estimates += 1
            else:
                other += check_weighted(where, value, basis, summed and summed[place])
                left[name] += not summed
            if basis == "estimate":
                ends = (value["estimate"] - INTERVALS * value["error"], value["estimate"] + INTERVALS * value["error"])
                need(
                    near(value["lower"], ends[0], value["estimate"])
                    and near(value["upper"], ends[1], value["estimate"]),
                    f"{where}: the interval is not 1.96 errors to either side",
                )
            elif basis not in (None, "", "measured") and value["lower"] is not None:
                bound = (e.document.get("certificate") or {}).get("records")
                half = (value["upper"] - value["lower"]) / 2
                need(
                    near((value["upper"] + value["lower"]) / 2, value["estimate"], half)
                    and (bound is None or half >= bound * (1 - 1e-9)),
                    f"{where}: the interval is not the certificate's",
                )
    if sum(left.values()):
        e.notes.append(
            f"measured answers of {len(left)} blocks that are sums over draws whose rows the record does not hold"
        )
    if estimates or direct_rows:
        e.notes.append("the model's estimates and their errors: they take the fit that made them")
    return f"{direct_rows} measured answers and intervals follow from the draws, {other} more are sums of them"


def check_statements(e: Evidence) -> None:
    """Sizes, the level of intervals, the certificate and the count of dropped rows: what the record says beside."""
    document, plan = e.document, e.plan
    sizes = {column["name"]: column["cells"] for column in plan["domain"]["columns"]}
    need(plan["domain"]["cells"] == math.prod(sizes.values()), "the cells of the domain are not those of its columns")
    need(
        plan["workload"]["queries"] == sum(block["queries"] for block in plan["workload"]["blocks"]),
        "the queries of the workload are not those of its blocks",
    )
    for block in plan["workload"]["blocks"]:
        if re.fullmatch(r"marginal\([^)]*\)", block["name"]) and block["name"] not in entries(e.request):
            need(
                block["queries"] == math.prod(sizes[name] for name in block["columns"]),
                f"{block['name']}: not as many queries as cells",
            )
    need(document.get("intervals", {}).get("level", 0.95) == 0.95, "intervals are of another level than 0.95")
    for name in ("certificate", "bounds", "errors", "dropped"):
        need(document.get(name) is None or isinstance(document[name], dict), f"{name} has not its form")
    stopped = [one["certified"] for one in document["transcript"] if "certified" in one]
    certificate = document.get("certificate")
    if certificate is not None and stopped:
        need(near(certificate["records"], min(stopped)), "the certificate is not that of the stop test")
        n = plan["n"] or plan.get("most")
        need(
            certificate["fraction"] is None or near(certificate["fraction"], certificate["records"] / n),
            "the certificate's fraction is not that of n",
        )
    need(
        document.get("bounds") is None or document.get("errors") is not None,
        "bounds are stated, and no errors were drawn",
    )
    dropped, receipt = document.get("dropped"), document.get("receipt")
    need(
        not dropped or receipt is None or any(f"{dropped['estimate']:,} " in text for _, text in receipt),
        "the receipt states another count of dropped rows",
    )


def near(one: Any, other: float, size: float = 0.0) -> bool:
    return one is not None and abs(one - other) <= 1e-9 * max(1.0, abs(other), abs(size))


def expected(e: Evidence, blocks: dict[str, Any]) -> dict[str, Any]:
    """{block: {row: (value, deviation, half an interval or None)}} of what was drawn itself."""
    starts, at = {}, 0
    for name, block in blocks.items():
        starts[name], at = at, at + block["queries"]
    searching = "search" in e.document["spent"].get("phases", {})
    opened = {name for names in e.plan["opening"] for name in names}
    found, drawn = {}, Counter()
    for one in e.document["transcript"]:
        for part in one["measured"] or []:
            single = re.fullmatch(r"(.*)\[([0-9]+)\]", part["name"])
            name, rows = part["name"], range(len(part["values"]))
            if name not in blocks and single and single[1] in blocks:
                name, rows = single[1], [int(single[2])]
            if name not in blocks:
                continue
            if one["choice"] is not None and e.plan["schedule"]["name"] in ("queries", "theory"):
                row = one["choice"] - starts[name]
                need(0 <= row < blocks[name]["queries"], "a round measured another query than was chosen")
                rows = [row] if len(rows) < blocks[name]["queries"] else rows
            kind, _, parameter = law_of(one["law"])
            grid = Fraction(part["grid"])
            key = (name, rows[0])
            if searching and one["choice"] is not None:
                share = None if drawn[key] else 0.0
            else:
                shares = SHARES if searching and name in opened else (1.0,)
                share = shares[drawn[key]] if drawn[key] < len(shares) else None
                drawn[key] += 1
            if share is None:
                continue
            half = tail_of(kind, parameter, BETA * share) * float(grid) if share else None
            for row, value in zip(rows, part["values"]):
                found.setdefault(name, {})[row] = (value * float(grid), deviation(kind, parameter) * float(grid), half)
    return found


def same_row(where: str, value: Any, basis: Optional[str], wanted: Any) -> None:
    need(
        near(value["measured"], wanted[0]),
        f"{where}: {value['measured']} stands there as measured, the draw gives {wanted[0]}",
    )
    need(near(value["noise_deviation"], wanted[1], 0), f"{where}: the noise has the deviation {wanted[1]}")
    if basis is None:
        return
    need((basis == "measured") == (wanted[2] is not None), f"{where}: the interval rests on {basis}")
    if wanted[2] is not None:
        need(
            near(value["lower"], wanted[0] - wanted[2]) and near(value["upper"], wanted[0] + wanted[2]),
            f"{where}: the draw gives the interval {wanted[0]} +- {wanted[2]}",
        )


def check_weighted(where: str, value: Any, basis: Optional[str], summed: Any) -> int:
    """A weighted sum of draws: where the cells are known, its value and deviation; else it is the estimate itself."""
    if summed:
        need(near(value["measured"], summed[0]), f"{where}: the cells that were measured add up to {summed[0]}")
        need(near(value["noise_deviation"], summed[1]), f"{where}: the noise of that sum has the deviation {summed[1]}")
    if basis == "measured":
        half = (value["upper"] - value["lower"]) / 2
        need(
            near((value["upper"] + value["lower"]) / 2, value["measured"], half),
            f"{where}: the interval is not centred",
        )
        most = 6.0 * value["noise_deviation"]
        need(
            1.9 * value["noise_deviation"] <= half + 1 and half <= most + 1,
            f"{where}: no noise of deviation {value['noise_deviation']} has an interval of +- {half}",
        )
    return 1


def sums_of_cells(e: Evidence, block: dict[str, Any]) -> Any:
    """(value, deviation) of each row of a marginal, as sums of the smallest table over its columns; None: unknown."""
    sizes = {column["name"]: column["cells"] for column in e.plan["domain"]["columns"]}
    tables = []
    for number, one in enumerate(e.document["transcript"]):
        for part in one["measured"] or []:
            inside = re.fullmatch(r"(?:marginal|cells|opening)\((.*)\)", part["name"])
            names = list(sizes) if part["name"] == TABLE else re.split(", ?", inside[1]) if inside else None
            if (
                names is not None
                and set(block["columns"]) <= set(names) <= set(sizes)
                and len(part["values"]) == math.prod(sizes[n] for n in names)
            ):
                tables.append((len(part["values"]), number, names, part["values"], one["law"]))
    if (
        not tables
        or block["grid"] != "1"
        or set(e.document["spent"].get("phases", {"search": 1})) - {"opening", "left out", "errors", "bounds"}
    ):
        return None
    if block["queries"] != math.prod(sizes[name] for name in block["columns"]) or not (
        block["name"].startswith("marginal(") or block["name"] == "total"
    ):
        return None
    size, _, names, values, law = min(tables)
    kind, _, parameter = law_of(law)
    found = [0] * block["queries"]
    for cell, count in zip(product(*(range(sizes[name]) for name in names)), values):
        index = 0
        for name in block["columns"]:
            index = index * sizes[name] + cell[names.index(name)]
        found[index] += count
    spread = math.sqrt(size // block["queries"]) * deviation(kind, parameter)
    return [(float(count), spread) for count in found]


def answers_of_predictions(e: Evidence) -> str:
    """The predictions of a session follow from its draws."""
    drawn = e.document.get("draws")
    if drawn is None:
        raise Skipped(
            "predictions of one batch, and functions, are released as they were drawn: nothing follows from them"
        )
    table = list(csv.DictReader(read_bytes(e.path).decode("utf-8").splitlines()))
    values = [number * drawn["step"] for number in drawn["numbers"]]
    need(len(table) == len(values), "there are more or fewer predictions than draws")
    if "bounds" in drawn:
        low, high = drawn["bounds"]
        made = [(min(1.0, max(-1.0, value)) * (high - low) + low + high) / 2 for value in values]
        need(
            all(near(float(row["prediction"]), one) for row, one in zip(table, made)),
            "the predictions are not those of the draws",
        )
    elif "score" in table[0]:
        need(
            all(near(float(row["score"]), one) for row, one in zip(table, values)),
            "the scores are not those of the draws",
        )
        positive = e.plan["target"]["positive"]
        need(
            all((row["prediction"] == positive) == (one > 0) for row, one in zip(table, values)),
            "a label has not the sign of its score",
        )
    else:
        need(
            [row["prediction"] for row in table] == [drawn["labels"][n] for n in drawn["numbers"]],
            "the labels are not those that were drawn",
        )
    return f"{len(values)} predictions follow from the draws"


def check_plan(e: Evidence) -> str:
    if e.plan_path is None:
        raise Skipped("give the plan that was reviewed, if there is one")
    kept = read_json(read_bytes(e.plan_path).decode("utf-8"))
    sealed(kept, "the plan")
    questions = e.document.get("questions")
    same = (
        bool(questions)
        and kept["sha256"] == questions.get("plan")
        and all(kept[part] == e.plan[part] for part in ("budget", "events"))
    )
    need(kept == e.plan or same, f"{e.plan_path}: is another plan than the one of the record")
    return f"it is the plan that was reviewed, {kept['sha256'][:12]}"


# 6. The ledger: a chain of entries; per dataset a limit, and costs that are no less than those of the events.

DRAWN = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights")


def cost_of(part: Any) -> tuple[Fraction, Fraction]:
    both = part if isinstance(part, list) else [part, "0"]
    return exact(both[0]), exact(both[1])


def cost(currency: str, composition: Composition, pricing: tuple[str, Fraction]) -> Any:
    """(amount, delta) of a run in the currency of a budget; None: not derived here."""
    if currency == "pair":
        name, delta = pricing
        found = price(name, composition, delta)
        return None if found is UNKNOWN else (found, Fraction(0) if name == "basic" else delta)
    whole = add({"basic": pure, "zcdp": rho, "gdp": mu2}[currency], composition)
    return whole, Fraction(0)


def read_ledger(path: str) -> list[tuple[dict[str, Any], str]]:
    """All entries, chained: each seal is the SHA-256 of the seal before it, a line feed and the entry's text."""
    found, before = [], ""
    for number, line in enumerate(read_bytes(path).decode("ascii").splitlines()):
        row = read_json(line)
        text = row["text"] if "text" in row else canonical(row["entry"])
        need(
            row["seal"] == sha256(f"{before}\n{text}"),
            f"entry {number} of the ledger is not the one that its seal is of",
        )
        before = row["seal"]
        found.append((row.get("entry") or {"entry": "void"}, row["seal"]))
        need(
            found[-1][0]["entry"] == "void" or found[-1][0]["number"] == number,
            f"entry {number} of the ledger is missing",
        )
        need(
            line == canonical(row) or line == f'{{"entry":{text},"seal":"{before}"}}',
            f"line {number} is not written as dpqr writes it",
        )
    need(found and found[0][0]["entry"] == "open", "the ledger has no first entry")
    return found


def check_sums(entries: list[tuple[dict[str, Any], str]]) -> tuple[dict[str, Any], set[int]]:
    """Every reservation and settlement states no less than its events cost, and no budget is overdrawn."""
    terms, spent, runs, drawn, open_, rejected = {}, {}, {}, {}, set(), set()
    for entry, _ in entries:
        rejected |= set(entry.get("rejects", []))
    for entry, _ in entries:
        kind, number = entry["entry"], entry.get("number")
        if number in rejected:
            continue
        if kind == "init":
            pair = entry["accountant"] == "basic" and exact(entry["delta"])
            limit, delta = cost_of(entry["limit"]), exact(entry["delta"])
            convert = {"basic": lambda whole, _: whole, "zcdp": of_rho, "gdp": of_mu2}[entry["accountant"]]
            covers = convert(limit[0], delta)
            need(
                covers <= exact(entry["epsilon"]) and limit[1] <= delta,
                f"entry {number}: the limit is above the budget",
            )
            need(entry["dataset"] not in terms, f"entry {number}: the dataset has a budget already")
            terms[entry["dataset"]] = (
                "pair" if pair else entry["accountant"],
                limit,
                entry.get("cap"),
                "periods" in entry,
            )
            spent[entry["dataset"]] = [Fraction(0), Fraction(0)]
        elif kind in ("reserve", "settle"):
            currency, limit, cap, divided = terms[entry["dataset"]]
            stated, composition = cost_of(entry["cost"]), events(entry["events"])
            if kind == "reserve":
                pricing = (entry.get("accountant", "basic"), exact(entry.get("delta", "0")))
                runs[number], least_ = (
                    (stated, composition, pricing, entry["dataset"]),
                    cost(currency, composition, pricing),
                )
                change = stated
                need(
                    cap is None or all(a <= b for a, b in zip(stated, cost_of(cap))) or divided,
                    f"entry {number}: is above the cap",
                )
            else:
                paid, planned, pricing, dataset = runs.pop(entry["settles"])
                need(dataset == entry["dataset"], f"entry {number}: settles a run of another dataset")
                kept = currency == "pair" and pricing[0] != "basic" and composition
                least_ = paid if kept else cost(currency, composition, pricing)
                change = tuple(a - b for a, b in zip(stated, paid))
                need(all(a <= b for a, b in zip(stated, paid)), f"entry {number}: keeps more than was reserved")
                made = drawn.get(entry["settles"], Counter())
                need(
                    tally(composition) in (made, tally(planned)), f"entry {number}: settles other draws than were made"
                )
            if least_ is None:
                open_.add(number)
            else:
                room = 1 + Fraction(1, 2**29) if currency == "pair" else 1 + Fraction(1, 10**25)
                need(
                    least_[0] is not None and least_[0] <= stated[0] * room and least_[1] <= stated[1],
                    f"entry {number}: states less than its events cost",
                )
            total = spent[entry["dataset"]]
            total[:] = [a + b for a, b in zip(total, change)]
            need(
                divided or all(a <= b for a, b in zip(total, limit)),
                f"entry {number}: overdraws the budget of {entry['dataset']!r}",
            )
        elif kind == "draw":
            need(entry["run"] in runs, f"entry {number}: draws for a run that is not open")
            drawn.setdefault(entry["run"], Counter()).update(tally(events(entry["events"])))
    return terms, open_


def check_ledger(e: Evidence) -> str:
    stated = e.document["ledger"]
    if not isinstance(stated, dict):
        need(stated in ("none", None), "the ledger is stated in another way")
        need(e.ledger_path is None, "no ledger paid for this release")
        raise Skipped("no ledger paid for this release")
    if e.ledger_path is None:
        raise Skipped(f"entry {stated['entry']} of dataset {stated['dataset']!r} paid; give the export of the ledger")
    try:
        found = read_ledger(e.ledger_path)
        terms, open_ = check_sums(found)
    except (Refused, LookupError, TypeError, ValueError, AttributeError) as fault:
        raise LedgerRefused(f"the ledger does not add up: {fault}") from None
    number = stated["entry"]
    need(type(number) is int and 0 < number < len(found), "the entry that paid is not in this ledger")
    paid, seal = found[number]
    need(
        (paid["entry"], paid["dataset"], seal) == ("reserve", stated["dataset"], stated["seal"]),
        "the entry that paid is another one: it is another ledger",
    )
    need(tally(events(paid["events"])) == tally(e.planned), "the entry that paid is for other events than the plan's")
    followed = (e.document.get("questions") or {}).get("plan") or e.plan.get("sha256")
    need(
        paid.get("plan", followed) == followed and ("plan" in paid or not of_version(e.document, 0, 10)),
        "the entry that paid names another plan",
    )
    for name in ("purpose", "by", "approved_by"):
        need(
            (paid.get(name) or (paid.get("reason") or {}).get(name) or None) == e.document.get(name),
            f"the entry that paid states another {name}",
        )
    settled = next((entry for entry, _ in found if entry.get("settles") == number), None)
    if settled is None:
        return f"{len(found)} entries add up; entry {number} paid and is not settled yet"
    made = tally(events(settled["events"]))
    need(
        made in (tally(e.events), tally(e.planned)), "the entry that settled the run names other events than the record"
    )
    parts = {name: e.document[name] for name in DRAWN if name in e.document}
    if not {"transcript", "draws", "weights"} & set(parts):
        parts["files"] = sorted(e.document.get("hashes", {}).values())
    if "drawn" in settled:
        need(
            settled["drawn"] == sha256(canonical(parts)),
            "the entry that settled the run names other draws than the record",
        )
    else:
        need(not of_version(e.document, 0, 11), "the entry that settled the run names no draws")
    check_charged(stated, settled, terms[stated["dataset"]][0])
    beside = f"; {len(open_)} entries under pld are not derived" if open_ else ""
    return f"{len(found)} entries add up; entry {number} paid, entry {settled['number']} settled what was drawn{beside}"


def check_charged(stated: Any, settled: dict[str, Any], currency: str) -> None:
    """The words of what the ledger keeps."""
    if stated.get("charged"):
        figures_ = [
            Fraction(text)
            for text in re.findall(r"(?<![\w^])[0-9][0-9.]*(?:e[+-]?[0-9]+)?(?![\w^])", stated["charged"])
        ]
        kept = cost_of(settled["cost"])[: 2 if currency == "pair" else 1]
        need(
            len(figures_) == len(kept) and all(b <= a <= b * (1 + Fraction(1, 10**5)) for a, b in zip(figures_, kept)),
            f"the ledger keeps {show(kept[0])}, and the record says {stated['charged']}",
        )


# 7. The command.

CHECKS = {
    "record": check_record,
    "files": check_files,
    "guarantee": check_guarantee,
    "prices": check_prices,
    "draws": check_draws,
    "answers": check_answers,
    "plan": check_plan,
    "ledger": check_ledger,
}
FORM = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError, csv.Error)


def check(path: str, ledger: Optional[str] = None, plan: Optional[str] = None) -> list[tuple[str, str, str]]:
    """(state, name of the check, what it found) of every check, up to the first that refuses."""
    found, name = [], "record"
    try:
        evidence = Evidence(path, ledger, plan)
        for name, made in CHECKS.items():
            try:
                found.append(("ok", name, made(evidence)))
            except Skipped as reason:
                found.append(("not checked", name, str(reason)))
    except Refused as fault:
        return [*found, (DAMAGED if isinstance(fault, LedgerRefused) else REFUSED, name, str(fault))]
    except FORM as fault:
        words = f"has not the form that `formats` describes ({type(fault).__name__}: {fault})"
        return [*found, (REFUSED, name, words)]
    return found + [("not checked", "beyond", note) for note in evidence.notes if note]


REFUSED, DAMAGED = "REFUSED", "DAMAGED"
CODES = {REFUSED: 6, DAMAGED: 7}
LIMITS = "not shown by any check: that the noise was honestly drawn, and that the table was the one that is named"


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("release", metavar="RELEASE")
    parser.add_argument("--ledger", metavar="EXPORT", help="the ledger, as `dpqr budget export` prints it")
    parser.add_argument("--plan", metavar="PLAN", help="the plan that was reviewed")
    given = parser.parse_args(arguments)
    for place in (given.release, given.ledger, given.plan):
        if place is not None and not os.path.exists(place):
            parser.error(f"{place}: there is no such file")
    found = check(given.release, given.ledger, given.plan)
    for state, name, words in found:
        print(f"{state:<12} {name}: {words}")
    print(LIMITS)
    return max(CODES.get(state, 0) for state, _, _ in found)


if __name__ == "__main__":
    sys.exit(main())
