"""An old release's price, and that of today, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from dpqr.privacy.budget import upward_text
from dpqr.report.answers_view import plain_table
from dpqr.report.wording import plain

DIGITS = 6
Prices = Mapping[str, Fraction | None]


def repriced_view(
    version: str,
    charged: str,
    before: Prices,
    now: Prices,
    deltas: tuple[Fraction, Fraction],
    unverified: str = "",
) -> RenderableType:
    """A line an accountant.

    Args:
        version: of dpqr, that made the release.
        charged: the accountant of its guarantee.
        before, now: epsilon by accountant; None where its theorem does not cover the events.
        deltas: of the two.
        unverified: why the record may have been changed; empty: its hashes fit.
    """
    table = plain_table()
    table.add_column("accountant", no_wrap=True)
    for heading, delta in zip((f"dpqr {plain(version)}", "today"), deltas, strict=True):
        table.add_column(f"{heading}, delta {upward_text(delta)}", justify="right", no_wrap=True)
    for name in dict.fromkeys((*before, *now)):
        own = " (charged)" if name == charged else ""
        table.add_row(Text(plain(name) + own), Text(_figure(before, name)), Text(_figure(now, name)))
    said = "The guarantee stays what the release states. What is shown here is neither spent nor given back."
    doubt = [Text(f"Not verified: {plain(unverified)}")] if unverified else []
    return Group(*doubt, table, Text(said))


def _figure(prices: Prices, name: str) -> str:
    price = prices.get(name)
    if price is None:
        return "not covered" if name in prices else "not known"
    return f"eps {upward_text(price, DIGITS)}"
