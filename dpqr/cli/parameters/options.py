"""Options: numbers in plain ASCII text, headings in help texts, and groups of options as typed arguments.

Python's int() and float() take more than such numbers: other scripts' digits, underscores, nan, and any blank or
control character around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from typing import Any, TypeVar, cast

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


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Headed(click.Option):
    """An option that knows its heading in the help text."""

    def __init__(self, *given: Any, heading: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.heading = heading

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Without the range of a number: the help text says what matters."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Sectioned(click.Command):
    """A command whose help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                sections.setdefault(getattr(option, "heading", "Other"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def under(heading: str) -> Callable[..., Callable[[Any], Any]]:
    """click.option for options under `heading`."""
    return partial(click.option, cls=Headed, heading=heading)


def added(command: Decorated, *options: Callable[[Any], Any]) -> Decorated:
    """`command` with options in the order in which help shall list them."""
    for option in reversed(options):
        command = option(command)
    return command


def gathered(kind: type[Any], name: str) -> Callable[[Decorated], Decorated]:
    """Hand the values of a group's options to the command as one argument `name`: a frozen dataclass `kind`.

    Its fields are the options' names, and say their types. This is the only place where values are handed on by name.
    """

    def decorated(command: Decorated) -> Decorated:
        @wraps(command)
        def gathering(**given: Any) -> Any:
            group = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            return command(**{name: group}, **given)

        return cast(Decorated, gathering)

    return decorated


def named(_: click.Context, __: click.Parameter, given: Any) -> Any:
    """Callback of file names: an empty one is a shell variable that was not set."""
    if given == "" or (isinstance(given, tuple) and "" in given):
        raise click.BadParameter("a file name is empty; give the name of a file")
    return given


def delimiter(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--delimiter; a backslash and a t, as a shell passes them on, mean a tab."""
    return option(
        "--delimiter",
        metavar="C",
        callback=lambda _, __, given: "\t" if given == r"\t" else given,
        help=r"CSV delimiter, ; or \t (a tab) for example. [default: a tab in .tsv, else a comma]",
    )


def period(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--period, of a release and of its plan."""
    return option(
        "--period",
        metavar="PERIOD",
        help="Read the rows of one period only: 2026-03, 2026-Q1, 2026, 2026-W05 or 2026-03-05.",
    )


def encoding(option: Callable[..., Callable[[Any], Any]] = click.option) -> Callable[[Any], Any]:
    """--encoding, by the one name of an encoding that has several."""

    def known(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
        from dpqr.privacy.policy import known_encoding

        return None if given is None else known_encoding(given)

    return option(
        "--encoding",
        metavar="NAME",
        callback=known,
        help="Encoding of CSV files, cp1252 or utf-16 for example. [default: utf-8]",
    )
