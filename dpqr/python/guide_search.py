"""Search of the guide: its sections ranked by the words of a question, their other forms and synonyms."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
"""k1 and b of BM25, as they are mostly set; nothing here was tuned."""
HEADING, INDEX, BOLD, TOPIC, CODE = 3.0, 3.0, 2.0, 1.0, 0.3
"""So many times counts a word of a heading, one that the index has for the section, one in bold type, one of a topic's
summary in each of its sections, and one of a command or a document, where one of a sentence counts 1."""
SYNONYM = 0.5
"""What a word counts by its synonyms, where the word itself counts 1."""
SPECIAL, SPECIAL_WORTH = ("contributing", "extending", "sources", "strategies"), 0.6
"""Topics for those who change dpqr or compare it with its sources, and what a section of them is worth."""
COMMON = (
    "a about actually all also an and any are as at be been but by can could did do does doing done every for from "
    "get give happen has have having how hundred i if in into is it its just let like make many may me mean meaning "
    "might much must my need no not of off on one only or our out really same see shall should so some someone "
    "something still ten that the their them then there these they thing this three to too two up us use used using "
    "very want was way we were what when where which who why will with without would you your "
    "age education income region sex survey"
)
"""Words that say nothing of what is sought, unless there is nothing else; the last ones stand in all examples."""
PHRASES = {"left out": "dropped", "signed off": "approved", "used up": "spent", "dry run": "rehearsal"}
"""Words that mean something else together."""
ENDINGS = {
    "ies": "y",
    "sses": "ss",
    "s": "",
    "ing": "",
    "ed": "",
    "ly": "",
    "own": "ow",
    "awn": "aw",
    "onal": "on",
    "ical": "ic",
}
_WORD = re.compile(r"\w+")
_BOLD = re.compile(r"\*\*(.+?)\*\*")


@cache
def stem(word: str) -> str:
    """The word without its ending, so that its forms are one: a few rules, of English alone.

    >>> [stem(word) for word in ("counting", "rounded", "ground", "queries", "monthly", "release")]
    ['count', 'round', 'ground', 'query', 'month', 'releas']
    """
    for ending, instead in ENDINGS.items():
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            # stopped, stopping: stop
            if ending in ("ing", "ed") and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def search_guide(question: str, topics: tuple[str, ...] = EVERY_TOPIC) -> list[Hit]:
    """The sections that hold the words of a question or synonyms, best first, each with its line that holds most.

    Sections of topics for reference come last.

    BM25 (Robertson and Zaragoza 2009, section 3) over the sections of all topics; of a word and its synonyms that
    counts which gives most. Sections are known by their text and by an index (`index`).

    Args:
        question: words, in any form and case.
        topics: the topics whose sections are wanted.

    Raises:
        UsageFault: there is nothing to search for, or no such topic.
    """
    words = _words(question)
    if not words:
        raise UsageFault("--search is empty; give a word, for example: dpqr guide --search seal")
    for topic in topics:
        read_topic(topic)
    said = [word for word in words if word not in COMMON.split()] or words
    groups = [set(map(stem, line.split())) for line in _word_file("synonyms.txt")]
    wanted = {word: set().union(*(group for group in groups if word in group)) - {word} for word in map(stem, said)}
    sections = [each for topic in EVERY_TOPIC for each in _sections(topic)]
    mean = sum(sum(each.weights.values()) for each in sections) / len(sections)
    # Of each word, and of it and its synonyms together, how rare the sections are that hold it.
    rarity = {word: (_rarity(sections, {word}), _rarity(sections, {word, *others})) for word, others in wanted.items()}

    def worth(bag: Mapping[str, float], norm: float) -> float:
        """BM25: the sum over the question's words of what a word, or with its synonyms, is worth; times the part of the
        words that are there."""
        gains, most = [], SATURATION + 1
        for word, others in wanted.items():
            own = bag.get(word, 0.0)
            grouped = own + sum(bag.get(other, 0.0) for other in others)
            alone, together = rarity[word]
            gains.append(most * max(alone * own / (own + norm), SYNONYM * together * grouped / (grouped + norm)))
        return sum(gains) * (sum(each > 0.0 for each in gains) / len(gains))

    ranked = []
    for each in sections:
        score = worth(each.weights, SATURATION * (1 - LENGTH + LENGTH * sum(each.weights.values()) / mean))
        if score and each.topic in topics:
            best = max(each.lines, key=lambda line: worth(Counter(map(stem, _words(line))), SATURATION))
            score *= SPECIAL_WORTH if each.topic in SPECIAL else 1.0
            ranked.append((score, Hit(topic=each.topic, heading=each.heading, line=best)))
    ranked.sort(key=lambda each: each[0], reverse=True)
    hits = [hit for _, hit in ranked]
    if not set(topics) - set(REFERENCE):
        return hits[:SHOWN]
    reference = [hit for hit in hits if hit.topic in REFERENCE][:REFERENCE_SHOWN]
    guide = [hit for hit in hits if hit.topic not in REFERENCE]
    return guide[: SHOWN - len(reference)] + reference


def _words(text: str) -> list[str]:
    text = text.casefold()
    for phrase, word in PHRASES.items():
        text = text.replace(phrase, word)
    return _WORD.findall(text)


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
    """A section of the guide. weights: of each stem in it, what its places count together."""

    topic: str
    heading: str
    lines: list[str]
    weights: dict[str, float]


def _rarity(sections: Sequence[GuideSection], words: set[str]) -> float:
    """Inverse document frequency of BM25, of sections that hold one of the words."""
    count = sum(not words.isdisjoint(each.weights) for each in sections)
    return math.log(1 + (len(sections) - count + 0.5) / (count + 0.5))


@cache
def _sections(topic: str) -> tuple[GuideSection, ...]:
    """The sections of a topic; the first one has the topic's heading."""
    found, summary, code = list[GuideSection](), "", False
    for line in map(str.strip, read_topic(topic).splitlines()):
        code ^= line.startswith("```")
        if line.startswith("#") and not code:  # in a block of code it is a comment
            heading = line.lstrip("# ")
            summary = summary or heading
            found.append(GuideSection(topic, heading, [], {}))
            place = topic if heading == summary else f"{topic}/{heading}"
            texts = [(HEADING, heading), (TOPIC, summary), (INDEX, index().get(place, ""))]
        elif line.strip("`|-"):
            found[-1].lines.append(line)
            texts = [(CODE if code else 1.0, line), (BOLD, " ".join(_BOLD.findall(line)))]
        else:
            continue
        for weight, text in texts:
            for word in map(stem, _words(text)):
                found[-1].weights[word] = found[-1].weights.get(word, 0.0) + weight
    return tuple(each for each in found if each.lines)
