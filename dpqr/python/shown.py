"""What a notebook shows: a text that also knows its HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpqr.kernel.wording import Fact


class Receipt(str):
    """What a release promises, what it cost and how sure it is, as text; a notebook shows it as HTML.

    >>> print(Receipt.of(lambda: "<b>"), Receipt.of(lambda: "<b>")._repr_html_()[-15:])
    <b> &lt;b&gt;</pre>
    """

    __slots__ = ("_html",)
    _html: str

    @classmethod
    def of(cls, view: Callable[[], Any]) -> Receipt:
        """The text of a view."""
        from dpqr.report.html import html, text

        made = cls(text(view()))
        made._html = html(view())
        return made

    @classmethod
    def of_facts(cls, lines: Sequence[Fact]) -> Receipt:
        """The text of facts, a line each."""
        from dpqr.report.html import facts

        return cls.of(lambda: facts(lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html
