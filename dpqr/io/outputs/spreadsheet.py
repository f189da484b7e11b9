"""Inert text: labels of a CSV file that a spreadsheet must not take for a formula."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def inert(text: str) -> str:
    """`text`, with an apostrophe before it where a spreadsheet would start to compute.

    Spreadsheets run a cell that begins with = + - @, a tab or a line break as a formula; the wide forms of those
    signs count too. Plain numbers ("-1", "+2.5e3") are left as they are: they compute nothing, and the labels of
    coded columns stay joinable. The rule is reversible: a text that begins with apostrophes and then such a sign gets
    one more, so whoever strips one apostrophe there has the label back. CSV only; Parquet and JSON hold labels as
    they are.
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text
