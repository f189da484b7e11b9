"""Options of the command line, made of the rows of `dpqr.python.options`; headings in help texts, plain ASCII numbers.

Python's int() and float() take more than such numbers: other scripts' digits, underscores, nan, and any blank or
control character around them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import click

from dpqr.cli import completion
from dpqr.cli.main import HELP_ALL
from dpqr.cli.settings import is_typed
from dpqr.kernel.budget import exact_decimal
from dpqr.kernel.values import replace
from dpqr.python.checks import OneOf, Whole, above_zero, boolean
from dpqr.python.options import DisplayOptions, LockOptions, Option, PayerOptions, rows

LONGEST = 40
_BRIEF = f"{__name__}.brief"
"""Where a context says that its help leaves out what few people use."""
_DIGITS = re.compile(rf"[ \t]*[-+]?[0-9]{{1,{LONGEST}}}[ \t]*")


class Integer(click.IntRange):
    """A whole number between `min` and `max`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not _DIGITS.fullmatch(value):
            bare = re.sub(r"(?<=[0-9])[,. _'](?=[0-9]{3}\b)", "", value.strip())
            example = bare if _DIGITS.fullmatch(bare) else "1000"
            shown = f"{value[:LONGEST]!r} is not a valid whole number"
            self.fail(f"{shown}; give digits, for example {example}.", param, ctx)
        return super().convert(value, param, ctx)


class Integers(Integer):
    """The same, or several with commas between them, as a tuple."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or "," not in value:
            return super().convert(value, param, ctx)
        return tuple(super(Integers, self).convert(each, param, ctx) for each in value.split(","))


class Positive(click.types.FloatParamType):
    """A number above 0, as the nearest float."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        exact = exact_decimal(value, option=param.opts[0] if param else "the number")
        nearest = float(exact) if exact < 10**308 else math.inf
        if nearest in (0, math.inf):
            self.fail(f"{value.strip()} is not above 0 and below 1e308.", param, ctx)
        return nearest


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
COMPLETERS = {
    "documents": completion.DOCUMENTS,
    "tables": completion.TABLES,
    "ledgers": completion.LEDGERS,
    "sql": completion.SQL,
    "datasets": completion.datasets,
    "strategies": completion.strategies,
    "queries": completion.queries,
}
"""What completes the values of an option, by the name in its row."""


class HeadedOption(click.Option):
    """An option that knows its heading in the help text, whether dpqr.toml may state it, and whether most use it."""

    def __init__(
        self, *given: Any, heading: str = "", setting: bool = False, common: bool = False, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self.heading, self.setting, self.common = heading, setting, common

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Under a heading without the range of a number: the help text says what matters."""
        extra = super().get_help_extra(ctx)
        if self.heading:
            extra.pop("range", None)
        return extra


def heading_of(option: click.Parameter) -> str:
    """The heading that an option has in help texts."""
    return getattr(option, "heading", "") or "Other"


class SectionedCommand(click.Command):
    """A command whose help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if ctx.meta.get(_BRIEF) and not getattr(option, "common", True):
                continue
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                sections.setdefault(heading_of(option), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class BriefCommand(SectionedCommand):
    """A command whose --help shows the options that most people use; --help-all shows all of them."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        show = click.Option(
            [HELP_ALL],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=self._show_all,
            help="Show all options.",
        )
        self.params.append(show)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        ctx.meta[_BRIEF] = not ctx.meta.get(HELP_ALL)
        super().format_options(ctx, formatter)

    def _show_all(self, ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            ctx.meta[HELP_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()


def require_file_name(_: click.Context, __: click.Parameter, given: Any) -> Any:
    """Callback of file names: an empty one is a shell variable that was not set."""
    if given == "" or (isinstance(given, tuple) and "" in given):
        raise click.BadParameter("a file name is empty; give the name of a file")
    return given


def takes(
    options: type,
    *,
    words: Mapping[str, str] | None = None,
    headings: Mapping[str, str] | None = None,
    unset: Collection[str] = (),
    several: Collection[str] = (),
) -> Callable[[Decorated], Decorated]:
    """Give a command the options of a group, and hand their values to it as one argument `given`, a dict of that type.

    Args:
        options: the group, a TypedDict of `dpqr.python.options`.
        words, headings: other sentences of the help, and other headings, by option.
        unset: options that dpqr.toml does not state for this command, though it may for others.
        several: numbers of which this command takes several too, with commas between them.
    """
    known = rows(options)

    def decorated(command: Decorated) -> Decorated:
        @wraps(command)
        def gathering(**given: Any) -> Any:
            return command(given={each: given.pop(each) for each in known}, **given)

        for each, row in reversed(list(known.items())):
            stated = replace(
                row,
                help=(words or {}).get(each, row.help),
                section=(headings or {}).get(each, row.section),
                setting=row.setting and each not in unset,
            )
            gathering = click_option(each, stated, several=each in several)(gathering)
        return cast(Decorated, gathering)

    return decorated


def click_option(name: str, row: Option, *, several: bool = False) -> Callable[[Any], Any]:
    """The option of a row. several: see `takes`."""
    kinds: dict[str, object] = {}
    if isinstance(row.check, Whole):
        kinds["type"] = (Integers if several else Integer)(row.check.least, row.check.most)
    elif isinstance(row.check, OneOf):
        kinds["type"] = click.Choice(row.check)
    elif row.check is above_zero:
        kinds["type"] = Positive()
    elif row.check is boolean and any("/" in flag for flag in row.flags):
        kinds["default"] = None  # neither of both was typed
    elif row.check is boolean:
        kinds["is_flag"] = True
    if row.default is not None:
        kinds |= {"default": row.default, "show_default": isinstance(row.default, str)}
    callback: Callable[[click.Context, click.Parameter, Any], Any] | None = None
    if row.file:
        callback = require_file_name
    elif (parse := row.parse) is not None:
        callback = lambda _, __, text: None if text is None else parse(text)  # noqa: E731 (beside the other callback)
    return click.option(
        *(row.flags or (f"--{name.replace('_', '-')}",)),
        cls=HeadedOption,
        heading=row.section,
        setting=row.setting,
        common=row.common,
        help=row.help or None,
        metavar=row.metavar,
        multiple=row.multiple,
        required=row.required,
        callback=callback,
        shell_complete=COMPLETERS[row.complete] if row.complete else None,
        **kinds,
    )


def require_option(name: str) -> None:
    """Raise click's error of a missing option, where this one is not stated; for --queries, --sql will do."""
    context = click.get_current_context()
    if context.params[name] is None and not (name == "queries" and context.params["sql"] is not None):
        raise click.MissingParameter(
            ctx=context, param=next(each for each in context.command.params if each.name == name)
        )


def keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as keywords of the Python interface, which has the same names.

    Those of the screen and of dry runs have no use there, and SQL is a document. A queries file that dpqr.toml states
    gives way to --sql.
    """
    shell = {*rows(DisplayOptions), *rows(LockOptions), "dry_run", "sql"}
    named = {name: value for name, value in given.items() if name not in shell}
    if given.get("sql") is not None:
        if given["queries"] is not None and is_typed("queries"):
            raise click.UsageError("--sql and --queries both ask; give one of them")
        named["queries"] = {"sql": given["sql"]}
    return named


def ledger_arguments(given: PayerOptions) -> tuple[str, ...]:
    """The options of the ledger's files that stand on the command line, as they are typed."""
    files = {"ledger": given["ledger"], "anchor": given["anchor"]}
    return tuple(part for name, file in files.items() if file and is_typed(name) for part in (f"--{name}", str(file)))
