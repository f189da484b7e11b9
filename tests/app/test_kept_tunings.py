"""Releases that find strategies tuned: the same plan and the same answers' law as without, and said in a dry run."""

import json
from dataclasses import replace

import pytest

from dpqr.app import release as module
from dpqr.app.explain import explain
from dpqr.app.kept_tunings import kept_tunings, tuning_notes
from dpqr.app.release import OutputRequest, dry_run
from dpqr.app.request import PlanRequest
from dpqr.io.journal.fingerprints import plan_digest
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.strategies.designs import bucket_design, kronecker, tunings

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
    return dry_run(TableSource(paths=("table.csv",)), request, OutputRequest(), Limits())


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
        with kept_tunings():
            source = TableSource(paths=("table.csv",))
            plan, _ = module._checked(source, request_made, OutputRequest(), Limits(), None)
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
    with kept_tunings() as found:
        assert found is None
    assert not (tmp_path / "cache").exists()


def test_notes_count(request_made):
    with kept_tunings() as found:
        assert tuning_notes(found) == ()
        found.taken = 3
        assert tuning_notes(found)[0].startswith("3 strategies were tuned")
