"""Views as text and as HTML, for notebooks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpqr.kernel.errors import DocumentError, Fault
from dpqr.kernel.wording import Fact, plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table


WIDE = 100
"""Columns of a view in a notebook."""
_HTML = '<pre style="font-family:monospace;line-height:1.3">{code}</pre>'


def text(view: RenderableType, width: int = WIDE) -> str:
    """Plain lines, without the blanks that pad a table."""
    console = _console(width)
    console.print(view)
    return "\n".join(line.rstrip() for line in console.export_text(styles=False).splitlines())


def html(view: RenderableType, width: int = WIDE) -> str:
    """One element that stands by itself. Whatever the view shows is escaped."""
    console = _console(width)
    console.print(view)
    return console.export_html(inline_styles=True, code_format=_HTML).replace("\n</pre>", "</pre>")


def _console(width: int) -> Console:
    from rich.console import Console

    return Console(file=io.StringIO(), record=True, width=width, highlight=False, markup=False, emoji=False)


# Faults of public documents, a line each, as compilers print theirs: file, line, place, what is allowed.


def fault_lines(error: DocumentError) -> tuple[str, ...]:
    """One fault: its sentence, and where to look. Several: how many, each with its line, and how many can be fixed."""
    faults = error.faults
    if len(faults) > 1:
        head = str(error).partition("\n")[0]
        return (head, *map(fault_line, faults), *([f"see: {fixable(faults)}"] if fixable(faults) else ()))
    sentence, _, more = str(error).partition("\n")
    hints = [f"{faults[0].file}:{faults[0].line}"] if faults[0].line else []
    hints += [fixable(faults)] if fixable(faults) else []
    see = f"see: {'; '.join(hints)}" if hints else ""
    return tuple(filter(None, (sentence, more or see)))


def fault_line(fault: Fault) -> str:
    """A fault in a list, in one line."""
    where = f"{fault.file or fault.document}{f':{fault.line}' if fault.line else ''}"
    message = " ".join(fault.message.split("\n"))
    return f"{where}: {fault.path}: {message}" if fault.path else message


def fixable(faults: Sequence[Fault]) -> str:
    """How many of them `dpqr check --fix` fixes; nothing where it fixes none."""
    other = next((fault for fault in faults if fault.fix and fault.by_hand), None)
    if other is not None:
        return f"{plain(str(other.file))} is corrected by hand (--fix writes JSON files only)"
    count = sum(fault.fix is not None and fault.line is not None for fault in faults)
    if not count:
        return ""
    which = "it" if len(faults) == 1 else f"{count} of them"
    return f"`dpqr check --fix` fixes {which}"


def fix_line(file: Path, line: int, path: str, before: str, after: str) -> str:
    """A fix that was written."""
    change = f"{before} -> {after}" if after else f"{before} removed"
    return plain(f"fixed {file}:{line}: {path}: {change}")


def facts(lines: Iterable[Fact], margin: int = 0) -> Table:
    """A renderable with one line a fact; long texts wrap within their own column. An empty name continues the last.

    margin: the least width of the names, for several of them below each other. Whatever a terminal would obey is shown
    escaped, whoever wrote it.
    """
    from rich.table import Table  # not needed by commands that print plain lines
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold", min_width=margin)
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(Text(plain(name)), Text(plain(text)))
    return grid
