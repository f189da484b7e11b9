"""Wording: figures and foreign text fit for any terminal, and lines of "what: how much". ASCII only."""

from __future__ import annotations

from collections.abc import Sequence

from dpqr.kernel.budget import Price, upward_text

DIGITS = 4
SHOWN = 8
"""Names of figures in one line."""
CURRENCIES = {"epsilon": "eps", "rho": "rho", "squared_mu": "mu^2"}
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def plain(text: str) -> str:
    """Names and labels from documents, with everything escaped that a terminal would obey or hide."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def price_words(price: Price) -> str:
    """What one draw costs, rounded up: "eps 0.0134", "rho 2.5e-05" or "mu^2 5e-05"."""
    return f"{CURRENCIES[price.currency]} {upward_text(price.figure, DIGITS)}"


def prices_words(count: int, prices: Sequence[Price]) -> str:
    """What each of so many draws costs: "eps 0.2", "each eps 0.2" or "each eps 0.0507 to 0.1095"."""
    ranked = sorted(prices, key=lambda price: price.figure)
    most = "" if ranked[0] == ranked[-1] else f" to {upward_text(ranked[-1].figure, DIGITS)}"
    return f"{'each ' if count > 1 else ''}{price_words(ranked[0])}{most}"


def amount(value: float) -> str:
    """A figure in records: three significant digits, whole from 100 on."""
    value += 0.0  # no minus sign for nothing
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def optional(value: float) -> str:
    """A figure in records, or nothing for NaN."""
    return "" if value != value else amount(value)


def bytes_words(count: int) -> str:
    """A size in memory, in the largest unit of which there is at least one."""
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {UNITS[unit]}"


def seconds_words(seconds: float) -> str:
    """A forecast of time to one digit: "less than 1 s", "3 s", "20 s", "4 min", "2 h"."""
    if seconds < 1:
        return "less than 1 s"
    for size, unit in ((3600, "h"), (60, "min"), (1, "s")):
        if seconds >= 1.5 * size or size == 1:
            return f"{float(f'{seconds / size:.1g}'):,.0f} {unit}"
    raise AssertionError("the last unit takes any time")


def count_words(count: int, noun: str) -> str:
    """ "1 round", "12 rounds", "2 queries"."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def figures_words(names: Sequence[str]) -> str:
    """How many figures, and their names, the first few; empty: none."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"{len(names):,}: {', '.join(map(plain, names[:SHOWN]))}{more}" if names else ""


Fact = tuple[str, str]
