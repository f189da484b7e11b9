#!/usr/bin/env python3
"""A second pair of eyes on a release: python check.py RELEASE [--ledger EXPORT] [--plan PLAN]

It shares no code with dpqr. It is written from the description of the records (`dpqr guide formats`) and from the
theorems that are named beside the formulas. It needs Python 3.9 and no package. RELEASE: a directory, or a file of
predictions or of a released function. Begin with part 9, the table of rules: a row names a field of the record and how
it follows from others. Parts 2 to 8 hold what the rows use. The program walks the table, compares, and says

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
    """JSON whose objects state no key twice."""

    def once(pairs: list[tuple[str, Any]]) -> Document:
        need(len({key for key, _ in pairs}) == len(pairs), "a JSON object states a key twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


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
    text = part["exact"] if isinstance(part, dict) else str(int(part)) if isinstance(part, int) else part
    need(re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text) and str(Fraction(text)) == text, f"{text!r} is no exact figure")
    return Fraction(text)


def paired(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs of two sequences, which must be of one length."""
    one, two = list(first), list(second)
    need(len(one) == len(two), f"{len(one)} parts stand beside {len(two)}")
    return [(each, two[place]) for place, each in enumerate(one)]


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
        value = exact(stated) if isinstance(stated, dict) else Fraction(stated) if isinstance(stated, str) else stated
        return bool(low <= value <= high)
    if isinstance(follows, float):
        return isinstance(stated, (int, float)) and abs(stated - follows) <= 1e-9 * max(1.0, abs(follows))
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


Losses = dict[str, Callable[..., Fraction]]
LAPLACE: Losses = {"epsilon": lambda sensitivity, scale, **_: sensitivity / scale}
CHOICE: Losses = {"epsilon": lambda epsilon: epsilon}
GAUSSIAN: Losses = {"rho": lambda squared_sensitivity, variance, **_: squared_sensitivity / (2 * variance)}
ROUNDED: Losses = {**GAUSSIAN, "squared_mu": lambda squared_sensitivity, variance: squared_sensitivity / variance}
THRESHOLD: Losses = {
    "epsilon": lambda sensitivity, threshold_scale, answer_scale, directions: (
        sensitivity / threshold_scale + directions * sensitivity / answer_scale
    ),
    "span": lambda sensitivity, threshold_scale, answer_scale, **_: (
        sensitivity / threshold_scale + 2 * sensitivity / answer_scale
    ),
}
KINDS: dict[str, tuple[str, Losses]] = {
    # Dwork and Roth 2014, Theorem 3.6, by the triangle inequality of whatever norm.
    "discrete-laplace": ("sensitivity scale coordinates?", LAPLACE),
    "spherical-laplace": ("sensitivity scale coordinates", LAPLACE),
    # Canonne, Kamath and Steinke 2020, Theorem 4.
    "discrete-gaussian": ("squared_sensitivity variance", GAUSSIAN),
    # Bun and Steinke 2016, Proposition 1.6; Dong, Roth and Su 2019, Theorem 2.7; rounding reads the noisy value alone.
    "rounded-gaussian": ("squared_sensitivity variance", ROUNDED),
    # Dwork and Roth 2014, Theorem 3.10; its losses span an interval of length epsilon (Durfee and Rogers 2019).
    "exponential": ("epsilon", {**CHOICE, "span": CHOICE["epsilon"]}),
    "permute-and-flip": ("epsilon", CHOICE),  # McKenna and Sheldon 2020
    # Dwork and Roth 2014, Theorem 3.23: the threshold once, the answer that passes as often as answers move apart.
    "above-threshold": ("sensitivity threshold_scale answer_scale directions", THRESHOLD),
    # Their losses take a theorem for each learner: not derived here.
    "perturbed-objective": ("sensitivity scale coordinates units curvature closing", {}),
    "gaussian-objective": ("squared_sensitivity variance changes curvature closing opposite? tapered?", {}),
    # What a filter may spend in all, in its own currency.
    "pure-sum": ("epsilon", CHOICE),
    "rho-sum": ("rho", {"rho": lambda rho: rho}),
    "mu-sum": ("squared_mu", {"rho": lambda squared_mu: squared_mu / 2, "squared_mu": lambda squared_mu: squared_mu}),
}
CHOICES = ("exponential", "permute-and-flip", "above-threshold")
"""Kinds that add no noise to an answer."""


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
    names, stated = KINDS[part["kind"]][0].split(), set(part) - {"kind", "count"}
    must, may = {name for name in names if name[-1] != "?"}, {name.rstrip("?") for name in names}
    need(must <= stated <= may, f"an event {part['kind']} states other parameters than its kind has")
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
    """The loss of one draw: `epsilon`, `rho` of zCDP, or `squared_mu` of Gaussian DP; None where none is known."""
    losses, values = KINDS[one.kind][1], dict(one.parameters)
    if currency in losses or "epsilon" not in losses:
        return losses[currency](**values) if currency in losses else None
    epsilon = losses["epsilon"](**values)
    # A draw whose losses span an interval is as dear as half the interval as an epsilon: Cesar and Rogers 2021 for
    # rho, Dong, Durfee and Rogers 2020 for mu. Else Bun and Steinke 2016, Proposition 1.4: rho = epsilon^2 / 2.
    if "span" in losses and values.get("directions", 1) == 1:
        epsilon = losses["span"](**values) / 2
    return epsilon**2 / 2 if currency == "rho" else mu2_of_pure(epsilon)


def total(currency: str, composition: Composition) -> Fraction | None:
    """Losses add up: Dwork and Roth 2014, Theorem 3.16; Bun and Steinke 2016, Lemma 1.7; Dong et al., Corollary 3.3."""
    losses = [(loss(currency, one), count) for one, count in composition]
    known = [each * count for each, count in losses if each is not None]
    return sum(known, Fraction(0)) if len(known) == len(losses) else None


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
    """The smallest x > 0 with holds(x), from above; holds(high) is true."""
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
def advanced(losses: Composition, delta: Fraction, straight: Fraction) -> Fraction:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.5, its first and third bound."""
    with sixty_digits():
        sizes = [(dec(loss("epsilon", one) or Fraction(0)), count) for one, count in losses]
        drift = sum(count * e * (e.exp() - 1) / (e.exp() + 1) for e, count in sizes)
        squares = sum(count * e**2 for e, count in sizes)
        return min(straight, Fraction(drift + (-2 * dec(delta).ln() * squares).sqrt()))


@lru_cache(maxsize=1024)
def optimal(losses: Composition, delta: Fraction, straight: Fraction) -> Fraction:
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3, all draws as dear as the dearest; `advanced` if that is less."""
    sizes = [(loss("epsilon", one) or Fraction(0), count) for one, count in losses]
    draws = sum(count for epsilon, count in sizes if epsilon)
    if draws > MOST_DRAWS:
        raise NotChecked(f"optimal composition of more than {MOST_DRAWS} draws takes too long")
    with sixty_digits():
        size = dec(max(sizes)[0])
        terms = [(math.comb(draws, k), ((draws - k) * size).exp(), (k * size).exp()) for k in range(draws + 1)]
        wanted = dec(delta) * (1 + size.exp()) ** draws

        def holds(epsilon: Decimal) -> bool:
            grown = epsilon.exp()
            return sum(ways * max(Decimal(0), up - grown * down) for ways, up, down in terms) <= wanted

        return min(advanced(losses, delta, straight), least(holds, draws * size, 64))


def of_one_group(name: str, losses: Composition, delta: Fraction) -> Fraction | None:
    """epsilon at delta of events that one row may be in all of; None: the theorem does not cover them."""
    if not all(KINDS[one.kind][1] for one, _ in losses):
        raise NotChecked("prices of a perturbed objective take a theorem for each learner")
    pure = total("epsilon", losses)
    if name == "basic" or (name in ("advanced", "optimal", "pld") and (pure == 0 or not delta)):
        return pure
    if name in ("rho", "squared_mu"):
        return total(name, losses)
    if name in ("zcdp", "gdp"):
        whole, convert = (total("rho", losses), of_rho) if name == "zcdp" else (total("squared_mu", losses), of_mu2)
        return whole if not whole else convert(whole, delta) if delta else None
    if name == "analytic" and not any("gaussian" in one.kind for one, _ in losses):
        return pure
    if name not in ("advanced", "optimal"):
        raise NotChecked(f"prices under {name} take numerical integrals of privacy losses")
    return pure if pure is None else (advanced if name == "advanced" else optimal)(losses, delta, pure)


def price(name: str, composition: Composition, delta: Fraction) -> Fraction | None:
    """A row is kept or left out, so the two groups of draws cost the larger of the two (McSherry 2009, Theorem 4)."""
    groups = [tuple((one, n) for one, n in composition if one.left_out == out and n) for out in (False, True)]
    kept, left_out = (of_one_group(name, group, delta) for group in groups)
    return None if kept is None or left_out is None else max(kept, left_out)


def priced(name: str, composition: Composition, delta: Fraction) -> Any:
    """What a stated price must be: no less than the theorem's, above it by less than a search in halves leaves."""
    try:
        found = price(name, composition, delta)
    except NotChecked as reason:  # pld proves no more than simpler theorems do
        simpler = [price(each, composition, delta) for each in ("advanced", "gdp") if name == "pld"]
        known = [each * (1 + Fraction(1, 10**9)) for each in simpler if each is not None]
        return {None, Range(0, min(known))} if known else reason
    if found is None or name == "basic":
        return found
    return Range(found * (1 - Fraction(1, 10**15)) - Fraction(1, 10**22), found * (1 + Fraction(1, 10**9)))


# 4. Sensitivities: how far one row moves what was measured. A row is one column of the matrix of integer queries.

PARTITIONS = {
    *("marginal", "marginals", "where", "hierarchy", "opening", "cells", "coarse cells", "total"),
    *("number of records", "records", "records left out", "table of all columns"),
}
"""What counts each row in one cell at most."""
TABLES = ("marginal", "marginals", "opening", "cells", "table of all columns")
BY_ROWS = ("prefix", "ranges", "conjunctions")
MOST_COLUMNS = 20_000
Column = tuple[Fraction, ...]


def kind_of(name: str, e: Evidence) -> str:
    """The kind of entry that asks for a block, or that names it."""
    entry: Document = next((each for each in e.request["queries"]["queries"] if each.get("name") == name), {})
    if name.startswith("coarse(") and kind_of(name[7:-1], e) in PARTITIONS:  # cells of it are counted together
        return "coarse cells"
    kinds = (*PARTITIONS, *BY_ROWS, "sum", "mean", "coefficients")
    return next((each for each in kinds if each in entry), name.split("(")[0])


WEIGHTED = ("strategy", "buckets", "first look")
"""What answers may be weighted sums of, by weights that no record holds."""


def columns_of(block: Document, e: Evidence) -> list[Column]:
    """The different columns of a block's matrix, in units of its grid."""
    name, grid, one, none = block["name"], Fraction(block["grid"]), Fraction(1), Fraction(0)
    kind = kind_of(name, e)
    if kind == "interaction":
        of_columns = [
            [[row[cell] for row in contrasts(e.sizes[each])] for cell in range(e.sizes[each])]
            for each in interaction_of(name)
        ]
        return [tuple(Fraction(math.prod(each)) for each in product(*cell)) for cell in product(*of_columns)]
    if kind in PARTITIONS and grid == 1:
        return [(one,)] if block["queries"] == 1 else [(one, none), (none, one)]
    if kind == "sum":
        entry: Document = next((each for each in e.request["queries"]["queries"] if each.get("name") == name), {})
        inner, cells = of_sum(e, entry.get("sum", name[4:].split(")")[0]), grid), min(block["queries"], 2)
    else:
        by_cell: dict[Any, list[str]] = {}
        for row in e.answers.get(name, []):
            by_cell.setdefault(row["cells"], []).append(row["detail"])
        details, cells = next(iter(by_cell.values()), []), min(len(by_cell), 2)
        if not details or kind not in BY_ROWS:
            raise NotChecked(f"the sensitivity of {kind!r}: the record does not hold its rows")
        need(all(each == details for each in by_cell.values()), f"{name}: two cells of it have other rows")
        inner = of_conditions([conditions(each) for each in details])
    zeros = (none,) * len(inner[0])  # rows of another cell of the `by` columns count for queries of their own
    return inner if cells == 1 else [(*each, *zeros) for each in inner] + [(*zeros, *each) for each in inner]


def of_sum(e: Evidence, name: str, grid: Fraction) -> list[Column]:
    """A row adds the middle of its bin to a sum."""
    field = next(each for each in e.request["domain"]["fields"] if each["name"] == name)
    column = next(each for each in e.plan["domain"]["columns"] if each["name"] == name)
    edges = [Fraction(str(edge)) for edge in field["dpqr"].get("edges", [])]
    if field["type"] != "number" or column["cells"] - len(column["own_cells"]) != len(edges) - 1:
        raise NotChecked("the sensitivity of sums over bins without stated edges, or cut by the queries")
    return [((low + high) / 2 / grid,) for low, high in paired(edges[:-1], edges[1:])]


def interaction_of(name: str) -> tuple[str, ...]:
    """The columns of "interaction(marginal(sex,age))"."""
    return tuple(each.strip() for each in name.split("(")[-1].rstrip(")").split(","))


def contrasts(size: int) -> list[list[int]]:
    """Rows (1, .., 1, -k, 0, .., 0) for k from 1 to size - 1, each times an integer that makes their norms alike."""
    times = [round(32 * math.sqrt(size * (size - 1) / (k * (k + 1)))) for k in range(1, size)]
    common = math.gcd(*times)
    return [
        [time // common * each for each in [1] * k + [-k] + [0] * (size - 1 - k)]
        for k, time in enumerate(times, start=1)
    ]


def conditions(detail: str) -> dict[str, Any]:
    """Read "age in [18, 58), sex = female": {"age": (end, end), "sex": "female"}; an end is (number, whether after)."""
    found: dict[str, Any] = {}
    for part in re.split(r", (?=[^,\[\]()]+ (?:in|=) )", re.sub(r"(\d{4})-(\d\d)-(\d\d)\b", r"\1\2\3", detail)):
        interval = re.fullmatch(r"(.*?)(?:^| in )([\[(])(-?[0-9.e+]+), (-?[0-9.e+]+)([\])])", part)
        below, label = re.fullmatch(r"(<=?) (-?[0-9.e+]+)", part), re.fullmatch(r"(.+?) = (.+)", part)
        if interval:
            low, high = Fraction(interval[3]), Fraction(interval[4])
            found[interval[1]] = ((low, interval[2] == "("), (high, interval[5] == "]"))
        elif below:
            found[""] = ((-math.inf, False), (Fraction(below[2]), below[1] == "<="))
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


# 5. Noise: deviations and tails of the laws, in units of the grid.


def law_of(law: Document) -> tuple[str, str, Fraction]:
    """A noise law's kind, and the name and the value of its parameter."""
    name = "scale" if law["kind"] == "discrete-laplace" else "variance"
    return law["kind"], name, exact(law[name])


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


def of_weighted_sum(kind: str, parameter: Fraction, beta: float) -> float:
    """b with Pr[|sum of c_i draw_i| > b |c|_2] <= beta, raised by 2^-20: Chernoff's bound; of Laplace noise Markov's
    inequality for the second or the fourth moment, whichever says more."""
    variance = deviation(kind, parameter) ** 2
    if kind != "discrete-laplace":
        # A discrete Gaussian has no larger moments than a normal draw of its parameter (Canonne, Kamath and Steinke).
        width = float(parameter) if kind == "discrete-gaussian" else variance
        return math.sqrt(2 * width * math.log(2 / beta)) * (1 + 2.0**-20)
    q, gap = math.exp(-1 / float(parameter)), -math.expm1(-1 / float(parameter))
    fourth = 2 * q * (1 + 4 * q + q * q) / gap**4 + 3 * variance**2
    return min(math.sqrt(variance / beta), math.sqrt(math.sqrt(fourth / beta))) * (1 + 2.0**-20)


# 6. What lies there: the record, its plan, its answers.


class Evidence:
    """A record, and what lies beside it."""

    def __init__(self, path: str, ledger: str | None) -> None:
        """Read them."""
        self.path, self.ledger = Path(path), ledger
        beside = Path(f"{path}.record.json")
        place = self.path / "release.json" if self.path.is_dir() else beside if beside.exists() else self.path
        self.document: Document = read_json(place.read_text("utf-8"))
        self.plan: Document = self.document["plan"]
        self.version = tuple(map(int, self.document["version"].split(".")[:2]))
        self.of_release = self.document["dpqr"] == "release/1"
        self.events, self.planned = events(self.document["events"]), events(self.plan["events"])
        self.epsilon, self.delta = (exact(self.plan["budget"][name]) for name in ("epsilon", "delta"))
        self.private = self.document["private"] and not self.document.get("rehearsal")
        self.unit: Document = self.plan["unit"] if self.of_release else {"words": self.plan["unit"]}
        self.rows, self.replace = self.unit.get("max_rows") or 1, self.unit.get("neighbours") == "replace"
        whose = self.unit["words"].split(" with all their rows")[0]
        self.names = re.findall(r"'([^']*)'|\"([^\"]*)\"", whose) if whose != self.unit["words"] else []
        self.names = [one or other for one, other in self.names]
        self.people: list[Document] = self.plan.get("person_tables") or []
        self.session = "questions" in self.document or self.plan.get("schedule", {}).get("name") == "interactive"
        self.request: Document = self.plan.get("request") or {"queries": {"queries": []}, "domain": {"fields": []}}
        self.blocks: dict[str, Document] = {one["name"]: one for one in self.plan.get("workload", {}).get("blocks", [])}
        self.sizes: dict[str, int] = {
            each["name"]: each["cells"] for each in (self.plan.get("domain") or {}).get("columns", [])
        }
        self.phases: Document = self.document["spent"].get("phases", {}) if self.of_release else {}
        self.prices: Document = self.document["spent"]["epsilon"] if self.of_release else self.document["spent"]
        self.answers: dict[str, list[Document]] = {}
        table = self.path / self.document["files"][0] if self.of_release else self.path
        text = table.read_text("utf-8") if table.suffix in (".csv", ".json") and self.of_release else ""
        rows: Iterable[Document] = csv.DictReader(text.splitlines())
        if text and table.suffix == ".json":
            rows = [{key: "" if part is None else str(part) for key, part in row.items()} for row in read_json(text)]
        for row in rows:
            names = list(row)
            cells = tuple(row[each] for each in names[1 : names.index("detail")]) if "detail" in row else ()
            self.answers.setdefault(row["query"], []).append({"detail": "", **row, "cells": cells})

    def starts(self) -> dict[str, int]:
        """The position of each block's first query among all."""
        found, before = {}, 0
        for name, block in self.blocks.items():
            found[name] = before
            before += block["queries"]
        return found

    def block_of(self, name: str) -> tuple[str, int | None]:
        """A block, and of "prefix(age)[7]" the row 7."""
        single = re.fullmatch(r"(.*)\[([0-9]+)\]", name)
        return (single[1], int(single[2])) if single and single[1] in self.blocks else (name, None)


# 7. Draws and answers.


def of_unit(e: Evidence, power: int, table: bool = False) -> int:
    """How many times as far as one row the rows of one unit move a block, or a table of counts: K, in squared L2 K^2.

    With at most m rows in one cell of a table its counts have the largest squares where as many as possible are m.
    """
    if power == 1 or not table:
        return int(e.rows**power)
    most = e.unit.get("max_rows_per_cell") or e.rows
    return int(e.rows // most * most**2 + (e.rows % most) ** 2)


def cells_of(e: Evidence, names: list[str]) -> int:
    """Cells of a table of these columns."""
    return math.prod(one["cells"] for one in e.plan["domain"]["columns"] if one["name"] in names)


def moved_in_person_tables(e: Evidence, power: int = 0) -> int:
    """How far one unit moves all tables of persons: a count by 1, a total and what it lacks of the range by the range
    together, both `times` as much on a finer grid. A replaced unit leaves as many cells as it enters. By 0: the cells.
    """
    moved = 0
    for one in e.people:
        total, twice = one.get("total"), 2 if e.replace else 1
        range_of = total["most"] - total["least"] if total else 1
        cells = one["queries"] // 2 if total else one["queries"]
        entered = min(one["max_cells"], cells) * twice if total else min(one["max_cells"] * twice, cells)
        moved += entered * int(one.get("times", 1) * range_of) ** power
    return moved


def person_grid(one: Document) -> Fraction:
    """Of a table of persons: the step of totals, over the times that it is counted."""
    return Fraction((one.get("total") or {}).get("step", 1)) / int(one.get("times", 1))


def change(e: Evidence, measured: list[Document], power: int) -> tuple[Fraction, bool]:
    """How far one unit moves what one draw measured, and whether the event must state just that, or at least that."""
    whole, just = Fraction(0), True
    for one in measured:
        name, row = e.block_of(one["name"])
        block = e.blocks.get(name, {"name": name, "queries": len(one["values"]), "grid": one["grid"]})
        need(block["grid"] == one["grid"], f"{name}: grids of the plan and of the draw differ")
        columns = columns_of(block, e)
        if len(one["values"]) == 1 < block["queries"]:  # a choice of one query; any of them, where its row is not named
            columns, just = [(max(each) if row is None else each[min(row, len(each) - 1)],) for each in columns], False
        just = just and not (e.replace and len(columns[0]) > 1)
        table = kind_of(name, e) in TABLES and len(columns) > 1
        whole += moves(columns, e.replace, power) * of_unit(e, power, table)
    return whole, just


def claims_of_draws(e: Evidence) -> Iterator[Claim]:
    """Each draw is a charged event with the sensitivity of what it measured, and each charged event was drawn."""
    dropped, errors = e.document.get("dropped"), (e.document.get("errors") or {}).get("draws", [])
    draws: list[tuple[str, Document]] = [("dropped", dropped)] if dropped else []
    draws += [("person_tables", e.document["person_tables"])] if e.document.get("person_tables") else []
    draws += [(f"transcript.{n}", one) for n, one in enumerate(e.document["transcript"])]
    draws += [(f"errors.draws.{n}", one) for n, one in enumerate(errors)]
    charges = sorted(n for _, one in draws for n in one.get("charges", [one.get("charge")]))
    every, lost = range(sum(count for _, count in e.events)), lost_draws(e)
    unnamed = [] if e.session else [n for n in every if n not in charges]
    yield "charges of all draws", charges, [n for n in every if n in charges]
    yield "charges that no draw names", len(unnamed), Range(0, len(lost))
    if unnamed:
        yield ", ".join(lost), None, NotChecked("draws that were paid, and lost in a crash")
    left = tally(e.events)
    for where, one in draws:
        if where.startswith("transcript"):
            yield from claims_of_choice(e, where, one)
        if one["law"] is None:
            continue
        kind, law, parameter = law_of(one["law"])
        power, size = (1, "sensitivity") if law == "scale" else (2, "squared_sensitivity")
        yield f"{where}.law.deviation", one["law"]["deviation"], deviation(kind, parameter)
        fits = [each for each in +left if each.kind == kind and each.left_out == bool(one.get("parallel"))]
        of_law = {each: dict(each.parameters)[size] for each in fits if (law, parameter) in each.parameters}
        need(of_law, f"{where}.law: no charged event is for {kind} noise of {shown(parameter)}")
        values = sum(len(each["values"]) for each in one.get("measured") or [])
        moving = moved_in_person_tables(e) if where == "person_tables" else 1 if values <= 1 else e.rows
        stated = {each: dict(each.parameters).get("coordinates", moving) for each in of_law}
        paid = max(of_law, key=of_law.__getitem__)
        try:
            moved, just = change_of_draw(e, where, one, power)
            enough = [each for each in of_law if of_law[each] >= moved]
            alone = moving == 1  # then events say so, from 0.6 on
            paid = min(
                enough, key=lambda each: (of_law[each], ("coordinates" in dict(each.parameters)) != alone), default=paid
            )
            yield f"{where}: {size} of its event", of_law[paid], Range(moved, moved if just else math.inf)
        except NotChecked as reason:
            yield where, None, reason
        yield f"{where}: coordinates of its event", stated[paid], Range(moving, moving)
        left[paid] -= 1
    if not e.session and all(one["law"] for _, one in draws):
        rest = [one for one in +left if one.kind not in CHOICES and not (unnamed and may_be_lost(e, lost, one))]
        yield "events that no draw names", [one.kind for one in rest], []


def change_of_draw(e: Evidence, where: str, one: Document, power: int) -> tuple[Fraction, bool]:
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
    return change(e, one["measured"], power)


def lost_draws(e: Evidence) -> list[str]:
    """What was paid for and is not there: a crash has lost it."""
    planned = {"dropped": "left out", "person_tables": "persons", "errors": "errors", "bounds": "bounds"}
    return [name for name, phase in planned.items() if phase in e.phases and not e.document.get(name)]


def may_be_lost(e: Evidence, lost: list[str], event: Event) -> bool:
    """Whether an event that no draw names is of one that a crash has lost, by how far one unit moves that."""
    sizes = dict(event.parameters)
    power = 1 if "sensitivity" in sizes else 2
    moved = sizes["sensitivity" if power == 1 else "squared_sensitivity"]
    of_errors = {"errors", "bounds"} & {*lost} and moved % 64**power == 0
    of_persons = "person_tables" in lost and moved == moved_in_person_tables(e, power)
    return bool(of_errors or of_persons or ("dropped" in lost and moved == e.rows**power))


def claims_of_choice(e: Evidence, where: str, one: Document) -> Iterator[Claim]:
    """A round that chose has paid for a choice before its noise; a query's choice is its position among all."""
    choice, measured = one["choice"], one["measured"] or []
    if one["law"] is not None:
        yield f"{where}.charges: how many", len(one["charges"]), {1, 1 + (choice is not None)}
        yield f"{where}.choice: whether there is one", choice is not None, len(one["charges"]) > 1
    if choice is None:
        return
    starts = e.starts()
    name, row = e.block_of(measured[0]["name"]) if measured else ("", None)
    if row is not None:
        yield f"{where}.choice", choice, starts[name] + row
    else:
        yield f"{where}.choice", choice, Range(0, sum(one["queries"] for one in e.blocks.values()))
        yield f"{where}.choice", None, NotChecked("which position a candidate had among others: no record lists them")


MISSES = math.nextafter(1 - 0.95, 0)
"""The probability that an interval misses."""


class Drawn(NamedTuple):
    """What draws say of an answer; half: of the interval, None without one, NaN where this file derives none.

    may_estimate: where the estimate's interval is narrower, that is shown.
    """

    name: str
    row: int
    value: float
    spread: float
    half: float | None
    may_estimate: bool = False


def drawn_answers(e: Evidence) -> Iterator[Drawn]:
    """Of each draw: block, row, noisy answer, deviation, half of the interval or None. The last one counts."""
    search, opened = "search" in e.phases, {name for names in e.plan["opening"] for name in names}
    starts = e.starts()
    drawn: Counter[tuple[str, int]] = Counter()
    for one in e.document["transcript"]:
        for part in one["measured"] or []:
            name, row = e.block_of(part["name"])
            if name not in e.blocks:
                continue
            rows: Any = range(len(part["values"])) if row is None else [row]
            if one["choice"] is not None and len(part["values"]) < e.blocks[name]["queries"]:
                rows = [one["choice"] - starts[name]]  # the choice is a position among all queries
            # Draws of one block share the probability of missing; what was chosen by a search has no interval.
            key, chosen = (name, rows[0]), search and one["choice"] is not None
            shares = (0.1, 0.6, 0.3) if search and name in opened else (1.0,)
            if drawn[key] >= (1 if chosen else len(shares)):
                continue
            (kind, _, parameter), grid = law_of(one["law"]), float(Fraction(part["grid"]))
            beta = MISSES * shares[drawn[key]]
            half = None if chosen else half_interval(kind, parameter, beta) * grid
            drawn[key] += not chosen
            for place, value in paired(rows, part["values"]):
                yield Drawn(name, place, value * grid, deviation(kind, parameter) * grid, half)
    people = e.document.get("person_tables") or {"measured": []}
    for part in people["measured"]:
        kind, _, parameter = law_of(people["law"])
        half, grid = float(half_interval(kind, parameter, MISSES)), float(Fraction(part["grid"]))
        for place, value in enumerate(part["values"]):
            yield Drawn(part["name"], place, value * grid, deviation(kind, parameter) * grid, half * grid)


def summed_answers(e: Evidence) -> Iterator[Drawn]:
    """The same for marginals that are sums of cells of the full table, where that was measured and no search ran."""
    sizes = e.sizes
    tables = [(one["law"], part) for one in e.document["transcript"] for part in one["measured"] or []]
    for law, part in tables if "search" not in e.phases else []:
        for name, block in e.blocks.items() if part["name"] == "table of all columns" else []:
            columns, (kind, _, parameter), sums = block["columns"], law_of(law), Counter[Any]()
            if e.unit.get("max_rows_per_cell") and len(columns) < len(sizes):
                continue  # tables of fewer columns count other rows
            if name.split("(")[0] in ("total", "marginal") and block["queries"] == math.prod(sizes[c] for c in columns):
                for cell, value in paired(product(*map(range, sizes.values())), part["values"]):
                    at = dict(paired(sizes, cell))
                    sums[tuple(at[column] for column in columns)] += value
                spread = math.sqrt(len(part["values"]) / block["queries"]) * deviation(kind, parameter)
                for row, key in enumerate(sorted(sums)):
                    yield Drawn(name, row, float(sums[key]), spread, math.nan, may_estimate=True)


def assembled_answers(e: Evidence) -> Iterator[Drawn]:
    """Pairs whose contrasts were drawn last: sums of their cells, of both columns' and of the total, evenly spread."""
    parts: dict[tuple[str, ...], tuple[Document, list[int]]] = {}
    for one in e.document["transcript"]:
        for part in one["measured"] or [] if one["choice"] is None else []:
            if kind_of(part["name"], e) == "interaction":
                parts[interaction_of(part["name"])] = one["law"], part["values"]
            elif len(part["values"]) == 1 and kind_of(part["name"], e) in (
                "number of records",
                "records",
                "total",
                "marginal",
            ):
                parts[()] = one["law"], part["values"]
    public = e.plan.get("n")
    for name, block in e.blocks.items() if not e.unit.get("max_rows_per_cell") else []:
        pair = tuple(block["columns"])
        needed = [pair, pair[:1], pair[1:], *([] if public is not None else [()])]
        if len(pair) != 2 or not all(each in parts for each in needed):
            continue
        noisy = [(law_of(parts[each][0]), contrast_cells(e, each, parts[each][1])) for each in needed]
        every = all(kind == "discrete-gaussian" for (kind, _, _), _ in noisy)
        for row, cell in enumerate(product(*(range(e.sizes[each]) for each in pair))):
            value, squares, bounds = (0.0 if public is None else public / block["queries"]), 0.0, []
            for columns, ((kind, _, parameter), cells) in paired(needed, noisy):
                share = block["queries"] // len(cells)
                part_value, norm = cells[tuple(at for column, at in paired(pair, cell) if column in columns)]
                value += part_value / share
                squares += (norm / share * deviation(kind, parameter)) ** 2
                bounds.append(norm / share * of_weighted_sum(kind, parameter, MISSES / (1 if every else len(noisy))))
            half = math.hypot(*bounds) if every else sum(bounds)
            yield Drawn(name, row, value, math.sqrt(squares), half, may_estimate=True)


def contrast_cells(
    e: Evidence, columns: tuple[str, ...], values: list[int]
) -> dict[tuple[int, ...], tuple[float, float]]:
    """By cell: the least-squares part of a table that its contrasts ask, and the norm of the draws' weights in it."""
    weights = []
    for column in columns:
        rows = [(row, sum(each * each for each in row)) for row in contrasts(e.sizes[column])]
        weights.append([[row[cell] / square for row, square in rows] for cell in range(e.sizes[column])])
    found = {}
    for cell in product(*(range(e.sizes[column]) for column in columns)):
        of_cell = [math.prod(each) for each in product(*(part[at] for part, at in paired(weights, cell)))]
        found[cell] = sum(w * v for w, v in paired(of_cell, values)), math.sqrt(sum(w * w for w in of_cell))
    return found


def may_be_sums(e: Evidence, parts: list[str]) -> set[str]:
    """Blocks whose answers may be sums of draws: of a strategy, or, if the plan chooses nothing, of a wider table."""
    if any(kind_of(part, e) in WEIGHTED for part in parts):
        return set(e.answers)
    if "search" in e.phases or "selection" in e.phases:
        return set()
    tables = [part for part in parts if kind_of(part, e) in TABLES]
    known = {"table of all columns": {"columns": list(e.sizes)}, **e.blocks}
    wide = [set(known[part]["columns"] if part in known else interaction_of(part)) for part in tables]
    return {name for name, block in e.blocks.items() if any(set(block["columns"]) <= each for each in wide)}


def claims_of_answers(e: Evidence) -> Iterator[Claim]:
    """Measured answers, their noise and their intervals follow from the draws."""
    if not e.answers:
        raise NotChecked("answers are read from CSV and JSON alone; the hash of the file is checked")
    drawn = {(one.name, one.row): one for made in (summed_answers, drawn_answers, assembled_answers) for one in made(e)}
    parts = [e.block_of(part["name"])[0] for one in e.document["transcript"] for part in one["measured"] or []]
    sums = may_be_sums(e, parts)
    if len(parts) > len(set(parts)) or not set(parts) <= set(e.answers):
        yield "transcript", None, NotChecked("values of draws that no answer states: a ledger holds a hash of them")
    certificate = (e.document.get("certificate") or {}).get("records", 0.0) * (1 - 1e-9)
    counts = [(name, len(rows)) for name, rows in e.answers.items()]
    people = e.people if e.document.get("person_tables") else []
    asked = [(one["name"], one["queries"]) for one in (*e.blocks.values(), *people)]
    yield "answers", counts, counts if e.session else asked
    names = ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
    for name, row, line in [(name, row, line) for name, rows in e.answers.items() for row, line in enumerate(rows)]:
        where, basis = f"{name}, row {row + 1}", line.get("basis") or None
        estimate, error, measured, noise, low, high = (float(line[n]) if line.get(n) else None for n in names)
        basis_may: set[str | None] = {None, "estimate", "certified", "compared"}
        ends: set[tuple[float, float]] = set()
        if (name, row) in drawn:
            _, _, value, spread, half, may_estimate = drawn[name, row]
            yield f"{where}, measured", (measured, noise), (value, spread)
            basis_may = basis_may if half is None else {None, "measured", "estimate" if may_estimate else None}
            if half is not None and math.isnan(half):
                yield name, None, NotChecked("intervals of sums of a table's cells: bounds by numerical search")
            elif half is not None and basis == ("measured" if "basis" in line else None) and low is not None:
                proved, whole = (value - half, value + half), float(round(estimate or 0.0))
                ends = {proved, (min(proved[0], whole), max(proved[1], whole))}  # since 0.11.0 it reaches the estimate
        elif name not in sums or any(name == each for each, _ in drawn):
            yield f"{where}, measured", (measured, noise), (None, None)
        else:
            basis_may.add("measured")
            yield (
                name,
                None,
                NotChecked("measured answers that are weighted sums of draws: no record holds the weights"),
            )
        yield f"{where}, basis", basis, basis_may
        if basis == "estimate" and estimate is not None and error is not None:
            ends = {(estimate - 1.96 * error, estimate + 1.96 * error)}
        if basis == "certified" and estimate is not None:
            yield f"{where}, lower", low, Range(-math.inf, estimate - certificate)
            yield f"{where}, upper", high, Range(estimate + certificate, math.inf)
        if ends or basis is None:
            yield f"{where}, lower and upper", (low, high), ends or {(None, None)}


# 8. The ledger: a chain of entries; per dataset a limit, and costs that are no less than those of the events.

NOTHING = (Fraction(0), Fraction(0))
DRAWN = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights", "person_tables")
"""What the `drawn` of a settlement is the hash of, as far as a record holds it."""


def lines_of(ledger: str | None) -> list[Document]:
    """Of an export: {"entry", "seal"}, or {"text", "seal"} of what the rules refused."""
    return [read_json(line) for line in Path(ledger or "").read_text("ascii").splitlines()]


def pair(part: Any) -> tuple[Fraction, Fraction]:
    """A cost: an amount alone, or epsilon and delta."""
    return (exact(part[0]), exact(part[1])) if isinstance(part, list) else (exact(part), Fraction(0))


def needed(currency: str, run: Document, composition: Composition) -> tuple[Any, Any]:
    """What events cost at least, in the currency of a budget."""
    accountant, delta = run.get("accountant", "basic"), exact(run.get("delta", "0"))
    raw = {"basic": "basic", "zcdp": "rho", "gdp": "squared_mu", "pair": accountant}[currency]
    found, slack = price(raw, composition, delta), Fraction(1, 2**29 if currency == "pair" else 10**25)
    part = delta if currency == "pair" and accountant != "basic" else Fraction(0)
    return math.inf if found is None else found * (1 - slack), part


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
        text = line["text"] if "text" in line else canonical(entry)
        yield f"{where}: seal and number", (line["seal"], entry["number"]), (sha256(f"{before}\n{text}"), position)
        before, kind = line["seal"], entry["entry"]
        if "text" in line:
            void.append(position)
        elif kind == "reject":
            rejected.update(entry["rejects"])
        elif kind == "init":
            need(entry["dataset"] not in terms, f"{where}: the dataset has a budget already")
            delta, limit, currency = exact(entry["delta"]), pair(entry["limit"]), entry["accountant"]
            convert = {"zcdp": of_rho, "gdp": of_mu2}.get(currency)
            covers = convert(limit[0], delta) if convert else limit[0]
            yield f"{where}: limit", (covers, limit[1]), (Range(0, exact(entry["epsilon"])), Range(0, delta))
            currency = "pair" if currency == "basic" and delta else currency
            terms[entry["dataset"]] = {**entry, "currency": currency, "limit": limit, "spent": NOTHING}
        elif kind in ("draw", "record"):
            yield f"{where}: dataset", entry["dataset"], runs.get(entry["run"], {}).get("dataset")
            drawn.setdefault(entry["run"], Counter()).update(tally(events(entry.get("events", []))))
        elif kind in ("reserve", "settle"):
            of_dataset, stated, composition = terms[entry["dataset"]], pair(entry["cost"]), events(entry["events"])
            run, paid = entry, NOTHING
            most: tuple[Any, Any] = (math.inf, math.inf)
            if kind == "reserve":
                runs[position] = entry
            else:
                run = runs.pop(entry["settles"])
                most = paid = pair(run["cost"])
                made, planned = drawn.get(entry["settles"], Counter()), tally(events(run["events"]))
                covered = not made - planned or any(one.kind.endswith("-sum") for one in planned)
                kept = tally(composition) == made or (tally(composition) == planned and covered)
                yield f"{where}: dataset, events that were drawn", (entry["dataset"], kept), (run["dataset"], True)
            try:
                least_cost = needed(of_dataset["currency"], run, composition)
                with_delta = of_dataset["currency"] == "pair" and run.get("accountant", "basic") != "basic"
                if kind == "settle" and with_delta and composition:
                    least_cost = paid  # what a theorem with a delta proved is not given back in parts
                yield f"{where}: cost", stated, tuple(Range(*ends) for ends in paired(least_cost, most))
            except NotChecked as reason:
                yield where, None, reason
            of_dataset["spent"] = tuple(a + b - c for (a, b), c in paired(paired(of_dataset["spent"], stated), paid))
            if "periods" not in of_dataset:
                cap = pair(of_dataset["cap"]) if of_dataset.get("cap") else of_dataset["limit"]
                yield f"{where}: cost, by the cap", stated, tuple(Range(0, each) for each in cap)
                bounds = tuple(Range(0, each) for each in of_dataset["limit"])
                yield f"{where}: spent in all, by the limit", of_dataset["spent"], bounds
    # What the rules refuse is void, costs nothing, and is there only where the ledger's owner has rejected it since.
    yield "ledger: void entries, as rejected", [each for each in void if each not in rejected], []


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
    yield "plan.events, as reserved", tally(e.planned), tally(events(paid["events"]))
    plan = document.get("questions", {}).get("plan") or e.plan.get("sha256")
    yield "plan.sha256, as reserved", plan, paid.get("plan", plan if e.version < (0, 10) else None)
    for name in ("purpose", "by", "approved_by"):
        yield name, document.get(name), paid.get(name) or (paid.get("reason") or {}).get(name)
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
    for text in re.findall(r"[0-9][0-9.]*(?:e[+-]?[0-9]+)?$", stated.get("charged") or ""):
        yield "ledger.charged", text, {Range(each, each * (1 + Fraction(1, 10**5))) for each in pair(settled["cost"])}


# 9. The table of rules: a field of the record, and what follows for it. * stands for every key or position, which the
# rule is handed. A name with ? may be absent, or null where more follows. A row without a field yields its claims.

Rule = tuple[str, Callable[..., Any]]


def claims_of_floats(part: Any, where: str = "") -> Iterator[Claim]:
    """Every float beside an exact figure is the smallest that is not below it."""
    if isinstance(part, dict) and set(part) == {"exact", "float"}:
        value = exact(part)
        nearest = float(value)
        yield f"{where}.float", part["float"], nearest if nearest >= value else math.nextafter(nearest, math.inf)
    elif isinstance(part, (dict, list)):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from claims_of_floats(value, f"{where}.{key}".lstrip("."))


def hash_of_file(e: Evidence, name: str) -> str:
    """The hash of a file of the release; of predictions there is one file."""
    need(Path(name).name == name, f"{name} is no name of a file")
    return sha256((e.path / name if e.of_release else e.path).read_bytes())


def claims_of_names(e: Evidence) -> Iterator[Claim]:
    """Seals and hashes may be missing in old versions alone; all files of a release have hashes."""
    if e.version >= ((0, 4) if e.of_release else (0, 7)):
        there = ["sha256" in e.document, "sha256" in e.plan, "hashes" in e.document or "weights" in e.document]
        yield "sha256, plan.sha256, hashes: whether they are there", there, [True, True, True]
    if e.of_release:
        names = {each.name for each in e.path.iterdir()} - {"release.json"}
        yield "files: whether they are there", set(e.document["files"]) <= names, True
        yield "hashes: their names", sorted(e.document.get("hashes", names)), sorted(names)


def said(text: str, pattern: str) -> str | None:
    """What a text says at the first group of a pattern."""
    found = re.search(pattern, text)
    return found and found[1]


def claims_of_guarantee(e: Evidence) -> Iterator[Claim]:
    """The words name the budget and the unit, unless no real row was read or no noise was real."""
    words = e.document["guarantee"]
    yield "guarantee", words.startswith("Differentially private with"), e.private
    if not e.private:
        yield "guarantee", None, NotChecked("the words of a record that claims nothing")
    if e.private:
        for name, value in (("epsilon", e.epsilon), ("delta", e.delta)):
            stated = said(words, rf"{name} = ([0-9.]*[0-9](?:e[+-]?[0-9]+)?)")
            yield "guarantee", stated, Range(value, value * (1 + Fraction(1, 10**10)))
        yield "guarantee", re.search(rf", for {re.escape(e.unit['words'])}[.,;:]", words) is not None, True
        if "whole" in e.plan:
            whole = said(words, r"more: epsilon ([0-9.]*[0-9](?:e[+-]?[0-9]+)?)")
            yield "guarantee", whole, Range(in_all(e, "epsilon"), in_all(e, "epsilon") * (1 + Fraction(1, 10**10)))


def in_all(e: Evidence, name: str) -> Fraction:
    """Epsilon or delta of the run, and of what was learned of its domain before."""
    return exact(e.plan["budget"][name]) + exact(e.plan["domain"]["learned"]["budget"][name])


def claims_of_phases(e: Evidence) -> Iterator[Claim]:
    """The planned events are those of the phases, one after another; each phase costs what is stated."""
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


def claims_of_prices(e: Evidence) -> Iterator[Claim]:
    """A plan states what one draw of each of its phases costs, and of no other; a search is planned as a whole."""
    for noun, stated in e.plan["price"].items():
        named = noun.replace("dropped", "left out") in e.phases or "search" in e.phases or not e.phases
        if not named:
            yield f"plan.price.{noun}", stated, [] if noun == "stages" and not isinstance(stated, str) else None
        for currency, price in stated.items() if isinstance(stated, dict) else []:
            yield f"plan.price.{noun}.{currency}", price, of_one_draw(e, currency, noun)


def of_one_draw(e: Evidence, currency: str, noun: str = "") -> Any:
    """What one planned draw costs; parameters are rounded to the safe side."""
    if noun and noun.replace("dropped", "left out") not in e.phases:
        return NotChecked("prices of single draws in a phase that is planned as a whole")
    losses = [each for each in (loss(currency, one) for one, _ in e.planned) if each is not None]
    return {Range(each, each * (1 + Fraction(1, 10**5))) for each in losses} or Range(e.epsilon / 2, e.epsilon)


def left_out_in_receipt(e: Evidence) -> Any:
    """The receipt names the noisy count of the rows that were left out."""
    stated = said(json.dumps(e.document.get("receipt")), r'"Left out", "(-?[0-9,]+) ')
    return int(stated.replace(",", "")) if stated else NotChecked("the count of left-out rows: there is no receipt")


def price_of_run(e: Evidence) -> Iterator[Claim]:
    """What was drawn costs no more than the plan proves, which is no more than the budget."""
    proved, run = exact(e.plan["proved_epsilon"]), price(e.plan["accountant"], e.events, e.delta)
    if e.phases and set(e.phases) <= {"left out", "opening", "persons"}:
        yield "events, as planned", tally(e.events), tally(e.planned)
    yield "events: their price", math.inf if run is None else run, Range(0, proved * (1 + Fraction(1, 10**9)))


EVERY: dict[str, list[Rule]] = {
    "record": [
        ("dpqr", lambda _: {"release/1", "prediction/1", "model/1"}),
        ("plan.dpqr", lambda e: "plan/1" if e.of_release else "prediction-plan/1"),
        ("plan.version?", lambda e: e.document["version"]),
        ("versions?.dpqr", lambda e: e.document["version"]),
        ("", lambda e: claims_of_floats(e.document)),
    ],
    "hashes": [
        ("sha256?", lambda e: seal_of(e.document)),
        ("plan.sha256?", lambda e: seal_of(e.plan)),
        ("hashes?.*", hash_of_file),
        ("", claims_of_names),
    ],
    "guarantee": [
        ("", claims_of_guarantee),
        ("plan.guarantee", lambda e: e.document["guarantee"] if e.private else e.plan["guarantee"]),
        ("plan.whole?.epsilon", lambda e: in_all(e, "epsilon")),
        ("plan.whole?.delta", lambda e: in_all(e, "delta")),
        ("plan.request?.options.epsilon", lambda e: e.epsilon),
        ("plan.request?.options.delta", lambda e: e.delta or None),
    ],
    "prices": [
        ("plan.accountant", lambda e: e.document["spent"].get("charged", e.plan["accountant"])),
        ("plan.proved_epsilon", lambda e: exact(e.prices[e.plan["accountant"]])),
        ("plan.proved_epsilon", lambda e: Range(0, e.epsilon)),
        ("", price_of_run),
    ],
    "draws": [("plan.domain.cells", lambda e: math.prod(one["cells"] for one in e.plan["domain"]["columns"]))],
    "ledger": [("", claims_of_ledger)],
}


def of_person_tables(e: Evidence, number: int) -> Any:
    """The deviation of a table's noise; a crash may have lost the draw."""
    made = e.document.get("person_tables")
    if not made:
        return NotChecked("draws that were paid, and lost in a crash")
    return made["law"]["deviation"] * float(person_grid(e.people[number]))


def person_queries(e: Evidence, number: int) -> int:
    """A cell each; with a total, two."""
    one = e.people[number]
    return cells_of(e, one["columns"]) * (2 if one.get("total") else 1)


def grid_of(e: Evidence, number: int) -> Any:
    """Counts are whole; a sum's grid is the largest that holds the middles of all bins."""
    block = e.plan["workload"]["blocks"][number]
    kind = kind_of(block["name"], e)
    if kind in ("sum", "mean", "coefficients"):
        return NotChecked("grids of sums: that they are the coarsest")
    return "1"


NEIGHBOURS = {"added or removed": "add-remove", "replaced by another": "replace"}
RELEASE: dict[str, list[Rule]] = {
    "guarantee": [
        ("unit", lambda e: e.unit["words"]),
        ("plan.unit.neighbours", lambda e: NEIGHBOURS.get(said(e.unit["words"], f"({'|'.join(NEIGHBOURS)})") or "")),
        ("plan.unit.column?", lambda e: e.names[0] if e.names else None),
        ("plan.unit.columns?", lambda e: e.names),
        ("plan.unit.per?", lambda e: said(e.unit["words"], r" in one ([a-z]+) \(by the date")),
        ("plan.unit.max_rows_per_cell?", lambda e: int(said(e.unit["words"], "at most ([0-9]+) in one cell") or 0)),
        ("plan.unit.max_rows?", lambda e: {int(said(e.unit["words"], "([0-9]+) rows? of each") or 0) or None}),
        ("plan.unit.counts?", lambda e: said(e.unit["words"], r"counted in column ['\"](.*?)['\"]")),
        ("plan.request?.options.neighbours", lambda e: e.unit["neighbours"]),
        ("plan.request?.options.unit", lambda e: e.unit.get("columns") or e.unit["column"]),
        ("plan.request?.options.per?", lambda e: e.unit.get("per")),
        ("plan.request?.options.max_rows_per_cell?", lambda e: {None, e.unit.get("max_rows_per_cell")}),
        ("plan.request?.options.max_rows", lambda e: {None, e.rows}),
        ("plan.request?.options.n", lambda e: {None, *(e.plan.get(name) for name in ("n", "persons", "most"))}),
    ],
    "prices": [
        ("spent.delta", lambda e: e.delta),
        ("spent.epsilon.*", lambda e, name: priced(name, e.planned, e.delta)),
        ("", claims_of_phases),
        ("", claims_of_prices),
    ],
    "draws": [
        ("dropped?.estimate", left_out_in_receipt),
        ("errors?.fineness", lambda _: 64),
        ("errors?.units", lambda _: NotChecked("bought errors and the bounds from them: nothing else states them")),
        ("plan.workload.blocks.*.grid", grid_of),
        ("plan.workload.queries", lambda e: sum(one["queries"] for one in e.blocks.values())),
        ("plan.person_tables?.*.noise_deviation", of_person_tables),
        ("plan.person_tables?.*.queries", person_queries),
        ("person_tables?.measured.*.grid", lambda e, n: str(person_grid(e.people[n]))),
        ("", claims_of_draws),
    ],
    "answers": [
        ("intervals?.level", lambda _: 0.95),
        ("certificate?.records", lambda e: min(x["certified"] for x in e.document["transcript"] if "certified" in x)),
        ("certificate?.fraction", lambda e: e.document["certificate"]["records"] / (e.plan["n"] or e.plan["most"])),
        ("", claims_of_answers),
    ],
}
PREDICTION: dict[str, list[Rule]] = {
    "guarantee": [
        ("plan.request?.options.max_rows?", lambda e: {None, int(said(e.plan["unit"], "([0-9]+) rows? of each") or 0)})
    ],
    "prices": [
        ("spent.*", lambda e, name: priced(name, e.planned, e.delta)),
        ("plan.price?.*", of_one_draw),
        ("plan.counting?.*", of_one_draw),
    ],
    "draws": [
        ("noise_deviation?", lambda e: e.plan["noise_deviation"]),
        ("counted?", lambda _: NotChecked("predictions and counts, from their draws or otherwise")),
        ("draws?", lambda _: NotChecked("predictions and counts, from their draws or otherwise")),
        ("weights?", lambda _: NotChecked("predictions and counts, from their draws or otherwise")),
        ("", lambda e: iter([("events", tally(e.events), tally(e.planned))] if "draws" not in e.document else [])),
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
    """Every field that a pattern names: where it is, what is stated there, what the stars stand for."""
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


def claims(e: Evidence, field: str, follows: Callable[..., Any]) -> Iterator[Claim]:
    """What a row of the table claims."""
    if not field:
        yield from follows(e)
    for where, stated, stars in fields(e.document, field.split("."), [], "") if field else []:
        yield where, stated, follows(e, *stars)


def compared(e: Evidence, name: str, rules: list[Rule]) -> list[Finding]:
    """Refusals, then reasons, then how many fields follow."""
    found: list[Finding] = []
    reasons, right, refusal = set(), 0, "damaged" if name == "ledger's sums" else "refused"
    for rule in rules:
        try:
            for where, stated, follows in claims(e, *rule):
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
            words = f"{rule[0] or name} has not the form that `formats` describes: {type(fault).__name__} {fault}"
            found.append((refusal, name, words))
    found += [("not checked", name, reason) for reason in sorted(reasons)]
    return [*found, ("ok", name, f"{right} fields follow")] if right else found


def check(path: str, ledger: str | None = None, plan: str | None = None) -> list[Finding]:
    """All that is found; the record is refused where one state is `refused` or `damaged`."""
    try:
        e = Evidence(path, ledger)
    except (Refused, *FORM) as fault:
        return [("refused", "record", f"has not the form that `formats` describes: {fault}")]
    own = RELEASE if e.of_release else PREDICTION
    found: list[Finding] = []
    for name in ("record", "hashes", "guarantee", "prices", "draws", "answers", "ledger"):
        found += compared(e, name, [*EVERY.get(name, []), *own.get(name, [])])
    if plan is not None:
        kept = read_json(Path(plan).read_text("utf-8"))
        of_session: Rule = ("questions.plan", lambda _: seal_of(kept))
        found += compared(e, "plan", [of_session if "questions" in e.document else ("plan", lambda _: kept)])
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
    found = check(given.release, given.ledger, given.plan)
    for finding in found:
        print(": ".join(finding))
    return max(CODES.get(state, 0) for state, _, _ in found)


if __name__ == "__main__":
    sys.exit(main())
