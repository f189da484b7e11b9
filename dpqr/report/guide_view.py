"""A topic of the guide, rendered for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement

if TYPE_CHECKING:
    from rich.console import Console


class _Heading(Heading):
    """On the left, as the text below it: rich centres the first one."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Topic(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}


def guide_view(text: str) -> Markdown:
    """The Markdown of a topic. Lines of code that are too long are broken between words."""
    return _Topic(text, code_theme="ansi_dark", hyperlinks=False)
