"""Endings of a command: every error as words and an exit code, and signals that end a command as Ctrl-C does.

SIGTERM and SIGHUP go through every cleanup that an error goes through.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import FrameType

import click
from click.exceptions import NoArgsIsHelpError
from msgspec import Struct

from dpqr.cli.streams import product_json, require_output, say, wrap_line
from dpqr.kernel.errors import NO_MEMORY, PUBLIC_NOTES, UNEXPECTED, DocumentError, DpqrError, Fault, UsageFault
from dpqr.report.html import fault_lines

USAGE, INFEASIBLE, REFUSED, INTERRUPTED = 2, 3, 4, 130
LINE = 400
"""Signs of an error's line that are shown; of a longer one its middle is left out."""
INSTEAD = {"--force": "--if-exists replace", "--domain": "--from FILE"}
"""Options of older versions, or of other commands, and what stands for them."""
NO_TABLE = "plan opens no table; leave {0} out, or plan with its columns: dpqr release {0} ... --dry-run"
"""Where `plan` is given a table."""
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


class Ending(Struct, frozen=True, kw_only=True):
    """What ended a command, in public words. kind: the error's class, or a noun where it is none of the family.

    text: one or two lines. notes: what becomes of a paid run. faults: of documents, each with its place.
    hint: on the settings that may have caused it; it goes into the second line.
    """

    code: int
    kind: str
    text: str
    notes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    hint: str = ""


def ending_of(error: BaseException) -> Ending | None:
    """What `error` means to a user; None: the reader of standard output has left, which is no fault.

    Privacy: errors of the family hold public words only. Of any other nothing is shown, for it may quote the table.
    """
    if _reader_left(error):
        return None
    # No other notes are shown: those of other packages may quote the table.
    notes = tuple(note for note in PUBLIC_NOTES if note in getattr(error, "__notes__", ()))
    if isinstance(error, DpqrError):
        faults = error.faults if isinstance(error, DocumentError) else ()
        kind = "UnexpectedFault" if type(error) is DpqrError else type(error).__name__
        return Ending(code=error.exit_code, kind=kind, text=str(error), notes=notes, faults=faults)
    if isinstance(error, click.ClickException):
        words = error.format_message() if isinstance(error, NoArgsIsHelpError) else _usage_words(error)
        return Ending(code=error.exit_code, kind="UsageFault", text=words, notes=notes)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Ending(code=INTERRUPTED, kind="Interrupted", text="interrupted", notes=notes)
    if isinstance(error, MemoryError):
        return Ending(code=INFEASIBLE, kind="MemoryError", text=NO_MEMORY, notes=notes)
    if isinstance(error, OSError) and (fault := _output_fault()):
        return Ending(code=USAGE, kind="UsageFault", text=fault, notes=notes)
    return Ending(code=1, kind="UnexpectedFault", text=UNEXPECTED, notes=notes)


def say_ending(ending: Ending, error: BaseException) -> None:
    """The ending on stderr, in one or two lines, or a line for each of several faults, and its notes; a help text that
    nobody asked for as it is."""
    if isinstance(error, NoArgsIsHelpError):
        say(ending.text)
        return
    if isinstance(error, DocumentError):
        _say_lines(fault_lines(error))
    else:
        first, _, second = ending.text.partition("\n")
        _say_lines((first, "; ".join(filter(None, (second, ending.hint)))))  # two lines at most
    for note in ending.notes:
        say(wrap_line(note, sys.stderr))


def _usage_words(error: click.ClickException) -> str:
    """click's sentence as dpqr prints errors: no capital, no full stop, one line, and where to read on."""
    said = _unknown_option(error) if isinstance(error, click.NoSuchOption) else error.format_message()
    words = " ".join(said.split()).rstrip(".")
    words = words.replace("integer range", "whole number").replace("float range", "number")
    between = re.compile(r"is not in the range ([0-9]+)<=x<=([0-9]+)")
    words = between.sub(lambda found: f"is not from {int(found[1]):,} to {int(found[2]):,}", words)
    context = getattr(error, "ctx", None)
    see = f"\nsee: {context.command_path} --help" if context else ""
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", words)
    if extra and context and context.command.name == "plan":
        words = NO_TABLE.format(extra[1])
    elif extra and context and extra[1].endswith((".json", ".yaml", ".yml", ".toml")):
        named = [each.opts[0] for each in context.command.params if each.name in ("queries", "domain", "plan")]
        words += f"; name a document by {' or '.join(f'{option} {extra[1]}' for option in named)}" if named else ""
    return f"{words[:1].lower()}{words[1:]}{see}"


def _unknown_option(error: click.NoSuchOption) -> str:
    """In our words: click's own differ from version to version."""
    found = INSTEAD.get(error.option_name, "")
    if error.ctx and any(found.split()[0] in each.opts for each in error.ctx.command.params if found):
        return f"no such option {error.option_name!r}; give {found}"
    near = "" if found else " or ".join(map(repr, get_close_matches(error.option_name, error.possibilities or (), n=1)))
    return f"no such option {error.option_name!r}{f'; did you mean {near}?' if near else ''}"


def _say_lines(lines: Sequence[str]) -> None:
    """A name that holds line ends or terminal codes is shown escaped, and a long line cut."""
    for line in filter(None, (f"dpqr: {lines[0]}", *lines[1:])):
        shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)
        cut = shown if len(shown) <= LINE else f"{shown[: LINE // 2]} ... {shown[5 - LINE // 2 :]}"
        say(wrap_line(cut, sys.stderr))


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
        poller = select.poll()
        poller.register(descriptor, 0)
        if any(found & (select.POLLERR | select.POLLHUP) for _, found in poller.poll(0)):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            return True
    return False


# Failures as objects: with --json, what ended a command goes to stdout too, where nothing else went there.

_PLACE = r"[^:\n]+: \$(?:\.[\w$]+|\[[^\]\n]*\])*|--[a-z][a-z-]*(?: [^:;\n]+)?|(?:column|dataset) '[^'\n]*'"
_PARTS = re.compile(rf"(?s)(?:(?P<where>{_PLACE}): )?(?P<what>.*?)(?:; (?P<fix>.*))?")


def print_failure(ending: Ending, code: int) -> None:
    """The failure as the one JSON document on stdout. Whether stdout takes it changes nothing.

    code: the one that the process ends with.
    """
    with suppress(Exception):
        product_json({"error": failure_document(ending, code)})


def failure_document(ending: Ending, code: int) -> dict[str, object]:
    """Plain JSON values.

    what, where and fix are the parts of the message: where is the place that it begins with (a document and JSON path,
    an option, a column, a dataset), fix is what follows its first semicolon or line end: what is allowed, or how to go
    on. Null where the message has no such part, or lists several faults.
    """
    several = len(ending.faults) > 1
    first, _, second = ending.text.partition("\n")
    found = _PARTS.fullmatch(first)
    parts = found.groupdict() if found else {"where": None, "what": first, "fix": None}
    return {
        "code": code,
        "kind": ending.kind,
        "message": ending.text,
        "what": parts["what"],
        "where": parts["where"],
        "fix": None if several else "\n".join(filter(None, (parts["fix"], second))) or None,
        "faults": [
            {  # null: a fault of no document, or of one without lines; fixable: by `dpqr check --fix`
                "document": str(fault.file) if fault.file else fault.document or None,
                "path": fault.path or None,
                "line": fault.line,
                "message": fault.message,
                "fixable": fault.fix is not None and fault.line is not None,
            }
            for fault in ending.faults
        ],
        "notes": [*ending.notes, *filter(None, [ending.hint])],
    }
