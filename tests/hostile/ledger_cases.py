"""Ledgers, anchors and transcripts that are not what they should be, and budgets that do not suffice."""

from __future__ import annotations

import sqlite3

from hostile.path_cases import fifo, linked
from support.refusal_form import Bad


def other_database(path):
    connection = sqlite3.connect(path / "l.sqlite")
    connection.execute("CREATE TABLE entries (number INTEGER)")
    connection.commit()
    connection.close()


def ledger(name, code, says, dataset="survey", **more):
    return Bad(name, code, says, options=("--ledger", "l.sqlite", "--dataset", dataset), **more)


LEDGER = [
    ledger("missing", 2, "there is no ledger"),
    ledger("noise", 7, "l.sqlite", files={"l.sqlite": bytes(range(256)) * 40}),
    ledger("empty", 2, "has no budget in this ledger", files={"l.sqlite": b""}),
    ledger("header-only", 7, "l.sqlite", files={"l.sqlite": b"SQLite format 3\0" + bytes(84)}),
    ledger("of-another-program", 7, "l.sqlite", make=other_database),
    ledger("directory", 2, "is no regular file", files={"l.sqlite/a": "x"}),
    ledger("fifo", 2, "is no regular file", make=fifo("l.sqlite")),
    ledger("link-to-device", 2, "is a symbolic link", make=linked("l.sqlite", "/dev/zero")),
    ledger("link-to-itself", 2, "is a symbolic link", make=linked("l.sqlite", "l.sqlite")),
    Bad("ledger-device", 2, "is no regular file", options=("--ledger", "/dev/null", "--dataset", "survey")),
    Bad("with-null", 2, "ledger", options=("--ledger", "a\0b", "--dataset", "survey")),
    Bad("name-endless", 2, "ledger", options=("--ledger", "x" * 10**4, "--dataset", "survey")),
    Bad("dataset-unknown", 2, "known: survey", options=("--dataset", "census")),
    Bad("dataset-empty", 2, "dataset", options=("--dataset", "")),
    Bad("dataset-up", 2, "dataset", options=("--dataset", "../survey")),
    Bad("dataset-with-null", 2, "dataset", options=("--dataset", "a\0b")),
    Bad("dataset-endless", 2, "dataset", options=("--dataset", "x" * 10**5)),
    Bad("dataset-of-sql", 2, "dataset", options=("--dataset", "'; DROP TABLE entries; --")),
    Bad("budget-too-small", 4, "the largest request that fits", options=("--dataset", "survey"), eps="950"),
    Bad(
        "neighbours-of-another-kind",
        4,
        "neighbours",
        options=("--dataset", "survey", "--neighbours", "replace", "--n", "5"),
    ),
    Bad("anchor-noise", 7, "anchor", options=("--dataset", "survey", "--anchor", "a"), files={"a": bytes(range(256))}),
    Bad(
        "anchor-endless",
        7,
        "anchor",
        options=("--dataset", "survey", "--anchor", "a"),
        files={"a": lambda: "x" * 10**7},
    ),
    Bad("anchor-fifo", 2, "is no regular file", options=("--dataset", "survey", "--anchor", "f"), make=fifo("f")),
    Bad("resume-of-nothing", 2, "no killed release waits there", options=("--dataset", "survey", "--resume")),
    Bad("transcript-fifo", 2, "transcript", options=("--dataset", "survey"), make=fifo(".out.transcript")),
    Bad(
        "transcript-fifo-to-resume",
        2,
        "transcript",
        options=("--dataset", "survey", "--resume"),
        make=fifo(".out.transcript"),
    ),
    Bad(
        "transcript-endless-to-resume",
        2,
        "transcript",
        options=("--dataset", "survey", "--resume"),
        make=linked(".out.transcript", "/dev/zero"),
    ),
    Bad("transcript-link", 2, "transcript", options=("--dataset", "survey"), make=linked(".out.transcript", "q.json")),
    Bad(
        "resume-over-a-record-that-is-a-fifo",
        8,
        "--resume: o is not known to be the release of ",
        options=("--dataset", "survey", "--resume", "--out", "o"),
        files={".o.transcript": "{}\n", "o/answers.csv": ""},
        make=fifo("o/release.json"),
    ),
    Bad("transcript-directory", 2, "transcript", options=("--dataset", "survey"), files={".out.transcript/a": "x"}),
    Bad(
        "transcript-noise",
        7,
        "is damaged or was edited",
        options=("--dataset", "survey", "--resume"),
        files={".out.transcript": bytes(99) + b"\n"},
    ),
]
