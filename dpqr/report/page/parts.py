"""The parts of a page, whatever it is about: sections of words, facts, tables, charts and cards. Text, never HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.wording import Fact, plain

if TYPE_CHECKING:
    pass


State = Literal["yes", "part", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Sentences of one paragraph. strong: a reader must not miss them."""

    text: str
    strong: bool = False
    kind: str = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Lines of "what: how much"."""

    lines: Sequence[Fact]
    kind: str = "facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows under a head. texts: how many of the first columns are words; the others are figures."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    kind: str = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing, and what it shows in words. svg: made by `drawing`, the only markup that a part may hold."""

    svg: str
    alt: str
    kind: str = "chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list of commands or file names, or of sentences. code: they are to be copied."""

    lines: Sequence[str]
    code: bool = False
    kind: str = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistLine:
    """A line of a checklist: what was asked, how it stands, and on what that rests."""

    asked: str
    state: State
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """A layer of a checklist."""

    layer: str
    lines: Sequence[ChecklistLine]
    kind: str = "checks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A chart under a heading of its own, with its table folded below. words: what stands between heading and chart."""

    title: str
    words: str
    chart: Chart | None
    table: ReportTable | None
    kind: str = "card"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """Cards side by side where the screen is wide."""

    cards: Sequence[Card]
    kind: str = "cards"


Part = Paragraph | Facts | ReportTable | Chart | Items | Checks | Cards


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A numbered chapter. name: what a link in the page calls it."""

    name: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """A page. stamp: what it must not be taken for, on every sheet; empty: nothing. lead: figures at its top."""

    title: str
    subtitle: str
    lead: Sequence[Fact]
    sections: Sequence[Section]
    stamp: str = ""


# A page as HTML: one template and one style sheet, filled by jinja2, which escapes every text.

MISSING = "--html: pages are made by jinja2 and matplotlib; install them by: pip install 'dpqr[report]'"


def html(page: ReportPage) -> str:
    """The whole file. Equal pages give equal text. UsageFault where the extra is not installed."""
    require_extra()
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["plain"] = plain
    return made.get_template("page.html").render(page=page, style=style())


def style() -> str:
    """The style sheet."""
    return _text("page.css")


def require_extra() -> None:
    """UsageFault where jinja2 or matplotlib is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageFault(MISSING) from None


def _text(name: str) -> str:
    return (files("dpqr") / "report" / "page" / "templates" / name).read_text(encoding="utf-8")
