"""Inert text: labels of a CSV file that a spreadsheet must not take for a formula."""

from __future__ import annotations

import re
import unicodedata

_SIGNS = "=+-@"
_MINUS = "\u2212"
"""The mathematical minus sign, which no normalisation makes a hyphen and spreadsheets read as one."""
_BREAKS = "\t\r\n"
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters, marks and patterns that show nothing, and that Unicode does not count among spaces or formats."""
_INVISIBLE = ("Z", "C")
"""Unicode's categories of spaces and separators, and of controls, formats and what has no character."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def inert(text: str) -> str:
    """`text`, with an apostrophe before it where a spreadsheet would start to compute.

    Spreadsheets run a cell that begins with = + - @ as a formula, in their wide, small, raised and lowered forms too,
    and drop what they do not show before them: white space, controls, byte-order and direction marks. A text that
    begins with a tab or a line break is no better. Plain numbers ("-1", "+2.5e3") are left as they are: they compute
    nothing, and the labels of coded columns stay joinable. The rule is reversible: a text that begins with
    apostrophes and then such a sign gets one more, so whoever strips one apostrophe there has the label back. CSV
    only; Parquet and JSON hold labels as they are.
    """
    return "'" + text if _computes(text) and not _NUMBER.fullmatch(text) else text


def _computes(text: str) -> bool:
    """Whether something that starts a formula comes first, apostrophes and what is not shown aside."""
    bare = text.lstrip("'")
    if bare[:1] and bare[0] in _BREAKS:
        return True
    first = next((sign for sign in text if sign != "'" and not _invisible(sign)), "")
    return bool(first) and (first == _MINUS or unicodedata.normalize("NFKC", first)[0] in _SIGNS)


def _invisible(sign: str) -> bool:
    return unicodedata.category(sign)[0] in _INVISIBLE or sign in _BLANKS or 0xFE00 <= ord(sign) <= 0xFE0F
