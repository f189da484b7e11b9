"""Obvious fixes written into JSON files: only the words at fault change, all other text stays as it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from dpqr.errors import Fault, Fix, UsageFault
from dpqr.io.directories import sync_directory
from dpqr.io.documents.text.json_text import MAX_BYTES, read_regular_file
from dpqr.io.documents.text.positions import Span, line_of, member, spans

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A fix that was written. before, after: JSON texts; no `after`: the part was removed. line: in the older text."""

    file: Path
    line: int
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text` in place of the characters from `start` up to `stop`."""

    start: int
    stop: int
    fix: Fix


def write_fixes(faults: Sequence[Fault]) -> list[Fixed]:
    """Write the fixes that these faults bring into their files; what was written, file by file.

    Fixes of parts that another one changes wait: the next look at the document finds them again.

    Raises: UsageFault where a file cannot be written; it is then as it was. So are all files where a fix is one of a
        YAML or TOML file, whose form would be lost.
    """
    other = next((fault.file for fault in faults if fault.fix and fault.by_hand), None)
    if other is not None:
        raise UsageFault(f"--fix: {other}: fixes are written into JSON files only; correct it by hand, as check says")
    fixable = [fault for fault in faults if fault.file and fault.fix]
    fixable.sort(key=lambda fault: str(fault.file))
    written = []
    for file, group in groupby(fixable, key=lambda fault: fault.file):
        if file:
            written += _write(file, [fault.fix for fault in group if fault.fix])
    return written


def _write(file: Path, fixes: Sequence[Fix]) -> list[Fixed]:
    text = read_regular_file(file, MAX_BYTES).decode("utf-8")
    top = len(_BOM) * text.startswith(_BOM)
    body, done = text[top:], []
    edits = _apart(_edits(body, fixes))
    fixed = body
    for edit in reversed(edits):
        fixed = fixed[: edit.start] + edit.fix.text + fixed[edit.stop :]
        before, line = body[edit.start : edit.stop].strip(", \t\r\n"), line_of(body, edit.start)
        done.append(Fixed(file=file, line=line, path=edit.fix.path, before=before, after=edit.fix.text))
    if done:
        json.loads(fixed)
        _replace(file, text[:top] + fixed)
    return done[::-1]


def _edits(text: str, fixes: Sequence[Fix]) -> Iterator[_Edit]:
    places: Mapping[str, Span] = {}
    with suppress(ValueError, RecursionError):
        json.loads(text)
        places = dict(spans(text))
    for fix in fixes:
        span = places.get(fix.path)
        if span is not None:
            start, stop = (span.key or span.value) if fix.key else span.value
            yield _Edit(start, stop, fix) if fix.text else _Edit(*_with_comma(fix.path, span, places), fix)


def _with_comma(path: str, span: Span, places: Mapping[str, Span]) -> tuple[int, int]:
    """An item of a list with the comma after it, or the one before it where it is the last."""
    outer, _, index = path.rpartition("[")
    number = int(index.rstrip("]"))
    after, before = places.get(member(outer, number + 1)), places.get(member(outer, number - 1))
    if after:
        return span.start, after.start
    return (before.value[1] if before else span.start), span.value[1]


def _apart(edits: Iterator[_Edit]) -> list[_Edit]:
    """In the order of the text, without those that overlap an earlier one."""
    chosen: list[_Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.stop)):
        if not chosen or chosen[-1].stop <= edit.start:
            chosen.append(edit)
    return chosen


def _replace(file: Path, text: str) -> None:
    """The file appears whole or stays as it was; of a link, the file behind it."""
    target = file.resolve()
    draft = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        with draft.open("xb") as opened:
            opened.write(text.encode("utf-8"))
            os.fsync(opened.fileno())
        shutil.copymode(target, draft)
        draft.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageFault(f"--fix: {file} cannot be written ({error.strerror}); choose a writable place") from None
