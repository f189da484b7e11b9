"""Releases of a counter go on from each other, and from nothing else."""

from __future__ import annotations

import json
import shutil

import pytest
from support.counters import DOMAIN, MONTHS, QUERIES, TABLE, released, women

import dpqr
from dpqr.releases.record.plan_document import seal_document

BINARY = {"eps": "1000", "delta": "1e-9", "accountant": "zcdp"}


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """A counter of six months, whose tree has two levels (base 3), all of it released."""
    place = tmp_path_factory.mktemp("life")
    after = None
    for month in MONTHS:
        released(place, month, after, **BINARY, cumulative=8)
        after = month
    return place


def test_counts_are_those_of_all_rows_up_to_the_period(life):
    for month in MONTHS:
        found = dpqr.read_release(life / month).cumulative
        assert found["estimate"].tolist() == [women(month), 5 * (MONTHS.index(month) + 1)]


def test_each_release_reads_the_rows_of_its_node(life):
    spans = [dpqr.read_release(life / month).answers["estimate"][0] for month in MONTHS]
    assert spans == [20, 30, 90, 50, 60, 180], "2024-03 reads three months, and so does 2024-06"


def test_releases_name_the_one_before_and_are_verified(life):
    before = None
    for month in MONTHS:
        record = dpqr.read_release(life / month).record
        assert record["cumulative"] == {"after": before}
        before = {"period": month, "sha256": record["sha256"]}
    assert dpqr.verify(life / "2024-05").passed


def test_a_changed_count_is_found(life, tmp_path):
    place = tmp_path / "2024-05"
    shutil.copytree(life / "2024-05", place)
    path = place / "cumulative.csv"
    path.write_text(path.read_text().replace("200", "201", 1))
    found = dpqr.verify(place)
    assert not found.passed
    with pytest.raises(dpqr.GoalMissed):
        released(tmp_path, "2024-06", "2024-05", **BINARY, cumulative=8)


def test_others_are_refused(life, tmp_path):
    for after, options, error, words in (
        ("2024-03", {}, dpqr.UsageFault, "is release 3 of its counter, and 2024-06 is release 6"),
        ("2024-05", {"cumulative": 12}, dpqr.DocumentError, "periods differs"),
        ("2024-05", {"eps": "999"}, dpqr.DocumentError, "life differs"),
        ("2024-05", {"queries": {"queries": [{"name": "n", "marginal": []}]}}, dpqr.DocumentError, "other queries"),
        ("2024-05", {"cumulative": None}, dpqr.UsageFault, "add --cumulative"),
        ("2024-05", {"out": None}, dpqr.UsageFault, "add --out"),
        ("2024-05", {"rehearse": True}, dpqr.DocumentError, "a rehearsal goes on from a rehearsal"),
    ):
        given = {**BINARY, "cumulative": 8, "out": tmp_path / "new"} | options
        with pytest.raises(error, match=words):
            released(life, "2024-06", after, **given)
    assert not (tmp_path / "new").exists()


def test_a_release_of_no_counter_is_refused(tmp_path):
    domain = {"fields": DOMAIN["fields"]}
    dpqr.release(TABLE, queries=QUERIES, domain=domain, eps=1, out=tmp_path / "2024-01")
    with pytest.raises(dpqr.UsageFault, match="is no release of a counter"):
        released(tmp_path, "2024-02", "2024-01")
    with pytest.raises(dpqr.UsageFault, match="is of no counter"):
        _ = dpqr.read_release(tmp_path / "2024-01").cumulative


def test_the_first_release_needs_none_and_later_ones_do(tmp_path):
    """Without --after a counter begins."""
    assert released(tmp_path, "2024-04").record["plan"]["counter"]["first"] == "2024-04"


def test_a_finished_release_is_skipped(life):
    again = released(life, "2024-05", "2024-04", **BINARY, cumulative=8, if_exists="skip")
    assert again.cumulative["estimate"][0] == women("2024-05")


def test_the_files_of_a_series(life):
    found = dpqr.series([life / month for month in MONTHS])
    frame = found.frame[found.frame["sex"] == "f"]
    assert frame["estimate"].tolist() == [women(month) for month in MONTHS]
    errors = {month: dpqr.read_release(life / month).cumulative["error"][0] for month in MONTHS}
    own = errors["2024-01"]
    expected = [own, (own**2 + errors["2024-02"] ** 2) ** 0.5, own, own, (own**2 + 2 * own**2) ** 0.5]
    assert frame["change_error"].tolist()[1:] == pytest.approx(expected), "shared noise cancels"


def test_counters_and_other_releases_are_not_mixed(life, tmp_path):
    place = tmp_path / "other"
    shutil.copytree(life / "2024-02", place)
    record = json.loads((place / "release.json").read_text())
    del record["plan"]["counter"]
    (place / "release.json").write_text(json.dumps(seal_document(record)))
    with pytest.raises(dpqr.DocumentError, match="another counter"):
        dpqr.series([life / "2024-01", place])
