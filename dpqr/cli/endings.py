"""Endings of a command: every error as words and an exit code, and signals that end a command as Ctrl-C does.

SIGTERM and SIGHUP go through every cleanup that an error goes through.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

import click

from dpqr.cli.streams import fitted, require_output, say
from dpqr.errors import RESUMABLE, STAYS_SPENT, DocumentError, DpqrError, UsageFault
from dpqr.report.fault_view import fault_lines

USAGE, INFEASIBLE, INTERRUPTED = 2, 3, 130
UNEXPECTED = (
    "stopped by an internal fault; this is a bug in dpqr, please report it\n"
    "its text is withheld, for it may hold values of the private table"
)
NO_MEMORY = "there is not enough memory; ask about fewer columns, merge bins, or take a larger machine"
LINE = 400
"""Signs of an error's line that are shown; of a longer one its middle is left out."""
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
GRACE = 10.0
"""Seconds in which a second signal is ignored: whoever asks twice must not stop what is being put in order."""


class Signals:
    """What asked this process to end. number: 0 as long as nothing but the keyboard did."""

    def __init__(self) -> None:
        self.number = 0
        self._last = float("-inf")

    def install(self) -> None:
        """Take over what would kill without a word. What the caller has ignored (nohup) stays ignored."""
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._received)

    def code(self, code: object) -> int:
        """The exit code: of an interrupted command 128 and the signal's number, as shells have it."""
        if code == INTERRUPTED and self.number:
            return 128 + self.number
        return code if isinstance(code, int) else 0

    def _received(self, number: int, _: FrameType | None) -> None:
        """KeyboardInterrupt in the main thread. One that a callback of the interpreter swallows can be repeated."""
        now = time.monotonic()
        if self._last + GRACE <= now:
            self.number, self._last = number, now
            raise KeyboardInterrupt


def ended_by(error: BaseException) -> int:
    """Print what ended the command, in one or two lines; the exit code.

    Privacy: errors of the family hold public words only. Of any other nothing is shown, for it may quote the table.
    """
    if _reader_left(error):
        return 0
    code = _code_of(error)
    _say_notes(error)
    return code


def _code_of(error: BaseException) -> int:
    if isinstance(error, DocumentError):
        return _say_lines(fault_lines(error), error.exit_code)
    if isinstance(error, DpqrError):
        return _say(str(error), error.exit_code)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return USAGE
    if isinstance(error, click.ClickException):
        return _say(_usage_words(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return _say("interrupted", INTERRUPTED)
    if isinstance(error, MemoryError):
        return _say(NO_MEMORY, INFEASIBLE)
    if isinstance(error, OSError) and (fault := _output_fault()):
        return _say(fault, USAGE)
    return _say(UNEXPECTED, 1)


def _say_notes(error: BaseException) -> None:
    """The only notes that are shown: those of other packages may quote the table."""
    for note in (RESUMABLE, STAYS_SPENT):
        if note in getattr(error, "__notes__", ()):
            say(fitted(note, sys.stderr))


def _usage_words(error: click.ClickException) -> str:
    """click's sentence as dpqr prints errors: no capital, no full stop, one line, and where to read on."""
    said = _unknown_option(error) if isinstance(error, click.NoSuchOption) else error.format_message()
    words = " ".join(said.split()).rstrip(".")
    words = words.replace("integer range", "whole number").replace("float range", "number")
    context = getattr(error, "ctx", None)
    see = f"\nsee: {context.command_path} --help" if context else ""
    return f"{words[:1].lower()}{words[1:]}{see}"


def _unknown_option(error: click.NoSuchOption) -> str:
    """In our words: click's own differ from version to version."""
    near = " or ".join(map(repr, sorted(error.possibilities or ())))
    return f"no such option {error.option_name!r}{f'; did you mean {near}?' if near else ''}"


def _say(text: str, code: int) -> int:
    """Two lines at most."""
    first, _, second = text.partition("\n")
    return _say_lines((first, second), code)


def _say_lines(lines: Sequence[str], code: int) -> int:
    """A name that holds line ends or terminal codes is shown escaped, and a long line cut."""
    for line in filter(None, (f"dpqr: {lines[0]}", *lines[1:])):
        shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)
        cut = shown if len(shown) <= LINE else f"{shown[: LINE // 2]} ... {shown[5 - LINE // 2 :]}"
        say(fitted(cut, sys.stderr))
    return code


def _output_fault() -> str | None:
    """What keeps standard output from being written, if anything does: help texts are printed by click itself."""
    if sys.stdout is None:
        return None
    try:
        require_output()
        sys.stdout.flush()
    except UsageFault as fault:
        return str(fault)
    except (OSError, ValueError) as error:
        return f"standard output cannot be written ({getattr(error, 'strerror', None)}); choose another place"
    return None


def _reader_left(error: BaseException) -> bool:
    """Whether the reader of standard output, `head` for one, has had enough; what is still buffered goes nowhere then.

    Another pipe that broke, to a process that was at work for this one, is no such end.
    """
    if not isinstance(error, BrokenPipeError) or sys.stdout is None:
        return False
    with suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        asked = select.poll()
        asked.register(descriptor, 0)
        if any(found & (select.POLLERR | select.POLLHUP) for _, found in asked.poll(0)):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            return True
    return False
