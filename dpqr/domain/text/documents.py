"""JSON text: read strictly, with the line and column of what is no JSON and the path of what JSON lets pass.

Why the standard parser first and typed decoding after: it alone gives line and column, keeps decimals exact, and can
be stopped at repeated keys and at NaN.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dpqr.domain.text.decoding import Location
from dpqr.domain.text.faults import (
    MAX_DEPTH,
    TOO_DEEP,
    YAML_ENDINGS,
    NoYaml,
    TextSpan,
    line_of,
    member,
    spans,
    yaml_as_json,
)
from dpqr.kernel.errors import DocumentError, Fault, Fix, UsageFault
from dpqr.kernel.files import sync_directory

JsonObject = dict[str, Any]
"""An object of a document as it was parsed; `fix_shape` and `fitting` check it against the document's form."""
DocumentSource = str | os.PathLike[str] | JsonObject
"""A document's file, or the document as it was parsed."""
MAX_FILE_BYTES = 2**29

MAX_BYTES = 16 * 2**20
MAX_DIGITS = 60
"""Digits and decimal exponent of a number: enough for any bound, too few to exhaust the memory."""


class _Refused(Struct, frozen=True):
    """Stands in the parsed tree for what the parser met without knowing its path."""

    reason: str


Identity = tuple[int, int]
"""Device and number of a file."""
_PRIVATE: ContextVar[frozenset[Identity]] = ContextVar("files of the private table", default=frozenset())


@contextmanager
def refuse_private_files(private: frozenset[Identity]) -> Iterator[None]:
    """Refuse to read these files as documents, inside the block.

    Privacy:
        A document is public: its faults are quoted in messages, key by key and label by label, and no budget pays for
        that. Files are distinguished by device and number, so a copy under another name is not found.
    """
    token = _PRIVATE.set(private)
    try:
        yield
    finally:
        _PRIVATE.reset(token)


def read_regular_file(path: Path, limit: int) -> bytes:
    """All bytes of a regular file of at most `limit` bytes. UsageFault for one that is `refuse_private_files`."""
    with require_reachable(path):
        regular_size(path, limit)
        with path.open("rb") as opened:
            status = os.fstat(opened.fileno())
            if (status.st_dev, status.st_ino) in _PRIVATE.get():
                raise UsageFault(
                    f"{str(path)!r} is a file of the private table, and messages quote documents\n"
                    "give a document of its own"
                )
            # Not the limit: room for so many bytes would be taken first, and its return teaches the C library to keep
            # later arrays of that size instead of giving them back.
            return opened.read(min(limit, status.st_size))


def regular_size(path: Path, limit: int) -> int:
    """Bytes of a regular file, at most `limit` (a pipe could keep a job waiting for ever)."""
    with require_reachable(path):
        status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageFault(f"{str(path)!r} is not a regular file; give the path of a file")
    if status.st_size > limit:
        raise DocumentError(f"{path.name}: larger than {limit} bytes, the limit of such a document; split it")
    return status.st_size


@contextmanager
def require_reachable(path: Path) -> Iterator[None]:
    """UsageFault where the path, inside the block, cannot be reached."""
    try:
        yield
    except ValueError:
        raise UsageFault(f"{str(path)!r} cannot name a file; correct the path") from None
    except OSError as error:
        raise UsageFault(f"cannot read {str(path)!r}: {error.strerror}; check the path and its permissions") from None


def _decoded(data: bytes, top: Location) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise top.fault(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None


def parse_json(data: bytes, document: str, file: Path | None = None) -> Any:
    """Strict JSON: UTF-8, no repeated keys, no NaN or Infinity, bounded depth and digits.

    Decimals become Decimal, whole numbers int.
    """
    top = Location(document, file=file)
    text = _decoded(data, top)
    if not text.strip():
        raise top.fault("the file is empty; it must hold a JSON object")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=_decimal,
            parse_int=_whole,
            parse_constant=lambda word: _Refused(f"{word} is not a JSON number; give a finite number"),
        )
    except json.JSONDecodeError as error:
        raise top.fault(f"{_explained(text, error.pos)}; correct it there") from None
    except RecursionError:
        raise top.fault(TOO_DEEP) from None
    # Refuse the first refused part, with its path; a stack instead of recursion, for depth is the sender's. It holds
    # one cursor a level, never a part's members: their number is the sender's too.
    path: list[int | str] = []
    levels: list[Iterator[tuple[int | str, object]]] = [iter([("", value)])]
    while levels:
        step, part = next(levels[-1], (None, None))
        if step is None:
            levels.pop()
            path = path[: len(levels) - 1]
            continue
        reason = _fault(part, len(levels) - 1)
        if reason:
            location = top
            for each in [*path, step][1:]:
                location = location.key(each) if isinstance(each, str) else location.item(each)
            raise location.fault(reason)
        if isinstance(part, dict | list):
            path.append(step)
            levels.append(iter(part.items()) if isinstance(part, dict) else enumerate(part))
    return value


_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_EXPECTED = {"": "a value", "[": "a value", ":": "a value", "{": "a key in double quotes", ",": "a value or a key"}
"""What may follow the last character before the fault; after any other a value or a key has ended."""


def _explained(text: str, found: int) -> str:
    """Where the text stops being JSON, and why.

    The words are ours, from the characters there: the standard parser's change from one Python to another.
    So does its position of a comma too many: here it is always the bracket behind the comma.
    """
    at = found
    if text.startswith(",", found):
        space = _SPACE.match(text, found + 1)
        behind = space.end() if space else found + 1
        at = behind if text.startswith(("]", "}"), behind) else found
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    here, before = text[at : at + 1], text[:at].rstrip()[-1:]
    reason = f"expected {_EXPECTED.get(before, 'a comma, a colon, a closing bracket or the end')}, got {here!r}"
    if not here:
        reason = "the text ends too early"
    elif here in "]}" and before == ",":
        reason = f"a comma too many before {here!r}"
    elif here < " ":
        reason = "a control character; write it as an escape"
    elif here == "\\":
        reason = "an escape that JSON does not know"
    elif here == '"' and not _CLOSED.match(text, at):
        reason = "a text that is not closed"
    return f"not JSON at line {line} column {column}: {reason}"


def _object(pairs: list[tuple[str, object]]) -> JsonObject | _Refused:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _Refused(f"the key {key!r} stands twice; keep one of them")
        seen.add(key)
    raise AssertionError("fewer members than pairs, yet no key repeats")


def _decimal(text: str) -> Decimal | _Refused:
    value = Decimal(text)
    if len(text) > 2 * MAX_DIGITS or abs(value.adjusted()) > MAX_DIGITS:
        return _Refused(f"a number of more than {MAX_DIGITS} digits; shorten it")
    return value


def _whole(text: str) -> int | _Refused:
    if len(text) > MAX_DIGITS:
        return _Refused(f"a number of more than {MAX_DIGITS} digits; shorten it")
    return int(text)


def _fault(part: object, depth: int) -> str | None:
    """What is wrong with a part of the tree, its members aside."""
    if isinstance(part, _Refused):
        return part.reason
    if depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(part, str):
        return _text_fault(part)
    if isinstance(part, dict):
        found = next(filter(None, map(_text_fault, part)), None)
        return found and f"a key {found}"
    return None


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "holds a null character; remove it"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "holds half of a surrogate pair; write the character itself"
    return None


# Documents in YAML and TOML: each is the JSON document that it stands for.
#
# Its JSON text is made first and then read as strictly as any, so that numbers stay as they are written, repeated
# keys and great depth are refused, and errors name the same JSON paths; in YAML the same lines too (`yaml_text`).

_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"?' + r"|'[^'\n]*+'?")
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH + 1}}}")
"""A key of so many parts that the library would take the square of their number in time."""


def read_document(path: Path) -> Any:
    """The JSON value of a document: YAML in .yaml and .yml files, TOML in .toml files, JSON in all others.

    Of a .sql file: {"sql": its text}.

    Raises:
        UsageFault: the file cannot be read.
        DocumentError: its text is none of the language.
    """
    return parse_json(document_text(path), path.name, path)


def document_root(path: Path) -> Location:
    """The top of the document."""
    return Location(path.name, file=path)


def document_text(path: Path) -> bytes:
    """The JSON text of a document."""
    data = read_regular_file(path, MAX_BYTES)
    if path.suffix.lower() in _TABLES:
        raise UsageFault(
            f"{str(path)!r} is a table, not a document; it stands without an option: "
            f"dpqr release {shlex.quote(str(path))} --queries FILE"
        )
    as_json = _AS_JSON.get(path.suffix.lower())
    if as_json is None:
        return data
    top = Location(path.name)
    return as_json(_decoded(data, top), top)


def _toml(text: str, top: Location) -> bytes:
    if _DOTTED.search(_QUOTED.sub("q", text)):
        raise top.fault(TOO_DEEP)
    try:
        return msgspec.json.encode(tomllib.loads(text, parse_float=_number))
    except tomllib.TOMLDecodeError as error:
        raise top.fault(f"not TOML: {error}; correct it there") from None
    except RecursionError:
        raise top.fault(TOO_DEEP) from None
    except ValueError:
        raise top.fault(f"a number of more than {MAX_DIGITS} digits; shorten it") from None


def _number(text: str) -> msgspec.Raw:
    """A number as JSON writes it; NaN and the infinities in the words that no JSON may hold."""
    plain = text.replace("_", "").removeprefix("+")
    named = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return msgspec.Raw(named.get(plain, plain).encode())


def _yaml(text: str, top: Location) -> bytes:
    try:
        return yaml_as_json(text).encode()
    except NoYaml as error:
        raise top.fault(str(error)) from None


_TABLES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".duckdb")
"""Endings of tables; no document has one of them."""
_AS_JSON = dict.fromkeys(YAML_ENDINGS, _yaml) | {
    ".toml": _toml,
    ".sql": lambda text, _: msgspec.json.encode({"sql": text}),  # its statements are read once the columns are known
}


# Obvious fixes written into JSON files: only the words at fault change, all other text stays as it is.

_BOM = "\ufeff"


class AppliedFix(Struct, frozen=True, kw_only=True):
    """A fix that was written. before, after: JSON texts; no `after`: the part was removed. line: in the older text."""

    file: Path
    line: int
    path: str
    before: str
    after: str


class _Edit(Struct, frozen=True):
    """`text` in place of the characters from `start` up to `stop`."""

    start: int
    stop: int
    fix: Fix


def write_fixes(faults: Sequence[Fault]) -> list[AppliedFix]:
    """Write the fixes that these faults bring into their files; what was written, file by file.

    Fixes of parts that another one changes wait: the next look at the document finds them again.

    Raises:
        UsageFault: a file cannot be written; it is then as it was. So are all files where a fix is one of a YAML or
            TOML file, whose form would be lost.
    """
    other = next((fault.file for fault in faults if fault.fix and fault.by_hand), None)
    if other is not None:
        raise UsageFault(f"--fix: {other}: fixes are written into JSON files only; correct it by hand, as check says")
    fixable = [fault for fault in faults if fault.file and fault.fix]
    fixable.sort(key=lambda fault: str(fault.file))
    written = []
    for file, group in groupby(fixable, key=lambda fault: fault.file):
        if file:
            text = read_regular_file(file, MAX_BYTES).decode("utf-8")
            top = len(_BOM) * text.startswith(_BOM)
            body, done = text[top:], []
            # In the order of the text, without those that overlap an earlier one.
            edits: list[_Edit] = []
            wanted = _edits(body, [fault.fix for fault in group if fault.fix])
            for edit in sorted(wanted, key=lambda edit: (edit.start, edit.stop)):
                if not edits or edits[-1].stop <= edit.start:
                    edits.append(edit)
            fixed = body
            for edit in reversed(edits):
                fixed = fixed[: edit.start] + edit.fix.text + fixed[edit.stop :]
                before, line = body[edit.start : edit.stop].strip(", \t\r\n"), line_of(body, edit.start)
                done.append(AppliedFix(file=file, line=line, path=edit.fix.path, before=before, after=edit.fix.text))
            if done:
                json.loads(fixed)
                # The file appears whole or stays as it was; of a link, the file behind it.
                target = file.resolve()
                draft = target.with_name(f".{os.getpid()}-{target.name}")
                try:
                    with draft.open("xb") as opened:
                        opened.write((text[:top] + fixed).encode("utf-8"))
                        os.fsync(opened.fileno())
                    shutil.copymode(target, draft)
                    draft.replace(target)
                    sync_directory(target.parent)
                except OSError as error:
                    draft.unlink(missing_ok=True)
                    raise UsageFault(
                        f"--fix: {file} cannot be written ({error.strerror}); choose a writable place"
                    ) from None
            written += done[::-1]
    return written


def _edits(text: str, fixes: Sequence[Fix]) -> Iterator[_Edit]:
    places: Mapping[str, TextSpan] = {}
    with suppress(ValueError, RecursionError):
        json.loads(text)
        places = dict(spans(text))
    for fix in fixes:
        span = places.get(fix.path)
        if span is not None:
            start, stop = (span.key or span.value) if fix.key else span.value
            if not fix.text:
                # An item of a list goes with the comma after it, or the one before it where it is the last.
                outer, _, index = fix.path.rpartition("[")
                number = int(index.rstrip("]"))
                after, before = places.get(member(outer, number + 1)), places.get(member(outer, number - 1))
                start = span.start if after else before.value[1] if before else span.start
                stop = after.start if after else span.value[1]
            yield _Edit(start, stop, fix)
