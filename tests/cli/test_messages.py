"""What commands say: each file of `messages` is a conversation by topics, compared whole.

    == a title                   a new desk: table.csv, q.json, and what `use` in the head of the file adds
    <name                        a file of it; its lines follow, indented
    ~ link.csv table.csv         a symbolic link; with % a hard one
    ! d.json 0.2 0.1             a file that a command has written, with another text in the place of one
    $ check --queries q.json     a command, and below it what it printed: exit code and standard error,
    > ...                        and standard output; =: the same as the command before
    + budget init ...            a command that must succeed, and is looked at elsewhere
    & DPQR_LEDGER=l.sqlite       a variable of the environment, here or in the head; empty: none
    @release release table.csv   in the head: what the word stands for in the commands below

After a change that was meant: `PYTHONPATH=tests python tests/cli/test_messages.py` writes the files again; then read
the difference. Two things are checked whatever the file says: no command prints a private cell, and a refusal prints no
traceback and no result, says at most two lines of usual length, and changes no file.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli import odd_files
from cli.test_predict import DOMAIN, POINTS, TRAIN
from cli.test_sessions import DOMAIN as COLUMNS
from cli.test_sessions import TABLE as COUNTED
from cli.test_unit import PEOPLE
from support.cases import slow_one
from support.command_desk import PRIVATE, QUERIES, TABLE, Desk

from dpqr.kernel.errors import RESUMABLE, STAYS_SPENT

MESSAGES = Path(__file__).parent / "messages"
DESKS = {
    "documents": odd_files.DOCUMENTS,
    "pairs": odd_files.PAIRS,
    "rules": {f"site/{name}": content for name, content in odd_files.RULES.items()},
    "learners": odd_files.LEARNERS_DESK | {f"site/{name}": content for name, content in odd_files.LEARNERS.items()},
    "tables": odd_files.TABLES,
    "people": {"table.csv": PEOPLE},
    "counter": {"t.csv": COUNTED, "d.json": COLUMNS},
    "shop": {"train.csv": TRAIN, "d.json": DOMAIN, "new.csv": POINTS},
}
"""More files of a desk, by the word behind `use`."""
NOT_COMPARED = (".sqlite", ".anchor", "-wal", "-shm", ".pyc")
"""Endings of files that a refused command may write to: entries of what was paid stay."""


@dataclass(frozen=True)
class Part:
    """A title, and what is done under it: lines of a file without what was printed."""

    topic: str
    title: str
    lines: tuple[str, ...]
    stated: tuple[str, ...]
    words: dict[str, str]
    files: dict[str, object]


def parts(topic):
    """The parts of a topic. The head, before the first of them, stays as it is."""
    head, *rest = re.split(r"^== ", (MESSAGES / f"{topic}.txt").read_text("utf-8"), flags=re.M)
    words = dict(line.split(" ", 1) for line in head.splitlines() if line.startswith("@"))
    stated = tuple(line for line in head.splitlines() if line.startswith("&"))
    files = {
        name: text for line in head.splitlines() if line.startswith("use ") for name, text in DESKS[line[4:]].items()
    }
    for text in rest:
        title, *lines = text.splitlines()
        kept, in_file = [], False
        for line in lines:
            in_file = line.startswith("<") or (in_file and line.startswith("    "))
            if in_file or line.startswith(("$", "+", "&", "~", "%", "!")):
                kept.append(line)
        yield Part(topic, title, tuple(kept), stated, words, files)


def told(part, place):
    """The part as the file has it, with what is printed now. place: its working directory."""
    desk, shown, lines = Desk(place), [f"== {part.title}"], list(part.lines)
    for name, content in {"table.csv": TABLE, "q.json": QUERIES, **part.files}.items():
        desk.put(name, content)
    with installed(place / "site"):
        shown += told_lines(part, desk, lines)
    return "\n".join(shown).replace(os.path.realpath(place), "DESK") + "\n"


@contextmanager
def installed(site):
    """A distribution that lies in this folder of the desk, if there is one."""
    before = set(sys.modules)
    sys.path.insert(0, str(site))
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for name in set(sys.modules) - before:
            if str(site) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def told_lines(part, desk, lines):
    """The lines, with what is printed now."""
    shown, place = [], desk.path
    environment, last = dict.fromkeys(("DPQR_LEDGER", "DPQR_ANCHOR", "DPQR_SETTINGS")), None
    environment |= {name: value or None for name, value in (line[1:].strip().split("=") for line in part.stated)}
    while lines:
        line = lines.pop(0)
        shown.append(line)
        kind, rest = line[0], line[1:].strip()
        if kind == "<":
            content = []
            while lines and lines[0].startswith("    "):
                content.append(lines.pop(0))
            shown += content
            desk.put(rest, "".join(f"{each[4:]}\n" for each in content))
        elif kind in "~%":
            name, target = (place / each for each in rest.split())
            name.symlink_to(target) if kind == "~" else name.hardlink_to(target)
        elif kind == "!":
            name, old, new = rest.split()
            (place / name).write_text((place / name).read_text().replace(old, new))
        elif kind == "&":
            name, _, value = rest.partition("=")
            environment[name] = value or None
        else:
            first, _, more = rest.partition(" ")
            words = f"{part.words.get(first, first)} {more}".replace("DESK", str(place))
            typed = shlex.split(decoded(words))
            before = contents(place)
            ended = desk.run(*typed, env=environment)
            if kind == "+":
                assert ended.code == 0, (line, ended.err)
                continue
            if ended.code and "--fix" not in typed:
                require_refusal(ended, as_json="--json" in typed)
                assert contents(place) == before, line
            assert not [cell for cell in PRIVATE if cell in ended.out + ended.err], line
            said = list(printed(ended))
            shown += ["="] if said == last else said
            last = said
    return shown


def decoded(text):
    r"""The text, in which \x and \u stand for signs that nobody could see."""
    return re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", lambda found: found[0].encode().decode("unicode_escape"), text)


def printed(ended):
    """Exit code and standard error, then standard output; without times, hashes and the number of facts: among these
    are notes, which follow what was drawn."""
    lines = masked(ended.err).splitlines() or [""]
    yield f"{ended.code}   {lines[0]}".rstrip()
    yield from (f"   {line}".rstrip() if line else "" for line in lines[1:])
    yield from (f"> {line}".rstrip() for line in masked(ended.out).splitlines())


def masked(text):
    text = re.sub(r"\b[0-9a-f]{32,64}\b", "HASH", text)
    text = re.sub(r"facts \(\d+ rows\)", "facts (N rows)", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "TIME", text)


def contents(place):
    """Every file but those of a ledger, with its bytes."""
    files = (path for path in place.rglob("*") if path.is_file() and not path.name.endswith(NOT_COMPARED))
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def require_refusal(ended, *, as_json):
    lines = [line for line in ended.err.splitlines() if line not in (STAYS_SPENT, RESUMABLE)]
    lines = [line for line in lines if not line.startswith("dpqr.toml states")]
    assert as_json or ended.out == ""
    assert len(lines) <= 2 or "faults in" in lines[0]
    assert max(map(len, lines)) <= 400
    for hidden in ("Traceback", 'File "'):
        assert hidden not in ended.err + ended.out


TOPICS = sorted(path.stem for path in MESSAGES.glob("*.txt"))
PARTS = [part for topic in TOPICS for part in parts(topic)]


LATER = ("reports", "a file of a release is that release, on either side", "a base that cannot be had", "count columns")
"""Titles whose commands take longest: for the slow run. What they do is tested elsewhere, and here what they say."""


@pytest.mark.parametrize(
    "part",
    [slow_one(part) if part.title in LATER else part for part in PARTS],
    ids=[f"{part.topic}: {part.title}" for part in PARTS],
)
def test_commands_say_what_the_file_has(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (MESSAGES / f"{part.topic}.txt").read_text("utf-8")
    (expected,) = (f"== {each}".rstrip() for each in text.split("\n== ")[1:] if each.startswith(f"{part.title}\n"))
    assert told(part, tmp_path).rstrip() == expected


def keep():
    """Write the files again, or those of the topics that are named."""
    home = os.getcwd()
    for topic in sys.argv[1:] or TOPICS:
        place = MESSAGES / f"{topic}.txt"
        head = re.split(r"^== ", place.read_text("utf-8"), maxsplit=1, flags=re.M)[0]
        said = []
        for part in parts(topic):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                said.append(told(part, Path(folder)))
                os.chdir(home)
        place.write_text(head + "\n".join(said), "utf-8")


if __name__ == "__main__":
    keep()
