"""Search of the guide: its sections ranked by the words of a question, their other forms and synonyms."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from dpqr.kernel.errors import UsageFault
from dpqr.report.guide import EVERY_TOPIC, REFERENCE, Hit, read_topic

SHOWN = 10
"""Sections that a search shows."""
REFERENCE_SHOWN = 2
"""Of these, the last ones, from topics for reference, at most: they answer few questions and hold many words."""
SATURATION, LENGTH = 1.2, 0.75
"""k1 and b of BM25, as they are mostly set."""
NAMED = 4
"""So many times counts a word of a section's heading or of its line in the index, where one of its text counts once."""
SYNONYM = 0.4
"""What a synonym counts, where the word itself counts 1."""
TOPIC = 0.3
"""What the best section of its topic counts for a section."""
COMMON = (
    "a about actually all also an and any are as at be been but by can could did do does doing done every for from "
    "get give happen has have having how hundred i if in into is it its just let like make many may me mean meaning "
    "might much must my need no not of off on one only or our out really same say see shall should so some someone "
    "something still ten that the their them then there these they thing this three to too two up us use used using "
    "very want was way we were what when where which who why will with without would you your"
)
"""Words that say nothing of what is sought, unless there is nothing else."""
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"^(\w*?[aeiouy]\w+?)(?:ies|ings?|ed|ions?|ly|es|(?<![isu])s|y|e)$")
_DOUBLED = re.compile(r"([bdgmnprt])\1$")


@cache
def stem(word: str) -> str:
    """The word without its ending, so that its forms are one: a few rules, of English alone.

    >>> [stem(word) for word in ("counting", "stopped", "ground", "queries", "monthly", "release")]
    ['count', 'stop', 'ground', 'quer', 'month', 'releas']
    """
    return _DOUBLED.sub(r"\1", _ENDING.sub(r"\1", word))


def search_guide(question: str, topics: tuple[str, ...] = EVERY_TOPIC) -> list[Hit]:
    """The sections that hold the words of a question or synonyms, best first, each with its line that holds most.

    Sections of topics for reference come last.

    BM25 (Robertson and Zaragoza 2009, section 3) over the sections of all topics; of a word and its synonyms the one
    that gives most counts. Sections are known by their text and by an index (`index`).

    Args:
        question: words, in any form and case.
        topics: the topics whose sections are wanted.

    Raises:
        UsageFault: there is nothing to search for, or no such topic.
    """
    words = _WORD.findall(question.casefold())
    if not words:
        raise UsageFault("--search is empty; give a word, for example: dpqr guide --search seal")
    for topic in topics:
        if topic not in EVERY_TOPIC:
            read_topic(topic)  # raises, and names the nearest
    groups = [set(_stems(line)) for line in _word_file("synonyms.txt")]
    said = [word for word in words if word not in COMMON.split()] or words
    wanted = {word: set().union(*(group for group in groups if word in group)) for word in map(stem, said)}

    def worth(bag: dict[str, float]) -> float:
        """The sum over the question's words of what each is worth in a section or a line."""
        return sum(
            max(bag.get(word, 0.0), SYNONYM * max((bag.get(other, 0.0) for other in others), default=0.0))
            for word, others in wanted.items()
        )

    sections, rarity = _guide()
    scores = [(worth(each.worth), each) for each in sections]
    best = dict.fromkeys(EVERY_TOPIC, 0.0)
    for score, each in scores:
        best[each.topic] = max(best[each.topic], score)
    ranked = [(score + TOPIC * best[each.topic], each) for score, each in scores if score and each.topic in topics]
    found = [each for _, each in sorted(ranked, key=lambda pair: -pair[0])]
    guide = [each for each in found if each.topic not in REFERENCE]
    reference = [each for each in found if each.topic in REFERENCE][: REFERENCE_SHOWN if guide else SHOWN]
    return [
        Hit(
            topic=each.topic,
            heading=each.heading,
            line=max(each.lines, key=lambda line: worth({word: rarity[word] for word in _stems(line)})),
        )
        for each in guide[: SHOWN - len(reference)] + reference
    ]


def _stems(text: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(text.casefold())]


def _word_file(name: str) -> list[str]:
    """The lines of a file of words in the folder of the guide.

    synonyms.txt: words of one line stand for each other; a question's word is never taken for a part of another word.
    index.txt: as in a book, where each thing is looked for.
    """
    return (files("dpqr") / "guide" / name).read_text(encoding="utf-8").splitlines()


@cache
def index() -> dict[str, str]:
    """The words of the guide's index, by `topic` or `topic/heading`."""
    return dict(line.rsplit(": ", 1) for line in _word_file("index.txt"))


class GuideSection(NamedTuple):
    """A section of the guide. worth: of each stem in it, its term of BM25."""

    topic: str
    heading: str
    lines: list[str]
    worth: dict[str, float]


@cache
def _guide() -> tuple[list[GuideSection], dict[str, float]]:
    """The sections of all topics, and of each stem how rare the sections are that hold it.

    The first section of a topic has the topic's heading.
    """
    texts = list[tuple[str, str, list[str], Counter[str]]]()
    for topic in EVERY_TOPIC:
        code = False
        for line in map(str.strip, read_topic(topic).splitlines()):
            code ^= line.startswith("```")
            if line.startswith("#") and not code:  # in a block of code it is a comment
                heading = line.lstrip("# ")
                place = topic if heading.startswith(f"{topic}: ") else f"{topic}/{heading}"
                names = _stems(f"{heading} {index().get(place, '')}")
                texts.append((topic, heading, [], Counter(names * NAMED)))
            elif line.strip("`|-"):
                texts[-1][2].append(line)
                texts[-1][3].update(_stems(line))
    texts = [each for each in texts if each[2]]
    held = Counter(word for *_, counts in texts for word in counts)
    rarity = {word: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in held.items()}
    mean = sum(counts.total() for *_, counts in texts) / len(texts)
    sections = list[GuideSection]()
    for topic, heading, lines, counts in texts:
        norm = SATURATION * (1 - LENGTH + LENGTH * counts.total() / mean)
        worths = {word: rarity[word] * count / (count + norm) for word, count in counts.items()}
        sections.append(GuideSection(topic, heading, lines, worths))
    return sections, rarity
