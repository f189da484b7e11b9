"""Draw claims at random from what users read: README, guide, contributing.md and RESULTS.

    python tests/support/claims.py SEED NUMBER [--help-texts]

A claim is a sentence outside code blocks, or a row of a table, with at least five words; no question, no heading.
"""

import random
import re
import sys
from pathlib import Path

import click

from dpqr.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("dpqr/guide/*.md")),
    "tests/contributing.md",
    "tests/benchmarks/RESULTS.md",
)
FEWEST_WORDS = 5
Claim = tuple[str, int, str]
"""A page or a command, the line its paragraph starts at, and the sentence."""


def sentences(page: str, text: str) -> list[Claim]:
    """Return the claims of a page, in order."""
    claims: list[Claim] = []
    paragraph: list[str] = []
    lines = text.splitlines()
    heads = {number for number, below in enumerate(lines) if below.startswith("|--")}
    start, fenced = 1, False

    def close() -> None:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", " ".join(paragraph)):
            if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= FEWEST_WORDS and sentence[-1] != "?":
                claims.append((page, start, sentence))
        paragraph.clear()

    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        fence = stripped.startswith("```")
        fenced ^= fence
        if fence or not stripped or stripped.startswith(("#", "|", "- ", "* ")):
            close()
        if not (fence or fenced or number in heads or not stripped or stripped.startswith(("#", "|--"))):
            start = start if paragraph else number
            paragraph.append(stripped)
    close()
    return claims


def help_texts() -> list[Claim]:
    """Return the claims of `dpqr COMMAND --help`: sentences about commands and options, one that recurs once."""
    claims: dict[str, Claim] = {}
    commands: list[tuple[str, click.Command]] = [("dpqr", main)]
    while commands:
        path, command = commands.pop(0)
        found = sentences(path, command.help or "")
        for option in command.params:
            found += sentences(f"{path} {option.opts[0]}", getattr(option, "help", None) or "")
        for claim in found:
            claims.setdefault(claim[2], claim)
        if isinstance(command, click.Group):
            context = click.Context(command)
            named = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
            commands += [(f"{path} {name}", each) for name, each in named if each]
    return list(claims.values())


if __name__ == "__main__":
    seed, number, *rest = sys.argv[1:]
    of_pages = [claim for page in PAGES for claim in sentences(page, (ROOT / page).read_text(encoding="utf-8"))]
    claims = help_texts() if rest else of_pages
    for index in sorted(random.Random(int(seed)).sample(range(len(claims)), int(number))):
        page, line, text = claims[index]
        print(f"{page}:{line}: {text}")
