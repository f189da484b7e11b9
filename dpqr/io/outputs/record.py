"""record: the release.json of a release, read again. Anybody may have written what is found under that name."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

RECORD = "release.json"
"""The file that makes a directory a release; it lists the others."""
LONGEST = 2**27
"""Bytes of a record that is read again; a larger one is taken for somebody else's."""
MOST_PARTS = 2**24
"""Lists, objects and their members: parsed, each takes up to a hundred times the room of its text."""


def read_record(directory: Path, name: str = RECORD) -> Any:
    """The JSON of a directory's record, or of the one called `name`.

    Errors: OSError where none can be read; ValueError for what no release has written.
    """
    path = directory / name
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
        raise ValueError("no regular file of a record's size")
    data = path.read_bytes()
    if sum(map(data.count, (b"[", b"{", b":"))) > MOST_PARTS:
        raise ValueError("more parts than any record has")
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested deeper than any record is") from None
