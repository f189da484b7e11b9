import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.releases.files import atomic as module
from dpqr.releases.files.atomic import _job, _machine, read_record, reserve, reserve_file


def record_of(**texts):
    """The record of a release with these files."""
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return json.dumps({"dpqr": "release/1", "files": list(hashes), "hashes": hashes})


def publish(target, text="new"):
    with target.filled() as place:
        (place / "answers.csv").write_text(text)
        (place / "release.json").write_text(record_of(**{"answers.csv": text}))


def contents(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


@pytest.fixture
def older(tmp_path):
    publish(reserve(str(tmp_path / "out")), "old")
    return tmp_path / "out"


def refusal(given, *, force=False):
    with pytest.raises(UsageFault) as refused:
        reserve(str(given), force=force)
    return str(refused.value)


def test_a_release_appears_with_all_its_files_and_nothing_beside_it(tmp_path):
    target = reserve(str(tmp_path / "out"))
    assert contents(tmp_path) == []
    with target.filled() as place:
        (place / "release.json").write_text("{}")
        assert not (tmp_path / "out").exists()
    assert contents(tmp_path) == ["out", "out/release.json"]


def test_a_relative_path_stays_where_it_was_reserved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = reserve("out")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    publish(target)
    assert (tmp_path / "out" / "answers.csv").read_text() == "new"


@pytest.mark.parametrize("fault", [ValueError("x"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_run_that_fails_while_it_writes_leaves_nothing(tmp_path, fault):
    target = reserve(str(tmp_path / "out"))

    def fail():
        with target.filled() as place:
            (place / "answers.csv").write_text("half")
            raise fault

    expected = UsageFault if isinstance(fault, OSError) else type(fault)
    with pytest.raises(expected) as raised:
        fail()
    assert contents(tmp_path) == []
    if isinstance(fault, OSError):
        assert str(raised.value) == (
            f"--out {tmp_path / 'out'}: cannot be written (No space left on device); choose a writable place"
        )


def test_a_run_that_fails_leaves_the_older_release_as_it_was(older):
    target = reserve(str(older), force=True)
    with pytest.raises(ZeroDivisionError), target.filled():
        raise ZeroDivisionError
    assert (older / "answers.csv").read_text() == "old"
    assert contents(older.parent) == ["out", "out/answers.csv", "out/release.json"]


@pytest.mark.parametrize("instant", ["write", "publish"])
def test_a_run_that_is_killed_leaves_no_release_and_the_next_one_succeeds(tmp_path, instant):
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from dpqr.releases.files.atomic import reserve\n"
        "def die(*ignored): os.kill(os.getpid(), signal.SIGKILL)\n"
        "target = reserve(sys.argv[1])\n"
        "if sys.argv[2] == 'publish': Path.rename = die\n"
        "with target.filled() as place:\n"
        "    (place / 'answers.csv').write_text('half')\n"
        "    if sys.argv[2] == 'write': die()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out"), instant], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    assert [re.fullmatch(r"\.out\.\w+-\d+-0\.draft", name.name) is not None for name in tmp_path.iterdir()] == [True]
    publish(reserve(str(tmp_path / "out")))
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out" / "answers.csv").read_text() == "new"


def test_leftovers_of_the_same_process_number_are_passed_over(tmp_path):
    draft = tmp_path / f".out.{_job()}0.draft"
    draft.mkdir()
    (draft / "half").touch()
    publish(reserve(str(tmp_path / "out")))
    assert (tmp_path / "out" / "answers.csv").exists()


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_drafts_of_killed_jobs_of_this_machine_and_name_are_removed_and_no_others(tmp_path, dead):
    mine, here = f"{_machine()}-{dead}", _machine()
    gone = [f".out.{mine}-0.draft", f".out.{mine}-1.draft", f".a.csv.{mine}-ab_c.draft"]
    kept = [
        f".out.{here}-{os.getpid()}-7.draft",
        f".out.{here}-{os.getppid()}-0.draft",
        f".out.01234567-{dead}-0.draft",
        f".out.{dead}-0.draft",  # of an earlier version, which named no machine
        f".out.x.{mine}-0.draft",
        f".more.{mine}-0.draft",
        f".out.{mine}-0.replaced",
        f".out.{mine}-0.0.finished",
    ]
    for name in (*gone, *kept):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").touch()
    (tmp_path / f".out.{mine}-2.draft").symlink_to(tmp_path / kept[0])
    (tmp_path / f".out.{mine}-3.draft").touch()
    reserve(str(tmp_path / "out"))
    reserve_file(str(tmp_path / "a.csv"))
    left = {*kept, f".out.{mine}-2.draft", f".out.{mine}-3.draft"}
    assert set(os.listdir(tmp_path)) == left
    assert (tmp_path / kept[0] / "half").exists()


def test_nothing_is_removed_where_the_machine_cannot_be_told(tmp_path, dead, monkeypatch):
    monkeypatch.setattr(module, "_machine", lambda: "0")
    (tmp_path / f".out.0-{dead}-0.draft").mkdir()
    reserve(str(tmp_path / "out"))
    assert os.listdir(tmp_path) == [f".out.0-{dead}-0.draft"]


def test_a_finished_release_that_found_its_place_taken_outlives_its_job(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from dpqr.kernel.errors import UsageFault\n"
        "from dpqr.releases.files.atomic import reserve, reserve_file\n"
        "targets = reserve('out'), reserve('out'), reserve_file('a.csv')\n"
        "Path('out').mkdir(); Path('out', 'theirs').touch(); Path('a.csv').touch()\n"
        "for target in targets[:2]:\n"
        "    try:\n"
        "        with target.filled() as place: (place / 'release.json').touch()\n"
        "    except UsageFault as fault: print(str(fault).split(repr(str(Path.cwd()))[1:-1])[-1][1:-1])\n"
        "try: targets[2].write(lambda path: path.touch())\n"
        "except UsageFault as fault: print(str(fault).split(str(Path.cwd()))[-1][1:])\n"
    )
    named = subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, text=True, capture_output=True)
    for path in (tmp_path / "out", tmp_path / "a.csv"):
        path.rename(path.with_name(f"moved-{path.name}"))
    reserve(str(tmp_path / "out"))
    reserve_file(str(tmp_path / "a.csv"))
    kept = named.stdout.split()
    assert len(set(kept)) == 3
    assert all((tmp_path / name).exists() and ".finished" in name for name in kept), kept


def test_everything_is_synced_before_it_is_renamed(tmp_path, monkeypatch):
    deeds = []
    sync, rename = os.fsync, Path.rename
    monkeypatch.setattr(
        os, "fsync", lambda number: (deeds.append(os.readlink(f"/proc/self/fd/{number}")), sync(number))
    )
    monkeypatch.setattr(Path, "rename", lambda here, there: (deeds.append("rename"), rename(here, there))[1])
    publish(reserve(str(tmp_path / "out")))
    names = [Path(deed).name for deed in deeds]
    assert sorted(names[:2]) == ["answers.csv", "release.json"]
    assert names[2].endswith(".draft")
    assert names[3:] == ["rename", tmp_path.name]


def test_an_existing_target_needs_force_which_leaves_nothing_behind(older):
    assert refusal(older) == (
        f"--out {older}: exists; choose another directory, or add --if-exists replace or skip, for a release there"
    )
    publish(reserve(str(older), force=True), "new")
    assert (older / "answers.csv").read_text() == "new"
    assert contents(older.parent) == ["out", "out/answers.csv", "out/release.json"]
    publish(reserve(str(older.parent / "free"), force=True))
    assert (older.parent / "free").is_dir()


NO_RECORDS = {
    "missing": None,
    "empty": "",
    "half": "{",
    "list": "[]",
    "word": '"release/1"',
    "plan": '{"dpqr": "plan/1", "files": []}',
    "no files": '{"dpqr": "release/1"}',
    "no list": '{"dpqr": "release/1", "files": "abc"}',
    "no hashes": '{"dpqr": "release/1", "files": ["answers.csv"]}',
    "deep": "[" * 10**6,
    "no text": "\xff",
    "nulls": "\0\1\2",
}


@pytest.mark.parametrize("record", NO_RECORDS.values(), ids=NO_RECORDS)
def test_force_never_replaces_what_is_no_release(older, record):
    (older / "thesis.tex").touch()
    (older / "release.json").unlink()
    if record is not None:
        (older / "release.json").write_text(record, encoding="latin-1")
    assert "holds no dpqr release" in refusal(older, force=True)
    assert (older / "thesis.tex").exists()


def test_a_record_beyond_all_measure_and_a_linked_one_make_no_release(older, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "release.json").symlink_to(older / "release.json")
    assert "holds no dpqr release" in refusal(tmp_path / "other", force=True)
    os.truncate(older / "release.json", 2**40)
    assert "holds no dpqr release" in refusal(older, force=True)


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", r'"\ud800"'])
def test_a_value_that_no_record_can_hold_makes_no_record(tmp_path, value):
    (tmp_path / "release.json").write_text(f'{{"plan": [{value}]}}')
    with pytest.raises(ValueError, match=r"JSON compliant|surrogates"):
        read_record(tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "people.csv"])
def test_force_never_removes_a_file_that_the_release_did_not_bring(older, name):
    """Nor one that a forged record names."""
    (older / name).write_text("private")
    if name == "people.csv":
        (older / "release.json").write_text(record_of(**{"answers.csv": "old", "people.csv": "private"}))
    assert refusal(older, force=True) == (
        f"--out {older}: also holds {name!r}, which is not part of the release; move it away first"
    )
    assert (older / name).read_text() == "private"


@pytest.mark.parametrize("other", ["text", "link", "pipe", "directory"])
def test_force_never_removes_a_file_that_is_another_by_now(older, other):
    answers = older / "answers.csv"
    held = older.parent / "held"
    held.write_text("old")
    answers.unlink()
    {
        "text": lambda: answers.write_text("mine"),
        "link": lambda: answers.symlink_to(held),
        "pipe": lambda: os.mkfifo(answers),
        "directory": answers.mkdir,
    }[other]()
    assert refusal(older, force=True) == (
        f"--out {older}: holds 'answers.csv' as its release did not write it, and is not replaced; move it away first"
    )
    assert os.path.lexists(answers)


def test_what_came_meanwhile_is_kept(older, monkeypatch):
    target = reserve(str(older), force=True)
    rename = Path.rename

    def late(here, there):
        if here == older:
            (older / "notes.txt").write_text("mine")
        return rename(here, there)

    monkeypatch.setattr(Path, "rename", late)
    publish(target)
    assert (older / "answers.csv").read_text() == "new"
    assert [path.read_text() for path in older.parent.glob(".out.*.replaced/out/*")] == ["mine"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_nothing_is_published_with_more_rights_than_0644(tmp_path, umask):
    before = os.umask(umask)
    try:
        publish(reserve(str(tmp_path / "out")))
        reserve_file(str(tmp_path / "a.csv")).write(lambda path: path.write_text("1"))
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    files = [tmp_path / "out" / "answers.csv", tmp_path / "out" / "release.json", tmp_path / "a.csv"]
    assert {path.stat().st_mode & 0o7777 for path in files} == {0o644 & ~umask}
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o755 & ~umask


def test_drafts_are_closed_to_other_users(tmp_path):
    seen = []
    with reserve(str(tmp_path / "out")).filled() as place:
        seen.append(place)
        seen[0].joinpath("answers.csv").write_text("1")
        modes = [place.stat().st_mode & 0o7777]
    reserve_file(str(tmp_path / "a")).write(
        lambda path: (path.write_text("1"), modes.append(path.parent.stat().st_mode & 0o7777))
    )
    assert modes == [0o700, 0o700]


def test_a_planted_link_is_not_written_through(tmp_path):
    """0.10.0 wrote the draft of a file as .PID-NAME, through a link that had been put there."""
    secret = tmp_path / "secret"
    secret.write_text("keep")
    target = reserve_file(str(tmp_path / "a.csv"))
    (tmp_path / f".{os.getpid()}-a.csv").symlink_to(secret)
    drafts = []
    target.write(lambda path: (drafts.append(path), path.write_text("1")))
    target = reserve_file(str(tmp_path / "b.csv"))
    target.write(lambda path: (drafts.append(path), path.write_text("1")))
    assert secret.read_text() == "keep"
    assert drafts[0].parent.name.split(".")[-2] != drafts[1].parent.name.split(".")[-2]


def test_symbolic_links_are_refused(older):
    for name, target in (("link", older), ("dangling", older.parent / "nowhere")):
        link = older.parent / name
        link.symlink_to(target, target_is_directory=True)
        for force in (False, True):
            assert "is a symbolic link" in refusal(link, force=force)


@pytest.mark.parametrize("given", ["", "a\0b", "/"])
def test_what_is_no_name_is_refused(given):
    with pytest.raises(UsageFault, match=r"^--out"):
        reserve(given)


def test_a_parent_or_a_name_that_cannot_be_is_told(tmp_path, monkeypatch):
    assert refusal(tmp_path / "no" / "out") == (
        f"--out {tmp_path / 'no' / 'out'}: cannot be written in {str(tmp_path / 'no')!r} (No such file or directory); "
        "create that directory or choose another"
    )
    (tmp_path / "file").write_text("x")
    assert "is no directory" in refusal(tmp_path / "file", force=True)
    assert "Not a directory" in refusal(tmp_path / "file" / "out")
    for length in (250, 300):
        assert "File name too long" in refusal(tmp_path / ("x" * length))

    def refuse(*ignored, **also):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert "cannot be written in" in refusal(tmp_path / "out")


def test_a_place_that_is_taken_meanwhile_keeps_the_finished_release_beside_it(tmp_path):
    target = reserve(str(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "theirs").touch()
    with pytest.raises(UsageFault) as refused:
        publish(target)
    draft = tmp_path / f".out.{_job()}0.0.finished"
    assert str(refused.value) == (
        f"--out {tmp_path / 'out'}: cannot be put in place (it is not free any more); the finished release is in "
        f"{str(draft)!r}"
    )
    assert contents(draft) == ["answers.csv", "release.json"]
    assert contents(tmp_path / "out") == ["theirs"]


def test_a_replacement_that_fails_half_way_puts_the_older_release_back(older, monkeypatch):
    target = reserve(str(older), force=True)
    rename = Path.rename

    def fail_for_drafts(here, there):
        if here.name.endswith(".draft") and there == older:
            raise OSError(5, "Input/output error")
        return rename(here, there)

    monkeypatch.setattr(Path, "rename", fail_for_drafts)
    with pytest.raises(UsageFault, match="Input/output error"):
        publish(target)
    assert (older / "answers.csv").read_text() == "old"
    assert not list(older.parent.glob("*.replaced"))


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_appears_whole_or_not_at_all(place):
    def fail(path):
        path.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        reserve_file("a.csv").write(fail)
    assert os.listdir(place) == []
    reserve_file("a.csv").write(lambda path: path.write_text("1"))
    assert os.listdir(place) == ["a.csv"]
    assert (place / "a.csv").read_text() == "1"


@pytest.mark.parametrize(
    "given", ["", ".", "/", "a\0b", "x/a", "x" * 300, "x" * 5000 + "/a", "pipe", "link", "/dev/full", "room"]
)
def test_what_is_no_place_for_a_file(place, given):
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("nowhere")
    (place / "room").mkdir()
    before = sorted(os.listdir(place))
    with pytest.raises(UsageFault, match=r"^--out"):
        reserve_file(given)
    assert sorted(os.listdir(place)) == before


def test_a_name_that_is_no_utf_8_is_written_or_refused_before_anything_is_paid(place):
    try:
        target = reserve_file("caf\udce9")
    except UsageFault:
        return
    target.write(lambda path: path.write_text("1"))
    assert os.listdir(place) == ["caf\udce9"]
