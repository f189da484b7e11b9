"""Whole: numbers of options, in ASCII digits only."""

from __future__ import annotations

import re
from typing import Any

import click

LONGEST = 40
_DIGITS = re.compile(rf"[ \t]*\+?[0-9]{{1,{LONGEST}}}[ \t]*")


class Whole(click.IntRange):
    """A whole number between `min` and `max`. Python's int() takes more: other scripts' digits, underscores, and any
    blank or control character around them."""

    name = "integer range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not _DIGITS.fullmatch(value):
            self.fail(f"{value[:LONGEST]!r} is not a whole number in digits, for example 1000.", param, ctx)
        return super().convert(value, param, ctx)
