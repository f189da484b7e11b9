"""The `dpqr` group: it loads a command's module when the command is called, and turns every error into a message and an
exit code."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from dpqr import __version__
from dpqr.cli.arithmetic import choose_common_instructions
from dpqr.cli.completion import VARIABLE
from dpqr.cli.endings import REFUSED, USAGE, Signals, ending_of, print_failure, say_ending
from dpqr.cli.settings import give_defaults, settings_hint
from dpqr.cli.streams import escape_unencodable, fill_closed_streams, has_output, silence_others
from dpqr.kernel.errors import DpqrError
from dpqr.kernel.values import replace

TASKS = {
    "Begin": {
        "tutorial": "Fill a folder with made-up data, and walk through plan, ledger, release and report.",
        "guide": "Read the guide: domain and queries files, tables, budgets, strategies, and more.",
        "init": "Write dpqr.toml, a domain file and a queries file to fill in.",
        "domain": "Write the skeleton of a domain file from a table's column types.",
        "check": "Check domain and queries together; no data is opened.",
    },
    "Release": {
        "explain": "Explain a SELECT statement: its noise, error and price, and what makes it better.",
        "plan": "Plan a release, and forecast its error; no table is opened.",
        "release": "Release private answers to a workload of linear queries.",
        "predict": "Predict a column by a private learner, or release a private function.",
        "interactive": "Answer questions one at a time, under one budget.",
    },
    "Read a release": {
        "show": "Show a release again: its receipt, or one query as table, bars, heat map or curve.",
        "answer": "Answer new questions from a release, for free; no table is opened.",
        "report": "Report a release: a page to read and print, a registry record, a dataset card.",
        "label": "What a release promises, and what its figures are for, on one card.",
        "series": "Releases of the same queries at several points in time: trends with their errors.",
        "compare": "Two releases or plans side by side.",
        "export": "Write a release as tables of a DuckDB file.",
    },
    "Check a release, or this build": {
        "verify": "Check a release: its files, its prices, and that its figures follow from its noisy draws.",
        "reprice": "Price the events of a release again, under the accountants of today.",
        "evaluate": "Exact errors of a release over a public or synthetic table; not for release.",
        "audit": "Attack this build and compare what is lost with what is claimed.",
    },
    "Budgets": {
        "budget": "Open and read the budgets that datasets have for life.",
    },
    "Look up": {
        "strategies": "List the strategies that can be named, and what each is for.",
        "schema": "Print the JSON Schema of a document.",
        "completion": "Print the script with which a shell completes commands and values.",
    },
}
"""The commands by what they are for, with what each does."""
COMMANDS = {name: words for task in TASKS.values() for name, words in task.items()}
SHARED = {
    **dict.fromkeys(("release", "plan", "explain"), "release"),
    **dict.fromkeys(("check", "domain", "schema", "init", "tutorial"), "documents"),
    **dict.fromkeys(("verify", "reprice", "compare", "audit"), "verify"),
    **dict.fromkeys(("answer", "export", "show", "series", "report", "label", "evaluate"), "releases"),
    "interactive": "sessions",
}
"""Commands that share a module, where each is named NAME_command. Every other command has a module of its own name, and
is named `command` there."""
JSON, HELP, HELP_ALL = "--json", ("-h", "--help"), "--help-all"
HINTED = (USAGE, REFUSED)
"""Exit codes of errors that a setting in dpqr.toml may have caused."""
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Read when pyarrow is first imported. Arrow's own pools keep what was freed: a release of 91 pairs took
44 MB above its imports, and 33 MB with this one, at the same speed."""


class Commands(click.Group):
    """The commands. A command's module is imported only when the command runs; all errors end here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"dpqr.cli.{SHARED.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command" if cmd_name in SHARED else "command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0]!r}; {hint}", ctx)
        command = None if {*HELP, HELP_ALL} & set(args) else self.get_command(ctx, args[0])
        if command is not None:
            with suppress(DpqrError) if ctx.resilient_parsing else nullcontext():
                give_defaults(ctx, args[0], command)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by task, with the sentences of TASKS, so that help imports no command."""
        width = max(map(len, COMMANDS))
        for task, commands in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(width), words) for name, words in commands.items()])

    def main(self, *args: Any, signals: Signals | None = None, **extra: Any) -> Any:
        """Run and exit. click's own handling of errors is not used: it prints four lines and has one exit code.

        signals: the signals that this process has received.
        """
        if VARIABLE in os.environ:
            return super().main(*args, **{**extra, "prog_name": "dpqr", "complete_var": VARIABLE})
        escape_unencodable()
        given = args[0] if args else extra.get("args")
        arguments = list(sys.argv[1:] if given is None else given)
        context, code = None, 0
        try:
            context = self.make_context("dpqr", list(arguments))
            with context:
                self.invoke(context)
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except BaseException as error:
            # Print how the command ended; None: the reader of standard output has left, which is no fault.
            if (ending := ending_of(error)) is not None:
                if ending.code in HINTED:
                    ending = replace(ending, hint=settings_hint(context, error))
                code = (signals or Signals()).code(ending.code)
                say_ending(ending, error)
                if JSON in options_of(arguments) and (context is None or not has_output(context)):
                    print_failure(ending, code)
        sys.exit(code)


def options_of(arguments: list[str]) -> list[str]:
    """The words before --: all options, and their values, for these arguments could not be parsed."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


@click.group(cls=Commands, context_settings={"help_option_names": HELP, "max_content_width": 100})
@click.version_option(__version__, prog_name="dpqr", message="%(prog)s %(version)s")
def main() -> None:
    """Differentially private answers to a workload of linear queries.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --eps 1 --out release/
    dpqr release data.csv --queries q.json --eps 1 --dry-run
    """


def run() -> NoReturn:
    """The program: `main`, then an end of the process without the interpreter's own shutdown.

    Arrow reads CSV ahead in threads that call Python. An error elsewhere in the table can end the command while such a
    thread still runs; a shutdown of the interpreter would then abort the process or wait for ever.
    """
    code: object = 1
    signals = Signals()
    signals.install()
    fill_closed_streams()
    silence_others()
    choose_common_instructions()
    try:
        main(signals=signals)
    except SystemExit as ending:
        code = ending.code
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(signals.code(code))
