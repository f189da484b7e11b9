"""Tables in a directory that may vanish, fill up or lie: found as they were kept, or not found.

Releases that find strategies tuned: the same plan and the same answers' law as without, and said in a dry run.
"""

import hashlib
import json
import os
import stat
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpqr.app import release as module
from dpqr.app.explain import explain
from dpqr.app.release import dry_run
from dpqr.app.requests import PlanRequest, ReleaseRequest
from dpqr.io import tuning_cache
from dpqr.io.journal.fingerprints import plan_digest
from dpqr.io.tables.source import TableSource
from dpqr.io.tuning_cache import FORMAT, LARGEST, MOST, CacheFolder, cache_path, cached_tunings, tuning_notes
from dpqr.strategies.designs import bucket_design, kronecker, tunings

TABLE = np.arange(6, dtype=np.int64).reshape(2, 3)


@pytest.fixture
def cache(tmp_path):
    return CacheFolder(tmp_path / "made" / "cache")


def said(line: str, values: bytes) -> bytes:
    """A file whose checksum is right, whatever it says."""
    text = line.encode() + values
    return text + hashlib.sha256(text).digest()


def test_a_table_is_found_as_it_was_kept(cache):
    assert cache.find("a") is None
    cache.keep("a", TABLE)
    found = cache.find("a")
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, TABLE)
    assert cache.find("b") is None
    assert [path.name for path in cache.path.iterdir()] == ["a.table"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_reads_it(cache):
    cache.keep("a", TABLE)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((cache.path / "a.table").stat().st_mode) == 0o600


DAMAGED = {
    "empty": b"",
    "text": b"no table at all\n",
    "large": bytes(LARGEST + 1),
    "format": said("other/1 a 2 3\n", TABLE.astype("<i4").tobytes()),
    "name": said(f"{FORMAT} b 2 3\n", TABLE.astype("<i4").tobytes()),
    "short": said(f"{FORMAT} a 2 3\n", TABLE.astype("<i4").tobytes()[:-1]),
    "long": said(f"{FORMAT} a 2 3\n", TABLE.astype("<i4").tobytes() + b"0000"),
    "no rows": said(f"{FORMAT} a 0 3\n", b""),
    "huge": said(f"{FORMAT} a {10**30} {10**30}\n", b""),
    "digits": said(f"{FORMAT} a {'9' * 150} 3\n", b""),
    "negative": said(f"{FORMAT} a -2 -3\n", TABLE.astype("<i4").tobytes()),
    "words": said(f"{FORMAT} a two three\n", TABLE.astype("<i4").tobytes()),
    "bytes": said(f"{FORMAT} a \u0662 3\n", TABLE.astype("<i4").tobytes()),
    "one line": said(f"{FORMAT} a 2 3", b""),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_such_table_is_not_found(cache, content):
    cache.keep("a", TABLE)
    (cache.path / "a.table").write_bytes(content)
    assert cache.find("a") is None
    cache.keep("a", TABLE)
    np.testing.assert_array_equal(cache.find("a"), TABLE)


def test_every_damaged_byte_is_noticed(cache):
    cache.keep("a", TABLE)
    whole = (cache.path / "a.table").read_bytes()
    for place in range(len(whole)):
        (cache.path / "a.table").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache.find("a") is None
        (cache.path / "a.table").write_bytes(whole[:place])
        assert cache.find("a") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_directories_and_links_are_no_tables(cache, tmp_path):
    cache.keep("a", TABLE)
    os.mkfifo(cache.path / "pipe.table")
    (cache.path / "folder.table").mkdir()
    (cache.path / "link.table").symlink_to(cache.path / "a.table")
    for name in ("pipe", "folder", "link"):
        assert cache.find(name) is None
    cache.keep("folder", TABLE)
    assert (cache.path / "folder.table").is_dir()
    assert not [path for path in cache.path.iterdir() if path.name.startswith(".")]


def test_where_nothing_can_be_kept_nothing_is(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = CacheFolder(tmp_path / "file")
    cache.keep("a", TABLE)
    assert cache.find("a") is None


def test_a_full_disk_leaves_no_half_file(cache, monkeypatch):
    def full(draft: Path, content: bytes) -> None:
        draft.write_bytes(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tuning_cache, "_write", full)
    cache.keep("a", TABLE)
    assert list(cache.path.iterdir()) == []


def test_what_does_not_fit_is_not_kept(cache):
    cache.keep("wide", np.full((1, 1), 2**31))
    cache.keep("large", np.zeros((LARGEST // 4, 1), dtype=np.int64))
    assert not cache.path.exists()


def test_the_oldest_make_room(cache):
    cache.keep("oldest", TABLE)
    (cache.path / "foreign.txt").write_text("not ours")
    past = time.time() - 1000
    os.utime(cache.path / "oldest.table", (past, past))
    for number in range(MOST):
        cache.keep(f"n{number}", TABLE)
    assert cache.find("oldest") is None
    assert cache.find("n0") is not None
    assert len(list(cache.path.glob("*.table"))) == MOST
    assert (cache.path / "foreign.txt").exists()


def test_the_environment_names_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("DPQR_CACHE", str(tmp_path / "here"))
    assert cache_path() == tmp_path / "here"
    monkeypatch.setenv("DPQR_CACHE", "none")
    assert cache_path() is None
    monkeypatch.setenv("DPQR_CACHE", "")
    assert cache_path() == tuning_cache.cache_directory()


def test_without_a_home_nothing_is_kept(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("DPQR_CACHE")
    monkeypatch.setattr(tuning_cache, "cache_directory", homeless)
    assert cache_path() is None


ASKED = {"dpqr": "queries/1", "domain": {"v": 40}, "queries": [{"prefix": "v"}]}


@pytest.fixture
def request_made(tmp_path, monkeypatch):
    monkeypatch.setenv("DPQR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "q.json").write_text(json.dumps(ASKED))
    return PlanRequest(queries=str(tmp_path / "q.json"), epsilon="1", schedule="strategy")


def forgotten() -> None:
    """As in a new process."""
    for kept in (kronecker.designs, bucket_design.equal_buckets):
        kept.cache_clear()


def planned(request):
    forgotten()
    return dry_run(ReleaseRequest(source=TableSource(paths=("table.csv",)), plan=request))


def test_the_second_job_finds_the_strategy_tuned_and_says_so(request_made, monkeypatch):
    first = planned(request_made)
    assert not any("tuned" in note for note in first.notes)
    monkeypatch.setattr(tunings, "tune", None)
    assert planned(request_made).notes == (
        *first.notes,
        "1 strategy was tuned by an earlier job and kept in this user's cache; DPQR_CACHE=none does without",
    )


def test_a_resumed_release_has_the_plan_that_it_began_with(request_made):
    digests = set()
    for _ in range(2):
        forgotten()
        with cached_tunings():
            source = TableSource(paths=("table.csv",))
            plan, _ = module._checked(ReleaseRequest(source=source, plan=request_made))
            digests.add(plan_digest(plan))
    assert len(digests) == 1


def test_an_explanation_keeps_what_it_tunes(request_made, tmp_path):
    forgotten()
    explain(replace(request_made, schedule="auto"))
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_damaged_cache_costs_time_only(request_made, tmp_path):
    first = planned(request_made)
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert planned(request_made).notes == first.notes
    assert "tuned by an earlier job" in planned(request_made).notes[-1]


def test_nothing_is_kept_where_nothing_shall_be(request_made, tmp_path, monkeypatch):
    monkeypatch.setenv("DPQR_CACHE", "none")
    planned(request_made)
    with cached_tunings() as found:
        assert found is None
    assert not (tmp_path / "cache").exists()


def test_notes_count(request_made):
    with cached_tunings() as found:
        assert tuning_notes(found) == ()
        found.taken = 3
        assert tuning_notes(found)[0].startswith("3 strategies were tuned")
