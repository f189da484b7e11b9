"""What is no regular file in a release's directory is refused, never waited for; hashes that do not fit are named."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import thinned

import dpqr
from dpqr.python.verify import reprice
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.plan_document import seal_document

READERS = (
    ("verify", "out"),
    ("show", "out"),
    ("show", "out", "--query", "sex"),
    ("reprice", "out"),
    ("report", "out", "--html", "page.html"),
    ("compare", "out", "out"),
)


@pytest.fixture
def released(desk, free_release):
    shutil.copytree(free_release.release, desk.path / "out")
    return desk


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def unix_socket(path):
    listening = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket may be 107 bytes long
    try:
        listening.bind(path.name)
    finally:
        os.chdir(here)
        listening.close()


def link_out(path):
    outside = path.parent.parent / "private.csv"
    outside.write_text("a private line\n")
    path.symlink_to(outside)


def dangling(path):
    path.symlink_to(path.parent / "nothing")


ONE_AFTER_THE_OTHER = """
import json, sys
from dpqr.cli.main import main
codes = []
for command in json.loads(sys.argv[1]):
    sys.argv = ["dpqr", *command]
    try:
        codes.append(main())
    except SystemExit as ended:
        codes.append(ended.code)
print(json.dumps(codes))
"""
KINDS = (pipe, device, unix_socket, link_out, dangling)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((make, "answers.csv") for make in KINDS),
        (pipe, "release.json"),
        (link_out, "more.csv"),
    ],
)
def test_it_is_refused_before_anything_is_opened(released, make, name):
    """In a process of its own with a limit of time: a reader that waits for a pipe would wait for ever."""
    place = released.path / "out" / name
    place.unlink(missing_ok=True)
    make(place)
    commands = READERS if (make, name) == (pipe, "answers.csv") else READERS[:1]
    ran = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(commands)],
        cwd=released.path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(ran.stdout.splitlines()[-1]) == [5] * len(commands)
    assert "a private line" not in ran.stdout + ran.stderr
    assert ran.stderr.count(f"{name}: is a link that leads out of the directory, a pipe") == len(commands)


def test_a_link_within_the_release_is_a_file_of_it(released):
    place = released.path / "out"
    (place / "sub").mkdir()
    shutil.move(place / "answers.csv", place / "sub/answers.csv")
    (place / "answers.csv").symlink_to("sub/answers.csv")
    assert released.run("show", "out").code == 0
    assert released.run("verify", "out").code == 6, "the directory is none of the release"
    (place / "answers.csv").unlink()
    (place / "answers.csv").mkdir()
    assert released.run("verify", "out").code == 6
    ended = released.run("show", "out")
    assert (ended.code, ended.out.startswith("Not verified")) == (0, True), ended.err


def changed_answers(out: Path) -> None:
    (out / "answers.csv").write_text((out / "answers.csv").read_text() + "\n")


def changed_record(out: Path) -> None:
    record = json.loads((out / "release.json").read_text())
    (out / "release.json").write_text(document_text(record | {"purpose": "another"}))


def without_hashes(out: Path) -> None:
    record = json.loads((out / "release.json").read_text())
    (out / "release.json").write_text(document_text(seal_document({k: v for k, v in record.items() if k != "hashes"})))


def without_a_file(out: Path) -> None:
    (out / "synthetic.parquet").unlink()


CHANGES = {
    changed_answers: "answers.csv: was changed since the release was made",
    changed_record: "release.json: was changed after it was written",
    without_hashes: "release.json: states no hashes",
    without_a_file: "synthetic.parquet: cannot be read",
}


def words(text):
    """Without the breaks of lines that a narrow screen makes."""
    return " ".join(text.split())


@pytest.mark.parametrize("change", thinned(CHANGES, 2))
def test_hashes_that_do_not_fit_are_said(released, change):
    place, said = released.path / "out", CHANGES[change]
    assert "ot verified" not in released.run("show", "out").out
    change(place)
    shown = released.run("show", "out")
    assert (shown.code, "Not verified" in shown.out, said in words(shown.out)) == (0, True, True), shown.out
    ended = released.run("show", "out", "--json")
    assert (json.loads(ended.out)["dpqr"], said in words(ended.err)) == ("release/1", True)
    ended = released.run("reprice", "out")
    assert (ended.code, f"Not verified: out/{said}" in words(ended.out)) == (0, True), ended.out
    assert said in json.loads(released.run("reprice", "out", "--json").out)["not_verified"]
    assert said in reprice(place).attrs["not_verified"]
    assert said in words(str(dpqr.read_release("out").receipt))
    if change is changed_record:
        ended = released.run("show", "out", "--query", "prefix(income) by sex")
        assert (ended.code, f"not verified: out/{said}" in words(ended.err)) == (0, True), ended.err
    if change is changed_answers:
        ended = released.run("report", "out", "--html", "page.html")
        assert (ended.code, "not verified: " in ended.err, (released.path / "page.html").exists()) == (3, True, False)


@pytest.mark.slow
@pytest.mark.parametrize("change", [changed_record, without_hashes])
def test_a_report_says_so_too(released, change):
    facts = ("--title", "T", "--curator", "C", "--use", "U", "--region", "R", "--about", "A", "--sector", "Education")
    files = ("--html", "page.html", "--registry", "r.yaml", "--croissant", "card.json", "--author", "me")
    change(released.path / "out")
    ended = released.run("report", "out", *files, *facts, "--date", "2026-01-01")
    assert (ended.code, "not verified" in ended.err) == (0, True), ended.err
    assert "NOT VERIFIED" in (released.path / "page.html").read_text()
    assert (released.path / "r.yaml").read_text().startswith("# Not verified: ")
    assert "dpqr:notVerified" in json.loads((released.path / "card.json").read_text())
