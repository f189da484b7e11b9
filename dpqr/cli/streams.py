"""Streams: results go to standard output, remarks to standard error.

A result that cannot be written is an error. A remark that cannot be written is not: the command's work is done all the
same.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import click

from dpqr.kernel.errors import UsageFault

if TYPE_CHECKING:
    from rich.console import RenderableType


WIDE = 200
"""Columns of a text that goes to a pipe or a file, where COLUMNS does not say how many: no window needs to hold it."""
NARROWEST = 40
"""The least that COLUMNS may say there."""


_BEGUN = "dpqr.cli.screen: begun"


_FOREIGN = re.compile(r"[^\n\x20-\x7e]")


def say(text: str) -> None:
    """Write a remark to stderr; a failure is ignored."""
    with suppress(OSError, ValueError):
        click.echo(text, err=True)


def wrap_line(line: str, stream: TextIO | None) -> str:
    """A line, wrapped between words for a terminal; unchanged for a pipe or a file."""
    if not is_terminal(stream):
        return line
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def product(text: str) -> None:
    """Write a result to stdout. Raises: UsageFault if that fails; BrokenPipeError if the reader has left."""
    if context := click.get_current_context(silent=True):
        context.meta[_BEGUN] = True
    if sys.stdout is None:
        raise _closed()
    try:
        click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(error) from None


def has_output(context: click.Context) -> bool:
    """Whether a command has written to stdout, or tried to. A second JSON document there could not be parsed."""
    return _BEGUN in context.meta


def product_json(document: object) -> None:
    """A document as JSON on stdout, escaped as far as the stream's encoding may need it, or a terminal obeys it."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    text = json.dumps(document, indent=2, ensure_ascii=encoding.lower() not in ("utf-8", "utf8"))
    product(text if text.isascii() and "\x7f" not in text else _FOREIGN.sub(_printable, text))


def require_output() -> None:
    """UsageFault where standard output is known to take nothing: closed, open for reading only, or full.

    For commands that spend something before they print. A write of no bytes finds the first two and some of the
    third; a disk can still fill up later.
    """
    if sys.stdout is None:
        raise _closed()
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream of this process, which has none
        return
    try:
        os.write(descriptor, b"")
    except BrokenPipeError:
        return
    except OSError as error:
        raise _unwritable(error) from None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks on. A stream that the caller closed is None."""
    return stream is not None and stream.isatty()


def uses_color(stream: TextIO | None, wanted: bool) -> bool:
    """Only a terminal gets colours; NO_COLOR, --no-color and a dumb terminal switch them off."""
    return wanted and is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def render(view: RenderableType, stream: TextIO | None, color: bool = True) -> str:
    """`view` as text for `stream`, lines without the blanks that pad a table."""
    from rich.console import Console
    from rich.measure import Measurement

    text = _Page(getattr(stream, "encoding", None))
    console = Console(
        file=text,
        force_terminal=is_terminal(stream),
        color_system="auto" if uses_color(stream, color) else None,
        width=None if is_terminal(stream) else piped_width(),
        highlight=False,
        markup=False,
        emoji=False,
    )
    if not is_terminal(stream):  # no window holds it, so a line may be as wide as its longest words ask for
        console.width = max(console.width, Measurement.get(console, console.options, view).minimum)
    console.print(view, crop=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def piped_width() -> int:
    """The columns of a text in a pipe or a file: as the variable COLUMNS says, where it is a number of some size."""
    stated = os.environ.get("COLUMNS", "")
    return max(int(stated), NARROWEST) if stated.isascii() and stated.isdecimal() and len(stated) < 5 else WIDE


class _Page(io.StringIO):
    """A text for a stream: views choose their signs by what its encoding can show."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__()
        self._encoding = encoding or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def print_paged(text: str) -> None:
    """The product, a screen at a time where it is longer than one and a person looks on who has a pager.

    Neither a pipe nor a job (CI) has somebody to turn pages.
    """
    height = shutil.get_terminal_size().lines
    if not is_terminal(sys.stdout) or os.environ.get("CI") or text.count("\n") + 2 < height:
        product(text)
        return
    click.echo_via_pager(text + "\n")


def _printable(sign: re.Match[str]) -> str:
    found = sign.group()
    return found if found.isprintable() else json.dumps(found)[1:-1]


def _closed() -> UsageFault:
    return UsageFault("standard output is closed, and the product goes there; open it, or choose another place")


def _unwritable(error: OSError) -> UsageFault:
    return UsageFault(f"standard output cannot be written ({error.strerror}); choose another place")


def fill_closed_streams() -> None:
    """Standard streams that the caller closed lead nowhere: else the next file that is opened takes their number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def escape_unencodable() -> None:
    """A label that the terminal's encoding lacks must not stop a release that is paid for: it is shown escaped."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence_others() -> None:
    """Nothing but this program writes to standard error.

    Privacy: a warning of numpy, or what an interpreter or a thread prints of an error that it drops, may quote the
    table, and whether it appears may depend on a row. PYTHONWARNINGS=error would make an exit code of it.
    """
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None
