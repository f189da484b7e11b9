"""dpqr.toml: defaults of options for one directory or repository, so that a job's line is short.

A setting counts as if its option had been typed: whatever refuses the option refuses the setting, a budget's policy
included.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.python.checks import Whole
from dpqr.python.options import Option, PlanCommand, ReleaseCommand, rows
from dpqr.tables.engines.address import is_address, read_address

FILE = "dpqr.toml"


VARIABLE = "DPQR_SETTINGS"
"""Names the file; `none`: no settings."""


LARGEST = 2**16


@cache
def settings_keys() -> Mapping[str, Option]:
    """The options that may be stated, by key, paths first, which are relative to the file.

    Limits, delimiters and count columns are left to a budget's policy.
    """
    from dpqr.python.learning_options import OpenSessionCommand, PredictCommand
    from dpqr.python.owner_options import HumanFields, InitCommand

    found: dict[str, Option] = {}
    for group in (ReleaseCommand, PlanCommand, PredictCommand, OpenSessionCommand, InitCommand, HumanFields):
        for name, row in rows(group).items():
            if row.setting:
                found.setdefault(name.replace("_", "-"), row)
    return dict(sorted(found.items(), key=lambda each: not each[1].file))


class Settings(Struct, frozen=True, kw_only=True):
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
    known = settings_keys()
    for key, value in document.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise DocumentError(f"{shown}: $: unknown key {key[:80]!r}; {hint}")
        kind, words = (int, "a whole number") if isinstance(known[key].check, Whole) else (str, "text in quotes")
        fits = type(value) is kind or (key == "delta" and type(value) is int)
        if not fits or (isinstance(value, str) and not (value and value.isprintable())):
            raise DocumentError(f"{shown}: $.{key}: expected {words}; correct it there")
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


def _placed(path: Path, key: str, value: str | int) -> str | int:
    if key == "delta":
        return str(value)
    if key == "ledger" and is_address(str(value)):
        return read_address(str(value), f"{os.path.relpath(path)}: $.{key}").text
    return os.path.relpath(path.parent / str(value)) if settings_keys()[key].file else value
