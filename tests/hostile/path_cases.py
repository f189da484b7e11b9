"""Paths: devices, pipes, links and names that are none."""

from __future__ import annotations

import os

from support.refusal_form import Bad


def loop(path):
    """Two links that lead back: a walk that followed them would go on for ever."""
    (path / "tree").mkdir()
    for name in ("a", "b"):
        (path / "tree" / name).symlink_to(path / "tree")


def linked(name, target):
    return lambda path: (path / name).symlink_to(target)


def fifo(name):
    return lambda path: os.mkfifo(path / name)


PATHS = [
    Bad("table-zero", 5, "is no regular file", data="/dev/zero"),
    Bad("table-random", 5, "is no regular file", data="/dev/urandom"),
    Bad("table-full", 5, "is no regular file", data="/dev/full"),
    Bad("table-fifo", 5, "is no regular file", data="f.csv", make=fifo("f.csv")),
    Bad("table-fifo-parquet", 5, "is no regular file", data="f.parquet", make=fifo("f.parquet")),
    Bad("table-with-null", 5, "does not exist or cannot be reached", data="a\0b.csv"),
    Bad("table-without-utf-8", 5, "\\udce9", data="caf\udce9.csv"),
    Bad("table-name-endless", 5, "does not exist or cannot be reached", data="x" * 10**5),
    Bad("table-link-to-itself", 5, "does not exist or cannot be reached", data="l.csv", make=linked("l.csv", "l.csv")),
    Bad("table-link-to-device", 5, "is no regular file", data="l.csv", make=linked("l.csv", "/dev/zero")),
    Bad("pattern-in-a-loop", 5, "no file matches", data="tree/**/*.csv", make=loop),
    Bad("directory-in-a-loop", 5, "holds no table", data="tree", make=loop),
    Bad("pattern-endless", 5, "no file matches", data="[x" * 900),
    Bad("queries-random", 2, "is not a regular file", queries="/dev/urandom"),
    Bad("queries-fifo", 2, "is not a regular file", queries="f.json", make=fifo("f.json")),
    Bad("queries-with-null", 2, "cannot name a file", queries="a\0b"),
    Bad("queries-link-to-itself", 2, "cannot read", queries="l.json", make=linked("l.json", "l.json")),
    Bad("domain-zero", 2, "is not a regular file", options=("--domain", "/dev/zero")),
    Bad("domain-with-null", 2, "cannot name a file", options=("--domain", "a\0b")),
    Bad(
        "out-link",
        2,
        "is a symbolic link",
        options=("--out", "l", "--if-exists", "replace"),
        make=linked("l", "elsewhere"),
    ),
    Bad("out-device", 2, "is no directory", options=("--out", "/dev/null")),
    Bad("out-full", 2, "is no directory", options=("--out", "/dev/full")),
    Bad("out-full-by-force", 2, "is no directory", options=("--out", "/dev/full", "--if-exists", "replace")),
    Bad("out-below-a-device", 2, "--out /dev/full/out", options=("--out", "/dev/full/out")),
    Bad("out-beyond-the-root", 8, "--out", options=("--out", "../" * 99)),
    Bad("out-below-a-fifo", 2, "--out f/out", options=("--out", "f/out"), make=fifo("f")),
    Bad("out-link-to-nothing", 2, "is a symbolic link", options=("--out", "l"), make=linked("l", "nowhere")),
    Bad("out-link-to-a-device", 2, "is a symbolic link", options=("--out", "l"), make=linked("l", "/dev/full")),
    Bad("out-link-to-itself", 2, "is a symbolic link", options=("--out", "l"), make=linked("l", "l")),
    Bad("out-path-endless", 2, "--out", options=("--out", "x/" * 5000 + "out")),
    Bad("out-device-by-force", 2, "is no directory", options=("--out", "/dev/null", "--if-exists", "replace")),
    Bad("out-fifo-by-force", 2, "is no directory", options=("--out", "f", "--if-exists", "replace"), make=fifo("f")),
    Bad("out-with-null", 2, "give the name of a directory", options=("--out", "a\0b")),
    Bad("out-in-proc", 2, "cannot be written", options=("--out", "/proc/release")),
    Bad("out-dots", 8, "--out ..", options=("--out", "..")),
    Bad("out-dot-by-force", 2, "holds no dpqr release", options=("--out", ".", "--if-exists", "replace")),
    Bad("out-below-a-link-to-itself", 2, "--out l/out", options=("--out", "l/out"), make=linked("l", "l")),
    Bad(
        "out-record-forged",
        2,
        "which is not part of the release",
        options=("--out", "o", "--if-exists", "replace"),
        files={
            "o/release.json": {"dpqr": "release/1", "files": ["../../table.csv"], "hashes": {"../../table.csv": "0"}},
            "o/table.csv": "x",
        },
    ),
    Bad(
        "out-record-fifo",
        2,
        "holds no dpqr release",
        options=("--out", "o", "--if-exists", "replace"),
        files={"o/a": "x"},
        make=fifo("o/release.json"),
    ),
    Bad(
        "out-record-deep",
        2,
        "holds no dpqr release",
        options=("--out", "o", "--if-exists", "replace"),
        files={"o/release.json": lambda: "[" * 10**5},
    ),
    Bad(
        "out-record-linked",
        2,
        "holds no dpqr release",
        options=("--out", "o", "--if-exists", "replace"),
        files={"o/a": "x"},
        make=linked("o/release.json", "../q.json"),
    ),
]
