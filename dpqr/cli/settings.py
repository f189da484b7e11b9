"""dpqr.toml at work: the defaults that it gives a command's options, and which of them a run has used."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.core import ParameterSource

from dpqr.cli.streams import say

_FILE = "dpqr.cli.settings: file"


def give_defaults(context: click.Context, name: str, command: click.Command) -> None:
    """Give the options of a command what dpqr.toml states, if there is one. Raises: UsageFault, DocumentError.

    What the environment names comes before dpqr.toml: DPQR_LEDGER.
    """
    if not settable(command):
        return
    from dpqr.ledger.location import LEDGER
    from dpqr.python.settings import find_settings, read_settings

    path = find_settings(Path.cwd())
    if path is None:
        return
    settings = read_settings(path)
    values = {key: value for key, value in settings.values.items() if key != "ledger" or not os.environ.get(LEDGER)}
    context.default_map = {name: _defaults(command, values)}
    context.meta[_FILE] = settings.file


def settable(command: click.Command) -> set[str]:
    """The options of a command, or of those below it, that dpqr.toml may state: names of parameters."""
    below = [settable(each) for each in command.commands.values()] if isinstance(command, click.Group) else []
    own = {each.name for each in command.params if getattr(each, "setting", False) and each.name}
    return own.union(*below)


def settings_notes() -> tuple[str, ...]:
    """One sentence on the options of this command that dpqr.toml has stated, if any."""
    context = click.get_current_context()
    stated = [
        f"{parameter.opts[0]} {context.params[parameter.name]}"
        for parameter in context.command.params
        if parameter.name in context.params and _source(context, parameter.name) is ParameterSource.DEFAULT_MAP
    ]
    return (f"{context.meta[_FILE]} states {', '.join(stated)}",) if stated else ()


def say_settings() -> None:
    """The same on stderr, for a command that has no plan."""
    for note in settings_notes():
        say(note)


def is_typed(name: str) -> bool:
    """Whether the parameter was given on the command line."""
    return _source(click.get_current_context(), name) is ParameterSource.COMMANDLINE


def settings_hint(context: click.Context | None, error: BaseException) -> str:
    """How to do without the settings of a command that has failed under them; nothing where the command line itself was
    mistyped, which no setting can fix."""
    file = context.meta.get(_FILE) if context else None
    if file is None:
        return ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        stated = getattr(error, "param", None)
        if stated is None or _source(error.ctx, stated.name) is not ParameterSource.DEFAULT_MAP:
            return ""
    from dpqr.python.settings import VARIABLE

    return f"defaults of {file} are in use; {VARIABLE}=none does without them"


def _source(context: click.Context, name: str | None) -> ParameterSource | None:
    return context.get_parameter_source(name) if name else None


def _defaults(command: click.Command, values: dict[str, str | int]) -> dict[str, object]:
    if isinstance(command, click.Group):
        return {name: _defaults(each, values) for name, each in command.commands.items()}
    return {name: values[key] for name in settable(command) if (key := name.replace("_", "-")) in values}
