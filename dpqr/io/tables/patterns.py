"""Files that a directory, or a name with * ? [ ] and **, stands for.

The standard library's glob is no help with **: it follows links to directories, and two links that lead back make it
walk for ever.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from dpqr.errors import DataError

MOST_FILES = 2**17
_ANY_DEPTH = "**"


def files_below(top: str) -> Iterator[str]:
    """Every file in a directory at any depth; links to directories are not followed.

    Raises: DataError beyond 131,072 files and directories.
    """
    seen = 0
    for folder, folders, names in os.walk(top):
        seen += len(folders) + len(names)
        if seen > MOST_FILES:
            raise DataError(f"{top} holds more than {MOST_FILES} files and directories; name a smaller place")
        yield from (os.path.join(folder, name) for name in names)


def files_matching(pattern: str) -> list[str]:
    """The files of a pattern, sorted. As in the shell, * and ? match no separator and no dot at the start of a name."""
    steps = pattern.split(os.sep)
    if _ANY_DEPTH not in steps:
        return sorted(path for path in glob.glob(pattern) if not os.path.isdir(path))
    deep = steps.index(_ANY_DEPTH)
    found = set()
    for top in [""] if deep == 0 else glob.glob(os.sep.join(steps[:deep]) + os.sep):
        for path in files_below(top or os.curdir):
            inner = os.path.relpath(path, top or os.curdir)
            if _fits(inner.split(os.sep), steps[deep:]):
                found.add(os.path.join(top, inner))
    return sorted(found)


def _fits(names: list[str], steps: list[str]) -> bool:
    """Whether the names of a file's path fit a pattern's steps.

    Keeps all places that could be reached, so no pattern is slow. The last name is a file's: no ** starts behind it.
    """
    places = {0}
    for step in steps:
        if step == _ANY_DEPTH:
            places = {end for start in places if start < len(names) for end in _reach(names, start)}
        else:
            places = {place + 1 for place in places if place < len(names) and _fits_one(names[place], step)}
    return len(names) in places


def _reach(names: list[str], start: int) -> Iterator[int]:
    """The places that ** can lead to: over any number of names without a dot before them."""
    yield start
    for place in range(start, len(names)):
        if names[place].startswith("."):
            return
        yield place + 1


def _fits_one(name: str, step: str) -> bool:
    return fnmatchcase(name, step) and (step.startswith(".") or not name.startswith("."))
