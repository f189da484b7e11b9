"""An attempt to learn something of a private table for free, and all that it sees on one of its tables."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.command_desk import Desk

LEDGER = ("--ledger", "l.sqlite")
PAYER = ("--dataset", "survey", *LEDGER)
CHANCE = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b\d{4}-\d\d-\d\dT[\d:]{8}[+\d:]*")
"""What differs between any two runs: seals, digests and names of ledgers; times."""

Step = tuple[str, ...] | Callable[[Desk], None]
"""A command line, DATA for the table, or a change of the desk between two commands."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One of the tables. name: of its file, or - for standard input; of a directory, where there are parts.

    content: its bytes; None: it is not there. parts: tables in a directory.
    """

    name: str
    content: bytes | None = None
    parts: tuple[Table, ...] = ()

    def lay(self, desk: Desk) -> None:
        """Put it on the desk."""
        if self.content is not None and self.name != "-":
            desk.put(self.name, self.content)
        for number, part in enumerate(self.parts):
            desk.put(f"{self.name}/{number}.{part.name}", part.content)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to ask.

    learns: what of the table. tables: alike but for that. steps: in their order, on each of the tables. budget: options
    of `budget init`; None: there is no ledger. policy: options of `budget policy`, once the table is there. files:
    documents by name. changes: (target, value) pairs for monkeypatch, that make a small table do for a large one.
    codes: how the commands end on the first table; one for all. unopened: where there is no table, they must end alike.
    bit: words that announce the one bit by which runs may differ, in plan and receipt; none for a guard that the
    program itself has fixed. None: nothing may differ.
    """

    name: str
    learns: str
    tables: tuple[Table, ...]
    steps: tuple[Step, ...]
    budget: tuple[str, ...] | None = ("--eps", "100")
    policy: tuple[str, ...] = ()
    files: dict[str, Any] = field(default_factory=dict)
    changes: tuple[tuple[str, object], ...] = ()
    codes: tuple[int, ...] = (0,)
    unopened: bool = False
    bit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that somebody sees who may ask, and read what is left behind; but for paid outputs.

    ended: code, stdout and stderr of every command. files: mode, size and content by name. ledger: its entries and
    balances in words. reserved: the cost of every reservation, of which a release may give back what it has not drawn.
    refunds: what was given back to runs that did not end with a release.
    """

    ended: tuple[tuple[int, str, str], ...]
    files: dict[str, tuple[int, int, bytes]]
    ledger: tuple[str, ...]
    reserved: tuple[str, ...]
    refunds: tuple[str, ...]

    @property
    def all(self) -> tuple[object, ...]:
        return self.ended, self.files, self.ledger


def seen(attempt: Attempt, table: Table, path: Path) -> Seen:
    """Try it on one table. path: an empty directory, which becomes the working directory."""
    path.mkdir()
    os.chdir(path)
    desk = Desk(path)
    for name, content in attempt.files.items():
        desk.put(name, content)
    table.lay(desk)
    if attempt.budget is not None:
        desk.put(LEDGER[1], opened(attempt.budget))
    if attempt.policy:
        done = desk.run("budget", "policy", PAYER[1], *attempt.policy, *LEDGER)
        assert done.code == 0, done.err
    given, ended = desk.everything(), []
    for step in attempt.steps:
        if callable(step):
            step(desk)
            continue
        given_in = table.content if table.name == "-" else None
        done = desk.run(*(table.name if word == "DATA" else word for word in step), stdin=given_in)
        ended.append((done.code, _masked(done.out), _masked(done.err.replace(str(path), "."))))
    made = {name: _file(path / name) for name in sorted(desk.everything() - given)}
    return Seen(ended=tuple(ended), files=made, **_ledger(desk, attempt))


@cache
def opened(budget: tuple[str, ...]) -> bytes:
    """A ledger with one budget, before anything is paid: what tables have in common is made once."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / LEDGER[1]
        done = Desk(Path(folder)).run("budget", "init", "survey", *budget, "--ledger", str(place))
        assert done.code == 0, done.err
        return place.read_bytes()


def _masked(text: str) -> str:
    return CHANCE.sub("*", text)


def _file(path: Path) -> tuple[int, int, bytes]:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        return status.st_mode, 0, b""
    content = b"" if path.suffix == ".sqlite" else path.read_bytes()  # entries are compared, seals are chance
    with suppress(UnicodeDecodeError):
        content = _masked(content.decode()).encode()
    return status.st_mode, status.st_size, content


def _ledger(desk: Desk, attempt: Attempt) -> dict[str, tuple[str, ...]]:
    """Entries, balance, history and size of the ledger, and what it has refunded."""
    if attempt.budget is None:
        return {"ledger": (), "reserved": (), "refunds": ()}
    shown = [desk.run("budget", *words, *LEDGER).out for words in (("export",), ("show", "survey"), ("history",))]
    entries = [json.loads(line)["entry"] for line in shown[0].splitlines()]
    reserved = {entry["number"]: entry["cost"] for entry in entries if entry["entry"] == "reserve"}
    settled = {entry["settles"]: entry for entry in entries if entry["entry"] == "settle"}
    refunds = tuple(
        f"entry {number} paid {reserved[number]} and was settled at {entry['cost']}"
        for number, entry in settled.items()
        if entry["note"] != "released" and entry["cost"] != reserved[number]
    )
    size = str((desk.path / "l.sqlite").stat().st_size)
    return {"ledger": (*map(_masked, shown), size), "reserved": tuple(reserved.values()), "refunds": refunds}
