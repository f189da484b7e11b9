"""README and the topics of the guide, as texts: their blocks of code, and the commands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dpqr.report.guide import REFERENCE as REFERENCE_TOPICS

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """README or a topic of the guide."""

    name: str
    text: str

    def blocks(self, *languages: str) -> list[tuple[str, str]]:
        """Language and content of each fenced block in one of these languages, in order."""
        return [(language, content) for language, content in FENCED.findall(self.text) if language in languages]

    def all_of(self, language: str) -> list[str]:
        return [content for _, content in self.blocks(language)]


def page(path: Path) -> Page:
    return Page(path.stem, path.read_text(encoding="utf-8"))


README = page(ROOT / "README.md")
TOPICS = [page(path) for path in sorted((ROOT / "dpqr" / "guide").glob("*.md"))]
GUIDE = [each for each in TOPICS if each.name not in REFERENCE_TOPICS]
REFERENCE = [each for each in TOPICS if each.name in REFERENCE_TOPICS]
PAGES = [README, *TOPICS]


def topic(name: str) -> Page:
    return next(each for each in TOPICS if each.name == name)


def screen_lines(screen: str) -> list[str]:
    """What a screen claims to have been printed: a line with its continuation lines, blanks collapsed; an end that is
    left out is marked by three dots."""
    entries = re.split(r"\n(?=\S)", screen.rstrip("\n"))
    return [" ".join(entry.split()).removesuffix(" ...") for entry in entries]
