"""Progress on stderr: bytes read and rounds done, both public; nothing where nobody watches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpqr.app.release import Progress as Observer


class Silent:
    """No display."""

    def read(self, count: int) -> None: ...

    def finished(self, rounds: int, planned: int) -> None: ...


class Lines:
    """One JSON object a line."""

    def __init__(self) -> None:
        self.bytes = 0

    def read(self, count: int) -> None:
        self.bytes += count
        click.echo(json.dumps({"event": "read", "bytes": self.bytes}), err=True)

    def finished(self, rounds: int, planned: int) -> None:
        click.echo(json.dumps({"event": "round", "rounds": rounds, "planned": planned}), err=True)


class Bars:
    """A bar on a terminal."""

    def __init__(self, display: Progress) -> None:
        self.display = display
        self.reading: TaskID = display.add_task("reading", total=None)
        self.rounds: TaskID | None = None

    def read(self, count: int) -> None:
        self.display.advance(self.reading, count)

    def finished(self, rounds: int, planned: int) -> None:
        if self.rounds is None:
            self.rounds = self.display.add_task("rounds", total=planned)
        self.display.update(self.rounds, completed=rounds, total=planned)


@contextmanager
def progress(mode: str) -> Iterator[Observer]:
    """The display for `mode`: auto (bars on a terminal, else nothing), json or none."""
    if mode == "json":
        yield Lines()
    elif mode == "none" or not sys.stderr.isatty():
        yield Silent()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as display:
            yield Bars(display)
