"""YAML documents as JSON text, line by line, so that a fault of the JSON text has its line in the YAML file.

A plain scalar is null, true, false or a number where JSON has it in these letters, and text everywhere else: `no`,
`2024-01-31`, `007` and `1e` are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpqr.io.documents.text.positions import MAX_DEPTH, TOO_DEEP

YAML_ENDINGS = (".yaml", ".yml")
_PLAIN = re.compile(r"null|true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class NoYaml(ValueError):
    """The text is no YAML document, or holds what JSON has not."""


def yaml_as_json(text: str) -> str:
    """The JSON text of a YAML document, every part of it on the line where it stands in YAML.

    Raises: NoYaml, with what to correct.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return "".join(_json_parts(yaml.parse(text, loader)))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        if mark and "nesting depth" in (problem or ""):  # libyaml 0.2.6: 1,000 open brackets, before we see the first
            raise NoYaml(f"line {mark.line + 1}: {TOO_DEEP}") from None
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        said = problem or "a character that YAML does not allow"
        raise NoYaml(f"not YAML{place}: {said}; correct it there") from None


def _json_parts(events: Iterator[Any]) -> Iterator[str]:
    """The JSON text of one YAML document, piece by piece."""
    import yaml

    levels: list[_Level] = []
    documents = line = 0
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        _refuse(event, documents, levels)
        if isinstance(event, yaml.CollectionEndEvent):
            yield levels.pop().end
        elif isinstance(event, yaml.NodeEvent):
            if levels:
                yield levels[-1].before()
            yield "\n" * (event.start_mark.line - line)
            line = event.start_mark.line
            if isinstance(event, yaml.ScalarEvent):
                yield _scalar(event, key=bool(levels) and levels[-1].key)
            else:
                opened = _Level(*("{}" if isinstance(event, yaml.MappingStartEvent) else "[]"))
                levels.append(opened)
                yield opened.start


@dataclass(slots=True)
class _Level:
    """A list or an object that is being written. start, end: its brackets. count: its parts so far, keys and values
    alike."""

    start: str
    end: str
    count: int = 0

    @property
    def key(self) -> bool:
        """Whether the part that was begun last is a key."""
        return self.end == "}" and self.count % 2 == 1

    def before(self) -> str:
        """Begin a part: what stands between it and the part before."""
        self.count += 1
        if self.count == 1:
            return ""
        return ":" if self.end == "}" and not self.key else ","


def _scalar(event: Any, *, key: bool) -> str:
    text: str = event.value
    if key or not event.implicit[0]:
        return json.dumps(text)
    if text in ("", "~"):
        return "null"
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _refuse(event: Any, documents: int, levels: list[_Level]) -> None:
    """Refuse what JSON does not have, and what could unfold without end."""
    import yaml

    reason = None
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        reason = "anchors and aliases (&name, *name) are not read; write the value out"
    elif getattr(event, "tag", None) is not None:
        reason = "tags (!name) are not read; write a text in quotes, and a number without them"
    elif isinstance(event, yaml.CollectionStartEvent) and levels and levels[-1].end == "}" and not levels[-1].count % 2:
        reason = "a key is a list or an object; write a text"
    elif isinstance(event, yaml.CollectionStartEvent) and len(levels) > MAX_DEPTH:
        reason = TOO_DEEP
    elif documents > 1:
        reason = "a second document begins here; keep one a file"
    if reason:
        raise NoYaml(f"line {event.start_mark.line + 1}: {reason}")
