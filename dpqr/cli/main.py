"""The `dpqr` group: commands by name, loaded when asked for, and every ending turned into words and an exit code."""

from __future__ import annotations

import os
import select
import sys
import threading
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from dpqr import __version__
from dpqr.cli.signals import INTERRUPTED, Signals
from dpqr.cli.streams import require_output, say
from dpqr.errors import RESUMABLE, STAYS_SPENT, DpqrError, UsageFault

COMMANDS = {
    "release": "Release private answers to a workload of linear queries.",
    "predict": "Predict a column by a private learner, or release a private function.",
    "budget": "Open and read the budgets that datasets have for life.",
    "check": "Check domain and queries together; no data is opened.",
    "domain": "Write the skeleton of a domain file from a table's column types.",
    "schema": "Print the JSON Schema of a document.",
    "strategies": "List the strategies that can be named, and what each is for.",
    "evaluate": "Exact errors of a release over a public or synthetic table; not for release.",
    "audit": "Attack this build and compare what is lost with what is claimed.",
    "guide": "Read the guide: domain and queries files, tables, budgets, strategies, and more.",
}
USAGE, INFEASIBLE = 2, 3
UNEXPECTED = (
    "stopped by an internal fault; this is a bug in dpqr, please report it\n"
    "its text is withheld, for it may hold values of the private table"
)
COMPLETION = "_DPQR_COMPLETE"
"""Set by a shell that asks for completions."""
LINE = 400
"""Signs of an error's line that are shown; of a longer one its middle is left out."""
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Read when pyarrow is first imported. Arrow's own pools keep what was freed: a release of 91 pairs took
44 MB above its imports, and 33 MB with this one, at the same speed."""
NO_MEMORY = "there is not enough memory; ask about fewer columns, merge bins, or take a larger machine"


class Commands(click.Group):
    """Loads a command's module only when that command runs, and speaks for all of them when they fail."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dpqr.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list from the table above: help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run and exit. click's own endings are not used: they print four lines and know one exit code."""
        if COMPLETION in os.environ:
            return super().main(*args, **extra)
        _print_anything()
        given = args[0] if args else extra.get("args")
        try:
            with self.make_context("dpqr", list(sys.argv[1:] if given is None else given)) as context:
                self.invoke(context)
            code = 0
        except click.exceptions.Exit as ending:
            code = ending.exit_code
        except BaseException as error:
            if _reader_left(error):
                sys.exit(0)
            code = _told(error)
            _note(error)
        sys.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dpqr", message="%(prog)s %(version)s")
def main() -> None:
    """Differentially private answers to a workload of linear queries.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --eps 1 --out release/
    dpqr release data.csv --queries q.json --eps 1 --dry-run
    """


def run() -> NoReturn:
    """The program: `main`, and then an end of the process without the interpreter's farewell.

    Arrow reads CSV ahead in threads of its own that call Python. An error elsewhere in the table can end the command
    while one of them is at work; tearing the interpreter down under it aborts the process or waits for it for ever.
    """
    code: object = 1
    signals = Signals()
    signals.install()
    _fill_closed()
    _hush()
    try:
        main()
    except SystemExit as ending:
        code = ending.code
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(signals.code(code))


def _told(error: BaseException) -> int:
    """Say what stopped the command, in one or two lines; the exit code.

    Privacy: errors of the family hold public words only. Of any other nothing is shown, for it may quote the table.
    """
    if isinstance(error, DpqrError):
        return _say(str(error), error.exit_code)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return USAGE
    if isinstance(error, click.ClickException):
        return _say(_usage(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return _say("interrupted", INTERRUPTED)
    if isinstance(error, MemoryError):
        return _say(NO_MEMORY, INFEASIBLE)
    if isinstance(error, OSError) and (fault := _output_fault()):
        return _say(fault, USAGE)
    return _say(UNEXPECTED, 1)


def _note(error: BaseException) -> None:
    """The only notes that are shown: those of other packages may quote the table."""
    for note in (RESUMABLE, STAYS_SPENT):
        if note in getattr(error, "__notes__", ()):
            say(note)


def _usage(error: click.ClickException) -> str:
    """click's sentence in the house's form: no capital, no full stop, one line, and where to read on."""
    said = _unknown(error) if isinstance(error, click.NoSuchOption) else error.format_message()
    words = " ".join(said.split()).rstrip(".")
    words = words.replace("integer range", "whole number").replace("float range", "number")
    context = getattr(error, "ctx", None)
    see = f"\nsee: {context.command_path} --help" if context else ""
    return f"{words[:1].lower()}{words[1:]}{see}"


def _unknown(error: click.NoSuchOption) -> str:
    """In our words: click's own differ from version to version."""
    near = " or ".join(map(repr, sorted(error.possibilities or ())))
    return f"no such option {error.option_name!r}{f'; did you mean {near}?' if near else ''}"


def _say(text: str, code: int) -> int:
    """Two lines at most; a name that holds line ends or terminal codes is shown escaped, and a long one cut."""
    first, _, second = text.partition("\n")
    for line in filter(None, (f"dpqr: {first}", second)):
        shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)
        say(shown if len(shown) <= LINE else f"{shown[: LINE // 2]} ... {shown[5 - LINE // 2 :]}")
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


def _fill_closed() -> None:
    """Standard streams that the caller closed lead nowhere: else the next file that is opened takes their number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _print_anything() -> None:
    """A label that the terminal's encoding lacks must not stop a release that is paid for: it is shown escaped."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


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


def _hush() -> None:
    """Nothing but this program writes to standard error.

    Privacy: a warning of numpy, or what an interpreter or a thread prints of an error that it drops, may quote the
    table, and whether it appears may depend on a row. PYTHONWARNINGS=error would make an exit code of it.
    """
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None
