"""An attempt to learn something of a private table for free, what it saw on each of several tables, and the verdict.

What is paid for is taken out of the comparison at the gate: every draw is made on an empty table, with fixed noise. So
all else must be equal to the byte, on any two tables: exit codes, messages, progress, names, sizes, modes and contents
of files, the ledger's entries and balances.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from desk import Desk

LEDGER = ("--ledger", "l.sqlite")
PAYER = ("--dataset", "survey", *LEDGER)
STAYS_PAID = "the reserved budget stays spent"
CHANCE = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b\d{4}-\d\d-\d\dT[\d:]{8}[+\d:]*")
"""What differs between any two runs: seals, digests and names of ledgers; times."""

Step = tuple[str, ...] | Callable[[Desk], None]
"""A command line, DATA for the table, or a change of the desk between two commands."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One of the tables. name: of its file, or - for standard input. content: its bytes; None: it is not there."""

    name: str
    content: bytes | None

    def lay(self, desk: Desk) -> None:
        """Put it on the desk."""
        if self.content is not None and self.name != "-":
            desk.put(self.name, self.content)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to ask.

    learns: what of the table. tables: alike but for that. steps: in their order, on each of the tables. budget: options
    of `budget init`; None: there is no ledger. files: documents by name. changes: (target, value) pairs for
    monkeypatch, that make a small table do for a large one.
    codes: how the commands end on the first table; one for all. unopened: where there is no table, they must end alike.
    bit: words that announce the one bit by which runs may differ, in plan and receipt; none for a guard that the
    program itself has fixed. None: nothing may differ.
    """

    name: str
    learns: str
    tables: tuple[Table, ...]
    steps: tuple[Step, ...]
    budget: tuple[str, ...] | None = ("--eps", "100")
    files: dict[str, Any] = field(default_factory=dict)
    changes: tuple[tuple[str, object], ...] = ()
    codes: tuple[int, ...] = (0,)
    unopened: bool = False
    bit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that somebody sees who may ask, and read what is left behind; but for paid outputs.

    ended: code, stdout and stderr of every command. files: mode, size and content by name. ledger: its entries and
    balances in words. refunds: what a settlement has given back to runs that did not end with a release.
    """

    ended: tuple[tuple[int, str, str], ...]
    files: dict[str, tuple[int, int, bytes]]
    ledger: tuple[str, ...]
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
        opened = desk.run("budget", "init", "survey", *attempt.budget, *LEDGER)
        assert opened.code == 0, opened.err
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


def leak(attempt: Attempt, path: Path) -> str | None:
    """What the attempt learns for free, in a sentence; None: nothing.

    Free is what differs between tables, unless it is one bit that is announced, and paid for in full where a ledger
    pays.
    """
    tables = [*attempt.tables, *([Table(name=attempt.tables[0].name, content=None)] if attempt.unopened else [])]
    found = [seen(attempt, table, path / str(place)) for place, table in enumerate(tables)]
    other = next((each for each in found if each.all != found[0].all), None)
    if other is None or attempt.bit is not None:
        ended = tuple(code for code, _, _ in found[0].ended)
        assert ended in (attempt.codes, len(ended) * attempt.codes), f"{attempt.name} asks otherwise: {found[0].ended}"
    if other is None:
        assert attempt.bit is None, f"{attempt.name} announces a bit that is none"
        return None
    told = f"{attempt.learns}: {_difference(found[0], other)}"
    if attempt.bit is None:
        return told
    if len({repr(each.all) for each in found}) > 2:
        return f"more than one bit of {told}"
    return _unpaid(found, told) or _unannounced(attempt, found, path, told)


def _unpaid(found: list[Seen], told: str) -> str | None:
    refunds = [refund for each in found for refund in each.refunds]
    if refunds:
        return f"refunded ({refunds[0]}), {told}"
    return None


def _unannounced(attempt: Attempt, found: list[Seen], path: Path, told: str) -> str | None:
    """A sentence unless the bit is named wherever it must be."""
    assert attempt.bit is not None
    bit = attempt.bit
    for each in found:
        for code, _, err in each.ended:
            if attempt.budget is not None and code == 5 and STAYS_PAID not in err:
                return f"the message does not say that the budget stays spent: {err!r}, {told}"
            if code == 0 and bit not in _words(err):
                return f"the receipt does not announce it: {told}"
    desk = Desk(path / "0")
    os.chdir(desk.path)
    planned = desk.run(*_planned(attempt))
    if bit not in _words(planned.out):
        return f"the plan does not announce it: {told} {planned.out} {planned.err}"
    return None


def _planned(attempt: Attempt) -> list[str]:
    """The first command as a dry run; of a table that is not there."""
    first = next(step for step in attempt.steps if not callable(step))
    return [*("absent.csv" if word == "DATA" else word for word in first), "--dry-run"]


def _words(text: str) -> str:
    return " ".join(text.split())


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
        return {"ledger": (), "refunds": ()}
    shown = [desk.run("budget", *words, *LEDGER).out for words in (("export",), ("show", "survey"), ("history",))]
    entries = [json.loads(line)["entry"] for line in shown[0].splitlines()]
    paid = {entry["number"]: entry["cost"] for entry in entries if entry["entry"] == "reserve"}
    refunds = tuple(
        f"entry {entry['settles']} paid {paid[entry['settles']]} and was settled at {entry['cost']}"
        for entry in entries
        if entry["entry"] == "settle" and entry["note"] != "released" and entry["cost"] != paid[entry["settles"]]
    )
    size = str((desk.path / "l.sqlite").stat().st_size)
    return {"ledger": (*map(_masked, shown), size), "refunds": refunds}


def _difference(first: Seen, other: Seen) -> str:
    """The first thing in which they differ."""
    for one, two in zip(first.ended, other.ended, strict=True):
        for what, left, right in zip(("exit codes", "standard output", "standard error"), one, two, strict=True):
            if left != right:
                return f"{what}: {_lines(str(left), str(right))}"
    for name in sorted({*first.files, *other.files}):
        left, right = first.files.get(name), other.files.get(name)
        if left != right:
            return f"the file {name}: {left!r:.300} or {right!r:.300}"
    return f"the ledger: {_lines(' '.join(first.ledger), ' '.join(other.ledger))}"


def _lines(left: str, right: str) -> str:
    pairs = zip_longest(left.splitlines(), right.splitlines())
    return next(f"{one!r} or {two!r}" for one, two in pairs if one != two)
