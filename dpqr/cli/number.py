"""Numbers of options, in plain ASCII text. Python's int() and float() take more: other scripts' digits, underscores,
nan, and any blank or control character around them."""

from __future__ import annotations

import re
from typing import Any

import click

from dpqr.privacy.budget import decimal

LONGEST = 40
_DIGITS = re.compile(rf"[ \t]*[-+]?[0-9]{{1,{LONGEST}}}[ \t]*")


class Whole(click.IntRange):
    """A whole number between `min` and `max`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not _DIGITS.fullmatch(value):
            self.fail(f"{value[:LONGEST]!r} is not a valid whole number; give digits, for example 1000.", param, ctx)
        return super().convert(value, param, ctx)


class Positive(click.types.FloatParamType):
    """A number above 0, as the nearest float."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        exact = decimal(value, option=param.opts[0] if param else "the number")
        if not exact:
            self.fail(f"{value.strip()} is not above 0.", param, ctx)
        return float(exact)
