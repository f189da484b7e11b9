"""Progress on stderr: how much of the table is read, and the measurements; nothing where nobody watches.

**Privacy** Sizes of a table's files are private. What is printed of its reading is the same for all (`Percent`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from dpqr.cli.terminal.streams import coloured, say, watched

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpqr.app.releasing.release import Progress as Observer


class Silent:
    """No display."""

    def read(self, percent: int) -> None: ...

    def finished(self, rounds: int, planned: int) -> None: ...

    def certified(self, stage: int, records: float) -> None: ...


class Lines:
    """One JSON object a line. A reader that leaves does not stop the run."""

    def read(self, percent: int) -> None:
        self._say(event="read", percent=percent)

    def finished(self, rounds: int, planned: int) -> None:
        self._say(event="round", rounds=rounds, planned=planned)

    def certified(self, stage: int, records: float) -> None:
        self._say(event="certified", stage=stage, records=records)

    def _say(self, **event: object) -> None:
        say(json.dumps(event))


class Forgiving:
    """A stream that may stop taking what is written, as a terminal does that was closed. That is no error."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self.stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


class Bars:
    """Bars on a terminal, from the moment that the table is read; a rehearsal reads none, and begins to measure."""

    def __init__(self, display: Progress) -> None:
        self.display = display
        self.tasks: dict[str, TaskID] = {}

    def read(self, percent: int) -> None:
        self._show("reading", percent, 100)

    def finished(self, rounds: int, planned: int) -> None:
        self._show("measuring", rounds, planned)

    def certified(self, stage: int, records: float) -> None:
        """The bar says what is certified so far."""
        from dpqr.report.wording import amount

        for task in self.tasks.values():
            self.display.update(task, description=f"measuring; stage {stage}: within {amount(records)} records")

    def _show(self, phase: str, done: int, total: int) -> None:
        """One bar at a time."""
        if phase not in self.tasks:
            for past in self.tasks.values():
                self.display.remove_task(past)
            self.tasks = {phase: self.display.add_task(phase, total=total)}
            self.display.start()
        self.display.update(self.tasks[phase], completed=done)

    def close(self) -> None:
        if self.tasks:
            self.display.stop()


@contextmanager
def progress(mode: str, *, color: bool = True) -> Iterator[Observer]:
    """The display for `mode`: auto (bars on a terminal that can redraw a line, else nothing), json or none."""
    if mode == "json":
        yield Lines()
    elif mode == "none" or not watched(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield Silent()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(
            file=cast(TextIO, Forgiving(sys.stderr)), color_system="auto" if coloured(sys.stderr, color) else None
        )
        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
        bars = Bars(Progress(*columns, console=console, transient=True))
        with closing(bars):
            yield bars


def remarks(mode: str) -> Callable[[str], None]:
    """What says a sentence on stderr for `mode`: to whoever looks on, as a JSON line, or not at all."""
    if mode == "json":
        return lambda text: say(json.dumps({"event": "forecast", "text": text}))
    return say if mode == "auto" and watched(sys.stderr) else lambda _: None
