"""Questions to the guide as people type them, and the sections that answer them (`guide_questions.txt`): `topic`, the
text before its first heading, or `topic/heading`.

Thirty were written before the search ranked anything, and not changed since. The synonyms of the search may be set by
the first half. The second half only says how well it does.
"""

from __future__ import annotations

from pathlib import Path


def _asked(name: str) -> dict[str, tuple[str, ...]]:
    """The questions below that name, each with all sections that answer it."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    below = text.partition(f"# {name}\n")[2].partition("# ")[0]
    return {question: tuple(places) for question, *places in (line.split(" | ") for line in below.splitlines())}


SETTING, REPORTING = _asked("SETTING"), _asked("REPORTING")
USERS = _asked("USERS")
"""Twenty more, of a statistician, an engineer, a data protection officer and a journalist. When they were written 8
found their answer among the first three; then the text of the guide was corrected, and never a synonym. Their writer
had seen the list of synonyms by then, and not used it."""
NEW_SETTING, NEW_REPORTING = _asked("NEW_SETTING"), _asked("NEW_REPORTING")
"""Forty more, of which the first five were asked by others, and missed. When they were written 11 and 10 of 20 found
their answer among the first three. The first half then set the search; what the second half and the threads below
missed (12 and 8 were found) led to the index."""
THREADS = _asked("THREADS")
"""Twenty more, in the words of public threads about other programs."""
FRESH = _asked("FRESH")
"""Thirty more, written last: they set nothing."""
ROLES_SETTING, ROLES_REPORTING = _asked("ROLES_SETTING"), _asked("ROLES_REPORTING")
"""Sixty more of release engineers, statisticians and compliance officers, in turn for setting and for reporting. Their
writer had read the guide, its index and synonyms, and not yet asked the search: 15 and 14 were found. The second half
was never looked at, but who wrote the index knew it: 17 are found without new words that only it holds."""
OTHERS = _asked("OTHERS")
"""Thirty in the words of public threads and pages about other programs, collected after the search and the index were
set: 21 were found. Then the index got terms of these programs."""
BLIND_SETTING, BLIND_REPORTING = _asked("BLIND_SETTING"), _asked("BLIND_REPORTING")
"""Eighty more, by somebody who had read the guide and neither index nor synonyms: 27 and 34 of 40 were found. Then the
index got the everyday words of what each section answers, by somebody who had not read these: 34 and 34. What the first
half still missed was added."""
FIRST = {
    "how do I choose epsilon": "forecast/Which epsilon do I need?",
    "small counts": "results/Small counts",
    "count persons": "units/Persons",
    "docker": "ci/In a container",
    "rounding": "figures/Views",
    "missing values": "domain/Rules for values that fit no cell",
    "which rows are dropped": "domain/Rules for values that fit no cell",
    "what may I publish": "results/What may I publish?",
    "how long does it take": "forecast/How long does it take?",
}
"""What the guide answers in the first sentences of a section."""
