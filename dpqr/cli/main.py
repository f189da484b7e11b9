"""The `dpqr` group: commands by name, loaded when asked for, and errors turned into exit codes."""

from __future__ import annotations

from importlib import import_module

import click

from dpqr import __version__
from dpqr.errors import DpqrError

COMMANDS = {
    "release": "Release private answers to a workload of linear queries.",
    "check": "Check domain and queries together; no data is opened.",
    "domain": "Write the skeleton of a domain file from a table's column types.",
    "schema": "Print the JSON Schema of a document.",
    "strategies": "List the strategies that can be named.",
}
UNEXPECTED = "an internal fault stopped the command; no output was written (this is a bug in dpqr, please report it)"
INTERRUPTED = 130


class Failure(click.ClickException):
    """An error as the user sees it: one or two lines on stderr and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares one for the class; ours differ by error

    def show(self, file: object = None) -> None:
        click.echo(f"dpqr: {self.message}", err=True)


class Commands(click.Group):
    """Loads the module of a command only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dpqr.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list from the table above: help imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Errors of the family keep their message; anything else becomes a constant, for it may hold private values."""
        try:
            return super().invoke(ctx)
        except DpqrError as error:
            failure = Failure(str(error), error.exit_code)
        except KeyboardInterrupt:
            failure = Failure("interrupted; what was charged so far stays spent", INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception:
            failure = Failure(UNEXPECTED, 1)
        raise failure


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dpqr")
def main() -> None:
    """Differentially private answers to a workload of linear queries.

    \b
    dpqr release data.parquet --queries q.json --eps 1
    dpqr release data.csv --queries q.json --eps 1 --out release/
    dpqr release data.csv --queries q.json --eps 1 --dry-run
    """
