"""All faults of some documents: kept while they are checked to the end, and raised together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from dpqr.errors import DocumentError, Fault
from dpqr.io.documents.text.positions import line_of, spans
from dpqr.io.documents.text.yaml_text import YAML_ENDINGS, yaml_as_json

Made = TypeVar("Made")
LIMIT = 20
"""Faults that one error names."""


class FollowUp(DocumentError):
    """A question that cannot be answered because of a fault that is kept already; nobody is blamed for it again."""


@dataclass(slots=True)
class Faults:
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
            raise combined(self.found)

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


def combined(found: list[Fault]) -> DocumentError:
    """One error of all these faults, in the order of the documents and their lines."""
    shown, more = _in_order(found[:LIMIT]), len(found) > LIMIT
    if len(shown) == 1:
        return DocumentError(str(shown[0]), shown)
    documents = " and ".join(dict.fromkeys(fault.document for fault in shown if fault.document))
    head = f"{'more than ' if more else ''}{len(shown)} faults{f' in {documents}' if documents else ''}"
    return DocumentError("\n".join((head, *map(str, shown))), shown, more)


def _in_order(found: list[Fault]) -> tuple[Fault, ...]:
    files = list(dict.fromkeys(fault.file for fault in found))
    found = sorted(found, key=lambda fault: files.index(fault.file))
    lined = (_lined(list(group), file) for file, group in groupby(found, key=lambda fault: fault.file))
    return tuple(fault for group in lined for fault in sorted(group, key=lambda fault: fault.line or 0))


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
