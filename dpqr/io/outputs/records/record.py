"""JSON documents of a run: their text, and release.json read again, which anybody may have written."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

RECORD = "release.json"
"""The file that makes a directory a release; it lists the others."""
RECORD_KIND = "release/"
"""How the format that such a record states begins."""
LONGEST = 2**27
"""Bytes of a record that is read again; a larger one is taken for somebody else's."""
MOST_PARTS = 2**24
"""Lists, objects and their members: parsed, each takes up to a hundred times the room of its text."""


def read_record(directory: Path, name: str = RECORD) -> Any:
    """The JSON of a directory's record, or of the one called `name`.

    Raises: OSError where none can be read; ValueError for what no release has written.
    """
    path = directory / name
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
        raise ValueError("no regular file of a record's size")
    data = path.read_bytes()
    if sum(map(data.count, (b"[", b"{", b":"))) > MOST_PARTS:
        raise ValueError("more parts than any record has")
    try:
        return json.loads(data, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("nested deeper than any record is") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """ValueError for a key that stands twice: a reader would see one value, and a program the other."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members


STEP = "  "


def document_text(document: Any) -> str:
    """Strict JSON (no NaN), indented, lists of plain values on one line, with a final newline.

    Equal documents give equal text.
    """
    return _laid_out(document, "") + "\n"


def _laid_out(value: Any, indent: str) -> str:
    if not value or not isinstance(value, dict | list) or _is_plain_list(value):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = indent + STEP
    if isinstance(value, dict):
        members = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(part, deeper)}" for key, part in value.items()]
        opening, closing = "{", "}"
    else:
        members = [_laid_out(part, deeper) for part in value]
        opening, closing = "[", "]"
    body = f",\n{deeper}".join(members)
    return f"{opening}\n{deeper}{body}\n{indent}{closing}"


def _is_plain_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(part, dict | list) for part in value)
