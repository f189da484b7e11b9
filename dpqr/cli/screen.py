"""Screen: what goes to the terminal. The product on stdout, everything said about it on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from msgspec import Struct

from dpqr.cli.streams import is_terminal, print_paged, product, product_json, render, require_output, say, uses_color
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.wording import plain
from dpqr.report.html import facts

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpqr.kernel.arrays import AnyArray
    from dpqr.prediction.record import PredictionRelease
    from dpqr.python.shown import Showable, Shown
    from dpqr.releases.files.atomic import SingleFile
    from dpqr.releases.release import ReleaseObserver as Observer
    from dpqr.releases.result import FinishedRun
    from dpqr.strategies.plan import Plan


Planned = TypeVar("Planned")
More = TypeVar("More")
TABLE_ROWS = 5000
"""Answers that are shown as a table; of more, --out or --json is asked for before anything is spent."""


class Screen(Struct, frozen=True, kw_only=True):
    """Renders plans and releases, as text or as JSON.

    lines: stderr carries JSON lines only (--progress json).
    """

    color: bool = True
    as_json: bool = False
    lines: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Screen:
        """The screen that a command's options ask for; not every command has all that `DisplayOptions` have."""
        return cls(color=not given.get("no_color"), as_json=given["as_json"], lines=given.get("progress") == "json")

    def show(self, shown: Showable, *, paged: bool = False) -> None:
        """A result as the product of a command that releases nothing: stdout, in a pager if it is long and `paged`."""
        if self.as_json:
            product_json(shown.document())
        else:
            (print_paged if paged else product)(render(shown.view(), sys.stdout, self.color))

    def planned(
        self,
        shown: Callable[[Planned, More], Shown],
        make: Callable[[], tuple[Planned, More]],
        lock: str | None,
        save: Callable[[Planned, SingleFile], str],
    ) -> None:
        """Make a plan, show it, and save it in the new file `lock`, which is looked at before anything is planned."""
        from dpqr.releases.locked_plan import plan_file

        place = None if lock is None else plan_file(lock, "--lock")
        plan, more = make()
        self.show(shown(plan, more))
        if place:
            say(f"planned into {place.given}, sha256 {save(plan, place)}")

    def release(self, release: FinishedRun, directory: str | None, ledger: Sequence[str] = ()) -> None:
        """Answers on stdout unless they went to a directory; then, on stderr, what they are worth, and where they are.

        ledger: the options that named it on the command line.
        A terminal is shown the digest last, so that no answer scrolls it away; a log is given the whole receipt.
        """
        from dpqr.releases.receipt import receipt
        from dpqr.releases.sentences import release_guarantee

        try:
            with _report_lost_output(directory):
                if self.as_json:
                    from dpqr.releases.files.release_files import answer_records, figure_records
                    from dpqr.releases.record.release_document import release_document

                    figures = {"figures": figure_records(release)} if release.figures else {}
                    record = release_document(release, receipt=receipt(release))
                    product_json(record | {"answers": answer_records(release)} | figures)
                elif not directory:
                    from rich.console import Group
                    from rich.text import Text

                    from dpqr.releases.answers.answered import answered_block
                    from dpqr.releases.files.release_files import figures_table
                    from dpqr.report.answers import answers_view, blocks_view, figures_view

                    blocks = [answered_block(each, release.plan.problem.domain) for each in release.answers]
                    shown = blocks_view(blocks) if is_terminal(sys.stdout) else answers_view(blocks)
                    if release.figures:
                        shown = Group(shown, Text(""), figures_view(figures_table(release).records()))
                    product(render(shown, sys.stdout, self.color))
        finally:
            if self.lines:
                guarantee, trust = release_guarantee(release), list(release.trust)
                say(json.dumps({"event": "released", "guarantee": guarantee, "trust": trust, "out": directory}))
            elif is_terminal(sys.stderr):
                from dpqr.report.release import release_view  # with its charts: no log needs them

                files = sorted(os.listdir(directory)) if directory else ()
                say(render(release_view(release, directory, files, ledger), sys.stderr, self.color))
            else:
                say(render(facts(receipt(release)), sys.stderr, self.color))
                if directory:
                    say(f"released to {plain(directory)}")

    def prediction_release(self, release: PredictionRelease, out: str | None) -> None:
        """Predictions on stdout unless they went to a file; the receipt on stderr."""
        from dpqr.prediction.receipt import prediction_receipt
        from dpqr.prediction.record import prediction_document, release_words

        if self.lines:
            event = {"event": "released", "guarantee": release_words(release), "out": out}
            say(json.dumps(event))
        else:
            say(render(facts(prediction_receipt(release)), sys.stderr, self.color))
        with _report_lost_output(out):
            if self.as_json:
                predicted = {"predictions": release.predictions.tolist()} if release.pointwise else {}
                product_json(prediction_document(release, prediction_receipt(release)) | predicted)
            elif release.pointwise:
                if release.rehearsed is not None and not out:
                    product(release_words(release))
                self.predictions(release.predictions, out)
            elif not self.lines:
                say(f"model written to {plain(out or '')}")

    def applied(self, predictions: AnyArray, out: str | None) -> None:
        """Predictions of a released function, with --json all digits, on stdout too."""
        if self.as_json:
            product_json({"predictions": predictions.tolist()})
        else:
            self.predictions(predictions, out)

    def predictions(self, predictions: AnyArray, out: str | None) -> None:
        """One prediction a line, numbers to six digits, unless they went to a file."""
        if out is None:
            texts = [f"{each:.6g}" if isinstance(each, float) else plain(str(each)) for each in predictions.tolist()]
            if texts:
                product("\n".join(texts))
        elif not self.lines:
            say(f"predictions written to {plain(out)}")

    def require_room(self, plan: Plan, directory: str | None) -> None:
        """UsageFault, before anything is spent, where the answers would not all be shown."""
        self.require_output(directory)
        rows = plan.problem.workload.rows
        if rows > TABLE_ROWS and not directory and not self.as_json:
            raise UsageFault(f"{rows:,} answers are too many for a table; add --out DIR, or --json for all on stdout")

    def require_output(self, out: str | None) -> None:
        """UsageFault, before anything is spent, where the product goes to a standard output that takes nothing."""
        if self.as_json or not out:
            require_output()


@contextmanager
def _report_lost_output(out: str | None) -> Iterator[None]:
    """A product that cannot be shown was paid for all the same: the error says where it is, or that it is lost."""
    try:
        yield
    except UsageFault as fault:
        lost = "the run is finished and paid, and what it released is lost; --out keeps it"
        raise UsageFault(f"{fault}\n{f'the run is finished: its product is in {out}' if out else lost}") from None


# Progress on stderr: how much of the table is read, and the measurements; nothing where nobody watches.
#
# **Privacy** Sizes of a table's files are private. What is printed of its reading is the same for all (`Percent`).


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
        from dpqr.kernel.wording import amount

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
    from dpqr.releases.loop import SILENT

    if mode == "json":
        yield Lines()
    elif mode == "none" or not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield SILENT
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(
            file=cast(TextIO, Forgiving(sys.stderr)), color_system="auto" if uses_color(sys.stderr, color) else None
        )
        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
        bars = Bars(Progress(*columns, console=console, transient=True))
        with closing(bars):
            yield bars


def remarks(mode: str) -> Callable[[str], None]:
    """What says a sentence on stderr for `mode`: to whoever looks on, as a JSON line, or not at all."""
    if mode == "json":
        return lambda text: say(json.dumps({"event": "forecast", "text": text}))
    return say if mode == "auto" and is_terminal(sys.stderr) else lambda _: None
