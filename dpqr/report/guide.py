"""The guide: topics of Markdown that ship with the package, by name, by line, and rendered for a terminal."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from dpqr.kernel.errors import UsageFault

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown, MarkdownElement

TOPICS = (
    "start",
    "privacy",
    "domain",
    "queries",
    "sql",
    "figures",
    "hierarchies",
    "codebooks",
    "check",
    "tables",
    "scale",
    "units",
    "results",
    "answer",
    "series",
    "report",
    "verify",
    "ledger",
    "periods",
    "interactive",
    "review",
    "ci",
    "settings",
    "strategies",
    "models",
    "accountants",
    "prediction",
    "forecast",
    "evaluate",
    "python",
    "audit",
    "sources",
    "extending",
    "contributing",
)
"""In the order in which a new reader wants them. Each is a file `dpqr/guide/TOPIC.md`, whose first line is its
heading: the topic, a colon, and one line that says what it holds."""
REFERENCE = ("formats", "proofs")
"""Topics for whoever audits or reimplements: read and searched like the others, listed after them. Files and headings
are alike."""
EVERY_TOPIC = (*TOPICS, *REFERENCE)


class Hit(Struct, frozen=True, kw_only=True):
    """A line of a topic that holds the words searched for."""

    topic: str
    heading: str
    line: str


def read_topic(name: str) -> str:
    """The Markdown of one topic.

    Raises:
        UsageFault: no such topic; the message holds the nearest names.
    """
    if name not in EVERY_TOPIC:
        near = get_close_matches(name.lower(), EVERY_TOPIC, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"topics: {', '.join(EVERY_TOPIC)}"
        raise UsageFault(f"no topic {name!r} in the guide; {hint}\nsearch it: dpqr guide --search WORD")
    return (files("dpqr") / "guide" / f"{name}.md").read_text(encoding="utf-8")


def summary(name: str) -> str:
    """The one line that says what a topic holds."""
    heading = read_topic(name).partition("\n")[0]
    return heading.partition(": ")[2]


def guide_view(text: str) -> Markdown:
    """The Markdown of a topic. Lines of code that are too long are broken between words."""
    from rich.markdown import Heading, Markdown  # not needed where the guide is printed as it is

    class LeftHeading(Heading):
        """On the left, as the text below it: rich centres the first one."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield self.text

    class Topic(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": LeftHeading}

    return Topic(text, code_theme="ansi_dark", hyperlinks=False)
