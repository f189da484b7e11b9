"""All faults of some documents: kept while they are checked to the end, and raised together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from dpqr.kernel.errors import DocumentError, Fault
from dpqr.kernel.values import replace

Made = TypeVar("Made")
LIMIT = 20
"""Faults that one error names."""


class FollowUp(DocumentError):
    """A question that cannot be answered because of a fault that is kept already; nobody is blamed for it again."""


class Faults(Struct):
    """The faults found so far, at most one a place, and one more than are shown."""

    found: list[Fault] = field(default_factory=list)
    followed: FollowUp | None = None

    @property
    def full(self) -> bool:
        return len(self.found) > LIMIT

    def keep(self, error: DocumentError) -> None:
        if isinstance(error, FollowUp):
            self.followed = error
            return
        for fault in error.faults:
            place = fault.document, fault.path, fault.place
            if not self.full and (not fault.path or place not in [(o.document, o.path, o.place) for o in self.found]):
                self.found.append(fault)

    def within(self, document: str, path: str) -> bool:
        """Whether there is a fault at this path or inside it that waits for a fix."""
        inside = (fault.path for fault in self.found if fault.document == document and not fault.fix)
        return any(found == path or found.startswith((f"{path}.", f"{path}[")) for found in inside)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave the block at its first DocumentError, which is kept."""
        try:
            yield
        except DocumentError as error:
            self.keep(error)

    def finish(self) -> None:
        """Raise what was kept, as one DocumentError; nothing where nothing was."""
        if self.found:
            raise combine_faults(self.found)

    def pass_on(self) -> None:
        """Raise what was kept, to whoever keeps the faults of the whole document; nothing where nothing was."""
        if self.found:
            raise DocumentError("\n".join(map(str, self.found)), tuple(self.found))
        if self.followed:
            raise self.followed


def all_of(calls: Iterable[Callable[[], Made]]) -> list[Made]:
    """What independent calls return. Raises: DocumentError of all their faults."""
    faults, made = Faults(), []
    for call in calls:
        with faults.kept():
            made.append(call())
        if faults.full:
            break
    faults.pass_on()
    return made


def combine_faults(found: list[Fault]) -> DocumentError:
    """One error of all these faults, in the order of the documents and their lines."""
    some, more = found[:LIMIT], len(found) > LIMIT
    # File by file, in the order in which they are named; in a file, line by line.
    files = list(dict.fromkeys(fault.file for fault in some))
    lined = (_lined([fault for fault in some if fault.file == file], file) for file in files)
    shown = tuple(fault for group in lined for fault in sorted(group, key=lambda fault: fault.line or 0))
    if len(shown) == 1:
        return DocumentError(str(shown[0]), shown)
    documents = " and ".join(dict.fromkeys(fault.document for fault in shown if fault.document))
    head = f"{'more than ' if more else ''}{len(shown)} faults{f' in {documents}' if documents else ''}"
    return DocumentError("\n".join((head, *map(str, shown))), shown, more)


def _lined(found: list[Fault], file: Path | None) -> Iterable[Fault]:
    """With their lines, where the document is a JSON or YAML file."""
    with suppress(OSError, ValueError, RecursionError):
        text = "" if file is None else file.read_text(encoding="utf-8-sig")
        if file is not None and file.suffix.lower() in YAML_ENDINGS:
            text = yaml_as_json(text)
        json.loads(text)
        wanted = {path for fault in found for path in _upwards(fault)}
        lines = {path: line_of(text, span.start) for path, span in spans(text) if path in wanted}
        return [replace(fault, line=next(lines[path] for path in _upwards(fault) if path in lines)) for fault in found]
    return found


def _upwards(fault: Fault) -> Iterator[str]:
    """The path of the part at fault, and of all that it lies in: a missing key has no line of its own."""
    path = fault.place or fault.path
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


# Where the parts of a JSON text stand, by their JSON paths.

MAX_DEPTH = 32
"""Levels of objects and lists in a document."""
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; no document needs that"
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def member(path: str, key: str | int) -> str:
    """The path of a member of the object or list at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{json.dumps(key)}]"


class TextSpan(Struct, frozen=True):
    """Characters of a value, and of the key before it (none before items and the top)."""

    value: tuple[int, int]
    key: tuple[int, int] | None = None

    @property
    def start(self) -> int:
        """The first character of key and value."""
        return (self.key or self.value)[0]


class _Open(Struct):
    """An object or a list that is not closed yet. index: of the next item; key, name: of the next member."""

    path: str
    start: int
    own: tuple[int, int] | None
    items: bool
    index: int = 0
    key: tuple[int, int] | None = None
    name: str = field(default="")

    def next_path(self) -> str:
        return member(self.path, self.index if self.items else self.name)


def spans(text: str) -> Iterator[tuple[str, TextSpan]]:
    """Path and place of every part of a valid JSON text, the inner ones first."""
    outer: list[_Open] = []
    for match in _TOKEN.finditer(text):
        token, top = match[0], outer[-1] if outer else None
        if token in ("]", "}"):
            closed = outer.pop()
            yield closed.path, TextSpan((closed.start, match.end()), closed.own)
        elif token == ",":
            outer[-1].index += 1
        elif top and not top.items and not top.key:
            top.key, top.name = match.span(), json.loads(token)
        elif token != ":":
            path, key = (top.next_path(), top.key) if top else ("$", None)
            if top:
                top.key = None
            if token in ("[", "{"):
                outer.append(_Open(path, match.start(), key, token == "["))
            else:
                yield path, TextSpan(match.span(), key)


def line_of(text: str, position: int) -> int:
    """Lines are counted from 1."""
    return text.count("\n", 0, position) + 1


# YAML documents as JSON text, line by line, so that a fault of the JSON text has its line in the YAML file.
#
# A plain scalar is null, true, false or a number where JSON has it in these letters, and text everywhere else: `no`,
# `2024-01-31`, `007` and `1e` are texts.

YAML_ENDINGS = (".yaml", ".yml")
_PLAIN = re.compile(r"null|true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class NoYaml(ValueError):
    """The text is no YAML document, or holds what JSON has not."""


def yaml_as_json(text: str) -> str:
    """The JSON text of a YAML document, every part of it on the line where it stands in YAML.

    Raises:
        NoYaml: with what to correct.
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
        # Refuse what JSON does not have, and what could unfold without end.
        within, reason = levels[-1] if levels else None, None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            reason = "anchors and aliases (&name, *name) are not read; write the value out"
        elif getattr(event, "tag", None) is not None:
            reason = "tags (!name) are not read; write a text in quotes, and a number without them"
        elif isinstance(event, yaml.CollectionStartEvent) and within and within.end == "}" and not within.count % 2:
            reason = "a key is a list or an object; write a text"
        elif isinstance(event, yaml.CollectionStartEvent) and len(levels) > MAX_DEPTH:
            reason = TOO_DEEP
        elif documents > 1:
            reason = "a second document begins here; keep one a file"
        if reason:
            raise NoYaml(f"line {event.start_mark.line + 1}: {reason}")
        if isinstance(event, yaml.CollectionEndEvent):
            yield levels.pop().end
        elif isinstance(event, yaml.NodeEvent):
            if levels:
                yield levels[-1].before()
            yield "\n" * (event.start_mark.line - line)
            line = event.start_mark.line
            if isinstance(event, yaml.ScalarEvent):
                text: str = event.value
                if (levels and levels[-1].key) or not event.implicit[0]:
                    yield json.dumps(text)
                elif text in ("", "~"):
                    yield "null"
                else:
                    yield text if _PLAIN.fullmatch(text) else json.dumps(text)
            else:
                opened = _Level(*("{}" if isinstance(event, yaml.MappingStartEvent) else "[]"))
                levels.append(opened)
                yield opened.start


class _Level(Struct):
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
