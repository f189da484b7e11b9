"""Reason: why a budget is opened or charged, who asks, and who approved."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from dpqr.errors import UsageFault

LONGEST_REASON = 200


def require_line(option: str, text: str) -> None:
    """Raise UsageFault unless a text is one line of a record."""
    if len(text) > LONGEST_REASON or not text.isprintable():
        raise UsageFault(f"{option}: give one line of at most {LONGEST_REASON} printable characters")


IGNORABLE = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
)
"""Letters and marks that are not seen: those of Unicode's Default_Ignorable_Code_Point. All else of it is no letter."""


def person(name: str) -> str:
    """Return what of a person's name is compared; empty where it names nobody.

    Letters, marks and digits after NFKC and case folding. Blanks, dots, hyphens, quotes and whatever is not seen make
    no other name. Letters of two alphabets that look alike do: names are declared, and nobody has checked them.

    >>> person("M. Lee"), person("m.lee"), person("\uff2d\u2009LEE"), person(" - ")
    ('mlee', 'mlee', 'mlee', '')
    """
    compared = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.casefold()).casefold())
    return "".join(one for one in compared if unicodedata.category(one)[0] in "LMN" and ord(one) not in IGNORABLE)


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
