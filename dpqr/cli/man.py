"""`dpqr man`: manual pages, one a command, from the texts that --help prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from dpqr import __version__
from dpqr.cli import options
from dpqr.cli.streams import say

EXAMPLES = "\b"
"""Begins a paragraph of --help whose lines stay as they are."""


@click.command("man")
@click.argument("directory", metavar="DIR", callback=options.require_file_name)
@click.pass_context
def command(context: click.Context, directory: str) -> None:
    """Write the manual pages dpqr.1, dpqr-release.1, ... into the directory DIR.

    \b
    dpqr man ~/.local/share/man/man1
    man dpqr-release
    """
    from dpqr.kernel.wording import plain
    from dpqr.python.project import write_files

    written = write_files(directory, {page_name(page): page_text(page) for page in pages(context.find_root().command)})
    say(f"wrote {len(written)} pages to {plain(directory)}")


def pages(main: click.Command) -> Iterator[click.Context]:
    """Every command in its context, the program first, then group by group."""
    yield from _below(click.Context(main, info_name="dpqr"))


def _below(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = getattr(context.command, "below", context.command)
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            if found is not None:
                yield from _below(click.Context(found, info_name=name, parent=context))


def page_name(page: click.Context) -> str:
    """ "dpqr-budget-init.1"."""
    return f"{page.command_path.replace(' ', '-')}.1"


def page_text(page: click.Context) -> str:
    """The page in the macros of man(7)."""
    return "\n".join([*_lines(page), ""])


def _lines(page: click.Context) -> Iterator[str]:
    command, name = page.command, page.command_path.replace(" ", "-")
    yield f'.TH "{escaped(name.upper())}" "1" "" "dpqr {escaped(__version__)}" "dpqr manual"'
    yield from (".SH NAME", f"{escaped(name)} \\- {escaped(_first_line(command).rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {escaped(page.command_path)}", line(" ".join(command.collect_usage_pieces(page))))
    # The paragraphs of --help; the last of them are examples.
    yield ".SH DESCRIPTION"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith(EXAMPLES):
            yield from (".SH EXAMPLES", ".nf", *map(line, paragraph.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", line(" ".join(paragraph.split())))
    # The options, under the headings that --help has, if it has any.
    yield ".SH OPTIONS"
    heading, headed = "", isinstance(command, options.SectionedCommand)
    for option in command.get_params(page):
        record = option.get_help_record(page) if isinstance(option, click.Option) else None
        if record is None:
            continue
        if headed and (found := options.heading_of(option)) != heading:
            heading = found
            yield f".SS {escaped(heading)}"
        yield from (".TP", f".B {escaped(record[0])}", line(" ".join(record[1].split())))
    below = [one for one in _below(page) if one.parent is page]
    if below:
        yield ".SH COMMANDS"
    for one in below:
        yield from (".TP", f".B {escaped(str(one.info_name))}", line(_first_line(one.command)))
    if page.parent is not None:
        yield from (".SH SEE ALSO", line(f"{page_name(page.parent)[:-2]}(1); `dpqr guide` has the manual by topics"))
        return
    # On the program's page also the exit codes, from the table of the guide, and all pages below it.
    from dpqr.report.guide import read_topic

    yield ".SH EXIT STATUS"
    for code, meaning in re.findall(r"^\| (\d+) \| (.+?) \|", read_topic("ci"), re.MULTILINE):
        yield from (".TP", f".B {code}", line(meaning))
    others = (f"{page_name(one)[:-2]}(1)" for one in pages(command) if one.parent is not None)
    yield from (".SH SEE ALSO", line(", ".join(others)))


def escaped(text: str) -> str:
    """Text as roff prints it: no sign of it is a command."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")


def line(text: str) -> str:
    """A line of text; one that begins as a command does is none."""
    shown = escaped(text)
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _first_line(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())
