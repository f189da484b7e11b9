"""dpqr.toml: defaults of options for one directory or repository, so that a job's line is short.

A setting counts as if its option had been typed: whatever refuses the option refuses the setting, a budget's policy
included.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dpqr.kernel.errors import AlreadyThere, DocumentError, UsageFault
from dpqr.ledger.refusals import require_name
from dpqr.releases.documents import DomainRequest, domain_file, write_new
from dpqr.tables.engines.address import is_address, read_address

FILE = "dpqr.toml"
VARIABLE = "DPQR_SETTINGS"
"""Names the file; `none`: no settings."""
LARGEST = 2**16
KEYS: dict[str, type] = {
    "queries": str,
    "domain": str,
    "ledger": str,
    "dataset": str,
    "delta": str,
    "neighbours": str,
    "n": int,
    "unit": str,
    "max-rows": int,
    "error-bars": str,
    "certify": str,
    "purpose": str,
    "by": str,
    "publisher": str,
    **dict.fromkeys(("title", "curator", "use", "region", "about", "sector", "author"), str),
}
"""What may be stated. Limits, delimiters and count columns are left to a budget's policy."""
PATHS = ("queries", "domain", "ledger")
"""Relative to the file."""
_WORDS = {str: "text in quotes", int: "a whole number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a file. values: by option, without its dashes; paths are relative to the working directory."""

    file: str
    values: Mapping[str, str | int]


def find_settings(start: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The nearest dpqr.toml from `start` upwards, as far as the top of its repository (where .git is).

    Outside of a repository only `start` is looked at: a file further up may be anybody's.
    """
    named = environment.get(VARIABLE)
    if named:
        return None if named == "none" else Path(named)
    folders = [start, *start.parents]
    top = next((place for place, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return next((folder / FILE for folder in folders[: top + 1] if os.path.lexists(folder / FILE)), None)


def read_settings(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read a settings file.

    Raises:
        UsageFault: it cannot be read, or belongs to another user and was found rather than named. Whoever wrote it
            would choose this user's documents, ledger and privacy unit.
        DocumentError: it is no settings file.
    """
    shown = os.path.relpath(path)
    document = _parsed(path, shown, None if environment.get(VARIABLE) else _trusted(environment))
    for key, value in document.items():
        _require(key, value, shown)
    return Settings(file=shown, values={key: _placed(path, key, value) for key, value in document.items()})


def _trusted(environment: Mapping[str, str]) -> frozenset[int] | None:
    """The users whose files are taken: this one, the one that called sudo, and root. None: the system knows none."""
    if not hasattr(os, "geteuid"):
        return None
    caller = environment.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return frozenset({0, os.geteuid(), *([int(caller)] if caller.isdecimal() else [])})


def _parsed(path: Path, shown: str, trusted: frozenset[int] | None) -> dict[str, Any]:
    try:
        return tomllib.loads(_content(path, shown, trusted).decode("utf-8"), parse_float=str)  # delta is exact text
    except OSError as error:
        raise UsageFault(f"{shown}: cannot be read ({error.strerror}); {VARIABLE}=none does without it") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "no UTF-8, or nested too deep"
        raise DocumentError(f"{shown}: $: is no TOML: {reason}; correct it there") from None


def _content(path: Path, shown: str, trusted: frozenset[int] | None) -> bytes:
    """The bytes of a regular file. Of a link, both it and the file must belong to trusted users."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise UsageFault(f"{shown}: is no regular file of at most {LARGEST} bytes; {VARIABLE}=none does without it")
        if trusted is not None and not {status.st_uid, path.lstat().st_uid} <= trusted:
            raise UsageFault(
                f"{shown}: belongs to another user, whose settings are not taken unasked\n"
                f"{VARIABLE}={shown} takes them, {VARIABLE}=none does without"
            )
        return os.read(descriptor, LARGEST)
    finally:
        os.close(descriptor)


def _require(key: str, value: Any, shown: str) -> None:
    """DocumentError unless the key is known and its value of the right kind."""
    if key not in KEYS:
        near = get_close_matches(key, KEYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(KEYS)}"
        raise DocumentError(f"{shown}: $: unknown key {key[:80]!r}; {hint}")
    kind = KEYS[key]
    fits = type(value) is kind or (key == "delta" and type(value) is int)
    if not fits or (isinstance(value, str) and not (value and value.isprintable())):
        raise DocumentError(f"{shown}: $.{key}: expected {_WORDS[kind]}; correct it there")


def _placed(path: Path, key: str, value: str | int) -> str | int:
    if key == "delta":
        return str(value)
    if key == "ledger" and is_address(str(value)):
        return read_address(str(value), f"{os.path.relpath(path)}: $.{key}").text
    return os.path.relpath(path.parent / str(value)) if key in PATHS else value


# Start a project: settings, a domain file and a queries file to fill in.

DOMAIN, QUERIES = "domain.json", "queries.json"
EXAMPLE = ("age=integer", "sex=string", "interview_date=date")
"""Columns of a domain file that is made for no table."""
_SETTINGS = """\
# Defaults of dpqr's commands in this directory; an option on the command line comes first (dpqr guide settings).
domain = "{domain}"
queries = "{queries}"

# Whose budget pays for every release, and where its ledger lies (dpqr guide ledger):
{dataset}
# ledger = "budgets.sqlite"

# Protect persons, not rows: which column says whose row it is, and how many rows of each are used.
# unit = "person_id"
# max-rows = 3

# Delta of every release; without it, privacy is pure.
# delta = 1e-9
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProject:
    """The paths of the files of a new project, and what there is to say of its domain."""

    paths: tuple[str, ...]
    remarks: tuple[str, ...]


def start(directory: str, asked: DomainRequest, dataset: str | None) -> NewProject:
    """Write dpqr.toml, domain.json and queries.json into `directory`.

    Args:
        directory: is made where it is missing; its parent is not.
        asked: what the domain file is made from; where it names no columns, those of an example.
        dataset: its name in the ledger; None: left to fill in.

    Raises:
        AlreadyThere: one of the files exists; none is written then.
        DpqrError: as `domain_file` raises it.

    Privacy:
        Of the table its column names and types are read, never a value.
    """
    stated = f'dataset = "{require_name(dataset)}"' if dataset is not None else '# dataset = "survey"'
    named = asked.data is not None or asked.codebooks or asked.types
    made = domain_file(asked if named else replace(asked, types=EXAMPLE))
    domain = made.content
    assert isinstance(domain, dict), "no other form is asked for"
    texts = {
        FILE: _SETTINGS.format(domain=DOMAIN, queries=QUERIES, dataset=stated),
        DOMAIN: _document_text(domain),
        QUERIES: _document_text(_queries(len(domain["fields"]))),
    }
    return NewProject(paths=write_files(directory, texts), remarks=made.remarks)


def write_files(directory: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Write new files into a directory, which is made where it is missing; their paths.

    Raises: AlreadyThere where one of them exists; none is written then. UsageFault.
    """
    paths = {os.path.normpath(os.path.join(directory, name)): text for name, text in texts.items()}
    there = next(filter(os.path.lexists, paths), None)
    if there is not None:
        raise AlreadyThere(f"{there}: the file exists; choose another directory, or move it away")
    _make(directory)
    for path, text in paths.items():
        write_new(path, text)
    return tuple(paths)


def _make(directory: str) -> None:
    try:
        Path(directory).mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no name"
        raise UsageFault(f"{directory}: cannot be made ({reason}); choose a writable place") from None


def _queries(columns: int) -> dict[str, Any]:
    """The number of records, every column by itself, and every pair of columns."""
    pairs = [{"marginals": {"ways": 2}}] if columns > 1 else []
    return {
        "dpqr": "queries/1",
        "queries": [{"name": "records", "marginal": []}, {"marginals": {"ways": 1}}, *pairs],
    }


def _document_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
