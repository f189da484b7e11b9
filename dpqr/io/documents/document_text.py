"""Documents in YAML and TOML: each is the JSON document that it stands for.

Its JSON text is made first and then read as strictly as any, so that numbers stay as they are written, repeated keys
and great depth are refused, and errors name the same JSON paths. In YAML a plain scalar is null, true, false or a
number where JSON has it in these letters, and text everywhere else: `no`, `2024-01-31`, `007` and `1e` are texts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dpqr.io.documents.decoding import Location
from dpqr.io.documents.json_text import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, parse_json, read_regular_file

_PLAIN = re.compile(r"null|true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; no document needs that"
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"?' + r"|'[^'\n]*+'?")
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH + 1}}}")
"""A key of so many parts that the library would take the square of their number in time."""


def read_document(path: Path) -> Any:
    """The JSON value of a document: YAML in .yaml and .yml files, TOML in .toml files, JSON in all others.

    Raises: UsageFault where the file cannot be read; DocumentError where its text is none of the language.
    """
    return parse_json(document_text(path), path.name)


def document_text(path: Path) -> bytes:
    """The JSON text of a document."""
    data = read_regular_file(path, MAX_BYTES)
    as_json = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml}.get(path.suffix.lower())
    if as_json is None:
        return data
    top = Location(path.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise top.fault(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
    return as_json(text, top)


def _toml(text: str, top: Location) -> bytes:
    if _DOTTED.search(_QUOTED.sub("q", text)):
        raise top.fault(_TOO_DEEP)
    try:
        return msgspec.json.encode(tomllib.loads(text, parse_float=_number))
    except tomllib.TOMLDecodeError as error:
        raise top.fault(f"not TOML: {error}; correct it there") from None
    except RecursionError:
        raise top.fault(_TOO_DEEP) from None
    except ValueError:
        raise top.fault(f"a number of more than {MAX_DIGITS} digits; shorten it") from None


def _number(text: str) -> msgspec.Raw:
    """A number as JSON writes it; NaN and the infinities in the words that no JSON may hold."""
    plain = text.replace("_", "").removeprefix("+")
    named = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return msgspec.Raw(named.get(plain, plain).encode())


def _yaml(text: str, top: Location) -> bytes:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return "".join(_json_parts(yaml.parse(text, loader), top)).encode()
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        said = problem or "a character that YAML does not allow"
        raise top.fault(f"not YAML{place}: {said}; correct it there") from None


def _json_parts(events: Iterator[Any], top: Location) -> Iterator[str]:
    """The JSON text of one YAML document, piece by piece."""
    import yaml

    levels: list[_Level] = []
    documents = 0
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        _refuse(event, documents, levels, top)
        if isinstance(event, yaml.CollectionEndEvent):
            yield levels.pop().end
        elif isinstance(event, yaml.NodeEvent):
            if levels:
                yield levels[-1].before()
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


def _refuse(event: Any, documents: int, levels: list[_Level], top: Location) -> None:
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
        reason = _TOO_DEEP
    elif documents > 1:
        reason = "a second document begins here; keep one a file"
    if reason:
        raise top.fault(f"line {event.start_mark.line + 1}: {reason}")
