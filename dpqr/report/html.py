"""Views as text and as HTML, for notebooks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

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
