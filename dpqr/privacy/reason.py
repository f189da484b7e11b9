"""Reason: why a budget is opened or charged, who asks, and who approved."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.errors import UsageFault

LONGEST_REASON = 200


def require_line(option: str, text: str) -> None:
    """Raise UsageFault unless a text is one line of a record."""
    if len(text) > LONGEST_REASON or not text.isprintable():
        raise UsageFault(f"{option}: give one line of at most {LONGEST_REASON} printable characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a budget is opened or charged, who asks, and who approved: public words of the user's own, which nobody has
    checked. Empty: not stated.

    >>> Reason(purpose="annual report", by="R. Jones").words
    'annual report, by R. Jones'

    Raises:
        UsageFault: a text of more than LONGEST_REASON characters, or one that holds a control character.
    """

    purpose: str = ""
    by: str = ""
    approved_by: str = ""

    def __post_init__(self) -> None:
        stated = {"--purpose": self.purpose, "--by": self.by, "--approved-by": self.approved_by}
        for option, text in stated.items():
            require_line(option, text)

    @property
    def words(self) -> str:
        by, approved = (
            text and f"{word} {text}" for word, text in (("by", self.by), ("approved by", self.approved_by))
        )
        return ", ".join(filter(None, (self.purpose, by, approved)))


UNSTATED = Reason()
