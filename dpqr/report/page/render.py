"""A page as HTML: one template and one style sheet, filled by jinja2, which escapes every text."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from dpqr.errors import UsageFault
from dpqr.report.page.parts import Page
from dpqr.report.wording import plain

if TYPE_CHECKING:
    from jinja2 import Environment

MISSING = "--html: pages are made by jinja2 and matplotlib; install them by: pip install 'dpqr[report]'"


def html(page: Page) -> str:
    """The whole file. Equal pages give equal text. UsageFault where the extra is not installed."""
    return _environment().get_template("page.html").render(page=page, style=style())


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


def _environment() -> Environment:
    require_extra()
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["plain"] = plain
    return made


def _text(name: str) -> str:
    return (files("dpqr") / "report" / "page" / "templates" / name).read_text(encoding="utf-8")
