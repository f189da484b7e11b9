"""`dpqr guide`: the manual that ships with the package."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpqr.cli.completion import topics
from dpqr.cli.streams import is_terminal, print_paged, product, render, say

if TYPE_CHECKING:
    from dpqr.report.guide import Hit


@click.command("guide")
@click.argument("topic", required=False, shell_complete=topics)
@click.option("--search", metavar="WORDS", help="Print the sections that answer WORDS, best first.")
@click.option("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(*, topic: str | None, search: str | None, no_color: bool) -> None:
    """Read the guide: the list of its topics, or one TOPIC.

    A topic is rendered on a terminal and plain Markdown in a pipe or a file.

    \b
    dpqr guide
    dpqr guide ledger | less
    dpqr guide --search "how do I choose epsilon"
    """
    from dpqr.python.guide_search import search_guide
    from dpqr.report.guide import EVERY_TOPIC, guide_view, read_topic

    color = not no_color
    if search is not None:
        hits = search_guide(search, (topic,) if topic else EVERY_TOPIC)
        for hit in hits:
            product(_line(hit, search, color))
        if hits:
            say(f"best first: topic, heading, line; read one: dpqr guide {hits[0].topic}")
        else:
            say(f"the guide holds no word of {search!r}; its topics: dpqr guide")
    elif topic is not None:
        text = read_topic(topic)
        if is_terminal(sys.stdout):
            print_paged(render(guide_view(text), sys.stdout, color))
        else:
            product(text.rstrip("\n"))
    else:
        _list_topics(color)
        say("read one: dpqr guide TOPIC; search them: dpqr guide --search WORDS")


def _list_topics(color: bool) -> None:
    """The topics, and after them those for reference."""
    from dpqr.report.guide import EVERY_TOPIC, REFERENCE, TOPICS, summary
    from dpqr.report.html import facts

    width = max(map(len, EVERY_TOPIC))
    for heading, names in (("", TOPICS), ("reference", REFERENCE)):
        if heading:
            product(f"\n{heading}")
        if is_terminal(sys.stdout):
            product(render(facts([(name, summary(name)) for name in names], width), sys.stdout, color))
        else:
            for name in names:
                product(f"{name:<{width}}  {summary(name)}")


def _line(hit: Hit, words: str, color: bool) -> str:
    """One line in a pipe; on a terminal as many as its width asks for, the words marked."""
    plain = f"{hit.topic}: {hit.heading}: {hit.line}"
    if not is_terminal(sys.stdout):
        return plain
    from rich.text import Text

    text = Text(plain)
    text.stylize("cyan", 0, len(f"{hit.topic}: {hit.heading}:"))
    text.highlight_words(words.split(), "bold", case_sensitive=False)
    return render(text, sys.stdout, color)
