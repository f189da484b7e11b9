"""What every refusal must look like, whatever it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dpqr.kernel.errors import STAYS_SPENT
from support.command_desk import DOMAIN, PRIVATE, QUERIES


@dataclass(frozen=True)
class Bad:
    """One mistake. says: words that the message must hold; files: written over the desk's before the run; make: given
    the desk's directory, makes there what no file can be."""

    name: str
    code: int
    says: str
    options: tuple[str, ...] = ()
    eps: str = "1"
    data: str = "table.csv"
    queries: str = "q.json"
    stdin: str | bytes | None = None
    files: dict[str, Any] = field(default_factory=dict)
    make: Callable[[Path], Any] | None = None


def each(cases):
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def refused(desk, case, *more):
    """Run the case and hold its ending to the rules: code, one or two lines, nothing private, nothing left behind. How
    it ended."""
    for name, content in case.files.items():
        desk.put(name, content)
    if case.make:
        case.make(desk.path)
    before = desk.everything()
    out = () if "--out" in case.options else ("--out", "out")
    ended = desk.release(
        *out, *case.options, *more, data=case.data, queries=case.queries, eps=case.eps, stdin=case.stdin
    )
    assert_refusal(ended, case.code, case.says)
    assert desk.everything() == before
    return ended


def assert_refusal(ended, code, says):
    """A refusal of a run that has paid says so in one line more."""
    lines = ended.err.removesuffix(f"{STAYS_SPENT}\n").splitlines()
    assert ended.code == code, ended.err
    assert says in ended.err
    assert lines[0].startswith("dpqr: ")
    assert len(lines) <= 2
    assert max(map(len, lines)) <= 400
    assert ended.out == ""
    for hidden in ("Traceback", 'File "', *PRIVATE):
        assert hidden not in ended.err


def domain(**changes):
    """The desk's domain with one column's field changed: domain(age={"dpqr": {...}})."""
    return {"malformed": "drop", "fields": [{**each, **changes.get(each["name"], {})} for each in DOMAIN["fields"]]}


def malformed(name, content, file="table.csv", options=()):
    """A table with a row that cannot be read, over a domain with the rule `fail` for such rows."""
    files = {file: content, "q.json": {**QUERIES, "domain": domain() | {"malformed": "fail"}}}
    return Bad(name, 5, "the rule is 'fail' for: malformed", data=file, options=options, files=files)


def asking(*entries, **top):
    """A queries file with these entries."""
    return {**QUERIES, "queries": list(entries), **top}
