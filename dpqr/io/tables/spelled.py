"""Readers of texts: numbers, days and moments in the way that a column's spelling states.

A text that does not follow the spelling is unparsable, and is never read some other way: where a point separates groups
of digits, "12.5" is no number, for the last group has three digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from dpqr.data.attribute import Spelling
from dpqr.io.tables.cell_values import MICROSECONDS_A_DAY, day, instant, moment, special_number

_ALIKE = {
    " ": "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]",
    "'": "['\N{RIGHT SINGLE QUOTATION MARK}]",
}
"""Marks between groups that typesetting replaces by others."""
_AROUND = r"[^0-9+\-()]*"
"""What may stand around a number: anything but a part of another number, or another way to write a sign."""
_NO_DIGIT = re.compile("[^0-9]")
_BEHIND_NO_LETTER = r"(?<![^\W\d_])"


def number_reader(spelling: Spelling) -> Callable[[str], float | None]:
    """Reads a text as the nearest float64; "nan" and "inf" in any case and sign; None: no number in this spelling."""
    pattern = _number_pattern(spelling)

    def read(text: str) -> float | None:
        cleaned = text.strip()
        found = pattern.fullmatch(cleaned)
        if found is None:
            return special_number(cleaned)
        outer, inner, whole, part, only, power = found.groups()
        if outer and inner:
            return None
        whole = whole if whole is None or whole.isdigit() else _NO_DIGIT.sub("", whole)
        return float(f"{outer or inner}{whole or 0}.{part or only or 0}{power or ''}")

    return read


def _number_pattern(spelling: Spelling) -> re.Pattern[str]:
    """Groups: a sign, a sign behind what stands before, the whole part, its decimals, decimals alone, the exponent.

    Of the two signs one at most may be there. A mark right behind a letter ends an abbreviation and begins no
    fraction: "Rs.500" is 500.
    """
    mark, group = re.escape(spelling.decimal), spelling.group
    apart = _ALIKE.get(group, re.escape(group)) if group else ""
    grouped = f"[0-9]{{1,3}}(?:{apart}[0-9]{{2,3}})*{apart}[0-9]{{3}}|" if apart else ""
    parts = f"({grouped}[0-9]+)(?:{mark}([0-9]*))?|{_BEHIND_NO_LETTER}{mark}([0-9]+)"
    before, behind = ("", "") if spelling.bare else (f"{_AROUND}?", _AROUND)
    return re.compile(f"([+-]?){before}([+-]?)(?:{parts})([eE][+-]?[0-9]+)?{behind}")


def moment_reader(spelling: Spelling, *, days: bool) -> Callable[[str], int | None]:
    """Reads a text as microseconds since 1970-01-01, or as days; None: no day or moment in this spelling."""
    pattern = spelling.pattern
    if pattern is None:
        return day if days else moment

    def read(text: str) -> int | None:
        try:
            found = instant(datetime.strptime(text.strip(), pattern.strip()))
        except (ValueError, OverflowError):
            return None
        return found // MICROSECONDS_A_DAY if days else found

    return read
