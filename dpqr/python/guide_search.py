"""Search of the guide: its sections ranked by the words of a question, their other forms and synonyms."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from dpqr.kernel.errors import UsageFault
from dpqr.report.guide import EVERY_TOPIC, REFERENCE, Hit, read_topic

SHOWN = 10
"""Sections that a search shows."""
REFERENCE_SHOWN = 2
"""Of these, the last ones, from topics for reference, at most: they answer few questions and hold many words."""
SATURATION, LENGTH = 1.2, 0.75
"""k1 and b of BM25, as they are mostly set; nothing here was tuned."""
HEADING = 3
"""So many times counts a word of a heading, or of a topic's name and summary in the topic's first section."""
SYNONYM = 0.5
"""What a synonym counts, where the word itself counts 1."""
COMMON = (
    "a about all an and any are as at be been but by can could did do does for from get has have how i if in into "
    "is it its let make may me much many must my need no not of off on one only or our out shall should so some "
    "that the their them then there these they this to up us use was we were what when where which who why will "
    "with would you your"
)
"""Words that say nothing of what is sought, unless there is nothing else."""
SYNONYMS = (
    "accuracy accurate precise precision error noise",
    "actions ci github gitlab jenkins job pipeline workflow",
    "age birthday",
    "anonymous anonymity privacy private",
    "approve approval authorise authorize permission review sign",
    "blank empty gap missing na null",
    "budget epsilon eps",
    "choose choice pick select",
    "classifier classify machine learning model predict prediction train learner",
    "cleaning dirty messy",
    "column field variable attribute",
    "complete completion autocomplete",
    "confidence interval uncertainty",
    "container docker image kubernetes podman",
    "continue crash die interrupt killed restart resume",
    "count tally",
    "csv delimiter separator semicolon comma tab",
    "database engine server sql",
    "dataframe frame pandas polars",
    "date day time",
    "delete remove erase",
    "excel spreadsheet workbook xlsx",
    "fake artificial synthetic",
    "group by breakdown crosstab marginal",
    "hierarchy hierarchies country level nested region",
    "individual patient people person user",
    "integer round rounding whole",
    "left remaining",
    "mean average",
    "memory ram",
    "month monthly period week",
    "negative below",
    "postgres postgresql",
    "result answer",
    "small little few rare suppress suppression",
    "verify check genuine trust",
)
"""Words of one line stand for each other. A question's word is never taken for a part of another word."""
_WORD = re.compile(r"\w+")


@cache
def stem(word: str) -> str:
    """The word without its ending, so that its forms are one: a few rules, of English alone.

    >>> [stem(word) for word in ("counting", "rounded", "ground", "queries", "monthly", "release")]
    ['count', 'round', 'ground', 'query', 'month', 'releas']
    """
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("s", ""), ("ing", ""), ("ed", ""), ("ly", ""), ("al", "")):
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
    counts which gives most.

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
    # Of each word its stem and those of its synonyms, with what they count.
    groups = [set(map(stem, line.split())) for line in SYNONYMS]
    wanted = [
        {**{other: SYNONYM for group in groups if word in group for other in group}, word: 1.0}
        for word in dict.fromkeys(map(stem, said))
    ]
    # Of each section how often a stem stands in its lines, heading and topic.
    sections, counts = list(_sections()), list[Counter[str]]()
    for topic, heading, lines in sections:
        bag = Counter(stem(word) for line in lines for word in _words(line))
        bag.update({stem(word): HEADING for word in _words(heading)})
        bag[stem(topic)] += 1
        counts.append(bag)
    held = Counter(word for bag in counts for word in bag)
    mean = sum(bag.total() for bag in counts) / len(counts)

    def rarity(word: str) -> float:
        return math.log(1 + (len(counts) - held[word] + 0.5) / (held[word] + 0.5))

    def worth(bag: Counter[str], norm: float) -> float:
        """BM25: the sum over the question's words of what a word, or the best of its synonyms, is worth."""
        gain = SATURATION + 1
        return sum(
            max(weight * rarity(word) * bag[word] * gain / (bag[word] + norm) for word, weight in each.items())
            for each in wanted
        )

    ranked = []
    for (topic, heading, lines), bag in zip(sections, counts, strict=True):
        score = worth(bag, SATURATION * (1 - LENGTH + LENGTH * bag.total() / mean))
        if score and topic in topics:
            best = max(lines, key=lambda line: worth(Counter(map(stem, _words(line))), SATURATION))
            ranked.append((score, Hit(topic=topic, heading=heading, line=best)))
    ranked.sort(key=lambda each: each[0], reverse=True)
    hits = [hit for _, hit in ranked]
    if not set(topics) - set(REFERENCE):
        return hits[:SHOWN]
    reference = [hit for hit in hits if hit.topic in REFERENCE][:REFERENCE_SHOWN]
    guide = [hit for hit in hits if hit.topic not in REFERENCE]
    return guide[: SHOWN - len(reference)] + reference


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _sections() -> Iterator[tuple[str, str, list[str]]]:
    """Topic, heading and lines of every section; the first one of a topic has the topic's heading."""
    for topic in EVERY_TOPIC:
        heading, lines, code = "", list[str](), False
        for line in map(str.strip, read_topic(topic).splitlines()):
            code ^= line.startswith("```")
            if line.startswith("#") and not code:  # in a block of code it is a comment
                if lines:
                    yield topic, heading, lines
                heading, lines = line.lstrip("# "), []
            elif line.strip("`|-"):
                lines.append(line)
        yield topic, heading, lines
