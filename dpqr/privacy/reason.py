"""Reason: why a budget is opened or charged, and who asks."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.errors import UsageFault

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a budget is opened or charged, and who asks: public words of the user's own. Empty: not stated.

    >>> Reason(purpose="annual report", by="R. Jones").words
    'annual report, by R. Jones'

    Raises:
        UsageFault: a text of more than LONGEST_REASON characters, or one that holds a control character.
    """

    purpose: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        for option, text in (("--purpose", self.purpose), ("--by", self.by)):
            if len(text) > LONGEST_REASON or not text.isprintable():
                raise UsageFault(f"{option}: give one line of at most {LONGEST_REASON} printable characters")

    @property
    def words(self) -> str:
        return ", ".join(filter(None, (self.purpose, f"by {self.by}" if self.by else "")))


UNSTATED = Reason()
